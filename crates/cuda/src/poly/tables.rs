//! The tables of a ring in the order in which kernels read them (`cuda/poly/modular.cuh`).
#![allow(unsafe_code)] // Declares structs to be plain.

use crate::poly::column_factors::{ColumnFactors, fold_unit};
use crate::poly::log2_row;
use crate::runtime::bytes::{bytes_of, plain};
use crate::runtime::machine::{Buffer, Machine};
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_ring::{Modulus, SplitNtt};
use rayon::prelude::*;
use std::sync::Arc;

/// Points of the stages that a thread of a row does alone, before or behind the exchange.
const THREAD_POINTS: usize = 32;

/// `Prime` of `modular.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prime {
    q: u32,
    two_q: u32,
    minus_two_q: u32,
    minus_q: u32,
    inverse: u32,
    reciprocal: u32,
    number: u32,
    unused: u32,
    quotient: f64,
    unused_too: f64,
}

/// `Tables` of `modular.cuh`: addresses, 0 for tables that the ring's kernels do not read.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableAddresses {
    primes: u64,
    first: [u64; 2],
    last: [u64; 2],
    steps: [u64; 2],
    columns: [u64; 2],
    whole: [u64; 2],
}

plain!(Prime, TableAddresses);

impl TableAddresses {
    /// Where the primes lie.
    pub fn primes(&self) -> u64 {
        self.primes
    }
}

/// Whether a prime needs canonical values between stages.
pub(crate) fn is_wide(modulus: Modulus) -> bool {
    modulus.value() >= 1 << 30
}

/// What kernels compute with modulo one prime.
pub(crate) fn prime(number: usize, modulus: Modulus) -> Prime {
    let q = modulus.value();
    // One step towards zero from the nearest: never above 2^32 / q.
    let quotient = 4_294_967_296.0 / f64::from(q);
    Prime {
        q,
        two_q: 2 * q,
        minus_two_q: (2 * q).wrapping_neg(),
        minus_q: q.wrapping_neg(),
        inverse: modulus.neg_inverse().wrapping_neg(),
        reciprocal: ((1u64 << 48) / u64::from(q)) as u32,
        number: number as u32,
        unused: 0,
        quotient: f64::from_bits(quotient.to_bits() - 1),
        unused_too: 0.0,
    }
}

/// One direction of one prime's factors.
#[derive(Default)]
struct Direction {
    first: Vec<[u32; 2]>,
    last: Vec<u32>,
    steps: Vec<[u32; 2]>,
    columns: Vec<[u32; 2]>,
    whole: Vec<[u32; 2]>,
}

/// From the factors of one direction of `ntt`. In a stage a thread's blocks differ by the same
/// factors wherever it begins, so these are taken from where block 0 has any.
fn direction(ntt: &SplitNtt, modulus: Modulus, roots: (&[u32], &[u32])) -> Direction {
    let log2_degree = ntt.size().ilog2();
    let log2_columns = log2_degree - log2_row(log2_degree);
    let pair = |index: usize| [roots.0[index], roots.1[index]];
    let rows = 1usize << log2_columns;
    let columns = std::iter::once(fold_unit(ntt)).chain((1..rows).map(pair)).collect();
    if log2_row(log2_degree) < 10 {
        return Direction {
            columns,
            whole: (0..roots.0.len()).map(pair).collect(),
            ..Direction::default()
        };
    }
    let mut first = Vec::with_capacity(rows * THREAD_POINTS);
    let mut last = Vec::with_capacity(rows * 5 * THREAD_POINTS);
    for row in 0..rows {
        // Slot 0 is never read.
        first.push([0, 0]);
        for stage in 0..5 {
            first.extend((0..1 << stage).map(|block| pair(((rows + row) << stage) + block)));
        }
        for stage in 5..10 {
            last.extend(
                (0..THREAD_POINTS)
                    .map(|thread| roots.0[((rows + row) << stage) + (thread << (stage - 5))]),
            );
        }
    }
    let inverse = modulus.inverse(roots.0[16]);
    let step = |block: usize| modulus.shoup(modulus.mul(roots.0[16 + block], inverse));
    let steps = (0..16).map(step).map(|step| [step.value, step.quotient]).collect();
    Direction { first, last, steps, columns, whole: Vec::new() }
}

/// The tables of a ring on a device.
pub(crate) struct RingTables {
    pub addresses: TableAddresses,
    pub bytes: u64,
    /// For the host, which writes them into records.
    pub column_factors: ColumnFactors,
    _buffers: Vec<Buffer>,
}

impl RingTables {
    /// Computes and uploads them.
    pub fn new(machine: &Arc<dyn Machine>, ring: &RingShape) -> Result<Self, BackendError> {
        let transform = |number: usize| {
            ring.transform(number as u16).map_err(|e| {
                let p = ring.primes[number].value();
                BackendError::InvalidRequest(format!("the ring's prime {p}: {e}"))
            })
        };
        let numbers = (0..ring.primes.len()).into_par_iter();
        let transforms = numbers.map(transform).collect::<Result<Vec<_>, _>>()?;
        let both = |(ntt, &p): (&SplitNtt, &Modulus)| {
            [ntt.roots(), ntt.inverse_roots()].map(|roots| direction(ntt, p, roots))
        };
        let all: Vec<[Direction; 2]> = transforms.par_iter().zip(&ring.primes).map(both).collect();
        let column_factors = ColumnFactors::of(transforms.iter());
        let mut buffers = Vec::new();
        let mut upload = |bytes: &[u8]| -> Result<u64, BackendError> {
            let buffer = Buffer::holding(machine, bytes, "tables of a ring")?;
            let address = buffer.address();
            buffers.push(buffer);
            Ok(address)
        };
        let primes: Vec<Prime> =
            ring.primes.iter().enumerate().map(|(number, &p)| prime(number, p)).collect();
        let mut addresses =
            TableAddresses { primes: upload(bytes_of(&primes))?, ..Default::default() };
        for d in 0..2 {
            let pairs = |of: fn(&Direction) -> &Vec<[u32; 2]>| {
                all.iter().flat_map(|p| of(&p[d]).iter().copied()).collect::<Vec<_>>()
            };
            addresses.first[d] = upload(bytes_of(&pairs(|t| &t.first)))?;
            addresses.last[d] = upload(bytes_of(
                &all.iter().flat_map(|p| p[d].last.iter().copied()).collect::<Vec<u32>>(),
            ))?;
            addresses.steps[d] = upload(bytes_of(&pairs(|t| &t.steps)))?;
            addresses.columns[d] = upload(bytes_of(&pairs(|t| &t.columns)))?;
            addresses.whole[d] = upload(bytes_of(&pairs(|t| &t.whole)))?;
        }
        let bytes = buffers.iter().map(|b| b.bytes() as u64).sum();
        Ok(Self { addresses, bytes, column_factors, _buffers: buffers })
    }
}
