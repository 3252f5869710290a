//! NVIDIA GPUs as devices of girih, through CUDA.
//!
//! Kernels live in `cuda/` as C++ and travel inside this crate as text. At first use NVRTC compiles them for one parameter
//! shape and one GPU, with every number a compile-time constant; the cubin is kept in the user's cache folder. Nothing of
//! CUDA is needed to build: driver and NVRTC are found at run time, and their absence is an error that says so.
//!
//! | module | what |
//! |---|---|
//! | `plan` | ciphertexts a block, threads, shared memory: a pure function of shape and limits |
//! | `spread` | plans for one ciphertext on several blocks |
//! | `rotation` | compiled variants of `blind_rotate`, and which one a batch gets |
//! | `source` | kernel texts and the header of constants |
//! | `compile` | NVRTC and the cache of cubins |
//! | `tables`, `keys` | roots and keys in the order in which kernels read them |
//! | `gpu` | driver calls: a stream for each queue of `machine`, pinned staging |
//! | `order` | which work a call has to wait for |
//! | `spans` | when the device did what, for `girih_backend::timeline` |
//! | `engine` | [`girih_backend::Engine`]: store, jobs, launches, traces |
//! | `emulated` | the same kernels on the host, thread by thread (feature `emulation`, for tests) |

mod arguments;
mod compile;
#[cfg(all(test, feature = "emulation"))]
mod delayed;
mod device;
#[cfg(feature = "emulation")]
mod emulated;
#[cfg(feature = "emulation")]
mod emulated_backend;
mod engine;
mod gpu;
mod keys;
mod machine;
mod order;
mod plan;
mod rotation;
mod source;
mod spans;
mod spread;
mod switch_first;
mod tables;
mod variants;

pub use compile::{CompileError, compile};
pub use device::{CudaBackend, enumerate};
#[cfg(feature = "emulation")]
pub use emulated_backend::EmulatedBackend;
pub use plan::CudaPlan;
pub use source::{BLIND_ROTATE, BLIND_ROTATE_SPREAD, COMBINE, CONSTANTS, HEADERS, KEY_SWITCH, KernelFile, Source};
pub use spread::{SPREAD, SPREAD_ITEMS, SpreadPlan};
pub use variants::{Variant, cluster_of, limits_of, variants};
