//! NVIDIA GPUs as devices of girih, through CUDA.

mod arguments;
mod cache;
#[cfg(feature = "emulation")]
mod emulated;
mod engine;
mod keys;
mod machine;
mod plan;
mod source;
mod tables;

#[cfg(feature = "emulation")]
mod emulated_backend;
#[cfg(feature = "emulation")]
pub use emulated_backend::EmulatedBackend;
pub use plan::CudaPlan;
pub use source::{BLIND_ROTATE, COMBINE, CONSTANTS, HEADERS, KEY_SWITCH, KernelFile, Source};
