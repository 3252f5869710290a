//! The one error type of this crate.

use girih_tfhe::{Counts, Mismatch};

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
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// Keys of another set than the circuit was made for.
    #[error("{what} of the set {found}, and the circuit is for {expected}")]
    WrongSet {
        /// What it is.
        what: &'static str,
        /// The circuit's set.
        expected: String,
        /// The set it has.
        found: String,
    },
    /// A set on which gates cannot be computed as look-ups.
    #[error("circuits over {set}: {why}")]
    Unsupported {
        /// Name of the set.
        set: String,
        /// What is missing, and which sets have it.
        why: String,
    },
    /// A limit of memory that no order of look-ups keeps.
    #[error(
        "{allowed} bytes hold {wires} wires of this set, and the circuit needs {needed} at one \
         time, {inputs} of them inputs: allow {least} bytes"
    )]
    Memory {
        /// The limit, in bytes.
        allowed: u64,
        /// How many wires it holds.
        wires: usize,
        /// How many are needed at one time.
        needed: usize,
        /// How many of them are inputs.
        inputs: usize,
        /// The least limit that serves, in bytes.
        least: u64,
    },
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

pub(crate) fn mismatch<T>(what: Mismatch) -> Result<T> {
    Err(Error::Mismatch(what))
}

/// Gates cannot be computed on `set`.
pub(crate) fn unsupported<T>(set: &impl ToString, why: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported { set: set.to_string(), why: why.into() })
}

/// A look-up that would be wrong too often.
pub(crate) fn failure<T>(what: String, log2_failure: f64, limit: f64, advice: &str) -> Result<T> {
    let advice = advice.into();
    Err(Error::Discrete(girih_discrete::Error::Failure { what, log2_failure, limit, advice }))
}

/// `found` bits where a circuit of `expected` takes as many.
pub(crate) fn wrong_bits<T>(what: &str, found: usize, expected: usize) -> Result<T> {
    let what = format!("{what} for a circuit of {expected}");
    mismatch(Mismatch::count(what, found, Counts::Exactly(expected)))
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
