//! Exact bits and small integers in CKKS slots: a look-up on all of them by one bootstrapping.
//!
//! # Encrypt, look up, decrypt
//!
//! A ciphertext holds N numbers modulo p: 32,768 with the sets for use. Sums with integer weights
//! are free; a look-up replaces every number by any function of it, and what comes out has an error
//! that does not depend on how many look-ups came before.
//!
//! ```
//! use girih::discrete::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
//! # /*
//! let set = DiscreteParameters::by_name("DISCRETE_4")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let server = Device::open("cpu")?.load(&keys)?;
//!
//! // Digits of two bits, below 4, and their product modulo 4 by one look-up of 4 a + b.
//! let a = server.upload(&client.encrypt_batch(&[[3, 2, 1, 0]], 4)?)?;
//! let b = server.upload(&client.encrypt_batch(&[[2, 2, 3, 1]], 4)?)?;
//! let sum = server.sum(&[(4, &a), (1, &b)], 0)?;
//! let product = Table::new(16, |m| ((m >> 2) * (m & 3)) & 3)?;
//! let result = server.lookup(&sum, &[&product])?;
//! assert_eq!(client.decrypt(&server.download(&result[0])?)?, [2, 0, 3, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Bits
//!
//! A gate is a look-up of a + b; a full adder is one look-up with two tables.
//!
//! ```
//! use girih::discrete::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
//! # let client = ClientKey::generate(&set)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! # let server = Device::open("cpu")?.load(&keys)?;
//! let x = server.upload(&client.encrypt_bits(&[false, false, true, true])?)?;
//! let y = server.upload(&client.encrypt_bits(&[false, true, false, true])?)?;
//! let nand = server.gate(Gate::Nand, &x, &y)?;
//! let (sum, carry) = server.full_adder(&x, &y, &nand)?;
//! assert_eq!(client.decrypt_bits(&server.download(&sum)?)?, [true, false, false, false]);
//! assert_eq!(client.decrypt_bits(&server.download(&carry)?)?, [false, true, true, true]);
//! # Ok(())
//! # }
//! ```
//!
//! # Integers
//!
//! [`crate::integer`] has arrays of integers of 2 to 128 bits with Rust's wrapping arithmetic, over
//! TFHE and over numbers in slots, where a digit of two bits is a ciphertext. The prelude of this
//! scheme has them as those in slots.
//!
//! ```
//! use girih::discrete::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
//! # let client = ClientKey::generate(&set)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! let integers = Integers::new(Device::open("cpu")?.load(&keys)?)?;
//! let a = integers.upload(&FheUint::<8>::encrypt(&client, &[7u8, 200])?)?;
//! let b = integers.upload(&FheUint::<8>::encrypt(&client, &[9u8, 100])?)?;
//! let sum = (&a + &b)?;
//! assert_eq!(integers.download(&sum)?.decrypt(&client)?, [16, 44]);
//! # Ok(())
//! # }
//! ```
//!
//! # Failures
//!
//! Every look-up is counted before it runs. What would be wrong with a probability above 2^-128,
//! all numbers of a ciphertext together, is an [`Error::Failure`] that says which weights would do.

use crate::ckks::server_options;
use crate::device::{Device, LoadKeys, LoadOptions, Progress};

#[doc(inline)]
pub use girih_discrete::{
    ClientKey, DEFAULT_LIMIT, DiscreteLiteral, DiscreteParameters, EncryptedNumbers, Error,
    EvaluationKeys, Expected, Forecast, Gate, KeyId, LookupNoise, MAX_MODULUS, MAX_PHASES,
    MAX_VALUE, Phases, PublicKey, Result, SeededNumbers, ServerKey, Table, Wires, params,
};

/// An array of encrypted unsigned integers in slots.
pub type FheUint<const BITS: u32> = girih_integer::FheUint<BITS, ServerKey>;

/// An array of encrypted integers in two's complement in slots.
pub type FheInt<const BITS: u32> = girih_integer::FheInt<BITS, ServerKey>;

/// An array of encrypted truth values in slots.
pub type FheBool = girih_integer::FheBool<ServerKey>;

/// A server key of this scheme, for arrays of encrypted integers.
pub type Integers = girih_integer::Integers<ServerKey>;

/// What a program of this scheme alone needs: [`crate::prelude`], keys and gates by their short
/// names, and integers as those in slots.
pub mod prelude {
    pub use super::{ClientKey, EvaluationKeys, Gate, PublicKey, ServerKey};
    pub use super::{FheBool, FheInt, FheUint, Integers};
    pub use crate::prelude::*;
}

impl LoadKeys for EvaluationKeys {
    type Server = ServerKey;
    type Error = Error;

    /// Options are those of keys of CKKS.
    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<ServerKey> {
        ServerKey::load(device.backend(), self, &server_options(options)?, progress)
    }
}
