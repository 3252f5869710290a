//! The one error type of devices.

use super::{DoesNotFit, ShapeError};

/// Why a device did not do what it was asked.
///
/// Every message names what was asked, the limit that stood against it and, where one exists, what
/// would work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The shape itself is impossible, on any device.
    #[error("impossible shape: {0}")]
    Shape(#[from] ShapeError),
    /// The shape does not fit this device's on-chip limits.
    #[error("{device}: {reason}")]
    DoesNotFit {
        /// Name of the device.
        device: String,
        /// Which bound was exceeded, with both numbers.
        reason: DoesNotFit,
    },
    /// The device cannot run this kind of work at all.
    #[error("{device} cannot run {what}: {why}")]
    Unsupported {
        /// Name of the device.
        device: String,
        /// What was asked for.
        what: String,
        /// What is missing and what would help.
        why: String,
    },
    /// A job, index, table or batch that does not fit the loaded keys.
    #[error("invalid request: {0}")]
    InvalidRequest(String),
    /// Host or device memory ran out.
    #[error("{device}: out of memory while allocating {bytes} bytes for {what}")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes that were asked for.
        bytes: u64,
        /// What they were for.
        what: String,
    },
    /// No such device, or its driver is missing.
    #[error("no device `{requested}`: {why}")]
    NoDevice {
        /// The name that was asked for.
        requested: String,
        /// What is missing and what would help.
        why: String,
    },
    /// The device failed or disappeared while running.
    #[error("{device} failed: {what}")]
    DeviceFailed {
        /// Name of the device.
        device: String,
        /// The driver's words, and what was running.
        what: String,
    },
}

/// What calls of devices return.
pub type Result<T, E = BackendError> = std::result::Result<T, E>;
