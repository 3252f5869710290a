//! Exact sums modulo 2^64 from residues modulo a few primes: the integer transform of the native
//! torus.

use crate::Modulus;

/// The signed word modulo 2^64 over `2^bits`, rounded half up; `bits` is at most 63.
pub fn round_torus(word: u64, bits: u32) -> i64 {
    match bits {
        0 => word as i64,
        _ => (word.wrapping_add(1 << (bits - 1)) as i64) >> bits,
    }
}

/// Distinct primes `p_0 .. p_(n-1)` of product M below 2^127, and what their CRT to words modulo
/// 2^64 needs.
///
/// An integer x, `|x| < M / 2`, is known by its residues; on the torus it counts modulo 2^64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorusCrt {
    primes: Vec<Modulus>,
    product: u128,
    /// `(M / p_w)^-1 mod p_w`.
    inverses: Vec<u32>,
}

impl TorusCrt {
    /// Those of `primes`; `None` unless they are distinct, each a valid [`Modulus`] and prime to
    /// the others, one to four of them.
    pub fn new(primes: &[u32]) -> Option<Self> {
        let distinct = (1..primes.len()).all(|i| !primes[..i].contains(&primes[i]));
        if !(1..=4).contains(&primes.len()) || !distinct {
            return None;
        }
        let moduli: Vec<Modulus> =
            primes.iter().map(|&p| Modulus::new(p)).collect::<Option<_>>()?;
        let product = primes.iter().map(|&p| u128::from(p)).product();
        let inverses = moduli
            .iter()
            .map(|m| {
                let others = product / u128::from(m.value()) % u128::from(m.value());
                let inverse = m.inverse(others as u32);
                (m.mul(inverse, others as u32) == 1).then_some(inverse)
            })
            .collect::<Option<_>>()?;
        Some(Self { primes: moduli, product, inverses })
    }

    /// The primes.
    pub fn primes(&self) -> &[Modulus] {
        &self.primes
    }

    /// M, below 2^124.
    pub fn product(&self) -> u128 {
        self.product
    }

    /// `(M / p_word)^-1 mod p_word`.
    pub fn inverse(&self, word: usize) -> u32 {
        self.inverses[word]
    }

    /// `M / p_word`, the weight of the residue of `word` times [`TorusCrt::inverse`].
    pub fn weight(&self, word: usize) -> u128 {
        self.product / u128::from(self.primes[word].value())
    }

    /// x modulo 2^64, where `residue(w)` in `[0, p_w)` is x modulo `p_w` and `|x| < M / 2`.
    pub fn compose(&self, residue: impl Fn(usize) -> u32) -> u64 {
        // Each term is below M, the sum of four below 2^126.
        let sum: u128 = self
            .primes
            .iter()
            .enumerate()
            .map(|(w, m)| u128::from(m.mul(residue(w), self.inverses[w])) * self.weight(w))
            .sum();
        let x = sum % self.product;
        let centred = if x > self.product / 2 { x.wrapping_sub(self.product) } else { x };
        centred as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::largest_ntt_primes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn compose_inverts_reduction(x: i128) {
            for (bits, count) in [(27, 4), (31, 4), (31, 3), (28, 2), (20, 1)] {
                let primes = largest_ntt_primes(bits, 512, count).expect("there are many");
                let crt = TorusCrt::new(&primes).expect("distinct primes");
                let most = (crt.product() / 2) as i128;
                for x in [x % most, most, -most, 0, -1] {
                    let residue = |w: usize| {
                        x.rem_euclid(i128::from(crt.primes()[w].value())) as u32
                    };
                    prop_assert_eq!(crt.compose(residue), x as u64);
                }
            }
        }
    }

    #[test]
    fn constants_of_primes() {
        let crt = TorusCrt::new(&[97, 101, 103]).expect("distinct primes");
        for (word, p) in [97, 101, 103].into_iter().enumerate() {
            assert_eq!(crt.weight(word) * p, crt.product());
            assert_eq!(crt.weight(word) * u128::from(crt.inverse(word)) % p, 1);
        }
    }

    #[test]
    fn rounds_half_up_and_wraps() {
        for (word, bits, want) in [
            (5, 0, 5),
            (u64::MAX, 0, -1),
            (5, 1, 3),
            (4, 3, 1),
            (3, 3, 0),
            (4u64.wrapping_neg(), 3, 0),
            (5u64.wrapping_neg(), 3, -1),
            // Half of 2^64 less 2^9 and more is minus half of it.
            ((1 << 63) - (1 << 9), 10, -1 << 53),
            ((1 << 63) - (1 << 9) - 1, 10, (1 << 53) - 1),
            (1 << 63, 10, -1 << 53),
        ] {
            assert_eq!(round_torus(word, bits), want, "{word} over 2^{bits}");
        }
    }

    #[test]
    fn refuses_none_five_and_equal() {
        assert_eq!(TorusCrt::new(&[]), None);
        assert_eq!(TorusCrt::new(&[97, 101, 103, 107, 109]), None);
        assert_eq!(TorusCrt::new(&[97, 101, 97]), None);
    }
}
