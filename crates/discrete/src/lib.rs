//! Exact bits and small integers in CKKS slots: a look-up on all of them by one bootstrapping.
//! Names no device.
//!
//! A ciphertext of [`Wires`] holds N numbers modulo p. Sums and integer multiples are free; a
//! look-up replaces every number m by f(m) for any table f, and removes the errors: what comes out
//! does not depend on how many look-ups came before.
//!
//! | module | what |
//! |---|---|
//! | [`params`] | parameter sets: a set of CKKS, the modulus of numbers, the levels of a look-up |
//! | [`Table`] | functions of numbers, as polynomials of exp(2 pi i m/p) |
//! | [`program`] | a look-up as recorded operations on polynomials |
//! | [`LookupNoise`] | how large errors are |
//! | `failure`, [`Forecast`] | how likely a look-up is wrong |
//! | `keys`, `numbers` | keys of one user, and encrypted numbers |
//! | [`ServerKey`] | keys on a device: sums, look-ups, gates |

mod error;
mod exponential;
mod failure;
mod forecast;
mod keys;
mod noise;
mod numbers;
pub mod params;
pub mod program;
mod seeded;
mod server;
mod table;
mod wire;

pub use error::{Error, Result};
pub use exponential::{exponential, series_error};
pub use forecast::{Expected, Forecast};
pub use girih_rlwe::{Counts, KeyId, Mismatch};
pub use keys::{ClientKey, EvaluationKeys, PublicKey};
pub use noise::LookupNoise;
pub use numbers::EncryptedNumbers;
pub use params::{DiscreteLiteral, DiscreteParameters};
pub use seeded::SeededNumbers;
pub use server::{DEFAULT_LIMIT, Gate, MAX_PHASES, Phases, ServerKey, TakePlan, Wires};
pub use table::{MAX_MODULUS, MAX_VALUE, Table, levels as table_levels};
