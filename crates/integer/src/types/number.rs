//! Encrypted numbers, unsigned and in two's complement.

mod bits;
mod checked;
mod count;
mod lists;
mod order;

use super::{FheBool, Integer, Other, sealed};
use crate::error::mismatch;
use crate::host::Encrypted;
use crate::operations::Operation;
use crate::record::Values;
use crate::run::{Array, digit_values};
use crate::{RADIX, Result};
use girih_tfhe::ClientKey;

/// Bits of a digit.
const DIGIT_BITS: u32 = RADIX.ilog2();

const fn check_bits(bits: u32) {
    assert!(
        bits.is_multiple_of(DIGIT_BITS) && bits >= 2 && bits <= 128,
        "encrypted integers have an even number of bits, from 2 to 128"
    );
}

/// The name of a kind and width.
macro_rules! names {
    ($bits:ident, $kind:literal, $($width:literal)*) => {
        match $bits {
            $($width => concat!($kind, $width),)*
            // No such integers: `check_bits`.
            _ => $kind,
        }
    };
}

/// What differs between the two kinds, then what they have in common.
macro_rules! number {
    ($name:ident, $other:ident, $plain:ident, $signed:literal, $kind:literal, $title:literal,
     [$($from:ident)*]) => {
        #[doc = $title]
        ///
        /// `BITS` is an even number from 2 to 128. Operations wrap around as Rust's `wrapping_`
        /// ones, take another array of as many elements or one known value for all of them, and
        /// are for all elements at once: each level of look-ups is one call of the device. Sums
        /// and differences wait for their carries until something reads them.
        #[derive(Clone)]
        pub struct $name<const BITS: u32>(Array);

        impl<const BITS: u32> std::fmt::Debug for $name<BITS> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} x {}", self.len(), Self::NAME)
            }
        }

        impl<const BITS: u32> sealed::Sealed for $name<BITS> {}

        #[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
        impl<const BITS: u32> Integer for $name<BITS> {
            type Plain = $plain;
            const NAME: &'static str = names!(
                BITS, $kind, 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50
                52 54 56 58 60 62 64 66 68 70 72 74 76 78 80 82 84 86 88 90 92 94 96 98 100 102 104
                106 108 110 112 114 116 118 120 122 124 126 128
            );
            const IS_CONDITION: bool = false;

            fn digits() -> usize {
                const { check_bits(BITS) };
                (BITS / DIGIT_BITS) as usize
            }

            fn values() -> Values {
                digit_values()
            }

            fn encode(value: $plain) -> Result<Vec<u64>> {
                let bits = Self::to_bits(value)?;
                let digit = |i: u32| (bits >> (DIGIT_BITS * i)) as u64 % RADIX as u64;
                Ok((0..BITS / DIGIT_BITS).map(digit).collect())
            }

            fn to_bits(value: $plain) -> Result<u128> {
                const { check_bits(BITS) };
                let unused = u128::BITS - BITS;
                if value << unused >> unused != value {
                    // It may be secret: what it is is not said.
                    let (least, most) = (<$plain>::MIN >> unused, <$plain>::MAX >> unused);
                    return mismatch(format!(
                        "a number does not fit {}, which holds {least} to {most}",
                        Self::NAME
                    ));
                }
                Ok((value as u128) << unused >> unused)
            }

            fn decode(messages: &[u64]) -> $plain {
                let digits = messages.iter().rev();
                let bits = digits.fold(0, |n: u128, &m| n << DIGIT_BITS | u128::from(m));
                let unused = u128::BITS - BITS;
                (bits << unused) as $plain >> unused
            }

            fn wrap(array: Array) -> Self {
                Self(array)
            }

            fn array(&self) -> &Array {
                &self.0
            }
        }

        $(
            impl<const BITS: u32> From<$from> for Other<'_, $name<BITS>> {
                fn from(value: $from) -> Self {
                    Self::Plain(value.into())
                }
            }
        )*

        impl<const BITS: u32> $name<BITS> {
            /// Encrypts an array.
            ///
            /// # Errors
            /// As [`Encrypted::encrypt`].
            pub fn encrypt<P: Copy + Into<$plain>>(
                client: &ClientKey,
                values: &[P],
            ) -> Result<Encrypted<Self>> {
                Encrypted::encrypt(client, values)
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                self.0.count
            }

            /// Whether there is none; there always is one.
            pub fn is_empty(&self) -> bool {
                self.0.count == 0
            }

            fn unary(&self, operation: Operation) -> Result<Self> {
                Ok(Self(self.0.run(operation, $signed, &[])?))
            }

            fn binary(&self, operation: Operation, other: &Other<'_, Self>) -> Result<Self> {
                Ok(Self(self.0.run(operation, $signed, &[other.argument()?])?))
            }

            fn with_flag(
                &self,
                operation: Operation,
                other: &Other<'_, Self>,
            ) -> Result<(Self, FheBool)> {
                let mut results = self.0.run_all(operation, $signed, &[other.argument()?])?;
                let flag = FheBool::wrap(results.swap_remove(1));
                Ok((Self(results.swap_remove(0)), flag))
            }

            /// Propagates the carries that are still to come, and refreshes errors.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn propagate(&self) -> Result<Self> {
                self.unary(Operation::Clean)
            }

            /// `self + other`, modulo 2^BITS: no look-up while digits have room for it.
            ///
            /// # Errors
            /// [`Error::Mismatch`](crate::Error::Mismatch) for arrays of unequal length or of two
            /// servers or for a known value that is out of range, and failures of the device.
            pub fn add<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Add, &other.into())
            }

            /// `self - other`, modulo 2^BITS.
            ///
            /// # Errors
            /// As for `add`.
            pub fn sub<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Subtract, &other.into())
            }

            /// `-self`, modulo 2^BITS.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn neg(&self) -> Result<Self> {
                self.unary(Operation::Negate)
            }

            /// `self * other`, modulo 2^BITS.
            ///
            /// # Errors
            /// As for `add`.
            pub fn mul<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Multiply, &other.into())
            }

            /// Quotient and remainder, rounded towards 0, for about the price of one. By 0 the
            /// quotient is all ones (of a signed dividend below 0: 1) and the remainder the
            /// dividend; of the lowest signed number by -1 the quotient is that number.
            ///
            /// # Errors
            /// As for `add`.
            pub fn div_rem<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<(Self, Self)> {
                let other = other.into();
                let mut results =
                    self.0.run_all(Operation::Divide, $signed, &[other.argument()?])?;
                let remainder = Self(results.swap_remove(1));
                Ok((Self(results.swap_remove(0)), remainder))
            }

            /// The quotient of `div_rem`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn div<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                Ok(self.div_rem(other)?.0)
            }

            /// The remainder of `div_rem`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn rem<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                Ok(self.div_rem(other)?.1)
            }

            /// The sum, and whether it left the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn overflowing_add<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool)> {
                self.with_flag(Operation::AddOverflowing, &other.into())
            }

            /// The difference, and whether it left the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn overflowing_sub<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool)> {
                self.with_flag(Operation::SubtractOverflowing, &other.into())
            }

            /// The product, and whether it left the range; computed with twice the digits.
            ///
            /// # Errors
            /// As for `add`.
            pub fn overflowing_mul<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool)> {
                self.with_flag(Operation::MultiplyOverflowing, &other.into())
            }

            /// The same number, modulo 2^TO, as `as` casts: to the width of `TO` bits, the sign
            /// coming in where there is one.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn resize<const TO: u32>(&self) -> Result<$name<TO>> {
                let digits = $name::<TO>::digits();
                Ok($name(self.0.run(Operation::Cast(digits), $signed, &[])?))
            }

            /// The same bits, taken for the other kind: free.
            pub fn reinterpret(&self) -> $other<BITS> {
                $other(self.0.clone())
            }
        }

        impl<'a, const BITS: u32, T: Into<Other<'a, $name<BITS>>>> std::ops::Add<T>
            for &$name<BITS>
        {
            type Output = Result<$name<BITS>>;

            fn add(self, other: T) -> Self::Output {
                $name::add(self, other)
            }
        }

        impl<'a, const BITS: u32, T: Into<Other<'a, $name<BITS>>>> std::ops::Sub<T>
            for &$name<BITS>
        {
            type Output = Result<$name<BITS>>;

            fn sub(self, other: T) -> Self::Output {
                $name::sub(self, other)
            }
        }

        impl<'a, const BITS: u32, T: Into<Other<'a, $name<BITS>>>> std::ops::Mul<T>
            for &$name<BITS>
        {
            type Output = Result<$name<BITS>>;

            fn mul(self, other: T) -> Self::Output {
                $name::mul(self, other)
            }
        }
    };
}

number!(
    FheUint,
    FheInt,
    u128,
    false,
    "FheUint",
    "An array of encrypted unsigned integers on a device.",
    [u8 u16 u32 u64 u128]
);
number!(
    FheInt,
    FheUint,
    i128,
    true,
    "FheInt",
    "An array of encrypted integers in two's complement on a device.",
    [i8 i16 i32 i64 i128]
);

impl<const BITS: u32> FheInt<BITS> {
    /// The absolute value, modulo 2^BITS: that of the lowest number is itself, as of
    /// `wrapping_abs`.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn abs(&self) -> Result<Self> {
        self.unary(Operation::Absolute)
    }
}
