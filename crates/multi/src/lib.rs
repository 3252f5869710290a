//! Several devices of girih as one: a [`girih_backend::Backend`] over others.
//!
//! Every member loads all keys. The store is one array to the caller; each ciphertext of it lives
//! where it was written or computed last, and is copied to another member when that has work on it.
//! A list of jobs is divided among the members in proportion to their speed, each job going where
//! most of its operands are, so that a batch which is written, worked on and read never passes from
//! one member to another. Members work at the same time.
//!
//! Results do not depend on the division where the transform is the NTT. Two devices' f64
//! transforms may differ in the last bits that a decryption never sees.

mod backend;
mod engine;
mod places;
mod poly;
mod schedule;
mod threads;
mod transfers;

pub use backend::MultiBackend;
