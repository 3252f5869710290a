//! What the noise model says of a set.

use super::{ErrorDistribution, ParameterSet};
use crate::{NoiseModel, Result};
use girih_backend::ShapeError;

/// A set whose gates fail more often than this computes nothing.
const LARGEST_LOG2_FAILURE: f64 = -5.0;

/// A set whose gates fail more often than this earns a warning:
/// 2^-30 is one wrong gate in a billion.
const NOTEWORTHY_LOG2_FAILURE: f64 = -30.0;

impl ParameterSet {
    /// The set, unless its gates fail too often to compute anything.
    pub(super) fn if_it_computes(self) -> Result<Self> {
        let failure = NoiseModel::new(&self).log2_failure();
        if failure > LARGEST_LOG2_FAILURE {
            let rule = format!(
                "with these digits and moduli a gate of {self} would fail with probability \
                 2^{failure:.1}; it must be below 2^{LARGEST_LOG2_FAILURE}"
            );
            let (field, value) = match self.errors() {
                ErrorDistribution::Gaussian { sigma } => ("sigma", sigma.to_string()),
                ErrorDistribution::TUniform { lwe_log2_bound, .. } => {
                    ("tuniform_lwe", lwe_log2_bound.to_string())
                }
            };
            return Err(ShapeError::new(field, value, rule).into());
        }
        Ok(self)
    }

    /// What a user must be told before relying on this set: weak or unknown security,
    /// frequent failures.
    pub fn warnings(&self) -> Vec<String> {
        let failure = NoiseModel::new(self).log2_failure();
        let fails = failure > NOTEWORTHY_LOG2_FAILURE;
        let failure =
            fails.then(|| format!("a gate of {self} fails with probability 2^{failure:.1}"));
        self.security().warning.into_iter().chain(failure).collect()
    }
}
