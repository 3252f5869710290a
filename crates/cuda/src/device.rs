//! NVIDIA GPUs as [`Backend`]s.

use crate::bootstrap::engine::CudaEngine;
use crate::bootstrap::limits::cluster_of;
use crate::bootstrap::plan::Planner;
use crate::bootstrap::plan::{Split, only_transform};
use crate::bootstrap::queues::QUEUES;
use crate::bootstrap::upload::Loading;
use crate::poly::{PROGRAMS, PolyKnobs};
use crate::runtime::gpu::{self, Gpu, GpuFacts};
use crate::runtime::limited::Limited;
use crate::runtime::machine::{Machine, Queue};
use girih_backend::bootstrap::{BootstrapDevice, Loader};
use girih_backend::{
    Backend, BackendError, BootstrapShape, DeviceInfo, DeviceKind, KeyModulus, LoadOptions,
    LoadRequest, PlanRequest, Result, Transform, Waiting, at_once, choose_plan,
};
use std::sync::Arc;

/// One NVIDIA GPU.
pub struct CudaBackend {
    pub(crate) info: DeviceInfo,
    pub(crate) gpu: Arc<Gpu>,
    /// What engines run on: the GPU, or the GPU with less memory.
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) poly_knobs: PolyKnobs,
}

/// The GPUs of this machine, `cuda:0` first.
///
/// # Errors
/// [`BackendError::NoDevice`] where there is no driver or it does not start.
pub fn enumerate() -> Result<Vec<DeviceInfo>> {
    (0..gpu::count_devices()?).map(|ordinal| Ok(info(ordinal, &gpu::facts(ordinal)?))).collect()
}

fn info(ordinal: usize, facts: &GpuFacts) -> DeviceInfo {
    // Where f64 runs at a half of the f32 rate the FFT wins on most sets;
    // at 1/32 or 1/64 it never does.
    let transforms = if facts.f64_slowness <= 4 {
        [Transform::Fft, Transform::Ntt]
    } else {
        [Transform::Ntt, Transform::Fft]
    };
    DeviceInfo {
        id: format!("cuda:{ordinal}"),
        name: facts.name.clone(),
        kind: DeviceKind::Cuda,
        transforms: transforms.to_vec(),
        limits: facts.limits.clone(),
        software: false,
        notes: vec![
            format!("compute capability {}.{}", facts.capability / 10, facts.capability % 10),
            format!(
                "driver for CUDA {}.{}",
                facts.driver_version / 1000,
                facts.driver_version % 1000 / 10
            ),
            format!("{} MiB of memory", facts.memory_bytes >> 20),
        ],
    }
}

impl CudaBackend {
    /// Opens `cuda:N` (or `cuda` for the first).
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] naming what is missing.
    pub fn open(name: &str) -> Result<Self> {
        let no_device = |why: String| BackendError::NoDevice { requested: name.into(), why };
        let ordinal = match name.strip_prefix("cuda") {
            Some("") => 0,
            Some(rest) => rest
                .strip_prefix(':')
                .and_then(|n| n.parse::<usize>().ok())
                .ok_or_else(|| no_device("CUDA devices are named cuda:0, cuda:1, ..".into()))?,
            None => return Err(no_device("CUDA devices are named cuda:0, cuda:1, ..".into())),
        };
        let count = gpu::count_devices()?;
        if ordinal >= count {
            return Err(no_device(format!("this machine has {count} CUDA devices")));
        }
        let queues: Vec<Queue> = QUEUES.into_iter().chain([PROGRAMS]).collect();
        let gpu = Arc::new(Gpu::open(ordinal, &queues)?);
        Ok(Self {
            info: info(ordinal, gpu.facts()),
            machine: gpu.clone(),
            gpu,
            memory_limit: None,
            poly_knobs: PolyKnobs::default(),
        })
    }

    /// Lets all that is loaded from now on, of both families together, allocate so many bytes and
    /// no more, as on a smaller device. What exceeds them is [`BackendError::OutOfMemory`], which
    /// says what was asked for, for what, and how much is in use.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        let all = self.gpu.facts().memory_bytes as u64;
        let (limited, whole) = (bytes >> 20, all >> 20);
        self.info.notes.push(format!("limited to {limited} MiB of its {whole} MiB of memory"));
        self.machine = Arc::new(Limited::new(self.gpu.clone(), bytes));
        self.memory_limit = Some(bytes);
        self
    }

    /// Plans `shape` for this device.
    fn planner<'a>(&'a self, shape: &'a BootstrapShape, transform: Transform) -> Planner<'a> {
        Planner {
            device: &self.info.id,
            shape,
            transform,
            limits: &self.info.limits,
            cluster: cluster_of(self.gpu.facts().capability),
        }
    }

    /// The transform that a set runs fastest with, as far as the model knows,
    /// of those that can run it.
    fn preferred(&self, shape: &BootstrapShape) -> Transform {
        let Some(&first) = self.info.transforms.first() else { return Transform::Ntt };
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
}

impl Backend for CudaBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }

    fn poly(&self) -> Option<&dyn girih_backend::poly::Loader> {
        Some(self)
    }
}

impl Loader for CudaBackend {
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        let preferred = self.preferred(shape);
        let other = self
            .info
            .transforms
            .iter()
            .copied()
            .filter(|&t| t != preferred && only_transform(shape).is_none());
        let of = |transform| {
            let plans = self.planner(shape, transform).alternatives();
            plans.into_iter().map(move |plan| (transform, plan))
        };
        let all = std::iter::once(preferred).chain(other).flat_map(of);
        let options = |(transform, plan)| LoadOptions {
            transform: Some(transform),
            plan,
            ..Default::default()
        };
        let all: Vec<LoadOptions> = all.map(options).collect();
        if all.is_empty() {
            // What one block cannot run has one way: over a cluster.
            return Ok(vec![LoadOptions { transform: Some(preferred), ..Default::default() }]);
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

impl CudaBackend {
    fn load_engine(&self, request: LoadRequest<'_>) -> Result<CudaEngine> {
        let shape = request.keys.shape();
        let (options, source) =
            choose_plan(&self.identity(), shape, request.options, request.progress)?;
        let transform = options.transform.unwrap_or_else(|| self.preferred(shape));
        let plans = self.planner(shape, transform).candidates(&options.plan)?;
        let LoadRequest { keys, progress, .. } = request;
        let loading = Loading { machine: &self.machine, keys, progress };
        let loaded = CudaEngine::load(&loading, plans, source, request.beside_as()?);
        self.machine.take_notes().iter().for_each(|note| progress.note(note));
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_says_so() {
        // With a GPU there is nothing to refuse here but the name.
        for name in ["cuda:x", "cuda:4000", "cudax"] {
            let error = CudaBackend::open(name).err().expect("no such device").to_string();
            assert!(error.contains("no device"), "{error}");
        }
    }
}
