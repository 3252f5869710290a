//! Launches `cuda/bootstrap/blind_rotate_spread.cu`: a cluster of blocks for each ciphertext.

use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::source::kernel_file;
use crate::runtime::machine::LaunchSize;
use crate::runtime::source::KernelFile;

/// `cuda/bootstrap/blind_rotate_spread.cu`.
pub const BLIND_ROTATE_SPREAD: KernelFile = kernel_file(
    "blind_rotate_spread",
    girih_kernels::bootstrap::BLIND_ROTATE_SPREAD,
    &["blind_rotate_spread"],
);

/// The launch of `jobs` ciphertexts, `blocks` for each.
pub(crate) fn size(plan: &CudaPlan, blocks: usize, jobs: usize) -> LaunchSize {
    LaunchSize {
        blocks: jobs * blocks,
        threads: plan.threads,
        shared_bytes: plan.shared_bytes,
        cluster: plan.cluster(),
    }
}
