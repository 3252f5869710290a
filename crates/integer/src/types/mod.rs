//! The integers that users see.

mod bool;
mod number;

pub use self::bool::FheBool;
pub use number::{FheInt, FheUint};

use crate::Result;
use crate::record::Values;
use crate::run::{Argument, Array};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// An array of encrypted integers of one kind and width: [`FheUint`], [`FheInt`] or [`FheBool`].
#[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
pub trait Integer: Sized + Clone + sealed::Sealed {
    /// What an element is in the plain.
    type Plain: Copy;

    /// What these integers are called.
    #[doc(hidden)]
    const NAME: &'static str;

    /// Whether an element is true or false.
    #[doc(hidden)]
    const IS_CONDITION: bool;

    /// Ciphertexts of an element.
    #[doc(hidden)]
    fn digits() -> usize;

    /// What a digit may be where no carry is to come.
    #[doc(hidden)]
    fn values() -> Values;

    /// The messages of an element.
    #[doc(hidden)]
    fn encode(value: Self::Plain) -> Result<Vec<u64>>;

    /// An element as a number in two's complement, lowest digit first.
    #[doc(hidden)]
    fn to_bits(value: Self::Plain) -> Result<u128>;

    #[doc(hidden)]
    fn decode(messages: &[u64]) -> Self::Plain;

    #[doc(hidden)]
    fn wrap(array: Array) -> Self;

    #[doc(hidden)]
    fn array(&self) -> &Array;
}

/// The other operand of an operation: an array of the same kind and length, or one known value for
/// all elements.
#[derive(Clone, Copy, Debug)]
pub enum Other<'a, T: Integer> {
    /// An array, element by element.
    Array(&'a T),
    /// One value for all elements.
    Plain(T::Plain),
}

impl<'a, T: Integer> From<&'a T> for Other<'a, T> {
    fn from(array: &'a T) -> Self {
        Self::Array(array)
    }
}

impl<T: Integer> Other<'_, T> {
    pub(crate) fn argument(&self) -> Result<Argument<'_>> {
        Ok(match self {
            Self::Array(array) => Argument::Array(array.array()),
            Self::Plain(value) => {
                Argument::Plain { value: T::to_bits(*value)?, digits: T::digits() }
            }
        })
    }
}
