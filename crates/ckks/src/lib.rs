//! CKKS on vectors of real and complex numbers: approximate arithmetic, with parameters, keys and
//! ciphertexts. Names no device.
//!
//! | module | what |
//! |---|---|
//! | [`params`] | parameter sets as checked data: primes, levels, scales, digits, security |
//! | [`approximation`] | functions as polynomials, each with its error |
//! | [`encoder`] | vectors to integer polynomials and back |
//! | [`program`] | what is computed on ciphertexts, recorded as programs of polynomial operations |

pub mod approximation;
pub mod encoder;
mod error;
pub mod params;
pub mod program;

pub use encoder::{Encoder, Plaintext};
pub use error::{Error, Result};
pub use num_complex::Complex64;
pub use params::{CkksParameters, ModulusChain, ParameterLiteral};
