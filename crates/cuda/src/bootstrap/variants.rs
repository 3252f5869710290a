//! What would be compiled for a shape, for tools that compile without a GPU.

use crate::bootstrap::combine::COMBINE;
use crate::bootstrap::key_switch::KEY_SWITCH;
use crate::bootstrap::key_switch_torus::KEY_SWITCH_TORUS;
use crate::bootstrap::limits::{cluster_of, limits_of};
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::plan::Planner;
use crate::bootstrap::rotation;
use crate::bootstrap::source;
use crate::runtime::source::{KernelFile, Source};
use girih_backend::{BootstrapShape, PlanRequest, Result, Transform};

/// The kernels of one shape with one transform, as they are compiled for a device of some limits.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `<shape name>-<transform>-<split>`, such as `word_3x7-fft-f64-ciphertexts_4` or
    /// `word_3x7-fft-f64-blocks_8`.
    pub name: String,
    /// The plan.
    pub plan: CudaPlan,
    /// One source a kernel file; key switch and combine come with every variant and do not differ.
    pub sources: Vec<Source>,
}

/// The key switch of a shape.
fn key_switch_file(shape: &BootstrapShape) -> KernelFile {
    if shape.is_torus() { KEY_SWITCH_TORUS } else { KEY_SWITCH }
}

/// The variants of `shape` for a compute capability: for each transform those that a device of that
/// kind loads beside each other, throughput first.
///
/// # Errors
/// Where none fits: the refusal of the first.
pub fn variants(
    name: &str,
    shape: &BootstrapShape,
    compute_capability: u32,
    request: &PlanRequest,
) -> Result<Vec<Variant>> {
    let (limits, cluster) = (limits_of(compute_capability), cluster_of(compute_capability));
    let mut found = Vec::new();
    let mut refused = None;
    for transform in [Transform::Ntt, Transform::Fft] {
        let planner = Planner { device: "cuda", shape, transform, limits: &limits, cluster };
        match planner.candidates(request) {
            Ok(plans) => found.extend(plans.into_iter().map(|plan| {
                let sources = [rotation::file(plan.split), key_switch_file(shape), COMBINE]
                    .map(|file| source::source(file, shape, &plan, false))
                    .to_vec();
                Variant { name: format!("{name}-{transform}-{}", plan.split), plan, sources }
            })),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (found.is_empty(), refused) {
        (true, Some(error)) => Err(error),
        _ => Ok(found),
    }
}
