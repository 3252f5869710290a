//! The integers that users see.

mod bool;
mod number;
mod wide;

pub use self::bool::FheBool;
pub use number::{FheInt, FheUint};
pub use wide::{I256, U256};

use crate::Result;
use crate::engine::{Argument, Array, Engine, Form};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// An array of encrypted integers of one kind and width: [`FheUint`], [`FheInt`] or [`FheBool`].
pub trait Integer: Sized + Clone + sealed::Sealed {
    /// What known values are, of any width: [`U256`], [`I256`] or `bool`.
    type Known: Copy;

    /// What elements of at most 128 bits decrypt to: `u128`, `i128` or `bool`.
    type Plain: Copy;

    /// What computes on them.
    type Engine: Engine;

    /// Whether an element is true or false.
    #[doc(hidden)]
    const IS_CONDITION: bool;

    /// What these integers are called.
    #[doc(hidden)]
    fn name() -> String;

    /// Digits of an element.
    #[doc(hidden)]
    fn digits() -> usize;

    /// The digits of an element in two's complement, lowest first.
    #[doc(hidden)]
    fn to_digits(value: Self::Known) -> Result<Vec<u8>>;

    #[doc(hidden)]
    fn from_digits(digits: &[u8]) -> Self::Known;

    /// An element of at most 128 bits; of more it does not compile.
    #[doc(hidden)]
    fn narrow(value: Self::Known) -> Self::Plain;

    #[doc(hidden)]
    fn wrap(array: Array<Self::Engine>) -> Self;

    #[doc(hidden)]
    fn array(&self) -> &Array<Self::Engine>;
}

/// What elements of such integers are made of.
pub(crate) fn form<T: Integer>() -> Form {
    Form { digits: T::digits(), is_condition: T::IS_CONDITION }
}

/// The other operand of an operation: an array of the same kind and length, or one known value for
/// all elements.
#[derive(Clone, Copy, Debug)]
pub enum Other<'a, T: Integer> {
    /// An array, element by element.
    Array(&'a T),
    /// One value for all elements.
    Plain(T::Known),
}

impl<'a, T: Integer> From<&'a T> for Other<'a, T> {
    fn from(array: &'a T) -> Self {
        Self::Array(array)
    }
}

impl<T: Integer> Other<'_, T> {
    pub(crate) fn argument(&self) -> Result<Argument<'_, T::Engine>> {
        Ok(match self {
            Self::Array(array) => Argument::Array(array.array()),
            Self::Plain(value) => Argument::Plain(T::to_digits(*value)?),
        })
    }
}
