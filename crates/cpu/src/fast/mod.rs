//! The fast path. PLACEHOLDER until the f64 rotator lands: replace this whole file.

use crate::rotator::{BlindRotator, RotateInput};
use girih_backend::{BackendError, KeySource, Progress};

pub(crate) struct FastRotator;

impl FastRotator {
    pub(crate) fn new(_keys: &dyn KeySource, _progress: &dyn Progress) -> Result<Self, BackendError> {
        Err(BackendError::Unsupported { device: "cpu".into(), what: "the f64 transform".into(), why: "not built yet; ask for ntt".into() })
    }
}

impl BlindRotator for FastRotator {
    fn group(&self) -> usize {
        1
    }
    fn blind_rotate(&self, _inputs: &[RotateInput<'_>], _steps: usize, _accumulators: &mut [u64]) {}
    fn describe(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

pub(crate) fn instruction_set() -> &'static str {
    "none"
}
