//! Encrypted conditions.

use super::{Argument, FheInt, FheUint, Integer, Other, sealed};
use crate::integer::host::Encrypted;
use crate::integer::operations::{Logic, Operation};
use crate::integer::run::Array;
use crate::{ClientKey, Result};

/// An array of encrypted truth values on a device: what comparisons give, and what chooses.
#[derive(Clone)]
pub struct FheBool(Array);

impl std::fmt::Debug for FheBool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.len(), Self::name())
    }
}

impl sealed::Sealed for FheBool {}

#[allow(private_interfaces, reason = "the trait is sealed; only this crate calls these")]
impl Integer for FheBool {
    type Plain = bool;
    const MOST: i64 = 1;

    fn name() -> String {
        "FheBool".into()
    }

    fn digits() -> usize {
        1
    }

    fn to_bits(value: bool) -> Result<u128> {
        Ok(u128::from(value))
    }

    fn from_bits(bits: u128) -> bool {
        bits != 0
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

    fn logic(&self, logic: Logic, other: &Other<'_, Self>) -> Result<Self> {
        let operation = Operation::BitLogic(logic);
        Ok(Self(self.0.run(operation, false, &[other.argument()?])?))
    }

    /// Whether both hold: one look-up.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for arrays of unequal length or of two servers,
    /// and failures of the device.
    pub fn and<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::And, &other.into())
    }

    /// Whether one of both holds: one look-up.
    ///
    /// # Errors
    /// As [`FheBool::and`].
    pub fn or<'a>(&self, other: impl Into<Other<'a, Self>>) -> Result<Self> {
        self.logic(Logic::Or, &other.into())
    }

    /// Whether exactly one of both holds: one look-up.
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
        Ok(Self(self.0.run(Operation::BitNot, false, &[])?))
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
        let arguments: [Argument<'_>; 2] = [on.argument()?, off.argument()?];
        let operation = if T::MOST == 1 { Operation::BitSelect } else { Operation::Select };
        Ok(T::wrap(self.0.run(operation, false, &arguments)?))
    }

    /// 1 where the condition holds, else 0: no look-up.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_uint<const BITS: u32>(&self) -> Result<FheUint<BITS>> {
        let digits = FheUint::<BITS>::digits();
        Ok(FheUint::wrap(self.0.run(Operation::FromBit(digits), false, &[])?))
    }

    /// The same as a signed number.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn to_int<const BITS: u32>(&self) -> Result<FheInt<BITS>> {
        let digits = FheInt::<BITS>::digits();
        Ok(FheInt::wrap(self.0.run(Operation::FromBit(digits), false, &[])?))
    }
}
