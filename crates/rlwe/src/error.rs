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

impl KeyId {
    /// The key that everything is under which names one, if anything does: constants name none and
    /// go with any.
    ///
    /// # Errors
    /// [`Error::TwoKeys`] naming two of them.
    pub fn common(ids: impl IntoIterator<Item = Option<Self>>) -> Result<Option<Self>> {
        let mut ids = ids.into_iter().flatten();
        let Some(first) = ids.next() else { return Ok(None) };
        match ids.find(|id| *id != first) {
            Some(second) => Err(Error::TwoKeys { first, second }),
            None => Ok(Some(first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> KeyId {
        KeyId::from_bytes([byte; 16]).expect("not all zeros")
    }

    #[test]
    fn two_names_never_meet_and_constants_go_with_any() {
        assert_eq!(KeyId::common([]).ok(), Some(None));
        assert_eq!(KeyId::common([None, None]).ok(), Some(None));
        assert_eq!(KeyId::common([None, Some(id(1)), None, Some(id(1))]).ok(), Some(Some(id(1))));
        match KeyId::common([Some(id(1)), None, Some(id(1)), Some(id(2))]) {
            Err(Error::TwoKeys { first, second }) => assert_eq!((first, second), (id(1), id(2))),
            other => panic!("{other:?}"),
        }
    }
}
