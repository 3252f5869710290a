//! The poly family on the CPU: schedules of [`girih_backend::poly`], launch by launch.
//!
//! | module | what |
//! |---|---|
//! | `device` | buffers, resident polynomials, routines; the contract |
//! | `loader` | rings opened, and with which choices |
//! | `routine` | a schedule checked and made ready: primes, conversions, places of limbs |
//! | `prepare_columns` | a tile of columns made ready: its sums in batches, their slots |
//! | `rows` | the kernel `poly_rows` on one row |
//! | `columns` | the kernel `poly_columns` on some columns |
//! | `pointwise` | the kernel `poly_pointwise` on one row of words |
//! | `sums` | sums of products, which rows and pointwise share |
//! | `launches` | launches one after the other, their tasks on all threads |
//! | `memory` | limbs that many threads read and write |
//!
//! A task is what a block is on a GPU: a row, or some columns, of one tile. What it works on lies
//! in scratch memory of its thread, which the second-level cache holds.

mod columns;
mod device;
mod launches;
mod loader;
mod memory;
mod pointwise;
mod prepare_columns;
mod routine;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

use girih_ring::limb::LimbKernels;
use girih_ring::{RingError, SplitNtt};

use girih_backend::poly::RingShape;
use girih_ring::fft::Simd;

/// What the kernels need of one prime.
#[derive(Debug)]
pub(crate) struct Prime {
    ntt: SplitNtt,
    kernels: LimbKernels,
}

impl Prime {
    fn new(ring: &RingShape, prime: usize, simd: Simd) -> Result<Self, RingError> {
        Ok(Self {
            ntt: ring.transform(prime as u16)?.with_simd(simd),
            kernels: LimbKernels::with_simd(ring.primes[prime], simd),
        })
    }
}
