//! Integers over numbers in slots: [`FheUint`] and [`FheInt`] of 2 to 128 bits, [`FheBool`].
//!
//! ```
//! use girih_backend::NoProgress;
//! use girih_discrete::integer::{FheUint, Integers};
//! use girih_discrete::{ClientKey, DiscreteParameters, EvaluationKeys, ServerKey};
//!
//! # fn main() -> girih_discrete::Result<()> {
//! # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
//! # /*
//! let set = DiscreteParameters::by_name("DISCRETE_4")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let device = girih_cpu::CpuBackend::new();
//! let server = ServerKey::load(&device, &keys, &Default::default(), &NoProgress)?;
//! let integers = Integers::new(server)?;
//!
//! // Arrays: every operation is for all elements at once, 32,768 of them to a ciphertext.
//! let a = integers.upload(&FheUint::<8>::encrypt(&client, &[100u8, 7, 255])?)?;
//! let b = integers.upload(&FheUint::<8>::encrypt(&client, &[58u8, 8, 1])?)?;
//! let sum = (&a + &b)?;
//! let larger = a.greater(&b)?.select(&sum, 0u8)?;
//! assert_eq!(integers.download(&sum)?.decrypt(&client)?, [158, 15, 0]);
//! assert_eq!(integers.download(&larger)?.decrypt(&client)?, [158, 0, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Digits
//!
//! A number is digits of two bits, a ciphertext each, which holds that digit of as many elements as
//! the set has numbers. The unit of cost is a look-up of one ciphertext, which takes as long for
//! one element as for all. Two digits and a carry are at most 7: one look-up modulo 8 with two
//! tables gives digit and carry, so that an addition is as many look-ups as there are digits, one
//! after the other. Functions of two digits are look-ups modulo 16 of four times one plus the
//! other; those of a product have a table for each bit, and bits are counted fifteen at a time.
//!
//! # Errors
//!
//! An operation is recorded once for its width and for what is known of its operands: sums, and
//! look-ups of sums, each counted by the [`Forecast`](crate::Forecast) of the set before it is
//! recorded. Digits are *clean*, with the errors that sums modulo 8 leave, or they are at rest,
//! with those of a look-up modulo 16 on top; sums take either, other operations look up what is not
//! clean by itself before. Errors of both are such that any operation of such digits leaves no
//! larger ones, so that operations follow each other without end, within the failure bound.

mod costs;
mod host;
mod linear;
mod operations;
mod program;
mod recorder;
mod run;
mod server;
mod standard;
mod types;

pub use costs::{Cost, costs};
pub use host::Encrypted;
pub use server::Integers;
pub use types::{FheBool, FheInt, FheUint, Integer, Other};

#[cfg(test)]
mod tests;
