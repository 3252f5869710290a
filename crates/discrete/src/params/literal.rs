//! The editable form of a set: plain fields, as a parameter file spells them.

use crate::{Error, Result};
use girih_rlwe::parameter_file;
use serde::{Deserialize, Serialize};

/// A set as anyone can write it down; nothing in it is checked until
/// [`DiscreteParameters::new`](crate::DiscreteParameters::new) takes it. Fields and their spelling
/// are those of a TOML parameter file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscreteLiteral {
    /// Name of the set: 1 to 64 letters, digits and `_`, `-`, `+`, `.`.
    pub name: String,
    /// One sentence for people. Left out: `a custom set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// log2 N: 4..=17. A ciphertext holds N numbers.
    pub log2_degree: i64,
    /// The scale of numbers: 2^20..=2^60, near the primes.
    pub scale: f64,
    /// Non-zero coefficients of the dense secret; left out, it is uniform ternary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_weight: Option<i64>,
    /// Main primes `q_0, q_1, ..`, one a level.
    pub main: Vec<i64>,
    /// Auxiliary primes.
    pub auxiliary: Vec<i64>,
    /// Main primes of each digit of a key switch, which sum to all; left out, as many as there are
    /// auxiliary primes, and fewer in the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Vec<i64>>,
    /// p: sums are read modulo it, or modulo a divisor. 2..=32.
    pub modulus: i64,
    /// Stages of each transform from slots to coefficients, a level each; they sum to log2 N - 1.
    pub to_coefficients: Vec<i64>,
    /// Stages of each transform from coefficients to slots, a level each.
    pub to_slots: Vec<i64>,
    /// r, squarings after the polynomial of the exponential.
    pub squarings: i64,
    /// The degree of that polynomial: 15 or 31.
    pub degree: i64,
    /// h, non-zero coefficients of the sparse secret: even.
    pub sparse_weight: i64,
    /// The largest square of a slot of the dense secret, in units of the mean.
    pub flatness: f64,
}

impl DiscreteLiteral {
    /// Reads the fields from TOML.
    ///
    /// # Errors
    /// [`Error::ParameterFile`] naming the line or field that is unknown, missing or of the wrong
    /// type.
    pub fn from_toml(text: &str) -> Result<Self> {
        parameter_file::read(text).map_err(Error::ParameterFile)
    }

    /// Writes the fields as TOML that [`DiscreteLiteral::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        parameter_file::write(self)
    }
}
