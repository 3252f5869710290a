//! Small secret coefficients.

use girih_ring::sampler::RandomStream;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The distribution of a secret's coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDistribution {
    /// Each uniform in {-1, 0, 1}.
    Ternary,
    /// Each uniform in {0, 1}.
    Binary,
    /// Exactly so many in {-1, 1}, with places and signs uniform; the rest 0.
    FixedWeight(usize),
}

impl SecretDistribution {
    /// Standard deviation of one of `len` coefficients.
    pub fn deviation(self, len: usize) -> f64 {
        match self {
            Self::Ternary => (2f64 / 3.0).sqrt(),
            Self::Binary => 0.5,
            Self::FixedWeight(weight) => (weight as f64 / len as f64).sqrt(),
        }
    }

    /// What can be wrong with coefficients of this distribution, or nothing.
    fn check(self, coefficients: &[i8]) -> Result<(), String> {
        let low = if self == Self::Binary { 0 } else { -1 };
        // Every coefficient is looked at, whatever the others are: no early exit on a secret.
        let outside = coefficients.iter().fold(0, |n, s| n + usize::from(!(low..=1).contains(s)));
        if outside > 0 {
            return Err(format!("{outside} coefficients are outside {low}..=1"));
        }
        match self {
            Self::FixedWeight(weight) => {
                let found: usize = coefficients.iter().map(|s| usize::from(s.unsigned_abs())).sum();
                if found == weight {
                    return Ok(());
                }
                Err(format!("its weight is not {weight}"))
            }
            _ => Ok(()),
        }
    }
}

/// Secret coefficients in one array that never grows; wiped when dropped, never printed.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret(Vec<i8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({} coefficients)", self.0.len())
    }
}

impl Secret {
    /// Draws `len` coefficients, in constant time and without access to
    /// memory that depends on them.
    ///
    /// # Panics
    /// If the fixed weight is above `len`; a checked set has no such weight.
    pub fn sample(distribution: SecretDistribution, len: usize, stream: &mut RandomStream) -> Self {
        let mut coefficients = vec![0; len];
        match distribution {
            SecretDistribution::Ternary => coefficients.fill_with(|| stream.ternary()),
            SecretDistribution::Binary => coefficients.fill_with(|| stream.binary()),
            SecretDistribution::FixedWeight(weight) => {
                assert!(weight <= len, "weight {weight} of {len} coefficients");
                fill_fixed_weight(weight as u64, &mut coefficients, stream);
            }
        }
        Self(coefficients)
    }

    /// Takes coefficients that were made elsewhere; they are wiped if they are refused.
    ///
    /// # Errors
    /// What is wrong: a wrong length, or coefficients that the distribution cannot give. The
    /// message holds none of them.
    pub fn checked(
        distribution: SecretDistribution,
        len: usize,
        coefficients: Vec<i8>,
    ) -> Result<Self, String> {
        let secret = Self(coefficients);
        if secret.0.len() != len {
            return Err(format!("has {} coefficients, {len} are needed", secret.0.len()));
        }
        distribution.check(&secret.0)?;
        Ok(secret)
    }

