//! Words of resident polynomials, checked on their way to a device.

use std::sync::{Mutex, PoisonError};

use girih_ring::sampler::PublicStream;

use crate::BackendError;
use crate::poly::{ResidentShape, ResidentSource, RingShape, check};

/// A source whose words are looked at on their way.
pub(super) struct Checked<'a> {
    ring: &'a RingShape,
    shapes: &'a [ResidentShape],
    source: &'a dyn ResidentSource,
    wrong: Mutex<Option<BackendError>>,
}

impl<'a> Checked<'a> {
    pub(super) fn new(
        ring: &'a RingShape,
        shapes: &'a [ResidentShape],
        source: &'a dyn ResidentSource,
    ) -> Self {
        Self { ring, shapes, source, wrong: Mutex::default() }
    }

    /// The first fault, if there was any.
    pub(super) fn wrong(self) -> Option<BackendError> {
        self.wrong.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResidentSource for Checked<'_> {
    fn shapes(&self) -> Vec<ResidentShape> {
        self.shapes.to_vec()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        self.source.limb(polynomial, limb, out);
        let prime = self.shapes[polynomial].basis.primes()[limb];
        let what = format!("{} {polynomial}", self.source.what());
        if let Err(error) = check::canonical(self.ring, prime, out, &what) {
            let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            wrong.get_or_insert(error);
            // Devices may count on canonical words.
            out.fill(0);
        }
    }

    // Words of a stream are canonical however they are expanded.
    fn stream(&self, polynomial: usize, limb: usize) -> Option<PublicStream> {
        self.source.stream(polynomial, limb)
    }

    fn what(&self) -> &str {
        self.source.what()
    }
}
