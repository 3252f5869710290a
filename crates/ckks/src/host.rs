//! What the client computes with: tables of a set's ring, made when first used.

use crate::{CkksParameters, Encoder};
use girih_ring::{RnsBasis, SplitNtt};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// Encoder, transforms and bases of one set; keys of that set share one.
pub(crate) struct HostRing {
    set: CkksParameters,
    encoder: OnceLock<Encoder>,
    transforms: Vec<OnceLock<SplitNtt>>,
    bases: Vec<OnceLock<RnsBasis>>,
}

impl HostRing {
    pub fn new(set: &CkksParameters) -> Arc<Self> {
        let chain = set.chain();
        Arc::new(Self {
            encoder: OnceLock::new(),
            transforms: chain.moduli().iter().map(|_| OnceLock::new()).collect(),
            bases: chain.states().iter().map(|_| OnceLock::new()).collect(),
            set: set.clone(),
        })
    }

    pub fn set(&self) -> &CkksParameters {
        &self.set
    }

    pub fn encoder(&self) -> &Encoder {
        self.encoder
            .get_or_init(|| Encoder::new(self.set.chain().log2_degree()).expect("a checked degree"))
    }

    /// The transform modulo the prime at `position`.
    pub fn transform(&self, position: usize) -> &SplitNtt {
        self.transforms[position].get_or_init(|| {
            let chain = self.set.chain();
            SplitNtt::new(chain.moduli()[position], chain.degree())
                .expect("checked primes are 1 modulo 2N")
        })
    }

    /// The base of `level` as a basis.
    pub fn basis(&self, level: usize) -> &RnsBasis {
        self.bases[level].get_or_init(|| {
            let chain = self.set.chain();
            let primes: Vec<_> = chain.base(level).map(|position| chain.prime(position)).collect();
            RnsBasis::new(&primes).expect("checked primes are distinct")
        })
    }

    /// Writes the evaluations of a polynomial of signed coefficients modulo one prime.
    pub fn evaluations<T: Copy + Into<i64>>(&self, position: usize, poly: &[T], out: &mut [u32]) {
        let modulus = self.set.chain().moduli()[position];
        for (out, &c) in out.iter_mut().zip(poly) {
            *out = modulus.reduce_signed(c.into());
        }
        self.transform(position).forward(out);
    }

    /// The evaluations modulo all primes at `positions`, limb by limb on all threads;
    /// wiped when dropped.
    pub fn secret_evaluations<T: Copy + Into<i64> + Sync>(
        &self,
        positions: Range<usize>,
        poly: &[T],
    ) -> Zeroizing<Vec<u32>> {
        let degree = self.set.degree();
        let mut limbs = Zeroizing::new(vec![0; positions.len() * degree]);
        limbs
            .par_chunks_exact_mut(degree)
            .zip(positions)
            .for_each(|(limb, position)| self.evaluations(position, poly, limb));
        limbs
    }
}