    /// Reads what [`Secret::to_bytes`] showed: one byte a coefficient, in two's complement.
    ///
    /// # Errors
    /// As [`Secret::checked`].
    pub fn from_bytes(
        distribution: SecretDistribution,
        len: usize,
        bytes: &[u8],
    ) -> Result<Self, String> {
        if bytes.len() != len {
            return Err(format!("has {} coefficients, {len} are needed", bytes.len()));
        }
        // Exactly as long as it will be: an array that grows leaves copies behind.
        let mut secret = Self(vec![0; len]);
        secret.0.iter_mut().zip(bytes).for_each(|(s, &byte)| *s = byte as i8);
        distribution.check(&secret.0)?;
        Ok(secret)
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[i8] {
        &self.0
    }

    /// One byte a coefficient, to be serialized and wiped.
    pub fn to_bytes(&self) -> zeroize::Zeroizing<Vec<u8>> {
        let mut bytes = zeroize::Zeroizing::new(vec![0; self.0.len()]);
        bytes.iter_mut().zip(&self.0).for_each(|(byte, &s)| *byte = s as u8);
        bytes
    }

    /// A copy under another owner.
    pub fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Selection sampling (Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S): place
/// i of L is taken with probability (still to take) / (L - i), which makes all sets of places
/// equally likely. Each place takes the same steps.
fn fill_fixed_weight(weight: u64, coefficients: &mut [i8], stream: &mut RandomStream) {
    let mut left = weight;
    let len = coefficients.len() as u64;
    for (i, s) in coefficients.iter_mut().enumerate() {
        let draw = stream.uniform_below(len - i as u64);
        // Both are below 2^63, so the sign of the difference is the comparison.
        let taken = draw.wrapping_sub(left) >> 63;
        let sign = 1 - 2 * stream.binary();
        left -= taken;
        *s = taken as i8 * sign;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ring::sampler::MaskSeed;

    fn stream(index: u64) -> RandomStream {
        MaskSeed([9; 32]).stream(1, index)
    }

    #[test]
    fn fixed_weights_are_exact_and_their_places_and_signs_fair() {
        let (len, weight, rounds) = (64, 9, 20_000);
        let (mut places, mut positive) = (vec![0u32; len], 0u32);
        for round in 0..rounds {
            let secret =
                Secret::sample(SecretDistribution::FixedWeight(weight), len, &mut stream(round));
            let taken = secret.coefficients().iter().filter(|s| **s != 0).count();
            assert_eq!(taken, weight);
            for (place, s) in places.iter_mut().zip(secret.coefficients()) {
                *place += u32::from(*s != 0);
                positive += u32::from(*s == 1);
            }
        }
        // Binomial counts: five deviations.
        let p = weight as f64 / len as f64;
        let (mean, deviation) = (rounds as f64 * p, (rounds as f64 * p * (1.0 - p)).sqrt());
        for (i, count) in places.iter().enumerate() {
            assert!((f64::from(*count) - mean).abs() < 5.0 * deviation, "place {i}: {count}");
        }
        let all = rounds as f64 * weight as f64;
        assert!((f64::from(positive) - all / 2.0).abs() < 2.5 * all.sqrt(), "{positive} of {all}");
        for weight in [0, 1, 64] {
            let d = SecretDistribution::FixedWeight(weight);
            let secret = Secret::sample(d, len, &mut stream(7));
            assert!(Secret::checked(d, len, secret.coefficients().to_vec()).is_ok());
        }
    }

    #[test]
    fn coefficients_from_elsewhere_are_checked_and_never_shown() {
        use SecretDistribution::{Binary, FixedWeight, Ternary};
        let checked = |d, len, c: &[i8]| {
            let bytes: Vec<u8> = c.iter().map(|&s| s as u8).collect();
            let (a, b) = (Secret::checked(d, len, c.to_vec()), Secret::from_bytes(d, len, &bytes));
            assert_eq!(a.as_ref().err(), b.as_ref().err());
            assert!(b.is_err() || *b.unwrap_or_else(|_| unreachable!()).to_bytes() == bytes);
            a.map(|secret| format!("{secret:?}"))
        };
        assert_eq!(checked(Ternary, 3, &[1, 0, -1]), Ok("Secret(3 coefficients)".into()));
        assert_eq!(checked(Binary, 2, &[1, 0]), Ok("Secret(2 coefficients)".into()));
        for (d, len, c, want) in [
            (Ternary, 3, &[1i8, 0][..], "has 2 coefficients, 3 are needed"),
            (Ternary, 2, &[2, -2], "2 coefficients are outside -1..=1"),
            (Binary, 2, &[1, -1], "1 coefficients are outside 0..=1"),
            (FixedWeight(1), 2, &[1, -1], "its weight is not 1"),
            (FixedWeight(1), 2, &[1, 2], "1 coefficients are outside -1..=1"),
        ] {
            assert_eq!(checked(d, len, c), Err(want.into()));
        }
    }
}
