//! The emulated machine as a [`Backend`].

use crate::bootstrap::limits::MAX_CLUSTER;
use crate::opened::Opened;
use crate::runtime::emulated::Emulated;
use girih_backend::Specialise;
use girih_backend::{
    Backend, DeviceInfo, DeviceKind, DeviceLimits, Result, Transform, bootstrap, poly,
};
use std::sync::Arc;

/// The CUDA kernels on the host, with the limits of an H200: for tests of kernels and engine
/// without a GPU.
pub struct EmulatedBackend(Opened);

impl EmulatedBackend {
    /// The emulated device.
    ///
    /// # Errors
    /// [`NoDevice`](girih_backend::BackendError::NoDevice) where no C++ compiler is found
    /// (`CXX`, else `c++`).
    pub fn new() -> Result<Self> {
        let limits = DeviceLimits {
            workgroup_memory_bytes: 227 * 1024,
            workgroup_threads: 1024,
            subgroup_threads: 32,
            binding_bytes: u64::MAX,
            multiprocessors: 132,
        };
        let (id, name) = ("cuda:emulated", "CUDA kernels on the host");
        let info = DeviceInfo::new(id, name, DeviceKind::Cuda, limits)
            .with_transforms([Transform::Ntt, Transform::Fft])
            .with_software(true);
        let mut opened = Opened::new(info, Arc::new(Emulated::new()?), MAX_CLUSTER);
        // A test means the kernels of its own shapes, unless it says otherwise.
        opened.poly.knobs.specialise = Specialise::Now;
        // Rings of tests are small, and are to take many turns too.
        opened.poly.knobs.resident_words = 16 << 10;
        Ok(Self(opened))
    }

    /// The same with so many bytes of shared memory a block: plans become those of smaller devices.
    pub fn with_block_memory(mut self, bytes: usize) -> Self {
        let Opened { info, bootstrap, poly } = &mut self.0;
        for limits in [&mut info.limits, &mut bootstrap.limits, &mut poly.limits] {
            limits.workgroup_memory_bytes = bytes;
        }
        self
    }

    /// The same on which both families together may allocate so many bytes and no more.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.0.limit_memory(bytes);
        self
    }
}

impl Backend for EmulatedBackend {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn bootstrap(&self) -> Option<&dyn bootstrap::Loader> {
        Some(&self.0.bootstrap)
    }

    fn poly(&self) -> Option<&dyn poly::Loader> {
        Some(&self.0.poly)
    }
}
