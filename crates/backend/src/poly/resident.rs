//! Resident polynomials that lie on the host as they are.

use std::collections::BTreeMap;

use girih_ring::sampler::PublicStream;

use super::{Basis, ResidentShape, ResidentSource, RingShape, check};
use crate::{BackendError, Result};

/// Polynomials in host memory, to be made resident or read by `interpret`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPolynomials {
    polynomials: Vec<(ResidentShape, Vec<u32>)>,
    log2_degree: u32,
    /// Of some limbs, by polynomial and limb.
    streams: BTreeMap<(usize, usize), PublicStream>,
}

impl HostPolynomials {
    /// These polynomials: N / 2^log2_run canonical words a limb, limb after limb in the order of
    /// the basis.
    ///
    /// # Errors
    /// For unknown primes, runs longer than a limb, wrong lengths,
    /// or words that are not canonical.
    pub fn new(ring: &RingShape, polynomials: Vec<(ResidentShape, Vec<u32>)>) -> Result<Self> {
        for (number, (shape, words)) in polynomials.iter().enumerate() {
            let what = format!("polynomial {number}");
            check::resident_shape(ring, shape, &what)?;
            let degree = ring.degree() >> shape.log2_run;
            let limbs = shape.basis.len();
            if words.len() != limbs * degree {
                return Err(BackendError::InvalidRequest(format!(
                    "{what} has {} words; {limbs} limbs of {degree} are {}",
                    words.len(),
                    limbs * degree
                )));
            }
            for (limb, &prime) in words.chunks_exact(degree).zip(shape.basis.primes()) {
                check::canonical(ring, prime, limb, &what)?;
            }
        }
        Ok(Self { polynomials, log2_degree: ring.log2_degree, streams: BTreeMap::new() })
    }

    /// Adds a polynomial of whole limbs, expanded from one public stream a limb, which devices may
    /// expand again.
    ///
    /// # Errors
    /// For unknown primes, and another number of streams than limbs.
    pub fn push_streams(
        &mut self,
        ring: &RingShape,
        basis: Basis,
        streams: &[PublicStream],
    ) -> Result<()> {
        let number = self.polynomials.len();
        if streams.len() != basis.len() {
            let (have, want) = (streams.len(), basis.len());
            let why = format!("polynomial {number} has {have} streams for {want} limbs");
            return Err(BackendError::InvalidRequest(why));
        }
        let shape = ResidentShape { basis, log2_run: 0 };
        check::resident_shape(ring, &shape, &format!("polynomial {number}"))?;
        let mut words = Vec::with_capacity(streams.len() * ring.degree());
        for ((limb, stream), &prime) in streams.iter().enumerate().zip(shape.basis.primes()) {
            let bound = u64::from(ring.primes[usize::from(prime)].value());
            let mut expanded = stream.expand();
            words.extend((0..ring.degree()).map(|_| expanded.uniform_below(bound) as u32));
            self.streams.insert((number, limb), *stream);
        }
        self.log2_degree = ring.log2_degree;
        self.polynomials.push((shape, words));
        Ok(())
    }
}

impl ResidentSource for HostPolynomials {
    fn shapes(&self) -> Vec<ResidentShape> {
        self.polynomials.iter().map(|(shape, _)| shape.clone()).collect()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let (shape, words) = &self.polynomials[polynomial];
        let degree = (1 << self.log2_degree) >> shape.log2_run;
        out.copy_from_slice(&words[limb * degree..(limb + 1) * degree]);
    }

    fn stream(&self, polynomial: usize, limb: usize) -> Option<PublicStream> {
        self.streams.get(&(polynomial, limb)).copied()
    }
}
