//! What a device is and what it can do.

use serde::{Deserialize, Serialize};

/// Which crate drives a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The host processor.
    Cpu,
    /// A GPU through Vulkan, Metal, DX12 or WebGPU.
    Wgpu,
    /// An NVIDIA GPU through CUDA.
    Cuda,
}

impl std::fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        })
    }
}

/// How polynomials are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transform {
    /// 32-bit RNS negacyclic NTT: exact, the same bits on every device.
    #[serde(rename = "ntt-u32")]
    Ntt,
    /// Folded f64 FFT over N/2 complex points: approximate, with a stated error.
    #[serde(rename = "fft-f64")]
    Fft,
}

impl std::fmt::Display for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ntt => "ntt-u32",
            Self::Fft => "fft-f64",
        })
    }
}

/// The on-chip limits a tile plan works within.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLimits {
    /// Bytes of memory that one workgroup (block) can have on chip.
    pub workgroup_memory_bytes: usize,
    /// Threads of one workgroup.
    pub workgroup_threads: usize,
    /// Threads that run in lockstep (warp, subgroup); 1 where there is no such notion.
    pub subgroup_threads: usize,
    /// Largest single buffer a kernel can address, in bytes.
    pub binding_bytes: u64,
    /// Multiprocessors (compute units, cores): how many workgroups it takes to fill the device.
    pub multiprocessors: usize,
}

/// One device of this machine. A device makes its own by [`DeviceInfo::new`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name that opens it again: `cpu`, `wgpu:0`, `cuda:0`.
    pub id: String,
    /// What its maker calls it.
    pub name: String,
    /// Which crate drives it.
    pub kind: DeviceKind,
    /// Transforms it can run, best first.
    pub transforms: Vec<Transform>,
    /// Its limits.
    pub limits: DeviceLimits,
    /// Whether it is a software stand-in for a GPU, never chosen by `auto`.
    pub software: bool,
    /// Further facts worth printing, such as driver versions and instruction sets.
    pub notes: Vec<String>,
}

impl DeviceInfo {
    /// A device of hardware that has nothing to note and runs no transform.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        kind: DeviceKind,
        limits: DeviceLimits,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            kind,
            transforms: Vec::new(),
            limits,
            software: false,
            notes: Vec::new(),
        }
    }

    /// The same with the transforms that it can run, best first.
    #[must_use]
    pub fn with_transforms(mut self, transforms: impl Into<Vec<Transform>>) -> Self {
        self.transforms = transforms.into();
        self
    }

    /// The same as a software stand-in for a GPU, or not.
    #[must_use]
    pub fn with_software(mut self, software: bool) -> Self {
        self.software = software;
        self
    }

    /// The same with further facts worth printing.
    #[must_use]
    pub fn with_notes(mut self, notes: impl Into<Vec<String>>) -> Self {
        self.notes = notes.into();
        self
    }
}
