//! The conformance suite: one list of cases for every device.

pub mod vectors;
