//! The errors of a bootstrapping.

use super::NoiseModel;
use crate::params::{BootstrappingParameters, ERROR_DEVIATION, SPARSE_AUXILIARY};
use crate::{Error, Result};

/// What a bootstrapping adds, in units of slots of magnitude at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BootstrappingNoise {
    /// Deviation of the noise of a slot's component: everything but the sine's own error.
    pub noise: f64,
    /// Deviation of the sine's error for slots that are random and independent.
    pub sine: f64,
    /// Relative error of the sine where all slots are equal and of magnitude 1, its worst case; of
    /// any slot of magnitude 1 where slots-to-coefficients comes first.
    pub sine_of_constants: f64,
    /// The error of the modular reduction for slots of any magnitude.
    pub reduction: Reduction,
}

/// The error of a modular reduction by a sine, with or without an arcsine after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// The power of x that is the first to be wrong.
    degree: u32,
    /// Its coefficient: of x = 2 pi m / Q_0.
    coefficient: f64,
    /// x of a coefficient 1 of a message.
    argument: f64,
}

impl Reduction {
    /// What a component of a slot errs by at most, of any slots up to `magnitude`.
    ///
    /// A coefficient c errs by at most k |c|^d. With slots-to-coefficients last, a slot errs by the
    /// sum over coefficients, and that of |c|^d is at most magnitude^d, since no c exceeds the
    /// magnitude and the squares add up to the mean square of slots; with it first, c is a slot's
    /// component itself.
    pub fn largest_error(&self, magnitude: f64) -> f64 {
        let x = self.argument * magnitude;
        let error = self.coefficient * x.powi(self.degree as i32 - 1) * magnitude;
        if self.degree == 3 {
            // |sin x - x| <= |x|^3 / 6 for every x.
            return error;
        }
        // Coefficients of the arcsine's series fall, so that what follows the first term that is
        // left is at most that of a geometric one. No value exceeds that of the series at 1.
        let rest = error / (1.0 - x * x);
        if x < 1.0 { rest.min(2.6 * magnitude) } else { 2.6 * magnitude }
    }

    /// How the error grows from that of slots up to 1.
    pub fn growth(&self, magnitude: f64) -> f64 {
        if magnitude == 1.0 {
            return 1.0;
        }
        self.largest_error(magnitude) / self.largest_error(1.0)
    }
}

impl BootstrappingNoise {
    /// Deviation of both for random slots.
    pub fn deviation(&self) -> f64 {
        self.noise.hypot(self.sine)
    }
}

/// How likely a bootstrapping fails whatever its slots are: each figure is log2 of the probability
/// that one of the N coefficients leaves the interval of the modular reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BootstrappingFailure {
    /// A coefficient within 2 of the end: it loses bits, more the nearer it is.
    pub degraded: f64,
    /// One beyond the last multiple that is removed: every slot is wrong.
    pub destroyed: f64,
}

/// log2 of the probability that the sum of `count` uniform variables on [-1/2, 1/2] exceeds `x > 0`
/// in magnitude (Irwin-Hall): exact for up to 40 of them, above by the bound 2 exp(-6 x^2 / count),
/// since such a variable is strictly sub-Gaussian.
fn log2_beyond(count: usize, x: f64) -> f64 {
    let (n, reach) = (count as f64, 0.5 * count as f64 - x);
    if reach <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if count > 40 {
        return (1.0 - 6.0 * x * x / n * std::f64::consts::LOG2_E).min(0.0);
    }
    // 2/n! sum_j (-1)^j C(n, j) (n/2 - x - j)^n, scaled by the first term.
    let (mut sum, mut binomial) = (0.0, 1.0);
    for j in 0..reach.ceil() as usize {
        sum += binomial * ((reach - j as f64) / reach).powi(count as i32);
        binomial *= -(n - j as f64) / (j + 1) as f64;
    }
    let log2_factorial: f64 = (1..=count).map(|i| (i as f64).log2()).sum();
    (1.0 + n * reach.log2() - log2_factorial + sum.log2()).min(0.0)
}

/// The part that does not depend on the message ratio, and the one that grows by 4 with each unit
/// of it, as log2 of variances at N = 2^10, with their growth for each doubling of N.
///
/// Both are fitted to bootstrappings of an exact implementation at N = 2^10 to 2^16, slots uniform
/// in [-1, 1]^2; they belong to a modular reduction at 2^58.
const CONSTANT: (f64, f64) = (-64.3, 2.7);
const BY_RATIO: (f64, f64) = (-76.3, 2.75);

