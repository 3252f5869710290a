//! What the suite knows of CKKS on a device: published vectors, operations as they are recorded,
//! and the evaluator.

pub mod batches;
pub mod evaluator;
pub mod key_switching;
pub mod long;
pub mod operations;
pub mod read;
pub mod vectors;
