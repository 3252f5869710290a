//! Chebyshev interpolation, and the least degree that is good enough.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use super::polynomial::{check_degree, clenshaw, ends, grid};
use super::{ApproximationError, Polynomial, levels_of_degree};

/// The point of [lo, hi] at u in [-1, 1]; the ends exactly, so that `f` is never asked outside.
fn point(lo: f64, hi: f64, u: f64) -> f64 {
    (lo + (hi - lo) * ((1.0 + u) / 2.0)).clamp(lo, hi)
}

fn checked(f: &dyn Fn(f64) -> f64, x: f64) -> Result<f64, ApproximationError> {
    let value = f(x);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(ApproximationError::NotFinite { what: format!("the function at {x}"), value })
    }
}

/// Refuses an interval on which 1/x is not finite.
pub(super) fn check_no_pole(lo: f64, hi: f64) -> Result<(), ApproximationError> {
    if lo > 0.0 || hi < 0.0 {
        return Ok(());
    }
    let what = format!("1/x between {lo} and {hi}");
    Err(ApproximationError::NotFinite { what, value: f64::INFINITY })
}

pub(super) fn interpolate(
    f: &dyn Fn(f64) -> f64,
    lo: f64,
    hi: f64,
    degree: usize,
) -> Result<Polynomial, ApproximationError> {
    let polynomial = Polynomial::from_chebyshev(&coefficients(f, lo, hi, degree)?, lo..=hi)?;
    let error = distance(f, lo, hi, &polynomial, degree)?;
    Ok(polynomial.with_error(error))
}

/// The coefficients of the polynomial that meets `f` at the roots of T_(degree + 1).
fn coefficients(
    f: &dyn Fn(f64) -> f64,
    lo: f64,
    hi: f64,
    degree: usize,
) -> Result<Vec<f64>, ApproximationError> {
    let points = degree + 1;
    // cos(pi k / (2 points)) for k below 4 points: every cosine that is needed.
    let cosines: Vec<f64> =
        (0..4 * points).map(|k| (PI * k as f64 / (2 * points) as f64).cos()).collect();
    let values: Vec<f64> = (0..points)
        .map(|i| checked(f, point(lo, hi, cosines[2 * i + 1])))
        .collect::<Result<_, _>>()?;
    let mut list: Vec<f64> = (0..points)
        .map(|j| {
            let sum: f64 =
                (0..points).map(|i| values[i] * cosines[j * (2 * i + 1) % (4 * points)]).sum();
            sum * if j == 0 { 1.0 } else { 2.0 } / points as f64
        })
        .collect();
    // What only rounding has left, such as the even coefficients of an odd function, would cost
    // products on ciphertexts.
    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    for c in &mut list {
        if c.abs() < largest * f64::EPSILON {
            *c = 0.0;
        }
    }
    Ok(list)
}

fn distance(
    f: &dyn Fn(f64) -> f64,
    lo: f64,
    hi: f64,
    polynomial: &Polynomial,
    degree: usize,
) -> Result<f64, ApproximationError> {
    let mut largest = 0.0f64;
    for u in grid(degree) {
        let error = clenshaw(polynomial.coefficients(), u) - checked(f, point(lo, hi, u))?;
        largest = largest.max(error.abs());
    }
    Ok(largest)
}

/// The least degree whose interpolation is good enough: doubled until it is, then halved in.
pub(super) fn fit(
    f: &dyn Fn(f64) -> f64,
    lo: f64,
    hi: f64,
    error: f64,
    max_degree: usize,
) -> Result<Polynomial, ApproximationError> {
    if !(error > 0.0 && error.is_finite()) {
        return Err(ApproximationError::OutOfRange {
            what: "an error",
            value: error,
            below: f64::INFINITY,
        });
    }
    let good = |p: &Polynomial| p.error().is_some_and(|e| e <= error);
    // `least` is not good enough (nothing is below degree 0), `best` is.
    let mut least = None;
    let mut degree = 0;
    let mut best = loop {
        let found = interpolate(f, lo, hi, degree)?;
        if good(&found) {
            break found;
        }
        if degree == max_degree {
            return Err(ApproximationError::TooHard {
                wanted: error,
                degree: max_degree,
                levels: levels_of_degree(max_degree),
                reached: found.error().unwrap_or(f64::INFINITY),
            });
        }
        least = Some(degree);
        degree = (2 * degree + 1).min(max_degree);
    };
    let (mut low, mut high) = (least.map_or(0, |d| d + 1), degree);
    while low < high {
        let middle = low + (high - low) / 2;
        let found = interpolate(f, lo, hi, middle)?;
        if good(&found) {
            (best, high) = (found, middle);
        } else {
            low = middle + 1;
        }
    }
    Ok(best)
}

impl Polynomial {
    /// The polynomial of `degree` that meets `f` at the Chebyshev points of `interval`, and its
    /// error as [`Polynomial::fit`] measures it.
    ///
    /// # Errors
    /// For a degree above [`MAX_DEGREE`], no interval, or an `f` that is not finite somewhere.
    pub fn interpolate(
        f: impl Fn(f64) -> f64,
        interval: RangeInclusive<f64>,
        degree: usize,
    ) -> Result<Self, ApproximationError> {
        check_degree(degree)?;
        let (lo, hi) = ends(&interval)?;
        interpolate(&f, lo, hi, degree)
    }

