//! Bits and messages: gates, look-ups, circuits, large messages.

pub mod ciphertexts;
pub mod circuit;
pub mod client;
pub mod gather;
pub mod keys;
pub mod large;
pub mod netlist;
pub mod server;
pub mod sets;
pub mod table;
