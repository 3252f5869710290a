//! What vectors of callers must be.

use crate::{Error, Result};
use num_complex::Complex64;

/// Refuses a vector whose length is no power of two up to `slots`.
pub(crate) fn check_length(what: &'static str, found: usize, slots: usize) -> Result<()> {
    if found.is_power_of_two() && found <= slots {
        return Ok(());
    }
    let rule = format!("it must be a power of two up to {slots}, the slots that there are");
    Err(Error::Length { what, found, rule })
}

/// The largest magnitude among `values`; 0 for numbers that are not finite,
/// which the encoder refuses.
pub(crate) fn largest<T: Copy + Into<Complex64>>(values: &[T]) -> f64 {
    values.iter().map(|&v| v.into().norm()).fold(0.0, f64::max)
}
