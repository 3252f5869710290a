//! What runs kernels of any family: device, buffers, pipelines and their cache, scripts of
//! dispatches, the template language and its lazily reduced words.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod check;
mod expression;
pub(crate) mod gpu;
pub(crate) mod instance;
pub(crate) mod layout;
pub(crate) mod lazy;
pub(crate) mod numbers;
mod pipeline_cache;
pub(crate) mod profile;
pub(crate) mod script;
pub(crate) mod signal;
pub(crate) mod spans;
pub(crate) mod template;
pub(crate) mod upload;
pub(crate) mod vendor;
pub(crate) mod waits;
