//! The noise model: exact variances of everything a bootstrapping adds,
//! and what they mean for failures.
//!
//! Variances are those of docs/tfhe.md, "Noise model", written out
//! at [`NoiseModel::new`]; [`measure()`]
//! checks them on a device. BOLT-FHE's eq. (15) is a bound on the accumulator noise that counts the
//! key noise three times over.

mod bound;
mod measure;
#[cfg(test)]
mod tests;

pub(crate) use bound::{check_log2_bound, log2_misread, refuse};
pub use measure::{MeasuredNoise, measure};

use crate::{ErrorDistribution, ParameterSet};
use girih_backend::{BootstrapShape, Gadget, SecretKind, Transform};

/// Variances of one parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// Of an accumulator coefficient, in units of Q.
    accumulator: f64,
    /// The same without what a transform adds.
    exact_accumulator: f64,
    /// Q.
    accumulator_modulus: f64,
    /// Of the ciphertext after the key switch, apart from the accumulator's share,
    /// in units of Q_ks.
    key_switch: f64,
    /// Of what all results of one key share, out of `key_switch`: see [`NoiseModel::new`].
    shared: f64,
    /// Of rounding one mask and body to a smaller modulus: `(1 + n E[s^2]) / 12`.
    rounding: f64,
    /// The least that any rounding adds: on the host the mean of a binary secret is taken out.
    least_rounding: f64,
    log2_ks_modulus: u32,
    log2_lwe_modulus: u32,
    /// Of a fresh ciphertext, in units of q.
    fresh: f64,
    /// Native torus: log2 of 2N, to which an input is rounded after its key switch. There q and
    /// Q_ks stand for 2^64, and both variances belong to the input of a bootstrapping,
    /// not to its output.
    switches_first: Option<u32>,
}

/// The moduli of accumulator and key as real numbers.
#[derive(Clone, Copy)]
struct Moduli {
    accumulator: f64,
    key: f64,
    /// d = T/Q - round(T/Q) of MR.
    gadget_rounding: f64,
}

impl Moduli {
    fn of(shape: &BootstrapShape) -> Self {
        let real = |modulus: Option<u64>| modulus.map_or(2f64.powi(64), |m| m as f64);
        let (accumulator, key) =
            (real(shape.accumulator_modulus()), real(shape.key_modulus_value()));
        Self { accumulator, key, gadget_rounding: key / accumulator - (key / accumulator).round() }
    }
}

impl NoiseModel {
    /// The model of `set`.
    ///
    /// With s2 = E[s^2] of the ring's secret and t2 that of the LWE secret (2/3 ternary, 1/2
    /// binary), K = k + r, g indices a step, G = GGSW ciphertexts a step (2, or 2^g - 1 of binary
    /// LWE secrets), t = 1 - (1 - t2)^g the share of steps that turn the accumulator, and X^e - 1
    /// of two terms, each of the n / g steps adds to a phase coefficient:
    /// - key noise: `2 G K N sigma^2 sum_l V(D_l)`, times (Q/T)^2 for MR; V is B^2/12 of a full
    ///   digit, R^2/12 of the top digit's range R = Q / (2^dropped_bits B^(L-1)), Q^2/12 of MR's
    ///   one;
    /// - what the dropped bits leave out: `2 t (4^dropped_bits / 12)(1 + k N s2)`;
    /// - MR: the one rounding T -> Q, `(1 + k N s2) / 12`, and the gadget's own rounding d = T/Q -
    ///   round(T/Q), `2 t d^2 (Q^2/12)(1 + k N s2)(Q/T)^2`.
    ///
    /// Then, in units of Q_ks: the switch Q -> Q_ks, `(1 + k N s2) / 12`, and the key switch, `k N
    /// digits (1 - 1/B_ks) sigma^2` (one entry a digit, none for value 0; a shorter top digit is
    /// counted as full); then the switch Q_ks -> q, `(1 + n t2) / 12`.
    ///
    /// Words that are multiples of a fraction of a unit are rounded half up, by half a fraction too
    /// much on average. Times the coefficients of a ternary secret that is nothing; with a binary
    /// one it moves phases by `(1 - h) / 2` fractions, h ones in the secret. What is known of that,
    /// for h = n / 2, is added to every result beforehand; what the secret's own h leaves is `n /
    /// 16` fractions squared, and with a binary secret of the ring `k N / 16` of MR's
    /// switch Q -> Q_ks.
    ///
    /// Results of one key share what its key-switching table has on average over the values of a
    /// digit: `k N digits (B_ks - 1) / B_ks^2 sigma^2` of the above, a B_ks-th of the key switch's
    /// variance, and all of what a binary secret's own h leaves. A sum of results has that with the
    /// square of the sum of the weights, and the rest with the sum of their squares.
    ///
    /// Native torus: digits of the closest representative, uniform, leave out `2^(64 - b L)`; the
    /// key switch adds `k N s2 2^(2 (64 - b' L')) / 12` and its digits times the error of its rows,
    /// a balanced digit's mean square being `(B^2 + 2) / 12`; rounding to 2N adds `(1 + n V) / 12`
    /// with V the variance of an LWE secret's coefficient where its mean is taken out (binary:
    /// 1/4), else `t2`.
    pub fn new(set: &ParameterSet) -> Self {
        Self::with_moduli(set, Moduli::of(set.shape()))
    }

