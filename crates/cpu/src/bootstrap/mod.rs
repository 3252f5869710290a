//! The bootstrap family on the host: the twin of each kernel, and the fast path.

pub(crate) mod blind_rotate;
mod combine;
pub(crate) mod engine;
pub(crate) mod fast;
pub(crate) mod key_switch;
pub(crate) mod key_switch_torus;
pub(crate) mod pipeline;
pub(crate) mod rotate_first;
pub(crate) mod rotator;
mod sample_extract;
pub(crate) mod switch_first;
