//! Exact bits and small integers in CKKS slots: a look-up on all of them by one bootstrapping.
//! Names no device.
//!
//! | module | what |
//! |---|---|
//! | [`params`] | parameter sets: a set of CKKS, the modulus of numbers, the levels of a look-up |
//! | [`Table`] | functions of numbers, as polynomials of exp(2 pi i m/p) |
//! | [`program`] | a look-up as recorded operations on polynomials |

mod error;
mod exponential;
pub mod params;
pub mod program;
mod table;
mod wire;

pub use error::{Error, Result};
pub use exponential::{exponential, series_error};
pub use params::{DiscreteLiteral, DiscreteParameters};
pub use table::{MAX_MODULUS, MAX_VALUE, Table};
