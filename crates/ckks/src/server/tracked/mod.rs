//! What is known of the error of one ciphertext, by sources.
//!
//! Errors of different sources are independent and add by squares; what one source gives to both
//! operands of a sum adds by magnitude. Encryptions, key switches, divisions and encoded vectors
//! are sources.

mod mask;
mod sources;

pub(super) use mask::{Mask, mix, salt, short};
use sources::Sources;
pub(super) use sources::times;
pub(super) use sources::{MapNorms, Size};

use num_complex::Complex64;

use super::estimate::Estimate;
use crate::noise::{DEVIATIONS, Noise};

/// An error of which nobody knows how it is spread over slots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Foreign {
    /// Deviation of a full slot.
    slot: f64,
    /// Deviation of the mean of the slots that stand for one slot of the vector.
    mean: f64,
}

impl Foreign {
    fn plus(self, other: Self) -> Self {
        Self { slot: self.slot + other.slot, mean: self.mean + other.mean }
    }

    fn times(self, factor: f64) -> Self {
        Self { slot: times(self.slot, factor), mean: times(self.mean, factor) }
    }
}

/// What is known of a ciphertext, or of a plaintext: its error by sources, what approximations are
/// off by, how large its slots are, which mask it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tracked {
    /// N/2.
    full: usize,
    /// Slots in use.
    slots: usize,
    mask: Mask,
    sources: Sources,
    foreign: Foreign,
    bias: f64,
    magnitude: f64,
    /// Whether somebody said that magnitude of these very slots; else it was computed.
    stated: bool,
}

impl Tracked {
    /// Without an error.
    pub fn exact(full: usize, slots: usize, mask: Mask, magnitude: f64) -> Self {
        let (sources, foreign) = (Sources::none(full), Foreign::default());
        // Who says nothing encrypts slots up to 1.
        let stated = magnitude != 1.0;
        Self { full, slots, mask, sources, foreign, bias: 0.0, magnitude, stated }
    }

    /// A vector that was encoded, known by a digest.
    pub fn plain(full: usize, digest: u64, magnitude: f64) -> Self {
        Self::exact(full, full, Mask::of(digest), magnitude)
    }

    /// An encryption. Its encoding is off by `encoding` in each slot of the vector: equal vectors
    /// by the same.
    pub fn fresh(mut self, deviation: f64, encoding: f64) -> Self {
        let id = mix(FRESH, self.mask.class());
        let repeated = self.repeated(encoding);
        self.sources = Sources::of(self.full, id, Size::white(deviation)).with_rest(repeated);
        self
    }

    /// With an estimate that says nothing of sources: it may have any in common with others.
    pub fn with_estimate(mut self, of: Estimate) -> Self {
        let own = self.deviation();
        // Who states what is known anyway, of a batch alike but for roundings, loses nothing.
        let is_own = own.is_finite() && (of.deviation - own).abs() <= 1e-9 * own;
        if !is_own {
            let share = (self.slots as f64 / self.full as f64).sqrt();
            self.sources = Sources::none(self.full);
            self.foreign = Foreign { slot: of.deviation, mean: times(of.deviation, share) };
        }
        (self.bias, self.magnitude, self.stated) = (of.bias, of.magnitude, true);
        self
    }

    /// What a ciphertext of the host says of itself.
    pub fn with_noise_of(self, noise: Noise) -> Self {
        let stated = noise.magnitude != 1.0;
        let known = self.with_estimate(Estimate::new(noise.deviation, noise.magnitude));
        Self { stated, ..known }
    }

    /// An error in each slot of the vector, the same in all that stand for it.
    fn repeated(&self, deviation: f64) -> Size {
        let copies = self.full as f64 / self.slots as f64;
        Size { slot: deviation, all: deviation * copies.sqrt() }
    }

    /// The sum of it all. Of vectors that repeat, the deviation is the one of full slots whose
    /// means would err as the means of these do, at least that of a slot.
    pub fn estimate(&self) -> Estimate {
        Estimate { deviation: self.deviation(), bias: self.bias, magnitude: self.magnitude }
    }

