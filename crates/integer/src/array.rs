//! Arrays of numbers of digits on a device, whatever they stand for.

use crate::Result;
use crate::operations::Operation;
use crate::record::{DigitState, Values};
use crate::server::{Argument, Inner};
use girih_tfhe::DeviceCiphertexts;
use std::sync::Arc;

/// Digit d of element e is ciphertext `d count + e`.
#[derive(Clone)]
pub(crate) struct Array {
    pub inner: Arc<Inner>,
    pub words: Arc<DeviceCiphertexts>,
    pub count: usize,
    pub digits: Vec<DigitState>,
}

impl Array {
    /// An operation with one result.
    pub fn run(&self, operation: Operation, signed: bool, more: &[Argument<'_>]) -> Result<Self> {
        Ok(self.run_all(operation, signed, more)?.swap_remove(0))
    }

    pub fn run_all(
        &self,
        operation: Operation,
        signed: bool,
        more: &[Argument<'_>],
    ) -> Result<Vec<Self>> {
        let arguments: Vec<Argument<'_>> =
            [Argument::Array(self)].into_iter().chain(more.iter().copied()).collect();
        self.inner.run(operation, signed, &arguments)
    }

    /// Whether each digit has one of these values.
    pub fn is_resolved(&self, values: Values) -> bool {
        self.digits.iter().all(|d| d.values.iter().all(|v| values.contains(v)))
    }

    /// The same with no carries to come; none where there are none.
    pub fn resolved(&self, values: Values) -> Result<Option<Self>> {
        if self.is_resolved(values) {
            return Ok(None);
        }
        Ok(Some(self.run(Operation::Clean, false, &[])?))
    }
}
