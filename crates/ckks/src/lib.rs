//! CKKS on vectors of real and complex numbers: approximate arithmetic, with parameters, keys and
//! ciphertexts. Names no device.
//!
//! | module | what |
//! |---|---|
//! | [`params`] | parameter sets as checked data: primes, levels, scales, digits, security |
//! | [`encoder`] | vectors to integer polynomials and back |
//! | [`program`] | what operations are, recorded as programs of the poly family |

pub mod encoder;
mod error;
pub mod params;
pub mod program;

pub use encoder::{Encoder, Plaintext};
pub use error::{Error, Result};
pub use num_complex::Complex64;
pub use params::{CkksParameters, ModulusChain, ParameterLiteral};
