//! Numbers on the device of a server key.

use crate::failure::Tail;
use crate::numbers::check_numbers;
use crate::{DiscreteParameters, Expected, Result, error};
use girih_ckks::server::Ciphertexts;
use girih_rlwe::{Counts, KeyId, Mismatch};
use std::ops::Range;

/// A batch of ciphertexts of numbers that lie on the device of a
/// [`ServerKey`](super::ServerKey), with what is known of them: the range of the numbers, and how
/// large errors may be. Cloning and [selecting](Wires::select) copy nothing; no operation changes
/// them.
#[derive(Clone)]
pub struct Wires {
    pub(super) ciphertexts: Ciphertexts,
    pub(super) set: DiscreteParameters,
    pub(super) numbers: usize,
    pub(super) range: (i64, i64),
    /// Deviation of what roundings leave, a mean over slots.
    pub(super) deviation: f64,
    /// What look-ups have let through.
    pub(super) tail: Tail,
}

impl std::fmt::Debug for Wires {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wires")
            .field("ciphertexts", &self.len())
            .field("numbers", &self.numbers)
            .field("range", &self.range)
            .field("deviation", &self.deviation)
            .finish_non_exhaustive()
    }
}

impl Wires {
    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Name of the client key that they are under.
    pub fn key_id(&self) -> KeyId {
        self.ciphertexts.key_id()
    }

    /// How many ciphertexts there are, at least 1.
    pub fn len(&self) -> usize {
        self.ciphertexts.len()
    }

    /// Never: a batch holds at least one ciphertext.
    pub fn is_empty(&self) -> bool {
        self.ciphertexts.is_empty()
    }

    /// Numbers in use of each ciphertext. Those beyond are computed too, and left out when they are
    /// decrypted.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// The level, which is that of all wires of a set.
    pub fn level(&self) -> usize {
        self.ciphertexts.level()
    }

    /// By how much numbers are scaled.
    pub fn scale(&self) -> f64 {
        self.ciphertexts.scale()
    }

    /// The least and the largest number that there may be.
    pub fn range(&self) -> (i64, i64) {
        self.range
    }

    /// The deviation of what roundings leave of a number's error, a mean over slots.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// What errors exceed with a probability below 2^`log2_probability` only: what look-ups have
    /// let through, and roundings in the worst slot.
    pub fn error_beyond(&self, log2_probability: f64) -> f64 {
        let p = log2_probability.exp2();
        // exp(-x^2/2) is p.
        let deviations = (-2.0 * p.ln()).max(0.0).sqrt();
        self.tail.quantile(p) + deviations * self.deviation * self.set.flatness().sqrt()
    }

    /// What is known of them, for a [`Forecast`](crate::Forecast) of what is done with them.
    pub fn expected(&self) -> Expected {
        Expected { deviation: self.deviation, tail: self.tail.clone(), range: self.range }
    }

    /// The same numbers, whose errors count as these where they lie within them, else as they are.
    /// An error may always be counted as a larger one: where every step of a computation is
    /// counted with the same few errors, however long it is, they never grow.
    #[must_use]
    pub fn counted_as(self, errors: &Expected) -> Self {
        if !self.expected().is_within(errors) {
            return self;
        }
        Self { deviation: errors.deviation, tail: errors.tail.clone(), ..self }
    }

    /// The same numbers, of which the caller knows a smaller range: larger ones are looked up as
    /// others.
    #[must_use]
    pub fn within(self, low: i64, high: i64) -> Self {
        Self { range: (self.range.0.max(low), self.range.1.min(high)), ..self }
    }

    /// The same ciphertexts with so many numbers of each in use.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for none, or more than a ciphertext has.
    pub fn of_numbers(self, numbers: usize) -> Result<Self> {
        check_numbers(&self.set, numbers)?;
        Ok(Self { numbers, ..self })
    }

    /// Some of the batch, as a batch of their own.
    ///
    /// # Errors
    /// [`Error::Ckks`](crate::Error::Ckks) for an empty range or one beyond the end.
    pub fn select(&self, range: Range<usize>) -> Result<Self> {
        let ciphertexts = self.ciphertexts.select(range)?;
        Ok(Self { ciphertexts, ..self.clone() })
    }

    /// The ciphertexts of several batches as one batch, in their order: copied on the device. The
    /// range is that of all, and the errors are the larger ones everywhere.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) without any, and for batches of unequal numbers
    /// of numbers; [`Error::Ckks`](crate::Error::Ckks) for those of several server keys, and
    /// failures of the device.
    pub fn join(parts: &[&Self]) -> Result<Self> {
        let Some((first, others)) = parts.split_first() else {
            return error::mismatch(Mismatch::empty("batches to join"));
        };
        let mut all = (*first).clone();
        for part in others {
            if part.numbers != first.numbers {
                let what = "numbers of a ciphertext, as in the first batch";
                return error::count(what, part.numbers, Counts::Exactly(first.numbers));
            }
            all.range = (all.range.0.min(part.range.0), all.range.1.max(part.range.1));
            all.deviation = all.deviation.max(part.deviation);
            all.tail = all.tail.or(&part.tail);
        }
        let ciphertexts: Vec<&Ciphertexts> = parts.iter().map(|part| &part.ciphertexts).collect();
        all.ciphertexts = Ciphertexts::join(&ciphertexts)?;
        Ok(all)
    }

    /// The ciphertexts of CKKS.
    pub fn ciphertexts(&self) -> &Ciphertexts {
        &self.ciphertexts
    }
}
