//! Keys that mean nothing and exercise everything: uniform words from a counter, so that a device
//! can be tested and timed on any shape without real keys.

use crate::device::SplitMix64;

use super::{BootstrapShape, Gadget, KeyModulus, KeySource, SecretKind};

/// A stream of 64-bit words from a seed (SplitMix64, Steele et al. 2014):
/// reproducible, and not for secrets.
#[derive(Clone)]
pub struct Words(SplitMix64);

impl Words {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// The next word.
    pub fn next_word(&mut self) -> u64 {
        self.0.next_word()
    }

    /// A word below `bound`, with the extremes 0 and `bound - 1` once in 32 draws each: that is
    /// where kernels break.
    pub fn below(&mut self, bound: u64) -> u64 {
        match self.next_word() % 32 {
            0 => 0,
            1 => bound - 1,
            _ => self.next_word() % bound,
        }
    }
}

/// A shape of two slots that is small enough for thousands of bootstrappings; without security.
pub fn small_shape() -> BootstrapShape {
    BootstrapShape {
        lwe_dimension: 4,
        log2_lwe_modulus: 9,
        polynomial_size: 256,
        glwe_dimension: 1,
        packing: 2,
        secret: SecretKind::Ternary,
        grouping: 1,
        gadget: Gadget::Decomposition { log2_base: 9, levels: 3, dropped_bits: 0 },
        key_modulus: KeyModulus::Words(vec![132_120_577]),
        log2_ks_modulus: 14,
        log2_ks_base: 4,
    }
}

/// A shape on the native torus that has one slot, few indices of which `grouping` make a step, and
/// `levels` digits of `log2_base` bits; without security.
pub fn torus_shape(
    polynomial_size: usize,
    log2_base: u32,
    levels: usize,
    grouping: usize,
) -> BootstrapShape {
    BootstrapShape {
        lwe_dimension: 12,
        log2_lwe_modulus: polynomial_size.ilog2() + 1,
        polynomial_size,
        glwe_dimension: 1,
        packing: 1,
        secret: SecretKind::Binary,
        grouping,
        gadget: Gadget::ClosestRepresentative { log2_base, levels },
        key_modulus: KeyModulus::Torus64,
        log2_ks_modulus: 16,
        log2_ks_base: 4,
    }
}

/// Uniform words in the place of keys.
pub struct SyntheticKeys {
    shape: BootstrapShape,
    seed: u64,
}

impl SyntheticKeys {
    /// Keys of `shape`, which must be valid.
    pub fn new(shape: BootstrapShape, seed: u64) -> Self {
        Self { shape, seed }
    }

    fn words(&self, domain: u64, index: usize) -> Words {
        Words::new(self.seed ^ (domain << 56) ^ ((index as u64) << 24))
    }
}

impl KeySource for SyntheticKeys {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let modulus = self.shape.key_modulus_value().unwrap_or(u64::MAX);
        let mut words = self.words(1, index);
        out.fill_with(|| words.below(modulus));
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        let row = self.shape.switched_len();
        let mut words = self.words(2, index);
        if self.shape.is_torus() {
            return out.fill_with(|| words.next_word());
        }
        for rows in out.chunks_exact_mut(self.shape.ks_base() * row) {
            rows[..row].fill(0);
            rows[row..].fill_with(|| words.below(1 << self.shape.log2_ks_modulus));
        }
    }
}
