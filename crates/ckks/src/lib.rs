//! CKKS on vectors of real and complex numbers: approximate arithmetic, with parameters, keys and
//! ciphertexts. Names no device.
//!
//! | module | what |
//! |---|---|
//! | [`params`] | parameter sets as checked data: primes, levels, scales, digits, security |
//! | [`encoder`] | vectors to integer polynomials and back |
//! | [`approximation`] | functions as polynomials, each with its measured error |
//! | [`keys`] | client key, public key, switching keys; encryption and decryption |
//! | [`noise`] | how large errors are expected to be |
//! | [`program`] | what is computed on ciphertexts, recorded as programs of polynomial operations |
//! | [`server`] | keys on a device, and what users compute there: from sums to bootstrapping |
//!
//! ```
//! use girih_ckks::{Ciphertext, CkksParameters, ClientKey, EvaluationKeys, KeyKind};
//! # fn main() -> girih_ckks::Result<()> {
//! // A toy: `CkksParameters::default()` is a set for real data.
//! let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
//! let client = ClientKey::generate(&set)?;
//!
//! // What a server needs to multiply, and to rotate slots by one.
//! let kinds = [Some(KeyKind::Multiplication), KeyKind::rotation(&set, 1)];
//! let keys =
//!     EvaluationKeys::generate(&client, kinds.into_iter().flatten(), &girih_backend::NoProgress)?;
//! let sent = keys.to_bytes()?;
//!
//! // Real or complex numbers, a power of two of them. Ciphertexts say what none exceeds: 1 unless
//! // something else is declared.
//! let ciphertext = client.within(4.0).encrypt(&[0.25, -1.5, 3.0, 0.0])?;
//! let received = Ciphertext::from_bytes_for(&set, &ciphertext.to_bytes()?)?;
//! let result = client.decrypt_with_precision(&received)?;
//! assert!((result.values[2].re - 3.0).abs() < 2f64.powf(-result.precision_bits));
//! # let _ = sent;
//! # Ok(())
//! # }
//! ```
//!
//! # Approximate results leak
//!
//! The error of a decryption, shown beside the ciphertext, tells about the secret key (Li and
//! Micciancio 2021). What [`ClientKey::decrypt`] returns is for the key's owner alone; results for
//! others come from [`ClientKey::decrypt_to_share`].

pub mod approximation;
mod ciphertext;
pub mod encoder;
mod error;
mod host;
pub mod keys;
pub mod noise;
pub mod params;
pub mod program;
#[cfg(test)]
mod published;
pub mod server;
mod wire;

pub use ciphertext::{Ciphertext, CiphertextHeader, SeededCiphertext};
pub use encoder::{Encoder, Plaintext};
pub use error::{Error, Result};
pub use girih_rlwe::KeyId;
pub use keys::{
    ClientKey, ClientSecrets, Decryption, EvaluationKeys, KeyKind, KeyRange, PublicKey,
    StreamedKeys, inner_sum_rotations,
};
pub use noise::{Noise, NoiseModel};
pub use num_complex::Complex64;
pub use params::{CkksParameters, ModulusChain, ParameterLiteral};
