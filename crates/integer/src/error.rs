//! The one error type of this crate.

use girih_rlwe::Mismatch;

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Integers, lengths, keys or amounts that do not fit each other.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// A set on which no server computes with integers.
    #[error("integers over {set}: {why}")]
    Unsupported {
        /// Name of the set.
        set: String,
        /// What is missing, and which sets have it.
        why: String,
    },
    /// A divisor that is known to be 0.
    #[error("the divisor is the known number 0")]
    DivisionByZero,
    /// Bytes that do not hold what they should.
    #[error("encrypted integers: {0}")]
    Malformed(String),
    /// Keys or ciphertexts of TFHE, or the device, refused or failed.
    #[error(transparent)]
    Tfhe(#[from] girih_tfhe::Error),
    /// Keys or ciphertexts of numbers in slots, or the device, refused or failed.
    #[error(transparent)]
    Discrete(#[from] girih_discrete::Error),
}

impl From<girih_backend::BackendError> for Error {
    fn from(error: girih_backend::BackendError) -> Self {
        Self::Tfhe(error.into())
    }
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn mismatch<T>(what: Mismatch) -> Result<T> {
    Err(Error::Mismatch(what))
}

/// No server computes with integers of `set`.
pub(crate) fn unsupported<T>(set: &impl ToString, why: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported { set: set.to_string(), why: why.into() })
}