    /// The model of `set` on a device that multiplies polynomials by `transform`: the f64 transform
    /// adds an error of its own, and the integer one on the native torus may round the key.
    ///
    /// Before a step rounds, that error has deviation `e = c u sqrt(K N sum_l R_l^2) M / 6` with u
    /// = 2^-53, c = 4.4 (3.0 to 4.3 measured) and digits of range R_l, in units of the key modulus
    /// M (docs/tfhe.md, "The error of the f64 transform"; for MR the one range is Q, and e is
    /// scaled by Q/T). Rounding to
    /// integers takes it away from GD where e is small; the accumulator's phase sees it `1 + k N
    /// s2` times in each of n / g steps. c was measured with two GGSW ciphertexts; the variance
    /// grows with their number. With a binary secret of the ring the first step counts more
    /// than any other (same page): the model takes the table that makes most of it.
    ///
    /// A key rounded by d bits ([`BootstrapShape::transform_rounding`]) makes products err with
    /// `e^2 = 2 G K N L (4^d / 12) (B^2 / 12)`, which phases see as often, and in the first step as
    /// they see what the f64 transform adds in proportion to the spectrum.
    pub fn with_transform(set: &ParameterSet, transform: Transform) -> Self {
        /// Share of the error's variance that is in proportion to the spectrum: what key entries,
        /// products and the transforms' stages of small blocks make. Measured with N = 2048 in the
        /// mean of keys: 0.40 on the CPU; of the CUDA kernels 0.49, 0.62 and 0.68 for one, three
        /// and seven GGSW ciphertexts.
        const LOCAL: f64 = 0.7;
        let mut model = Self::new(set);
        let shape = set.shape();
        let steps = shape.steps() as f64
            * (1.0 + shape.ks_indices() as f64 * secret_square(set.ring_secret()));
        let first = first_step(shape, set.ring_secret());
        model.accumulator += match transform {
            Transform::Fft => (steps + LOCAL * first) * fft_variance(shape, Moduli::of(shape)),
            Transform::Ntt => (steps + first) * rounding_variance(shape),
        };
        model
    }

