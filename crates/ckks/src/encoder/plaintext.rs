//! Encoded vectors.

use crate::params::ModulusChain;
use crate::{Error, Result};
use girih_ring::limb::LimbKernels;

/// An encoded vector: an integer polynomial, its scale, and how many slots it has. `Debug` shows
/// nothing of the values.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    coefficients: Vec<i64>,
    scale: f64,
    slots: usize,
    /// As secret as the values: it is compared with what is declared, and goes nowhere else.
    largest: f64,
}

impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext(scale 2^{:.3}, {} slots)", self.scale.log2(), self.slots)
    }
}

/// The magnitude of `exp(i t)`, computed in f64, may exceed 1 by some 2^-52.
const ROUNDING: f64 = 1.0 + 1.0 / (1u64 << 48) as f64;

impl Plaintext {
    pub(super) fn new(coefficients: Vec<i64>, scale: f64, slots: usize, largest: f64) -> Self {
        Self { coefficients, scale, slots, largest }
    }

    /// Refuses values above the magnitude that is declared of them, and says nothing else of them.
    pub(crate) fn check_within(&self, magnitude: f64) -> Result<()> {
        if self.largest <= magnitude * ROUNDING {
            return Ok(());
        }
        Err(Error::Magnitude { declared: magnitude })
    }

    /// N signed coefficients, below 2^62 in magnitude.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// By how much slots are scaled.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// n, the length of the vector.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Writes the canonical residues modulo the prime at `position`, in coefficient form; `out` has
    /// N words.
    ///
    /// # Panics
    /// If the chain has no such position, or `out` another length.
    pub fn residues(&self, chain: &ModulusChain, position: usize, out: &mut [u32]) {
        assert_eq!(out.len(), self.coefficients.len(), "a limb has N words");
        let modulus = chain.moduli()[position];
        LimbKernels::new(modulus).residues(&self.coefficients, out);
    }
}
