//! NVIDIA GPUs as devices of girih, through CUDA.
//!
//! Kernels live in `cuda/` as C++ and travel inside this crate as text. At first use NVRTC compiles
//! them for one parameter shape and one GPU, with every number a compile-time constant; the cubin
//! is kept in the user's cache folder. Nothing of CUDA is needed to build: driver and NVRTC are
//! found at run time, and their absence is an error that says so.
//!
//! `runtime` runs kernels of any family:
//!
//! | module | what |
//! |---|---|
//! | `machine` | what runs kernels, a GPU or the host in its place: memory, queues, launches |
//! | `gpu` | driver calls: a stream for each queue, pinned staging |
//! | `compile` | NVRTC and the cache of cubins |
//! | `shipped` | a folder of cubins that were compiled ahead |
//! | `order` | which work a call has to wait for |
//! | `spans` | when the device did what, for `girih_backend::timeline` |
//! | `limited` | another machine with less memory |
//! | `emulated` | kernels on the host, thread by thread (feature `emulation`, for tests) |
//!
//! `bootstrap` launches those of the bootstrap family, `poly` those of the poly family; each says
//! in its own page which module does what.

mod bootstrap;
mod device;
#[cfg(feature = "emulation")]
mod emulated_backend;
mod opened;
mod poly;
mod runtime;

pub use bootstrap::blind_rotate::BLIND_ROTATE;
pub use bootstrap::blind_rotate_spread::BLIND_ROTATE_SPREAD;
pub use bootstrap::combine::COMBINE;
pub use bootstrap::key_switch::KEY_SWITCH;
pub use bootstrap::key_switch_torus::KEY_SWITCH_TORUS;
pub use bootstrap::limits::{cluster_of, limits_of};
pub use bootstrap::plan::key_switch::KeySwitchPlan;
pub use bootstrap::plan::knobs::{SPREAD, SPREAD_ITEMS};
pub use bootstrap::plan::{CudaPlan, Split};
pub use bootstrap::variants::{Variant, variants};
pub use device::{CudaBackend, enumerate};
#[cfg(feature = "emulation")]
pub use emulated_backend::EmulatedBackend;
pub use poly::{
    PolyKnobs, general_sources as poly_general_sources,
    general_sources_of as poly_general_sources_of, kernel_sources as poly_kernel_sources,
    plan as poly_plan,
};
pub use runtime::compile::{CompileError, compile};
pub use runtime::shipped::{KERNELS_VARIABLE, look_in, ship, ship_contents};
pub use runtime::source::{CONSTANTS, Header, KernelFile, Source};