    fn with_moduli(set: &ParameterSet, moduli: Moduli) -> Self {
        let shape = set.shape();
        let (lwe_variance, variance) = variance_of(set.errors());
        let (square, lwe_square) = (secret_square(set.ring_secret()), secret_square(shape.secret));
        let indices = shape.ks_indices() as f64;
        let extracted = 1.0 + indices * square;
        let (digits, base) = (shape.ks_digits() as f64, shape.ks_base() as f64);
        let accumulator = shape.steps() as f64 * step_variance(shape, extracted, moduli, variance);
        let means = what_means_leave(shape, set.ring_secret());
        // Variance of an LWE secret's coefficient about its mean.
        let spread = match shape.secret {
            SecretKind::Binary => 0.25,
            SecretKind::Ternary => lwe_square,
        };
        let rounding = |square: f64| (1.0 + shape.lwe_dimension as f64 * square) / 12.0;
        let common = Self {
            accumulator,
            exact_accumulator: accumulator,
            accumulator_modulus: moduli.accumulator,
            key_switch: extracted / 12.0 + indices * digits * (1.0 - 1.0 / base) * variance + means,
            shared: indices * digits * (base - 1.0) / base.powi(2) * variance + means,
            rounding: rounding(lwe_square),
            least_rounding: rounding(spread),
            log2_ks_modulus: shape.log2_ks_modulus,
            log2_lwe_modulus: shape.log2_lwe_modulus,
            fresh: variance,
            switches_first: None,
        };
        if !shape.is_torus() {
            return common;
        }
        let left_out = 4f64.powi(64 - shape.log2_ks_modulus as i32) / 12.0;
        Self {
            key_switch: indices * square * left_out
                + indices * digits * (base.powi(2) + 2.0) / 12.0 * lwe_variance,
            // Each bootstrapping has one key switch, before it: its error is in no sum.
            shared: 0.0,
            rounding: rounding(spread),
            log2_ks_modulus: 64,
            log2_lwe_modulus: 64,
            switches_first: Some(shape.log2_monomials()),
            ..common
        }
    }

    /// Deviation of an accumulator coefficient, in units of Q.
    pub fn sigma_acc(&self) -> f64 {
        self.accumulator.sqrt()
    }

    /// Deviation of a bootstrapped ciphertext modulo q, in units of q.
    pub fn sigma_out(&self) -> f64 {
        self.sigma_out_at(self.log2_lwe_modulus)
    }

    /// Deviation of a bootstrapped ciphertext whose last switch goes to `2^log2_modulus`,
    /// in its units.
    pub fn sigma_out_at(&self, log2_modulus: u32) -> f64 {
        let modulus = 2f64.powi(log2_modulus as i32);
        let from_accumulator = self.accumulator * (modulus / self.accumulator_modulus).powi(2);
        if self.switches_first.is_some() {
            return from_accumulator.sqrt();
        }
        let from_key_switch =
            self.key_switch * 4f64.powi(log2_modulus as i32 - self.log2_ks_modulus as i32);
        (from_accumulator + from_key_switch + self.rounding).sqrt()
    }

    /// Variance of a bootstrapped ciphertext modulo `2^log2_modulus`, in units of that modulus.
    pub fn variance_out_at(&self, log2_modulus: u32) -> f64 {
        self.sigma_out_at(log2_modulus).powi(2)
    }

    /// Of [`NoiseModel::variance_out_at`], what all results of one key share: the variance of their
    /// mean from key to key, which is the covariance of any two of them.
    pub fn covariance_out_at(&self, log2_modulus: u32) -> f64 {
        self.shared * 4f64.powi(log2_modulus as i32 - self.log2_ks_modulus as i32)
    }

    /// The most that a message whose error has `variance` can have of what results of one key
    /// share, as a deviation; both in units of `2^log2_modulus`.
    ///
    /// It may be a sum of results with integer weights, rounded or not, and of other ciphertexts.
    /// With o the variance of what a result has for itself and s that of what results share, such a
    /// sum has at least `o sum w^2` for itself, and at most `s (sum w^2)^2` of what is shared. The
    /// `sum w^2` for which both make up the variance is the largest there can be. For a result it
    /// is one. Results are those of this set's own gadget, by the transform that adds less.
    pub fn shared_at_most(&self, log2_modulus: u32, variance: f64) -> f64 {
        let shared = self.covariance_out_at(log2_modulus);
        if shared == 0.0 {
            return 0.0;
        }
        let modulus = 2f64.powi(log2_modulus as i32);
        let accumulator = self.exact_accumulator * (modulus / self.accumulator_modulus).powi(2);
        let key_switch = (self.key_switch - self.shared)
            * 4f64.powi(log2_modulus as i32 - self.log2_ks_modulus as i32);
        let own = accumulator + key_switch + self.least_rounding;
        2.0 * variance * shared.sqrt() / (own + (own * own + 4.0 * shared * variance).sqrt())
    }