/// How many divisions the variance of a correction amounts to that works at the scale of messages:
/// two for each of both parts, and the products between; measured at N = 2^10 and 2^12.
const CORRECTION: f64 = 8.0;

/// Mean of |slot|^2 of uniform slots in [-1, 1]^2.
const MEAN_SQUARE: f64 = 2.0 / 3.0;

impl NoiseModel {
    /// What a bootstrapping of `slots` slots with message ratio 2^rho adds, for slots uniform in
    /// [-1, 1]^2.
    ///
    /// Noise of the modular reduction is fitted (see the source); that of the slots-to-coefficients
    /// transforms is computed: their rounded plaintexts, whose polynomials have as many non-zero
    /// coefficients as their diagonals repeat, and their divisions. Measured noise lies within 0.6
    /// bits of it.
    ///
    /// Where slots-to-coefficients comes first, noise is derived, but for that of the correction.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping, and for a message ratio that it
    /// cannot take.
    pub fn bootstrapping(&self, rho: u32, slots: usize) -> Result<BootstrappingNoise> {
        let set = &self.set;
        let unsupported = |why: String| Error::Unsupported { set: set.name().into(), why };
        let Some(b) = set.bootstrapping() else {
            return Err(unsupported("has no bootstrapping".into()));
        };
        let ratios = set.message_ratios();
        if !ratios.contains(&rho) {
            let why = format!("a message ratio of 2^{rho}; it takes 2^{ratios:?}");
            return Err(unsupported(why));
        }
        let doublings = f64::from(set.chain().log2_degree()) - 10.0;
        let fitted = |(at, growth): (f64, f64)| libm::exp2(at + growth * doublings);
        let reduction = fitted(CONSTANT) + fitted(BY_RATIO) * libm::exp2(2.0 * f64::from(rho));
        let noise = if b.slots_to_coefficients_first() {
            // No transform gathers N/2 errors into a slot afterwards. Divisions at the scale of
            // messages follow: a level adjust, or those of the correction.
            let scale = set.scale(b.output_level()).expect("a normal level");
            let rounding = self.deviation(self.rounding(), scale);
            let divisions = if b.arcsine_levels() == 0 { 1.0 } else { CORRECTION };
            (reduction * 2.0 / self.degree() + divisions * rounding * rounding).sqrt()
        } else {
            (reduction + self.to_coefficients(b, rho, slots)).sqrt()
        };
        // A slot of magnitude 1, all of it in one coefficient, against Q_0: 2^-rho but for the
        // rounding of the message's factor.
        let chain = set.chain();
        let times = u64::try_from(set.message_factor(rho)).map_or(f64::INFINITY, |k| k as f64);
        let bottom = set.scale(0).expect("level 0 has a scale");
        let ratio = times * bottom * libm::exp2(-chain.log2_product(chain.base(0)));
        // The first term of asin(x) that is left: its degree, coefficient, and the moments
        // E x^(2 degree) of a normal and of a uniform variable.
        let (degree, factor, normal, uniform) = match b.arcsine_levels() {
            0 => (3, 1.0 / 6.0, 15.0f64, 1.0 / 7.0f64),
            2 => (5, 3.0 / 40.0, 945.0, 1.0 / 11.0),
            _ => (7, 15.0 / 336.0, 135_135.0, 1.0 / 15.0),
        };
        let of_constants = factor * (2.0 * std::f64::consts::PI * ratio).powi(degree - 1);
        // n slots are 2n coefficients.
        let coefficient = MEAN_SQUARE.sqrt() / (2.0 * slots as f64).sqrt();
        let sine = if b.slots_to_coefficients_first() {
            of_constants * uniform.sqrt()
        } else {
            let spread = coefficient.powi(degree - 1) * (0.5 * MEAN_SQUARE).sqrt();
            of_constants * normal.sqrt() * spread
        };
        let argument = 2.0 * std::f64::consts::PI * ratio;
        let reduction = Reduction { degree: degree as u32, coefficient: factor, argument };
        Ok(BootstrappingNoise { noise, sine, sine_of_constants: of_constants, reduction })
    }

