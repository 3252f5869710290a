//! What runs kernels of any family: context, memory, queues, compilation, the order of calls.

pub(crate) mod compile;
#[cfg(all(test, feature = "emulation"))]
mod delayed;
#[cfg(feature = "emulation")]
pub(crate) mod emulated;
pub(crate) mod gpu;
pub(crate) mod machine;
pub(crate) mod order;
mod spans;
