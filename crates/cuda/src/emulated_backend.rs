//! The emulated machine as a [`Backend`].

use crate::bootstrap::engine::CudaEngine;
use crate::bootstrap::limits::MAX_CLUSTER;
use crate::bootstrap::plan::Planner;
use crate::bootstrap::plan::only_transform;
use crate::bootstrap::upload::Loading;
use crate::runtime::emulated::Emulated;
use crate::runtime::limited::Limited;
use crate::runtime::machine::Machine;
use girih_backend::bootstrap::{BootstrapDevice, Loader};
use girih_backend::{
    Backend, BootstrapShape, DeviceInfo, DeviceKind, DeviceLimits, LoadOptions, LoadRequest,
    PlanSource, Result, Transform, Waiting, at_once,
};
use std::sync::Arc;

/// The CUDA kernels on the host, with the limits of an H200: for tests of kernels and engine
/// without a GPU.
pub struct EmulatedBackend {
    pub(crate) info: DeviceInfo,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) memory_limit: Option<u64>,
}

impl EmulatedBackend {
    /// The emulated device.
    ///
    /// # Errors
    /// [`NoDevice`](girih_backend::BackendError::NoDevice) where no C++ compiler is found
    /// (`CXX`, else `c++`).
    pub fn new() -> Result<Self> {
        let info = DeviceInfo {
            id: "cuda:emulated".into(),
            name: "CUDA kernels on the host".into(),
            kind: DeviceKind::Cuda,
            transforms: vec![Transform::Ntt, Transform::Fft],
            limits: DeviceLimits {
                workgroup_memory_bytes: 227 * 1024,
                workgroup_threads: 1024,
                subgroup_threads: 32,
                binding_bytes: u64::MAX,
                multiprocessors: 132,
            },
            software: true,
            notes: Vec::new(),
        };
        Ok(Self { info, machine: Arc::new(Emulated::new()?), memory_limit: None })
    }

    /// The same with so many bytes of shared memory a block: plans become those of smaller devices.
    pub fn with_block_memory(mut self, bytes: usize) -> Self {
        self.info.limits.workgroup_memory_bytes = bytes;
        self
    }

    /// The same on which both families together may allocate so many bytes and no more.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.machine = Arc::new(Limited::new(self.machine, bytes));
        self.memory_limit = Some(bytes);
        self
    }
}

impl Backend for EmulatedBackend {
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

/// The transform of a shape where none is asked for.
fn preferred(shape: &BootstrapShape) -> Transform {
    only_transform(shape).unwrap_or(Transform::Ntt)
}

impl Loader for EmulatedBackend {
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        Ok(vec![LoadOptions { transform: Some(preferred(shape)), ..Default::default() }])
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        at_once(move || {
            let LoadRequest { keys, options, progress, .. } = request;
            let transform = options.transform.unwrap_or_else(|| preferred(keys.shape()));
            let planner = Planner {
                device: &self.info.id,
                shape: keys.shape(),
                transform,
                limits: &self.info.limits,
                cluster: MAX_CLUSTER,
            };
            let plans = planner.candidates(&options.plan)?;
            let loading = Loading { machine: &self.machine, keys, progress };
            let engine =
                CudaEngine::load(&loading, plans, PlanSource::Model, request.beside_as()?)?;
            Ok(Box::new(engine) as Box<dyn BootstrapDevice>)
        })
    }
}