    /// The polynomial of least degree, up to `max_degree`, whose distance from `f` on `interval` is
    /// at most `error`: measured on a grid of at least 4,096 points, 32 a degree, that is denser
    /// towards the ends. [`Polynomial::error`] tells what it reached.
    ///
    /// # Errors
    /// [`ApproximationError::TooHard`] when `max_degree` does not suffice (it says what it
    /// reaches), else as [`Polynomial::interpolate`] and for an error that is not above 0.
    pub fn fit(
        f: impl Fn(f64) -> f64,
        interval: RangeInclusive<f64>,
        error: f64,
        max_degree: usize,
    ) -> Result<Self, ApproximationError> {
        check_degree(max_degree)?;
        let (lo, hi) = ends(&interval)?;
        fit(&f, lo, hi, error, max_degree)
    }

    /// 1/x on an interval that does not hold 0, to an absolute `error`.
    ///
    /// The degree grows with the root of hi/lo: at hi = 100 lo, degree 127 leaves a relative error
    /// of about 2^-36 at lo.
    ///
    /// # Errors
    /// As [`Polynomial::fit`]; also when the interval holds 0.
    pub fn inverse(
        interval: RangeInclusive<f64>,
        error: f64,
        max_degree: usize,
    ) -> Result<Self, ApproximationError> {
        let (lo, hi) = ends(&interval)?;
        check_no_pole(lo, hi)?;
        Self::fit(|x| 1.0 / x, interval, error, max_degree)
    }

    /// 1/x on an interval that does not hold 0, to a *relative* `error`: p(x) x is 1 within it
    /// everywhere, however large x is. [`Polynomial::error`] is the absolute error that is left
    /// where 1/x is largest.
    ///
    /// It is the best polynomial of its degree n: 1 - x p(x) is the Chebyshev polynomial of degree
    /// n + 1 on the interval, divided by its value at 0. So the degree grows with the root of
    /// hi/lo: 37 for hi = 100 lo and an error of 10^-3.
    ///
    /// ```
    /// use girih_ckks::approximation::Polynomial;
    ///
    /// let p = Polynomial::relative_inverse(1e3..=1e5, 1e-3, 63)?;
    /// assert!((p.evaluate(1e5) * 1e5 - 1.0).abs() <= 1e-3);
    /// // To an absolute error of 10^-3 a constant would do.
    /// assert_eq!(Polynomial::inverse(1e3..=1e5, 1e-3, 63)?.degree(), 0);
    /// # Ok::<(), girih_ckks::approximation::ApproximationError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Polynomial::inverse`], for an error from 1 on as well.
    pub fn relative_inverse(
        interval: RangeInclusive<f64>,
        error: f64,
        max_degree: usize,
    ) -> Result<Self, ApproximationError> {
        check_degree(max_degree)?;
        let (lo, hi) = ends(&interval)?;
        check_no_pole(lo, hi)?;
        if !(error > 0.0 && error < 1.0) {
            let what = "a relative error";
            return Err(ApproximationError::OutOfRange { what, value: error, below: 1.0 });
        }
        // |T_n| at 0, which lies outside the interval, is cosh(n growth).
        let growth = ((hi + lo).abs() / (hi - lo)).acosh();
        let reached = |degree: usize| 1.0 / ((degree + 1) as f64 * growth).cosh();
        let Some(degree) = (0..=max_degree).find(|&degree| reached(degree) <= error) else {
            return Err(ApproximationError::TooHard {
                wanted: error,
                degree: max_degree,
                levels: levels_of_degree(max_degree),
                reached: reached(max_degree),
            });
        };
        let chebyshev = |x: f64| {
            let u = ((2.0 * x - lo - hi) / (hi - lo)).clamp(-1.0, 1.0);
            ((degree + 1) as f64 * u.acos()).cos()
        };
        // T of the other sign at 0 where the interval lies above it and n + 1 is odd.
        let sign = if lo > 0.0 && degree % 2 == 0 { -1.0 } else { 1.0 };
        let p = |x: f64| (1.0 - sign * reached(degree) * chebyshev(x)) / x;
        let polynomial = Self::from_chebyshev(&coefficients(&p, lo, hi, degree)?, lo..=hi)?;
        let absolute = distance(&|x| 1.0 / x, lo, hi, &polynomial, degree)?;
        Ok(polynomial.with_error(absolute))
    }

