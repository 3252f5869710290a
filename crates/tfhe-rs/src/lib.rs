//! Programs and clients of [TFHE-rs] on girih: a client keeps its keys and ciphertexts, a server
//! computes with girih on any device, and the client decrypts what comes back.
//!
//! ```no_run
//! use tfhe::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The client, which knows nothing of girih.
//! let client = tfhe::ClientKey::generate(tfhe::ConfigBuilder::default());
//! let keys = tfhe::CompressedServerKey::new(&client);
//! let a: Vec<_> = [3u8, 200].map(|x| tfhe::FheUint8::encrypt(x, &client)).into();
//! let b: Vec<_> = [4u8, 100].map(|x| tfhe::FheUint8::encrypt(x, &client)).into();
//!
//! // The server.
//! let device = girih_cpu::CpuBackend::new();
//! let server = girih_tfhe_rs::ServerKey::load(&device, &keys)?;
//! let (a, b) = (server.upload(a)?, server.upload(b)?);
//! let sums: Vec<tfhe::FheUint8> = server.download(&a.add(&b)?)?;
//!
//! // The client again.
//! let sums: Vec<u8> = sums.iter().map(|x| x.decrypt(&client)).collect();
//! assert_eq!(sums, [7, 44]);
//! # Ok(())
//! # }
//! ```
//!
//! [`ServerKey::load`] takes a compressed server key over; [`ServerKey::upload`] makes
//! [`girih_integer`]'s arrays of ciphertexts and [`ServerKey::download`] ciphertexts of arrays.
//! What operations mean where TFHE-rs and girih differ, and what is not taken over, says the
//! chapter "Coming from TFHE-rs" of girih's book.
//!
//! [TFHE-rs]: https://docs.zama.org/tfhe-rs

pub mod bytes;
mod convert;
mod error;
mod host_keys;
mod keys;
mod lists;
mod parameters;
mod server;
mod shifts;

pub use convert::{Compressed, Foreign, Ours};
pub use error::{Error, Result};
pub use host_keys::HostKeys;
pub use keys::{IntoKeys, Keys};
pub use lists::List;
pub use server::ServerKey;
pub use shifts::ShiftsOut;
