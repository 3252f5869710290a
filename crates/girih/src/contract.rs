//! What schemes and devices say to each other: shapes, keys block by block, jobs, polynomial
//! programs, and the recorders that write programs.
//!
//! A program that computes needs none of it. It is for whoever adds a device
//! ([`Device::from_backend`](crate::Device::from_backend)), brings keys of their own
//! ([`KeySource`]), or measures kernels; and it changes as devices need it, whatever the version
//! says.

#[doc(inline)]
pub use girih_backend::*;

/// Programs of CKKS on polynomials: chains of primes, and the recorder of operations.
pub mod ckks {
    #[doc(inline)]
    pub use girih_ckks::program::*;
}

/// Programs of look-ups on numbers in slots.
pub mod discrete {
    #[doc(inline)]
    pub use girih_discrete::{exponential, program::*, series_error};
}
