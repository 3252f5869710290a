//! The editable form of a parameter set: plain fields, as a parameter file spells them.

use super::EncapsulationLiteral;
use crate::{Error, Result};
use girih_rlwe::parameter_file;
use serde::{Deserialize, Serialize};

/// A parameter set as anyone can write it down; nothing in it is checked until
/// [`CkksParameters::new`](crate::CkksParameters::new) takes it.
///
/// Fields and their spelling are those of a TOML parameter file. Numbers are wide and signed, so
/// that a value out of range is refused by the rule it breaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterLiteral {
    /// Name of the set: 1 to 64 letters, digits and `_`, `-`, `+`, `.`.
    pub name: String,
    /// One sentence for people. Left out: `a custom set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// log2 N: 4..=17.
    pub log2_degree: i64,
    /// S_0, the canonical scale at level 0 (at the data level of an encapsulation): 2^20..=2^60.
    pub scale: f64,
    /// Non-zero coefficients of the dense secret, for tests and for sets with an encapsulation:
    /// left out, the secret is uniform ternary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_weight: Option<i64>,
    /// Terminal primes `t_0, t_1, ..`; there may be none.
    pub terminal: Vec<i64>,
    /// Main primes `q_0, q_1, ..`.
    pub main: Vec<i64>,
    /// Auxiliary primes `p_0, p_1, ..`.
    pub auxiliary: Vec<i64>,
    /// Positions of F in each digit of a key switch. Left out: as many as there are auxiliary
    /// primes, fewer in the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Vec<i64>>,
    /// `[main, terminal]` primes of each level, level 0 first.
    pub states: Vec<[i64; 2]>,
    /// What a bootstrapping needs; left out, the set has none and all its levels are normal ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrappingLiteral>,
    /// A sparse secret for programs of other crates, in sets without a bootstrapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<EncapsulationLiteral>,
}

/// The bootstrapping of a [`ParameterLiteral`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrappingLiteral {
    /// rho, the message ratio unless another is asked for: `Q_0` is about 2^rho times the largest
    /// coefficient of a message.
    pub message_ratio: i64,
    /// L_eff, the level that a bootstrapping ends at.
    pub normal_levels: i64,
    /// Levels, and transforms, from slots to coefficients.
    pub slots_to_coefficients: i64,
    /// Transforms from coefficients to slots, a level each, but none for a first one by keys.
    pub coefficients_to_slots: i64,
    /// log2 of the factor that the label takes after each transform to slots but the last; 0 where
    /// `coefficients_to_slots_shifts` lists them.
    pub coefficients_to_slots_shift: i64,
    /// log2 of the factor that the label takes after each transform to coefficients but the last.
    pub slots_to_coefficients_shift: i64,
    /// The scale just under the modular reduction.
    pub eval_mod_scale: f64,
    /// K, the integers that the modular reduction removes: 16.
    pub interval: i64,
    /// r, double angles after the cosine: 3.
    pub double_angles: i64,
    /// Non-zero coefficients of the sparse secret.
    pub sparse_weight: i64,
    /// Levels of a polynomial that corrects the sine: 2 (degree 3) or 3 (degree 5); left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arcsine_levels: Option<i64>,
    /// Whether slots go to coefficients before the modulus is raised, on the lowest levels; left
    /// out: at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_to_coefficients_first: Option<bool>,
    /// Butterfly stages of each transform to slots where all slots are in use; their sum is log2
    /// of N/2. Left out: equal shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coefficients_to_slots_stages: Option<Vec<i64>>,
    /// log2 of the factor that the label takes after each transform to slots but the last, if they
    /// differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coefficients_to_slots_shifts: Option<Vec<i64>>,
    /// Whether the first transform to slots is done by keys while the modulus is raised, at no
    /// level; left out: it takes one as the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_transform_by_keys: Option<bool>,
    /// Whether both sines of complex slots are one, in the conjugation-invariant ring: all primes
    /// are 1 modulo 4N then, a level above the modular reduction leads there, and one above the
    /// normal levels back. Only with slots-to-coefficients first and an arcsine; left out: two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant_sine: Option<bool>,
    /// Pairs of a number of diagonals and the baby steps that transforms of so many take, both
    /// ways; other numbers of diagonals, all if left out, take the steps of a fixed rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baby_steps: Option<Vec<[i64; 2]>>,
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
