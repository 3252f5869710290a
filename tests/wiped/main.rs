//! Secrets leave nothing behind in memory that is given back.

mod ckks;
mod heap;
mod tfhe;
