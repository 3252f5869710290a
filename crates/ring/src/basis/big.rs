//! Exact composition of residues in 32-bit words, without an allocation a coefficient.

use crate::constant_time::{self, Leading};
use crate::{Modulus, Shoup};
use num_bigint::BigUint;

/// Constants of the Chinese remainder theorem; words run from the lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Composer {
    /// `(Q/q_i)^-1 mod q_i`.
    inverses: Vec<Shoup>,
    /// `floor(2^63/q_i)`.
    reciprocals: Vec<u64>,
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
        let reciprocals = moduli.iter().map(|m| (1 << 63) / u64::from(m.value())).collect();
        Self { inverses, reciprocals, cofactors, product: fixed(product, words), half, words }
    }

    pub(super) fn scratch(&self) -> Vec<u32> {
        vec![0; self.words]
    }

    /// Writes the magnitude of the centred integer with these residues; all ones if it is
    /// negative. What is done depends on the basis alone: the integer may be a decryption.
    pub(super) fn compose(&self, moduli: &[Modulus], residues: &[u32], out: &mut [u32]) -> u32 {
        out.fill(0);
        // sum_i y_i Q/q_i is the integer plus floor(sum_i y_i/q_i) Q. The quotient, in units of
        // 2^-32, is less than two of them too small a prime.
        let mut quotient = 0;
        for (i, (modulus, &x)) in moduli.iter().zip(residues).enumerate() {
            let y = modulus.mul_shoup(x, self.inverses[i]);
            quotient += (u64::from(y) * self.reciprocals[i]) >> 31;
            let cofactor = &self.cofactors[i * self.words..][..self.words];
            let mut carry = 0;
            for (word, &c) in out.iter_mut().zip(cofactor) {
                let sum = u64::from(*word) + u64::from(y) * u64::from(c) + carry;
                (*word, carry) = (sum as u32, sum >> 32);
            }
        }
        // At most one below the true multiple, and never above it: what is left is below 2Q.
        let multiple = (quotient as i64 - (1 << 31)) >> 32;
        subtract_multiple(out, &self.product, (multiple & !(multiple >> 63)) as u32);
        let left = constant_time::hide(!is_below(out, &self.product) & 1);
        subtract_multiple(out, &self.product, left);
        let negative = is_below(&self.half, out);
        negate_modulo(out, &self.product, negative);
        negative
    }
}

/// All ones if `a < b`, which the compiler does not know to be a mask.
fn is_below(a: &[u32], b: &[u32]) -> u32 {
    let borrow = a.iter().zip(b).fold(0, |borrow, (&x, &y)| subtract(x, y, borrow).1);
    constant_time::hide(borrow.wrapping_neg())
}

/// `x - y - borrow` and the next borrow, 0 or 1.
fn subtract(x: u32, y: u32, borrow: u32) -> (u32, u32) {
    let difference = u64::from(x).wrapping_sub(u64::from(y)).wrapping_sub(u64::from(borrow));
    (difference as u32, (difference >> 63) as u32)
}

/// `a -= factor b`, where that is not negative.
fn subtract_multiple(a: &mut [u32], b: &[u32], factor: u32) {
    let mut borrow = 0;
    for (x, &y) in a.iter_mut().zip(b) {
        let taken = u64::from(factor) * u64::from(y) + borrow;
        let (difference, below) = subtract(*x, taken as u32, 0);
        *x = difference;
        borrow = (taken >> 32) + u64::from(below);
    }
}

/// `a = b - a` for a mask of all ones, where that is not negative; nothing for one of zeros.
fn negate_modulo(a: &mut [u32], b: &[u32], mask: u32) {
    let mut borrow = 0;
    for (x, &y) in a.iter_mut().zip(b) {
        let (difference, next) = subtract(y, *x, borrow);
        (*x, borrow) = (constant_time::select(mask, difference, *x), next);
    }
}

/// The f64 nearest to a magnitude, ties to even; its negative for a mask of all ones.
pub(super) fn to_f64(negative: u32, words: &[u32]) -> f64 {
    let leading = words.iter().rev().fold(Leading::default(), |leading, &word| leading.push(word));
    leading.to_f64(negative)
}
