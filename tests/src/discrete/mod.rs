//! What the suite knows of exact numbers in slots of CKKS: published vectors, and look-ups end to
//! end.

pub mod look_ups;
mod seeded;
mod sha;
pub mod vectors;
