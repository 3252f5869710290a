//! Opening rings: what a device implements, and the choices there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{PolyDevice, RingShape};
use crate::{BackendError, PlanSource, Progress, Result, SPECIALISE, Specialise, TunedPlans};

/// Choices that only one kind of device knows, by the names it gives them.
pub type Choices = BTreeMap<String, u32>;

/// Opens rings on a device. One that knows choices implements [`Loader::open_by`], any other
/// [`Loader::open`]; each is made of the other.
pub trait Loader: Send + Sync {
    /// Loads the tables of a ring.
    ///
    /// # Errors
    /// When the ring does not fit this device, or memory runs out.
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>> {
        self.open_by(ring, &Choices::new())
    }

    /// What `lower` should assume of this device.
    fn plan(&self, ring: &RingShape) -> PolyPlan;

    /// Loads the tables of a ring with choices that only this kind of device knows.
    ///
    /// # Errors
    /// As [`Loader::open`], and [`BackendError::InvalidRequest`] for names or values that the
    /// device does not know, with those that it does.
    fn open_by(&self, ring: Arc<RingShape>, choices: &Choices) -> Result<Box<dyn PolyDevice>> {
        match choices.keys().next() {
            None => self.open(ring),
            Some(name) => Err(unknown_choice(name, &[])),
        }
    }

    /// The options worth measuring for a ring on this device, the model's own first: what
    /// `cargo xtask tune` runs.
    fn alternatives(&self, ring: &RingShape) -> Vec<PolyOptions> {
        vec![PolyOptions::of(self.plan(ring))]
    }

    /// Bytes that rings opened here can take in all, where the device tells.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// The refusal of a choice that a device does not know; `known` are those that it does.
pub fn unknown_choice(name: &str, known: &[&str]) -> BackendError {
    let known = match known {
        [] => "it leaves none open".to_owned(),
        known => format!("it knows {}", known.join(", ")),
    };
    BackendError::InvalidRequest(format!("the device knows no choice `{name}`: {known}"))
}

/// Choices made when a ring is opened; everything left open is the device's to choose. Results do
/// not depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolyOptions {
    /// How programs are lowered.
    pub plan: Option<PolyPlan>,
    /// A name or value that the device does not know is refused.
    #[serde(default)]
    pub choices: Choices,
    /// Ask the device's model even where a tuned plan is stored.
    #[serde(default)]
    pub untuned: bool,
}

impl PolyOptions {
    /// This plan, everything else open.
    pub fn of(plan: PolyPlan) -> Self {
        Self { plan: Some(plan), ..Self::default() }
    }

    /// The same with one more choice.
    #[must_use]
    pub fn with(mut self, name: &str, value: u32) -> Self {
        self.choices.insert(name.into(), value);
        self
    }

    /// The same with kernels for single programs compiled then. Devices that have none refuse it.
    #[must_use]
    pub fn with_specialise(self, when: Specialise) -> Self {
        self.with(SPECIALISE, when.number())
    }

    /// The options to open `ring` with on the device called `identity`: these where they ask for
    /// anything but [`Specialise`], else the stored winner, else these, for the device's model to
    /// complete.
    ///
    /// # Errors
    /// As [`TunedPlans::read`], and [`BackendError::InvalidRequest`] for stored
    /// options of another form.
    pub fn or_tuned(
        &self,
        identity: &str,
        ring: &RingShape,
        progress: &dyn Progress,
    ) -> Result<(Self, PlanSource)> {
        let specialise = self.choices.get(SPECIALISE).copied();
        if self.plan.is_some() || self.choices.keys().any(|name| name != SPECIALISE) {
            return Ok((self.clone(), PlanSource::Request));
        }
        let stored = if self.untuned { None } else { TunedPlans::stored(progress)? };
        let Some((plans, path)) = stored else { return Ok((self.clone(), PlanSource::Model)) };
        Ok(match plans.best(identity, ring, None) {
            Some(best) => {
                let mut best: Self = best.options_as(&path)?;
                best.choices.extend(specialise.map(|number| (SPECIALISE.to_owned(), number)));
                (best, PlanSource::Tuned)
            }
            None => (self.clone(), PlanSource::Model),
        })
    }
}

