//! Polynomials in the Chebyshev basis of an interval.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use super::{ApproximationError, MAX_DEGREE};

/// The levels that a polynomial of `degree` takes on a ciphertext: the bits of the degree.
///
/// A constant takes none, a line one, degrees 2 and 3 two, 4 to 7 three. An interval other than
/// [-1, 1] takes one more, for the line that maps it there.
pub fn levels_of_degree(degree: usize) -> usize {
    (usize::BITS - degree.leading_zeros()) as usize
}

/// A polynomial `sum_j c_j T_j(u)` on an interval \[lo, hi\], where `u = (2 x - lo - hi) / (hi -
/// lo)` lies in \[-1, 1\] and T_j is the Chebyshev polynomial of degree j.
///
/// ```
/// use girih_ckks::approximation::Polynomial;
///
/// let sigmoid = Polynomial::fit(|x| 1.0 / (1.0 + (-x).exp()), -8.0..=8.0, 1e-4, 63)?;
/// assert!(sigmoid.degree() < 32 && sigmoid.error().is_some_and(|e| e <= 1e-4));
/// assert!((sigmoid.evaluate(1.0) - 0.731_058_6).abs() < 1e-4);
/// # Ok::<(), girih_ckks::approximation::ApproximationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    lo: f64,
    hi: f64,
    coefficients: Vec<f64>,
    error: Option<f64>,
}

impl Polynomial {
    /// The polynomial with these coefficients of T_0, T_1, .. on `interval`. Trailing zeros go.
    ///
    /// # Errors
    /// Without coefficients, for one that is not finite, more than [`MAX_DEGREE`] + 1 of them, or
    /// no interval.
    pub fn from_chebyshev(
        coefficients: &[f64],
        interval: RangeInclusive<f64>,
    ) -> Result<Self, ApproximationError> {
        let (lo, hi) = ends(&interval)?;
        if coefficients.is_empty() {
            return Err(ApproximationError::NoCoefficients);
        }
        if let Some((j, &value)) = coefficients.iter().enumerate().find(|(_, c)| !c.is_finite()) {
            return Err(ApproximationError::NotFinite { what: format!("coefficient {j}"), value });
        }
        let last = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0);
        check_degree(last)?;
        Ok(Self { lo, hi, coefficients: coefficients[..=last].to_vec(), error: None })
    }

    /// The polynomial `sum_j a_j x^j` on `interval`.
    ///
    /// Powers are turned into Chebyshev polynomials in f64: beyond degree 40 or on an interval far
    /// from 0, where large terms of opposite signs meet, fit a closure instead.
    ///
    /// # Errors
    /// As [`Polynomial::from_chebyshev`].
    pub fn from_powers(
        powers: &[f64],
        interval: RangeInclusive<f64>,
    ) -> Result<Self, ApproximationError> {
        let (lo, hi) = ends(&interval)?;
        if powers.is_empty() {
            return Err(ApproximationError::NoCoefficients);
        }
        check_degree(powers.len() - 1)?;
        // Horner's rule on lists of Chebyshev coefficients: x is the line centre + half u.
        let (centre, half) = (lo + (hi - lo) / 2.0, (hi - lo) / 2.0);
        let mut list = vec![0.0; powers.len() + 1];
        for &power in powers.iter().rev() {
            let mut next: Vec<f64> = list.iter().map(|c| centre * c).collect();
            for (j, &c) in list[..powers.len()].iter().enumerate() {
                // u T_0 = T_1, u T_j = (T_(j+1) + T_(j-1)) / 2.
                if j == 0 {
                    next[1] += half * c;
                } else {
                    next[j + 1] += half * c / 2.0;
                    next[j - 1] += half * c / 2.0;
                }
            }
            next[0] += power;
            list = next;
        }
        list.truncate(powers.len());
        Self::from_chebyshev(&list, interval)
    }

    pub(super) fn with_error(mut self, error: f64) -> Self {
        self.error = Some(error);
        self
    }

    /// The coefficients of T_0 to T_degree.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The degree.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Where it holds.
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.lo..=self.hi
    }

    /// Its largest distance from the function that it was made for; none for a polynomial that was
    /// given by its coefficients.
    pub fn error(&self) -> Option<f64> {
        self.error
    }

    /// Whether the interval is [-1, 1], so that no line has to map it there.
    pub fn is_on_unit_interval(&self) -> bool {
        self.lo == -1.0 && self.hi == 1.0
    }

    /// Levels that evaluating it takes, the line from the interval to [-1, 1] included.
    pub fn levels(&self) -> usize {
        // A line and the line before it are one.
        let map = usize::from(!self.is_on_unit_interval() && self.degree() > 1);
        levels_of_degree(self.degree()) + map
    }

    /// The line `u = slope x + offset` that maps the interval to [-1, 1].
    pub fn to_unit(&self) -> (f64, f64) {
        let width = self.hi - self.lo;
        (2.0 / width, -(self.lo + self.hi) / width)
    }

    /// Its value at `x`, by Clenshaw's recurrence.
    pub fn evaluate(&self, x: f64) -> f64 {
        let (slope, offset) = self.to_unit();
        clenshaw(&self.coefficients, x.mul_add(slope, offset))
    }

    /// The polynomial `factor p + constant` on the same interval; its error grows by |factor|.
    #[must_use]
    pub fn affine(mut self, factor: f64, constant: f64) -> Self {
        for c in &mut self.coefficients {
            *c *= factor;
        }
        self.coefficients[0] += constant;
        self.error = self.error.map(|e| e * factor.abs());
        self
    }

    /// The largest |p| and |p'| (by x) on a dense grid of the interval: how large results become,
    /// and by how much an error of x grows.
    pub fn bounds(&self) -> (f64, f64) {
        let derivative = derivative(&self.coefficients);
        let points = grid(self.degree());
        let (slope, _) = self.to_unit();
        let largest =
            |list: &[f64]| points.iter().map(|&u| clenshaw(list, u).abs()).fold(0.0, f64::max);
        (largest(&self.coefficients), slope * largest(&derivative))
    }
}

