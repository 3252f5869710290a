//! Many primes as one modulus: residue number systems, and the conversion from one to another.
//!
//! Limb arrays are *limb-major*: all coefficients modulo the first prime, then all modulo the
//! second, and so on, in the order of the basis.

mod big;
mod conversion;
mod formula;
#[cfg(test)]
mod tests;

use crate::{Modulus, RingError};
use big::Composer;
use num_bigint::{BigInt, BigUint, Sign};
use zeroize::Zeroizing;

pub use conversion::BaseConversion;
pub use formula::Formula;

/// An ordered list of distinct odd primes below 2^31,
/// and exact conversion between residues and integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RnsBasis {
    moduli: Vec<Modulus>,
    product: BigUint,
    composer: Composer,
}

impl RnsBasis {
    /// The basis of these primes, in this order.
    ///
    /// # Errors
    /// [`RingError::EmptyBasis`], [`RingError::NotPrime`], [`RingError::RepeatedPrime`].
    pub fn new(primes: &[u32]) -> Result<Self, RingError> {
        if primes.is_empty() {
            return Err(RingError::EmptyBasis);
        }
        let mut moduli = Vec::with_capacity(primes.len());
        for (index, &value) in primes.iter().enumerate() {
            let modulus = Modulus::new(value).filter(|_| crate::is_prime(u64::from(value)));
            moduli.push(modulus.ok_or(RingError::NotPrime { value })?);
            if primes[..index].contains(&value) {
                return Err(RingError::RepeatedPrime { prime: value });
            }
        }
        let product = primes.iter().map(|&p| BigUint::from(p)).product();
        let composer = Composer::new(&moduli, &product);
        Ok(Self { moduli, product, composer })
    }

    /// The primes at these positions, in the order named.
    ///
    /// # Errors
    /// [`RingError::NoSuchPrime`]; and as [`RnsBasis::new`] if `indices` is
    /// empty or repeats itself.
    pub fn select(&self, indices: &[usize]) -> Result<Self, RingError> {
        let len = self.len();
        let prime = |&index: &usize| {
            let modulus = self.moduli.get(index).ok_or(RingError::NoSuchPrime { index, len })?;
            Ok(modulus.value())
        };
        Self::new(&indices.iter().map(prime).collect::<Result<Vec<_>, RingError>>()?)
    }

    /// The primes.
    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// The primes as numbers.
    pub fn primes(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.moduli.iter().map(Modulus::value)
    }

    /// How many primes.
    pub fn len(&self) -> usize {
        self.moduli.len()
    }

    /// Never: a basis has a prime at least.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The position of a prime.
    pub fn position(&self, prime: u32) -> Option<usize> {
        self.primes().position(|p| p == prime)
    }

    /// The product of all primes, here called Q.
    pub fn product(&self) -> &BigUint {
        &self.product
    }

    /// The product of all primes modulo another one.
    pub fn product_mod(&self, modulus: Modulus) -> u32 {
        self.primes().fold(1, |product, p| modulus.mul(product, p))
    }

    /// Residues of signed coefficients, limb-major: `out` has [`RnsBasis::len`] limbs of
    /// `coefficients.len()` words.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn reduce_i64(&self, coefficients: &[i64], out: &mut [u32]) {
        self.each_residue(coefficients.len(), out, |m, i| m.reduce_signed(coefficients[i]));
    }

    /// [`RnsBasis::reduce_i64`] for coefficients of up to 127 bits.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn reduce_i128(&self, coefficients: &[i128], out: &mut [u32]) {
        self.each_residue(coefficients.len(), out, |m, i| m.reduce_i128(coefficients[i]));
    }

    /// The residues of one integer, one for each prime.
    pub fn reduce_big(&self, value: &BigInt) -> Vec<u32> {
        let residue = |modulus: &Modulus| {
            let magnitude = value.magnitude() % modulus.value();
            let residue = magnitude.to_u32_digits().first().copied().unwrap_or(0);
            if value.sign() == Sign::Minus { modulus.neg(residue) } else { residue }
        };
        self.moduli.iter().map(residue).collect()
    }

    /// The integers in `(-Q/2, Q/2)` that have these canonical residues (limb-major).
    ///
    /// # Panics
    /// If `limbs` is not a whole number of coefficients, or a residue is not canonical.
    pub fn compose(&self, limbs: &[u32]) -> Vec<BigInt> {
        let mut out = Vec::with_capacity(limbs.len() / self.len());
        self.each_integer(limbs, |negative, magnitude| {
            let sign = if negative != 0 { Sign::Minus } else { Sign::Plus };
            out.push(BigInt::from_slice(sign, magnitude));
        });
        out
    }

    /// As [`RnsBasis::compose`], each integer rounded once to f64 (to nearest, ties to even; what
    /// exceeds an f64 becomes infinite). Integers may be secret: what is done does not depend on
    /// them, and copies on the way are wiped.
    ///
    /// # Panics
    /// As [`RnsBasis::compose`]; and if `out` has not one place for each coefficient.
    pub fn compose_f64(&self, limbs: &[u32], out: &mut [f64]) {
        assert_eq!(out.len() * self.len(), limbs.len(), "one f64 for each coefficient");
        let mut places = out.iter_mut();
        self.each_integer(limbs, |negative, magnitude| {
            *places.next().expect("as many as coefficients") = big::to_f64(negative, magnitude);
        });
    }

    fn each_residue(&self, len: usize, out: &mut [u32], residue: impl Fn(&Modulus, usize) -> u32) {
        assert_eq!(out.len(), len * self.len(), "one limb of {len} words for each prime");
        if len == 0 {
            return;
        }
        for (modulus, limb) in self.moduli.iter().zip(out.chunks_exact_mut(len)) {
            for (i, word) in limb.iter_mut().enumerate() {
                *word = residue(modulus, i);
            }
        }
    }

    /// Calls `each` with the sign, all ones for a negative one, and the magnitude (words from the
    /// lowest) of every coefficient.
    fn each_integer(&self, limbs: &[u32], mut each: impl FnMut(u32, &[u32])) {
        assert!(
            limbs.len().is_multiple_of(self.len()),
            "one limb for each of {} primes",
            self.len()
        );
        let size = limbs.len() / self.len();
        let mut residues = Zeroizing::new(vec![0; self.len()]);
        let mut words = Zeroizing::new(self.composer.scratch());
        for i in 0..size {
            for (limb, residue) in residues.iter_mut().enumerate() {
                *residue = limbs[limb * size + i];
                let p = self.moduli[limb].value();
                assert!(*residue < p, "coefficient {i} has no residue modulo {p}");
            }
            let negative = self.composer.compose(&self.moduli, &residues, &mut words);
            each(negative, &words);
        }
    }
}
