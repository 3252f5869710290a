//! Encrypted conditions.

use super::{Argument, FheInt, FheUint, Integer, Other, sealed};
use crate::host::Encrypted;
use crate::operations::{Logic, Operation};
use crate::record::Values;
use crate::run::Array;
use crate::{CONDITION, Result};
use girih_tfhe::ClientKey;

/// An array of encrypted truth values on a device: what comparisons give, and what chooses.
#[derive(Clone)]
pub struct FheBool(Array);

impl std::fmt::Debug for FheBool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.len(), Self::NAME)
    }
}

impl sealed::Sealed for FheBool {}

#[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
impl Integer for FheBool {
    type Plain = bool;
    const NAME: &'static str = "FheBool";
    const IS_CONDITION: bool = true;

    fn digits() -> usize {
        1
    }

    fn values() -> Values {
        Values::from_iter([0, CONDITION])
    }

    fn encode(value: bool) -> Result<Vec<u64>> {
        Ok(vec![u64::from(value) * CONDITION as u64])
    }

    fn to_bits(value: bool) -> Result<u128> {
        Ok(u128::from(value))
    }

    fn decode(messages: &[u64]) -> bool {
        messages[0] != 0
    }

    fn wrap(array: Array) -> Self {
        Self(array)
    }

    fn array(&self) -> &Array {
        &self.0
    }
}

impl From<bool> for Other<'_, FheBool> {
    fn from(value: bool) -> Self {
        Self::Plain(value)
    }
}

impl FheBool {
    /// Encrypts an array.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt(client: &ClientKey, values: &[bool]) -> Result<Encrypted<Self>> {
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

    fn logic(&self, logic: Logic, other: Other<'_, Self>) -> Result<Self> {
        let operation = Operation::ConditionLogic(logic);
        match (logic, other) {
            (_, Other::Array(other)) => {
                let other = Argument::Array(other.array());
                Ok(Self(self.0.run(operation, false, &[other])?))
            }
            // What a known value leaves of a condition: itself, its opposite, or nothing.
            (Logic::And, Other::Plain(true)) | (Logic::Or | Logic::Xor, Other::Plain(false)) => {
                Ok(self.clone())
            }
            (Logic::Xor, Other::Plain(true)) => self.not(),
            (Logic::And, Other::Plain(false)) => self.logic(Logic::Xor, Other::Array(self)),
            (Logic::Or, Other::Plain(true)) => self.logic(Logic::Xor, Other::Array(self))?.not(),
        }
    }

    /// Whether both hold: one look-up.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for arrays of unequal length or of two servers,
    /// and failures of the device.
    pub fn and<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::And, other.into())
    }

    /// Whether one of both holds: one look-up.
    ///
    /// # Errors
    /// As [`FheBool::and`].
    pub fn or<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::Or, other.into())
    }

    /// Whether exactly one of both holds: one look-up.
    ///
    /// # Errors
    /// As [`FheBool::and`].
    pub fn xor<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::Xor, other.into())
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
    pub fn select<'a, T: Integer + 'a>(
        &self,
        on: impl Into<Other<'a, T>>,
        off: impl Into<Other<'a, T>>,
    ) -> Result<T> {
        let (on, off) = (on.into(), off.into());
        let (on, off) = (on.argument()?, off.argument()?);
        Ok(T::wrap(match T::IS_CONDITION {
            true => self.select_condition(on, off)?,
            false => self.0.run(Operation::Select, false, &[on, off])?,
        }))
    }

    /// A choice among conditions: of what is known, less than a choice is left.
    fn select_condition(&self, on: Argument<'_>, off: Argument<'_>) -> Result<Array> {
        let logic =
            |of: Self, logic, other| of.0.run(Operation::ConditionLogic(logic), false, &[other]);
        match (known(on), known(off)) {
            (None, None) => self.0.run(Operation::ConditionSelect, false, &[on, off]),
            (Some(true), None) => logic(self.clone(), Logic::Or, off),
            (Some(false), None) => logic(self.not()?, Logic::And, off),
            (None, Some(true)) => logic(self.not()?, Logic::Or, on),
            (None, Some(false)) => logic(self.clone(), Logic::And, on),
            (Some(true), Some(false)) => Ok(self.0.clone()),
            (Some(false), Some(true)) => Ok(self.not()?.0),
            (Some(true), Some(true)) => Ok(self.or(true)?.0),
            (Some(false), Some(false)) => Ok(self.and(false)?.0),
        }
    }

    /// 1 where the condition holds, else 0: one look-up.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_uint<const BITS: u32>(&self) -> Result<FheUint<BITS>> {
        let digits = FheUint::<BITS>::digits();
        Ok(FheUint::wrap(self.0.run(Operation::FromCondition(digits), false, &[])?))
    }

    /// The same as a signed number.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_int<const BITS: u32>(&self) -> Result<FheInt<BITS>> {
        let digits = FheInt::<BITS>::digits();
        Ok(FheInt::wrap(self.0.run(Operation::FromCondition(digits), false, &[])?))
    }
}

/// A condition that is known.
fn known(argument: Argument<'_>) -> Option<bool> {
    match argument {
        Argument::Array(_) => None,
        Argument::Plain { value, .. } => Some(value != 0),
    }
}
