//! The sign function as a composition of minimax polynomials.
//!
//! One polynomial that steps from -1 to 1 within a small gap needs a huge degree. A composition
//! needs few products: each polynomial pushes values towards 1 and -1, and the next one takes the
//! narrower range over. Each being the odd minimax polynomial of its range makes the composition
//! optimal for its degrees (Lee, Lee, No, Kim: "Minimax approximation of sign function by composite
//! polynomial for homomorphic comparison", 2021). Degrees 15, 15, 27 make a ReLU of 13 bits.
//!
//! Here each polynomial but the last is divided by the largest value that it takes, so that every
//! one works on [-1, 1] and no level is lost on mapping intervals.

use super::minimax::minimax;
use super::{ApproximationError, MAX_DEGREE, Polynomial, levels_of_degree};

/// Polynomials p_1, .., p_k on [-1, 1] with |p_k(..p_1(x)..) - sign(x)| at most
/// [`CompositeSign::error`] wherever gap <= |x| <= 1. Between -gap and gap values lie anywhere
/// between -1 - error and 1 + error.
///
/// ```
/// use girih_ckks::approximation::CompositeSign;
///
/// let sign = CompositeSign::new(0.01, 1e-3)?;
/// assert!(sign.levels() <= 10 && sign.error() <= 1e-3);
/// assert!((sign.evaluate(-0.02) + 1.0).abs() <= 1e-3);
/// # Ok::<(), girih_ckks::approximation::ApproximationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CompositeSign {
    polynomials: Vec<Polynomial>,
    gap: f64,
    error: f64,
}

/// The most levels of one of the polynomials that the search tries: degree 31. Longer ones gain
/// no level (two of degree 7 take six levels and do more than one of degree 63).
const MOST_LEVELS: usize = 5;

/// The most levels in all that the search tries.
const SEARCH_LEVELS: usize = 40;

impl CompositeSign {
    /// The composition with fewest levels, and among those with low degrees, whose error outside
    /// the gap is at most `error`.
    ///
    /// # Errors
    /// [`ApproximationError::OutOfRange`] for a gap or an error that is not between 2^-30 and 1/2.
    pub fn new(gap: f64, error: f64) -> Result<Self, ApproximationError> {
        const LEAST: f64 = 1.0 / (1u64 << 30) as f64;
        for (what, value) in [("a gap", gap), ("an error", error)] {
            if !(LEAST..0.5).contains(&value) {
                return Err(ApproximationError::OutOfRange { what, value, below: 0.5 });
            }
        }
        let mut degrees = fewest_levels(gap, error);
        // A level is spent whole or not at all: from the last on, lower each degree within its
        // levels as long as the error allows.
        for i in (0..degrees.len()).rev() {
            let least = (1 << (levels_of_degree(degrees[i]) - 1)) + 1;
            while degrees[i] > least {
                degrees[i] -= 2;
                if compose(gap, &degrees).1 > error {
                    degrees[i] += 2;
                    break;
                }
            }
        }
        Self::with_degrees(gap, &degrees)
    }

    /// The composition with few levels for which x (1 + sign(x)) / 2 differs from max(x, 0) by at
    /// most `error` on all of [-1, 1], the gap included.
    ///
    /// There small x hide what the sign gets wrong, so that the gap may be much wider than `error`.
    ///
    /// # Errors
    /// [`ApproximationError::OutOfRange`] for an error that is not between 2^-26 and 1/16.
    pub fn for_relu(error: f64) -> Result<Self, ApproximationError> {
        if !(2f64.powi(-26)..0.0625).contains(&error) {
            return Err(ApproximationError::OutOfRange {
                what: "the error of a ReLU",
                value: error,
                below: 0.0625,
            });
        }
        // The wider the gap, the fewer levels, and the larger the error inside it. With gap =
        // error and sign error 2 error it holds for sure: |x| (1 + error) / 2 inside.
        let mut best = Self::new(error, error)?;
        let (mut low, mut high) = (0.0, 6.0);
        for _ in 0..7 {
            let middle = (low + high) / 2.0;
            let gap = (error * f64::exp2(middle)).min(0.49);
            let found = Self::new(gap, 2.0 * error)?;
            if found.relu_error() <= error {
                (best, low) = (found, middle);
            } else {
                high = middle;
            }
        }
        Ok(best)
    }

    /// The largest distance of x (1 + sign(x)) / 2 from max(x, 0) on [-1, 1], measured on a grid
    /// of 20,000 points that is denser towards 0.
    pub fn relu_error(&self) -> f64 {
        (0..=20_000)
            .map(|i| (f64::from(i) / 20_000.0).powi(4))
            .map(|x| x * (1.0 - self.evaluate(x)).abs() / 2.0)
            .fold(0.0, f64::max)
    }

