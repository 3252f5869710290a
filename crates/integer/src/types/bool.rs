//! Encrypted conditions.

use super::{FheInt, FheUint, Integer, Other, sealed};
use crate::Result;
use crate::engine::{Array, EncryptionKey, Engine};
use crate::host::Encrypted;
use crate::operation::{Logic, Operation};

/// An array of encrypted truth values on a device: what comparisons give, and what chooses.
pub struct FheBool<E: Engine = girih_tfhe::ServerKey>(Array<E>);

impl<E: Engine> Clone for FheBool<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Engine> std::fmt::Debug for FheBool<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.len(), Self::name())
    }
}

impl<E: Engine> sealed::Sealed for FheBool<E> {}

impl<E: Engine> Integer for FheBool<E> {
    type Known = bool;
    type Plain = bool;
    type Engine = E;
    const IS_CONDITION: bool = true;

    fn name() -> String {
        "FheBool".into()
    }

    fn digits() -> usize {
        1
    }

    fn to_digits(value: bool) -> Result<Vec<u8>> {
        Ok(vec![u8::from(value)])
    }

    fn from_digits(digits: &[u8]) -> bool {
        digits[0] != 0
    }

    fn narrow(value: bool) -> bool {
        value
    }

    fn wrap(array: Array<E>) -> Self {
        Self(array)
    }

    fn array(&self) -> &Array<E> {
        &self.0
    }
}

impl<E: Engine> From<bool> for Other<'_, FheBool<E>> {
    fn from(value: bool) -> Self {
        Self::Plain(value)
    }
}

impl<E: Engine> FheBool<E> {
    /// Encrypts an array.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt(
        key: &impl EncryptionKey<Engine = E>,
        values: &[bool],
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

    fn logic(&self, logic: Logic, other: &Other<'_, Self>) -> Result<Self> {
        Ok(Self(self.0.run(Operation::ConditionLogic(logic), false, &[other.argument()?])?))
    }

    /// Whether both hold: one look-up, none with a known value.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for arrays of unequal length or of two servers,
    /// and failures of the device.
    pub fn and<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::And, &other.into())
    }

    /// Whether one of both holds: one look-up, none with a known value.
    ///
    /// # Errors
    /// As [`FheBool::and`].
    pub fn or<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::Or, &other.into())
    }

    /// Whether exactly one of both holds: one look-up, none with a known value.
    ///
    /// # Errors
    /// As [`FheBool::and`].
    pub fn xor<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::Xor, &other.into())
    }

    /// The opposite: no look-up.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn not(&self) -> Result<Self> {
        Ok(Self(self.0.run(Operation::ConditionNot, false, &[])?))
    }

    /// Elements of `on` where the condition holds, else of `off`: a look-up a digit.
    ///
    /// # Errors
    /// As [`FheBool::and`], and for known values that are out of range.
    pub fn select<'a, T: Integer<Engine = E> + 'a>(
        &self,
        on: impl Into<Other<'a, T>>,
        off: impl Into<Other<'a, T>>,
    ) -> Result<T> {
        let (on, off) = (on.into(), off.into());
        let operation =
            if T::IS_CONDITION { Operation::ConditionSelect } else { Operation::Select };
        Ok(T::wrap(self.0.run(operation, false, &[on.argument()?, off.argument()?])?))
    }

    /// 1 where the condition holds, else 0: one look-up, in slots none.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_uint<const BITS: u32>(&self) -> Result<FheUint<BITS, E>> {
        let digits = FheUint::<BITS, E>::digits();
        Ok(FheUint::wrap(self.0.run(Operation::FromCondition(digits), false, &[])?))
    }

    /// The same as a signed number.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_int<const BITS: u32>(&self) -> Result<FheInt<BITS, E>> {
        let digits = FheInt::<BITS, E>::digits();
        Ok(FheInt::wrap(self.0.run(Operation::FromCondition(digits), false, &[])?))
    }
}
