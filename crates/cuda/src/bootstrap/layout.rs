//! The numbers of a layout: how wide words are, where things lie, how many bytes a step has. They
//! follow from the shape and the transform alone; plans, kernel constants and keys stand on them.

use girih_backend::{BootstrapShape, Gadget, KeyModulus, Transform};

/// Values of a polynomial that one thread holds in every pass of the transform.
pub(crate) const ITEMS: usize = 16;
/// Bytes of two packed key entries: four integers of 48 bits.
pub(crate) const PACKED_BYTES: usize = 24;
/// Leading bits of a word of the native torus that an accumulator holds.
pub(crate) const TORUS_BITS: u32 = 32;

// Of `key_switch_torus`: threads, ciphertexts and columns of a block.
pub(crate) const PRODUCT_THREADS: usize = 128;
pub(crate) const PRODUCT_CIPHERTEXTS: usize = 128;
pub(crate) const PRODUCT_COLUMNS: usize = 16;
/// Indices of a step of that product.
pub(crate) const PRODUCT_INDICES: usize = 32;

/// Derived numbers that plan and sources share.
pub(crate) struct Geometry {
    /// Values of a transformed polynomial.
    pub points: usize,
    /// Threads of one polynomial.
    pub team: usize,
    pub second_radix: usize,
    pub tail: usize,
    pub words: usize,
    /// Of a coefficient of a test polynomial.
    pub accumulator_bytes: usize,
    /// Of a coefficient on the chip.
    pub held_bytes: usize,
}

impl Geometry {
    pub fn new(shape: &BootstrapShape, transform: Transform) -> Self {
        let points = match transform {
            Transform::Ntt => shape.polynomial_size,
            Transform::Fft => shape.polynomial_size / 2,
        };
        let team = (points / ITEMS).max(1);
        let second_radix = team.min(16);
        let words = match &shape.key_modulus {
            KeyModulus::Words(words) => words.len(),
            // Nobody reads it: the f64 transform knows no words.
            KeyModulus::Torus64 => 1,
        };
        let wide = shape.accumulator_modulus().is_some_and(|q| q >= 1 << 31);
        let accumulator_bytes = if wide { 8 } else { 4 };
        let held_bytes =
            if transform == Transform::Fft && scaled(shape) { 4 } else { accumulator_bytes };
        Self {
            points,
            team,
            second_radix,
            tail: team / second_radix,
            words,
            accumulator_bytes,
            held_bytes,
        }
    }

    /// Frequencies that one thread takes at a time: so many groups of `tail`.
    pub fn frequency_groups(&self) -> usize {
        self.points / self.tail
    }

    /// Threads that find work in the product phase.
    pub fn frequency_items(&self, transform: Transform) -> usize {
        self.frequency_groups() * if transform == Transform::Ntt { self.words } else { 1 }
    }
}

/// Whether the f64 transform holds accumulators of a Q of two words as multiples of Q / 2^32: half
/// the registers, and sums that wrap. Rounding to them adds at most 1/256 of the variance that the
/// bits left out bring.
pub(crate) fn scaled(shape: &BootstrapShape) -> bool {
    let Gadget::Decomposition { dropped_bits, .. } = shape.gadget else { return false };
    let wide = shape.accumulator_modulus().filter(|&q| q >= 1 << 31);
    wide.is_some_and(|q| {
        q as f64 / f64::from(TORUS_BITS).exp2() * 16.0 <= f64::from(dropped_bits).exp2()
    })
}

/// Whether each team keeps its one polynomial in registers.
pub(crate) fn in_registers(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
) -> bool {
    (groups * shape.columns()).div_ceil(threads / geometry.team) == 1
}

/// Whether the product phase of the FFT holds all digits
/// (`HOLD_DIGITS` of cuda/bootstrap/fft_key.cuh).
pub(crate) fn holds_digits(shape: &BootstrapShape) -> bool {
    shape.levels() * shape.columns() <= 2 * shape.columns()
}

/// What transforms of centred key polynomials are multiplied by: 2/N, and the unit of what an
/// accumulator holds.
pub(crate) fn fft_scale(shape: &BootstrapShape) -> f64 {
    let modulus = shape.key_modulus_value();
    2.0 / shape.polynomial_size as f64
        * match shape.gadget {
            Gadget::Decomposition { .. } if scaled(shape) => {
                f64::from(TORUS_BITS).exp2() / modulus.unwrap_or(1) as f64
            }
            Gadget::Decomposition { .. } => 1.0,
            // Digits are aligned to the top of 32 bits, sums to the bottom.
            Gadget::ModulusRaising { log2_modulus } => {
                (2.0 * f64::from(log2_modulus) - 32.0).exp2() / modulus.unwrap_or(1) as f64
            }
            Gadget::ClosestRepresentative { .. } => (f64::from(TORUS_BITS) - 64.0).exp2(),
        }
}

