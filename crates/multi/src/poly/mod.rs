//! Programs on polynomials over several devices: independent calls of a routine are divided.
//!
//! Every member has all resident polynomials and all routines; a buffer's limbs live where they
//! were computed last. What is written stays on the host until a call reads it, since only then is
//! it known which member works on it.

mod bound;
mod device;
mod held;
mod loader;
