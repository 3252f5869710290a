//! What the commands do for CKKS sets.

pub mod bench;
mod check;
pub mod sets;
