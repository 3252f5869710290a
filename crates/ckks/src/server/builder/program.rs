//! Operations below those of the evaluator, for crates that build on this one.

use super::Builder;
use super::parts::Parts;
use crate::program::{Recorded, Recorder};
use crate::server::{Estimate, Recording, ServerKey};
use crate::{Error, Result};

impl Builder<'_> {
    fn programmed(
        mut self,
        inputs: &[(usize, f64)],
        record: impl FnOnce(&mut Recorder, &[Recorded]) -> Result<Vec<(Recorded, Estimate)>>,
    ) -> Result<Parts> {
        let slots = self.set().slots();
        let mut declared = Vec::with_capacity(inputs.len());
        for &(level, scale) in inputs {
            declared.push(self.input_with(level, scale, slots)?.at);
        }
        if declared.is_empty() {
            return Err(Error::Length {
                what: "the list of inputs",
                found: 0,
                rule: "a recording needs at least one".into(),
            });
        }
        let results = record(&mut self.recorder, &declared)?;
        if results.is_empty() {
            return Err(Error::Length {
                what: "the list of outputs",
                found: 0,
                rule: "a recording needs at least one".into(),
            });
        }
        // Of whatever comes in nothing is left but what is said of the results; whether their slots
        // fit is for the program to know.
        let note = |(at, estimate)| {
            self.noted_within(None, at, move |e| e[0].without_errors().with_estimate(estimate))
        };
        let outputs: Vec<_> = results.into_iter().map(note).collect();
        self.finish(&outputs)
    }
}

impl ServerKey {
    /// [`ServerKey::record`] with operations of a [`Recorder`] instead of those of a [`Builder`]:
    /// for crates that build other bootstrappings on this one. `inputs` are levels and scales of
    /// ciphertexts with full slots. Results come with what is known of their errors, and carry
    /// that whatever their inputs carry.
    ///
    /// # Errors
    /// As [`ServerKey::record`].
    pub fn record_program(
        &self,
        inputs: &[(usize, f64)],
        record: impl FnOnce(&mut Recorder, &[Recorded]) -> Result<Vec<(Recorded, Estimate)>>,
    ) -> Result<Recording> {
        self.prepare(Builder::new(self)?.programmed(inputs, record)?)
    }
}
