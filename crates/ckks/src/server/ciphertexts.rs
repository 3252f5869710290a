//! Batches of ciphertexts on the device.

use std::sync::Arc;

use super::Shared;
use super::check::check_length;
use super::estimate::Estimate;
use super::memory::{While, advised};
use super::tracked::{Tracked, worst};
use crate::{CkksParameters, Error, Result};
use girih_backend::poly::{Buffer, Place};
use girih_rlwe::KeyId;

/// A batch of ciphertexts that lie on the device of a [`ServerKey`](super::ServerKey): all of one
/// level, scale and number of slots. Cloning and [selecting](Ciphertexts::select) copy nothing.
///
/// No operation changes them; the memory goes when the last clone does.
#[derive(Clone)]
pub struct Ciphertexts {
    shared: Arc<Shared>,
    buffer: Arc<Buffer>,
    /// The first limb in the buffer.
    first: usize,
    count: usize,
    level: usize,
    scale: f64,
    slots: usize,
    /// What is known of each.
    known: Arc<[Tracked]>,
}

impl std::fmt::Debug for Ciphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ciphertexts")
            .field("count", &self.count)
            .field("level", &self.level)
            .field("log2_scale", &self.scale.log2())
            .field("slots", &self.slots)
            .field("estimate", &self.estimate())
            .finish_non_exhaustive()
    }
}

/// Room for ciphertexts that are being computed, before it is counted what is known of them.
pub(super) struct Room(Ciphertexts);

impl Room {
    /// For `count` ciphertexts of this level, scale and number of slots.
    pub fn new(
        shared: &Arc<Shared>,
        (level, scale, slots): (usize, f64, usize),
        count: usize,
    ) -> Result<Self> {
        let limbs = shared.set.chain().base(level).len();
        let buffer = shared.engine.allocate(2 * limbs * count);
        let buffer = Arc::new(buffer.map_err(advised(While::Computing))?);
        let (shared, known) = (shared.clone(), Vec::new().into());
        Ok(Self(Ciphertexts { shared, buffer, first: 0, count, level, scale, slots, known }))
    }

    /// Where both polynomials of ciphertext `i` go.
    pub fn places(&self, i: usize) -> [Place; 2] {
        self.0.places(i)
    }

    /// The ciphertexts, of each of which this is known.
    ///
    /// # Panics
    /// For another number of them: they are counted for the same calls.
    pub fn knowing(self, known: Vec<Tracked>) -> Ciphertexts {
        assert_eq!(known.len(), self.0.count, "what is known of each");
        Ciphertexts { known: known.into(), ..self.0 }
    }
}

/// Refuses what is no magnitude.
pub(super) fn check_magnitude(magnitude: f64) -> Result<()> {
    if magnitude >= 0.0 && magnitude.is_finite() {
        return Ok(());
    }
    Err(Error::Value {
        what: "a largest magnitude".into(),
        value: magnitude.to_string(),
        rule: "it must be finite and not negative".into(),
    })
}

impl Ciphertexts {
    /// Room for ciphertexts of which this is known; what they hold is unspecified.
    pub(super) fn of(
        shared: &Arc<Shared>,
        shape: (usize, f64, usize),
        known: Vec<Tracked>,
    ) -> Result<Self> {
        Ok(Room::new(shared, shape, known.len())?.knowing(known))
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        &self.shared.set
    }

    /// Name of the client key that they are under.
    pub fn key_id(&self) -> KeyId {
        self.shared.id
    }

    /// How many ciphertexts there are, at least 1.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Never: a batch holds at least one ciphertext.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Their level: how many rescalings they have left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// By how much their slots are scaled.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Slots in use, a power of two; the vector repeats with this period.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// What the noise model says of their errors: the worst of the batch.
    pub fn estimate(&self) -> Estimate {
        worst(&self.known)
    }

    /// Deviation of the error of a coefficient of the polynomials, in units of the slots: the
    /// worst of the batch. Where errors of slots are independent it is the one of a slot over the
    /// root of N/2.
    pub fn coefficient_deviation(&self) -> f64 {
        self.known.iter().map(Tracked::coefficient).fold(0.0, f64::max)
    }

    /// The largest magnitude that somebody declared of these very slots, whoever encrypted them or
    /// by [`Ciphertexts::with_magnitude`]: none where that of one is 1 as everyone encrypts within
    /// who says nothing, or was computed.
    pub fn declared_magnitude(&self) -> Option<f64> {
        let declared = self.known.iter().filter(|known| known.is_stated());
        declared.map(Tracked::magnitude).reduce(f64::max)
    }

    pub(super) fn known(&self) -> &[Tracked] {
        &self.known
    }

    /// The same with a change of what is known of each.
    fn with_known(&self, change: impl Fn(Tracked) -> Tracked) -> Self {
        let known = self.known.iter().cloned().map(change).collect();
        Self { known, ..self.clone() }
    }

    /// The same ciphertexts, with the promise that no slot is larger than `magnitude`: the noise
    /// model multiplies errors by it, and counts with the worst case without it.
    ///
    /// # Errors
    /// [`Error::Value`] unless it is finite and not negative.
    pub fn with_magnitude(&self, magnitude: f64) -> Result<Self> {
        check_magnitude(magnitude)?;
        Ok(self.with_known(|known| known.with_magnitude(magnitude)))
    }

