//! What is computed of secret values: no branch, no division and no memory address depends on them.
//!
//! Moduli and shifts are public. The test `constant_time` of all crates runs what is built of these
//! one instruction at a time and compares the steps.

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

/// The sum of `words` where a mask of `plus` is all ones, less that where one of `minus` is, modulo
/// 2^64. Compiled here, as vectors, whatever the caller is compiled for.
#[must_use]
#[inline(never)]
pub fn signed_sum(words: &[u64], plus: &[u64], minus: &[u64]) -> u64 {
    words.iter().zip(plus).zip(minus).fold(0u64, |sum, ((&word, &plus), &minus)| {
        sum.wrapping_add(word & plus).wrapping_sub(word & minus)
    })
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
        let taken = hide(1 ^ borrow as u64);
        remainder = next ^ (next ^ difference) & taken.wrapping_neg();
        quotient = quotient << 1 | taken as u128;
    }
    quotient
}

/// `a b mod p` in `[0, p)` for any words, odd `p < 2^31`, `-p^-1 mod 2^32` and `2^64 mod p`.
#[must_use]
#[inline]
pub const fn multiply(a: u32, b: u32, p: u32, neg_inverse: u32, r_squared: u32) -> u32 {
    // Each product lies below p 2^32, so that its Montgomery reduction does below 2p.
    let lifted = montgomery(a, r_squared, p, neg_inverse);
    montgomery(b, lifted, p, neg_inverse)
}

/// `x y 2^-32 mod p`, for any `x` and reduced `y`.
#[inline]
const fn montgomery(x: u32, y: u32, p: u32, neg_inverse: u32) -> u32 {
    let product = x as u64 * y as u64;
    let m = (product as u32).wrapping_mul(neg_inverse);
    subtract_once(((product + m as u64 * p as u64) >> 32) as u32, p)
}

/// The same word, of which the compiler knows nothing any more: a word that it knows to be one of
/// two it may turn into a branch.
#[must_use]
#[inline]
pub const fn hide<T: Copy>(word: T) -> T {
    std::hint::black_box(word)
}

/// All ones unless `x` is 0; the compiler does not know that it is a mask.
#[must_use]
#[inline]
pub const fn nonzero_mask(x: u32) -> u32 {
    hide(((x | x.wrapping_neg()) as i32 >> 31) as u32)
}

/// `mask` of all ones: `a`; of zeros: `b`. Where the compiler could know that the mask is one, it
/// is to come from [`hide`].
#[must_use]
#[inline]
pub const fn select(mask: u32, a: u32, b: u32) -> u32 {
    b ^ (mask & (a ^ b))
}

/// The first three words of a large integer, from its first one that is not 0 on, as they come by
/// from the highest to the lowest: all that its nearest f64 depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leading {
    words: [u32; 3],
    /// How many of them came by.
    taken: u32,
    /// Not 0 if a later word was not.
    rest: u32,
    /// Words from the first one on.
    count: u32,
}

impl Leading {
    /// With the next word.
    #[must_use]
    #[inline]
    pub const fn push(self, word: u32) -> Self {
        let started = nonzero_mask(self.taken | word);
        // All ones below three; hidden on its own, or optimised builds make a branch of the sign.
        let few = hide((self.taken.wrapping_sub(3) as i32 >> 31) as u32);
        let open = started & few;
        let [first, second, third] = self.words;
        Self {
            words: [
                select(open, second, first),
                select(open, third, second),
                select(open, word, third),
            ],
            taken: self.taken + (open & 1),
            rest: self.rest | (word & !open),
            count: self.count + (started & 1),
        }
    }

    /// The f64 nearest to the integer, ties to even, infinite where none is; its negative for a
    /// mask of all ones.
    #[must_use]
    #[inline]
    pub const fn to_f64(self, negative: u32) -> f64 {
        let [mut first, second, third] = self.push(0).push(0).words;
        let is_zero = !nonzero_mask(first);
        let (low, mut zeros) = (third as u64, 0);
        let high = (first as u64) << 32 | second as u64;
        let mut step = 16;
        while step > 0 {
            let skip = step & !nonzero_mask(first >> (32 - step));
            first <<= skip;
            zeros += skip;
            step >>= 1;
        }
        let bits = high << zeros | (low << zeros) >> 32;
        // 53 bits, then what decides about rounding: 11 bits, and whether anything follows.
        let mantissa = bits >> 11;
        let rest = nonzero_mask((low << zeros) as u32 | self.rest) & 1;
        let tail = (bits & 0x7ff) << 1 | rest as u64;
        let up = 0x800u64.wrapping_sub(tail + (mantissa & 1)) >> 63;
        // The integer is `bits` times 2^(32 count - 64 - zeros); the mantissa's own first bit, and
        // a carry, add to the exponent.
        let exponent = (1023 + 32 * self.count + 63 - 64 - 1).wrapping_sub(zeros) as u64;
        let finite = (exponent << 52) + mantissa + up;
        let infinite = 0x7ffu64 << 52;
        // All ones where it is too large.
        let above = hide(infinite.wrapping_sub(finite) as i64 >> 63);
        let magnitude = finite ^ (above as u64 & (finite ^ infinite));
        let kept = magnitude & !(is_zero as u64 | (is_zero as u64) << 32);
        f64::from_bits(kept | (negative as u64 & !is_zero as u64 & 1) << 63)
    }
}

