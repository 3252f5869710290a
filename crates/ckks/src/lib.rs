//! RNS-CKKS: encrypted vectors of real and complex numbers.

pub mod program;