/// `sum_j c_j T_j(u)`.
pub(super) fn clenshaw(coefficients: &[f64], u: f64) -> f64 {
    let (mut one, mut two) = (0.0, 0.0);
    for &c in coefficients[1..].iter().rev() {
        (one, two) = ((2.0 * u).mul_add(one, c - two), one);
    }
    u.mul_add(one, coefficients[0] - two)
}

/// The Chebyshev coefficients of the derivative by u.
fn derivative(coefficients: &[f64]) -> Vec<f64> {
    let degree = coefficients.len() - 1;
    let mut out = vec![0.0; degree.max(1)];
    // d_(j-1) = d_(j+1) + 2 j c_j, and the first is halved.
    for j in (1..=degree).rev() {
        let above = out.get(j + 1).copied().unwrap_or(0.0);
        out[j - 1] = above + 2.0 * j as f64 * coefficients[j];
    }
    out[0] /= 2.0;
    out
}

pub(super) fn ends(interval: &RangeInclusive<f64>) -> Result<(f64, f64), ApproximationError> {
    let (lo, hi) = (*interval.start(), *interval.end());
    if lo < hi && (hi - lo).is_finite() {
        Ok((lo, hi))
    } else {
        Err(ApproximationError::Interval { lo, hi })
    }
}

pub(super) fn check_degree(degree: usize) -> Result<(), ApproximationError> {
    if degree <= MAX_DEGREE {
        Ok(())
    } else {
        Err(ApproximationError::Degree { degree, rule: "too high" })
    }
}

