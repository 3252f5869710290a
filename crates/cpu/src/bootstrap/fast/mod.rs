//! The fast path: blind rotation by folded f64 FFT, several ciphertexts to each load of the key.
//!
//! One step, for ciphertexts in pairs: the digits of the accumulators are cut and transformed
//! (`digits`), the key of the step is read once and multiplied with both (`product`, which also
//! multiplies by the monomials), the products are transformed back, rounded, reduced and added
//! (`accumulate`). Everything stays in doubles: an accumulator is centred integers.
//!
//! Exact where the error of the FFT rounds away (GD with one 27-bit word); elsewhere off by about
//! the deviation that [`FastRotator`] tells in its plan, far below the scheme's own noise.

mod accumulate;
mod digits;
mod key;
mod product;
#[cfg(test)]
mod tests;

use crate::bootstrap::rotator::{BlindRotator, RotateInput};
use accumulate::{Accumulate, Reduction};
use digits::{Digit, TransformDigits};
use girih_backend::{
    BackendError, BootstrapShape, Gadget, KeySource, PlanReport, Progress, Result,
};
use girih_ring::fft::{Buffer, Fft, Lanes, Simd};
use key::FourierKey;
use product::{Step, multiply};
use std::sync::Mutex;

/// Ciphertexts that share one load of the key from main memory;
/// pairs of them share each load into registers.
const GROUP: usize = 8;

/// The instruction set that [`FastRotator`] chooses on this machine.
pub(crate) fn instruction_set() -> &'static str {
    Simd::detect().name()
}

/// Prefetches a stretch of the key, a few cache lines with every butterfly of a transform; nothing
/// if `ON` is false.
///
/// The processor's own prefetcher keeps up while the key streams, but stands still during
/// transforms. Asking for the next step's key meanwhile takes a tenth off the latency of one
/// ciphertext; several ciphertexts hide the stream by themselves.
#[derive(Clone, Copy)]
struct Ahead<'k, const ON: bool> {
    key: &'k [f64],
    next: usize,
}

impl<'k, const ON: bool> Ahead<'k, ON> {
    /// Doubles of a cache line.
    const LINE: usize = 8;
    /// Lines asked for at a time: with N = 1024 and three digits, half of a step's key in all.
    const LINES: usize = 8;

    /// Where transform number `transform` of a step begins.
    #[inline(always)]
    fn of(key: &'k [f64], fft: &Fft, transform: usize) -> Self {
        Self { key, next: transform * fft.butterflies() * Self::LINES * Self::LINE }
    }

    #[inline(always)]
    fn advance<L: Lanes>(&mut self, l: L) {
        if ON {
            for line in 0..Self::LINES {
                l.prefetch(self.key, self.next + line * Self::LINE);
            }
            self.next += Self::LINES * Self::LINE;
        }
    }
}

/// Where the polynomials of one blind rotation lie, in doubles.
#[derive(Clone, Copy)]
struct Layout {
    /// K, polynomials of an accumulator.
    columns: usize,
    /// L K, transformed digits of an accumulator.
    rows: usize,
    /// From one polynomial to the next: N and [`Layout::PADDING`].
    stride: usize,
    /// N.
    size: usize,
}

impl Layout {
    /// One KiB: rows a power of two apart would share the sets of a cache when the product reads
    /// all of them at once.
    const PADDING: usize = 128;
}

/// Keys in the transform domain, and what a step needs besides.
pub(crate) struct FastRotator {
    shape: BootstrapShape,
    /// What accumulators are held to: see [`held_modulus`].
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
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self> {
        Self::with_simd(keys, progress, Simd::detect())
    }

