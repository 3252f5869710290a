//! How an adapter is opened, and the limits that are asked of it.

use crate::bootstrap::choices::Rolled;
use crate::{Profile, Vendor};
use girih_backend::DeviceLimits;

/// The threads of a workgroup that every device of Vulkan has.
const MOBILE_THREADS: u32 = 128;
/// The bytes of a storage buffer that every device of Vulkan and WebGPU has.
const MOBILE_BINDING_BYTES: u64 = 128 << 20;

/// How an adapter is opened; the default is what a user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The arithmetic; left open, int64 where the adapter has it.
    pub profile: Option<Profile>,
    /// Keep to the default limits of WebGPU (16 KiB workgroup memory, 256 threads, 128 MiB
    /// bindings), whatever there is.
    pub webgpu_limits: bool,
    /// Most bytes of one storage buffer, where less than the adapter's are wanted: keys and stores
    /// are split over more of them.
    pub binding_bytes: Option<u64>,
    /// Most bytes of workgroup memory, where less than the adapter's are wanted.
    pub workgroup_bytes: Option<u32>,
    /// Most threads of a workgroup, where fewer than the adapter's are wanted.
    pub workgroup_threads: Option<u32>,
    /// Checked shader modules (bounds checks, bounded loops); left open,
    /// in builds with debug assertions.
    pub checked: Option<bool>,
    /// What kernels count by loops; left open, chosen by the shape.
    pub rolled: Option<Rolled>,
    /// Whose compiler kernels are planned for; left open, that of the adapter's vendor.
    pub vendor: Option<Vendor>,
}

impl OpenOptions {
    /// A small GPU, as phones have it: the least that Vulkan asks of workgroups and bindings, and
    /// so many KiB of workgroup memory.
    pub fn mobile(kibibytes: u32) -> Self {
        Self {
            profile: Some(Profile::Core),
            binding_bytes: Some(MOBILE_BINDING_BYTES),
            workgroup_bytes: Some(kibibytes << 10),
            workgroup_threads: Some(MOBILE_THREADS),
            ..Default::default()
        }
    }

    /// What a plan for such a device has to keep to, where no adapter is at hand.
    pub fn mobile_limits(kibibytes: u32) -> DeviceLimits {
        DeviceLimits {
            workgroup_memory_bytes: (kibibytes << 10) as usize,
            workgroup_threads: MOBILE_THREADS as usize,
            subgroup_threads: 16,
            binding_bytes: MOBILE_BINDING_BYTES,
            multiprocessors: 1,
        }
    }
}

/// The limits to ask for: WebGPU's defaults, with those that kernels can use raised to what the
/// adapter has.
pub(crate) fn limits_of(adapter: &wgpu::Adapter, options: &OpenOptions) -> wgpu::Limits {
    let has = adapter.limits();
    let mut limits = wgpu::Limits::default();
    if !options.webgpu_limits {
        limits.max_compute_workgroup_storage_size = has.max_compute_workgroup_storage_size;
        limits.max_compute_invocations_per_workgroup = has.max_compute_invocations_per_workgroup;
        limits.max_compute_workgroup_size_x = has.max_compute_workgroup_size_x;
        // Kernels index bindings in 32-bit words.
        limits.max_storage_buffer_binding_size =
            has.max_storage_buffer_binding_size.min((1 << 31) - 4);
        limits.max_buffer_size = has.max_buffer_size;
    }
    if let Some(bytes) = options.binding_bytes {
        limits.max_storage_buffer_binding_size =
            limits.max_storage_buffer_binding_size.min(bytes / 16 * 16);
    }
    if let Some(bytes) = options.workgroup_bytes {
        let limit = &mut limits.max_compute_workgroup_storage_size;
        *limit = bytes.min(*limit);
    }
    if let Some(threads) = options.workgroup_threads {
        let limit = &mut limits.max_compute_invocations_per_workgroup;
        *limit = threads.min(*limit);
        // No side of a workgroup is longer than all of it, and no test of wgpu wants it.
        let limit = &mut limits.max_compute_workgroup_size_x;
        *limit = threads.min(*limit);
    }
    limits
}
