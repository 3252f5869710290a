//! The fast path: blind rotation by folded f64 FFT, several ciphertexts to each load of the key.
//!
//! One step, for ciphertexts in pairs: the digits of the accumulators are cut and transformed (`digits`), the key of the step is
//! read once and multiplied with both (`product`, which also multiplies by the monomials), the products are transformed
//! back, rounded, reduced and added (`accumulate`). Everything stays in doubles: an accumulator is centred integers.
//!
//! Exact where the error of the FFT rounds away (GD with one 27-bit word: G1, G3, G5, STD128); elsewhere off by about the
//! deviation that [`FastRotator`] tells in its plan, far below the scheme's own noise.

mod accumulate;
mod digits;
mod key;
mod product;
#[cfg(test)]
mod tests;

use crate::rotator::{BlindRotator, RotateInput};
use accumulate::{Accumulate, Reduction};
use digits::{Digit, TransformDigits};
use girih_backend::{BackendError, BootstrapShape, Gadget, KeyModulus, KeySource, Progress};
use girih_ring::fft::{Buffer, Fft, Simd};
use key::FourierKey;
use product::multiply;
use std::sync::Mutex;

/// Ciphertexts that share one load of the key from main memory; pairs of them share each load into registers.
const GROUP: usize = 4;

/// The instruction set that [`FastRotator`] chooses on this machine.
pub(crate) fn instruction_set() -> &'static str {
    Simd::detect().name()
}

/// Where the polynomials of one blind rotation lie, in doubles.
#[derive(Clone, Copy)]
struct Layout {
    /// K, polynomials of an accumulator.
    columns: usize,
    /// L K, transformed digits of an accumulator.
    rows: usize,
    /// From one polynomial to the next: N and a little, because rows a power of two apart would share the sets of a cache.
    stride: usize,
    /// N.
    size: usize,
}

/// Keys in the transform domain, and what a step needs besides.
pub(crate) struct FastRotator {
    shape: BootstrapShape,
    /// Q.
    modulus: u64,
    fft: Fft,
    key: FourierKey,
    layout: Layout,
    digits: Vec<Digit>,
    reduction: Reduction,
    idle: Mutex<Vec<Scratch>>,
}

/// Memory of one running blind rotation.
struct Scratch {
    /// `[ciphertext][column]`.
    accumulators: Buffer,
    /// `[ciphertext of the pair][row]`.
    digits: Buffer,
    /// `[ciphertext of the pair][column]`.
    products: Buffer,
}

impl FastRotator {
    /// Pulls the key block by block and transforms it.
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self, BackendError> {
        Self::with_simd(keys, progress, Simd::detect())
    }

    /// The same on one instruction set, which must be available.
    fn with_simd(keys: &dyn KeySource, progress: &dyn Progress, simd: Simd) -> Result<Self, BackendError> {
        let shape = keys.shape().clone();
        let modulus = accumulator_modulus(&shape)?;
        let fft = Fft::with_simd(shape.polynomial_size, simd).ok_or_else(|| {
            unsupported(
                format!("N = {} with {}", shape.polynomial_size, simd.name()),
                "the f64 transform takes powers of two from 64 to 8192",
            )
        })?;
        let key = FourierKey::load(keys, &fft, progress)?;
        let columns = shape.columns();
        let layout = Layout {
            columns,
            rows: shape.levels() * columns,
            stride: shape.polynomial_size + 2 * fft.simd().width(),
            size: shape.polynomial_size,
        };
        let digits = digits::plan(&shape.gadget);
        let reduction = Reduction::new(&shape, modulus, fft.points());
        Ok(Self { shape, modulus, fft, key, layout, digits, reduction, idle: Mutex::default() })
    }

    fn scratch(&self, ciphertexts: usize) -> Scratch {
        let Layout { columns, rows, stride, .. } = self.layout;
        let idle = self.idle.lock().unwrap_or_else(|e| e.into_inner()).pop();
        if let Some(scratch) = idle.filter(|s| s.accumulators.len() >= ciphertexts * columns * stride) {
            return scratch;
        }
        let buffer = |polynomials: usize| Buffer::new(polynomials * stride).expect("a few hundred KiB of memory");
        Scratch { accumulators: buffer(ciphertexts.max(GROUP) * columns), digits: buffer(2 * rows), products: buffer(2 * columns) }
    }

    /// ACC = (0, .., X^(-b_j f) v_j), centred.
    fn initialise(&self, input: &RotateInput<'_>, accumulator: &mut [f64]) {
        let size = self.layout.size;
        accumulator.fill(0.0);
        for (j, table) in input.tables.iter().enumerate() {
            let polynomial = &mut accumulator[(self.shape.glwe_dimension + j) * self.layout.stride..][..size];
            let shift = input.exponents[self.shape.lwe_dimension + j] as usize;
            for i in 0..size {
                // Coefficient i of X^-shift v is v_(i + shift), negated on every wrap.
                let from = (i + shift) % (2 * size);
                let v = centre(table[from % size], self.modulus);
                polynomial[self.place(i)] = if from < size { v } else { -v };
            }
        }
    }

