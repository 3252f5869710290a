//! What runs kernels of any family: context, memory, queues, compilation, the order of calls.

pub(crate) mod bytes;
pub(crate) mod compile;
#[cfg(all(test, feature = "emulation"))]
pub(crate) mod delayed;
#[cfg(feature = "emulation")]
pub(crate) mod emulated;
pub(crate) mod gpu;
pub(crate) mod limited;
pub(crate) mod machine;
pub(crate) mod order;
pub(crate) mod shipped;
pub(crate) mod source;
mod spans;
#[cfg(all(test, feature = "emulation"))]
mod word_tests;