    /// Variance of the error of a sum of ciphertexts modulo `2^log2_modulus` with these weights and
    /// variances, all of them different: their own errors are independent, and what they share as
    /// results of one key ([`NoiseModel::shared_at_most`]) adds up.
    ///
    /// The signs of what is shared are not known, so weights of either sign count alike.
    pub fn variance_of_sum(
        &self,
        log2_modulus: u32,
        terms: impl IntoIterator<Item = (f64, f64)>,
    ) -> f64 {
        let (mut own, mut shared) = (0.0, 0.0);
        for (weight, variance) in terms {
            let deviation = self.shared_at_most(log2_modulus, variance).min(variance.sqrt());
            own += weight * weight * (variance - deviation * deviation);
            shared += weight.abs() * deviation;
        }
        own + shared * shared
    }

    /// Deviation that rounding to a smaller modulus leaves, in units of that modulus.
    pub fn sigma_rounding(&self) -> f64 {
        self.rounding.sqrt()
    }

    /// Deviation of a fresh ciphertext, in units of q.
    pub fn sigma_fresh(&self) -> f64 {
        self.fresh.sqrt()
    }

    /// log2 of the probability that a two-input gate on bootstrapped bits fails: an error of `c1 +
    /// c2` beyond q/8.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure_of(0.125, &[1, 1])
    }

    /// The same for a 3-input majority.
    pub fn log2_failure_majority(&self) -> f64 {
        self.log2_failure_of(0.125, &[1, 1, 1])
    }

    /// The same for one look-up of a message of `input_bits` bits in a sum of bootstrapped
    /// ciphertexts with `weights`.
    pub fn log2_failure_table(&self, input_bits: u32, weights: &[i32]) -> f64 {
        self.log2_failure_of(0.25 / 2f64.powi(input_bits as i32), weights)
    }

    /// log2 of the probability that the error of `sum weights_i c_i`, all results of one key,
    /// exceeds `margin` of q either way; with what they share ([`NoiseModel::variance_of_sum`]).
    pub fn log2_failure_of(&self, margin: f64, weights: &[i32]) -> f64 {
        let log2_q = self.log2_lwe_modulus;
        let out = self.variance_out_at(log2_q);
        let terms = weights.iter().map(|&weight| (f64::from(weight), out));
        let variance = self.variance_of_sum(log2_q, terms);
        self.log2_failure_input(margin * 2f64.powi(log2_q as i32), variance)
    }

    /// log2 of the probability that a rotation reads another message than it is given: that an
    /// input whose error has this variance, with what happens to it before the rotation, is beyond
    /// `margin` either way; both in units of the input's modulus.
    pub fn log2_failure_input(&self, margin: f64, variance: f64) -> f64 {
        let before = match self.switches_first {
            None => 0.0,
            Some(log2_monomials) => {
                let unit = 2f64.powi(64 - log2_monomials as i32);
                self.key_switch + self.rounding * unit.powi(2)
            }
        };
        log2_beyond(margin, (variance + before).sqrt())
    }
}

/// log2 of the probability that an error of deviation `sigma` exceeds `margin` either way; never
/// without an error.
pub fn log2_beyond(margin: f64, sigma: f64) -> f64 {
    if sigma == 0.0 {
        return f64::NEG_INFINITY;
    }
    log2_erfc(margin / (std::f64::consts::SQRT_2 * sigma))
}

