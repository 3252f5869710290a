//! Known numbers of 256 bits, which encrypted ones of any width are made of.

use crate::{DIGIT_BITS, Error, Result};
use girih_rlwe::Mismatch;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Words of 64 bits.
const WORDS: usize = 4;

/// The largest power of ten of a word, and its zeros.
const TEN: (u64, usize) = (10_000_000_000_000_000_000, 19);

/// A natural number of 256 bits in the plain, as on-chain programs count amounts and name accounts.
///
/// It carries values and does no arithmetic: it is made of Rust's integers, of words, of bytes and
/// of text (`"115792"`, `"0xff"`), and given back as these.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct U256([u64; WORDS]);

/// A number of 256 bits in two's complement in the plain: as [`U256`], with a sign.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct I256([u64; WORDS]);

/// Words without the bits from `bits` on, or with those alike to the highest that is left.
fn cut(words: [u64; WORDS], bits: u32, signed: bool) -> [u64; WORDS] {
    if bits >= 256 {
        return words;
    }
    let top = (bits - 1) as usize;
    let fill = if signed && words[top / 64] >> (top % 64) & 1 == 1 { u64::MAX } else { 0 };
    let mut result = words;
    for (i, word) in result.iter_mut().enumerate() {
        let kept = (bits as usize).saturating_sub(64 * i);
        if kept < 64 {
            let low = (1 << kept) - 1;
            *word = *word & low | fill & !low;
        }
    }
    result
}

