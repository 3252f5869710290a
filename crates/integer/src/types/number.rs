//! Encrypted numbers, unsigned and in two's complement.

mod bits;
mod checked;
mod count;
mod lists;
mod order;

use super::{FheBool, I256, Integer, Other, U256, sealed};
use crate::engine::{Array, EncryptionKey, Engine};
use crate::host::Encrypted;
use crate::operation::Operation;
use crate::{DIGIT_BITS, Result};
use girih_rlwe::Mismatch;

const fn check_bits(bits: u32) {
    assert!(
        bits.is_multiple_of(DIGIT_BITS) && bits >= 2 && bits <= 256,
        "encrypted integers have an even number of bits, from 2 to 256"
    );
}

/// What differs between the two kinds, then what they have in common.
macro_rules! number {
    ($name:ident, $other:ident, $known:ident, $plain:ident, $least:expr, $signed:literal,
     $kind:literal, $title:literal, [$($from:ident)*]) => {
        #[doc = $title]
        ///
        /// `BITS` is an even number from 2 to 256. Operations wrap around as Rust's `wrapping_`
        /// ones, take another array of as many elements or one known value for all of them, and
        /// are for all elements at once. `E` is what computes on them: unless it is named, a server
        /// key of TFHE, under which sums and differences wait for their carries until something
        /// reads them.
        pub struct $name<const BITS: u32, E: Engine = girih_tfhe::ServerKey>(Array<E>);

        impl<const BITS: u32, E: Engine> Clone for $name<BITS, E> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<const BITS: u32, E: Engine> std::fmt::Debug for $name<BITS, E> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} x {}", self.len(), Self::name())
            }
        }

        impl<const BITS: u32, E: Engine> sealed::Sealed for $name<BITS, E> {}

        impl<const BITS: u32, E: Engine> Integer for $name<BITS, E> {
            type Known = $known;
            type Plain = $plain;
            type Engine = E;
            const IS_CONDITION: bool = false;

            fn name() -> String {
                format!("{}{BITS}", $kind)
            }

            fn digits() -> usize {
                const { check_bits(BITS) };
                (BITS / DIGIT_BITS) as usize
            }

            fn to_digits(value: $known) -> Result<Vec<u8>> {
                const { check_bits(BITS) };
                if !value.fits(BITS) {
                    // It may be secret: what it is is not said.
                    let least: fn(u32) -> $known = $least;
                    let range = [least(BITS), <$known>::largest(BITS)];
                    return Err(Mismatch::value("number", Self::name(), range).into());
                }
                Ok(value.digits(BITS))
            }

            fn from_digits(digits: &[u8]) -> $known {
                <$known>::of_digits(digits)
            }

            fn narrow(value: $known) -> $plain {
                const {
                    assert!(BITS <= 128, "numbers above 128 bits are decrypted by decrypt_wide");
                }
                let [low, high, ..] = value.words();
                (u128::from(high) << 64 | u128::from(low)) as $plain
            }

            fn wrap(array: Array<E>) -> Self {
                Self(array)
            }

            fn array(&self) -> &Array<E> {
                &self.0
            }
        }

        $(
            impl<const BITS: u32, E: Engine> From<$from> for Other<'_, $name<BITS, E>> {
                fn from(value: $from) -> Self {
                    Self::Plain(value.into())
                }
            }
        )*

        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            /// Encrypts an array.
            ///
            /// # Errors
            /// As [`Encrypted::encrypt`].
            pub fn encrypt<P: Copy + Into<$known>>(
                key: &impl EncryptionKey<Engine = E>,
                values: &[P],
            ) -> Result<Encrypted<Self>> {
                Encrypted::encrypt(key, values)
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
            ) -> Result<(Self, FheBool<E>)> {
                let mut results = self.0.run_all(operation, $signed, &[other.argument()?])?;
                let flag = FheBool::wrap(results.swap_remove(1));
                Ok((Self(results.swap_remove(0)), flag))
            }

            /// The same numbers with no carries to come and errors as small as results have: a
            /// look-up for each digit that has larger ones, else none.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn propagate(&self) -> Result<Self> {
                self.unary(Operation::Clean)
            }

            /// `self + other`, modulo 2^BITS: of TFHE no look-up while digits have room for
            /// it, in slots a look-up a digit, one after the other.
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
            ) -> Result<(Self, FheBool<E>)> {
                self.with_flag(Operation::AddOverflowing, &other.into())
            }

            /// The difference, and whether it left the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn overflowing_sub<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool<E>)> {
                self.with_flag(Operation::SubtractOverflowing, &other.into())
            }

            /// The product, and whether it left the range; computed with twice the digits.
            ///
            /// # Errors
            /// As for `add`.
            pub fn overflowing_mul<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool<E>)> {
                self.with_flag(Operation::MultiplyOverflowing, &other.into())
            }

            /// The same number, modulo 2^TO, as `as` casts: to the width of `TO` bits, the sign
            /// coming in where there is one.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn resize<const TO: u32>(&self) -> Result<$name<TO, E>> {
                let digits = $name::<TO, E>::digits();
                Ok($name(self.0.run(Operation::Cast(digits), $signed, &[])?))
            }

            /// The same bits, taken for the other kind: free.
            pub fn reinterpret(&self) -> $other<BITS, E> {
                $other(self.0.clone())
            }
        }

        impl<'a, const BITS: u32, E: Engine, T: Into<Other<'a, $name<BITS, E>>>> std::ops::Add<T>
            for &$name<BITS, E>
        {
            type Output = Result<$name<BITS, E>>;

            fn add(self, other: T) -> Self::Output {
                $name::add(self, other)
            }
        }

        impl<'a, const BITS: u32, E: Engine, T: Into<Other<'a, $name<BITS, E>>>> std::ops::Sub<T>
            for &$name<BITS, E>
        {
            type Output = Result<$name<BITS, E>>;

            fn sub(self, other: T) -> Self::Output {
                $name::sub(self, other)
            }
        }

        impl<'a, const BITS: u32, E: Engine, T: Into<Other<'a, $name<BITS, E>>>> std::ops::Mul<T>
            for &$name<BITS, E>
        {
            type Output = Result<$name<BITS, E>>;

            fn mul(self, other: T) -> Self::Output {
                $name::mul(self, other)
            }
        }
    };
}

number!(
    FheUint,
    FheInt,
    U256,
    u128,
    |_| U256::ZERO,
    false,
    "FheUint",
    "An array of encrypted unsigned integers on a device.",
    [u8 u16 u32 u64 u128 U256]
);
number!(
    FheInt,
    FheUint,
    I256,
    i128,
    I256::lowest,
    true,
    "FheInt",
    "An array of encrypted integers in two's complement on a device.",
    [i8 i16 i32 i64 i128 I256]
);

impl<const BITS: u32, E: Engine> FheInt<BITS, E> {
    /// The absolute value, modulo 2^BITS: that of the lowest number is itself, as of
    /// `wrapping_abs`.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn abs(&self) -> Result<Self> {
        self.unary(Operation::Absolute)
    }
}
