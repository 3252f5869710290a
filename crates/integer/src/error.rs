//! The one error type of this crate.

/// Why something was refused. Every message names what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Integers, lengths, keys or amounts that do not fit each other.
    #[error("{0}")]
    Mismatch(String),
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

pub(crate) fn mismatch<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Mismatch(why.into()))
}
