//! The bound on failures: what a set is held to, and how what is above it is refused.

use super::{NoiseModel, log2_beyond};
use crate::{Error, Result, error};
use girih_rlwe::Mismatch;

/// What sets are held to where they reach it, the first of these that they do, as log2.
const WANTED: [f64; 2] = [-128.0, -64.0];

/// A look-up of the native torus that fails more often than this is not what a set is made for.
const LARGEST_LOOK_UP: f64 = -30.0;

/// Sums of variances differ in their last bits with the order of their terms.
const SLACK: f64 = 1e-6;

impl NoiseModel {
    /// log2 of the probability that what a set is made for fails: a two-input gate, on bootstrapped
    /// bits or on fresh ones where these have larger errors; on the native torus a look-up of four
    /// bits in a sum of norm 5, where that is of use.
    pub fn log2_failure_own(&self) -> f64 {
        if self.looks_up_four_bits() {
            return self.log2_failure_table(4, &[5]);
        }
        let (log2_q, bit) = (self.log2_lwe_modulus, (1.0, self.variance_of_bits()));
        let both = self.variance_of_sum(log2_q, [bit; 2]);
        self.log2_failure_input(2f64.powi(log2_q as i32 - 3), both)
    }

    /// Whether the set is made for look-ups of four bits: on the native torus, where they are of
    /// use in a sum of norm 5.
    pub fn looks_up_four_bits(&self) -> bool {
        self.switches_first.is_some() && self.log2_failure_table(4, &[5]) <= LARGEST_LOOK_UP
    }

    /// Variance of what gates read, in units of q: of bootstrapped bits, or of fresh ones where
    /// these have larger errors, as with toys.
    pub fn variance_of_bits(&self) -> f64 {
        self.variance_out_at(self.log2_lwe_modulus).max(self.fresh)
    }

    /// log2 of the failure probability that results are held to unless
    /// [`ServerKey::limit_failure`](crate::ServerKey::limit_failure) says otherwise: 2^-128 where
    /// [`NoiseModel::log2_failure_own`] reaches it, else 2^-64, else that figure itself.
    pub fn default_bound(&self) -> f64 {
        let own = self.log2_failure_own();
        WANTED.into_iter().find(|&wanted| own <= wanted).unwrap_or(own)
    }
}

/// Refuses `what` if it fails with a probability above `2^log2_bound`.
pub(crate) fn refuse(what: &str, log2_failure: f64, log2_bound: f64) -> Result<()> {
    if log2_failure <= log2_bound + SLACK {
        return Ok(());
    }
    Err(Error::TooNoisy { what: what.to_owned(), log2_failure, log2_bound })
}

/// Refuses what is no bound.
pub(crate) fn check_log2_bound(log2_bound: f64) -> Result<()> {
    if log2_bound.is_nan() || log2_bound > 0.0 {
        let what = "log2 of the largest failure probability";
        return error::mismatch(Mismatch::real(
            what,
            log2_bound,
            "it must be 0 (no bound) or less",
        ));
    }
    Ok(())
}

/// log2 of the probability that a message is read as another one of `messages` that fill
/// `2^log2_modulus`, with an error of this variance.
pub(crate) fn log2_misread(messages: f64, log2_modulus: u32, variance: f64) -> f64 {
    log2_beyond(2f64.powi(log2_modulus as i32 - 1) / messages, variance.sqrt())
}
