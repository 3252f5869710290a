//! The integers that users see.

mod bool;
mod number;

pub use self::bool::FheBool;
pub use number::{FheInt, FheUint};

use super::run::{Argument, Array};
use crate::Result;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// An array of encrypted integers of one kind and width: [`FheUint`], [`FheInt`] or [`FheBool`].
#[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
pub trait Integer: Sized + Clone + sealed::Sealed {
    /// What an element is in the plain.
    type Plain: Copy;

    /// The largest digit.
    #[doc(hidden)]
    const MOST: i64;

    /// What these integers are called.
    #[doc(hidden)]
    fn name() -> String;

    /// Ciphertexts of as many elements as fit one.
    #[doc(hidden)]
    fn digits() -> usize;

    /// An element as a number in two's complement.
    #[doc(hidden)]
    fn to_bits(value: Self::Plain) -> Result<u128>;

    #[doc(hidden)]
    fn from_bits(bits: u128) -> Self::Plain;

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
    pub(super) fn argument(&self) -> Result<Argument<'_>> {
        Ok(match self {
            Self::Array(array) => Argument::Array(array.array()),
            Self::Plain(value) => Argument::Plain {
                bits: T::to_bits(*value)?,
                digits: T::digits(),
                is_bit: T::MOST == 1,
            },
        })
    }
}
