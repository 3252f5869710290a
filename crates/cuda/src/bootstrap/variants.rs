//! What would be compiled for a shape, for tools that compile without a GPU.

use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::rotation::{plans, role};
use crate::bootstrap::source::{self, BLIND_ROTATE, BLIND_ROTATE_SPREAD, COMBINE, key_switch_file};
use crate::bootstrap::spread::MAX_CLUSTER;
use crate::runtime::source::Source;
use girih_backend::{BackendError, BootstrapShape, DeviceLimits, PlanRequest, Transform};

/// The kernels of one shape with one transform, as they are compiled for a device of some limits.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `<shape name>-<transform>`, then `-tail` or `-tail2` where it serves what whole waves leave,
    /// `-spread` or `-spread2` where blocks share a ciphertext.
    pub name: String,
    /// The plan.
    pub plan: CudaPlan,
    /// One source a kernel file; key switch and combine come with every variant and do not differ.
    pub sources: Vec<Source>,
}

/// Limits of a compute capability (`90` for sm_90): shared memory that one block can ask for, from
/// NVIDIA's tables.
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

/// Blocks that a cluster may have on a compute capability; 1 where there are no clusters.
pub fn cluster_of(compute_capability: u32) -> usize {
    if compute_capability >= 90 { MAX_CLUSTER } else { 1 }
}

/// The variants of `shape` for a compute capability: for each transform one that runs whole
/// ciphertexts in a block and one (`-spread`) that spreads a ciphertext over blocks.
///
/// # Errors
/// Where none fits: the refusal of the first.
pub fn variants(
    name: &str,
    shape: &BootstrapShape,
    compute_capability: u32,
    request: &PlanRequest,
) -> Result<Vec<Variant>, BackendError> {
    let (limits, cluster) = (limits_of(compute_capability), cluster_of(compute_capability));
    let mut found = Vec::new();
    let mut refused = None;
    for transform in [Transform::Ntt, Transform::Fft] {
        match plans("cuda", shape, transform, &limits, cluster, request) {
            Ok(plans) => found.extend(plans.iter().enumerate().map(|(index, plan)| {
                let rotate = if plan.spread.is_some() { BLIND_ROTATE_SPREAD } else { BLIND_ROTATE };
                let role = role(&plans, index);
                let kind = if role.is_empty() { role } else { format!("-{role}") };
                let sources = [rotate, key_switch_file(shape), COMBINE]
                    .map(|file| source::source(file, shape, plan, false))
                    .to_vec();
                Variant { name: format!("{name}-{transform}{kind}"), plan: plan.clone(), sources }
            })),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (found.is_empty(), refused) {
        (true, Some(error)) => Err(error),
        _ => Ok(found),
    }
}
