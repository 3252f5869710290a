//! How large errors are expected to be.
//!
//! An error polynomial whose coefficients have variance v gives each real component of a slot the
//! deviation `sqrt(N v / 2) / scale`: that deviation, in units of the slots, is what a ciphertext
//! carries. Estimates are of deviations, not bounds.
//!
//! # How far errors reach
//!
//! Most errors are roundings of the mask, which decryption multiplies by the secret. In a slot that
//! is the product of two numbers that both look Gaussian: over all slots errors have the tail of a
//! Laplace distribution, exp(-sqrt(2) k) beyond k deviations (kurtosis 5 to 6, measured and
//! computed), not that of a Gaussian. Six deviations are exceeded by one component in 5,000, twelve
//! by one in 20 million: precision is stated, and tests judge, by twelve.

mod bootstrapping;
#[cfg(test)]
mod tests;

pub use bootstrapping::{BootstrappingFailure, BootstrappingNoise, Reduction};

use crate::CkksParameters;
use crate::params::ERROR_DEVIATION;
use serde::{Deserialize, Serialize};

/// What is expected of a ciphertext's slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of the error of a slot's real and imaginary part, in units of the slots.
    pub deviation: f64,
    /// A magnitude that no slot exceeds.
    pub magnitude: f64,
}

impl Noise {
    /// No error at all, and slots of at most `magnitude`.
    pub fn exact(magnitude: f64) -> Self {
        Self { deviation: 0.0, magnitude }
    }

    /// Of a sum or a difference of ciphertexts with independent errors. Servers know which errors
    /// are not ([`Estimate`](crate::server::Estimate)).
    pub fn sum(self, other: Self) -> Self {
        Self {
            deviation: self.deviation.hypot(other.deviation),
            magnitude: self.magnitude + other.magnitude,
        }
    }

    /// Of the product of two ciphertexts with independent errors, before its own roundings: `m1 e2
    /// + m2 e1 + e1 e2`.
    pub fn product(self, other: Self) -> Self {
        let cross = self.magnitude * other.deviation;
        let other_cross = other.magnitude * self.deviation;
        let square = std::f64::consts::SQRT_2 * self.deviation * other.deviation;
        Self {
            deviation: cross.hypot(other_cross).hypot(square),
            magnitude: self.magnitude * other.magnitude,
        }
    }

    /// Of the square: `2 m e + e e`.
    pub fn square(self) -> Self {
        let square = std::f64::consts::SQRT_2 * self.deviation * self.deviation;
        Self {
            deviation: (2.0 * self.magnitude * self.deviation).hypot(square),
            magnitude: self.magnitude * self.magnitude,
        }
    }

    /// Of the product with an exact constant of this magnitude.
    pub fn times(self, factor: f64) -> Self {
        let factor = factor.abs();
        Self { deviation: self.deviation * factor, magnitude: self.magnitude * factor }
    }

    /// With an independent error of this deviation on top.
    pub fn plus(self, deviation: f64) -> Self {
        Self { deviation: self.deviation.hypot(deviation), ..self }
    }

    /// Bits after the binary point that can be trusted: the error of a component stays below
    /// 2^-bits except with a probability of 2^-24, by the model. Never negative: 0 bits promise
    /// nothing, and errors may then be larger than 1.
    pub fn precision_bits(self) -> f64 {
        (-(DEVIATIONS * self.deviation).log2()).max(0.0)
    }
}

/// An error exceeds so many deviations with a probability below 2^-24.
pub const DEVIATIONS: f64 = 12.0;

/// Variances and deviations of one set.
#[derive(Clone, Debug)]
pub struct NoiseModel {
    set: CkksParameters,
    joins_digits: bool,
}

impl NoiseModel {
    /// The model of `set`, with digits joined where servers do so unasked
    /// ([`CkksParameters::joins_digits`]).
    pub fn new(set: &CkksParameters) -> Self {
        Self { set: set.clone(), joins_digits: set.joins_digits() }
    }

    /// The same with digits joined, or not.
    #[must_use]
    pub fn with_joined_digits(self, joins_digits: bool) -> Self {
        Self { joins_digits, ..self }
    }

    fn degree(&self) -> f64 {
        self.set.degree() as f64
    }

