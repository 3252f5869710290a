//! Shifts as TFHE-rs means them.

use crate::Result;
use girih_integer::{FheInt, FheUint};

/// Shifts by encrypted amounts that move bits out: by the width or more, `shl_out` and the unsigned
/// `shr_out` give 0 and the signed `shr_out` all signs, as in TFHE-rs 1.8. girih's own
/// `shl_by` and `shr_by` take the amount modulo the width, as Rust's `wrapping_shl` does.
///
/// They cost a comparison and a choice more.
pub trait ShiftsOut: Sized {
    /// What amounts are.
    type Amount;

    /// `self << amount`, 0 where the amount is at least the width.
    ///
    /// # Errors
    /// As [`FheUint::shl_by`].
    fn shl_out(&self, amount: &Self::Amount) -> Result<Self>;

    /// `self >> amount`, 0 or all signs where the amount is at least the width.
    ///
    /// # Errors
    /// As [`FheUint::shr_by`].
    fn shr_out(&self, amount: &Self::Amount) -> Result<Self>;
}

impl<const BITS: u32> ShiftsOut for FheUint<BITS> {
    type Amount = Self;

    fn shl_out(&self, amount: &Self) -> Result<Self> {
        let out = amount.greater_or_equal(u128::from(BITS))?;
        Ok(out.select::<Self>(0u128, &self.shl_by(amount)?)?)
    }

    fn shr_out(&self, amount: &Self) -> Result<Self> {
        let out = amount.greater_or_equal(u128::from(BITS))?;
        Ok(out.select::<Self>(0u128, &self.shr_by(amount)?)?)
    }
}

impl<const BITS: u32> ShiftsOut for FheInt<BITS> {
    type Amount = FheUint<BITS>;

    fn shl_out(&self, amount: &FheUint<BITS>) -> Result<Self> {
        let out = amount.greater_or_equal(u128::from(BITS))?;
        Ok(out.select::<Self>(0i128, &self.shl_by(amount)?)?)
    }

    fn shr_out(&self, amount: &FheUint<BITS>) -> Result<Self> {
        let out = amount.greater_or_equal(u128::from(BITS))?;
        Ok(out.select::<Self>(&self.shr(BITS - 1)?, &self.shr_by(amount)?)?)
    }
}
