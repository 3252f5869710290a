//! Exact numbers in slots, and integers over them.

pub mod client;
pub mod held;
pub mod integers;
pub mod keys;
pub mod numbers;
pub mod server;
pub mod sets;