    /// Where coefficient `i` lies in a folded polynomial: real and imaginary vectors in turn.
    fn place(&self, i: usize) -> usize {
        let (width, half) = (self.fft.simd().width(), i / self.fft.points());
        let folded = i % self.fft.points();
        (2 * (folded / width) + half) * width + folded % width
    }

    /// One step for one or two ciphertexts.
    fn step(&self, index: usize, exponents: &[usize], accumulators: &mut [f64], scratch: &mut (Buffer, Buffer)) {
        let Layout { columns, rows, stride, .. } = self.layout;
        let (digits, products) = scratch;
        let simd = self.fft.simd();
        let block = self.key.block(index);
        for (accumulator, digits) in accumulators.chunks_exact(columns * stride).zip(digits.chunks_exact_mut(rows * stride)) {
            simd.run(TransformDigits { fft: &self.fft, layout: self.layout, digits: &self.digits, accumulator, out: digits });
        }
        multiply(&self.fft, self.layout, self.shape.secret, block, exponents, digits, products);
        for (accumulator, products) in accumulators.chunks_exact_mut(columns * stride).zip(products.chunks_exact_mut(columns * stride)) {
            simd.run(Accumulate { fft: &self.fft, layout: self.layout, reduction: self.reduction, products, accumulator });
        }
    }
}

fn unsupported(what: impl Into<String>, why: impl Into<String>) -> BackendError {
    BackendError::Unsupported { device: "cpu".into(), what: what.into(), why: why.into() }
}

/// Q, if this path can hold it and the key.
fn accumulator_modulus(shape: &BootstrapShape) -> Result<u64, BackendError> {
    /// Centred residues of 54 bits are still doubles.
    const BITS: u32 = 54;
    let (KeyModulus::Words(_), Some(key), Some(modulus)) = (&shape.key_modulus, shape.key_modulus_value(), shape.accumulator_modulus())
    else {
        return Err(unsupported("the native torus (Q = 2^64) with the f64 transform", "this path holds moduli of at most 54 bits"));
    };
    if key > 1 << BITS {
        return Err(unsupported(format!("a key modulus of {key} with the f64 transform"), "it holds moduli of at most 54 bits; use ntt"));
    }
    Ok(modulus)
}

/// The representative of `x` in `[-Q/2, Q/2)`.
fn centre(x: u64, modulus: u64) -> f64 {
    // Subtracted before the conversion: a modulus of 54 bits is no double, its centred residues are.
    (if 2 * x >= modulus { x as i64 - modulus as i64 } else { x as i64 }) as f64
}

impl BlindRotator for FastRotator {
    fn group(&self) -> usize {
        GROUP
    }

    fn blind_rotate(&self, inputs: &[RotateInput<'_>], steps: usize, out: &mut [u64]) {
        let Layout { columns, stride, size, .. } = self.layout;
        let mut scratch = self.scratch(inputs.len());
        let accumulators = &mut scratch.accumulators[..inputs.len() * columns * stride];
        for (input, accumulator) in inputs.iter().zip(accumulators.chunks_exact_mut(columns * stride)) {
            self.initialise(input, accumulator);
        }
        let mut pair_scratch = (scratch.digits, scratch.products);
        for index in 0..steps {
            for (pair, accumulators) in inputs.chunks(2).zip(accumulators.chunks_mut(2 * columns * stride)) {
                let exponents = [0, 1].map(|i| pair.get(i).map_or(0, |input| input.exponents[index] as usize));
                // X^0 - 1 is zero, exactly: the step would add nothing.
                if exponents != [0, 0] {
                    self.step(index, &exponents[..pair.len()], accumulators, &mut pair_scratch);
                }
            }
        }
        for (accumulator, out) in accumulators.chunks_exact(columns * stride).zip(out.chunks_exact_mut(columns * size)) {
            for (polynomial, out) in accumulator.chunks_exact(stride).zip(out.chunks_exact_mut(size)) {
                for (i, o) in out.iter_mut().enumerate() {
                    *o = (polynomial[self.place(i)] as i64).rem_euclid(self.modulus as i64) as u64;
                }
            }
        }
        let (digits, products) = pair_scratch;
        let scratch = Scratch { accumulators: scratch.accumulators, digits, products };
        self.idle.lock().unwrap_or_else(|e| e.into_inner()).push(scratch);
    }

    fn describe(&self) -> serde_json::Value {
        serde_json::json!({
            "path": "fast",
            "simd": self.fft.simd().name(),
            "group": GROUP,
            "points": self.fft.points(),
            "key_bytes": self.key.bytes(),
            "error_per_step": self.error_per_step(),
        })
    }
}

impl FastRotator {
    /// Deviation of an accumulator coefficient by the FFT's own error in one step, in units of Q, before rounding.
    fn error_per_step(&self) -> f64 {
        const C: f64 = 4.0;
        let spread = match self.shape.gadget {
            Gadget::Decomposition { log2_base, .. } | Gadget::ClosestRepresentative { log2_base, .. } => 2f64.powi(log2_base as i32),
            Gadget::ModulusRaising { .. } => self.modulus as f64,
        };
        C * 0.5f64.powi(53) * ((self.layout.rows * self.layout.size) as f64).sqrt() * spread * self.modulus as f64 / 6.0
    }
}
