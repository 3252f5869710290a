//! The one error type of this crate.

/// Why a netlist, a circuit or its inputs were refused. Every message names the place and what is
/// wrong there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A Bristol Fashion file that does not hold what it should.
    #[error("line {line}: {why}")]
    Bristol {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// A Yosys JSON file that does not hold what it should.
    #[error("{place}: {why}")]
    Yosys {
        /// The module, port, cell or net; for a file that is no JSON, where reading stopped.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A program of HEIR that is no circuit.
    #[error("line {line}: {why}")]
    Heir {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// Things that do not fit each other.
    #[error("{0}")]
    Mismatch(String),
    /// Keys, ciphertexts or the device refused or failed.
    #[error(transparent)]
    Tfhe(#[from] girih_tfhe::Error),
    /// Keys, numbers in slots or the device refused or failed.
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

/// Text from outside as it appears in a message: short and on one line.
pub(crate) fn shown(text: &str) -> String {
    let cut: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() { cut + ".." } else { cut }
}

/// A file without the byte-order mark that some editors put before its text.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
