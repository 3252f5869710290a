//! Polynomials that stay on the device: how they are written there.

use super::{Resident, State, WgpuPoly, unknown};
use crate::poly::memory::Address;
use girih_backend::poly::{ResidentId, ResidentShape, ResidentSource, flow};
use girih_backend::{Preparation, Progress, Result, preparing};
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of resident polynomials that the host makes at once: enough for every thread, however
/// short limbs are, few enough for its memory.
const WORDS_AT_ONCE: usize = 4 << 20;
/// Bytes handed to the driver between waits: bounds the memory of uploads.
const UPLOAD_BYTES: u64 = 128 << 20;

/// A limb of a resident polynomial, and where it is to lie.
struct Made {
    /// The polynomial, and the place in its basis.
    number: usize,
    limb: usize,
    words: usize,
    address: Address,
}

impl WgpuPoly {
    /// Copies what was made to the device, and waits where much of it is on its way.
    fn send(&self, limbs: &[Made], words: &[u32], pending: &AtomicU64) -> Result<()> {
        let _uploading = preparing(Preparation::Upload);
        {
            let mut state = self.state();
            let State { memory, uploads, .. } = &mut *state;
            let mut first = 0;
            for limb in limbs {
                let buffer = memory.buffer(limb.address.segment);
                let offset = 4 * u64::from(limb.address.word);
                uploads.write(&self.gpu, buffer, offset, &words[first..first + limb.words])?;
                first += limb.words;
            }
        }
        let bytes = 4 * words.len() as u64;
        if pending.fetch_add(bytes, Ordering::Relaxed) + bytes > UPLOAD_BYTES {
            pending.store(0, Ordering::Relaxed);
            self.gpu.queue.submit([]);
            return self.gpu.wait("loading polynomials");
        }
        Ok(())
    }

    /// Loads the polynomials of `source`: limbs are made on all threads, a lot of them while the
    /// one before is copied.
    pub(super) fn load_residents(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        let shapes = source.shapes();
        let what = format!("loading {}", source.what());
        let words = |shape: &ResidentShape| self.ring.degree() >> shape.log2_run;
        let sizes: Vec<(usize, &[u16])> =
            shapes.iter().map(|shape| (words(shape), shape.basis.primes())).collect();
        let loaded = self.state().memory.allocate_by_prime(&self.gpu, &sizes, source.what())?;
        let limbs = shapes.iter().zip(&loaded).enumerate().flat_map(|(number, (shape, block))| {
            let limb = move |limb| {
                let address = block.address(limb)?;
                Some(Made { number, limb, words: words(shape), address })
            };
            (0..shape.basis.len()).filter_map(limb)
        });
        let limbs: Vec<Made> = limbs.collect();
        let (mut done, pending) = (0, AtomicU64::new(0));
        let send = |limbs: &[Made], words: &[u32]| self.send(limbs, words, &pending);
        let make = |limb: &Made, words: &mut [u32]| source.limb(limb.number, limb.limb, words);
        let result = flow(
            &limbs,
            WORDS_AT_ONCE,
            |limb| limb.words,
            make,
            send,
            |some| {
                done += some;
                progress.report(&what, done, limbs.len());
            },
        );
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
