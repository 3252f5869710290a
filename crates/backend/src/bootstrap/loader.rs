//! Loading: whose keys, with which choices, beside what.

use super::{BootstrapDevice, BootstrapShape, Engine, PlanRequest};
use crate::device::{NoProgress, PlanSource, TunedPlans, Waiting};
use crate::{BackendError, Progress, Result, Transform};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Supplies the public keys of one shape block by block, so that no device ever needs a second
/// whole copy on the host.
///
/// Blocks may be asked for in any order and from several threads at once.
pub trait KeySource: Sync {
    /// The shape these keys are of.
    fn shape(&self) -> &BootstrapShape;

    /// Writes the bootstrapping-key block of step `index <` [`BootstrapShape::steps`]:
    /// `[GGSW][level][row K][column K][N]` with [`BootstrapShape::ggsw_per_step`] GGSW ciphertexts,
    /// coefficients in `[0, M)` for the key modulus M. `out` has
    /// [`BootstrapShape::bootstrapping_block_len`] words.
    fn bootstrapping_block(&self, index: usize, out: &mut [u64]);

    /// Writes the key-switching block of `index < kN`: `[digit][value][n + r]`, words in `[0,
    /// Q_ks)`; native torus: `[digit][n + r]`, 64-bit words. `out` has
    /// [`BootstrapShape::key_switching_block_len`] words.
    fn key_switching_block(&self, index: usize, out: &mut [u64]);
}

/// Choices made when keys are loaded; everything left open is the device's to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The transform to use.
    pub transform: Option<Transform>,
    /// Constraints on the tile plan.
    pub plan: PlanRequest,
    /// Ask the device's model even where a tuned plan is stored.
    #[serde(default)]
    pub untuned: bool,
}

impl LoadOptions {
    /// The same with this transform; `None` leaves it open.
    #[must_use]
    pub fn with_transform(self, transform: impl Into<Option<Transform>>) -> Self {
        Self { transform: transform.into(), ..self }
    }

    /// The same with these constraints on the plan.
    #[must_use]
    pub fn with_plan(self, plan: PlanRequest) -> Self {
        Self { plan, ..self }
    }

    /// The same by the device's model, even where a tuned plan is stored.
    #[must_use]
    pub fn by_model(self) -> Self {
        Self { untuned: true, ..self }
    }
}

static OPEN: LoadOptions = LoadOptions {
    transform: None,
    plan: PlanRequest {
        subgroups_per_polynomial: None,
        groups: None,
        steps_per_launch: None,
        choices: BTreeMap::new(),
    },
    untuned: false,
};

/// Everything that one load is about.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    /// The keys.
    pub keys: &'a dyn KeySource,
    /// What is not left to the device.
    pub options: &'a LoadOptions,
    /// A loaded engine of the same device whose store, test polynomials and key-switching table the
    /// new one shares.
    pub beside: Option<&'a Engine>,
    /// Hears how far it has come.
    pub progress: &'a dyn Progress,
}

impl<'a> LoadRequest<'a> {
    /// These keys, everything else open, in silence.
    pub fn new(keys: &'a dyn KeySource) -> Self {
        Self { keys, options: &OPEN, beside: None, progress: &NoProgress }
    }

    /// The same with choices made.
    #[must_use]
    pub fn options(self, options: &'a LoadOptions) -> Self {
        Self { options, ..self }
    }

    /// The same for a further bootstrapping key beside `engine`: the new engine shares its store,
    /// its test polynomials and its key-switching table, which do not depend on the gadget. What
    /// one engine puts into the store the other finds there, and calls to either take effect in the
    /// order in which they are made. Only the bootstrapping blocks of the keys are read: they must
    /// be of the same secrets, which no device can check.
    #[must_use]
    pub fn beside(self, engine: &'a Engine) -> Self {
        Self { beside: Some(engine), ..self }
    }

    /// The same, heard by `progress`.
    #[must_use]
    pub fn progress(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// The device's own engine that this load is beside, if any, as a `D`.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for the engine of another kind of device.
    pub fn beside_as<D: BootstrapDevice>(&self) -> Result<Option<&'a D>> {
        let Some(engine) = self.beside else { return Ok(None) };
        let device: &dyn std::any::Any = engine.device();
        device.downcast_ref::<D>().map(Some).ok_or_else(other_backend)
    }
}

/// The refusal of keys beside an engine of another device.
pub fn other_backend() -> BackendError {
    BackendError::InvalidRequest("keys loaded beside an engine of another backend".into())
}

/// What a device implements to run this family. Requests have been checked: the shape is valid, and
/// one to be loaded beside an engine differs from it in the gadget alone.
pub trait Loader: Send + Sync {
    /// The plans of `shape` worth measuring on this device, the model's own first, each with its
    /// transform given: what `cargo xtask tune` runs. One that turns out not to load is skipped
    /// with its reason.
    ///
    /// # Errors
    /// As [`LoadRequest::load`], for a shape that this device cannot run at all.
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>>;

    /// Loads keys; [`LoadRequest::load`] is what to call.
    ///
    /// # Errors
    /// As there.
    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>>;
}

/// The options to load `shape` with on the device called `identity`: those given where they ask for
/// anything of the plan, else the stored winner, else those given,
/// for the device's model to complete.
///
/// # Errors
/// As [`TunedPlans::read`], and [`BackendError::InvalidRequest`] for stored
/// options of another form.
pub fn choose_plan(
    identity: &str,
    shape: &BootstrapShape,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<(LoadOptions, PlanSource)> {
    if options.plan != PlanRequest::default() {
        return Ok((options.clone(), PlanSource::Request));
    }
    if options.untuned {
        return Ok((options.clone(), PlanSource::Model));
    }
    let stored = TunedPlans::stored(progress)?;
    let Some((plans, path)) = stored else { return Ok((options.clone(), PlanSource::Model)) };
    Ok(match plans.best(identity, shape, options.transform) {
        Some(best) => (best.options_as(&path)?, PlanSource::Tuned),
        None => (options.clone(), PlanSource::Model),
    })
}
