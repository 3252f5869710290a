//! What kernels need of every prime of a ring.

use crate::runtime::gpu::{Gpu, STORAGE};
use girih_backend::parallel::prelude::*;
use girih_backend::poly::RingShape;
use girih_backend::{BackendError, Result};
use girih_ring::{Modulus, Shoup, SplitNtt};

/// Constants of one prime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prime {
    pub modulus: Modulus,
    /// Where its roots of unity begin in the table; those of the inverse follow N entries later.
    pub roots: u32,
    /// N^-1, of the conjugation-invariant ring (2N)^-1.
    pub size_inverse: Shoup,
    /// i of the fold of the conjugation-invariant ring; none in the usual one.
    pub unit: Option<Shoup>,
}

/// The primes of a ring.
pub(crate) struct Primes {
    all: Vec<Prime>,
    /// N.
    pub degree: u32,
}

impl Primes {
    pub fn new(ring: &RingShape) -> Self {
        let degree = ring.degree() as u32;
        let prime = |(number, &modulus): (usize, &Modulus)| {
            let invariant = ring.is_invariant(number as u16);
            let doubled = if invariant { 2 * degree } else { degree };
            Prime {
                modulus,
                roots: 2 * degree * number as u32,
                size_inverse: modulus.shoup(modulus.inverse(doubled)),
                unit: invariant.then(|| fold_unit(modulus)),
            }
        };
        Self { all: ring.primes.iter().enumerate().map(prime).collect(), degree }
    }

    /// The prime of that number.
    pub fn prime(&self, number: u16) -> Result<&Prime, String> {
        let count = self.all.len();
        let prime = self.all.get(usize::from(number));
        prime.ok_or_else(|| format!("prime {number} of a ring of {count}"))
    }
}

/// i = psi^N. As psi is a power of the least number that is no square, i is the same for each N.
fn fold_unit(modulus: Modulus) -> Shoup {
    let smallest = SplitNtt::invariant(modulus, 2).ok().and_then(|ntt| ntt.fold_unit());
    smallest.expect("the ring was checked")
}

/// The primes of a ring, and the table of roots on the device.
pub(crate) struct Tables {
    pub primes: Primes,
    pub roots: wgpu::Buffer,
    pub bytes: u64,
}

/// Primes whose roots are made at once: bounds the memory of the host.
const PRIMES_AT_ONCE: usize = 8;

impl Tables {
    pub fn new(gpu: &Gpu, ring: &RingShape) -> Result<Self> {
        let degree = ring.degree();
        let bytes = 16 * (degree * ring.primes.len()) as u64;
        let what = format!("roots of unity of {} primes", ring.primes.len());
        let roots = gpu.buffer(bytes, STORAGE, &what)?;
        for first in (0..ring.primes.len()).step_by(PRIMES_AT_ONCE) {
            let primes = first..ring.primes.len().min(first + PRIMES_AT_ONCE);
            let made: Vec<SplitNtt> = primes
                .into_par_iter()
                .map(|prime| ring.transform(prime as u16))
                .collect::<Result<_, _>>()
                .map_err(|e| BackendError::InvalidRequest(e.to_string()))?;
            let words: Vec<[u32; 2]> = made.par_iter().flat_map_iter(entries).collect();
            let at = 16 * (first * degree) as u64;
            gpu.queue.write_buffer(&roots, at, bytemuck::cast_slice(&words));
        }
        Ok(Self { primes: Primes::new(ring), roots, bytes })
    }
}

/// Roots, then inverse roots, each with its quotient.
fn entries(ntt: &SplitNtt) -> impl Iterator<Item = [u32; 2]> {
    let pairs = |(values, quotients): (&[u32], &[u32])| -> Vec<[u32; 2]> {
        values.iter().zip(quotients).map(|(&value, &quotient)| [value, quotient]).collect()
    };
    pairs(ntt.roots()).into_iter().chain(pairs(ntt.inverse_roots()))
}
