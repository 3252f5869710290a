//! Kernel `blind_rotate`, the integer twin: initialise, then n / g steps of
//! `ACC += round_{M->Q}( sum_x (X^(e_x) - 1) (D . C_x) )` over the GGSW ciphertexts C_x of the step
//! ([`BootstrapShape::ggsw_exponent`] says which e_x).
//!
//! Steps, in the order and under the names of the GPU kernels: `initialise`, then for each of them
//! `decompose`, `forward_transform`, `products`, `inverse_transform`, `accumulate`. Residues are
//! reduced between all of them; lazy forms inside a kernel must agree with these once reduced.

use crate::bootstrap::rotator::{BlindRotator, RotateInput, StepTrace};
use girih_backend::parallel::prelude::*;
use girih_backend::{
    BackendError, BootstrapShape, Gadget, KeySource, PlanReport, Progress, Result, Units,
};
use girih_ring::gadget::{balanced_digits, closest_representative_digits};
use girih_ring::switch::mod_switch;
use girih_ring::{Modulus, NttTable, Rns, TorusCrt, round_torus};

/// How residues are put together again.
enum Recomposition {
    /// Modulo the key modulus.
    Words(Rns),
    /// Modulo 2^64, by way of the centred integer, times `2^rounding`: so many bits of the key's
    /// words were rounded away.
    Torus { crt: TorusCrt, rounding: u32 },
}

/// Key and transforms of the integer twin.
pub(crate) struct Twin {
    shape: BootstrapShape,
    recomposition: Recomposition,
    transforms: Vec<NttTable>,
    /// Accumulator modulus Q; 0 stands for 2^64, to which words wrap by themselves.
    modulus: u64,
    /// Transformed key: `[step][GGSW][level][row][column][word][N]`.
    key: Vec<u32>,
}

/// The digits of an accumulator: `[level][K][N]`, signed.
///
/// GD: balanced digits of the centred coefficient. MR: the centred coefficient itself. Native
/// torus: balanced digits of the closest representative, most significant first.
pub(crate) fn decompose(shape: &BootstrapShape, modulus: u64, accumulator: &[u64]) -> Vec<i32> {
    let (levels, len) = (shape.levels(), accumulator.len());
    let mut digits = vec![0; levels * len];
    let mut one = vec![0; levels];
    // Powers of two: the upper half [Q/2, Q) is negative. Odd Q: from (Q + 1)/2 on. Both are 2x >=
    // Q.
    let centred = |x: u64| if 2 * x >= modulus { x as i64 - modulus as i64 } else { x as i64 };
    for (i, &x) in accumulator.iter().enumerate() {
        match shape.gadget {
            Gadget::Decomposition { log2_base, dropped_bits, .. } => {
                balanced_digits(centred(x), log2_base, dropped_bits, &mut one)
            }
            Gadget::ModulusRaising { .. } => one[0] = centred(x) as i32,
            Gadget::ClosestRepresentative { log2_base, .. } => {
                closest_representative_digits(x, log2_base, &mut one)
            }
        }
        for (level, &d) in one.iter().enumerate() {
            digits[level * len + i] = d;
        }
    }
    digits
}

/// The accumulator before the first step: masks zero, body j `X^(-b_j f) * v_j`. A modulus of 0
/// stands for 2^64.
pub(crate) fn initialise(
    shape: &BootstrapShape,
    modulus: u64,
    input: &RotateInput<'_>,
    accumulator: &mut [u64],
) {
    let size = shape.polynomial_size;
    accumulator.fill(0);
    for (j, table) in input.tables.iter().enumerate() {
        let body = &mut accumulator[(shape.glwe_dimension + j) * size..][..size];
        let shift = 2 * size - input.exponents[shape.lwe_dimension + j] as usize;
        for (u, &v) in table.iter().enumerate() {
            let to = (u + shift) % (2 * size);
            body[to % size] = if to < size || v == 0 { v } else { modulus.wrapping_sub(v) };
        }
    }
}

impl Twin {
    /// Pulls and transforms the whole key.
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self> {
        let shape = keys.shape().clone();
        let words = shape.transform_words()?;
        let refused = |why: &str| BackendError::InvalidRequest(format!("words {words:?} {why}"));
        // The shape was validated: words are distinct primes that admit the transform.
        let (recomposition, modulus) = if shape.is_torus() {
            let crt = TorusCrt::new(&words).ok_or_else(|| refused("are not distinct primes"))?;
            let rounding = shape.transform_rounding()?;
            (Recomposition::Torus { crt, rounding }, 0)
        } else {
            let rns =
                Rns::new(&words).ok_or_else(|| refused("are not one or two distinct primes"))?;
            let modulus = shape.accumulator_modulus().unwrap_or_else(|| rns.value());
            (Recomposition::Words(rns), modulus)
        };
        let transforms: Vec<NttTable> = words
            .iter()
            .map(|&w| NttTable::new(Modulus::new(w)?, shape.polynomial_size))
            .collect::<Option<_>>()
            .ok_or_else(|| refused(&format!("do not admit N = {}", shape.polynomial_size)))?;
        let rounding = match recomposition {
            Recomposition::Torus { rounding, .. } => Some(rounding),
            Recomposition::Words(_) => None,
        };
        let block = shape.bootstrapping_block_len();
        let mut key = vec![0u32; shape.steps() * block * transforms.len()];
        let steps = Units::new(progress, "transforming the bootstrapping key", shape.steps());
        key.par_chunks_exact_mut(block * transforms.len()).enumerate().for_each_init(
            || vec![0u64; block],
            |coefficients, (index, out)| {
                // A report that unwinds ends the work: threads begin no other step.
                if steps.is_over() {
                    return;
                }
                keys.bootstrapping_block(index, coefficients);
                let polynomials = coefficients.chunks_exact(shape.polynomial_size);
                for (polynomial, words) in
                    polynomials.zip(out.chunks_exact_mut(shape.polynomial_size * transforms.len()))
                {
                    for (table, o) in
                        transforms.iter().zip(words.chunks_exact_mut(shape.polynomial_size))
                    {
                        for (o, &c) in o.iter_mut().zip(polynomial) {
                            // Of the torus the centred word: half as large.
                            *o = match rounding {
                                Some(bits) => table.modulus().reduce_signed(round_torus(c, bits)),
                                None => table.modulus().reduce(c),
                            };
                        }
                        table.forward(o);
                    }
                }
                steps.done();
            },
        );
        Ok(Self { recomposition, transforms, modulus, key, shape })
    }

