//! Keys loaded on a machine.

use crate::bootstrap::engine::CudaEngine;
use crate::bootstrap::plan::{Planner, Split, knobs, only_transform};
use crate::bootstrap::upload::Loading;
use crate::runtime::machine::Machine;
use girih_backend::bootstrap::{BootstrapDevice, Loader};
use girih_backend::{
    BootstrapShape, DeviceLimits, KeyModulus, LoadOptions, LoadRequest, PlanRequest, PlanSource,
    Result, Specialise, Transform, Waiting, at_once, choose_plan,
};
use std::sync::Arc;

/// What keys are loaded on.
pub(crate) struct BootstrapLoader {
    pub machine: Arc<dyn Machine>,
    /// As errors name it.
    pub device: String,
    pub limits: DeviceLimits,
    /// The device's own order of preference.
    pub transforms: Vec<Transform>,
    /// Blocks that a cluster may have.
    pub cluster: usize,
    /// What stored plans know the device by; none where none are looked for.
    pub identity: Option<String>,
}

impl BootstrapLoader {
    /// Plans `shape` for this device.
    fn planner<'a>(&'a self, shape: &'a BootstrapShape, transform: Transform) -> Planner<'a> {
        Planner {
            device: &self.device,
            shape,
            transform,
            limits: &self.limits,
            cluster: self.cluster,
        }
    }

    /// The transform that a set runs fastest with, as far as the model knows,
    /// of those that can run it.
    fn preferred(&self, shape: &BootstrapShape) -> Transform {
        let Some(&first) = self.transforms.first() else { return Transform::Ntt };
        if let Some(only) = only_transform(shape) {
            return only;
        }
        match &shape.key_modulus {
            // One 32-bit word costs the integer pipes about what the FFT costs the f64 pipe. The
            // FFT's key is four times as large, so it wins where a block has room for four
            // ciphertexts that share it: three digits, not two or five.
            KeyModulus::Words(words) if words.len() == 1 && first == Transform::Fft => {
                let plan = self.planner(shape, first).whole(&PlanRequest::default());
                let shared = plan.is_ok_and(|plan| plan.split == Split::Ciphertexts(4));
                if shared { first } else { Transform::Ntt }
            }
            _ => first,
        }
    }

    fn load_engine(&self, request: LoadRequest<'_>) -> Result<CudaEngine> {
        let LoadRequest { keys, options, progress, .. } = request;
        let shape = keys.shape();
        let (options, source) = match &self.identity {
            Some(identity) => choose_plan(identity, shape, options, progress)?,
            None => (options.clone(), PlanSource::Model),
        };
        let transform = options.transform.unwrap_or_else(|| self.preferred(shape));
        let plans = self.planner(shape, transform).candidates(&options.plan)?;
        // What keeps no time is a test, which looks at all rotations.
        let specialise = if self.machine.keeps_time() {
            knobs::specialise(&options.plan)
        } else {
            Specialise::Now
        };
        let loading = Loading { machine: &self.machine, keys, progress };
        let loaded = CudaEngine::load(&loading, plans, source, specialise, request.beside_as()?);
        self.machine.take_notes().iter().for_each(|note| progress.note(note));
        loaded
    }
}

impl Loader for BootstrapLoader {
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        let preferred = self.preferred(shape);
        let other = self
            .transforms
            .iter()
            .copied()
            .filter(|&t| t != preferred && only_transform(shape).is_none());
        let of = |transform| {
            let plans = self.planner(shape, transform).alternatives();
            plans.into_iter().map(move |plan| (transform, plan))
        };
        let all = std::iter::once(preferred).chain(other).flat_map(of);
        let options = |(transform, plan): (Transform, PlanRequest)| {
            LoadOptions::default().with_transform(transform).with_plan(plan)
        };
        let all: Vec<LoadOptions> = all.map(options).collect();
        if all.is_empty() {
            // What one block cannot run has one way: over a cluster.
            return Ok(vec![LoadOptions::default().with_transform(preferred)]);
        }
        Ok(all)
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        at_once(move || Ok(Box::new(self.load_engine(request)?) as Box<dyn BootstrapDevice>))
    }
}