    /// The same ciphertexts with another estimate of their error, for who knows more than the
    /// rules of single operations: that a step of an iteration contracts errors, for instance.
    /// Infinite errors promise nothing, as those of a computation whose bounds ran away.
    ///
    /// # Errors
    /// [`Error::Value`] if one of its numbers is negative or none, or the magnitude infinite.
    pub fn with_estimate(&self, estimate: Estimate) -> Result<Self> {
        let Estimate { deviation, bias, magnitude } = estimate;
        let refused = |what: &str, value: f64, rule: &str| Error::Value {
            what: what.into(),
            value: value.to_string(),
            rule: rule.into(),
        };
        let is_wrong = |v: &f64| v.is_nan() || *v < 0.0;
        if let Some(value) = [deviation, bias].into_iter().find(is_wrong) {
            return Err(refused("an estimate of errors", value, "it must be 0 or more"));
        }
        if !magnitude.is_finite() || magnitude < 0.0 {
            let rule = "it must be finite and not negative";
            return Err(refused("the magnitude of an estimate", magnitude, rule));
        }
        Ok(self.with_known(|known| known.with_estimate(estimate)))
    }

    /// The same ciphertexts as vectors of `slots` slots. More of them say again that vectors
    /// repeat. Fewer are the promise that slots repeat with that period, as they do after an
    /// [inner sum](super::ServerKey::inner_sum) over all that is in between: decryption and
    /// bootstrapping take the mean of what repeats, and a bootstrapping of fewer slots is cheaper.
    ///
    /// # Errors
    /// [`Error::Length`] unless it is a power of two up to those of the set.
    pub fn with_slots(&self, slots: usize) -> Result<Self> {
        check_length("the slots of a vector", slots, self.shared.set.slots())?;
        Ok(Self { slots, ..self.with_known(|known| known.with_slots(slots)) })
    }

    /// Some of the batch, as a batch of their own.
    ///
    /// # Errors
    /// [`Error::Length`] for an empty range or one beyond the end.
    pub fn select(&self, range: std::ops::Range<usize>) -> Result<Self> {
        if range.is_empty() || range.end > self.count {
            return Err(Error::Length {
                what: "the selection",
                found: range.end.saturating_sub(range.start),
                rule: format!("it must lie within the batch of {}", self.count),
            });
        }
        let first = self.first + range.start * self.limbs();
        let (count, known) = (range.len(), self.known[range].into());
        Ok(Self { first, count, known, ..self.clone() })
    }

    /// The ciphertexts of several batches as one batch, in their order: copied on the device. One
    /// batch alone is not copied.
    ///
    /// # Errors
    /// [`Error::Length`] without any; [`Error::Shape`] for batches of several levels, scales or
    /// numbers of slots; [`Error::WrongKey`] and [`Error::Order`] for those of several server
    /// keys; failures of the device.
    pub fn join(parts: &[&Self]) -> Result<Self> {
        let Some((first, others)) = parts.split_first() else {
            let rule = "there is at least one to join".into();
            return Err(Error::Length { what: "the list of batches", found: 0, rule });
        };
        let shape = |x: &Self| (x.level, x.scale, x.slots);
        for other in others {
            other.check_server(&first.shared)?;
            if shape(other) != shape(first) {
                let named = |x: &Self| {
                    format!("level {}, scale 2^{:.4}, {} slots", x.level, x.scale.log2(), x.slots)
                };
                return Err(Error::Shape {
                    operation: "join".into(),
                    rule: format!(
                        "a batch of {} beside one of {}: all have one level, scale and number of \
                         slots",
                        named(other),
                        named(first)
                    ),
                });
            }
        }
        if others.is_empty() {
            return Ok((*first).clone());
        }
        let shared = &first.shared;
        let room = Room::new(shared, shape(first), parts.iter().map(|x| x.count).sum())?;
        let mut at = 0;
        for part in parts {
            let (from, limbs) = (part.buffer.place(part.first), part.count * part.limbs());
            let copied = shared.engine.copy(from, room.0.buffer.place(at), limbs);
            copied.map_err(advised(While::Computing))?;
            at += limbs;
        }
        Ok(room.knowing(parts.iter().flat_map(|x| x.known.iter().cloned()).collect()))
    }

    /// Whether both are the very same ciphertexts, and so have one error.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let place = |x: &Self| (x.first, x.count, x.level, x.scale.to_bits(), x.slots);
        Arc::ptr_eq(&self.buffer, &other.buffer) && place(self) == place(other)
    }

    /// Limbs of one ciphertext, both polynomials.
    fn limbs(&self) -> usize {
        2 * self.shared.set.chain().base(self.level).len()
    }

    /// Where b and a of ciphertext `i` lie.
    pub(super) fn places(&self, i: usize) -> [Place; 2] {
        let first = self.first + i * self.limbs();
        [self.buffer.place(first), self.buffer.place(first + self.limbs() / 2)]
    }

    /// Refuses a batch that lies on the device of another server key.
    pub(super) fn check_server(&self, shared: &Arc<Shared>) -> Result<()> {
        if Arc::ptr_eq(&self.shared, shared) {
            return Ok(());
        }
        if self.shared.id != shared.id {
            return Err(Error::WrongKey {
                what: "ciphertexts on a device",
                expected: format!("{:.8}", shared.id),
                found: format!("{:.8}", self.shared.id),
            });
        }
        Err(Error::Order {
            what: "a batch on a device",
            rule: "with the server key that it was uploaded to or computed by; download it first",
        })
    }
}
