//! TFHE/FHEW on any device.

mod ciphertext;
mod error;
mod keys;
pub mod noise;
mod params;
mod server;
mod wire;

pub use ciphertext::LweCiphertexts;
pub use error::{Error, Result};
pub use keys::{ClientKey, EvaluationKeys, ExplicitKeys};
pub use noise::NoiseModel;
pub use params::{ErrorDistribution, Estimate, Mode, ParameterLiteral, ParameterSet, Security};
pub use server::{Batch, DeviceCiphertexts, Gate, LookUpTable, ServerKey};
