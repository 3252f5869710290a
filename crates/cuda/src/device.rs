//! NVIDIA GPUs as [`Backend`]s.

use crate::bootstrap::limits::cluster_of;
use crate::bootstrap::queues::QUEUES;
use crate::opened::Opened;
use crate::poly::{PROGRAMS, PolyKnobs};
use crate::runtime::gpu::{self, Gpu, GpuFacts};
use crate::runtime::machine::Queue;
use crate::runtime::shipped;
use girih_backend::{
    Backend, BackendError, DeviceInfo, DeviceKind, Result, Transform, bootstrap, poly,
};
use std::sync::Arc;

/// One NVIDIA GPU.
pub struct CudaBackend {
    opened: Opened,
    /// Bytes of memory that the GPU has.
    memory_bytes: u64,
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
    let driver = facts.driver_version;
    let notes = [
        format!("compute capability {}.{}", facts.capability / 10, facts.capability % 10),
        format!("driver for CUDA {}.{}", driver / 1000, driver % 1000 / 10),
        format!("{} MiB of memory", facts.memory_bytes >> 20),
    ];
    let (id, limits) = (format!("cuda:{ordinal}"), facts.limits.clone());
    DeviceInfo::new(id, facts.name.clone(), DeviceKind::Cuda, limits)
        .with_transforms(transforms)
        .with_notes(notes)
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
        if let Some(why) = shipped::refusal() {
            return Err(no_device(why));
        }
        let count = gpu::count_devices()?;
        if ordinal >= count {
            return Err(no_device(format!("this machine has {count} CUDA devices")));
        }
        let queues: Vec<Queue> = QUEUES.into_iter().chain([PROGRAMS]).collect();
        let gpu = Arc::new(Gpu::open(ordinal, &queues)?);
        let (info, cluster) = (info(ordinal, gpu.facts()), cluster_of(gpu.facts().capability));
        let memory_bytes = gpu.facts().memory_bytes as u64;
        let mut backend = Self { opened: Opened::new(info, gpu, cluster), memory_bytes };
        backend.opened.poly.memory_bytes = Some(memory_bytes);
        backend.opened.bootstrap.identity = Some(backend.identity());
        Ok(backend)
    }

    /// Lets all that is loaded from now on, of both families together, allocate so many bytes and
    /// no more, as on a smaller device. What exceeds them is [`BackendError::OutOfMemory`], which
    /// says what was asked for, for what, and how much is in use.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        let (limited, whole) = (bytes >> 20, self.memory_bytes >> 20);
        self.opened
            .info
            .notes
            .push(format!("limited to {limited} MiB of its {whole} MiB of memory"));
        self.opened.limit_memory(bytes);
        // Stored plans of the whole device are none of the limited one.
        self.opened.bootstrap.identity = Some(self.identity());
        self
    }

    /// Plans kernels of rings that are opened from now on by these numbers.
    pub fn set_poly_knobs(&mut self, knobs: PolyKnobs) {
        self.opened.poly.knobs = knobs;
    }
}

impl Backend for CudaBackend {
    fn info(&self) -> &DeviceInfo {
        &self.opened.info
    }

    fn bootstrap(&self) -> Option<&dyn bootstrap::Loader> {
        Some(&self.opened.bootstrap)
    }

    fn poly(&self) -> Option<&dyn poly::Loader> {
        Some(&self.opened.poly)
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