    /// Variance of a coefficient that the first transform by keys adds at the top level, where the
    /// set has one: r N Q_0^2/12 3.19^2 / P'^2 of its r keys, which is next to nothing, and one
    /// division. The fit of [`NoiseModel::bootstrapping`] holds with it: the divisions that it
    /// takes the place of add as much.
    pub fn first_transform(&self) -> Option<f64> {
        let (set, chain) = (&self.set, self.set.chain());
        let b = set.bootstrapping().filter(|b| b.first_transform_by_keys())?;
        let log2_most = chain.log2_degree() - 1;
        let keys = b.log2_first_keys(log2_most, log2_most) as f64;
        let few = chain.auxiliary().take(SPARSE_AUXILIARY);
        let ratio = chain.log2_product(chain.base(0)) - chain.log2_product(few);
        let variance = ERROR_DEVIATION * ERROR_DEVIATION / 12.0;
        let product = libm::exp2(keys + 2.0 * ratio) * self.degree() * variance;
        Some(product + self.rounding())
    }

    /// How likely a bootstrapping fails. After the modulus was raised a coefficient is the message
    /// plus Q_0 I, with I a sum of as many uniform variables on [-1/2, 1/2] as the sparse secret
    /// has coefficients that are not 0, and one more.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping.
    pub fn bootstrapping_failure(&self) -> Result<BootstrappingFailure> {
        let Some(b) = self.set.bootstrapping() else {
            let (set, why) = (self.set.name().into(), "has no bootstrapping".into());
            return Err(Error::Unsupported { set, why });
        };
        let (count, end) = (b.sparse_weight() + 1, f64::from(b.interval()));
        let of = |x: f64| (log2_beyond(count, x) + self.degree().log2()).min(0.0);
        Ok(BootstrappingFailure { degraded: of(end - 2.0), destroyed: of(end - 0.5) })
    }

    /// Deviation of a real slot after the first half of a bootstrapping, in which Q_0 / 2 pi counts
    /// as 1, before it is brought to a canonical scale.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping.
    pub fn half_bootstrapping(&self) -> Result<f64> {
        let set = &self.set;
        let Some(b) = set.bootstrapping() else {
            let why = "has no bootstrapping".into();
            return Err(Error::Unsupported { set: set.name().into(), why });
        };
        let doublings = f64::from(set.chain().log2_degree()) - 10.0;
        let fitted = |(at, growth): (f64, f64)| libm::exp2(at + growth * doublings);
        // No transform gathers N/2 errors into a slot, and errors are parts of Q_0, not of 2^-rho
        // of it.
        let ratio = libm::exp2(f64::from(b.message_ratio()));
        let reduction = fitted(CONSTANT) / (ratio * ratio) + fitted(BY_RATIO);
        Ok(2.0 * std::f64::consts::PI * (2.0 * reduction / self.degree()).sqrt())
    }