/// What both kinds have in common.
macro_rules! wide {
    ($name:ident, $signed:literal, $example:literal) => {
        impl $name {
            /// 0.
            pub const ZERO: Self = Self([0; WORDS]);

            /// Of four words, lowest first.
            pub const fn from_words(words: [u64; 4]) -> Self {
                Self(words)
            }

            /// Its four words, lowest first.
            pub const fn words(self) -> [u64; 4] {
                self.0
            }

            /// Of 32 bytes, lowest first.
            pub fn from_le_bytes(bytes: [u8; 32]) -> Self {
                let mut words = [0; WORDS];
                for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                Self(words)
            }

            /// Its 32 bytes, lowest first.
            pub fn to_le_bytes(self) -> [u8; 32] {
                let mut bytes = [0; 32];
                for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
                    *bytes = word.to_le_bytes();
                }
                bytes
            }

            /// Of 32 bytes, highest first.
            pub fn from_be_bytes(mut bytes: [u8; 32]) -> Self {
                bytes.reverse();
                Self::from_le_bytes(bytes)
            }

            /// Its 32 bytes, highest first.
            pub fn to_be_bytes(self) -> [u8; 32] {
                let mut bytes = self.to_le_bytes();
                bytes.reverse();
                bytes
            }

            /// Whether it is one of so many bits.
            pub(crate) fn fits(self, bits: u32) -> bool {
                cut(self.0, bits, $signed) == self.0
            }

            /// Its lowest `bits` as digits, lowest first.
            pub(crate) fn digits(self, bits: u32) -> Vec<u8> {
                let digit = |i: u32| (self.0[i as usize / 64] >> (i % 64)) as u8 & 3;
                (0..bits).step_by(DIGIT_BITS as usize).map(digit).collect()
            }

            /// The number of these digits.
            pub(crate) fn of_digits(digits: &[u8]) -> Self {
                let mut words = [0; WORDS];
                for (i, &digit) in digits.iter().enumerate() {
                    words[i / 32] |= u64::from(digit) << (i % 32 * DIGIT_BITS as usize);
                }
                Self(cut(words, DIGIT_BITS * digits.len() as u32, $signed))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl FromStr for $name {
            type Err = Error;

            #[doc = concat!("Decimal digits, or hexadecimal ones behind `0x`: ", $example, ".")]
            fn from_str(text: &str) -> Result<Self> {
                let (is_below_zero, digits) = match text.strip_prefix('-') {
                    Some(rest) if $signed => (true, rest),
                    _ => (false, text),
                };
                let words = magnitude(digits).and_then(|words| {
                    let value = if is_below_zero { negated(words) } else { words };
                    let is_right = match $signed {
                        true => words == [0; WORDS] || is_below_zero == (value[3] >> 63 == 1),
                        false => true,
                    };
                    is_right.then_some(value)
                });
                let name = stringify!($name);
                let known =
                    "decimal digits, or hexadecimal ones behind `0x`, of what fits 256 bits";
                let found = || text.chars().take(80).collect();
                let unknown = || Mismatch::Name { what: name, found: found(), known };
                Ok(words.map(Self).ok_or_else(unknown)?)
            }
        }
    };
}

wide!(U256, false, "`\"115792\"`, `\"0xff\"`");
wide!(I256, true, "`\"-115792\"`, `\"-0xff\"`");

/// -x, modulo 2^256.
fn negated(words: [u64; WORDS]) -> [u64; WORDS] {
    let mut carry = true;
    words.map(|word| {
        let (word, out) = (!word).overflowing_add(u64::from(carry));
        carry = out;
        word
    })
}

/// The number of these digits; none where a character is none or it takes more than 256 bits.
fn magnitude(text: &str) -> Option<[u64; WORDS]> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let mut words = [0u64; WORDS];
    if digits.is_empty() {
        return None;
    }
    for digit in digits.chars() {
        let mut carry = u128::from(digit.to_digit(radix)?);
        for word in &mut words {
            carry += u128::from(*word) * u128::from(radix);
            *word = carry as u64;
            carry >>= 64;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(words)
}

/// Decimal digits.
fn decimal(mut words: [u64; WORDS]) -> String {
    let mut parts = Vec::new();
    while words != [0; WORDS] {
        let mut rest = 0u128;
        for word in words.iter_mut().rev() {
            let value = rest << 64 | u128::from(*word);
            *word = (value / u128::from(TEN.0)) as u64;
            rest = value % u128::from(TEN.0);
        }
        parts.push(rest);
    }
    let mut text = parts.pop().unwrap_or(0).to_string();
    for part in parts.iter().rev() {
        text += &format!("{part:0zeros$}", zeros = TEN.1);
    }
    text
}

impl U256 {
    /// The largest: 2^256 - 1.
    pub const MAX: Self = Self([u64::MAX; WORDS]);

    /// The largest of so many bits.
    pub(crate) fn largest(bits: u32) -> Self {
        Self(cut(Self::MAX.0, bits, false))
    }

    /// The same bits in two's complement.
    pub const fn as_signed(self) -> I256 {
        I256(self.0)
    }
}

impl I256 {
    /// The lowest: -2^255.
    pub const MIN: Self = Self([0, 0, 0, 1 << 63]);

    /// The largest: 2^255 - 1.
    pub const MAX: Self = Self([u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1]);

    /// The largest of so many bits.
    pub(crate) fn largest(bits: u32) -> Self {
        Self(cut(U256::MAX.0, bits - 1, false))
    }

    /// The lowest of so many bits.
    pub(crate) fn lowest(bits: u32) -> Self {
        Self(Self::largest(bits).0.map(|word| !word))
    }

    /// The same bits as a natural number.
    pub const fn as_unsigned(self) -> U256 {
        U256(self.0)
    }

    const fn is_below_zero(self) -> bool {
        self.0[3] >> 63 == 1
    }
}

impl Ord for U256 {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl Ord for I256 {
    fn cmp(&self, other: &Self) -> Ordering {
        // Below 0 comes first; of one sign, bits are in order.
        let sign = other.is_below_zero().cmp(&self.is_below_zero());
        sign.then_with(|| self.as_unsigned().cmp(&other.as_unsigned()))
    }
}

impl fmt::Display for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(true, "", &decimal(self.0))
    }
}

impl fmt::Display for I256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_below_zero = self.is_below_zero();
        let words = if is_below_zero { negated(self.0) } else { self.0 };
        f.pad_integral(!is_below_zero, "", &decimal(words))
    }
}

impl fmt::LowerHex for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.0.iter().rev().map(|word| format!("{word:016x}")).collect();
        let digits = text.trim_start_matches('0');
        f.pad_integral(true, "0x", if digits.is_empty() { "0" } else { digits })
    }
}