    /// The same on one instruction set, which must be available.
    fn with_simd(keys: &dyn KeySource, progress: &dyn Progress, simd: Simd) -> Result<Self> {
        let shape = keys.shape().clone();
        let modulus = held_modulus(&shape)?;
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
            stride: shape.polynomial_size + Layout::PADDING,
            size: shape.polynomial_size,
        };
        let digits = digits::plan(&shape.gadget, modulus);
        let reduction = Reduction::new(&shape, modulus, fft.points());
        Ok(Self { shape, modulus, fft, key, layout, digits, reduction, idle: Mutex::default() })
    }

    fn scratch(&self, ciphertexts: usize) -> Scratch {
        let Layout { columns, rows, stride, .. } = self.layout;
        let idle = self.idle.lock().unwrap_or_else(|e| e.into_inner()).pop();
        if let Some(scratch) =
            idle.filter(|s| s.accumulators.len() >= ciphertexts * columns * stride)
        {
            return scratch;
        }
        let buffer = |polynomials: usize| {
            Buffer::new(polynomials * stride).expect("a few hundred KiB of memory")
        };
        Scratch {
            accumulators: buffer(ciphertexts.max(GROUP) * columns),
            digits: buffer(2 * rows),
            products: buffer(2 * columns),
        }
    }

    /// ACC = (0, .., X^(-b_j f) v_j), centred.
    fn initialise(&self, input: &RotateInput<'_>, accumulator: &mut [f64]) {
        let size = self.layout.size;
        accumulator.fill(0.0);
        for (j, table) in input.tables.iter().enumerate() {
            let polynomial =
                &mut accumulator[(self.shape.glwe_dimension + j) * self.layout.stride..][..size];
            let shift = input.exponents[self.shape.lwe_dimension + j] as usize;
            for i in 0..size {
                // Coefficient i of X^-shift v is v_(i + shift), negated on every wrap; negated as a
                // residue, so that Q/2 of an even Q is centred to -Q/2 whatever its sign.
                let from = (i + shift) % (2 * size);
                let v = table[from % size];
                let v = if self.shape.is_torus() { shorten(v) } else { v };
                let v = if from < size || v == 0 { v } else { self.modulus - v };
                polynomial[self.place(i)] = centre(v, self.modulus);
            }
        }
    }

    /// Where coefficient `i` lies in a folded polynomial: real and imaginary vectors in turn.
    fn place(&self, i: usize) -> usize {
        let (width, half) = (self.fft.simd().width(), i / self.fft.points());
        let folded = i % self.fft.points();
        (2 * (folded / width) + half) * width + folded % width
    }

    /// One step for one or two ciphertexts, `alone` if no others share the key.
    fn step(
        &self,
        index: usize,
        alone: bool,
        exponents: &[&[u32]],
        accumulators: &mut [f64],
        scratch: &mut (Buffer, Buffer),
    ) {
        /// Half of a common second-level cache; larger steps would push out what they are to help.
        const PREFETCHED_BYTES: usize = 512 << 10;
        let block = self.key.block(index);
        let next = self.key.block((index + 1).min(self.shape.steps() - 1));
        if alone && size_of_val(block) <= PREFETCHED_BYTES {
            self.step_with::<true>(block, next, exponents, accumulators, scratch);
        } else {
            self.step_with::<false>(block, next, exponents, accumulators, scratch);
        }
    }

    fn step_with<const PREFETCH: bool>(
        &self,
        block: &[f64],
        next: &[f64],
        exponents: &[&[u32]],
        accumulators: &mut [f64],
        (digits, products): &mut (Buffer, Buffer),
    ) {
        let Layout { columns, rows, stride, .. } = self.layout;
        let simd = self.fft.simd();
        for (accumulator, digits) in
            accumulators.chunks_exact(columns * stride).zip(digits.chunks_exact_mut(rows * stride))
        {
            simd.run(TransformDigits::<PREFETCH> {
                fft: &self.fft,
                layout: self.layout,
                digits: &self.digits,
                accumulator,
                out: digits,
                ahead: next,
            });
        }
        let step = Step { fft: &self.fft, layout: self.layout, key: block, digits, out: products };
        multiply(step, &self.shape, exponents);
        for (accumulator, products) in accumulators
            .chunks_exact_mut(columns * stride)
            .zip(products.chunks_exact_mut(columns * stride))
        {
            simd.run(Accumulate::<PREFETCH> {
                fft: &self.fft,
                layout: self.layout,
                reduction: self.reduction,
                products,
                accumulator,
                ahead: next,
            });
        }
    }
}

fn unsupported(what: impl Into<String>, why: impl Into<String>) -> BackendError {
    BackendError::Unsupported { device: "cpu".into(), what: what.into(), why: why.into() }
}

/// Bits below those that a double keeps of a word of the native torus: accumulators are held modulo
/// 2^52, in units of 2^12. What that rounds away is less than 2^-20 of the error that doubles make
/// in one step anyway. Words of the key keep all the bits that doubles have: rounded to whole
/// units, masks would be wrong by 2^12 / sqrt(12), times a binary secret of N = 2048 half as much
/// as a key's own errors of 2^17 / sqrt(3), and 25 % more variance.
const TORUS_DROPPED: u32 = 12;

/// The modulus that accumulators are held to: Q, or 2^52 for the native torus.
fn held_modulus(shape: &BootstrapShape) -> Result<u64> {
    /// Centred residues of 54 bits are still doubles.
    const BITS: u32 = 54;
    let (Some(key), Some(modulus)) = (shape.key_modulus_value(), shape.accumulator_modulus())
    else {
        const HELD: u32 = 64 - TORUS_DROPPED;
        let Gadget::ClosestRepresentative { log2_base, levels } = shape.gadget else {
            return Ok(1 << HELD);
        };
        let digits = u64::from(log2_base) * levels as u64;
        if digits >= u64::from(HELD) {
            return Err(unsupported(
                format!("digits of {digits} bits on the native torus"),
                "this path holds 52 bits: take 51 at most",
            ));
        }
        return Ok(1 << HELD);
    };
    if key > 1 << BITS {
        return Err(unsupported(
            format!("a key modulus of {key} with the f64 transform"),
            "it holds moduli of at most 54 bits; use ntt",
        ));
    }
    Ok(modulus)
}

