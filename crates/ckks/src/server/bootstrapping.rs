//! How to bootstrap, and the plans of bootstrappings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::ServerKey;
use super::tracked::{Tracked, salt, times};
use crate::keys::{KeyKind, KeyRange};
use crate::noise::Reduction;
use crate::program::{BootstrappingPlan, Chain, ChainShape, Variant};
use crate::{CkksParameters, Encoder, Error, Result};
use num_complex::Complex64;

/// Choices of a bootstrapping; the default is the set's own message ratio, complex slots, and an
/// estimate that holds for any of them.
///
/// The message ratio 2^rho is what Q_0 has above the largest coefficient of a message. One more
/// takes two bits from the error of the modular reduction and adds up to one bit of noise. That
/// error is largest for vectors of equal slots, whose whole message is one coefficient: 7 bits are
/// right for slots of 1 at rho = 5, 13 at 8, 17 at 10. Estimates count with it, unless
/// [`Bootstrapping::independent_slots`] or [`Bootstrapping::phases`] say that no coefficient is so
/// large: for such slots at N = 2^16 bits are above 21 at rho = 5 already.
/// [`ServerKey::meta_bootstrap`] removes that error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bootstrapping {
    /// rho, between the bounds of
    /// [`CkksParameters::message_ratios`](crate::CkksParameters::message_ratios);
    /// the set's own if none.
    pub message_ratio: Option<u32>,
    /// All slots are real: one sine serves instead of two, and imaginary parts are removed, noise
    /// or not. With `phases` there are two, as slots are complex on the way; the result then has
    /// twice the canonical scale, which the next product or sum brings in order.
    pub real: bool,
    /// The promise that slots are independent and of mean 0, so that no coefficient is much larger
    /// than others: estimates count with the error that the modular reduction then has. Results are
    /// the same. Numbers from 0 to 1 are not of mean 0, nor are constants.
    pub independent_slots: bool,
    /// A number from which public phases are drawn. Slots are multiplied by them before, which
    /// takes a level, and divided by them after, in a transform that is there anyway: no vector
    /// that was chosen before the phases is worse than a random one.
    pub phases: Option<u64>,
    /// Transforms rotate by two keys each, one rotation after the other, instead of by many whose
    /// decompositions are shared: for CKKS_D40 13 keys instead of 43, a third of the bytes, for
    /// devices of little memory, and more work. Keys are made for one of the two ways; noise is as
    /// large.
    pub few_keys: bool,
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
        Ok(self.plan(&chain, slots, ratio, &encoder)?.keys(&chain))
    }

    /// The same keys, each for the levels at which a bootstrapping uses it and for no others: a
    /// sixth less bytes for CKKS_D40. Whoever uses one of them above those levels names it beside
    /// these, for all levels or for more.
    ///
    /// # Errors
    /// As [`Bootstrapping::keys`].
    pub fn keys_by_level(&self, set: &CkksParameters, slots: usize) -> Result<Vec<KeyRange>> {
        let chain = Chain::new(ChainShape::from(set))?;
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let plan = self.plan(&chain, slots, self.ratio(set)?, &encoder)?;
        Ok(plan.key_levels(&chain).into_iter().map(|(kind, level)| kind.up_to(level)).collect())
    }

    /// The keys that [`ServerKey::half_bootstrap`] needs for vectors of `slots` slots, each for the
    /// levels at which it uses it.
    ///
    /// # Errors
    /// As [`Bootstrapping::keys`].
    pub fn half_keys(set: &CkksParameters, slots: usize) -> Result<Vec<KeyRange>> {
        let chain = Chain::new(ChainShape::from(set))?;
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let plan = half_plan(&chain, slots, Self::default().ratio(set)?, &encoder)?;
        let levels = plan.half_key_levels(&chain);
        Ok(levels.into_iter().map(|(kind, level)| kind.up_to(level)).collect())
    }

    pub(super) fn plan(
        &self,
        chain: &Chain,
        slots: usize,
        ratio: u32,
        encoder: &Encoder,
    ) -> Result<BootstrappingPlan> {
        // One sine of both halves where they fit side by side, or into another ring.
        let shape = chain.shape().bootstrapping.as_ref();
        let invariant = shape.is_some_and(|shape| shape.invariant_sine);
        let variant = if self.real && self.phases.is_none() {
            Variant::Real
        } else if 2 * slots > chain.most_slots() && invariant {
            Variant::Invariant
        } else if 2 * slots > chain.most_slots() {
            Variant::Pair
        } else {
            Variant::Packed
        };
        let plan = match self.phases {
            None => BootstrappingPlan::new(chain, slots, ratio, variant, encoder)?,
            Some(seed) => {
                let phases = phases(seed, slots);
                BootstrappingPlan::with_phases(chain, slots, ratio, variant, &phases, encoder)?
            }
        };
        Ok(if self.few_keys { plan.with_few_keys() } else { plan })
    }

    /// Whether estimates count with any slots: phases make them unlike.
    pub(super) fn worst_case(&self) -> bool {
        !self.independent_slots && self.phases.is_none()
    }

    pub(super) fn ratio(&self, set: &CkksParameters) -> Result<u32> {
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

/// The plan of a half-bootstrapping: it takes one of two halves, whatever their number of slots.
fn half_plan(
    chain: &Chain,
    slots: usize,
    ratio: u32,
    encoder: &Encoder,
) -> Result<BootstrappingPlan> {
    Ok(BootstrappingPlan::new(chain, slots, ratio, Variant::Pair, encoder)?)
}

/// Numbers of magnitude 1, from a hash of the seed.
fn phases(seed: u64, slots: usize) -> Vec<Complex64> {
    let mut hasher = blake3::Hasher::new_derive_key("girih 2026-11-22 phases of a bootstrapping");
    hasher.update(&seed.to_le_bytes());
    let mut bytes = vec![0; 8 * slots];
    hasher.finalize_xof().fill(&mut bytes);
    let turn = |bytes: &[u8]| {
        let word = bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        (word >> 11) as f64 / (1u64 << 53) as f64
    };
    bytes.chunks(8).map(|b| Complex64::from_polar(1.0, std::f64::consts::TAU * turn(b))).collect()
}

/// What a plan depends on: slots, message ratio, phases, whether keys are few, whether slots are
/// real, whether it is half.
type PlanKey = (usize, u32, Option<u64>, bool, bool, bool);

/// Plans made so far.
pub(super) type Plans = Mutex<HashMap<PlanKey, Arc<BootstrappingPlan>>>;

/// What a bootstrapping adds to errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefreshNoise {
    /// Deviation of the noise.
    pub deviation: f64,
    /// Deviation of the modular reduction's error for independent slots of magnitude 1.
    pub sine: f64,
    /// What it is for any slots of larger magnitudes.
    pub reduction: Reduction,
    /// Whether slots may be any.
    any: bool,
}

