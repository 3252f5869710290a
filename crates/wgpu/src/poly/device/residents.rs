//! Polynomials that stay on the device: how they are written there.

use super::{Resident, State, WgpuPoly, unknown};
use crate::poly::memory::Block;
use girih_backend::poly::{ResidentId, ResidentShape, ResidentSource};
use girih_backend::{Progress, Result};
use rayon::prelude::*;

/// Limbs of resident polynomials that are asked for at once: enough for every host thread, few
/// enough for host memory.
const LIMBS_AT_ONCE: usize = 64;
/// Bytes handed to the driver between waits: bounds the memory of uploads.
const UPLOAD_BYTES: u64 = 128 << 20;
impl WgpuPoly {
    /// Writes one polynomial where it is to be resident.
    fn load_one(
        &self,
        source: &dyn ResidentSource,
        number: usize,
        shape: &ResidentShape,
        block: &Block,
        report: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let len = self.ring.degree() >> shape.log2_run;
        let limbs = shape.basis.len();
        let mut words = vec![0u32; LIMBS_AT_ONCE.min(limbs) * len];
        for first in (0..limbs).step_by(LIMBS_AT_ONCE) {
            let some = LIMBS_AT_ONCE.min(limbs - first);
            let words = &mut words[..some * len];
            words
                .par_chunks_exact_mut(len)
                .enumerate()
                .for_each(|(i, out)| source.limb(number, first + i, out));
            {
                let mut state = self.state();
                let State { memory, uploads, .. } = &mut *state;
                block.runs(first, some).into_iter().try_for_each(|run| {
                    let buffer = memory.buffer(run.address.segment);
                    let offset = 4 * u64::from(run.address.word);
                    uploads.write(&self.gpu, buffer, offset, &words[run.words])
                })?;
            }
            report(some * len)?;
        }
        Ok(())
    }

    /// Loads the polynomials of `source`.
    pub(super) fn load_residents(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        let shapes = source.shapes();
        let what = format!("loading {}", source.what());
        let total: usize = shapes.iter().map(|s| s.basis.len()).sum();
        let (mut done, mut pending) = (0, 0);
        let sizes: Vec<(usize, &[u16])> = shapes
            .iter()
            .map(|shape| (self.ring.degree() >> shape.log2_run, shape.basis.primes()))
            .collect();
        let loaded = self.state().memory.allocate_by_prime(&self.gpu, &sizes, source.what())?;
        let result =
            shapes.iter().zip(&loaded).enumerate().try_for_each(|(number, (shape, block))| {
                let len = self.ring.degree() >> shape.log2_run;
                let mut report = |words: usize| {
                    done += words / len;
                    progress.report(&what, done, total);
                    pending += 4 * words as u64;
                    if pending > UPLOAD_BYTES {
                        pending = 0;
                        self.gpu.queue.submit([]);
                        return self.gpu.wait(&what);
                    }
                    Ok(())
                };
                self.load_one(source, number, shape, block, &mut report)
            });
        let result = result.and_then(|()| self.gpu.check(&what));
        let mut state = self.state();
        if let Err(error) = result {
            loaded.iter().for_each(|block| state.memory.free(block));
            return Err(error);
        }
        let ids = loaded.into_iter().zip(shapes).map(|(block, shape)| {
            let id = state.id();
            state.residents.insert(id, Resident { shape, block });
            id
        });
        Ok(ids.collect())
    }

    /// Overwrites a polynomial.
    pub(super) fn rewrite_resident(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        let mut guard = self.state();
        let State { memory, uploads, residents, .. } = &mut *guard;
        let of = residents.get(&resident);
        let of = of.ok_or_else(|| unknown("resident polynomial", resident))?;
        // What was submitted before reads the old words.
        of.block.runs(0, of.shape.basis.len()).into_iter().try_for_each(|run| {
            let buffer = memory.buffer(run.address.segment);
            let offset = 4 * u64::from(run.address.word);
            uploads.write(&self.gpu, buffer, offset, &words[run.words])
        })?;
        self.gpu.check("writing a resident polynomial")
    }
}
