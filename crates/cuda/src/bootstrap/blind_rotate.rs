//! Launches `cuda/bootstrap/blind_rotate.cu`: whole ciphertexts a block.

use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::source::kernel_file;
use crate::runtime::machine::LaunchSize;
use crate::runtime::source::KernelFile;

/// `cuda/bootstrap/blind_rotate.cu`.
pub const BLIND_ROTATE: KernelFile =
    kernel_file("blind_rotate", girih_kernels::bootstrap::BLIND_ROTATE, &["blind_rotate"]);

/// The launch of `jobs` ciphertexts: whole clusters of blocks of `groups` each.
pub(crate) fn size(plan: &CudaPlan, groups: usize, jobs: usize) -> LaunchSize {
    LaunchSize {
        blocks: jobs.div_ceil(groups).next_multiple_of(plan.cluster()),
        threads: plan.threads,
        shared_bytes: plan.shared_bytes,
        cluster: plan.cluster(),
    }
}
