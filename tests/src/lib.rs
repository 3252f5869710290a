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
//! | [`integers`] | operations on encrypted integers, end to end |
//! | [`tables`] | ever new look-up tables from several threads, in little room |
//! | [`poly`] | programs on polynomials against the interpreter |
//! | [`ckks`] | published vectors, recorded operations and the evaluator of CKKS |
//! | [`discrete`] | published vectors and look-ups of exact numbers in slots |
//! | [`switching`] | from CKKS to TFHE and back |
//! | [`tasks`] | tasks of rayon that share a server |
//! | [`host_path`] | the calls of a user on a device that need not compute |
//! | [`soak`] | random calls from several threads, for as long as wanted |
//! | `figures` | figures of security in `docs/`, as sets say them of themselves |
//! | [`book`] | the chapters of `docs/`, their links and samples |
//!
//! The first five know the bootstrap family alone (`src/bootstrap/`), those up to [`tables`] what
//! TFHE makes of it (`src/tfhe/`); [`poly`] knows the poly family alone, and [`ckks`] what CKKS
//! makes of that. [`book`] knows neither.

pub mod book;
pub mod bootstrap;
pub mod ckks;
pub mod discrete;
#[cfg(test)]
mod figures;
pub mod host_path;
pub mod poly;
pub mod soak;
pub mod switching;
pub mod tasks;
pub mod tfhe;

pub use bootstrap::{compare, planned, shapes, synthetic, vectors};
pub use tfhe::{circuits, gates, integers, large, tables};
