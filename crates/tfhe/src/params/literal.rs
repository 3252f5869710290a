//! The editable form of a parameter set: plain fields, as a parameter file spells them.

use crate::{Error, Result};
use girih_backend::{SecretKind, ShapeError};
use girih_rlwe::parameter_file;
use serde::{Deserialize, Serialize};

/// How the external product controls its noise, as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Gadget decomposition.
    #[serde(rename = "GD")]
    Gd,
    /// Modulus raising.
    #[serde(rename = "MR")]
    Mr,
    /// The native torus: modulus 2^64, closest-representative digits, key switch first.
    #[serde(rename = "TORUS")]
    Torus,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gd => "GD",
            Self::Mr => "MR",
            Self::Torus => "TORUS",
        })
    }
}

/// A parameter set as anyone can write it down; nothing in it is checked until
/// [`ParameterSet::new`](crate::ParameterSet::new) takes it.
///
/// Fields and their spelling are those of a TOML parameter file. Numbers are wide and signed, so
/// that a value out of range is refused by the rule it breaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterLiteral {
    /// Name of the set.
    pub name: String,
    /// `GD`, `MR` or `TORUS`.
    pub mode: Mode,
    /// Distribution of the LWE secret, and of the ring's unless `ring_secret` says otherwise.
    pub secret: SecretKind,
    /// Distribution of the GLWE secret, where it is another one. Left out: that of `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_secret: Option<SecretKind>,
    /// n, length of an LWE mask: 1..=8192.
    pub n: i64,
    /// q, modulus of LWE ciphertexts: a power of two that divides 2N. TORUS: 2N, to which a
    /// switched ciphertext is rounded.
    pub q: i64,
    /// N, coefficients of a polynomial: a power of two in 256..=8192.
    #[serde(rename = "N")]
    pub polynomial_size: i64,
    /// k, mask polynomials of a GLWE ciphertext: 1..=4.
    pub k: i64,
    /// r, bodies that share one mask: 1..=16.
    pub r: i64,
    /// g, LWE indices that one step of the blind rotation takes together, 1..=4; it divides n and
    /// takes binary secrets. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grouping: Option<i64>,
    /// log2 of the accumulator modulus Q. GD: Q is the largest prime of that size (two words above
    /// 31 bits); MR: Q = 2^log2_Q; TORUS: 64.
    #[serde(rename = "log2_Q")]
    pub log2_accumulator_modulus: i64,
    /// MR: log2 of the key modulus T, the library's pair of primes just above.
    #[serde(rename = "log2_T", default, skip_serializing_if = "Option::is_none")]
    pub log2_key_modulus: Option<i64>,
    /// GD and TORUS: base of the gadget digits, a power of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_g: Option<i64>,
    /// GD: lowest digits left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<i64>,
    /// GD, in the place of `dropped`: lowest bits left out,
    /// where these are no whole number of digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_bits: Option<i64>,
    /// TORUS: gadget digits in use, from the most significant on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<i64>,
    /// Q_ks, modulus of the key-switching key: a power of two from q to 2^40. TORUS: the leading
    /// bits of a word that its digits represent, as a power of two: a power of `base_ks`.
    pub q_ks: i64,
    /// B_ks, base of the key-switching digits: a power of two from 2 to 4096.
    pub base_ks: i64,
    /// GD and MR: standard deviation of every error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// TORUS: errors of LWE ciphertexts are uniform on `[-2^b, 2^b]`, half weight at both ends;
    /// this is b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuniform_lwe: Option<i64>,
    /// TORUS: b of GLWE ciphertexts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuniform_glwe: Option<i64>,
    /// The primes themselves, ascending, where they are not the library's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Vec<i64>>,
}

impl ParameterLiteral {
    /// Reads the fields from TOML.
    ///
    /// # Errors
    /// [`Error::ParameterFile`] naming the line or field that is unknown,
    /// missing or of the wrong type.
    pub fn from_toml(text: &str) -> Result<Self> {
        parameter_file::read(text).map_err(Error::ParameterFile)
    }

    /// Writes the fields as TOML that [`ParameterLiteral::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        parameter_file::write(self)
    }
}

/// A checked unsigned field.
pub(super) fn unsigned(field: &'static str, value: i64, low: u64, high: u64) -> Result<usize> {
    match u64::try_from(value) {
        Ok(v) if (low..=high).contains(&v) => Ok(v as usize),
        _ => Err(ShapeError::new(field, value, format!("must be in {low}..={high}")).into()),
    }
}

/// log2 of a field that must be a power of two; `rule` says which.
pub(super) fn log2(field: &'static str, value: i64, rule: impl Fn() -> String) -> Result<u32> {
    match u64::try_from(value) {
        Ok(v) if v.is_power_of_two() => Ok(v.trailing_zeros()),
        _ => Err(ShapeError::new(field, value, rule()).into()),
    }
}
