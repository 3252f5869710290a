//! Encrypted numbers from CKKS to TFHE and back: what CKKS approximates, TFHE decides. Names no
//! device.
//!
//! CKKS adds and multiplies vectors, but a sign is a polynomial of high degree there, and wrong
//! near zero. TFHE takes single numbers through any table. A [`Switch`] takes the slots of a CKKS
//! ciphertext to TFHE ciphertexts, one a slot, and results back into slots; a [`Comparator`] gives
//! signs, comparisons, the largest slot and look-ups on top of that, each with its error.
//!
//! | module | what |
//! |---|---|
//! | `parameters` | a CKKS set and a TFHE set, the sizes of keys between them, security |
//! | `keys` | keys from the dense secret of CKKS to that of TFHE ciphertexts, and back |
//! | `server` | [`Switch`]: both ways |
//! | `compare` | [`Comparator`]: signs, comparisons, argmax, look-ups by large precision |
//! | `lookup` | look-ups by one bootstrapping of any TFHE set |
//! | `wires` | [`WireSwitch`]: numbers in slots from TFHE and from vectors, and back |
//! | `noise` | what switching adds to errors |
//!
//! How it works, and what it costs, is in `docs/switching.md`.
//!
//! # Whose secrets
//!
//! [`SwitchingKeys`] are made by who has both client keys, and are public. They, ciphertexts and
//! servers carry the names of both ([`KeyId`](girih_rlwe::KeyId)); what belongs to others is
//! refused. The one further secret, of the ring in which results are packed, is drawn for the keys
//! and wiped.

mod between;
mod compare;
mod error;
mod keys;
mod lookup;
mod noise;
mod parameters;
mod resolution;
mod ring;
mod server;
mod wires;

pub use compare::{Comparator, Compared};
pub use error::{Error, Result};
pub use girih_rlwe::{Counts, Mismatch};
pub use keys::SwitchingKeys;
pub use noise::SwitchingNoise;
pub use parameters::SwitchingParameters;
pub use resolution::Resolution;
pub use server::{Switch, phase_of};
pub use wires::WireSwitch;
