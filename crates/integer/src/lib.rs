//! Encrypted integers: [`FheUint`] and [`FheInt`] of 2 to 256 bits, [`FheBool`].
//!
//! Two engines compute on them, and [`Integers`] takes the server key of either: TFHE, a ciphertext
//! for each digit, and numbers in slots of CKKS, a ciphertext for a digit of 32,768 elements. Types
//! and methods are the same; a function over any [`Engine`] runs on both.
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
//! A number is digits of two bits. *Over TFHE* each is a message of four bits under one of padding:
//! TFHE-rs's sets, `TFHERS_2_2` and those that group its key, are made for that. The other two bits
//! are room for sums. Five digits fit a message, so sums of numbers are sums of digits, and carries
//! wait until something reads them ([`FheUint::propagate`], or any operation but a sum). Carries
//! are then found by look-ups of the states of four digits at once, in logarithmic depth, or one
//! after another, where one bootstrapping finds a digit and its carry. A condition stands at 0 or
//! 8, where two of them make 16, opposite to none. *In slots* carries go from digit to digit, which
//! costs as much for one element as for all.
//!
//! # Programs
//!
//! An operation is recorded once for its width and for what is known of its operands: sums, and
//! look-ups of sums. Each engine has recordings of its own, since what is cheap differs, and runs
//! what is recorded level by level. Over TFHE there are two of each, for few levels and for few
//! bootstrappings ([`Aim`]), and the number of elements decides. [`costs()`] and [`slot_costs()`]
//! say how much operations take.
//!
//! # Noise
//!
//! *Over TFHE* every look-up reads a sum whose norm (the square root of the sum of the squared
//! weights) is at most 5, or what
//! [`ServerKey::limit_failure`](girih_tfhe::ServerKey::limit_failure) admits; recording sees to it,
//! with another look-up where an operand has too much. Errors of operands are taken for one and the
//! same, since arrays may be made of each other. *In slots* every look-up is counted by the
//! [`Forecast`](girih_discrete::Forecast) of the set, such that operations follow each other
//! without end.

mod engine;
mod error;
mod host;
mod operation;
mod server;
mod slots;
mod tfhe;
mod types;

pub use engine::{EncryptionKey, Engine};
pub use error::{Error, Result};
pub use girih_rlwe::{Counts, Mismatch};
pub use host::Encrypted;
pub use operation::Count;
pub use server::Integers;
pub use slots::{SlotCost, slot_costs};
pub use tfhe::{Aim, CompressedIntegers, Cost, costs};
pub use types::{FheBool, FheInt, FheUint, I256, Integer, Other, U256};

/// Bits of a digit.
const DIGIT_BITS: u32 = 2;
