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

/// log2 of the secrets that are drawn for one that is flat, at most: a key maker draws
/// [`MOST_DRAWS`](crate::keys) of them.
const MOST_LOG2_DRAWS: f64 = 7.0;

/// log2 of how many secrets are drawn, in the mean, until the largest of the squares of N/2 slots
/// is at most `flatness` times the mean: such squares are distributed as independent exponential
/// variables are.
fn log2_draws(flatness: f64, degree: usize) -> f64 {
    -(degree as f64 / 2.0) * libm::log1p(-libm::exp(-flatness)) * std::f64::consts::LOG2_E
}

/// The checked encapsulation of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Encapsulation {
    pub(super) sparse_weight: usize,
    pub(super) auxiliary: usize,
    pub(super) data_level: usize,
    pub(super) flatness: f64,
    pub(super) log2_draws: f64,
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
        let log2_draws = log2_draws(flatness, chain.degree());
        if log2_draws > MOST_LOG2_DRAWS {
            let rule = format!(
                "one secret of 2^{log2_draws:.1} would be as flat, and one of 2^{MOST_LOG2_DRAWS} \
                 is to be: take a larger flatness"
            );
            return Err(Error::parameter("flatness", flatness, rule));
        }
        Ok(Self {
            sparse_weight: within("sparse_weight", literal.sparse_weight, 1, chain.degree())?,
            auxiliary: within("auxiliary", literal.auxiliary, 1, chain.auxiliary_len())?,
            data_level: within("data_level", literal.data_level, 0, chain.top_level())?,
            flatness,
            log2_draws,
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

    /// log2 of how many dense secrets are drawn for one that is flat. Whoever can find one of
    /// 2^x secrets of a distribution with some probability finds a flat one, of which there are
    /// fewer by this factor, with at most so many times that probability:
    /// [`CkksParameters::security`](crate::CkksParameters::security) takes these bits off.
    pub fn log2_draws(&self) -> f64 {
        self.log2_draws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_counted() {
        // (N/2) e^-9.2 = 1.655 of N = 2^15: e^-1.655 of all secrets.
        assert!((log2_draws(9.2, 1 << 15) - 2.388).abs() < 0.001);
        assert!((log2_draws(8.2, 1 << 15) - 6.493).abs() < 0.002);
        assert!(log2_draws(20.0, 1 << 15) < 1e-4 && log2_draws(9.2, 1 << 10) < 0.08);
    }
}
