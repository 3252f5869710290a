//! The one error type of this crate.

use crate::approximation::ApproximationError;
use girih_backend::BackendError;

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter set with an impossible value.
    #[error("{field} = {value}: {rule}")]
    Parameter {
        /// The field, under the name parameter files give it.
        field: &'static str,
        /// The value it has.
        value: String,
        /// What is allowed.
        rule: String,
    },
    /// A parameter file that is not even of the right form.
    #[error("parameter file: {0}")]
    ParameterFile(String),
    /// No built-in set of that name.
    #[error(
        "no CKKS parameter set `{name}`; the nearest are {nearest}{elsewhere} (`cargo xtask sets` \
         lists all)"
    )]
    UnknownSet {
        /// The name asked for.
        name: String,
        /// The nearest names there are.
        nearest: String,
        /// Where sets of such a name are, if they are of another scheme.
        elsewhere: &'static str,
    },
    /// Keys or ciphertexts, serialized or assembled by hand, that do not hold what they should.
    #[error("{what}: {why}")]
    Malformed {
        /// What was read: `evaluation keys`, `ciphertext`, ..
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Something made for another parameter set.
    #[error("{what} of the set {found} where {expected} is in use")]
    WrongSet {
        /// What it is.
        what: &'static str,
        /// The set that is needed.
        expected: String,
        /// The set it has.
        found: String,
    },
    /// Something under another client key.
    #[error("{what} under client key {found} where client key {expected} is in use")]
    WrongKey {
        /// What it is.
        what: &'static str,
        /// The first digits of the name of the key that is needed.
        expected: String,
        /// The first digits of the name of the key it has.
        found: String,
    },
    /// A vector, polynomial or list of the wrong length.
    #[error("{what} has {found} entries: {rule}")]
    Length {
        /// What it is.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The lengths that are allowed.
        rule: String,
    },
    /// A number that cannot be encoded: not finite, or too large for the scale.
    #[error("{what} is {value}: {rule}")]
    Value {
        /// Which number, by its place.
        what: String,
        /// The number.
        value: String,
        /// What is allowed.
        rule: String,
    },
    /// A value to encrypt that exceeds the magnitude declared of all.
    #[error(
        "a value to encrypt exceeds the declared magnitude {declared}: declare one that no value \
         exceeds, with `within(magnitude)`. It is written on the ciphertext for all to see, so it \
         must not depend on the values"
    )]
    Magnitude {
        /// What was declared: 1 unless something else was said.
        declared: f64,
    },
    /// A level that the set does not have, or that an operation cannot start from.
    #[error("{operation} at level {level}: {rule}")]
    Level {
        /// What was asked for.
        operation: String,
        /// The level.
        level: usize,
        /// What is allowed, and what to do.
        rule: String,
    },
    /// A scale that is impossible, or two that should agree.
    #[error("{operation}: {rule}")]
    Scale {
        /// What was asked for.
        operation: String,
        /// Which scales there are, and what is allowed.
        rule: String,
    },
    /// An operation whose key was not made.
    #[error("{wanted} is not among the evaluation keys; there are {held}")]
    MissingKey {
        /// The key that is needed.
        wanted: String,
        /// The keys there are.
        held: String,
    },
    /// A use that this set does not provide for.
    #[error("{set}: {why}")]
    Unsupported {
        /// Name of the set.
        set: String,
        /// What is missing.
        why: String,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Entropy(String),
    /// Too few levels are left for an operation.
    #[error(
        "{operation} needs level {needed} or above, and the ciphertext stands at level {level}: \
         bootstrap it, or encrypt at a higher level"
    )]
    OutOfLevels {
        /// The operation.
        operation: String,
        /// The least level that serves.
        needed: usize,
        /// The ciphertext's level.
        level: usize,
    },
    /// Slots that may not fit: they would wrap around modulo the modulus of their level, or leave
    /// what a function is made for.
    #[error("{operation}: slots may reach {}, and {rule}", shown(*reach))]
    Room {
        /// The operation.
        operation: String,
        /// The magnitude that slots are counted with.
        reach: f64,
        /// What there is room for, and what to do.
        rule: String,
    },
    /// Something of a form that does not serve.
    #[error("{operation}: {rule}")]
    Shape {
        /// What was asked for.
        operation: String,
        /// What does not fit, and what would.
        rule: String,
    },
    /// Something used where it does not belong.
    #[error("{what} can be used only {rule}")]
    Order {
        /// What it is.
        what: &'static str,
        /// Where or when it belongs.
        rule: &'static str,
    },
    /// A function that no polynomial within reach approximates well enough,
    /// or input that makes no function.
    #[error(transparent)]
    Approximation(#[from] ApproximationError),
    /// The memory of a device ran out.
    #[error("{cause}; {advice}")]
    OutOfMemory {
        /// How much was asked for, for what, and how much is in use.
        cause: BackendError,
        /// What to do about it, the cheapest first.
        advice: String,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A bound as people read it.
pub(crate) fn shown(bound: f64) -> String {
    if bound == 0.0 || (1e-3..1e6).contains(&bound) {
        let digits = format!("{bound:.3}");
        return digits.trim_end_matches('0').trim_end_matches('.').into();
    }
    format!("{bound:.3e}")
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl From<girih_rlwe::Error> for Error {
    fn from(error: girih_rlwe::Error) -> Self {
        match error {
            girih_rlwe::Error::Malformed { what, why } => Self::Malformed { what, why },
            girih_rlwe::Error::Entropy(why) => Self::Entropy(why),
            girih_rlwe::Error::TwoKeys { first, second } => Self::WrongKey {
                what: "a ciphertext",
                expected: format!("{first:.8}"),
                found: format!("{second:.8}"),
            },
            other => Self::Malformed { what: "input", why: other.to_string() },
        }
    }
}

impl Error {
    /// A field, its value and the rule it breaks.
    pub(crate) fn parameter(
        field: &'static str,
        value: impl ToString,
        rule: impl Into<String>,
    ) -> Self {
        Self::Parameter { field, value: value.to_string(), rule: rule.into() }
    }
}

/// Refuses something that was read.
pub(crate) fn malformed<T>(what: &'static str, why: impl Into<String>) -> Result<T> {
    Err(Error::Malformed { what, why: why.into() })
}
