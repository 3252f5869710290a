//! Inverses and inverse square roots by iteration.
//!
//! A polynomial takes fewer levels for its error, but its degree grows like the root of hi/lo, and
//! its products like the root of the degree. An iteration squares its relative error with two or
//! three products a step, and goes on where degrees end.

use std::ops::RangeInclusive;

use super::ApproximationError;
use super::fit::check_no_pole;
use super::polynomial::ends;

/// Points at which errors are measured, spread evenly in the logarithm of x.
const POINTS: u32 = 20_000;

/// The most steps that are tried.
const MOST_STEPS: usize = 40;

/// 1/x by Goldschmidt's division (1964): with y_0 near 1/x and e_0 = 1 - x y_0, each step is
/// y_(k+1) = y_k (1 + e_k), e_(k+1) = e_k^2.
///
/// The first guess is the line that makes e_0 the Chebyshev polynomial T_2 of the interval, scaled
/// to 1 at 0: the smallest e_0 that a line can leave. Two products a step, side by side.
///
/// ```
/// use girih_ckks::approximation::GoldschmidtInverse;
///
/// let inverse = GoldschmidtInverse::new(0.01..=1.0, 1e-4, 12)?;
/// assert!(inverse.levels() <= 12 && inverse.error() <= 1e-4);
/// assert!((inverse.evaluate(0.02) - 50.0).abs() <= 1e-4);
/// # Ok::<(), girih_ckks::approximation::ApproximationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GoldschmidtInverse {
    lo: f64,
    hi: f64,
    steps: usize,
    error: f64,
}

impl GoldschmidtInverse {
    /// As few steps as leave an absolute error of at most `error` on the interval, which must not
    /// hold 0.
    ///
    /// # Errors
    /// [`ApproximationError::Interval`], [`ApproximationError::NotFinite`] for an interval that
    /// holds 0, [`ApproximationError::OutOfRange`] for an error that is not positive,
    /// [`ApproximationError::TooFewLevels`] when `most_levels` are not enough.
    pub fn new(
        interval: RangeInclusive<f64>,
        error: f64,
        most_levels: usize,
    ) -> Result<Self, ApproximationError> {
        fewest(error, most_levels, |steps| {
            let inverse = Self::with_steps(interval.clone(), steps)?;
            Ok((inverse.levels(), inverse.error, inverse))
        })
    }

    /// As few steps as leave a *relative* error of at most `error`: y x is 1 within it everywhere,
    /// however large x is.
    ///
    /// # Errors
    /// As [`GoldschmidtInverse::new`].
    pub fn relative(
        interval: RangeInclusive<f64>,
        error: f64,
        most_levels: usize,
    ) -> Result<Self, ApproximationError> {
        fewest(error, most_levels, |steps| {
            let inverse = Self::with_steps(interval.clone(), steps)?;
            Ok((inverse.levels(), inverse.residual().powi(1 << steps.min(30)), inverse))
        })
    }

    /// So many steps.
    ///
    /// # Errors
    /// As [`GoldschmidtInverse::new`], for the interval.
    pub fn with_steps(
        interval: RangeInclusive<f64>,
        steps: usize,
    ) -> Result<Self, ApproximationError> {
        let (lo, hi) = ends(&interval)?;
        check_no_pole(lo, hi)?;
        let mut inverse = Self { lo, hi, steps, error: 0.0 };
        let (least, most) = inverse.magnitudes();
        inverse.error = points(least, most)
            .map(|x| (inverse.evaluate(x.copysign(lo)) - 1.0 / x.copysign(lo)).abs())
            .fold(0.0, f64::max);
        Ok(inverse)
    }

    /// The least and the largest magnitude of the interval.
    fn magnitudes(&self) -> (f64, f64) {
        (self.lo.abs().min(self.hi.abs()), self.lo.abs().max(self.hi.abs()))
    }

