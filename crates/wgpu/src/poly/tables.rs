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
    /// N^-1.
    pub size_inverse: Shoup,
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
        let prime = |(number, &modulus): (usize, &Modulus)| Prime {
            modulus,
            roots: 2 * degree * number as u32,
            size_inverse: modulus.shoup(modulus.inverse(degree)),
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
        for (group, moduli) in ring.primes.chunks(PRIMES_AT_ONCE).enumerate() {
            let made: Vec<SplitNtt> = moduli
                .par_iter()
                .map(|&modulus| SplitNtt::new(modulus, degree))
                .collect::<Result<_, _>>()
                .map_err(|e| BackendError::InvalidRequest(e.to_string()))?;
            let words: Vec<[u32; 2]> = made.par_iter().flat_map_iter(entries).collect();
            let first = group * PRIMES_AT_ONCE * 2 * degree;
            gpu.queue.write_buffer(&roots, 8 * first as u64, bytemuck::cast_slice(&words));
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
