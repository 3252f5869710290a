//! Polynomials that stay on the device: made and uploaded, or expanded of their seeds there.

use super::{CudaPoly, unknown};
use crate::poly::PROGRAMS;
use crate::poly::arguments::{MaskRecord, MasksArguments};
use crate::poly::limbs::Resident;
use crate::poly::masks;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::Queue;
use girih_backend::poly::{ResidentId, ResidentSource, flow};
use girih_backend::{BackendError, Preparation, Progress, preparing};
use girih_ring::limb::LimbKernels;
use girih_ring::{Modulus, Shoup};

/// Bytes that are written in the queue of programs itself, which is quicker for a few.
const LITTLE_BYTES: usize = 64 << 10;

/// Words that are scaled at once, by vectors.
const SCALED: usize = 1024;

/// A limb of a resident polynomial that the host makes, and where it is to lie.
struct Made {
    /// The polynomial, and the place in its basis.
    number: usize,
    limb: usize,
    prime: u16,
    words: usize,
    address: u64,
}

/// Polynomials that are loaded: where they lie, and who writes their limbs.
#[derive(Default)]
struct Loading {
    residents: Vec<Resident>,
    /// Limbs that the device expands.
    expanded: Vec<MaskRecord>,
    /// Limbs that the host makes.
    made: Vec<Made>,
}

impl CudaPoly {
    /// What words of resident polynomials are stored times: 2^32, so that kernels multiply by them
    /// and divide by 2^32 at once.
    fn stored_factor(&self, prime: u16) -> (Modulus, Shoup) {
        let p = self.ring.primes[usize::from(prime)];
        (p, p.shoup(p.reduce(1 << 32)))
    }

    /// Makes the words of a limb.
    fn make(&self, source: &dyn ResidentSource, limb: &Made, out: &mut [u32]) {
        let (p, factor) = self.stored_factor(limb.prime);
        source.limb(limb.number, limb.limb, out);
        let (kernels, mut copy) = (LimbKernels::new(p), [0; SCALED]);
        for words in out.chunks_mut(SCALED) {
            let copy = &mut copy[..words.len()];
            copy.copy_from_slice(words);
            kernels.scale(factor, copy, words);
        }
    }

    /// Uploads what was made, what lies side by side in one piece.
    fn send(&self, limbs: &[Made], words: &[u32]) -> Result<(), BackendError> {
        let _uploading = preparing(Preparation::Upload);
        self.machine.wait(Queue::UPLOADS, self.machine.mark(PROGRAMS)?)?;
        let mut first = 0;
        // Blocks may touch and still be memory of two allocations, which no copy crosses.
        let next = |a: &Made, b: &Made| {
            a.number == b.number && a.address + 4 * a.words as u64 == b.address
        };
        for run in limbs.chunk_by(next) {
            let len: usize = run.iter().map(|limb| limb.words).sum();
            self.machine.upload(run[0].address, bytes_of(&words[first..first + len]))?;
            first += len;
        }
        self.machine.wait(PROGRAMS, self.machine.mark(Queue::UPLOADS)?)
    }

    /// Expands the limbs that have these records.
    fn expand(&self, records: &[MaskRecord]) -> Result<(), BackendError> {
        if records.is_empty() {
            return Ok(());
        }
        let kernels = self.machine.load(&masks::source(self.ring.log2_degree))?;
        let kernel = *kernels.first().ok_or_else(|| unknown("kernel", 0))?;
        let size = masks::size(records.len());
        self.machine.prepare(kernel, size)?;
        let block =
            self.state().memory.allocate(bytes_of(records).len(), "seeds of evaluation keys")?;
        let launched = self.upload(block.address, bytes_of(records)).and_then(|()| {
            self.machine.launch(
                PROGRAMS,
                kernel,
                size,
                bytes_of(&[MasksArguments { records: block.address }]),
            )
        });
        self.state().memory.free(block);
        launched
    }

    /// Memory for the polynomials of `source`, and what is to be written there. What was allocated
    /// before an error stays in `loading`.
    fn place_residents(
        &self,
        source: &dyn ResidentSource,
        loading: &mut Loading,
    ) -> Result<(), BackendError> {
        for (number, shape) in source.shapes().iter().enumerate() {
            let words = self.ring.degree() >> shape.log2_run;
            let block =
                self.state().memory.allocate(4 * words * shape.basis.len(), source.what())?;
            loading.residents.push(Resident {
                block,
                log2_run: shape.log2_run,
                primes: shape.basis.primes().to_vec(),
            });
            for (limb, &prime) in shape.basis.primes().iter().enumerate() {
                let address = block.address + (4 * words * limb) as u64;
                match source.stream(number, limb).filter(|_| shape.log2_run == 0) {
                    Some(stream) => {
                        let prime = &self.ring.primes[usize::from(prime)];
                        loading.expanded.push(masks::record(&stream, prime, address));
                    }
                    None => loading.made.push(Made { number, limb, prime, words, address }),
                }
            }
        }
        Ok(())
    }

    /// Loads the polynomials of `source`.
    pub(super) fn load_residents(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>, BackendError> {
        let total: usize = source.shapes().iter().map(|s| s.basis.len()).sum();
        let mut loading = Loading::default();
        let placed = self.place_residents(source, &mut loading);
        let Loading { residents, expanded, made } = loading;
        // The device expands its share while the host makes the rest.
        let mut done = expanded.len();
        let result = placed.and_then(|()| self.expand(&expanded)).and_then(|()| {
            let make = |limb: &Made, words: &mut [u32]| self.make(source, limb, words);
            let send = |limbs: &[Made], words: &[u32]| self.send(limbs, words);
            flow(
                &made,
                self.knobs.resident_words,
                |limb| limb.words,
                make,
                send,
                |limbs| {
                    done += limbs;
                    progress.report(source.what(), done, total);
                },
            )
        });
        self.machine.take_notes().iter().for_each(|note| progress.note(note));
        if result.is_ok() && !expanded.is_empty() {
            progress.report(source.what(), total, total);
        }
        let mut state = self.state();
        if let Err(error) = result {
            for resident in residents {
                state.memory.free(resident.block);
            }
            return Err(error);
        }
        let ids = residents.into_iter().map(|resident| {
            state.last_id += 1;
            let id = state.last_id;
            state.residents.insert(id, resident);
            id
        });
        Ok(ids.collect())
    }

    /// Overwrites a polynomial.
    pub(super) fn rewrite_resident(
        &self,
        resident: ResidentId,
        words: &[u32],
    ) -> Result<(), BackendError> {
        let (address, own) = {
            let state = self.state();
            let of = state.residents.get(&resident);
            let of = of.ok_or_else(|| unknown("resident polynomial", resident))?;
            let len = self.ring.degree() >> of.log2_run;
            let limbs = words.chunks_exact(len).zip(&of.primes);
            let own: Vec<u32> = limbs
                .flat_map(|(limb, &prime)| {
                    let (p, factor) = self.stored_factor(prime);
                    limb.iter().map(move |&w| p.mul_shoup(w, factor))
                })
                .collect();
            (of.block.address, own)
        };
        if 4 * own.len() <= LITTLE_BYTES {
            return self.machine.write(PROGRAMS, address, bytes_of(&own));
        }
        self.upload(address, bytes_of(&own))
    }
}
