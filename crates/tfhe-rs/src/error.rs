//! The one error type of this crate.

/// Why something was refused. Every message names what was found and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Keys that girih cannot take over.
    #[error("server key of TFHE-rs: {0}")]
    Keys(String),
    /// Ciphertexts that do not go with the keys, or with each other.
    #[error("ciphertexts of TFHE-rs: {0}")]
    Ciphertexts(String),
    /// Bytes that do not hold what they should.
    #[error("bytes of TFHE-rs: {0}")]
    Malformed(String),
    /// Integers, the noise model or the device refused or failed.
    #[error(transparent)]
    Integer(#[from] girih_integer::Error),
}

impl From<girih_tfhe::Error> for Error {
    fn from(error: girih_tfhe::Error) -> Self {
        Self::Integer(error.into())
    }
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn keys<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Keys(why.into()))
}

pub(crate) fn ciphertexts<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Ciphertexts(why.into()))
}
