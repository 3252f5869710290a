//! Which ciphertexts have one mask, so that what is rounded off of them is one error.
//!
//! Roundings are functions of what is rounded: of one mask they are one error, however often and
//! by whichever way it was computed. Each mask has a number modulo a prime that follows sums,
//! differences and multiples by Gaussian integers, as masks do; whatever else is done to a
//! ciphertext makes a new number of the old ones. Plaintexts that are added leave it alone, as
//! they leave the mask alone. Where two numbers meet by chance two errors count as one, which is a
//! bound still.

use num_complex::Complex64;

/// 2^64 - 2^32 + 1, a prime in which 2^48 is a square root of -1.
const PRIME: u64 = 0xffff_ffff_0000_0001;
const UNIT: u64 = 1 << 48;

/// The number of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Mask(u64);

fn add(a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(PRIME)) as u64
}

fn mul(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn negative(a: u64) -> u64 {
    if a == 0 { 0 } else { PRIME - a }
}

/// A number below the prime for each pair.
pub(in crate::server) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.rotate_left(29);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = (z ^ (z >> 31)).wrapping_mul(factor).wrapping_add(b);
    }
    (z ^ (z >> 33)) % PRIME
}

/// The number of an operation with its constants.
pub(in crate::server) fn salt(operation: &str, constants: &[u64]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(operation.as_bytes());
    for constant in constants {
        hasher.update(&constant.to_le_bytes());
    }
    short(&hasher)
}

/// The first eight bytes of a digest.
pub(in crate::server) fn short(hasher: &blake3::Hasher) -> u64 {
    let mut word = [0; 8];
    hasher.finalize_xof().fill(&mut word);
    u64::from_le_bytes(word) % PRIME
}

impl Mask {
    /// The mask of this digest.
    pub fn of(digest: u64) -> Self {
        Self(digest % PRIME)
    }

    pub fn plus(self, other: Self) -> Self {
        Self(add(self.0, other.0))
    }

    pub fn minus(self, other: Self) -> Self {
        Self(add(self.0, negative(other.0)))
    }

    /// Times a Gaussian integer.
    pub fn times(self, c: Complex64) -> Self {
        let part = |v: f64| {
            let size = v.abs() as u64 % PRIME;
            if v < 0.0 { negative(size) } else { size }
        };
        Self(mul(self.0, add(part(c.re), mul(UNIT, part(c.im)))))
    }

    /// The least of the four multiples by units, and the unit that leads back from it. Roundings
    /// of multiples by units are the same multiples of one rounding.
    fn canonical(self) -> (u64, u64) {
        let mut best = (self.0, 1);
        let (mut value, mut back) = (self.0, 1);
        for _ in 0..3 {
            value = mul(value, UNIT);
            back = mul(back, negative(UNIT));
            if value < best.0 {
                best = (value, back);
            }
        }
        best
    }

    /// What stands for all multiples by units.
    pub fn class(self) -> u64 {
        self.canonical().0
    }

    /// After an operation that makes a new mask of this one.
    pub fn renewed(self, salt: u64) -> Self {
        let (class, unit) = self.canonical();
        Self(mul(mix(salt, class), unit))
    }

    /// After one that makes a new mask of both, in whichever order.
    pub fn product(self, other: Self, salt: u64) -> Self {
        let ((a, u), (b, v)) = (self.canonical(), other.canonical());
        Self(mul(mix(mix(salt, a.min(b)), a.max(b)), mul(u, v)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_follow_sums_and_units() {
        let [x, y, z] = [3, 5, 7].map(|seed| Mask::of(mix(seed, 1)));
        assert_eq!(x.plus(y).plus(z), z.plus(x).plus(y));
        assert_eq!(x.plus(y).minus(y), x);
        let i = Complex64::new(0.0, 1.0);
        assert_eq!(x.times(i).times(i), Mask(0).minus(x));
        assert_eq!(x.times(Complex64::new(-3.0, 0.0)), Mask(0).minus(x.plus(x).plus(x)));
        for unit in [i, -i, Complex64::new(-1.0, 0.0)] {
            assert_eq!(x.class(), x.times(unit).class());
            assert_eq!(x.renewed(9).times(unit), x.times(unit).renewed(9));
            assert_eq!(x.product(y, 9).times(unit), y.times(unit).product(x, 9));
        }
        let all = [x, y, x.plus(x), x.plus(y), x.renewed(1), x.renewed(2), x.product(y, 1)];
        let mut classes: Vec<u64> = all.iter().map(|mask| mask.class()).collect();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes.len(), all.len());
    }
}
