//! What is refused because it would fail too often.

use super::{Batch, ServerKey};
use crate::ciphertext::largest_variance;
use crate::noise::{check_log2_bound, log2_misread, refuse};
use crate::{NoiseModel, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// log2 of the failure probability that results are held to; threads that share a key share it.
pub(super) struct Bound(AtomicU64);

impl Bound {
    pub fn new(log2_failure: f64) -> Self {
        Self(AtomicU64::new(log2_failure.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

impl ServerKey {
    /// Refuses, from now on, whatever would read or give one message wrongly with a probability
    /// above `2^log2_failure`, by the noise model; 0 refuses nothing.
    ///
    /// Until it is set the bound is [`NoiseModel::default_bound`]: 2^-128 where the set's own gate
    /// (or look-up, on the native torus) reaches it, else 2^-64, else what that reaches.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an exponent above 0.
    pub fn limit_failure(&self, log2_failure: f64) -> Result<()> {
        check_log2_bound(log2_failure)?;
        self.bound.0.store(log2_failure.to_bits(), Ordering::Relaxed);
        Ok(())
    }

    /// The bound of [`ServerKey::limit_failure`], as log2.
    pub fn failure_limit(&self) -> f64 {
        self.bound.get()
    }

    /// The noise of this set on this device, with the error of the transform in use.
    pub fn noise_model(&self) -> NoiseModel {
        self.model
    }

    /// Refuses `what` if a rotation would read its inputs, of this variance, wrongly too often:
    /// `margin` is half of what stands for a message. Both are in units of the inputs' modulus.
    pub(super) fn check_input(&self, what: &str, margin: f64, variance: f64) -> Result<()> {
        refuse(what, self.model.log2_failure_input(margin, variance), self.bound.get())
    }

    /// Refuses `what` if its results, bootstrapped messages of which `messages` fill
    /// `2^log2_modulus`, would be read wrongly too often.
    pub(super) fn check_output(&self, what: &str, messages: f64, log2_modulus: u32) -> Result<()> {
        let variance = self.model.variance_out_at(log2_modulus);
        refuse(what, log2_misread(messages, log2_modulus, variance), self.bound.get())
    }

    /// An eighth of q: the margin of gates.
    pub(super) fn eighth_of_q(&self) -> f64 {
        2f64.powi(self.log2_q() as i32 - 3)
    }

    /// Variance of weighted sums of batches, the largest over the batch: a ciphertext that is the
    /// same in two batches counts with the sum of its weights. Batches that do not fit each other
    /// are for others to refuse.
    pub(super) fn variance_of_sum<B: Batch>(&self, inputs: &[&B], weights: &[i32]) -> f64 {
        let variances: Vec<f64> = inputs.iter().map(|i| i.variance()).collect();
        let weights: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let len = inputs.iter().map(|i| i.ciphertexts()).min().unwrap_or(0);
        let same = |i: usize, j: usize, c: usize| inputs[i].same(inputs[j], c);
        let log2_modulus = inputs.first().map_or(0, |i| i.log2_modulus());
        let of =
            |terms: &[(f64, f64)]| self.model.variance_of_sum(log2_modulus, terms.iter().copied());
        largest_variance(len, &variances, &weights, &same, &of)
    }

    /// Variance of a sum of different ciphertexts modulo q with these variances, each of weight 1
    /// or -1.
    pub(super) fn variance_together(&self, variances: &[f64]) -> f64 {
        self.model.variance_of_sum(self.log2_q(), variances.iter().map(|&v| (1.0, v)))
    }
}