macro_rules! conversions {
    ($name:ident, $large:ident, $fill:expr, $($small:ident)*) => {
        impl From<$large> for $name {
            fn from(value: $large) -> Self {
                let fill: fn($large) -> u64 = $fill;
                let fill = fill(value);
                Self([value as u64, (value >> 64) as u64, fill, fill])
            }
        }

        impl TryFrom<$name> for $large {
            type Error = Error;

            fn try_from(value: $name) -> Result<Self> {
                let low = (u128::from(value.0[1]) << 64 | u128::from(value.0[0])) as $large;
                let (kind, target) = (stringify!($name), stringify!($large));
                match $name::from(low) == value {
                    true => Ok(low),
                    false => Err(Mismatch::value(kind, target, [$large::MIN, $large::MAX]).into()),
                }
            }
        }

        $(
            impl From<$small> for $name {
                fn from(value: $small) -> Self {
                    Self::from($large::from(value))
                }
            }

            impl TryFrom<$name> for $small {
                type Error = Error;

                fn try_from(value: $name) -> Result<Self> {
                    let (kind, target) = (stringify!($name), stringify!($small));
                    let low = $large::try_from(value).ok().and_then(|low| low.try_into().ok());
                    let wrong = || Mismatch::value(kind, target, [$small::MIN, $small::MAX]);
                    Ok(low.ok_or_else(wrong)?)
                }
            }
        )*
    };
}

conversions!(U256, u128, |_| 0, u8 u16 u32 u64);
conversions!(I256, i128, |value| if value < 0 { u64::MAX } else { 0 }, i8 i16 i32 i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(U256::MAX.to_string(), most);
        assert_eq!(most.parse::<U256>().expect("fits"), U256::MAX);
        let lowest =
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968";
        assert_eq!(I256::MIN.to_string(), lowest);
        assert_eq!(lowest.parse::<I256>().expect("fits"), I256::MIN);
        assert_eq!(U256::from(10_000_000_000_000_000_000u64).to_string(), "10000000000000000000");
        let hex = U256::from_words([0xff, 0, 1, 0]);
        assert_eq!(format!("{hex:#x}"), format!("0x1{:032x}", 0xff));
        assert_eq!(format!("{hex:#x}").parse::<U256>().expect("fits"), hex);
        assert_eq!(format!("{:>4}", I256::from(-5i8)), "  -5");
        assert_eq!("-0".parse::<I256>().expect("fits"), I256::ZERO);
        let wrong = ["", "-1", "+1", "0x", "12a", &format!("{most}0"), &format!("0x1{:064x}", 0)];
        for text in wrong {
            let error = text.parse::<U256>().expect_err(text).to_string();
            assert!(error.contains("no U256 `"), "{error}");
        }
        // One above the largest, one below the lowest.
        let above = &lowest[1..];
        above.parse::<I256>().expect_err("2^255");
        "-57896044618658097711785492504343953926634992332820282019728792003956564819969"
            .parse::<I256>()
            .expect_err("-2^255 - 1");
    }

    #[test]
    fn order_and_conversions_are_those_of_numbers() {
        let numbers = [i128::MIN, -(1 << 70), -1, 0, 1, 1 << 70, i128::MAX].map(I256::from);
        assert!(numbers.is_sorted() && I256::MIN < numbers[0] && numbers[6] < I256::MAX);
        assert!(U256::from(u128::MAX) < U256::MAX && U256::from(1u8) > U256::ZERO);
        assert_eq!(i8::try_from(I256::from(-128i8)).expect("fits"), -128);
        i8::try_from(I256::from(128u8 as i16)).expect_err("128");
        u128::try_from(U256::MAX).expect_err("2^256 - 1");
        i128::try_from(I256::MIN).expect_err("-2^255");
        assert_eq!(U256::from_be_bytes(U256::from(7u8).to_be_bytes()), U256::from(7u8));
        assert_eq!(U256::from(7u8).to_le_bytes()[0], 7);
        assert_eq!(I256::from(-1i8).as_unsigned(), U256::MAX);
        assert_eq!(U256::MAX.as_signed(), I256::from(-1i8));
    }

    #[test]
    fn digits_are_those_of_twos_complement() {
        for bits in [2, 62, 64, 66, 128, 160, 254, 256] {
            let (lowest, largest) = (I256::lowest(bits), I256::largest(bits));
            assert!(lowest.fits(bits) && largest.fits(bits));
            assert!(bits == 2 || !lowest.fits(bits - 2) && !largest.fits(bits - 2));
            assert!(
                U256::largest(bits).fits(bits)
                    && (bits == 2 || !U256::largest(bits).fits(bits - 2))
            );
            for value in [lowest, largest, I256::ZERO, I256::from(-1i8)] {
                assert_eq!(I256::of_digits(&value.digits(bits)), value, "{bits}");
            }
            let most = U256::largest(bits);
            assert_eq!(U256::of_digits(&most.digits(bits)), most, "{bits}");
        }
        assert_eq!(U256::from(0b1101u8).digits(6), [1, 3, 0]);
    }
}