/// A word modulo 2^64 as a residue modulo 2^52, in units of 2^12.
fn shorten(word: u64) -> u64 {
    word.wrapping_add(1 << (TORUS_DROPPED - 1)) >> TORUS_DROPPED
}

/// The representative of `x` in `[-Q/2, Q/2)`.
fn centre(x: u64, modulus: u64) -> f64 {
    // Subtracted before the conversion: a modulus of 54 bits is no double,
    // its centred residues are.
    (if 2 * x >= modulus { x as i64 - modulus as i64 } else { x as i64 }) as f64
}

impl BlindRotator for FastRotator {
    fn group(&self) -> usize {
        GROUP
    }

    fn blind_rotate(&self, inputs: &[RotateInput<'_>], steps: usize, out: &mut [u64]) {
        let (Layout { columns, stride, size, .. }, grouping) = (self.layout, self.shape.grouping);
        let mut scratch = self.scratch(inputs.len());
        let accumulators = &mut scratch.accumulators[..inputs.len() * columns * stride];
        for (input, accumulator) in
            inputs.iter().zip(accumulators.chunks_exact_mut(columns * stride))
        {
            self.initialise(input, accumulator);
        }
        let mut pair_scratch = (scratch.digits, scratch.products);
        for index in 0..steps {
            for (pair, accumulators) in
                inputs.chunks(2).zip(accumulators.chunks_mut(2 * columns * stride))
            {
                let exponents = [0, 1].map(|i| {
                    pair.get(i)
                        .map_or(&[][..], |input| &input.exponents[index * grouping..][..grouping])
                });
                // X^0 - 1 is zero, exactly: the step would add nothing.
                if exponents.iter().copied().flatten().any(|&e| e != 0) {
                    self.step(
                        index,
                        inputs.len() == 1,
                        &exponents[..pair.len()],
                        accumulators,
                        &mut pair_scratch,
                    );
                }
            }
        }
        let lengthened = if self.shape.is_torus() { TORUS_DROPPED } else { 0 };
        for (accumulator, out) in
            accumulators.chunks_exact(columns * stride).zip(out.chunks_exact_mut(columns * size))
        {
            for (polynomial, out) in
                accumulator.chunks_exact(stride).zip(out.chunks_exact_mut(size))
            {
                for (i, o) in out.iter_mut().enumerate() {
                    *o = ((polynomial[self.place(i)] as i64).rem_euclid(self.modulus as i64)
                        as u64)
                        << lengthened;
                }
            }
        }
        let (digits, products) = pair_scratch;
        let scratch = Scratch { accumulators: scratch.accumulators, digits, products };
        self.idle.lock().unwrap_or_else(|e| e.into_inner()).push(scratch);
    }

    fn describe(&self) -> PlanReport {
        PlanReport::default()
            .with("path", "fast")
            .with("simd", self.fft.simd().name())
            .with("group", GROUP)
            .with("points", self.fft.points())
            .with("key_bytes", self.key.bytes())
            .with("error_per_step", self.error_per_step())
    }
}

impl FastRotator {
    /// c of `c 2^-53 sqrt(L K N) B M / 6`: measured 3.3 (N = 256) to 4.1 (N = 2048) over steps with
    /// ternary secrets, up to 4.3 where the processor does not fuse multiplications with additions.
    /// That is with two GGSW ciphertexts a step; the variance grows with their number.
    const ERROR_CONSTANT: f64 = 4.5;

    /// Deviation of an accumulator coefficient by the FFT's own error in one step, in units of Q,
    /// before rounding.
    fn error_per_step(&self) -> f64 {
        let spread = match self.shape.gadget {
            Gadget::Decomposition { log2_base, .. }
            | Gadget::ClosestRepresentative { log2_base, .. } => 2f64.powi(log2_base as i32),
            Gadget::ModulusRaising { .. } => self.modulus as f64,
        };
        let products = (self.shape.ggsw_per_step() as f64 / 2.0).sqrt().max(1.0);
        Self::ERROR_CONSTANT
            * products
            * 0.5f64.powi(53)
            * ((self.layout.rows * self.layout.size) as f64).sqrt()
            * spread
            * self.modulus as f64
            / 6.0
    }
}
