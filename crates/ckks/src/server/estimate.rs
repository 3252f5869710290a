//! What is known of the error of a ciphertext, carried from operation to operation.

use crate::noise::{BootstrappingNoise, DEVIATIONS, Noise, NoiseModel};
use crate::{CkksParameters, Result};

/// What is known of the error of a ciphertext's slots. All numbers are in units of slots.
///
/// Noise and what approximations are off by are kept apart, because noise adds up by squares.
/// Deviations are those of full slots: a decryption of n slots averages N/2n of them.
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

    /// What a ciphertext of the host says of itself.
    pub(crate) fn of_noise(noise: Noise) -> Self {
        noise.into()
    }

    /// The sum of two ciphertexts with independent errors.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            deviation: self.deviation.hypot(other.deviation),
            bias: self.bias + other.bias,
            magnitude: self.magnitude + other.magnitude,
        }
    }

    /// With a further independent error of `deviation`.
    pub(crate) fn with_noise(self, deviation: f64) -> Self {
        Self { deviation: self.deviation.hypot(deviation), ..self }
    }

    /// With a further systematic error.
    pub(crate) fn with_bias(self, bias: f64) -> Self {
        Self { bias: self.bias + bias, ..self }
    }

    /// Times a number of this magnitude in every slot.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            deviation: self.deviation * factor,
            bias: self.bias * factor,
            magnitude: self.magnitude * factor,
        }
    }

    /// Through a function whose slope is at most `slope` and whose values are at most `magnitude`.
    pub(crate) fn through(self, slope: f64, magnitude: f64) -> Self {
        Self { deviation: self.deviation * slope, bias: self.bias * slope, magnitude }
    }

    /// The product of two ciphertexts with independent errors: m1 e2 + m2 e1.
    pub(crate) fn product(self, other: Self) -> Self {
        Self {
            deviation: (self.magnitude * other.deviation).hypot(other.magnitude * self.deviation),
            bias: self.magnitude * other.bias + other.magnitude * self.bias,
            magnitude: self.magnitude * other.magnitude,
        }
    }

    /// The square: both errors are one.
    pub(crate) fn square(self) -> Self {
        let m = self.magnitude;
        Self { deviation: 2.0 * m * self.deviation, bias: 2.0 * m * self.bias, magnitude: m * m }
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

    /// The rounding of a plaintext's coefficients at `scale`: the deviation in its slots.
    pub fn encoding(&self, scale: f64) -> f64 {
        self.0.deviation(1.0 / 12.0, scale)
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
