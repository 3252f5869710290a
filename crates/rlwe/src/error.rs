//! The error type of this crate.

use crate::KeyId;

/// Why something was refused. Schemes turn it into errors of their own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Serialized bytes, or parts assembled by hand, that do not hold what they should.
    #[error("{what}: {why}")]
    Malformed {
        /// What was read: `evaluation keys`, `ciphertexts`, ..
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Things under two client keys where all must be under one.
    #[error(
        "ciphertexts under client key {first:.8} and under client key {second:.8}: what is \
         combined must be under one key, or constants"
    )]
    TwoKeys {
        /// The name that came first.
        first: KeyId,
        /// A name that differs from it.
        second: KeyId,
    },
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Entropy(String),
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn malformed<T>(what: &'static str, why: impl Into<String>) -> Result<T> {
    Err(Error::Malformed { what, why: why.into() })
}
