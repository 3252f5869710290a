//! What the suite knows of exact numbers in slots of CKKS: published vectors, and look-ups end to
//! end.

mod seeded;
mod sha;
pub mod vectors;
