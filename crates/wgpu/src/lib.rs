//! The wgpu device of girih: whole bootstrappings in WGSL, on any GPU with Vulkan, Metal or DX12.
//!
//! One workgroup runs one bootstrapping from the combination of its inputs to the first mod switch,
//! with the accumulator in registers; a second kernel streams the key-switching table. The sources
//! are `shaders/`, expanded for one shape by a small preprocessor that also tracks the bounds of
//! lazy arithmetic (see `shaders/README.md`).
//!
//! Two profiles come from the same sources: *int64* where the adapter has 64-bit integers, *core*
//! with 32-bit words only, which keeps to the default limits of WebGPU. Both give the same bits,
//! and the same as the CPU twin.

mod bootstrap;
mod device;
mod options;
mod poly;
mod runtime;

pub use bootstrap::choices::Rolled;
#[cfg(not(target_arch = "wasm32"))]
pub use bootstrap::kernels::{KernelVariant, desktop_gpu, kernel_variants, mobile_gpu};
pub use bootstrap::plan::{Target, Tile, WgpuPlan};
pub use bootstrap::tables::Tables;
pub use bootstrap::variant::Kernel;
pub use device::{WgpuBackend, enumerate};
pub use options::OpenOptions;
#[cfg(not(target_arch = "wasm32"))]
pub use poly::check::{poly_builds, poly_builds_of};
pub use poly::kernels::{PolyBuild, PolyKernel};
#[cfg(not(target_arch = "wasm32"))]
pub use runtime::check::{KernelCheck, SpirvModule, VulkanKernel};
pub use runtime::profile::Profile;
pub use runtime::vendor::Vendor;
