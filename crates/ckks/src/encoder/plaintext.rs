//! Encoded vectors.

use crate::params::ModulusChain;

/// An encoded vector: an integer polynomial, its scale, and how many slots it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Plaintext {
    coefficients: Vec<i64>,
    scale: f64,
    slots: usize,
    magnitude: f64,
}

impl Plaintext {
    pub(super) fn new(coefficients: Vec<i64>, scale: f64, slots: usize, largest: f64) -> Self {
        // A power of two: it is written on ciphertexts, and should tell little.
        let magnitude = libm::exp2(largest.max(1.0).log2().ceil());
        Self { coefficients, scale, slots, magnitude }
    }

    /// A power of two, at least 1, that no slot exceeds in magnitude.
    pub fn magnitude(&self) -> f64 {
        self.magnitude
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
        for (out, &m) in out.iter_mut().zip(&self.coefficients) {
            *out = modulus.reduce_signed(m);
        }
    }
}