/// log2 of the unit in which packed key entries are integers of 48 bits, where the key bears it:
/// rounding to them adds an error of at most 0.2 to a coefficient of a key whose own errors deviate
/// by 3.19, 1/256 of their variance.
pub(crate) fn packed_exponent(shape: &BootstrapShape, transform: Transform) -> Option<i32> {
    let (size, scale) = (shape.polynomial_size as f64, fft_scale(shape));
    let modulus = shape.key_modulus_value()? as f64;
    if transform == Transform::Ntt || !holds_digits(shape) || shape.ggsw_per_step() != 2 {
        return None;
    }
    // Entries are sums and differences of two transforms of N/2 complex numbers with parts uniform
    // modulo T: each of their parts deviates by sqrt(N) T / sqrt(12).
    // One in 10^19 lies beyond nine deviations.
    let deviation = (size / 12.0).sqrt() * modulus * scale;
    let exponent = (9.0 * deviation).log2().ceil() - 47.0;
    // Rounding leaves a variance of unit^2/12 in sum and difference, half of that in each of the
    // two keys, spread over N/2.
    let error = exponent.exp2() / scale / (12.0 * size).sqrt();
    (error <= 0.2).then_some(exponent as i32)
}

/// Bytes of one step's key under the f64 FFT, before packing.
pub(crate) fn unpacked_step_bytes(shape: &BootstrapShape) -> usize {
    16 * shape.levels() * shape.columns().pow(2) * shape.ggsw_per_step() * shape.polynomial_size / 2
}

/// Bytes of one step's slice of the bootstrapping key (`KEY_STEP_BYTES` of the kernels).
pub(crate) fn step_bytes(shape: &BootstrapShape, transform: Transform, packed: bool) -> usize {
    let geometry = Geometry::new(shape, transform);
    match transform {
        Transform::Ntt => {
            let chunks = ntt_key_chunks(shape, &geometry) * geometry.frequency_groups();
            16 * geometry.words * shape.columns() * chunks
        }
        // Two entries in so many bytes, else 16 each.
        Transform::Fft if packed => unpacked_step_bytes(shape) / 32 * PACKED_BYTES,
        Transform::Fft => unpacked_step_bytes(shape),
    }
}

/// Entries of the key that a thread of the FFT takes in a run (`RUN_ENTRIES`
/// of cuda/bootstrap/fft_key.cuh).
pub(crate) fn run_entries(shape: &BootstrapShape, geometry: &Geometry) -> usize {
    let column = shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail;
    if holds_digits(shape) && shape.grouping == 1 { column } else { column * shape.columns() }
}

/// Chunks of 16 bytes of one column at one group of frequencies (`KEY_CHUNKS`
/// of cuda/bootstrap/ntt.cuh).
pub(crate) fn ntt_key_chunks(shape: &BootstrapShape, geometry: &Geometry) -> usize {
    (shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail).div_ceil(4)
}

/// Bytes of one stored key-switching word: the fewest of those that kernels read. Q_ks is at most
/// 2^40, or 2^64 on the torus.
pub(crate) fn ks_word_bytes(shape: &BootstrapShape) -> usize {
    match shape.log2_ks_modulus {
        _ if shape.is_torus() => 8,
        0..=16 => 2,
        17..=32 => 4,
        _ => 5,
    }
}

/// Words of one stored key-switching row: n + r padded so that rows are whole 16-byte units, on the
/// torus whole blocks.
pub(crate) fn ks_row(shape: &BootstrapShape) -> usize {
    shape.switched_len().next_multiple_of(match ks_word_bytes(shape) {
        2 => 8,
        4 => 4,
        8 => PRODUCT_COLUMNS,
        _ => 16,
    })
}

/// Bytes of a sum of key-switching words, as wide as wraps modulo Q_ks.
pub(crate) fn ks_sum_bytes(shape: &BootstrapShape) -> usize {
    if ks_word_bytes(shape) == 5 { 8 } else { 4 }
}

/// Bytes of the key-switching rows of one index: `[digit][value - 1][row]`, value 0 left out.
pub(crate) fn key_switching_bytes(shape: &BootstrapShape) -> usize {
    shape.ks_digits() * (shape.ks_base() - 1) * ks_row(shape) * ks_word_bytes(shape)
}

/// Bytes of the key of `key_switch_torus` for the indices of a step, all digits.
pub(crate) fn product_chunk_bytes(shape: &BootstrapShape) -> usize {
    PRODUCT_INDICES * shape.ks_digits() * ks_row(shape) * ks_word_bytes(shape)
}