/// Points of [-1, 1] on which errors are measured: Chebyshev extrema, 32 a degree, at least 4,096.
/// Between two of them a polynomial of that degree changes by less than 0.5 % of its maximum.
pub(super) fn grid(degree: usize) -> Vec<f64> {
    let intervals = 4096.max(32 * (degree + 1));
    (0..=intervals).map(|i| (PI * i as f64 / intervals as f64).cos()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T_0 to T_3 as powers, on an interval whose centre is not 0.
    #[test]
    fn powers_become_chebyshev_coefficients() {
        let p = Polynomial::from_powers(&[3.0, -1.0, 0.5, 2.0], -1.0..=4.0).unwrap();
        assert_eq!(p.degree(), 3);
        for i in 0..=50 {
            let x = -1.0 + 0.1 * f64::from(i);
            let plain = 3.0 - x + 0.5 * x * x + 2.0 * x.powi(3);
            assert!((p.evaluate(x) - plain).abs() < 1e-12 * (1.0 + plain.abs()), "{x}");
        }
        let t3 = Polynomial::from_powers(&[0.0, -3.0, 0.0, 4.0], -1.0..=1.0).unwrap();
        for (c, wanted) in t3.coefficients().iter().zip([0.0, 0.0, 0.0, 1.0]) {
            assert!((c - wanted).abs() < 1e-15);
        }
    }

    #[test]
    fn levels_are_bits_of_the_degree() {
        let of = [0, 1, 2, 3, 4, 7, 8, 15, 27, 31, 63].map(levels_of_degree);
        assert_eq!(of, [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]);
        let on = |list: &[f64], hi| Polynomial::from_chebyshev(list, -1.0..=hi).unwrap().levels();
        assert_eq!([on(&[0.0, 1.0], 2.0), on(&[0.0, 0.0, 1.0], 2.0)], [1, 3]);
        assert_eq!([on(&[0.0, 1.0], 1.0), on(&[0.0, 0.0, 1.0], 1.0)], [1, 2]);
        assert_eq!(Polynomial::from_chebyshev(&[5.0, 0.0], 0.0..=2.0).unwrap().levels(), 0);
    }

    #[test]
    fn bounds_of_a_known_polynomial() {
        // x^2 - 1 on [-2, 2]: at most 3 in magnitude, slope at most 4.
        let p = Polynomial::from_powers(&[-1.0, 0.0, 1.0], -2.0..=2.0).unwrap();
        let (value, slope) = p.bounds();
        assert!((value - 3.0).abs() < 1e-12 && (slope - 4.0).abs() < 1e-12, "{value} {slope}");
        let (value, slope) = p.affine(-2.0, 1.0).bounds();
        assert!((value - 5.0).abs() < 1e-12 && (slope - 8.0).abs() < 1e-12, "{value} {slope}");
    }

    #[test]
    fn bad_input_is_refused() {
        use ApproximationError as E;
        let interval = Polynomial::from_chebyshev(&[1.0], 1.0..=1.0);
        assert_eq!(interval, Err(E::Interval { lo: 1.0, hi: 1.0 }));
        let interval = Polynomial::from_chebyshev(&[1.0], f64::NAN..=1.0);
        assert!(matches!(interval, Err(E::Interval { .. })));
        assert_eq!(Polynomial::from_chebyshev(&[], 0.0..=1.0), Err(E::NoCoefficients));
        let nan = Polynomial::from_chebyshev(&[0.0, f64::NAN], 0.0..=1.0);
        assert!(matches!(nan, Err(E::NotFinite { .. })));
        let degree = Polynomial::interpolate(f64::exp, 0.0..=1.0, MAX_DEGREE + 1);
        assert!(matches!(degree, Err(E::Degree { .. })));
        assert!(matches!(Polynomial::inverse(-1.0..=1.0, 0.1, 31), Err(E::NotFinite { .. })));
        let below = Polynomial::sqrt(-1.0..=1.0, 0.1, 31);
        assert!(matches!(below, Err(E::NotFinite { .. })), "{below:?}");
    }
}
