//! Encrypted numbers, unsigned and in two's complement.

mod bits;
mod order;

use super::{Argument, FheBool, Integer, Other, sealed};
use crate::integer::host::Encrypted;
use crate::integer::operations::Operation;
use crate::integer::run::Array;
use crate::{ClientKey, Result, error};

/// Bits of a digit.
const DIGIT_BITS: u32 = 2;

const fn check_bits(bits: u32) {
    assert!(
        bits.is_multiple_of(2) && bits >= 2 && bits <= 128,
        "encrypted integers over slots have 2 to 128 bits, an even number of them"
    );
}

/// What differs between the two kinds, then what they have in common.
macro_rules! number {
    ($name:ident, $other:ident, $plain:ident, $signed:literal, $kind:literal, $title:literal,
     [$($from:ident)*]) => {
        #[doc = $title]
        ///
        /// `BITS` is even, from 2 to 128. Operations wrap around as Rust's `wrapping_` ones, take
        /// another array of as many elements or one known value for all of them, and are for all
        /// elements at once.
        #[derive(Clone)]
        pub struct $name<const BITS: u32>(Array);

        impl<const BITS: u32> std::fmt::Debug for $name<BITS> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} x {}", self.len(), Self::name())
            }
        }

        impl<const BITS: u32> sealed::Sealed for $name<BITS> {}

        #[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
        impl<const BITS: u32> Integer for $name<BITS> {
            type Plain = $plain;
            const MOST: i64 = (1 << DIGIT_BITS) - 1;

            fn name() -> String {
                format!("{}{BITS}", $kind)
            }

            fn digits() -> usize {
                const { check_bits(BITS) };
                (BITS / DIGIT_BITS) as usize
            }

            fn to_bits(value: $plain) -> Result<u128> {
                const { check_bits(BITS) };
                let unused = u128::BITS - BITS;
                if value << unused >> unused != value {
                    // It may be secret: what it is is not said.
                    let (least, most) = (<$plain>::MIN >> unused, <$plain>::MAX >> unused);
                    return error::mismatch(format!(
                        "a number does not fit {}, which holds {least} to {most}",
                        Self::name()
                    ));
                }
                Ok((value as u128) << unused >> unused)
            }

            fn from_bits(bits: u128) -> $plain {
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

            /// The same numbers with errors as small as sums leave: a look-up for each digit that
            /// has larger ones, else none.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn propagate(&self) -> Result<Self> {
                self.unary(Operation::Clean)
            }

            /// `self + other`, modulo 2^BITS: a look-up a digit, one after the other.
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

            /// The sum of several arrays, modulo 2^BITS, for much less than sums one by one.
            ///
            /// # Errors
            /// As for `add`, and for no array.
            pub fn sum(arrays: &[&Self]) -> Result<Self> {
                let Some((first, others)) = arrays.split_first() else {
                    return error::mismatch("a sum of no arrays: there must be at least one");
                };
                let others: Vec<Argument<'_>> =
                    others.iter().map(|other| Argument::Array(&other.0)).collect();
                Ok(Self(first.0.run(Operation::Sum, $signed, &others)?))
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
