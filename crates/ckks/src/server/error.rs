//! What recording refuses, in the words of this crate's error type.

use crate::Error;
use crate::program::RecordError;
use girih_backend::BackendError;

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::OutOfLevels { operation, needed, level } => {
                out_of_levels(operation, needed, level)
            }
            RecordError::Levels { operation, left, right } => Self::Level {
                operation: operation.into(),
                level: left,
                rule: format!("the other operand stands at {right}: adjust the higher one first"),
            },
            RecordError::Level { operation, level, why } => {
                Self::Level { operation: operation.into(), level, rule: why }
            }
            RecordError::Scales { operation, left, right } => Self::Scale {
                operation: operation.into(),
                rule: format!(
                    "scales 2^{:.4} and 2^{:.4} must agree to 2^-40: rescale or adjust one of them",
                    left.log2(),
                    right.log2()
                ),
            },
            RecordError::Number { operation, value, why } => {
                Self::Value { what: operation.into(), value: value.to_string(), rule: why.into() }
            }
            RecordError::Encoding(why) => Self::Shape { operation: "encoding".into(), rule: why },
            RecordError::Shape { operation, why } => {
                Self::Shape { operation: operation.into(), rule: why }
            }
            // Only a defect of this crate leads there.
            RecordError::Program(error) => {
                Self::Backend(BackendError::InvalidRequest(error.to_string()))
            }
        }
    }
}

/// An operation that needs level `needed` on a ciphertext at `level`.
pub(super) fn out_of_levels(operation: &str, needed: usize, level: usize) -> Error {
    Error::OutOfLevels { operation: operation.into(), needed, level }
}
