//! A look-up as recorded operations on polynomials.
//!
//! | file | what |
//! |---|---|
//! | `polynomial` | polynomials with complex coefficients |
//! | `lookup` | from a sum at the wire level to tables of it, step by step |

mod lookup;
mod polynomial;

pub(crate) use lookup::coefficient_labels;
pub use lookup::{Exponential, LookupPlan, Slots, key_ranges, rotations};
pub use polynomial::{Evaluator, Terms, powers};
