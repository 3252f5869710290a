//! Exact composition of residues in 32-bit words, without an allocation a coefficient.

use crate::{Modulus, Shoup};
use num_bigint::BigUint;
use std::cmp::Ordering;

/// Constants of the Chinese remainder theorem; words run from the lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Composer {
    /// `(Q/q_i)^-1 mod q_i`.
    inverses: Vec<Shoup>,
    /// `Q/q_i`, each of `words` words.
    cofactors: Vec<u32>,
    product: Vec<u32>,
    /// `(Q - 1)/2`, the largest magnitude.
    half: Vec<u32>,
    /// Words that hold the sum of `len` terms below Q.
    words: usize,
}

fn fixed(value: &BigUint, words: usize) -> Vec<u32> {
    let mut digits = value.to_u32_digits();
    digits.resize(words, 0);
    digits
}

impl Composer {
    pub(super) fn new(moduli: &[Modulus], product: &BigUint) -> Self {
        let words = (product * moduli.len()).to_u32_digits().len();
        let mut cofactors = Vec::with_capacity(words * moduli.len());
        let mut inverses = Vec::with_capacity(moduli.len());
        for modulus in moduli {
            let cofactor = product / modulus.value();
            let residue = &cofactor % modulus.value();
            // Primes are distinct, so that the residue is not zero.
            let residue = residue.to_u32_digits().first().copied().unwrap_or(0);
            inverses.push(modulus.shoup(modulus.inverse(residue)));
            cofactors.extend(fixed(&cofactor, words));
        }
        let half = fixed(&(product >> 1u32), words);
        Self { inverses, cofactors, product: fixed(product, words), half, words }
    }

    pub(super) fn scratch(&self) -> Vec<u32> {
        vec![0; self.words]
    }

    /// Writes the magnitude of the centred integer with these residues; whether it is negative.
    pub(super) fn compose(&self, moduli: &[Modulus], residues: &[u32], out: &mut [u32]) -> bool {
        out.fill(0);
        // sum_i y_i Q/q_i is the integer plus floor(sum_i y_i/q_i) Q, which f64 gives to within 1.
        let mut quotient = 0.0;
        for (i, (modulus, &x)) in moduli.iter().zip(residues).enumerate() {
            let y = modulus.mul_shoup(x, self.inverses[i]);
            quotient += f64::from(y) / f64::from(modulus.value());
            let cofactor = &self.cofactors[i * self.words..][..self.words];
            let mut carry = 0;
            for (word, &c) in out.iter_mut().zip(cofactor) {
                let sum = u64::from(*word) + u64::from(y) * u64::from(c) + carry;
                (*word, carry) = (sum as u32, sum >> 32);
            }
        }
        // At most one below the true multiple, and never above it: what is left is below 2Q.
        let multiple = (quotient - 0.5).max(0.0) as u32;
        subtract_multiple(out, &self.product, multiple);
        while compare(out, &self.product) != Ordering::Less {
            subtract_multiple(out, &self.product, 1);
        }
        let negative = compare(out, &self.half) == Ordering::Greater;
        if negative {
            subtract_from(out, &self.product);
        }
        negative
    }
}

fn compare(a: &[u32], b: &[u32]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// `a -= factor b`, where that is not negative.
fn subtract_multiple(a: &mut [u32], b: &[u32], factor: u32) {
    let mut borrow = 0;
    for (x, &y) in a.iter_mut().zip(b) {
        let taken = u64::from(factor) * u64::from(y) + borrow;
        let (difference, below) = x.overflowing_sub(taken as u32);
        *x = difference;
        borrow = (taken >> 32) + u64::from(below);
    }
}

/// `a = b - a`, where that is not negative.
fn subtract_from(a: &mut [u32], b: &[u32]) {
    let mut borrow = false;
    for (x, &y) in a.iter_mut().zip(b) {
        let (difference, first) = y.overflowing_sub(*x);
        let (difference, second) = difference.overflowing_sub(u32::from(borrow));
        (*x, borrow) = (difference, first || second);
    }
}

/// The nearest f64, ties to even.
pub(super) fn to_f64(words: &[u32]) -> f64 {
    let Some(top) = words.iter().rposition(|&word| word != 0) else { return 0.0 };
    let word = |index: Option<usize>| index.map_or(0, |i| u64::from(words[i]));
    let shift = words[top].leading_zeros();
    // The 64 bits below the first one, then one bit for whether anything is left: the conversion of
    // a u64 rounds once, and the last bit breaks a tie as the rest would.
    let high = word(Some(top)) << 32 | word(top.checked_sub(1));
    let low = word(top.checked_sub(2));
    let bits = high << shift | (low << shift) >> 32;
    let rest =
        (low << shift) as u32 != 0 || words[..top.saturating_sub(2)].iter().any(|&word| word != 0);
    let exponent = 32 * (top as i32 - 1) - shift as i32;
    libm::ldexp((bits | u64::from(rest)) as f64, exponent)
}
