//! TFHE/FHEW on any device.

mod ciphertext;
mod error;
mod keys;
mod params;
mod wire;

pub use ciphertext::LweCiphertexts;
pub use error::{Error, Result};
pub use keys::{ClientKey, EvaluationKeys, ExplicitKeys};
pub use params::{ErrorDistribution, Estimate, Mode, ParameterLiteral, ParameterSet, Security};
