//! Vectors of real and complex numbers.

pub mod approximation;
mod bytes;
pub mod ciphertexts;
pub mod client;
pub mod keys;
pub mod matrix;
pub mod operation;
pub mod server;
pub mod sets;