impl RefreshNoise {
    /// What is known after a bootstrapping of slots up to `magnitude`, errors that they have
    /// beside, and a key switch whose error has the deviation `switching`.
    pub fn after(&self, of: &Tracked, magnitude: f64, switching: f64) -> Tracked {
        let magnitude = magnitude + of.reach();
        let bootstrapped = of.clone().renewed(salt("bootstrapped", &[]));
        let noisy = bootstrapped.with_noise(self.deviation.hypot(switching));
        if self.any {
            noisy.with_bias(self.reduction.largest_error(magnitude))
        } else {
            // The error of the sine is a function of the slots, not of chance: that of one
            // bootstrapping may be that of the next.
            noisy.with_common(times(self.sine, self.reduction.growth(magnitude)))
        }
    }
}

impl ServerKey {
    /// The plan of a bootstrapping, made when first asked for.
    pub(super) fn plan(&self, slots: usize, how: &Bootstrapping) -> Result<Arc<BootstrappingPlan>> {
        let ratio = how.ratio(self.set())?;
        let key = (slots, ratio, how.phases, how.few_keys, how.real, false);
        self.kept_plan(key, || how.plan(self.chain(), slots, ratio, self.encoder()))
    }

    /// The plan of a half-bootstrapping, made when first asked for.
    pub(super) fn half_plan(&self, slots: usize) -> Result<Arc<BootstrappingPlan>> {
        let ratio = Bootstrapping::default().ratio(self.set())?;
        let key = (slots, ratio, None, false, false, true);
        self.kept_plan(key, || half_plan(self.chain(), slots, ratio, self.encoder()))
    }

    fn kept_plan(
        &self,
        key: PlanKey,
        make: impl FnOnce() -> Result<BootstrappingPlan>,
    ) -> Result<Arc<BootstrappingPlan>> {
        let known =
            |plans: &Plans| plans.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(plan) = known(&self.plans) {
            return Ok(plan);
        }
        let plan = Arc::new(make()?);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.insert(key, plan.clone());
        Ok(plan)
    }

    /// What the model says of a bootstrapping, in deviations of full slots.
    pub(super) fn refresh_noise(&self, slots: usize, how: &Bootstrapping) -> Result<RefreshNoise> {
        let model = self.model().bootstrapping(how.ratio(self.set())?, slots)?;
        let share = (slots as f64 / self.set().slots() as f64).sqrt();
        Ok(RefreshNoise {
            deviation: model.noise / share,
            sine: model.sine / share,
            reduction: model.reduction,
            any: how.worst_case(),
        })
    }
}
