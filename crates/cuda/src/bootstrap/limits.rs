//! What a compute capability can hold, from NVIDIA's tables: for plans without a GPU.

use girih_backend::DeviceLimits;

/// Blocks of a cluster on every device that has clusters.
pub(crate) const MAX_CLUSTER: usize = 8;

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