    fn deviation(&self) -> f64 {
        let slot = self.sources.slot() + self.foreign.slot;
        let copies = self.full as f64 / self.slots as f64;
        if copies == 1.0 {
            return slot;
        }
        let mean = self.sources.mean(copies) + self.foreign.mean;
        slot.max(mean * copies.sqrt())
    }

    /// Deviation of a coefficient of the polynomial, in units of slots.
    pub fn coefficient(&self) -> f64 {
        self.sources.mean(self.full as f64) + self.foreign.slot
    }

    /// The largest error of a slot, in magnitude.
    pub fn reach(&self) -> f64 {
        let slot = self.sources.slot() + self.foreign.slot;
        std::f64::consts::SQRT_2 * DEVIATIONS * slot + self.bias
    }

    pub fn mask(&self) -> Mask {
        self.mask
    }

    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }

    /// With the word of the caller that no slot is larger.
    pub fn with_magnitude(self, magnitude: f64) -> Self {
        Self { magnitude, stated: true, ..self }
    }

    /// With a magnitude that was computed.
    pub fn reaching(self, magnitude: f64) -> Self {
        Self { magnitude, stated: false, ..self }
    }

    pub fn is_stated(&self) -> bool {
        self.stated
    }

    /// Whose slots are known to stay below `magnitude`.
    pub fn at_most(self, magnitude: f64) -> Self {
        let stated = self.stated && self.magnitude <= magnitude;
        Self { magnitude: self.magnitude.min(magnitude), stated, ..self }
    }

    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// With this further systematic error.
    pub fn with_bias(self, bias: f64) -> Self {
        Self { bias: self.bias + bias, ..self }
    }

    /// With no other systematic error than this.
    pub fn off_by(self, bias: f64) -> Self {
        Self { bias, ..self }
    }

    /// As a vector of so many slots.
    pub fn with_slots(mut self, slots: usize) -> Self {
        if slots > self.slots {
            self.foreign.mean = self.foreign.slot;
        }
        self.slots = slots;
        self
    }

    /// The sum, whatever the mask.
    fn together(&self, other: &Self, mask: Mask) -> Self {
        let slots = self.slots.max(other.slots);
        let mean = |x: &Self| x.clone().with_slots(slots).foreign;
        Self {
            full: self.full,
            slots,
            mask,
            sources: self.sources.plus(&other.sources),
            foreign: mean(self).plus(mean(other)),
            bias: self.bias + other.bias,
            magnitude: self.magnitude + other.magnitude,
            stated: false,
        }
    }

    /// x + y.
    pub fn plus(&self, other: &Self) -> Self {
        self.together(other, self.mask.plus(other.mask))
    }

    /// x - y.
    pub fn minus(&self, other: &Self) -> Self {
        self.together(other, self.mask.minus(other.mask))
    }

    /// With a vector added, whose rounding adds `encoding` to each slot of the vector.
    pub fn plus_plain(&self, plain: &Self, encoding: f64) -> Self {
        let magnitude = self.magnitude + plain.magnitude;
        self.clone().with_encoding(plain, encoding).reaching(magnitude)
    }

    /// With the error of an encoded vector.
    pub fn with_encoding(mut self, plain: &Self, deviation: f64) -> Self {
        let id = mix(ENCODING, plain.mask.class());
        let of = Sources::of(self.full, id, self.repeated(deviation));
        self.sources = self.sources.plus(&of);
        self
    }

    /// The product with an encoded vector.
    pub fn product_with_plain(&self, plain: &Self, salt: u64, encoding: f64) -> Self {
        let rounding = times(self.magnitude, encoding);
        let mask = self.mask.product(plain.mask, salt);
        let product = self.clone().times(plain.magnitude).with_encoding(plain, rounding);
        Self { mask, ..product }
    }

    /// Times a number of this magnitude in every slot; the mask is left to the caller.
    pub fn times(self, factor: f64) -> Self {
        let magnitude = times(self.magnitude, factor);
        self.through(factor, magnitude)
    }

    /// Times a Gaussian integer, exactly.
    pub fn times_exactly(self, c: Complex64) -> Self {
        let mask = self.mask.times(c);
        Self { mask, ..self.times(c.norm()) }
    }

    /// Through a function whose slope is at most `slope` and whose values are at most `magnitude`.
    pub fn through(mut self, slope: f64, magnitude: f64) -> Self {
        self.sources = self.sources.times(slope);
        self.foreign = self.foreign.times(slope);
        self.bias = times(self.bias, slope);
        self.reaching(magnitude)
    }

    /// The product of two ciphertexts: m1 e2 + m2 e1 + e1 e2.
    pub fn product(&self, other: &Self, salt: u64) -> Self {
        let (one, two) = (self.magnitude, other.magnitude);
        let mask = self.mask.product(other.mask, salt);
        let sum = self.clone().times(two).together(&other.clone().times(one), mask);
        let both = times(self.reach(), other.reach());
        sum.reaching(times(one, two)).with_bias(both)
    }

    pub fn with_mask_of(self, other: &Self) -> Self {
        Self { mask: other.mask, ..self }
    }

    /// Of which nothing is promised: its error may be anything.
    pub fn unreliable(self) -> Self {
        self.with_common(f64::INFINITY)
    }

    /// A ciphertext of the same mask without errors, of slots up to 1.
    pub fn without_errors(&self) -> Self {
        Self::exact(self.full, self.slots, self.mask, 1.0)
    }

    /// With a mask of its own after an operation of this number.
    pub fn renewed(self, salt: u64) -> Self {
        let mask = self.mask.renewed(salt);
        Self { mask, ..self }
    }

    /// With an error of its own, which belongs to the mask: after [`Tracked::renewed`] or a
    /// product.
    pub fn with_noise(mut self, deviation: f64) -> Self {
        let id = mix(ROUNDING, self.mask.class());
        let of = Sources::of(self.full, id, Size::white(deviation));
        self.sources = self.sources.plus(&of);
        self
    }

    /// With an error that may be one with any other, of full slots.
    pub fn with_common(mut self, deviation: f64) -> Self {
        let share = (self.slots as f64 / self.full as f64).sqrt();
        self.foreign = self.foreign.plus(Foreign { slot: deviation, mean: deviation * share });
        self
    }

    /// Rotated by so much: slot j of the result is slot j + `by`.
    pub fn rotated(mut self, by: usize) -> Self {
        self.sources = self.sources.rotated(by);
        self
    }

    /// Through a linear map of slots.
    pub fn mapped(mut self, map: &MapNorms) -> Self {
        self.sources = self.sources.through(map);
        self.foreign = self.foreign.times(map.row_sum);
        self.bias = times(self.bias, map.row_sum);
        let magnitude = times(self.magnitude, map.row_sum);
        self.reaching(magnitude)
    }

    /// The mean of all that stands for one slot, in its place.
    pub fn averaged(self) -> Self {
        let copies = self.full as f64 / self.slots as f64;
        if copies == 1.0 {
            return self;
        }
        let row_norm = copies.sqrt().recip();
        let (magnitude, foreign) = (self.magnitude, self.foreign);
        let map = MapNorms { row_sum: 1.0, row_norm, norm: 1.0, reach: (0, self.full) };
        let averaged = self.mapped(&map);
        Self { magnitude, foreign: Foreign { slot: foreign.mean, ..foreign }, ..averaged }
    }
}

/// Kinds of sources.
const FRESH: u64 = 1;
const ENCODING: u64 = 2;
const ROUNDING: u64 = 3;

/// The worst of a batch.
pub(super) fn worst(batch: &[Tracked]) -> Estimate {
    let none = Estimate::new(0.0, 0.0);
    batch.iter().map(Tracked::estimate).fold(none, Estimate::worse)
}
