//! Polynomials modulo a few primes on the host.

use crate::{Error, Result};
use girih_ring::{Modulus, SplitNtt, TorusCrt};
use zeroize::Zeroizing;

/// There is no ring of such a degree.
pub(crate) fn impossible(degree: usize, why: &str) -> Error {
    let degree = degree.to_string();
    girih_ckks::Error::Parameter { field: "N", value: degree, rule: why.into() }.into()
}

/// The transforms of one degree modulo a few primes, and their CRT.
pub(crate) struct HostRing {
    transforms: Vec<SplitNtt>,
    crt: TorusCrt,
}

impl HostRing {
    /// Those of `primes`, each 1 modulo 2N, of product below 2^124.
    pub fn new(primes: &[u32], degree: usize) -> Result<Self> {
        let wrong = |why: String| impossible(degree, &format!("primes {primes:?}: {why}"));
        let one = |&p: &u32| {
            let modulus = Modulus::new(p).ok_or_else(|| wrong(format!("{p} is no prime word")))?;
            SplitNtt::new(modulus, degree).map_err(|e| wrong(e.to_string()))
        };
        let transforms = primes.iter().map(one).collect::<Result<_>>()?;
        let crt = TorusCrt::new(primes).ok_or_else(|| wrong("one to four distinct ones".into()))?;
        Ok(Self { transforms, crt })
    }

    /// N.
    pub fn degree(&self) -> usize {
        self.transforms[0].size()
    }

    /// Number of primes.
    pub fn len(&self) -> usize {
        self.transforms.len()
    }

    pub fn modulus(&self, word: usize) -> Modulus {
        self.transforms[word].modulus()
    }

    pub fn forward(&self, word: usize, limb: &mut [u32]) {
        self.transforms[word].forward(limb);
    }

    pub fn inverse(&self, word: usize, limb: &mut [u32]) {
        self.transforms[word].inverse(limb);
    }

    /// The evaluations modulo one prime of a polynomial of signed coefficients.
    pub fn evaluations(&self, word: usize, poly: &[i64]) -> Vec<u32> {
        let modulus = self.modulus(word);
        let mut limb: Vec<u32> = poly.iter().map(|&c| modulus.reduce_signed(c)).collect();
        self.forward(word, &mut limb);
        limb
    }

    /// The same of something secret, modulo all primes; wiped when dropped.
    pub fn secret_evaluations(&self, poly: &[i64]) -> Vec<Zeroizing<Vec<u32>>> {
        (0..self.len()).map(|word| Zeroizing::new(self.evaluations(word, poly))).collect()
    }

    /// The integer of these residues modulo 2^64, the one that is smallest in magnitude.
    pub fn compose(&self, residue: impl Fn(usize) -> u32) -> u64 {
        self.crt.compose(residue)
    }
}

/// `sum += a b`, word by word.
pub(crate) fn add_product(modulus: Modulus, sum: &mut [u32], a: &[u32], b: &[u32]) {
    for ((sum, &a), &b) in sum.iter_mut().zip(a).zip(b) {
        *sum = modulus.add(*sum, modulus.mul(a, b));
    }
}

/// The representative in `[-2^(bits-1), 2^(bits-1))` of a word modulo `2^bits`.
pub(crate) fn centred(word: u64, bits: u32) -> i64 {
    ((word << (64 - bits)) as i64) >> (64 - bits)
}

/// Words modulo `2^bits`.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// `poly(X^(step))` in a ring of `degree`.
pub(crate) fn spread(poly: &[i8], step: usize, degree: usize) -> Zeroizing<Vec<i64>> {
    let mut out = Zeroizing::new(vec![0; degree]);
    for (i, &c) in poly.iter().enumerate() {
        out[i * step] = i64::from(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ring::largest_ntt_primes;

    #[test]
    fn products_are_exact_modulo_two_to_the_64() {
        let primes = largest_ntt_primes(31, 32, 3).expect("there are many");
        let ring = HostRing::new(&primes, 16).expect("checked primes");
        let a: Vec<i64> = (0..16).map(|i| i64::MAX / (i + 1) - 7 * i).collect();
        let b: Vec<i64> = (0..16).map(|i| (i % 3) - 1).collect();
        let mut limbs = Vec::new();
        for word in 0..ring.len() {
            let mut sum = vec![0; 16];
            let (x, y) = (ring.evaluations(word, &a), ring.evaluations(word, &b));
            add_product(ring.modulus(word), &mut sum, &x, &y);
            ring.inverse(word, &mut sum);
            limbs.push(sum);
        }
        for k in 0..16usize {
            let mut wanted = 0i128;
            for i in 0..16usize {
                let (j, sign) = if i <= k { (k - i, 1) } else { (k + 16 - i, -1) };
                wanted += sign * i128::from(a[i]) * i128::from(b[j]);
            }
            assert_eq!(ring.compose(|word| limbs[word][k]), wanted as u64, "coefficient {k}");
        }
    }

    #[test]
    fn words_are_centred() {
        assert_eq!((centred(5, 4), centred(8, 4), centred(15, 4)), (5, -8, -1));
        assert_eq!((centred(u64::MAX, 64), mask(64), mask(3)), (-1, u64::MAX, 7));
    }
}
