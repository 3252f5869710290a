//! Counting the bits of numbers.

use super::{FheInt, FheUint};
use crate::Result;
use crate::engine::Engine;
use crate::operation::{Count, Operation};
use crate::types::{FheBool, Integer};

macro_rules! count {
    ($name:ident, $signed:literal, $zero:literal) => {
        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            /// How many bits of a kind there are: what the methods below do, each by its name.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn count(&self, which: Count) -> Result<FheUint<32, E>> {
                let operation = Operation::Count(which, FheUint::<32, E>::digits());
                Ok(FheUint::wrap(self.0.run(operation, $signed, &[])?))
            }

            /// How many bits are 1.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn count_ones(&self) -> Result<FheUint<32, E>> {
                self.count(Count::Ones)
            }

            /// How many bits are 0.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn count_zeros(&self) -> Result<FheUint<32, E>> {
                self.count(Count::Zeros)
            }

            /// How many bits are 0 above the highest 1: BITS of 0.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn leading_zeros(&self) -> Result<FheUint<32, E>> {
                self.count(Count::LeadingZeros)
            }

            /// How many bits are 1 above the highest 0: BITS of all ones.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn leading_ones(&self) -> Result<FheUint<32, E>> {
                self.count(Count::LeadingOnes)
            }

            /// How many bits are 0 below the lowest 1: BITS of 0.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn trailing_zeros(&self) -> Result<FheUint<32, E>> {
                self.count(Count::TrailingZeros)
            }

            /// How many bits are 1 below the lowest 0: BITS of all ones.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn trailing_ones(&self) -> Result<FheUint<32, E>> {
                self.count(Count::TrailingOnes)
            }

            /// The logarithm to base 2, rounded down: which bit is the highest 1, and 0 of 0. Of a
            /// number below 0 it is BITS - 1, the place of its sign; `checked_ilog2` tells.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn ilog2(&self) -> Result<FheUint<32, E>> {
                self.count(Count::BelowHighest)
            }

            /// The same, and whether there is one: it is of numbers above 0.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn checked_ilog2(&self) -> Result<(FheUint<32, E>, FheBool<E>)> {
                Ok((self.ilog2()?, self.greater($zero)?))
            }
        }
    };
}

count!(FheUint, false, 0u128);
count!(FheInt, true, 0i128);
