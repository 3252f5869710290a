//! Encrypted integers: [`FheUint`] and [`FheInt`] of 2 to 128 bits, [`FheBool`].
//!
//! ```
//! use girih_backend::{LoadOptions, NoProgress};
//! use girih_integer::{FheUint, Integers};
//! use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
//!
//! # fn main() -> girih_integer::Result<()> {
//! # let set = ParameterSet::by_name("INSECURE_INTEGERS")?;
//! # /*
//! let set = ParameterSet::by_name("TFHERS_2_2_GROUP_2")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let device = girih_cpu::CpuBackend::new();
//! let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)?;
//! let integers = Integers::new(server)?;
//!
//! // Arrays: every operation is for all elements at once.
//! let a = integers.upload(&FheUint::<16>::encrypt(&client, &[1000u16, 7, 65_535])?)?;
//! let b = integers.upload(&FheUint::<16>::encrypt(&client, &[58u16, 8, 1])?)?;
//! let sum = (&a + &b)?;
//! let larger = a.greater(&b)?.select(&sum, 0u16)?;
//! assert_eq!(integers.download(&sum)?.decrypt(&client)?, [1058, 15, 0]);
//! assert_eq!(integers.download(&larger)?.decrypt(&client)?, [1058, 0, 0]);
//! assert_eq!(integers.download(&a.rem(&b)?)?.decrypt(&client)?, [14, 7, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Digits
//!
//! A number is digits of two bits, each a message of four bits under one of padding: TFHE-rs's
//! sets, `TFHERS_2_2` and those that group its key, are made for that. The other two bits are room
//! for sums. Five digits fit a message, so sums of numbers are sums of digits, and carries wait
//! until something reads them ([`FheUint::propagate`], or any operation but a sum). What carries
//! do is then found by look-ups of the states of four digits at once, in logarithmic depth. A
//! condition stands at 0 or 8, where two of them make 16, opposite to none.
//!
//! # Programs
//!
//! An operation is recorded once for its width and for what is known of its operands: sums, and
//! look-ups of sums. What nobody reads is left out, equal look-ups are made once, look-ups whose
//! inputs are ready form a level. Running it is a list of jobs a level, over all elements of the
//! arrays and all digits. [`costs()`] says how many look-ups and levels operations have.
//!
//! # Noise
//!
//! Every look-up reads a sum whose norm (the square root of the sum of the squared weights) is at
//! most 5, or what [`ServerKey::limit_failure`](girih_tfhe::ServerKey::limit_failure) admits;
//! recording sees to it, with another look-up where an operand has too much. Errors of operands
//! are taken for one and the same, since arrays may be made of each other.

mod compressed;
mod costs;
mod error;
mod host;
mod operations;
mod program;
mod record;
mod run;
mod server;
mod sets;
mod types;

pub use compressed::CompressedIntegers;
pub use costs::{Cost, costs};
pub use error::{Error, Result};
pub use host::Encrypted;
pub use server::Integers;
pub use types::{FheBool, FheInt, FheUint, Integer, Other};

/// Bits of a message of the look-ups: two of a digit, two for carries.
const MESSAGE_BITS: u32 = 4;
/// Steps of messages around the circle, padding included.
const STATES: i32 = 2 << MESSAGE_BITS;

/// The same, as ciphertexts carry it.
const PLAINTEXT: u64 = STATES as u64;
/// Values of a digit.
const RADIX: i32 = 4;
/// What a condition that holds stands at.
const CONDITION: i32 = 8;

#[cfg(test)]
mod tests;