/// All ones if `a == b`, else 0; the compiler does not know that it is a mask.
#[must_use]
#[inline]
pub const fn equal_mask(a: i64, b: i64) -> u64 {
    let difference = (a ^ b) as u64;
    // The top bit of (d | -d) is set unless d is 0.
    hide(((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each is its own negative.
    #[test]
    fn masks_of_the_top_bit_alone() {
        assert_eq!(nonzero_mask(1 << 31), u32::MAX);
        assert_eq!(equal_mask(0, i64::MIN), 0);
    }

    #[test]
    fn ties_whose_last_bit_is_of_the_third_word() {
        let of = |third| Leading::default().push(1 << 20).push(0).push(third).to_f64(0);
        assert_eq!(of(1 << 31), 2f64.powi(84));
        assert_eq!(of(1 << 31 | 1), 2f64.powi(84) + 2f64.powi(32));
        assert_eq!(of(3 << 30), 2f64.powi(84) + 2f64.powi(32));
    }

    #[test]
    fn integers_beyond_every_f64_are_infinite() {
        let of = |first: u32, others: usize| {
            let leading = Leading::default().push(first);
            (0..others).fold(leading, |leading, _| leading.push(u32::MAX)).to_f64(0)
        };
        assert_eq!(of(1, 31), 2f64.powi(993));
        // Rounds up to 2^1024.
        assert_eq!(of(u32::MAX, 31), f64::INFINITY);
        assert_eq!(of(1, 32), f64::INFINITY);
        assert_eq!(of(0, 0).to_bits(), 0);
        // 1.5 times 2^1024 and 2^1025: their mantissas must not become those of no number.
        for leading in
            [Leading::default().push(1).push(1 << 31), Leading::default().push(3).push(0)]
        {
            let leading = (0..31).fold(leading, |leading, _| leading.push(0));
            assert_eq!(leading.to_f64(0), f64::INFINITY);
        }
        assert_eq!(Leading::default().to_f64(u32::MAX).to_bits(), 0, "no negative zero");
    }

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
            let (a, b) = (x as u32, (x >> 32) as u32);
            let p = p.max(3);
            let neg_inverse = (0..5).fold(p, |inverse, _| {
                inverse.wrapping_mul(2u32.wrapping_sub(p.wrapping_mul(inverse)))
            }).wrapping_neg();
            let square = ((1u128 << 64) % u128::from(p)) as u32;
            let product = u64::from(a) * u64::from(b) % u64::from(p);
            prop_assert_eq!(u64::from(multiply(a, b, p, neg_inverse, square)), product);
            prop_assert_eq!(equal_mask(x as i64, y as i64), if x == y { u64::MAX } else { 0 });
            prop_assert_eq!(equal_mask(x as i64, x as i64), u64::MAX);
        }

        /// Against the standard library's conversion, at every number of words.
        #[test]
        fn leading_words_give_the_nearest_f64(value: u128, shift in 0u32..128, zeros in 0usize..3) {
            let value = value >> shift;
            let words = (0..4).rev().map(|i| (value >> (32 * i)) as u32);
            let words: Vec<u32> = std::iter::repeat_n(0, zeros).chain(words).collect();
            let leading = words.iter().fold(Leading::default(), |leading, &w| leading.push(w));
            prop_assert_eq!(leading.to_f64(0), value as f64);
            prop_assert_eq!(leading.to_f64(u32::MAX), -(value as f64));
            // As the upper words of a larger integer.
            let larger = (0..3).fold(leading, |leading, _| leading.push(0));
            prop_assert_eq!(larger.to_f64(0), value as f64 * 2f64.powi(96));
        }
    }
}
