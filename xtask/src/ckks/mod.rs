//! What the commands do for CKKS sets.

pub mod bench;
mod check;
pub mod devices;
mod job;
pub mod memory;
pub mod options;
pub mod sets;
pub mod tune;
