//! What would be compiled for a shape, for tools that compile without a GPU.

use crate::plan::CudaPlan;
use crate::source::{BLIND_ROTATE, COMBINE, KEY_SWITCH, Source};
use girih_backend::{BackendError, BootstrapShape, DeviceLimits, PlanRequest, Transform};

/// The kernels of one shape with one transform, as they are compiled for a device of some limits.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `<shape name>-<transform>`.
    pub name: String,
    /// The plan.
    pub plan: CudaPlan,
    /// One source a kernel file.
    pub sources: Vec<Source>,
}

/// Limits of a compute capability (`90` for sm_90): shared memory that one block can ask for, from NVIDIA's tables.
pub fn limits_of(compute_capability: u32) -> DeviceLimits {
    let kilobytes = match compute_capability {
        75 => 64,
        80 | 87 => 163,
        90 | 100 | 103 | 110 => 227,
        _ => 99,
    };
    DeviceLimits {
        workgroup_memory_bytes: kilobytes * 1024,
        workgroup_threads: 1024,
        subgroup_threads: 32,
        binding_bytes: u64::MAX,
        multiprocessors: 1,
    }
}

/// The default variants of `shape` within `limits`, one for each transform.
///
/// # Errors
/// Where neither transform fits: the refusal of the last.
pub fn variants(name: &str, shape: &BootstrapShape, limits: &DeviceLimits, request: &PlanRequest) -> Result<Vec<Variant>, BackendError> {
    let mut found = Vec::new();
    let mut refused = None;
    for transform in [Transform::Ntt, Transform::Fft] {
        match CudaPlan::new("cuda", shape, transform, limits, request) {
            Ok(plan) => {
                let sources = [BLIND_ROTATE, KEY_SWITCH, COMBINE].map(|file| Source::new(file, shape, &plan, false)).to_vec();
                found.push(Variant { name: format!("{name}-{transform}"), plan, sources });
            }
            Err(error) => refused = Some(error),
        }
    }
    match (found.is_empty(), refused) {
        (true, Some(error)) => Err(error),
        _ => Ok(found),
    }
}
