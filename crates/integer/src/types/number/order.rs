//! Comparisons of numbers, and what chooses by one.

use super::{FheInt, FheUint};
use crate::Result;
use crate::engine::Engine;
use crate::operation::{Operation, Order};
use crate::types::{FheBool, Integer, Other};

macro_rules! order {
    ($name:ident, $signed:literal) => {
        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            fn compare(&self, order: Order, other: &Other<'_, Self>) -> Result<FheBool<E>> {
                let other = other.argument()?;
                Ok(FheBool::wrap(self.0.run(Operation::Compare(order), $signed, &[other])?))
            }

            /// Whether `self < other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn less<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<FheBool<E>> {
                self.compare(Order::Less, &other.into())
            }

            /// Whether `self <= other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn less_or_equal<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<FheBool<E>> {
                self.compare(Order::LessOrEqual, &other.into())
            }

            /// Whether `self > other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn greater<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<FheBool<E>> {
                self.compare(Order::Greater, &other.into())
            }

            /// Whether `self >= other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn greater_or_equal<'a>(
                &self,
                other: impl Into<Other<'a, Self>>,
            ) -> Result<FheBool<E>> {
                self.compare(Order::GreaterOrEqual, &other.into())
            }

            /// Whether `self == other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn equal<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<FheBool<E>> {
                self.compare(Order::Equal, &other.into())
            }

            /// Whether `self != other`.
            ///
            /// # Errors
            /// As for `add`.
            pub fn not_equal<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<FheBool<E>> {
                self.compare(Order::NotEqual, &other.into())
            }

            /// The smaller of both.
            ///
            /// # Errors
            /// As for `add`.
            pub fn min<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Minimum, &other.into())
            }

            /// The larger of both.
            ///
            /// # Errors
            /// As for `add`.
            pub fn max<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
                self.binary(Operation::Maximum, &other.into())
            }
        }
    };
}

order!(FheUint, false);
order!(FheInt, true);
