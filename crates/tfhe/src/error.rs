//! The one error type of this crate.

use girih_backend::{BackendError, ShapeError};
use girih_rlwe::{KeyId, Mismatch};

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter set with an impossible value.
    #[error(transparent)]
    Parameter(#[from] ShapeError),
    /// A parameter file that is not even of the right form.
    #[error("parameter file: {0}")]
    ParameterFile(String),
    /// No built-in set of that name.
    #[error(
        "no parameter set `{name}`; the nearest are {nearest}{elsewhere} (`cargo xtask sets` \
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
    /// A key or ciphertext batch, serialized or assembled by hand,
    /// that does not hold what it should.
    #[error("{what}: {why}")]
    Malformed {
        /// What was read: `evaluation keys`, `ciphertexts`, ..
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
    #[error("{what} under client key {found} where client key {expected} is in use: {rule}")]
    WrongKey {
        /// What it is.
        what: &'static str,
        /// The first digits of the name of the key that is needed.
        expected: String,
        /// The first digits of the name of the key it has.
        found: String,
        /// Why one key must be that of all.
        rule: &'static str,
    },
    /// Batches, messages or tables that do not fit each other or the keys.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// An operation whose key was not made or not loaded.
    #[error("{what}: {wanted} is needed; {advice}")]
    MissingKey {
        /// The operation.
        what: String,
        /// The key that is needed.
        wanted: String,
        /// How to come by it.
        advice: &'static str,
    },
    /// Something whose errors are too large, or too likely too large, for what it is to give.
    #[error(
        "{what} would go wrong with a probability of 2^{log2_failure:.1} a message, above the \
         bound of 2^{log2_bound:.1}: take inputs with less error (bootstrapped, or sums of fewer \
         or smaller terms), messages of fewer bits or a set with less noise, or move the bound by \
         ServerKey::limit_failure"
    )]
    TooNoisy {
        /// What was asked for.
        what: String,
        /// log2 of the probability that one message goes wrong, by the noise model.
        log2_failure: f64,
        /// log2 of the bound that it is held to.
        log2_bound: f64,
    },
    /// A parameter set that is known but cannot be used this way yet.
    #[error("{set}: {why}")]
    Unsupported {
        /// Name of the set.
        set: String,
        /// What is missing.
        why: String,
    },
    /// The memory of the host ran out.
    #[error("no memory for {bytes} bytes of {what}")]
    OutOfMemory {
        /// What they were for.
        what: &'static str,
        /// How many were asked for.
        bytes: u64,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Entropy(String),
    /// The device refused or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<girih_rlwe::Error> for Error {
    fn from(error: girih_rlwe::Error) -> Self {
        match error {
            girih_rlwe::Error::Malformed { what, why } => Self::Malformed { what, why },
            girih_rlwe::Error::Entropy(why) => Self::Entropy(why),
            girih_rlwe::Error::TwoKeys { first, second } => Self::WrongKey {
                what: "ciphertexts",
                expected: format!("{first:.8}"),
                found: format!("{second:.8}"),
                rule: "what is combined must be under one key, or constants",
            },
            // Whatever else comes is of what was read or put together.
            other => Self::Malformed { what: "input", why: other.to_string() },
        }
    }
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn mismatch<T>(what: Mismatch) -> Result<T> {
    Err(Error::Mismatch(what))
}

/// The host has no memory for `bytes` of `what`.
pub(crate) fn out_of_memory<T>(what: &'static str, bytes: u64) -> Result<T> {
    Err(Error::OutOfMemory { what, bytes })
}

pub(crate) fn wrong_set<T>(
    what: &'static str,
    found: &impl ToString,
    expected: &impl ToString,
) -> Result<T> {
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Error::WrongSet { what, expected, found })
}

/// `found` is not `expected`, which it must be by `rule`.
pub(crate) fn wrong_key<T>(
    what: &'static str,
    [found, expected]: [KeyId; 2],
    rule: &'static str,
) -> Result<T> {
    let (expected, found) = (format!("{expected:.8}"), format!("{found:.8}"));
    Err(Error::WrongKey { what, expected, found, rule })
}

pub(crate) fn malformed<T>(what: &'static str, why: impl Into<String>) -> Result<T> {
    Err(Error::Malformed { what, why: why.into() })
}
