//! What every scheme on (ring) learning with errors shares, generic over its parameter sets.
//!
//! | module | what |
//! |---|---|
//! | [`ParameterSet`], [`SetId`] | what a scheme's set shows of itself, and its name |
//! | [`KeyId`] | the public name of a secret key |
//! | [`Mismatch`] | what does not fit, for the errors of all crates |
//! | [`Secret`] | small secret coefficients, wiped when dropped |
//! | [`Entropy`] | where randomness comes from, and which stream serves what |
//! | [`wire`] | the serialized form of keys and ciphertexts |
//! | [`security`] | the cost of the primal attack, and what was estimated of others |
//!
//! A scheme implements [`ParameterSet`] for its sets, and takes all of its randomness from
//! [`Entropy`]:
//!
//! ```
//! # use girih_rlwe::*;
//! # #[derive(Clone, PartialEq)] struct Toy(u8);
//! # impl std::fmt::Display for Toy {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "TOY") }
//! # }
//! # impl ParameterSet for Toy {
//! #     const SCHEME: Scheme = Scheme::Tfhe;
//! #     const KINDS: &'static [wire::Kind] = &[];
//! #     fn to_canonical(&self) -> Vec<u8> { vec![self.0] }
//! #     fn from_canonical(bytes: &[u8]) -> std::result::Result<Self, String> { Ok(Toy(bytes[0])) }
//! # }
//! # fn main() -> Result<()> {
//! # let set = Toy(0);
//! let entropy = Entropy::system(SetId::of(&set));
//!
//! // A secret key: its coefficients and its name.
//! let root = entropy.key_seed()?;
//! let mut stream = root.secrets().stream(0, 0);
//! let secret = Secret::sample(SecretDistribution::Ternary, 1024, &mut stream);
//! let name = root.name();
//!
//! // Anything made under it: masks that a published seed stands for, errors that nobody knows.
//! let fresh = entropy.fresh("a switching key", &[&7u64.to_le_bytes()])?;
//! let mask = fresh.masks.streams(&SetId::of(&set)).stream(0, 0).uniform_below(12289);
//! let bits = fresh.errors.stream(0, 0).next_u64();
//! # let _ = (secret, name, mask, bits);
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//!
//! - Nothing secret is printed, and everything secret is wiped when dropped.
//! - Mask seeds, secrets, errors and names come from streams of separate domains, all of them
//!   bound to the parameter set: no published value is the seed of anything secret.
//! - What comes from outside is bounded before memory is asked for and checked before it is used.

mod digest;
mod entropy;
mod error;
mod id;
mod kind;
mod mismatch;
mod names;
pub mod parameter_file;
mod secret;
pub mod security;
mod set;
pub mod wire;

pub use entropy::{Entropy, Fresh, KeySeed, MaskSeed, MaskStreams, SecretStreams};
pub use error::{Error, Result};
pub use id::KeyId;
pub use mismatch::{Counts, Mismatch};
pub use names::nearest;
pub use secret::{Secret, SecretDistribution};
pub use set::{ParameterSet, Scheme, SetId};
