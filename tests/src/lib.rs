//! The conformance suite: one list of cases for every device.
//!
//! | module | what |
//! |---|---|
//! | [`vectors`] | published bit-exact runs of an independent implementation |
//! | [`shapes`] | synthetic shapes that use every feature of the kernels |
//! | [`compare`] | a device against the exact twin, stage by stage |
//! | [`planned`] | a device held to one plan |
//! | [`synthetic`] | reproducible words in the place of keys |
//! | [`gates`] | gates and look-up tables end to end, decrypted |
//! | [`circuits`] | small circuits end to end |
//! | [`large`] | functions that fill their modulus and large-precision functions, end to end |
//! | [`tables`] | ever new look-up tables from several threads, in little room |
//!
//! The first five know the bootstrap family alone (`src/bootstrap/`), the others what TFHE makes of it (`src/tfhe/`).

pub mod bootstrap;
pub mod tfhe;

pub use bootstrap::{compare, planned, shapes, synthetic, vectors};
pub use tfhe::{circuits, gates, large, tables};