    /// Variance that the slots-to-coefficients transforms add.
    fn to_coefficients(&self, b: &BootstrappingParameters, rho: u32, slots: usize) -> f64 {
        let set = &self.set;
        let stages = b.slots_to_coefficients_stages(slots.ilog2());
        let out = b.eval_mod_output_level();
        let last = set.scale(b.output_level()).expect("a normal level");
        let shift = libm::exp2(f64::from(b.slots_to_coefficients_shift()));
        let mut scale = b.eval_mod_scale() * libm::exp2(-f64::from(rho));
        let (mut sum, mut block) = (0.0, 1usize);
        for (group, count) in stages.iter().enumerate() {
            block <<= count;
            let is_last = group + 1 == stages.len();
            let scale_out = if is_last { last } else { scale * shift };
            let plain = scale_out * set.rescale_ratio(out - group) / scale;
            // 2^(c+1) diagonals of values that grow by 2^(c/2) here: a factor 2 is left.
            let nonzero = (2 * block) as f64 * self.degree() / (2 * slots) as f64;
            sum += 2.0 * MEAN_SQUARE * nonzero / 24.0 / (plain * plain);
            // Later stages multiply what a division here rounds.
            let later: usize = stages[group + 1..].iter().sum();
            let rounding = self.deviation(self.rounding(), scale_out);
            sum += rounding * rounding * libm::exp2(later as f64);
            scale = scale_out;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CkksParameters;
    use girih_ring::sampler::MaskSeed;

    #[test]
    fn failures_are_as_rare_as_stated() {
        for set in CkksParameters::all() {
            let found = NoiseModel::new(&set).bootstrapping_failure();
            let Some(b) = set.bootstrapping() else {
                assert!(matches!(found, Err(Error::Unsupported { .. })), "{set}");
                continue;
            };
            let found = found.expect("it bootstraps");
            assert_eq!((b.sparse_weight(), b.interval()), (32, 16), "{set}");
            assert!((found.degraded + 62.0).abs() < 0.5, "{set}: {found:?}");
            assert!((found.destroyed + 105.7).abs() < 0.5, "{set}: {found:?}");
        }
    }

    /// By the fits at N = 2^10 and at 2^16, six doublings further.
    #[test]
    fn fitted_noise_is_what_its_fit_says() {
        for (name, doublings) in [("INSECURE_CKKS_D40_N10", 0.0), ("CKKS_D40", 6.0)] {
            let set = CkksParameters::by_name(name).expect("built in");
            let rho = f64::from(set.bootstrapping().expect("it has one").message_ratio());
            let constant = libm::exp2(CONSTANT.0 + CONSTANT.1 * doublings - 2.0 * rho);
            let reduction = constant + libm::exp2(BY_RATIO.0 + BY_RATIO.1 * doublings);
            let degree = 1024.0 * libm::exp2(doublings);
            let wanted = 2.0 * std::f64::consts::PI * (2.0 * reduction / degree).sqrt();
            let found = NoiseModel::new(&set).half_bootstrapping().expect("it has one");
            assert!((found / wanted - 1.0).abs() < 1e-12, "{name}: {found}, not {wanted}");
        }
        let plain = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
        let error = NoiseModel::new(&plain).half_bootstrapping().expect_err("it has none");
        assert!(error.to_string().contains("has no bootstrapping"), "{error}");
    }

    /// Slots-to-coefficients first: the reduction's noise is not gathered, and one division at the
    /// scale of messages follows, or eight with an arcsine.
    #[test]
    fn slots_to_coefficients_first_adds_divisions() {
        let with = CkksParameters::by_name("INSECURE_CKKS_D40_STC_FIRST_N10").expect("built in");
        let without = crate::noise::tests::with_arcsine(None, 15);
        for (set, divisions) in [(&with, CORRECTION), (&without, 1.0)] {
            let b = set.bootstrapping().expect("it has one");
            let rho = f64::from(b.message_ratio());
            let model = NoiseModel::new(set);
            let found = model.bootstrapping(b.message_ratio(), 512).expect("it has one").noise;
            let scale = set.scale(b.output_level()).expect("a normal level");
            let rounding = model.deviation(model.rounding(), scale);
            let reduction = libm::exp2(CONSTANT.0) + libm::exp2(BY_RATIO.0 + 2.0 * rho);
            let wanted = (reduction * 2.0 / 1024.0 + divisions * rounding * rounding).sqrt();
            assert!((found / wanted - 1.0).abs() < 1e-12, "{set}: {found}, not {wanted}");
        }
    }

    #[test]
    fn sums_of_uniform_variables_leave_an_interval_as_often_as_computed() {
        let mut stream = MaskSeed([5; 32]).stream(0, 0);
        let mut uniform = || (stream.next_u64() >> 11) as f64 * 0.5f64.powi(53) - 0.5;
        let (count, rounds) = (33, 200_000);
        let sums: Vec<f64> =
            (0..rounds).map(|_| (0..count).map(|_| uniform()).sum::<f64>().abs()).collect();
        for x in [1.0, 3.0, 5.0] {
            let beyond = sums.iter().filter(|sum| **sum > x).count() as f64;
            let expected = log2_beyond(count, x).exp2() * f64::from(rounds);
            let deviation = expected.sqrt();
            assert!((beyond - expected).abs() < 5.0 * deviation, "{x}: {beyond}, {expected}");
            // The bound for many variables holds for these as well.
            assert!(log2_beyond(count, x) < 1.0 - 6.0 * x * x / 33.0 * std::f64::consts::LOG2_E);
        }
        assert_eq!(log2_beyond(33, 16.5), f64::NEG_INFINITY);
        // Corners of a square, of a cube, and of one in four dimensions.
        for (count, x, wanted) in [
            (2, 0.5, 0.25),
            (3, 1.0, 1.0 / 24.0),
            (3, 0.5, 1.0 / 3.0),
            (4, 0.5, (1.5f64.powi(4) - 4.0 * 0.5f64.powi(4)) / 12.0),
        ] {
            let found = log2_beyond(count, x).exp2();
            assert!((found / wanted - 1.0).abs() < 1e-12, "{count} beyond {x}: {found}");
        }
        let bound = 1.0 - 12.0 * std::f64::consts::LOG2_E;
        assert!((log2_beyond(50, 10.0) - bound).abs() < 1e-12);
        assert_eq!(log2_beyond(50, 0.1), 0.0);
        assert!(log2_beyond(41, 14.0) > log2_beyond(40, 14.0));
    }
}