    /// The best composition of these degrees.
    ///
    /// # Errors
    /// For a gap that is not between 0 and 1, no degrees, or one that is even or above 63.
    pub fn with_degrees(gap: f64, degrees: &[usize]) -> Result<Self, ApproximationError> {
        if !(gap > 0.0 && gap < 1.0) {
            return Err(ApproximationError::OutOfRange { what: "a gap", value: gap, below: 1.0 });
        }
        if degrees.is_empty() {
            return Err(ApproximationError::NoCoefficients);
        }
        if let Some(&degree) = degrees.iter().find(|&&d| d % 2 == 0 || d > 63) {
            return Err(ApproximationError::Degree { degree, rule: "odd, from 1 to 63" });
        }
        let (lists, error) = compose(gap, degrees);
        let polynomials = lists
            .iter()
            .map(|list| Polynomial::from_chebyshev(list, -1.0..=1.0))
            .collect::<Result<_, _>>()?;
        Ok(Self { polynomials, gap, error })
    }

    /// The polynomials, in the order of application, each on [-1, 1].
    pub fn polynomials(&self) -> &[Polynomial] {
        &self.polynomials
    }

    /// Their degrees.
    pub fn degrees(&self) -> Vec<usize> {
        self.polynomials.iter().map(Polynomial::degree).collect()
    }

    /// The magnitude from which on the sign is right.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// The largest distance from 1 or -1 outside the gap.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Levels that evaluating it takes, on a ciphertext whose slots lie in [-1, 1].
    pub fn levels(&self) -> usize {
        self.polynomials.iter().map(Polynomial::levels).sum()
    }

    /// Its value at `x` in [-1, 1].
    pub fn evaluate(&self, x: f64) -> f64 {
        self.polynomials.iter().fold(x, |x, p| p.evaluate(x))
    }

    /// `factor sign(x) + constant`, folded into the last polynomial: no level more.
    #[must_use]
    pub fn affine(mut self, factor: f64, constant: f64) -> Self {
        if let Some(last) = self.polynomials.pop() {
            self.polynomials.push(last.affine(factor, constant));
        }
        self.error *= factor.abs();
        self
    }
}

/// Coefficients of the best composition and its error. All but the last are divided by the largest
/// value that they take on [gap, 1].
fn compose(gap: f64, degrees: &[usize]) -> (Vec<Vec<f64>>, f64) {
    debug_assert!(degrees.iter().all(|&d| d <= MAX_DEGREE));
    let (mut lists, mut gap, mut error) = (Vec::with_capacity(degrees.len()), gap, 1.0);
    for (i, &degree) in degrees.iter().enumerate() {
        let mut best = minimax(gap, degree);
        error = best.error;
        if i + 1 < degrees.len() {
            for c in &mut best.coefficients {
                *c /= 1.0 + error;
            }
            gap = (1.0 - error) / (1.0 + error);
        }
        lists.push(best.coefficients);
    }
    (lists, error)
}

