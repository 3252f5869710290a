//! How to bootstrap, and the plans of bootstrappings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Estimate, ServerKey};
use crate::keys::KeyKind;
use crate::program::{BootstrappingPlan, Chain, ChainShape, Variant};
use crate::{CkksParameters, Encoder, Error, Result};

/// Choices of a bootstrapping; the default is the set's own message ratio, complex slots.
///
/// The message ratio 2^rho is what Q_0 has above the largest coefficient of a message. One more
/// takes two bits from the error of the modular reduction and adds up to one bit of noise. That
/// error is largest for vectors of equal slots, whose whole message is one coefficient: 7 bits are
/// right for slots of 1 at rho = 5, 13 at 8, 17 at 10; for random slots at N = 2^16 they are above
/// 21 at rho = 5 already. [`ServerKey::meta_bootstrap`] removes that error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bootstrapping {
    /// rho, between the bounds of
    /// [`CkksParameters::message_ratios`](crate::CkksParameters::message_ratios); the set's own if
    /// none.
    pub message_ratio: Option<u32>,
    /// All slots are real: imaginary noise is removed. The result has twice the canonical scale;
    /// the next product or sum brings that in order.
    pub real: bool,
    /// Slots may all be equal: estimates count with the worst case of the modular reduction, not
    /// with independent slots. Results are the same.
    pub equal_slots: bool,
}

impl Bootstrapping {
    /// The keys that bootstrappings of ciphertexts with `slots` slots need.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping, [`Error::Value`] for an impossible
    /// message ratio, [`Error::Shape`] for an impossible number of slots.
    pub fn keys(&self, set: &CkksParameters, slots: usize) -> Result<Vec<KeyKind>> {
        let chain = Chain::new(ChainShape::from(set))?;
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let ratio = self.ratio(set)?;
        let plan = BootstrappingPlan::new(&chain, slots, ratio, variant(set, slots), &encoder)?;
        Ok(plan.keys(&chain))
    }

    fn ratio(&self, set: &CkksParameters) -> Result<u32> {
        let Some(own) = set.bootstrapping() else {
            return Err(Error::Unsupported {
                set: set.name().into(),
                why: "it has no levels for a bootstrapping: take one that has".into(),
            });
        };
        let ratio = self.message_ratio.unwrap_or(own.message_ratio());
        let allowed = set.message_ratios();
        if allowed.contains(&ratio) {
            return Ok(ratio);
        }
        Err(Error::Value {
            what: "the message ratio, as log2,".into(),
            value: ratio.to_string(),
            rule: format!("{set} allows {} to {}", allowed.start, allowed.end - 1),
        })
    }
}

/// One sine of both halves where they fit side by side, and the transform that parts them again comes after it.
fn variant(set: &CkksParameters, slots: usize) -> Variant {
    let parted = set.bootstrapping().is_some_and(|b| !b.slots_to_coefficients_first());
    if parted && 2 * slots <= set.slots() { Variant::Packed } else { Variant::Pair }
}

/// Plans made so far, by slots and message ratio.
pub(super) type Plans = Mutex<HashMap<(usize, u32), Arc<BootstrappingPlan>>>;

/// What a bootstrapping adds to errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefreshNoise {
    /// Deviation of the noise.
    pub deviation: f64,
    /// Deviation of the modular reduction's error for independent slots of magnitude 1; it grows
    /// with the third power of the magnitude.
    pub sine: f64,
    /// Its largest error where all slots are equal, of magnitude 1; it grows alike.
    pub worst: f64,
    /// Whether slots may be equal.
    equal: bool,
}

impl RefreshNoise {
    /// The estimate after a bootstrapping of slots up to `magnitude`.
    pub fn after(&self, of: Estimate, magnitude: f64) -> Estimate {
        let cube = magnitude.powi(3);
        let noisy = of.with_noise(self.deviation);
        if self.equal {
            noisy.with_bias(self.worst * cube)
        } else {
            noisy.with_noise(self.sine * cube)
        }
    }
}

impl ServerKey {
    /// The plan of a bootstrapping, made when first asked for.
    pub(super) fn plan(&self, slots: usize, how: &Bootstrapping) -> Result<Arc<BootstrappingPlan>> {
        let ratio = how.ratio(self.set())?;
        let known = |plans: &Plans| {
            plans.lock().unwrap_or_else(PoisonError::into_inner).get(&(slots, ratio)).cloned()
        };
        if let Some(plan) = known(&self.plans) {
            return Ok(plan);
        }
        let variant = variant(self.set(), slots);
        let plan = BootstrappingPlan::new(self.chain(), slots, ratio, variant, self.encoder())?;
        let plan = Arc::new(plan);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.insert((slots, ratio), plan.clone());
        Ok(plan)
    }

    /// What the model says of a bootstrapping, in deviations of full slots.
    pub(super) fn refresh_noise(&self, slots: usize, how: &Bootstrapping) -> Result<RefreshNoise> {
        let model = self.model().bootstrapping(how.ratio(self.set())?, slots)?;
        let share = (slots as f64 / self.set().slots() as f64).sqrt();
        Ok(RefreshNoise {
            deviation: model.noise / share,
            sine: model.sine / share,
            worst: model.sine_of_constants,
            equal: how.equal_slots,
        })
    }
}