    /// `[word][level][K][N]`: residues of the digits, transformed.
    fn forward_transform(&self, digits: &[i32]) -> Vec<u32> {
        let mut out = Vec::with_capacity(digits.len() * self.transforms.len());
        for table in &self.transforms {
            let from = out.len();
            out.extend(digits.iter().map(|&d| table.modulus().reduce_signed(i64::from(d))));
            out[from..].chunks_exact_mut(self.shape.polynomial_size).for_each(|p| table.forward(p));
        }
        out
    }

    /// `[word][K][N]`: the external products of step `index`, each times its monomial, summed.
    fn products(&self, index: usize, exponents: &[u32], transformed: &[u32]) -> Vec<u32> {
        let (size, columns, rows) = (
            self.shape.polynomial_size,
            self.shape.columns(),
            self.shape.levels() * self.shape.columns(),
        );
        let words = self.transforms.len();
        let ggsw_len = rows * columns * words * size;
        let block = &self.key[index * self.shape.ggsw_per_step() * ggsw_len..]
            [..self.shape.ggsw_per_step() * ggsw_len];
        let mut out = vec![0; words * columns * size];
        for (w, table) in self.transforms.iter().enumerate() {
            let m = table.modulus();
            for (which, ggsw) in block.chunks_exact(ggsw_len).enumerate() {
                let exponent = self.shape.ggsw_exponent(which, exponents) as usize;
                for column in 0..columns {
                    for t in 0..size {
                        let sum = (0..rows).fold(0, |sum, row| {
                            let d = transformed[(w * rows + row) * size + t];
                            let c = ggsw[((row * columns + column) * words + w) * size + t];
                            m.add(sum, m.mul(d, c))
                        });
                        let monomial = m.sub(table.monomial(exponent, t), 1);
                        let o = &mut out[(w * columns + column) * size + t];
                        *o = m.add(*o, m.mul(monomial, sum));
                    }
                }
            }
        }
        out
    }

    /// `[word][K][N]` back to coefficients, in place.
    fn inverse_transform(&self, products: &mut [u32]) {
        let per_word = self.shape.columns() * self.shape.polynomial_size;
        for (table, word) in self.transforms.iter().zip(products.chunks_exact_mut(per_word)) {
            word.chunks_exact_mut(self.shape.polynomial_size).for_each(|p| table.inverse(p));
        }
    }

    /// Adds the products, recomposed and, for MR, rounded once from T to Q.
    fn accumulate(&self, products: &[u32], accumulator: &mut [u64]) {
        let len = accumulator.len();
        let residue = |w: usize, i: usize| products.get(w * len + i).copied().unwrap_or(0);
        match &self.recomposition {
            Recomposition::Torus { crt, rounding } => {
                for (i, acc) in accumulator.iter_mut().enumerate() {
                    *acc = acc.wrapping_add(crt.compose(|w| residue(w, i)) << rounding);
                }
            }
            Recomposition::Words(rns) => {
                for (i, acc) in accumulator.iter_mut().enumerate() {
                    let whole = rns.compose(residue(0, i), residue(1, i));
                    let term = match self.shape.gadget {
                        Gadget::ModulusRaising { .. } => {
                            mod_switch(whole, rns.value(), self.modulus)
                        }
                        _ => whole,
                    };
                    *acc = (*acc + term) % self.modulus;
                }
            }
        }
    }

    fn step(&self, index: usize, exponents: &[u32], accumulator: &mut [u64]) {
        let digits = decompose(&self.shape, self.modulus, accumulator);
        let transformed = self.forward_transform(&digits);
        let mut products = self.products(index, exponents, &transformed);
        self.inverse_transform(&mut products);
        self.accumulate(&products, accumulator);
    }
}

impl BlindRotator for Twin {
    fn group(&self) -> usize {
        1
    }

    fn blind_rotate(&self, inputs: &[RotateInput<'_>], steps: usize, accumulators: &mut [u64]) {
        let len = self.shape.columns() * self.shape.polynomial_size;
        for (input, accumulator) in inputs.iter().zip(accumulators.chunks_exact_mut(len)) {
            initialise(&self.shape, self.modulus, input, accumulator);
            for (index, exponents) in
                input.exponents.chunks_exact(self.shape.grouping).take(steps).enumerate()
            {
                self.step(index, exponents, accumulator);
            }
        }
    }

    fn trace_step(&self, step: usize, exponents: &[u32], accumulator: &[u64]) -> Option<StepTrace> {
        let transformed =
            self.forward_transform(&decompose(&self.shape, self.modulus, accumulator));
        let products = self.products(step, exponents, &transformed);
        Some(StepTrace { transformed, products })
    }

    fn describe(&self) -> PlanReport {
        let words: Vec<u32> = self.transforms.iter().map(|t| t.modulus().value()).collect();
        PlanReport::default().with("path", "twin").with("words", words).with("group", 1usize)
    }
}
