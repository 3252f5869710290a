//! The bootstrap family: launches `cuda/bootstrap/`.

pub(crate) mod arguments;
#[cfg(all(test, feature = "emulation"))]
mod delayed_tests;
pub(crate) mod engine;
pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod queues;
pub(crate) mod rotation;
pub(crate) mod source;
pub(crate) mod spread;
pub(crate) mod switch_first;
pub(crate) mod tables;
#[cfg(test)]
mod test_shapes;
pub(crate) mod variants;
