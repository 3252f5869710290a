//! The conformance suite: one list of cases for every device.
//!
//! | module | what |
//! |---|---|
//! | [`vectors`] | published bit-exact runs of an independent implementation |
//! | [`shapes`] | synthetic shapes that use every feature of the kernels |
//! | [`compare`] | a device against the exact twin, stage by stage |
//! | [`gates`] | gates and look-up tables end to end, decrypted |
//! | [`circuits`] | small circuits end to end |
//! | [`large`] | functions that fill their modulus and large-precision functions, end to end |
//! | [`tables`] | ever new look-up tables from several threads, in little room |
//! | [`planned`] | a device held to one plan |
//! | [`synthetic`] | reproducible words in the place of keys |

pub mod circuits;
pub mod compare;
pub mod gates;
pub mod large;
pub mod planned;
pub mod shapes;
pub mod synthetic;
pub mod tables;
pub mod vectors;