/// Variance of the errors of LWE and of GLWE ciphertexts.
pub(crate) fn variance_of(errors: ErrorDistribution) -> (f64, f64) {
    match errors {
        ErrorDistribution::Gaussian { sigma } => (sigma * sigma, sigma * sigma),
        ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => {
            let of = |bound: u32| (2f64.powi(2 * bound as i32 + 1) + 1.0) / 6.0;
            (of(lwe_log2_bound), of(glwe_log2_bound))
        }
    }
}

/// E[s^2] of a secret coefficient.
pub(crate) fn secret_square(secret: SecretKind) -> f64 {
    match secret {
        SecretKind::Ternary => 2.0 / 3.0,
        SecretKind::Binary => 0.5,
    }
}

/// Variance, in units of Q_ks, of the mean of rounding errors times the ones that a binary secret
/// has more or fewer than half: see [`NoiseModel::new`].
fn what_means_leave(shape: &BootstrapShape, ring_secret: SecretKind) -> f64 {
    if shape.is_torus() {
        return 0.0;
    }
    let binary = |kind, coefficients: usize| match kind {
        SecretKind::Ternary => 0.0,
        SecretKind::Binary => coefficients as f64,
    };
    let above = match shape.gadget {
        Gadget::ModulusRaising { log2_modulus } if log2_modulus > shape.log2_ks_modulus => {
            let fraction = 4f64.powi(shape.log2_ks_modulus as i32 - log2_modulus as i32);
            binary(ring_secret, shape.ks_indices()) * fraction
        }
        _ => 0.0,
    };
    (binary(shape.secret, shape.lwe_dimension) + above) / 16.0
}

/// Variance that one step of the blind rotation adds; the terms are those of [`NoiseModel::new`],
/// `extracted` is `1 + k N s2`.
fn step_variance(
    shape: &BootstrapShape,
    extracted: f64,
    moduli: Moduli,
    error_variance: f64,
) -> f64 {
    let turning = 1.0 - (1.0 - secret_square(shape.secret)).powi(shape.grouping as i32);
    let key = 2.0
        * (shape.ggsw_per_step() * shape.columns() * shape.polynomial_size) as f64
        * error_variance;
    match shape.gadget {
        Gadget::Decomposition { dropped_bits, .. } => {
            let left_out =
                if dropped_bits == 0 { 0.0 } else { 4f64.powi(dropped_bits as i32) / 12.0 };
            key * digit_squares(shape, moduli) / 12.0 + 2.0 * turning * left_out * extracted
        }
        Gadget::ModulusRaising { .. } => {
            let ratio = moduli.key / moduli.accumulator;
            let digit = moduli.accumulator.powi(2) / 12.0;
            key * digit / ratio.powi(2)
                + extracted / 12.0
                + 2.0 * turning * moduli.gadget_rounding.powi(2) * digit * extracted / ratio.powi(2)
        }
        Gadget::ClosestRepresentative { log2_base, levels } => {
            let digits = levels as f64 * 4f64.powi(log2_base as i32) / 12.0;
            let left_out = 4f64.powi(64 - (log2_base as usize * levels) as i32) / 12.0;
            key * digits + 2.0 * turning * left_out * extracted
        }
    }
}

/// Sum of the squared ranges of gadget digits: B^2 of each but the top one,
/// which takes what is left.
fn digit_squares(shape: &BootstrapShape, moduli: Moduli) -> f64 {
    match shape.gadget {
        Gadget::Decomposition { log2_base, levels, dropped_bits } => {
            let below = (levels - 1) as i32;
            let top =
                moduli.accumulator / 2f64.powi(dropped_bits as i32 + log2_base as i32 * below);
            f64::from(below) * 4f64.powi(log2_base as i32) + top.powi(2)
        }
        Gadget::ModulusRaising { .. } => moduli.accumulator.powi(2),
        Gadget::ClosestRepresentative { log2_base, levels } => {
            levels as f64 * 4f64.powi(log2_base as i32)
        }
    }
}

