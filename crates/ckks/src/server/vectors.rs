//! The vectors that runs of a recording bring along: resident polynomials that are written anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use num_complex::Complex64;

use super::Shared;
use super::builder::digest_of;
use super::builder::parts::Parts;
use super::builder::parts::{VectorShape, VectorUse};
use super::check::{check_length, largest};
use super::memory::{While, advised};
use super::tracked::{Mask, Tracked, mix};
use crate::program::ResidentRequest;
use crate::{Error, Result};
use girih_backend::NoProgress;
use girih_backend::poly::{HostPolynomials, Resident, ResidentShape};
use girih_ring::SplitNtt;
use girih_ring::limb::LimbKernels;

/// The vectors of a recording, and where they lie.
pub(super) struct Vectors {
    shapes: Vec<VectorShape>,
    uses: Vec<VectorUse>,
    /// Of each use.
    residents: Vec<Arc<Resident>>,
    /// Of each use, the transforms modulo its primes.
    tables: Vec<Vec<Arc<SplitNtt>>>,
    /// Held from writing to running.
    turn: Mutex<()>,
}

/// A vector as one use reads it.
pub(super) struct EncodedVector {
    coefficients: Vec<i64>,
    /// What the tape counts with.
    pub known: Tracked,
}

/// What estimates count with for vectors that no run has brought: the declared magnitudes.
pub(super) fn declared(slots: usize, shapes: &[VectorShape], uses: &[VectorUse]) -> Vec<Tracked> {
    let known = |(number, of): (usize, &VectorUse)| {
        let mask = Mask::of(mix(of.vector as u64, number as u64));
        Tracked::exact(slots, slots, mask, shapes[of.vector].magnitude)
    };
    uses.iter().enumerate().map(known).collect()
}

impl Vectors {
    /// Room for what a recording reads of its vectors.
    pub fn new(shared: &Shared, parts: &Parts) -> Result<Self> {
        let ring = shared.engine.ring();
        let shape = |request: &ResidentRequest| match request {
            ResidentRequest::Changing { log2_run, basis, .. } => {
                Some(ResidentShape { basis: basis.clone(), log2_run: *log2_run })
            }
            _ => None,
        };
        // In the order of their uses: each is asked for when it is first used.
        let shapes: Vec<_> = parts.recording.residents.iter().filter_map(shape).collect();
        let sizes = |shape: &ResidentShape| {
            let len = ring.degree() >> shape.log2_run;
            shape.basis.primes().iter().map(|&prime| (prime, len)).collect::<Vec<_>>()
        };
        let all = shared.library.transforms.of(ring, shapes.iter().flat_map(sizes).collect());
        let of = |shape| sizes(shape).iter().map(|of| all[of].clone()).collect();
        let tables = shapes.iter().map(of).collect();
        let zeros = shapes.into_iter().map(|shape| {
            let words = vec![0; shape.basis.len() * (ring.degree() >> shape.log2_run)];
            (shape, words)
        });
        let zeros = HostPolynomials::new(ring, zeros.collect())?;
        let loaded = shared.engine.load(&zeros, &NoProgress).map_err(advised(While::Computing))?;
        Ok(Self {
            shapes: parts.vectors.clone(),
            uses: parts.uses.clone(),
            residents: loaded.into_iter().map(Arc::new).collect(),
            tables,
            turn: Mutex::default(),
        })
    }

    /// Where each use reads.
    pub fn residents(&self) -> &[Arc<Resident>] {
        &self.residents
    }

    /// [`declared`] of these.
    pub fn declared(&self, slots: usize) -> Vec<Tracked> {
        declared(slots, &self.shapes, &self.uses)
    }

    /// The turn of one run.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vectors of a run, encoded for each use.
    pub fn encode<T: Copy + Into<Complex64>>(
        &self,
        vectors: &[&[T]],
        shared: &Shared,
    ) -> Result<Vec<EncodedVector>> {
        if vectors.len() != self.shapes.len() {
            return Err(Error::Length {
                what: "the list of vectors",
                found: vectors.len(),
                rule: format!("the recording has {}", self.shapes.len()),
            });
        }
        for (values, shape) in vectors.iter().zip(&self.shapes) {
            check_length("a vector that a run brings along", values.len(), shape.slots)?;
            if largest(values) > shape.magnitude {
                return Err(Error::Magnitude { declared: shape.magnitude });
            }
        }
        let full = shared.set.slots();
        let one = |of: &VectorUse| {
            let (values, slots) = (vectors[of.vector], self.shapes[of.vector].slots);
            let (few, _) = shared.encoder.coefficients(values, of.scale)?;
            let known = Tracked::plain(full, digest_of(&few), largest(values));
            let mut coefficients = vec![0; 2 * slots];
            let gap = slots / values.len();
            coefficients.iter_mut().step_by(gap).zip(few).for_each(|(to, c)| *to = c);
            Ok(EncodedVector { coefficients, known })
        };
        self.uses.iter().map(one).collect()
    }

    /// Writes them where the recording reads them.
    pub fn write(&self, encoded: &[EncodedVector], shared: &Shared) -> Result<()> {
        let engine = &shared.engine;
        for ((vector, tables), resident) in encoded.iter().zip(&self.tables).zip(&self.residents) {
            let mut words = Vec::with_capacity(tables.len() * vector.coefficients.len());
            for table in tables {
                let begin = words.len();
                words.resize(begin + vector.coefficients.len(), 0);
                let limb = &mut words[begin..];
                LimbKernels::new(table.modulus()).residues(&vector.coefficients, limb);
                table.forward(limb);
            }
            engine.rewrite(resident, &words).map_err(advised(While::Computing))?;
        }
        Ok(())
    }
}