    /// The deviation of a slot's component for errors of `variance` a coefficient at `scale`.
    pub fn deviation(&self, variance: f64, scale: f64) -> f64 {
        (0.5 * self.degree() * variance).sqrt() / scale
    }

    /// Variance of a fresh encryption under the secret key, its encoding included.
    pub fn fresh(&self) -> f64 {
        ERROR_DEVIATION * ERROR_DEVIATION + 1.0 / 12.0
    }

    /// Variance of a fresh encryption under the public key: `e v + e0 + e1 s` and the encoding.
    pub fn fresh_public(&self) -> f64 {
        let ephemeral = 2.0 * self.degree() / 3.0;
        let error = ERROR_DEVIATION * ERROR_DEVIATION;
        error * (ephemeral + 1.0 + self.set.secret_norm()) + 1.0 / 12.0
    }

    /// Variance of each division with rounding: a rescale, the end of a key switch, a level adjust.
    pub fn rounding(&self) -> f64 {
        (1.0 + self.set.secret_norm()) / 12.0
    }

    /// Variance of a key product at `level`, already divided by P: sum over the digits in use of
    /// `N (|D| D^2 / 12) 3.19^2 / P^2`, times n where n digits are joined, as the errors of their
    /// keys' rows add up.
    pub fn key_product(&self, level: usize) -> f64 {
        let chain = self.set.chain();
        let log2_p = chain.log2_product(chain.auxiliary());
        let digit = |rows: usize, part: Vec<usize>| {
            let len = (rows * part.len()) as f64;
            len / 12.0 * libm::exp2(2.0 * (chain.log2_product(part) - log2_p))
        };
        let sum: f64 = if self.joins_digits {
            let digits = self.set.joined_digits_at(level).into_iter();
            digits.map(|of| digit(of.digits.len(), of.positions)).sum()
        } else {
            chain.digits_at(level).into_iter().map(|(_, part)| digit(1, part.collect())).sum()
        };
        self.degree() * ERROR_DEVIATION * ERROR_DEVIATION * sum
    }

    /// Variance of a key switch at `level`: its key product, and the rounding of its division.
    pub fn key_switch(&self, level: usize) -> f64 {
        self.key_product(level) + self.rounding()
    }

    /// Of a product of ciphertexts at `level` whose scales multiply to `scale`:
    /// relinearised and rescaled.
    pub fn multiplied(&self, x: Noise, y: Noise, level: usize, scale: f64) -> Noise {
        let product = x.product(y).plus(self.deviation(self.key_switch(level), scale));
        self.rescaled(product, level, scale)
    }

    /// After a rescale from `level >= 1` at `scale`.
    pub fn rescaled(&self, noise: Noise, level: usize, scale: f64) -> Noise {
        let scale = scale / self.set.rescale_ratio(level);
        noise.plus(self.deviation(self.rounding(), scale))
    }

    /// After a rotation or conjugation at `level` and `scale`.
    pub fn rotated(&self, noise: Noise, level: usize, scale: f64) -> Noise {
        noise.plus(self.deviation(self.key_switch(level), scale))
    }

    /// Of a product with a vector of this magnitude, encoded at `plain_scale`; not rescaled.
    pub fn times_plain(&self, noise: Noise, magnitude: f64, plain_scale: f64) -> Noise {
        let rounding = self.deviation(1.0 / 12.0, plain_scale);
        noise.times(magnitude).plus(noise.magnitude * rounding)
    }

    /// After a level adjust to a lower level whose scale is `scale`: one rounding, and that of the
    /// constant, which is at least half the scale.
    pub fn adjusted(&self, noise: Noise, scale: f64) -> Noise {
        let constant = noise.magnitude / (scale * 3f64.sqrt());
        noise.plus(self.deviation(self.rounding(), scale)).plus(constant)
    }

    /// Deviation of what a decryption shows: of a vector of n < N/2 slots, each error is the mean
    /// of N/2n. The deviation of a ciphertext is such that this holds, also where those N/2n are
    /// not independent.
    pub fn decrypted(&self, noise: Noise, slots: usize) -> Noise {
        let share = (2.0 * slots as f64 / self.degree()).sqrt();
        Noise { deviation: noise.deviation * share, ..noise }
    }
}
