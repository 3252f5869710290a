//! What is computed of secret values: no branch, no division and no memory address depends on them.
//!
//! Moduli and shifts are public. The test `constant_time` compiles this file and reads the machine
//! code, so it stands alone: nothing here comes from the rest of the crate.

/// A small signed value modulo p, in `[0, p)`, for `-p <= x < p`.
#[must_use]
#[inline]
pub const fn reduce_small(x: i32, p: u32) -> u32 {
    // All ones where x is negative.
    let negative = (x >> 31) as u32;
    (x as u32).wrapping_add(p & negative)
}

/// `x - p` if that is not negative, else `x`, for `x < 2p` and `p < 2^31`.
#[must_use]
#[inline]
pub const fn subtract_once(x: u32, p: u32) -> u32 {
    let difference = x.wrapping_sub(p);
    difference.wrapping_add(p & ((difference as i32) >> 31) as u32)
}

/// The representative of a residue `x < p` in `[-p/2, p/2)`, for odd `p < 2^62`.
#[must_use]
#[inline]
pub const fn centre(x: u64, p: u64) -> i64 {
    // All ones where x is above p/2.
    let above = (p / 2).wrapping_sub(x) as i64 >> 63;
    (x as i64).wrapping_sub(p as i64 & above)
}

/// `floor(x to / 2^log2_from + 1/2) mod to`, for `x < 2^log2_from <= 2^64` and `1 <= to <= 2^63`.
#[must_use]
#[inline]
pub const fn switch_from_power(x: u64, log2_from: u32, to: u64) -> u64 {
    let half = (1u128 << log2_from) >> 1;
    // At most `to`, since x to / 2^log2_from is below it.
    let rounded = ((x as u128 * to as u128 + half) >> log2_from) as u64;
    let difference = rounded.wrapping_sub(to);
    difference.wrapping_add(to & ((difference as i64) >> 63) as u64)
}

/// `floor(x 2^log2_to / from + 1/2) mod 2^log2_to`, for `x < from <= 2^63` and `log2_to <= 64`.
#[must_use]
#[inline]
pub fn switch_to_power(x: u64, from: u64, log2_to: u32) -> u64 {
    let mask = (((1u128 << log2_to) - 1) & u64::MAX as u128) as u64;
    // Below 2^127.
    let sum = ((x as u128) << log2_to) + (from / 2) as u128;
    if from.is_power_of_two() {
        return (sum >> from.trailing_zeros()) as u64 & mask;
    }
    divide(sum, from) as u64 & mask
}

/// `floor(x / divisor)`, for `0 < divisor <= 2^63`: one bit a step, whatever x is.
#[must_use]
#[inline]
pub fn divide(x: u128, divisor: u64) -> u128 {
    let (mut quotient, mut remainder, mut bit) = (0u128, 0u64, 128u32);
    while bit > 0 {
        bit -= 1;
        // Below 2 divisor <= 2^64.
        let next = remainder << 1 | (x >> bit) as u64 & 1;
        let (difference, borrow) = next.overflowing_sub(divisor);
        // Hidden from the compiler, which makes a branch of it otherwise.
        let taken = std::hint::black_box(1 ^ borrow as u64);
        remainder = next ^ (next ^ difference) & taken.wrapping_neg();
        quotient = quotient << 1 | taken as u128;
    }
    quotient
}

/// All ones if `a == b`, else 0.
#[must_use]
#[inline]
pub const fn equal_mask(a: i64, b: i64) -> u64 {
    let difference = (a ^ b) as u64;
    // The top bit of (d | -d) is set unless d is 0.
    ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agree_with_plain_arithmetic(
            x: u64,
            y: u64,
            p in 1u32..1 << 31, log2 in 1u32..=64, wide: u128,
        ) {
            let p = p | 1;
            let small = (x % u64::from(2 * p)) as i64 - i64::from(p);
            let reduced = reduce_small(small as i32, p);
            prop_assert_eq!(i64::from(reduced), small.rem_euclid(i64::from(p)));
            let twice = (x % (2 * u64::from(p))) as u32;
            prop_assert_eq!(subtract_once(twice, p), twice % if twice >= p { p } else { u32::MAX });
            let (modulus, from) = ((y >> 2) | 1, (y >> 1).max(1));
            let residue = x % modulus;
            let centred = centre(residue, modulus);
            prop_assert_eq!(centred.rem_euclid(modulus as i64), residue as i64);
            let (twice, most) = (2 * i128::from(centred), i128::from(modulus));
            prop_assert!((-most..most).contains(&twice));
            let below = (u128::from(x) & ((1 << log2) - 1)) as u64;
            let product = u128::from(below) * u128::from(from) + (1 << log2 >> 1);
            let switched = switch_from_power(below, log2, from);
            prop_assert_eq!(u128::from(switched), (product >> log2) % u128::from(from));
            for from in [from, 1 << (y % 64)] {
                let message = x % from;
                let sum = (u128::from(message) << log2) + u128::from(from / 2);
                let switched = switch_to_power(message, from, log2);
                prop_assert_eq!(u128::from(switched), sum / u128::from(from) % (1 << log2));
            }
            prop_assert_eq!(divide(wide, from), wide / u128::from(from));
            prop_assert_eq!(divide(wide, 1 << 63), wide >> 63);
            prop_assert_eq!(equal_mask(x as i64, y as i64), if x == y { u64::MAX } else { 0 });
            prop_assert_eq!(equal_mask(x as i64, x as i64), u64::MAX);
        }
    }
}