/// What the f64 transform adds to a phase in the first step of a rotation, over what it adds to a
/// coefficient in any other.
///
/// Digits of that step are those of the test polynomial v alone, no noise: most of it may stand at
/// the lowest frequency, z = exp(i pi / N), and there the transform errs in proportion. A binary
/// secret is large at that very frequency: its mean of 1/2 makes |S(z)|^2 = (N / pi)^2, of N^2 / 2
/// in all. With |v| <= Q/4 at most |v(z)|^2 = (N Q / 2 pi)^2 in each of r slots, white digits
/// having K N Q^2 / 12, so of an error in proportion to the spectrum a phase gets `6 k r N^2 /
/// (pi^4 K)` times e^2 (docs/tfhe.md, "The error of the f64 transform").
fn first_step(shape: &BootstrapShape, ring_secret: SecretKind) -> f64 {
    match ring_secret {
        SecretKind::Ternary => 0.0,
        SecretKind::Binary => {
            let polynomials =
                (shape.glwe_dimension * shape.packing) as f64 / shape.columns() as f64;
            6.0 * polynomials * (shape.polynomial_size as f64).powi(2)
                / std::f64::consts::PI.powi(4)
        }
    }
}

/// Variance that the f64 transform adds to a coefficient in one step, in units of Q; see
/// [`NoiseModel::with_transform`].
fn fft_variance(shape: &BootstrapShape, moduli: Moduli) -> f64 {
    let rows = (shape.columns() * shape.polynomial_size) as f64;
    // One product where binary secrets have one GGSW ciphertext: half the variance of two.
    let products = shape.ggsw_per_step() as f64 / 2.0;
    let scale =
        4.4 * 2f64.powi(-53) * (products * rows * digit_squares(shape, moduli)).sqrt() / 6.0;
    match shape.gadget {
        Gadget::Decomposition { .. } => {
            // The true product is an integer.
            after_rounding(scale * moduli.key)
        }
        Gadget::ModulusRaising { .. } => (scale * moduli.accumulator).powi(2),
        Gadget::ClosestRepresentative { .. } => (scale * moduli.key).powi(2),
    }
}

/// Variance that an error of this deviation leaves on an integer that is rounded: of a small one,
/// only what passes 1/2 survives.
fn after_rounding(error: f64) -> f64 {
    if error < 1.0 {
        libm::erfc(0.5 / (error * std::f64::consts::SQRT_2))
    } else {
        error.powi(2) + 1.0 / 12.0
    }
}

/// Variance that a key rounded for the integer transform adds to a coefficient of a mask or a body
/// in one step, in units of 2^64; see [`NoiseModel::with_transform`].
fn rounding_variance(shape: &BootstrapShape) -> f64 {
    let rounding = match shape.transform_rounding() {
        // Such a set has no integer transform, and no engine of it is ever asked about.
        Ok(0) | Err(_) => return 0.0,
        Ok(bits) => 4f64.powi(bits as i32) / 12.0,
    };
    let rows = (shape.ggsw_per_step() * shape.columns() * shape.polynomial_size) as f64;
    2.0 * rows * rounding * digit_squares(shape, Moduli::of(shape)) / 12.0
}

/// log2 of erfc(x) for any x, also where erfc itself is below the smallest number.
fn log2_erfc(x: f64) -> f64 {
    if x < 10.0 {
        return libm::erfc(x).log2();
    }
    // erfc(x) = exp(-x^2) / (x sqrt(pi)) (1 - 1/(2x^2) + 3/(4x^4) - 15/(8x^6) + ..); the next term
    // is below 1e-7 here.
    let y = 1.0 / (2.0 * x * x);
    let series = 1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y));
    (series / (x * std::f64::consts::PI.sqrt())).log2() - x * x * std::f64::consts::LOG2_E
}
