//! TFHE/FHEW: parameters, keys, encryption, gates, look-up tables and their noise.
//!
//! This crate knows the scheme and no device. It says *what* to compute as lists of jobs in the
//! nouns of [`girih_backend`]; any [`Backend`](girih_backend::Backend) runs them. Secrets stay
//! here: what crosses to a device are [`EvaluationKeys`] and ciphertexts, both public.
//!
//! # One gate, end to end
//!
//! ```
//! use girih_backend::{LoadOptions, NoProgress};
//! use girih_tfhe::{ClientKey, EvaluationKeys, Gate, LookUpTable, ParameterSet, ServerKey};
//!
//! # fn main() -> girih_tfhe::Result<()> {
//! // A toy, to be quick. `ParameterSet::default()` is STD128.
//! let set = ParameterSet::by_name("INSECURE_TOY")?;
//!
//! // The owner of the data: keys and ciphertexts.
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let a = client.encrypt_bits(&[false, false, true, true])?;
//! let b = client.encrypt_bits(&[false, true, false, true])?;
//!
//! // Whoever computes: has no secret.
//! let device = girih_cpu::CpuBackend::new();
//! let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)?;
//! let c = server.gate(Gate::Xor, &a, &b)?;
//! assert_eq!(client.decrypt_bits(&c)?, [false, true, true, false]);
//!
//! // Messages of several bits go through any function by one bootstrapping. They fail more often
//! // than gates, which the server must be told is meant.
//! server.limit_failure(-64.0)?;
//! let x = client.encrypt_messages(&[0, 1, 2, 3], 2)?;
//! let squares = server.apply(&x, &LookUpTable::new(2, |x| x * x % 4)?)?;
//! assert_eq!(client.decrypt_messages(&squares, 2)?, [0, 1, 0, 1]);
//!
//! // Ciphertexts may stay on the device between gates.
//! let (a, b) = (server.upload(&a)?, server.upload(&b)?);
//! let nor = server.not(&server.gate(Gate::Or, &a, &b)?)?;
//! assert_eq!(client.decrypt_bits(&server.download(&nor)?)?, [true, false, false, false]);
//! # Ok(())
//! # }
//! ```
//!
//! # Parameters are data
//!
//! A [`ParameterSet`] is checked and cannot be wrong; a [`ParameterLiteral`] is what anyone writes
//! down, in code or in TOML, and becomes a set only through those checks. All published sets stand
//! in one table with what is known of their [`Security`] and where it is known from. Nothing else
//! in this crate, and no kernel, names a set.
//!
//! # Packing
//!
//! r messages may share one mask (common-mask packing). A batch of B messages is then B/r
//! ciphertexts, a gate acts on all r slots at once, and the r secrets are independent: slots under
//! one secret would give away the difference of their messages. Batches that are no multiple of r
//! are refused, not padded: who pads knows what with.
//!
//! # Keys are small until a device expands them
//!
//! Masks are uniform and public, so a key stores one 32-byte seed in their place and expands any
//! block on demand ([`KeySource`](girih_backend::KeySource)), from several threads, while the
//! device loads. What the seed expands to is part of the format and pinned by tests.
//!
//! # Results in few bytes
//!
//! With a compression key ([`EvaluationKeys::with_compression`]) a server sends many results with
//! one mask, rounded to what reading takes ([`ServerKey::compress`]): some bytes a message.
//!
//! # Bytes, and whose they are
//!
//! What is serialized ends with a checksum, which finds damage on the way and authenticates
//! nothing. Keys and ciphertexts carry the [`KeyId`] of their client key, in memory and in bytes:
//! ciphertexts of one client never go through another's keys unnoticed.
//!
//! # Noise
//!
//! [`NoiseModel`] holds exact variances, not bounds, so that a measurement can contradict it:
//! [`noise::measure()`] makes that measurement on any device. It gives the probability that a gate
//! or table fails for any combination of inputs.
//!
//! Ciphertexts carry the variance of their errors ([`LweCiphertexts::variance`]), on the host, on
//! devices and in bytes. A [`ServerKey`] refuses what would go wrong more often than a bound
//! ([`Error::TooNoisy`], [`ServerKey::limit_failure`]).
//!
//! # Invariants
//!
//! - No secret leaves this crate but by [`ClientKey::to_bytes`], and on loan by
//!   [`ClientKey::secret_coefficients`]; secrets are wiped when dropped and never printed.
//! - Everything that comes from outside is checked once, where it enters; after that, nothing here
//!   can fail for its sake.
//! - Randomness is the operating system's, unless a function has *seeded* in its name.
//! - No floating point touches a key or a ciphertext: f64 serves the sampler's table and the noise
//!   model alone.

mod ciphertext;
mod compression;
mod error;
mod keys;
pub mod large;
pub mod noise;
mod params;
mod server;
mod wire;

pub use ciphertext::{Decryption, LweCiphertexts, SeededCiphertexts};
pub use compression::CompressedResults;
pub use error::{Error, Result};
pub use girih_rlwe::{Counts, Mismatch};
pub use keys::{ClientKey, EvaluationKeys, ExplicitKeys, KeyId, PublicKey};
pub use noise::NoiseModel;
pub use params::{
    ErrorDistribution, Mode, ParameterLiteral, ParameterSet, Security, SecurityEstimate,
};
pub use server::{
    Batch, CentredTable, DeviceCiphertexts, Function, FunctionKind, Gate, LoadedTable, LookUpTable,
    SecondMessage, ServerKey,
};
