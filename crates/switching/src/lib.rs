//! Encrypted numbers from CKKS to TFHE and back. Names no device.
mod error;
mod keys;
mod noise;
mod parameters;
mod ring;
mod server;

pub use error::{Error, Result};
pub use keys::SwitchingKeys;
pub use noise::SwitchingNoise;
pub use parameters::SwitchingParameters;
pub use server::{Switch, phase_of};
