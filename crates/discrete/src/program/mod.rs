//! A look-up as recorded operations on polynomials.
//!
//! | file | what |
//! |---|---|
//! | `polynomial` | polynomials with complex coefficients |
//! | `lookup` | from a sum at the wire level to tables of it, step by step |

mod lookup;
mod polynomial;

#[cfg(test)]
pub(crate) use lookup::weights_of_rounding;
pub use lookup::{Exponential, LookupPlan, Slots, key_ranges, rotations};
pub(crate) use lookup::{MAGNITUDES, coefficient_labels, rounded_rows};
pub use polynomial::{Evaluator, Terms, powers};
