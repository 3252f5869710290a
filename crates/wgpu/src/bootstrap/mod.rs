//! The bootstrap family: launches `shaders/bootstrap/`.

pub(crate) mod choices;
pub(crate) mod engine;
mod few;
pub(crate) mod job;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod kernels;
mod key_switch_plan;
mod key_switch_torus;
mod keys;
mod loaded;
mod pass;
pub(crate) mod plan;
mod store;
pub(crate) mod tables;
mod torus_tile;
mod trace;
pub(crate) mod variant;
