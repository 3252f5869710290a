//! Host memory that ran out.

use girih_backend::BackendError;

/// Host memory ran out: `bytes` of it were asked for, for `what`.
pub(crate) fn out_of_memory(bytes: usize, what: impl Into<String>) -> BackendError {
    BackendError::OutOfMemory { device: "cpu".into(), bytes: bytes as u64, what: what.into() }
}
