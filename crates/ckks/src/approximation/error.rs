//! Why something could not be approximated.

use super::MAX_DEGREE;

/// Why something could not be approximated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ApproximationError {
    /// The ends of an interval are no interval.
    #[error("interval {lo} to {hi}: both ends must be finite and the first below the second")]
    Interval {
        /// The first end.
        lo: f64,
        /// The second end.
        hi: f64,
    },
    /// A polynomial without coefficients.
    #[error("a polynomial needs at least one coefficient; the zero polynomial is the list [0]")]
    NoCoefficients,
    /// A number that is NaN or infinite.
    #[error("{what} is {value}: it must be finite")]
    NotFinite {
        /// Where it was met.
        what: String,
        /// The number.
        value: f64,
    },
    /// A degree that cannot be had.
    #[error("degree {degree}: {rule} (at most {MAX_DEGREE})")]
    Degree {
        /// The degree asked for.
        degree: usize,
        /// What degrees there may be.
        rule: &'static str,
    },
    /// A wanted error, or a gap, that is not strictly between 0 and its bound.
    #[error("{what} of {value}: it must be above 0 and below {below}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it must stay below.
        below: f64,
    },
    /// No polynomial of the allowed degree is good enough.
    #[error(
        "an error of {wanted:.3e} needs a degree above {degree} ({levels} levels), which reaches \
         {reached:.3e}: \
         allow more levels, a larger error or a smaller interval"
    )]
    TooHard {
        /// The wanted error.
        wanted: f64,
        /// The largest degree allowed.
        degree: usize,
        /// The levels that it takes.
        levels: usize,
        /// The error that it reaches.
        reached: f64,
    },
    /// An iteration of the allowed levels is not good enough.
    #[error(
        "an error of {wanted:.3e} needs more than {levels} levels, which reach {reached:.3e}: \
         allow more levels, a larger error or a smaller interval"
    )]
    TooFewLevels {
        /// The wanted error.
        wanted: f64,
        /// The levels allowed.
        levels: usize,
        /// The error that they reach; infinite where they are too few for a first guess.
        reached: f64,
    },
}
