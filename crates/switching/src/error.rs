//! The one error type of this crate.

use girih_rlwe::{KeyId, Mismatch};

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What CKKS refuses: a key that was not made, too few levels, the device.
    #[error(transparent)]
    Ckks(#[from] girih_ckks::Error),
    /// What TFHE refuses: messages that do not fit, errors that are too large, the device.
    #[error(transparent)]
    Tfhe(#[from] girih_tfhe::Error),
    /// What numbers in slots refuse: look-ups that would be wrong too often, too many numbers.
    #[error(transparent)]
    Discrete(#[from] girih_discrete::Error),
    /// Bytes that do not hold what they should, or no randomness.
    #[error(transparent)]
    Shared(#[from] girih_rlwe::Error),
    /// Sets that cannot be switched between.
    #[error("{ckks} and {tfhe}: {why}")]
    Unsupported {
        /// Name of the CKKS set.
        ckks: String,
        /// Name of the TFHE set.
        tfhe: String,
        /// What is missing, and what would do.
        why: String,
    },
    /// Something under another client key.
    #[error("{what} under client key {found}: {rule} {expected}")]
    WrongKey {
        /// What it is.
        what: &'static str,
        /// The first digits of the name of the key that is needed.
        expected: String,
        /// The first digits of the name of the key it has.
        found: String,
        /// What is of the key that is needed.
        rule: &'static str,
    },
    /// Keys, ciphertexts and numbers that do not fit each other.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// Something made for another parameter set.
    #[error("{what} of {found}: {rule} {expected}")]
    WrongSet {
        /// What it is.
        what: &'static str,
        /// The set, or sets, that are needed.
        expected: String,
        /// The set, or sets, that it has.
        found: String,
        /// What is of the set that is needed.
        rule: &'static str,
    },
    /// Slots that were declared to be larger than a comparison or look-up is made for.
    #[error(
        "slots that were declared to reach {declared}, and a range of {range}: take a larger \
         range, or declare what they reach (`with_magnitude`)"
    )]
    Magnitude {
        /// What they were declared to reach.
        declared: f64,
        /// What the operation is made for.
        range: f64,
    },
    /// Tables of a modulus that messages cannot be read in.
    #[error(
        "tables modulo {found} of messages of which {messages} fill a turn: their modulus must \
         divide that; {advice}"
    )]
    Tables {
        /// Their modulus.
        found: u64,
        /// How many messages fill a turn.
        messages: u64,
        /// Which modulus serves.
        advice: String,
    },
    /// Something that must be known of ciphertexts, and was not said.
    #[error("{what} of which nobody has said {missing}: say so (`{by}`)")]
    Undeclared {
        /// What it is.
        what: &'static str,
        /// What must be known of it.
        missing: &'static str,
        /// What says so.
        by: &'static str,
    },
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// `found` is not the key that it must be: `rule` says of what that is.
pub(crate) fn wrong_key<T>(
    what: &'static str,
    found: KeyId,
    rule: &'static str,
    expected: KeyId,
) -> Result<T> {
    let (expected, found) = (format!("{expected:.8}"), format!("{found:.8}"));
    Err(Error::WrongKey { what, expected, found, rule })
}

/// `found` is not the set that it must be: `rule` says of what that is.
pub(crate) fn wrong_set<T>(
    what: &'static str,
    found: &impl ToString,
    rule: &'static str,
    expected: &impl ToString,
) -> Result<T> {
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Error::WrongSet { what, expected, found, rule })
}

pub(crate) fn mismatch<T>(what: Mismatch) -> Result<T> {
    Err(Error::Mismatch(what))
}