impl std::fmt::Display for PolyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = Vec::new();
        if let Some(plan) = self.plan {
            all.push(format!("row_slots={}", plan.most_row_slots));
            all.push(format!("column_sums={}", plan.most_column_sums));
            if plan.least_column_tiles > 1 {
                all.push(format!("column_tiles={}", plan.least_column_tiles));
            }
            all.extend((!plan.fuse).then(|| "fuse=0".to_owned()));
            all.extend(plan.turn_operands.then(|| "turn_operands=1".to_owned()));
        }
        all.extend(self.choices.iter().map(|(name, value)| {
            let when = Specialise::of_number(*value).filter(|_| name == SPECIALISE);
            when.map_or_else(|| format!("{name}={value}"), |when| format!("{name}={}", when.name()))
        }));
        f.write_str(if all.is_empty() { "model" } else { "" })?;
        f.write_str(&all.join(" "))
    }
}

/// How programs are lowered for a device. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolyPlan {
    /// Whether sums, halves of transforms and conversions share launches; without, every operation
    /// is a launch of its own.
    pub fuse: bool,
    /// Most slots of a row tile that need a transform at once (loads that are half transformed, and
    /// sums stored half transformed), from 2 to 1024: what fits the memory of a block.
    pub most_row_slots: usize,
    /// Most sums of a column tile, at least 1: smaller ones fill a device better, but each repeats
    /// the inverse half of its loads.
    pub most_column_sums: usize,
    /// Column tiles that a launch should have at least, from 1 on: as long as it has fewer, and
    /// eight outputs a tile are left, tiles are divided. For devices that a few tiles do not fill.
    #[serde(default = "one")]
    pub least_column_tiles: usize,
    /// Whether sums of products that later rows read under automorphisms are formed there, of
    /// operands under them, where these are fewer: less goes through memory, and rows gather more.
    #[serde(default)]
    pub turn_operands: bool,
}

fn one() -> usize {
    1
}

impl Default for PolyPlan {
    fn default() -> Self {
        Self {
            fuse: true,
            most_row_slots: 24,
            most_column_sums: 64,
            least_column_tiles: 1,
            turn_operands: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::reference_device::ReferenceLoader;
    use crate::{NoProgress, TunedPlan};

    #[test]
    fn options_that_ask_for_something_are_taken_as_they_are() {
        let ring = crate::poly::random::ring(4);
        let asked = PolyOptions::of(PolyPlan::default()).with("threads", 2);
        let untuned = PolyOptions { untuned: true, ..PolyOptions::default() };
        for (options, source) in [(asked, PlanSource::Request), (untuned, PlanSource::Model)] {
            let taken = options.or_tuned("a device", &ring, &NoProgress).expect("nothing is read");
            assert_eq!(taken, (options, source));
        }
    }

    #[test]
    fn options_are_stored_and_read_back_for_their_ring() {
        let (ring, other) = (crate::poly::random::ring(4), crate::poly::random::ring(5));
        let options = PolyOptions::of(PolyPlan::default()).with("warps", 16);
        let mut plans = TunedPlans::default();
        plans.put(TunedPlan::new("a GPU", &*ring, &options, 2.0).expect("plain values"));
        let path = std::path::Path::new("plans.json");
        let best = plans.best("a GPU", &*ring, None).expect("stored");
        assert_eq!(best.options_as::<PolyOptions>(path).expect("just stored"), options);
        assert!(plans.best("a GPU", &*other, None).is_none());
        assert_eq!(options.to_string(), "row_slots=24 column_sums=64 warps=16");
        assert_eq!(PolyOptions::default().to_string(), "model");
    }

    #[test]
    fn when_kernels_are_specialised_has_names_and_is_no_plan() {
        for when in Specialise::ALL {
            assert_eq!(Specialise::by_name(when.name()), Some(when));
            assert_eq!(Specialise::of_number(when.number()), Some(when));
            let options = PolyOptions { untuned: true, ..PolyOptions::default() };
            let options = options.with_specialise(when);
            assert_eq!(options.to_string(), format!("specialise={}", when.name()));
            let ring = crate::poly::random::ring(4);
            let taken = options.or_tuned("a device", &ring, &NoProgress).expect("nothing is read");
            assert_eq!(taken, (options, PlanSource::Model));
        }
        assert_eq!((Specialise::by_name("later"), Specialise::of_number(3)), (None, None));
    }

    #[test]
    fn a_device_without_choices_refuses_any() {
        let ring = crate::poly::random::ring(4);
        let choices = PolyOptions::default().with("warps", 16).choices;
        let opened = ReferenceLoader::default().open_by(ring, &choices);
        let error = opened.err().expect("there are none").to_string();
        assert!(error.contains("`warps`") && error.contains("none open"), "{error}");
    }
}
