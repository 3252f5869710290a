//! Why an operation could not be recorded.

use girih_backend::poly::ProgramError;

/// Why an operation could not be recorded.
/// Nothing was recorded then that a later operation could meet.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The operation does not fit the contract of programs: a defect of this crate.
    #[error("recording failed: {0}")]
    Program(#[from] ProgramError),
    /// Operands stand at different levels.
    #[error(
        "{operation} needs operands of one level, not {left} and {right}: \
         adjust the higher one first"
    )]
    Levels {
        /// The operation.
        operation: &'static str,
        /// The first operand's level.
        left: usize,
        /// The second operand's level.
        right: usize,
    },
    /// Operands have different scales.
    #[error(
        "{operation} needs operands of one scale (to 2^-40), not {left:e} and {right:e}: \
         rescale or adjust one of them first"
    )]
    Scales {
        /// The operation.
        operation: &'static str,
        /// The first operand's scale.
        left: f64,
        /// The second operand's scale.
        right: f64,
    },
    /// A ciphertext stands too low for an operation.
    #[error("{operation} needs level {needed} or above, and the ciphertext stands at {level}")]
    OutOfLevels {
        /// The operation.
        operation: &'static str,
        /// The least level that serves.
        needed: usize,
        /// The ciphertext's level.
        level: usize,
    },
    /// A level that the chain does not have, or that does not serve.
    #[error("{operation}: level {level} does not serve: {why}")]
    Level {
        /// The operation.
        operation: &'static str,
        /// The level.
        level: usize,
        /// What would.
        why: String,
    },
    /// A number that cannot be encoded.
    #[error("{operation}: {value} {why}")]
    Number {
        /// The operation.
        operation: &'static str,
        /// The number.
        value: f64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Numbers that cannot be encoded as a plaintext.
    #[error("{0}")]
    Encoding(String),
    /// Data whose shape does not fit.
    #[error("{operation}: {why}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// What does not fit and what would.
        why: String,
    },
}
