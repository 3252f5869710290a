//! What the client computes with: tables of a set's ring, made when first used.

use crate::program::join_halves;
use crate::{CkksParameters, Encoder};
use girih_backend::parallel::prelude::*;
use girih_backend::poly::{RingShape, View};
use girih_ring::limb::LimbKernels;
use girih_ring::{RnsBasis, SplitNtt};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// Encoder, transforms and bases of one set; keys of that set share one.
pub(crate) struct HostRing {
    set: CkksParameters,
    encoder: OnceLock<Encoder>,
    transforms: Vec<OnceLock<SplitNtt>>,
    /// Of the conjugation-invariant ring, where the set has it.
    invariant: Vec<OnceLock<SplitNtt>>,
    bases: Vec<OnceLock<RnsBasis>>,
}

impl HostRing {
    pub fn new(set: &CkksParameters) -> Arc<Self> {
        let chain = set.chain();
        Arc::new(Self {
            encoder: OnceLock::new(),
            transforms: chain.moduli().iter().map(|_| OnceLock::new()).collect(),
            invariant: chain.moduli().iter().map(|_| OnceLock::new()).collect(),
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
    pub fn evaluations(&self, position: usize, poly: &[i64], out: &mut [u32]) {
        LimbKernels::new(self.set.chain().moduli()[position]).residues(poly, out);
        self.transform(position).forward(out);
    }

    /// The same of coefficients that are below every prime, such as those of secrets and errors.
    pub fn small_evaluations(&self, position: usize, poly: &[i8], out: &mut [u32]) {
        self.residues(position, poly, out);
        self.transform(position).forward(out);
    }

    fn residues(&self, position: usize, poly: &[i8], out: &mut [u32]) {
        let q = self.set.chain().prime(position);
        for (out, &c) in out.iter_mut().zip(poly) {
            let c = i32::from(c);
            *out = (c as u32).wrapping_add(q & (c >> 31) as u32);
        }
    }

    /// The transform of the conjugation-invariant ring modulo the prime at `position`.
    fn invariant_transform(&self, position: usize) -> &SplitNtt {
        self.invariant[position].get_or_init(|| {
            let chain = self.set.chain();
            SplitNtt::invariant(chain.moduli()[position], chain.degree())
                .expect("primes of such a set are 1 modulo 4N")
        })
    }

    /// [`HostRing::small_evaluations`] of f_0 + sum of f_j (Y^j + Y^-j).
    pub fn small_invariant_evaluations(&self, position: usize, poly: &[i8], out: &mut [u32]) {
        self.residues(position, poly, out);
        self.invariant_transform(position).forward(out);
    }

    /// The values of c(Y^2) + Y d(Y^2) at the points of a view: `poly` are the coefficients of c,
    /// then those of d.
    pub fn small_evaluations_at(&self, position: usize, view: View, poly: &[i8], out: &mut [u32]) {
        let chain = self.set.chain();
        let (c, d) = poly.split_at(out.len());
        let halves = [c, d].map(|half| {
            let mut words = Zeroizing::new(vec![0; out.len()]);
            self.small_evaluations(position, half, &mut words);
            words
        });
        // The points depend on the prime alone.
        let ring = RingShape::new(chain.log2_degree(), vec![chain.moduli()[position]]);
        join_halves(&ring, 0, view, [&halves[0], &halves[1]], out);
    }

    /// [`HostRing::secret_evaluations`] in the conjugation-invariant ring.
    pub fn invariant_evaluations(
        &self,
        positions: Range<usize>,
        poly: &[i8],
    ) -> Zeroizing<Vec<u32>> {
        self.secret_limbs(positions, |position, limb| {
            self.small_invariant_evaluations(position, poly, limb);
        })
    }

    /// The evaluations of a small polynomial modulo all primes at `positions`, limb by limb on all
    /// threads; wiped when dropped.
    pub fn secret_evaluations(&self, positions: Range<usize>, poly: &[i8]) -> Zeroizing<Vec<u32>> {
        self.secret_limbs(positions, |position, limb| {
            self.small_evaluations(position, poly, limb);
        })
    }

    fn secret_limbs(
        &self,
        positions: Range<usize>,
        write: impl Fn(usize, &mut [u32]) + Sync,
    ) -> Zeroizing<Vec<u32>> {
        let degree = self.set.degree();
        let mut limbs = Zeroizing::new(vec![0; positions.len() * degree]);
        limbs
            .par_chunks_exact_mut(degree)
            .zip(positions)
            .for_each(|(limb, position)| write(position, limb));
        limbs
    }
}
