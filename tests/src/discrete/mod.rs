//! What the suite knows of exact numbers in slots of CKKS: published vectors, look-ups and
//! circuits end to end.

pub mod circuits;
pub mod look_ups;
mod seeded;
mod sha;
pub mod vectors;