    /// The root of x on an interval from 0 or above, to an absolute `error`.
    ///
    /// From exactly 0 on it converges like 1/degree only, elsewhere geometrically.
    ///
    /// # Errors
    /// As [`Polynomial::fit`]; also when the interval begins below 0.
    pub fn sqrt(
        interval: RangeInclusive<f64>,
        error: f64,
        max_degree: usize,
    ) -> Result<Self, ApproximationError> {
        Self::fit(f64::sqrt, interval, error, max_degree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reported error against a grid of another kind, 10,007 equally spaced points.
    fn largest_error(f: impl Fn(f64) -> f64, p: &Polynomial) -> f64 {
        let (lo, hi) = (*p.interval().start(), *p.interval().end());
        (0..10_007)
            .map(|i| (lo + (hi - lo) * f64::from(i) / 10_006.0).min(hi))
            .map(|x| (p.evaluate(x) - f(x)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn reported_errors_hold_everywhere() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        for wanted in [1e-2, 1e-4, 1e-8] {
            let p = Polynomial::fit(sigmoid, -8.0..=8.0, wanted, 255).unwrap();
            let told = p.error().unwrap();
            let measured = largest_error(sigmoid, &p);
            assert!(told <= wanted && measured <= told * 1.005 + 1e-14, "{told} {measured}");
            // One degree less is not good enough (the sigmoid is odd but for its constant, so that
            // two degrees less is the fair question).
            let shorter = Polynomial::interpolate(sigmoid, -8.0..=8.0, p.degree() - 2).unwrap();
            assert!(shorter.error().unwrap() > wanted);
        }
    }

    #[test]
    fn analytic_functions_reach_the_precision_of_f64() {
        let p = Polynomial::fit(f64::exp, -1.0..=1.0, 1e-13, 63).unwrap();
        assert!(p.degree() <= 15, "{}", p.degree());
        assert!(largest_error(f64::exp, &p) < 2e-13);
    }

    #[test]
    fn inverses_and_roots() {
        let p = Polynomial::inverse(0.1..=10.0, 1e-6, 255).unwrap();
        assert!(largest_error(|x| 1.0 / x, &p) <= 1.005e-6);
        let p = Polynomial::inverse(-4.0..=-0.5, 1e-8, 63).unwrap();
        assert!(largest_error(|x| 1.0 / x, &p) <= 1.005e-8);
        let p = Polynomial::sqrt(0.01..=1.0, 1e-6, 255).unwrap();
        assert!(largest_error(f64::sqrt, &p) <= 1.005e-6);
    }

    #[test]
    fn inverses_to_a_relative_error() {
        for (lo, hi) in [(1e3, 1e5), (-1e5, -1e3), (0.5, 2.0), (-3.0, -0.01)] {
            for wanted in [0.1, 1e-3, 1e-6] {
                let p = Polynomial::relative_inverse(lo..=hi, wanted, 255).unwrap();
                let relative = |p: &Polynomial| {
                    let at = |i: i32| (lo + (hi - lo) * f64::from(i) / 10_006.0).min(hi);
                    let errors = (0..10_007).map(at).map(|x| (p.evaluate(x) * x - 1.0).abs());
                    errors.fold(0.0, f64::max)
                };
                let found = relative(&p);
                assert!(found <= wanted * 1.0001, "[{lo}, {hi}]: {found:e}, not {wanted:e}");
                assert!(largest_error(|x| 1.0 / x, &p) <= 1.005 * p.error().unwrap() + 1e-14);
                // The interpolation of one degree less errs by more, and no other errs by less.
                if p.degree() > 0 {
                    let f = |x: f64| 1.0 / x;
                    let shorter = Polynomial::interpolate(f, lo..=hi, p.degree() - 1).unwrap();
                    assert!(relative(&shorter) > wanted, "[{lo}, {hi}], degree {}", p.degree());
                }
            }
        }
        let degree = Polynomial::relative_inverse(1e3..=1e5, 1e-3, 63).unwrap().degree();
        assert_eq!(degree, 37);
        let error = Polynomial::relative_inverse(1e3..=1e5, 1e-3, 31).unwrap_err();
        assert!(matches!(error, ApproximationError::TooHard { degree: 31, .. }), "{error}");
        for wanted in [0.0, 1.0, f64::NAN] {
            let error = Polynomial::relative_inverse(1.0..=2.0, wanted, 31).unwrap_err();
            assert!(matches!(error, ApproximationError::OutOfRange { .. }), "{error}");
        }
        assert!(Polynomial::relative_inverse(-1.0..=1.0, 0.1, 31).is_err());
    }

    #[test]
    fn too_hard_says_what_was_reached() {
        let error = Polynomial::fit(f64::abs, -1.0..=1.0, 1e-6, 31).unwrap_err();
        let ApproximationError::TooHard { degree: 31, levels: 5, reached, .. } = error else {
            panic!("{error}");
        };
        // |x| at degree d: no better than about 0.28 / d.
        assert!(reached > 0.28 / 31.0 && reached < 1.0 / 31.0, "{reached}");
        let error = Polynomial::fit(f64::abs, -1.0..=1.0, 0.0, 31).unwrap_err();
        assert!(matches!(error, ApproximationError::OutOfRange { .. }), "{error}");
    }

    #[test]
    fn constants_have_degree_0() {
        let p = Polynomial::fit(|_| 2.5, 0.0..=1.0, 1e-12, 63).unwrap();
        assert_eq!((p.degree(), p.levels()), (0, 0));
        assert!((p.coefficients()[0] - 2.5).abs() < 1e-15);
    }
}