    /// The interval on which it holds.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.lo..=self.hi
    }

    /// Steps after the first guess.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Levels: one for the guess, one for e_0, one a step.
    pub fn levels(&self) -> usize {
        if self.steps == 0 { 1 } else { self.steps + 2 }
    }

    /// The largest distance from 1/x on the interval, measured.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest magnitude of e_0 on the interval.
    pub fn residual(&self) -> f64 {
        let (middle, half) = self.centre();
        half * half / (2.0 * middle * middle - half * half)
    }

    fn centre(&self) -> (f64, f64) {
        (f64::midpoint(self.lo, self.hi), (self.hi - self.lo) / 2.0)
    }

    /// c_0 and c_1 of the first guess y_0 = c_0 + c_1 x.
    pub fn guess(&self) -> (f64, f64) {
        let (middle, half) = self.centre();
        let scale = 2.0 * middle * middle - half * half;
        (4.0 * middle / scale, -2.0 / scale)
    }

    /// Its value in f64.
    pub fn evaluate(&self, x: f64) -> f64 {
        let (constant, slope) = self.guess();
        let mut y = constant + slope * x;
        let mut e = 1.0 - x * y;
        for _ in 0..self.steps {
            y *= 1.0 + e;
            e *= e;
        }
        y
    }
}

/// 1/sqrt(x) by Newton's iteration, y' = a y - b x y^3, on an interval above 0; times x it is the
/// square root.
///
/// a and b are 3/2 and 1/2 for values near the root. On a wide interval the first ones are scaled
/// so that each step raises the least of the values y sqrt(x) as far as a cubic can without leaving
/// others behind; the last one centres them around 1. Three products a step, two of them side by
/// side.
///
/// ```
/// use girih_ckks::approximation::NewtonInverseSqrt;
///
/// let root = NewtonInverseSqrt::new(0.01..=1.0, 1e-3, 13)?;
/// assert!(root.levels() <= 13 && root.error() <= 1e-3);
/// assert!((root.evaluate(0.25) - 2.0).abs() <= 1e-3);
/// # Ok::<(), girih_ckks::approximation::ApproximationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonInverseSqrt {
    lo: f64,
    hi: f64,
    guess: (f64, f64),
    steps: Vec<(f64, f64)>,
    error: f64,
}

impl NewtonInverseSqrt {
    /// As few steps as leave an absolute error of at most `error` on the interval, which must lie
    /// above 0.
    ///
    /// # Errors
    /// As [`GoldschmidtInverse::new`].
    pub fn new(
        interval: RangeInclusive<f64>,
        error: f64,
        most_levels: usize,
    ) -> Result<Self, ApproximationError> {
        fewest(error, most_levels, |steps| {
            let root = Self::with_steps(interval.clone(), steps)?;
            Ok((root.levels(), root.error, root))
        })
    }

    /// So many steps.
    ///
    /// # Errors
    /// As [`GoldschmidtInverse::new`], for the interval.
    pub fn with_steps(
        interval: RangeInclusive<f64>,
        steps: usize,
    ) -> Result<Self, ApproximationError> {
        let (lo, hi) = ends(&interval)?;
        if lo <= 0.0 {
            return Err(ApproximationError::NotFinite {
                what: format!("1/sqrt(x) between {lo} and {hi}"),
                value: f64::INFINITY,
            });
        }
        // f(x) = (a - x) sqrt(x) is the same at both ends and largest at a/3.
        let a = hi + (hi * lo).sqrt() + lo;
        let (mut least, mut most) = ((a - lo) * lo.sqrt(), 2.0 / 3.0 * a * (a / 3.0).sqrt());
        let centred = |least: f64, most: f64| 2.0 / (least + most);
        let mut guess = (a, -1.0);
        let mut all = Vec::with_capacity(steps);
        for step in 0..steps {
            // f (3 - f^2) / 2, at most 1, of `scale f` is the same for the least and the most.
            let scale = (3.0 / (least * least + least * most + most * most)).sqrt();
            let f = scale * least;
            (least, most) = (f * (3.0 - f * f) / 2.0, 1.0);
            let last = if step + 1 == steps { centred(least, most) } else { 1.0 };
            if step == 0 {
                // The guess is as large as what follows, so that nothing overflows a slot.
                guess = (scale * guess.0, scale * guess.1);
                all.push((1.5 * last, 0.5 * last));
            } else {
                all.push((1.5 * scale * last, 0.5 * scale.powi(3) * last));
            }
        }
        if steps == 0 {
            let scale = centred(least, most);
            guess = (scale * guess.0, scale * guess.1);
        }
        let mut root = Self { lo, hi, guess, steps: all, error: 0.0 };
        root.error =
            points(lo, hi).map(|x| (root.evaluate(x) - 1.0 / x.sqrt()).abs()).fold(0.0, f64::max);
        Ok(root)
    }

