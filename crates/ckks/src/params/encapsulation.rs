//! A sparse secret under which moduli are raised, in sets whose bootstrapping is not this crate's.

use super::ModulusChain;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The encapsulation of a [`ParameterLiteral`](super::ParameterLiteral): a sparse secret and the
/// two keys between it and the dense one (Bossuat et al. 2022), for programs of other crates that
/// raise the modulus themselves. Such a set has no levels of a bootstrapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncapsulationLiteral {
    /// Non-zero coefficients of the sparse secret.
    pub sparse_weight: i64,
    /// Auxiliary primes of the key to the sparse secret, beside those of level 0.
    pub auxiliary: i64,
    /// The level at which numbers are encrypted, which has the scale of the set. Levels below it
    /// have no canonical scale.
    pub data_level: i64,
    /// The largest square of a slot of the dense secret s, in units of |s|^2, its mean: secrets
    /// with a larger one are drawn again. Errors of slots are proportional to it.
    pub flatness: f64,
}

/// The checked encapsulation of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Encapsulation {
    pub(super) sparse_weight: usize,
    pub(super) auxiliary: usize,
    pub(super) data_level: usize,
    pub(super) flatness: f64,
}

impl Encapsulation {
    /// Checks the fields; security is another question.
    pub(super) fn checked(literal: &EncapsulationLiteral, chain: &ModulusChain) -> Result<Self> {
        let within = |field, value: i64, low: usize, high: usize| {
            let range = low as i64..=high as i64;
            let rule = format!("must be in {low}..={high}");
            match range.contains(&value) {
                true => Ok(value as usize),
                false => Err(Error::parameter(field, value, rule)),
            }
        };
        let flatness = literal.flatness;
        if !(2.0..=1e6).contains(&flatness) {
            let rule = "must be in 2..=1000000: few secrets are flatter than 8";
            return Err(Error::parameter("flatness", flatness, rule));
        }
        Ok(Self {
            sparse_weight: within("sparse_weight", literal.sparse_weight, 1, chain.degree())?,
            auxiliary: within("auxiliary", literal.auxiliary, 1, chain.auxiliary_len())?,
            data_level: within("data_level", literal.data_level, 0, chain.top_level())?,
            flatness,
        })
    }

    pub(super) fn literal(&self) -> EncapsulationLiteral {
        EncapsulationLiteral {
            sparse_weight: self.sparse_weight as i64,
            auxiliary: self.auxiliary as i64,
            data_level: self.data_level as i64,
            flatness: self.flatness,
        }
    }

    /// Non-zero coefficients of the sparse secret.
    pub fn sparse_weight(&self) -> usize {
        self.sparse_weight
    }

    /// Auxiliary primes of the key to the sparse secret.
    pub fn auxiliary(&self) -> usize {
        self.auxiliary
    }

    /// The level at which numbers are encrypted.
    pub fn data_level(&self) -> usize {
        self.data_level
    }

    /// The largest square of a slot of the dense secret, in units of its mean.
    pub fn flatness(&self) -> f64 {
        self.flatness
    }
}
