//! The one error type of this crate.

use girih_rlwe::{Counts, Mismatch};

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What CKKS refuses: a set, keys of others, the device.
    #[error(transparent)]
    Ckks(#[from] girih_ckks::Error),
    /// Bytes that do not hold what they should.
    #[error(transparent)]
    Shared(#[from] girih_rlwe::Error),
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
    #[error("no discrete parameter set `{name}`; there are {known}")]
    UnknownSet {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A table that no look-up has.
    #[error("a table modulo {modulus}: {why}")]
    Table {
        /// Its modulus.
        modulus: u32,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// A number that a set does not hold.
    #[error("number {place} is {value}: {rule}")]
    Number {
        /// Its place.
        place: usize,
        /// The number.
        value: i64,
        /// What is allowed.
        rule: String,
    },
    /// A look-up that would be wrong too often.
    #[error(
        "a look-up of {what} would be wrong with probability 2^{log2_failure:.1} a ciphertext, and \
         2^{limit:.1} is allowed: {advice}"
    )]
    Failure {
        /// Which sum and tables.
        what: String,
        /// log2 of the probability.
        log2_failure: f64,
        /// log2 of the limit.
        limit: f64,
        /// The order, weights or range that would do.
        advice: String,
    },
    /// A table that takes more levels than its set has for them.
    #[error(
        "{what} take {needed} levels, and {set} has {found} for tables: take a smaller order or \
         modulus"
    )]
    Levels {
        /// Which tables.
        what: String,
        /// How many levels they take.
        needed: usize,
        /// Name of the set.
        set: String,
        /// How many levels it has for tables.
        found: usize,
    },
    /// Something made for another set of numbers.
    #[error("{what} of the set {found} where {expected} is in use")]
    WrongSet {
        /// What it is.
        what: &'static str,
        /// The set that is needed.
        expected: String,
        /// The set it has.
        found: String,
    },
    /// Things that do not belong together.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn mismatch<T>(what: Mismatch) -> Result<T> {
    Err(Error::Mismatch(what))
}

/// `found` of `what`, of which there must be another number.
pub(crate) fn count<T>(what: impl Into<String>, found: usize, allowed: Counts) -> Result<T> {
    mismatch(Mismatch::count(what, found, allowed))
}

pub(crate) fn wrong_set<T>(
    what: &'static str,
    found: &impl ToString,
    expected: &impl ToString,
) -> Result<T> {
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Error::WrongSet { what, expected, found })
}

/// Bytes of `what` that do not hold what they should.
pub(crate) fn malformed<T>(what: &'static str, why: String) -> Result<T> {
    Err(Error::Shared(girih_rlwe::Error::Malformed { what, why }))
}

impl From<girih_ckks::program::RecordError> for Error {
    fn from(error: girih_ckks::program::RecordError) -> Self {
        Self::Ckks(error.into())
    }
}