/// Degrees 2^k - 1 that reach `error` in the fewest levels.
///
/// What a composition of L levels can do at best is the best that one more polynomial makes of the
/// best of fewer levels, because a wider gap never hurts (the argument of Lee et al.).
fn fewest_levels(gap: f64, error: f64) -> Vec<usize> {
    // best[L]: the widest gap that L levels leave, and the degrees for it.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![Some((gap, Vec::new()))];
    let target = (1.0 - error) / (1.0 + error);
    for levels in 1..=SEARCH_LEVELS {
        let mut found: Option<(f64, Vec<usize>)> = None;
        // A line does nothing; degree 3 takes two levels.
        for last in 2..=MOST_LEVELS.min(levels) {
            let Some((gap, degrees)) = &best[levels - last] else { continue };
            let error = minimax(*gap, (1 << last) - 1).error;
            let left = (1.0 - error) / (1.0 + error);
            if found.as_ref().is_none_or(|(widest, _)| left > *widest) {
                let degrees = degrees.iter().copied().chain([(1 << last) - 1]).collect();
                found = Some((left, degrees));
            }
        }
        if let Some((gap, degrees)) = &found
            && *gap >= target
        {
            return degrees.clone();
        }
        best.push(found);
    }
    // 2^-30 and 2^-30 take 37 levels; the caller refuses anything harder.
    best.pop().flatten().map_or_else(Vec::new, |(_, degrees)| degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest_error(sign: &CompositeSign) -> f64 {
        let gap = sign.gap();
        (0..=100_000)
            .map(|i| gap + (1.0 - gap) * (f64::from(i) / 100_000.0).powi(4))
            .flat_map(|x| [(x, 1.0), (-x, -1.0)])
            .map(|(x, wanted)| (sign.evaluate(x) - wanted).abs())
            .fold(0.0, f64::max)
    }

    /// Lee et al. (2022) publish degrees 15, 15, 27 for a ReLU of 13 bits: 13 levels.
    #[test]
    fn a_relu_of_thirteen_bits_takes_13_levels() {
        let published = CompositeSign::with_degrees(2f64.powi(-9), &[15, 15, 27]).unwrap();
        assert!(published.relu_error() < 2f64.powi(-13));
        let sign = CompositeSign::for_relu(2f64.powi(-13)).unwrap();
        assert!(sign.levels() <= 13, "{:?}", sign.degrees());
        assert!(sign.relu_error() <= 2f64.powi(-13));
        // It holds for negative inputs too: they leave x (1 + sign(x)) / 2 instead of 0.
        for i in 0..10_000 {
            let x = -(f64::from(i) / 10_000.0).powi(3);
            assert!((x * (1.0 + sign.evaluate(x)) / 2.0).abs() <= 2f64.powi(-13) * 1.001);
        }
    }

    #[test]
    fn errors_hold_outside_the_gap() {
        for bits in [3, 6, 10, 16, 20] {
            let wanted = 2f64.powi(-bits);
            let sign = CompositeSign::new(wanted, wanted).unwrap();
            assert!(sign.error() <= wanted);
            assert_eq!(sign.gap(), wanted);
            let degrees = sign.degrees();
            assert_eq!(degrees.len(), sign.polynomials().len());
            // Lower degrees within the same levels would not do.
            for (i, &degree) in degrees.iter().enumerate() {
                let mut lower = degrees.clone();
                lower[i] = degree - 2;
                let same = levels_of_degree(degree) == levels_of_degree(degree - 2);
                let error = CompositeSign::with_degrees(wanted, &lower).unwrap().error();
                assert!(!same || error > wanted, "{bits}: {lower:?} of {degrees:?}");
            }
            let measured = largest_error(&sign);
            assert!(measured <= sign.error() * (1.0 + 1e-6) + 1e-14, "{bits}: {measured}");
            assert!(measured >= sign.error() * 0.99, "{bits}: {measured}");
        }
    }

    #[test]
    fn inside_the_gap_values_stay_bounded() {
        let sign = CompositeSign::new(0.01, 1e-4).unwrap();
        for i in -1000..=1000 {
            let y = sign.evaluate(f64::from(i) / 100_000.0);
            assert!(y.abs() <= 1.0 + sign.error() * 1.000_001);
        }
        assert!(sign.evaluate(0.0).abs() < 1e-15);
    }

    #[test]
    fn a_step_is_an_affine_sign() {
        let step = CompositeSign::new(0.1, 1e-3).unwrap().affine(0.5, 0.5);
        assert!(step.error() <= 0.5e-3);
        assert!((step.evaluate(0.1) - 1.0).abs() <= step.error() * 1.000_001);
        assert!(step.evaluate(-0.1).abs() <= step.error() * 1.000_001);
    }

    #[test]
    fn the_hardest_is_found() {
        let least = 2f64.powi(-30);
        let sign = CompositeSign::new(least, least).unwrap();
        assert!(sign.error() <= least, "{} {:?}", sign.error(), sign.degrees());
        assert!(sign.levels() < SEARCH_LEVELS);
    }

    #[test]
    fn bad_input_is_refused() {
        use ApproximationError as E;
        assert!(matches!(CompositeSign::new(0.0, 0.1), Err(E::OutOfRange { .. })));
        assert!(matches!(CompositeSign::new(0.1, f64::NAN), Err(E::OutOfRange { .. })));
        assert!(matches!(CompositeSign::with_degrees(0.1, &[4]), Err(E::Degree { .. })));
        assert!(matches!(CompositeSign::with_degrees(0.1, &[]), Err(E::NoCoefficients)));
        assert!(matches!(CompositeSign::with_degrees(1.5, &[3]), Err(E::OutOfRange { .. })));
        for gap in [0.0, 1.0, f64::NAN] {
            assert!(matches!(CompositeSign::with_degrees(gap, &[3]), Err(E::OutOfRange { .. })));
        }
        assert!(matches!(CompositeSign::with_degrees(0.1, &[65]), Err(E::Degree { .. })));
        CompositeSign::with_degrees(0.1, &[63]).unwrap();
        for error in [2f64.powi(-27), 0.0625, f64::NAN] {
            assert!(matches!(CompositeSign::for_relu(error), Err(E::OutOfRange { .. })));
        }
    }
}
