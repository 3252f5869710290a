//! Operations that say whether their result is right, and ones on a known number.

use super::{FheInt, FheUint};
use crate::Error;
use crate::Result;
use crate::engine::{Argument, Engine};
use crate::operation::Operation;
use crate::types::{FheBool, I256, Integer, Other, U256};

macro_rules! checked {
    ($name:ident, $known:ident, $signed:literal, $zero:literal, $fits:expr, [$($from:ident)*]) => {
        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            /// The sum modulo 2^BITS, and whether it is in the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn checked_add<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool<E>)> {
                let (sum, left) = self.overflowing_add(other)?;
                Ok((sum, left.not()?))
            }

            /// The difference modulo 2^BITS, and whether it is in the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn checked_sub<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool<E>)> {
                let (difference, left) = self.overflowing_sub(other)?;
                Ok((difference, left.not()?))
            }

            /// The product modulo 2^BITS, and whether it is in the range.
            ///
            /// # Errors
            /// As for `add`.
            pub fn checked_mul<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, FheBool<E>)> {
                let (product, left) = self.overflowing_mul(other)?;
                Ok((product, left.not()?))
            }

            /// Quotient and remainder as of `div_rem`, and whether they are those of a division:
            /// not by 0, and not of the lowest signed number by -1.
            ///
            /// # Errors
            /// As for `add`, and [`Error::DivisionByZero`] for the known divisor 0.
            pub fn checked_div_rem<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<(Self, Self, FheBool<E>)> {
                let other = other.into();
                let fits: fn(&Self, &Other<'_, Self>) -> Result<FheBool<E>> = $fits;
                let good = fits(self, &other)?;
                let (quotient, remainder) = self.div_rem(other)?;
                Ok((quotient, remainder, good))
            }

            /// Whether a divisor is not 0.
            fn is_divisor(&self, other: &Other<'_, Self>) -> Result<FheBool<E>> {
                match other {
                    Other::Array(other) => other.not_equal($zero),
                    Other::Plain($known::ZERO) => Err(Error::DivisionByZero),
                    // True of all elements, without a look-up.
                    Other::Plain(_) => self.equal(self),
                }
            }

            /// A known number on the left: the results of an operation on it and this array.
            fn after(&self, operation: Operation, value: $known) -> Result<Vec<Self>> {
                let known = Argument::Plain(Self::to_digits(value)?);
                let arguments = [&known, &Argument::Array(&self.0)];
                let results = self.0.inner.run(operation, $signed, &arguments)?;
                Ok(results.into_iter().map(Self).collect())
            }

            /// `value - self`, modulo 2^BITS; `100u8 - &x` is the same.
            ///
            /// # Errors
            /// As for `add`.
            pub fn sub_from(&self, value: impl Into<$known>) -> Result<Self> {
                Ok(self.after(Operation::Subtract, value.into())?.swap_remove(0))
            }

            /// Quotient and remainder of a known number by these.
            ///
            /// # Errors
            /// As for `div_rem`.
            pub fn div_rem_from(&self, value: impl Into<$known>) -> Result<(Self, Self)> {
                let mut results = self.after(Operation::Divide, value.into())?;
                let remainder = results.swap_remove(1);
                Ok((results.swap_remove(0), remainder))
            }
        }

        $(
            impl<const BITS: u32, E: Engine> std::ops::Add<&$name<BITS, E>> for $from {
                type Output = Result<$name<BITS, E>>;

                fn add(self, other: &$name<BITS, E>) -> Self::Output {
                    other.add(self)
                }
            }

            impl<const BITS: u32, E: Engine> std::ops::Sub<&$name<BITS, E>> for $from {
                type Output = Result<$name<BITS, E>>;

                fn sub(self, other: &$name<BITS, E>) -> Self::Output {
                    other.sub_from(self)
                }
            }

            impl<const BITS: u32, E: Engine> std::ops::Mul<&$name<BITS, E>> for $from {
                type Output = Result<$name<BITS, E>>;

                fn mul(self, other: &$name<BITS, E>) -> Self::Output {
                    other.mul(self)
                }
            }
        )*
    };
}

checked!(FheUint, U256, false, 0u128, |a, b| a.is_divisor(b), [u8 u16 u32 u64 u128 U256]);
checked!(
    FheInt,
    I256,
    true,
    0i128,
    |a, b| {
        let is_above_lowest = || a.not_equal(I256::lowest(BITS));
        match b {
            Other::Plain(by) if *by == I256::from(-1i8) => is_above_lowest(),
            Other::Plain(_) => a.is_divisor(b),
            Other::Array(by) => {
                let in_range = is_above_lowest()?.or(&by.not_equal(-1i128)?)?;
                a.is_divisor(b)?.and(&in_range)
            }
        }
    },
    [i8 i16 i32 i64 i128 I256]
);
