//! One or two words as one modulus.

use crate::{Modulus, constant_time};

/// A modulus of one prime word, or the product of two, with exact conversion both ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rns {
    words: Vec<Modulus>,
    value: u64,
    /// `p1^-1 mod p2` where there are two words.
    first_inverse: u32,
}

impl Rns {
    /// The modulus with these prime words; `None` unless there are one or two, distinct, each a
    /// valid [`Modulus`].
    pub fn new(words: &[u32]) -> Option<Self> {
        let moduli: Vec<Modulus> = words.iter().map(|&w| Modulus::new(w)).collect::<Option<_>>()?;
        let first_inverse = match moduli[..] {
            [_] => 0,
            [a, b] if a != b => b.inverse(a.value() % b.value()),
            _ => return None,
        };
        let value = words.iter().map(|&w| u64::from(w)).product();
        Some(Self { words: moduli, value, first_inverse })
    }

    /// The words.
    pub fn words(&self) -> &[Modulus] {
        &self.words
    }

    /// Their product, below 2^62.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// `p1^-1 mod p2`, or 0 for a single word: the constant of [`Rns::compose`].
    pub fn first_inverse(&self) -> u32 {
        self.first_inverse
    }

    /// The value in `[0, p1 p2)` with residue `first` modulo p1 and `second` modulo p2 (`second`
    /// ignored for one word).
    pub fn compose(&self, first: u32, second: u32) -> u64 {
        let Some(p2) = self.words.get(1) else { return u64::from(first) };
        // Garner: x = x1 + p1 * ((x2 - x1) * p1^-1 mod p2).
        // Without a division: bodies of keys are composed before they have an error.
        let difference = p2.sub(second, p2.reduce_signed(i64::from(first)));
        let factor = p2.to_montgomery(self.first_inverse);
        u64::from(first)
            + u64::from(self.words[0].value()) * u64::from(p2.mul_montgomery(difference, factor))
    }

    /// The representative of `x` (in `[0, M)`) in `[-M/2, M/2)`.
    pub fn centre(&self, x: u64) -> i64 {
        constant_time::centre(x, self.value)
    }

    /// `x mod M` in `[0, M)` for any signed `x`.
    pub fn reduce_signed(&self, x: i64) -> u64 {
        x.rem_euclid(self.value as i64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constants_of_words() {
        let one = Rns::new(&[7]).expect("a prime");
        assert_eq!((one.value(), one.first_inverse()), (7, 0));
        let two = Rns::new(&[5, 7]).expect("distinct primes");
        assert_eq!((two.value(), two.first_inverse()), (35, 3));
    }

    proptest! {
        #[test]
        fn compose_inverts_reduction(x: u64) {
            for words in [
                &[134_215_681][..],
                &[33_538_049, 33_550_337],
                &[642_049, 3_425_281],
                &[188_417, 366_593],
            ] {
                let rns = Rns::new(words).expect("distinct primes");
                let x = x % rns.value();
                let r = |i: usize| rns.words().get(i).map_or(0, |m| m.reduce(x));
                prop_assert_eq!(rns.compose(r(0), r(1)), x);
                let c = rns.centre(x);
                let most = i128::from(rns.value());
                prop_assert!((-most..most).contains(&(2 * i128::from(c))));
                prop_assert_eq!(rns.reduce_signed(c), x);
            }
        }
    }

    #[test]
    fn refuses_none_three_and_equal() {
        assert_eq!(Rns::new(&[]), None);
        assert_eq!(Rns::new(&[3, 5, 7]), None);
        assert_eq!(Rns::new(&[97, 97]), None);
    }
}
