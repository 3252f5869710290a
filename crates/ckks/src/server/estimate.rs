//! What is known of the error of a ciphertext, carried from operation to operation.

use crate::noise::{BootstrappingNoise, DEVIATIONS, Noise, NoiseModel};
use crate::{CkksParameters, Result};

/// What is known of the error of a ciphertext's slots. All numbers are in units of slots.
///
/// Noise and what approximations are off by are kept apart, because independent noise adds up by
/// squares. A batch knows more than this sum: which sources its noise comes from, so that what two
/// operands have in common adds up by magnitude.
///
/// Deviations are those of full slots: a decryption of n slots averages N/2n of them. Where these
/// do not err independently, after a sum over slots for instance, the deviation is as much larger
/// as makes that average right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Standard deviation of the error of a slot's real part, and of its imaginary part.
    pub deviation: f64,
    /// What approximations may be off by beside that: the largest error, not a deviation.
    pub bias: f64,
    /// The largest magnitude of a slot that is counted with. A ciphertext cannot be looked at, so
    /// this is 1 for a fresh one unless its maker said otherwise.
    pub magnitude: f64,
}

impl Estimate {
    /// An error of `deviation`, in slots up to `magnitude`.
    pub fn new(deviation: f64, magnitude: f64) -> Self {
        Self { deviation, bias: 0.0, magnitude }
    }

    /// The largest error to expect in a component of a full slot: twelve deviations
    /// ([`DEVIATIONS`]) and the bias.
    pub fn largest_error(&self) -> f64 {
        DEVIATIONS * self.deviation + self.bias
    }

    /// What a ciphertext of `slots` slots on the host carries: the bias counts as a full range
    /// of them.
    pub(crate) fn to_noise(self, set: &CkksParameters, slots: usize) -> Noise {
        let share = (slots as f64 / set.slots() as f64).sqrt();
        Noise {
            deviation: self.deviation + self.bias / (DEVIATIONS * share),
            magnitude: self.magnitude,
        }
    }

    /// The larger of both in everything: for ciphertexts of one batch.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            deviation: self.deviation.max(other.deviation),
            bias: self.bias.max(other.bias),
            magnitude: self.magnitude.max(other.magnitude),
        }
    }
}

impl From<Noise> for Estimate {
    /// What a ciphertext of the host says of itself.
    fn from(noise: Noise) -> Self {
        Self::new(noise.deviation, noise.magnitude)
    }
}

/// The errors that single operations of a set add, as deviations in units of slots.
#[derive(Clone, Debug)]
pub(crate) struct Model(NoiseModel);

impl Model {
    pub fn new(set: &CkksParameters, joins_digits: bool) -> Self {
        Self(NoiseModel::new(set).with_joined_digits(joins_digits))
    }

    /// A rescale or level adjust that ends at `scale`.
    pub fn rounding(&self, scale: f64) -> f64 {
        self.0.deviation(self.0.rounding(), scale)
    }

    /// A key switch at `level` and `scale`, its division included.
    pub fn key_switch(&self, level: usize, scale: f64) -> f64 {
        self.0.deviation(self.0.key_switch(level), scale)
    }

    /// A key product that is not yet divided, at `level` and `scale`.
    pub fn key_product(&self, level: usize, scale: f64) -> f64 {
        self.0.deviation(self.0.key_product(level), scale)
    }

    /// The rounding of the coefficients of a vector of `slots` slots at `scale`, a plaintext: the
    /// deviation in its slots.
    pub fn encoding(&self, scale: f64, slots: usize) -> f64 {
        (slots as f64 / 12.0).sqrt() / scale
    }

    /// Whether this is the deviation of a ciphertext as it was encrypted, under the secret or the
    /// public key.
    pub fn is_fresh(&self, deviation: f64, scale: f64) -> bool {
        [self.0.fresh(), self.0.fresh_public()]
            .into_iter()
            .any(|variance| self.0.deviation(variance, scale) == deviation)
    }

    /// The sines of a half-bootstrapping.
    pub fn half_bootstrapping(&self) -> Result<f64> {
        self.0.half_bootstrapping()
    }

    /// A bootstrapping of `slots` slots with message ratio 2^rho.
    pub fn bootstrapping(&self, rho: u32, slots: usize) -> Result<BootstrappingNoise> {
        self.0.bootstrapping(rho, slots)
    }
}