    /// The interval on which it holds.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.lo..=self.hi
    }

    /// a and b of each step.
    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }

    /// Levels: one for the guess, two a step.
    pub fn levels(&self) -> usize {
        2 * self.steps.len() + 1
    }

    /// The largest distance from 1/sqrt(x) on the interval, measured.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// c_0 and c_1 of the first guess y_0 = c_0 + c_1 x.
    pub fn guess(&self) -> (f64, f64) {
        self.guess
    }

    /// Its value in f64.
    pub fn evaluate(&self, x: f64) -> f64 {
        let first = self.guess.0 + self.guess.1 * x;
        self.steps.iter().fold(first, |y, &(a, b)| a * y - b * x * y * y * y)
    }
}

/// Points from `least` to `most`, both positive, evenly in their logarithms; the ends are among
/// them.
fn points(least: f64, most: f64) -> impl Iterator<Item = f64> {
    let ratio = (most / least).ln();
    (0..=POINTS).map(move |i| match i {
        0 => least,
        POINTS => most,
        _ => least * (ratio * f64::from(i) / f64::from(POINTS)).exp(),
    })
}

/// The first of what 0, 1, 2, .. steps make (levels, error, it) that is good enough.
fn fewest<T>(
    wanted: f64,
    most_levels: usize,
    make: impl Fn(usize) -> Result<(usize, f64, T), ApproximationError>,
) -> Result<T, ApproximationError> {
    if !(wanted > 0.0 && wanted.is_finite()) {
        let (what, below) = ("an error", f64::INFINITY);
        return Err(ApproximationError::OutOfRange { what, value: wanted, below });
    }
    let mut reached = f64::INFINITY;
    for steps in 0..=MOST_STEPS {
        let (levels, error, it) = make(steps)?;
        if levels > most_levels {
            break;
        }
        if error <= wanted {
            return Ok(it);
        }
        reached = error.min(reached);
    }
    Err(ApproximationError::TooFewLevels { wanted, levels: most_levels, reached })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_square_the_error_of_an_inverse() {
        for (lo, hi) in [(0.1f64, 1.0f64), (0.01, 2.0), (-8.0, -0.5)] {
            let least = lo.abs().min(hi.abs());
            for steps in 0..8 {
                let inverse = GoldschmidtInverse::with_steps(lo..=hi, steps).unwrap();
                let want = inverse.residual().powi(1 << steps) / least;
                assert!((inverse.error() / want - 1.0).abs() < 1e-6 || want < 1e-12, "{inverse:?}");
                assert_eq!(inverse.levels(), [1, 3, 4, 5, 6, 7, 8, 9][steps]);
                assert_eq!(inverse.steps(), steps);
            }
            // The largest of |1 - x y_0|.
            let line = GoldschmidtInverse::with_steps(lo..=hi, 0).unwrap();
            let measured = (0..=10_000)
                .map(|i| lo + (hi - lo) * f64::from(i) / 10_000.0)
                .map(|x| (1.0 - x * line.evaluate(x)).abs())
                .fold(0.0, f64::max);
            assert!((line.residual() / measured - 1.0).abs() < 1e-9, "{measured}");
        }
        // The best constant and a step leave more: (0.99 / 1.01)^2.
        let line = GoldschmidtInverse::with_steps(0.01..=1.0, 0).unwrap().residual();
        assert!(line < 0.925 && (0.99f64 / 1.01).powi(2) > 0.96);
    }

    #[test]
    fn as_few_steps_as_the_error_allows() {
        let inverse = GoldschmidtInverse::new(0.05..=1.0, 1e-6, 20).unwrap();
        let less = GoldschmidtInverse::with_steps(0.05..=1.0, inverse.steps() - 1).unwrap();
        assert!(inverse.error() <= 1e-6 && less.error() > 1e-6);
        let root = NewtonInverseSqrt::new(0.05..=1.0, 1e-6, 20).unwrap();
        let less = NewtonInverseSqrt::with_steps(0.05..=1.0, root.steps().len() - 1).unwrap();
        assert!(root.error() <= 1e-6 && less.error() > 1e-6);
    }

    #[test]
    fn relative_errors_are_the_same_however_large_numbers_are() {
        for scale in [1e-6f64, 1.0, -1e3] {
            let (one, two) = (0.05 * scale, scale);
            let (lo, hi) = (one.min(two), one.max(two));
            let inverse = GoldschmidtInverse::relative(lo..=hi, 1e-4, 20).unwrap();
            let errors = (0..=10_000)
                .map(|i| lo + (hi - lo) * f64::from(i) / 10_000.0)
                .map(|x| (inverse.evaluate(x) * x - 1.0).abs());
            assert!(errors.fold(0.0, f64::max) <= 1.0001e-4, "{inverse:?}");
            assert_eq!(inverse.steps(), 5);
        }
        // To an absolute error of 1e-4 a line would do.
        let absolute = GoldschmidtInverse::new(5e6..=1e8, 1e-4, 20).unwrap();
        assert_eq!(absolute.steps(), 0);
    }

    #[test]
    fn inverse_roots_converge_on_wide_intervals_too() {
        // Unscaled, a step gains a factor 3/2 at most where the guess is far off.
        let unscaled =
            |x: f64, steps: usize| (0..steps).fold(1.0, |y: f64, _| y * (3.0 - x * y * y) / 2.0);
        for lo in [0.5, 0.1, 1e-2, 1e-4] {
            let mut last = f64::INFINITY;
            for steps in 0..10 {
                let root = NewtonInverseSqrt::with_steps(lo..=1.0, steps).unwrap();
                assert!(root.error() < last || last < 1e-11, "{lo}, {steps}");
                last = root.error();
                let plain = (unscaled(lo, steps) - 1.0 / lo.sqrt()).abs();
                assert!(last <= plain || last < 1e-11, "{lo}, {steps}: {last} and {plain}");
            }
            assert!(last < 1e-8 / lo, "{lo}: {last}");
        }
    }

    /// The guess and every step are centred: as far above 1/sqrt(x) as below it at the ends, and
    /// the last of them on 1.
    #[test]
    fn steps_of_an_inverse_root_are_centred() {
        for (lo, hi) in [(0.1f64, 1.0f64), (0.02, 3.0)] {
            for steps in 0..6 {
                let root = NewtonInverseSqrt::with_steps(lo..=hi, steps).unwrap();
                assert_eq!((root.steps().len(), root.levels()), (steps, 2 * steps + 1));
                let ratios: Vec<f64> = (0..=100_000)
                    .map(|i| lo * (hi / lo).powf(f64::from(i) / 100_000.0))
                    .map(|x| root.evaluate(x) * x.sqrt())
                    .collect();
                let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                let most = ratios.iter().copied().fold(0.0, f64::max);
                assert!((least + most - 2.0).abs() < 1e-6, "{lo}, {steps}: {least} to {most}");
                let ends = [ratios[0], ratios[100_000]];
                assert!((ends[0] - ends[1]).abs() < 1e-9, "{lo}, {steps}: {ends:?}");
                assert!((ends[0] - least).abs() < 1e-6, "{lo}, {steps}: {ends:?}, {least}");
                let (constant, slope) = root.guess();
                let first = |x: f64| (constant + slope * x) * x.sqrt();
                assert!((first(lo) - first(hi)).abs() < 1e-9 * first(lo));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_refused() {
        use ApproximationError as E;
        let inverse = |interval, error| GoldschmidtInverse::new(interval, error, 6);
        assert!(matches!(inverse(-1.0..=1.0, 0.1), Err(E::NotFinite { .. })));
        assert!(matches!(inverse(1.0..=0.5, 0.1), Err(E::Interval { .. })));
        assert!(matches!(inverse(0.5..=1.0, 0.0), Err(E::OutOfRange { .. })));
        assert!(matches!(inverse(0.5..=1.0, f64::NAN), Err(E::OutOfRange { .. })));
        let Err(E::TooFewLevels { levels: 6, reached, .. }) = inverse(1e-3..=1.0, 1e-6) else {
            panic!("six levels are too few");
        };
        let best = GoldschmidtInverse::with_steps(1e-3..=1.0, 4).unwrap();
        assert_eq!(reached, best.error());
        assert!(matches!(NewtonInverseSqrt::new(0.0..=1.0, 0.1, 9), Err(E::NotFinite { .. })));
        assert!(matches!(NewtonInverseSqrt::new(0.1..=1.0, 0.1, 0), Err(E::TooFewLevels { .. })));
    }
}
