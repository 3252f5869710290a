//! The bootstrapping key in the transform domain, in the order in which it is read.

use super::{TORUS_DROPPED, centre};
use crate::memory::out_of_memory;
use girih_backend::parallel::prelude::*;
use girih_backend::{BackendError, KeySource, Progress, Result, SecretKind, Units};
use girih_ring::fft::{Buffer, Fft};

/// `[step][vector of frequencies][column][row][plane]`, complex vectors.
///
/// Ternary secrets have two planes, C0 + C1 and C0 - C1 (what `product` says about monomials tells
/// why), binary ones a plane for each GGSW ciphertext of a step.
pub(super) struct FourierKey {
    data: Buffer,
    /// Doubles of one step.
    block: usize,
}

impl FourierKey {
    /// Pulls blocks in parallel and transforms them.
    pub(super) fn load(keys: &dyn KeySource, fft: &Fft, progress: &dyn Progress) -> Result<Self> {
        let shape = keys.shape();
        let block = shape.bootstrapping_block_len();
        let modulus = shape.key_modulus_value();
        // A word of the native torus in units of accumulators, as near as doubles come.
        let residue = |x: u64| {
            modulus.map_or_else(
                || x as i64 as f64 * 0.5f64.powi(TORUS_DROPPED as i32),
                |m| centre(x, m),
            )
        };
        let refuse = |doubles: usize| {
            out_of_memory(8 * doubles, "the bootstrapping key in the transform domain")
        };
        let doubles = shape.steps() * block;
        let mut data = Buffer::new(doubles).ok_or_else(|| refuse(doubles))?;
        let steps = Units::new(progress, "transforming the bootstrapping key", shape.steps());
        data.par_chunks_exact_mut(block).enumerate().try_for_each_init(
            || {
                (
                    vec![0u64; block],
                    Buffer::new(shape.polynomial_size),
                    vec![0.0; shape.polynomial_size],
                )
            },
            |(coefficients, transformed, polynomial), (index, out)| {
                // A report that unwinds ends the work: threads begin no other step.
                if steps.is_over() {
                    return Ok(());
                }
                let transformed =
                    transformed.as_mut().ok_or_else(|| refuse(shape.polynomial_size))?;
                keys.bootstrapping_block(index, coefficients);
                let (columns, planes) = (shape.columns(), shape.ggsw_per_step());
                let ggsw = block / planes;
                let polynomials = ggsw / shape.polynomial_size;
                for which in 0..polynomials {
                    let (row, column) = (which / columns, which % columns);
                    let entry = (column * (polynomials / columns) + row) * planes;
                    for plane in 0..planes {
                        let range =
                            which * shape.polynomial_size..(which + 1) * shape.polynomial_size;
                        for (i, x) in range.zip(polynomial.iter_mut()) {
                            let of = |which: usize| residue(coefficients[which * ggsw + i]);
                            *x = match shape.secret {
                                SecretKind::Binary => of(plane),
                                SecretKind::Ternary if plane == 0 => of(0) + of(1),
                                SecretKind::Ternary => of(0) - of(1),
                            };
                        }
                        fft.forward(polynomial, transformed);
                        let width = 2 * fft.simd().width();
                        let per_vector = polynomials * planes * width;
                        for (vector, values) in transformed.chunks_exact(width).enumerate() {
                            out[vector * per_vector + (entry + plane) * width..][..width]
                                .copy_from_slice(values);
                        }
                    }
                }
                steps.done();
                Ok::<(), BackendError>(())
            },
        )?;
        Ok(Self { data, block })
    }

    /// The key of one step.
    pub(super) fn block(&self, index: usize) -> &[f64] {
        &self.data[index * self.block..][..self.block]
    }

    pub(super) fn bytes(&self) -> usize {
        self.data.len() * size_of::<f64>()
    }
}
