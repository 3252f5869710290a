//! The emulated machine as a [`Backend`].

use crate::bootstrap::engine::CudaEngine;
use crate::bootstrap::rotation::plans;
use crate::bootstrap::spread::MAX_CLUSTER;
use crate::runtime::emulated::Emulated;
use girih_backend::{
    Backend, BackendError, DeviceInfo, DeviceKind, DeviceLimits, Engine, KeySource, LoadOptions, PlanSource, Progress, Transform,
};
use std::sync::Arc;

/// The CUDA kernels on the host, with the limits of an H200: for tests of kernels and engine without a GPU.
pub struct EmulatedBackend {
    info: DeviceInfo,
    machine: Arc<Emulated>,
}

impl EmulatedBackend {
    /// The emulated device.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] where no C++ compiler is found (`CXX`, else `c++`).
    pub fn new() -> Result<Self, BackendError> {
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
        Ok(Self { info, machine: Arc::new(Emulated::new()?) })
    }
}

impl Backend for EmulatedBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        Ok(Box::new(self.load_engine(None, keys, options, progress)?))
    }

    fn load_beside(
        &self,
        engine: &(dyn Engine + 'static),
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Engine>, BackendError> {
        Ok(Box::new(self.load_engine(Some(CudaEngine::beside(engine, keys.shape())?), keys, options, progress)?))
    }
}

impl EmulatedBackend {
    fn load_engine(
        &self,
        beside: Option<&CudaEngine>,
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<CudaEngine, BackendError> {
        let transform = options.transform.unwrap_or(if keys.shape().is_torus() { Transform::Fft } else { Transform::Ntt });
        let plans = plans(&self.info.id, keys.shape(), transform, &self.info.limits, MAX_CLUSTER, &options.plan)?;
        CudaEngine::load(self.machine.clone(), keys, plans, PlanSource::Model, beside, progress)
    }
}
