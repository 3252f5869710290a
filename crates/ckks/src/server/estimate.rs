//! What is known of the error of a ciphertext, carried from operation to operation.
//!
//! The model is that of the noise page: an error polynomial whose coefficients have variance v
//! gives each component of a slot the deviation sqrt(n v) / scale, n the slots in use.

use crate::CkksParameters;
use crate::params::ERROR_DEVIATION;

/// What is known of the error of a ciphertext's slots. All numbers are in units of slots.
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

    /// The largest error to expect: six deviations and the bias. A slot's component exceeds it
    /// with a probability below 2^-28.
    pub fn largest_error(&self) -> f64 {
        6.0 * self.deviation + self.bias
    }

    /// Bits behind the binary point that can be trusted: `-log2` of the largest error.
    pub fn trusted_bits(&self) -> f64 {
        -self.largest_error().log2()
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

    /// The sum of `count` of its slots.
    pub(crate) fn summed(self, count: usize) -> Self {
        let count = count as f64;
        Self {
            deviation: self.deviation * count.sqrt(),
            bias: self.bias * count,
            magnitude: self.magnitude * count,
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

/// The errors that single operations of a set add, as deviations in units of slots.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// (1 + |s|^2) / 12: a rounding of both polynomials.
    rounding: f64,
    /// For each level the variance that a key switch adds besides its rounding.
    key_switch: Vec<f64>,
}

impl Model {
    pub fn new(set: &CkksParameters) -> Self {
        let chain = set.chain();
        let log2_p = chain.log2_product(chain.auxiliary());
        let key_switch = (0..=set.top_level())
            .map(|level| {
                let digit = |(_, part): (usize, std::ops::Range<usize>)| {
                    let log2_d = chain.log2_product(part.clone()) - log2_p;
                    set.degree() as f64 * part.len() as f64 / 12.0 * (2.0 * log2_d).exp2()
                };
                chain.digits_at(level).into_iter().map(digit).sum::<f64>()
                    * ERROR_DEVIATION.powi(2)
            })
            .collect();
        Self { rounding: (1.0 + set.secret_norm()) / 12.0, key_switch }
    }

    /// A rescale or level adjust that ends at `scale`.
    pub fn rounding(&self, slots: usize, scale: f64) -> f64 {
        (slots as f64 * self.rounding).sqrt() / scale
    }

    /// A key switch at `level` and `scale`, its division included.
    pub fn key_switch(&self, level: usize, slots: usize, scale: f64) -> f64 {
        (slots as f64 * (self.rounding + self.key_switch[level])).sqrt() / scale
    }

    /// A key product that is not yet divided, at `level` and `scale`.
    pub fn key_product(&self, level: usize, slots: usize, scale: f64) -> f64 {
        (slots as f64 * self.key_switch[level]).sqrt() / scale
    }

    /// The rounding of a plaintext's coefficients at `scale`: the deviation in its slots.
    pub fn encoding(&self, slots: usize, scale: f64) -> f64 {
        (slots as f64 / 12.0).sqrt() / scale
    }
}
