//! What keys for merging are made with: modulus, digits, errors, and the noise that follows.

use crate::noise::{secret_square, variance_of};
use crate::{ErrorDistribution, NoiseModel, ParameterSet};
use girih_backend::{KeyModulus, Transform};
use girih_ring::{Rns, largest_ntt_prime_pair};

/// log2 of the modulus of the keys on the native torus. Errors shrink as the modulus does, from
/// 2^64, so that the ratio of the two, and with it the security, is that of the set's other keys.
const TORUS_BITS: u32 = 60;

/// Bits of a digit at most: digits are words of 32 bits.
const MOST_BITS: u32 = 30;

/// Balanced digits of a mask modulo M: the highest `log2_base digits` of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gadget {
    pub log2_base: u32,
    pub digits: usize,
    pub dropped_bits: u32,
}

/// The modulus M of the keys: that of the set's bootstrapping key; on the native torus, two primes.
pub(crate) fn modulus(set: &ParameterSet) -> Option<Rns> {
    let shape = set.shape();
    match &shape.key_modulus {
        KeyModulus::Words(primes) => Rns::new(primes),
        KeyModulus::Torus64 => {
            Rns::new(&largest_ntt_prime_pair(TORUS_BITS, 2 * shape.polynomial_size as u32)?)
        }
    }
}

/// b of the errors TUniform(b) modulo M, on the native torus.
pub(crate) fn scaled_bound(glwe_log2_bound: u32) -> u32 {
    glwe_log2_bound.saturating_sub(64 - TORUS_BITS).max(1)
}

/// Variance of the errors of the keys, in units of M.
fn error_variance(set: &ParameterSet) -> f64 {
    match set.errors() {
        ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => {
            let glwe_log2_bound = scaled_bound(glwe_log2_bound);
            variance_of(ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound }).1
        }
        gaussian => variance_of(gaussian).1,
    }
}

fn bits(modulus: u64) -> u32 {
    64 - modulus.leading_zeros()
}

/// Variances that merging adds, in squares of the whole circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MergeNoise {
    /// Of the switch from the LWE secret to the ring's, once for each ciphertext; rounding to M.
    entry: f64,
    /// Of the switch that one merge has.
    level: f64,
}

impl MergeNoise {
    /// Of a ciphertext of `2^levels` that were merged. Every merge doubles all that is in it, which
    /// divided by 2^levels before, errors of earlier merges among it.
    pub fn after(&self, levels: u32) -> f64 {
        self.entry + (4f64.powi(levels as i32) - 1.0) / 3.0 * self.level
    }
}

impl Gadget {
    /// Digits as they were written down.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(modulus: &Rns, log2_base: u32, digits: u32) -> Result<Self, String> {
        let all = bits(modulus.value());
        let smallest = modulus.words().iter().map(|w| w.value()).min().unwrap_or(0);
        // A digit goes up to half the base and stands for a residue modulo each prime.
        let most = (64 - u64::from(smallest).leading_zeros()).min(MOST_BITS);
        if !(1..=most).contains(&log2_base) {
            return Err(format!("digits of {log2_base} bits: they have 1 to {most}"));
        }
        if digits == 0 || digits.saturating_mul(log2_base) > all {
            return Err(format!("{digits} digits of {log2_base} bits: a modulus has {all}"));
        }
        let dropped_bits = all - digits * log2_base;
        Ok(Self { log2_base, digits: digits as usize, dropped_bits })
    }

    /// The fewest digits with which merging N ciphertexts adds no more than a bootstrapping leaves,
    /// or, if none do, those that add least.
    pub fn of(set: &ParameterSet, modulus: &Rns) -> Self {
        let shape = set.shape();
        let log2_modulus = shape.log2_stored_modulus();
        let model = NoiseModel::with_transform(set, Transform::Fft);
        let wanted = model.variance_out_at(log2_modulus) * 4f64.powi(-(log2_modulus as i32));
        let levels = shape.polynomial_size.trailing_zeros();
        let mut least: Option<(f64, Self)> = None;
        for digits in 1..=bits(modulus.value()) {
            for log2_base in 1..=MOST_BITS {
                let Ok(gadget) = Self::new(modulus, log2_base, digits) else { continue };
                let added = gadget.noise(set, modulus).after(levels);
                if least.is_none_or(|(least, _)| added < least) {
                    least = Some((added, gadget));
                }
            }
            if least.is_some_and(|(least, _)| least <= wanted) {
                break;
            }
        }
        least.map_or(Self { log2_base: 1, digits: 1, dropped_bits: 0 }, |(_, gadget)| gadget)
    }

    /// What merging adds, by this gadget.
    ///
    /// A digit's mean square is (B^2 + 2)/12, of the top one with its own range in the place of B;
    /// each meets the error of a row. Bits that are dropped err by 4^dropped / 12, times the secret
    /// that they meet.
    pub fn noise(&self, set: &ParameterSet, modulus: &Rns) -> MergeNoise {
        let shape = set.shape();
        let whole = modulus.value() as f64;
        let top = whole
            / 2f64.powi((self.dropped_bits + self.log2_base * (self.digits as u32 - 1)) as i32);
        let square = |base: f64| (base.powi(2) + 2.0) / 12.0;
        let digits =
            (self.digits - 1) as f64 * square(2f64.powi(self.log2_base as i32)) + square(top);
        let left_out =
            if self.dropped_bits == 0 { 0.0 } else { 4f64.powi(self.dropped_bits as i32) / 12.0 };
        let switch = |words: usize, square: f64| {
            words as f64 * (digits * error_variance(set) + left_out * square)
        };
        let ring = secret_square(set.ring_secret());
        let (rounding, entry) = if shape.is_torus() {
            ((1.0 + shape.ks_indices() as f64 * ring) / 12.0, 0.0)
        } else {
            let (n, lwe) = (shape.lwe_dimension, secret_square(shape.secret));
            ((1.0 + n as f64 * lwe) / 12.0, switch(n, lwe))
        };
        MergeNoise {
            entry: (rounding + entry) / whole.powi(2),
            level: switch(shape.ks_indices(), ring) / whole.powi(2),
        }
    }
}
