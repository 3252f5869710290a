//! The CPU as a [`PolyDevice`]: buffers, resident polynomials and routines in host memory.

mod calls;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use girih_backend::parallel::prelude::*;
use girih_backend::poly::{
    Bindings, BufferId, Place, PolyDevice, ResidentId, ResidentShape, ResidentSource, RingShape,
    RoutineId, Schedule,
};
use girih_backend::{BackendError, Preparation, Progress, Result, Units, preparing};
use girih_ring::fft::Simd;
use girih_ring::{AlignedBuffer, Automorphism};

use super::Prime;
use super::memory::Layout;
use super::routine::{Preparer, Routine};
use crate::memory::out_of_memory;

/// Words of freed buffers that are kept for the next of the same size: 256 MiB. Results come and go
/// with every call, and the system clears new pages at their first use.
const SPARE_WORDS: usize = 1 << 26;

/// One ring on the CPU. Calls run when they are made, so nothing is ever waited for.
pub(crate) struct CpuPoly {
    ring: Arc<RingShape>,
    layout: Layout,
    simd: Simd,
    threads: usize,
    primes: Vec<Arc<Prime>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The next number of anything.
    next: u64,
    buffers: HashMap<BufferId, Memory32>,
    /// Freed buffers, the latest last.
    spare: Vec<Memory32>,
    residents: HashMap<ResidentId, Resident>,
    routines: HashMap<RoutineId, Prepared>,
    automorphisms: HashMap<u32, Arc<Automorphism>>,
    /// Kept from call to call, as large as the largest needed.
    arena: Option<Memory32>,
    scratch: Vec<Option<Memory32>>,
}

struct Resident {
    shape: ResidentShape,
    /// Limb after limb, N / 2^log2_run words each.
    words: Memory32,
}

struct Prepared {
    routine: Arc<Routine>,
    residents: Vec<ResidentId>,
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

fn refuse(why: impl Into<String>) -> BackendError {
    BackendError::InvalidRequest(why.into())
}

type Memory32 = AlignedBuffer<u32>;

/// So many words, zero.
fn allocate(len: usize, what: &str) -> Result<Memory32> {
    AlignedBuffer::new(len).ok_or_else(|| out_of_memory(len.saturating_mul(4), what))
}

/// Makes `words` at least `len` long; what they held is gone then.
fn grow(words: &mut Option<Memory32>, len: usize, what: &str) -> Result<()> {
    if words.as_ref().is_none_or(|words| words.len() < len) {
        // First the old ones go, lest both be there at once.
        *words = None;
        *words = Some(allocate(len, what)?);
    }
    Ok(())
}

impl CpuPoly {
    /// The ring on the vectors named, with so many threads.
    pub(crate) fn new(ring: Arc<RingShape>, simd: Simd, threads: usize) -> Result<Self> {
        let primes = (0..ring.primes.len()).into_par_iter();
        let primes = primes.map(|i| Prime::new(&ring, i, simd).map(Arc::new));
        let primes: Result<Vec<_>, _> = primes.collect();
        let primes = primes.map_err(|e| refuse(e.to_string()))?;
        let ntt = primes.first().ok_or_else(|| refuse("a ring without primes"))?;
        let layout = Layout { rows: ntt.ntt.rows(), row_len: ntt.ntt.row_len() };
        Ok(Self { ring, layout, simd, threads: threads.max(1), primes, state: Mutex::default() })
    }

    // A panic while the lock is held leaves words of buffers that hold no invariant,
    // and whole maps.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PolyDevice for CpuPoly {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId> {
        let len = limbs.saturating_mul(self.ring.degree());
        let mut state = self.state();
        let words = match state.spare.iter().rposition(|words| words.len() == len) {
            Some(known) => state.spare.remove(known),
            None => allocate(len, "a buffer of polynomials").or_else(|_| {
                state.spare.clear();
                allocate(len, "a buffer of polynomials")
            })?,
        };
        let id = state.number();
        state.buffers.insert(id, words);
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        let mut state = self.state();
        let Some(words) = state.buffers.remove(&buffer) else { return };
        state.spare.push(words);
        while state.spare.iter().map(|words| words.len()).sum::<usize>() > SPARE_WORDS {
            state.spare.remove(0);
        }
    }

    fn write(&self, to: Place, words: &[u32]) -> Result<()> {
        let mut state = self.state();
        range(&mut state.buffers, to, words.len(), self.ring.degree())?.copy_from_slice(words);
        Ok(())
    }

    fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        let mut state = self.state();
        let source = range(&mut state.buffers, from, words.len(), self.ring.degree())?;
        words.copy_from_slice(source);
        Ok(())
    }

    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        let degree = self.ring.degree();
        let len = limbs.saturating_mul(degree);
        let mut state = self.state();
        let buffers = &mut state.buffers;
        range(buffers, from, len, degree)?;
        range(buffers, to, len, degree)?;
        let (from_word, to_word) = (from.first * degree, to.first * degree);
        if from.buffer == to.buffer {
            let words = buffers.get_mut(&from.buffer).expect("it has a range");
            words.copy_within(from_word..from_word + len, to_word);
            return Ok(());
        }
        let [source, target] = buffers.get_disjoint_mut([&from.buffer, &to.buffer]);
        let (source, target) = (source.expect("as above"), target.expect("as above"));
        target[to_word..to_word + len].copy_from_slice(&source[from_word..from_word + len]);
        Ok(())
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        let shapes = source.shapes();
        let what = format!("loading {}", source.what());
        // A report that unwinds ends the work: threads begin no other polynomial.
        let polynomials = Units::new(progress, &what, shapes.len());
        let make = |(number, shape): (usize, &ResidentShape)| {
            if polynomials.is_over() {
                return Err(refuse("loading was interrupted"));
            }
            let limbs = shape.basis.len();
            if shape.basis.primes().last().is_some_and(|&p| usize::from(p) >= self.primes.len())
                || shape.log2_run > self.ring.log2_degree
            {
                return Err(refuse(format!("{} {number} does not fit the ring", source.what())));
            }
            let len = self.ring.degree() >> shape.log2_run;
            let mut words = allocate(limbs * len, source.what())?;
            words
                .par_chunks_exact_mut(len)
                .enumerate()
                .for_each(|(limb, out)| source.limb(number, limb, out));
            polynomials.done();
            Ok(Resident { shape: shape.clone(), words })
        };
        let residents: Result<Vec<Resident>, _> = shapes.par_iter().enumerate().map(make).collect();
        let residents = residents?;
        let mut state = self.state();
        let mut ids = Vec::with_capacity(residents.len());
        for resident in residents {
            let id = state.number();
            state.residents.insert(id, resident);
            ids.push(id);
        }
        Ok(ids)
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        let mut state = self.state();
        let known = state.residents.get_mut(&resident);
        let known = known.ok_or_else(|| refuse(format!("no resident polynomial {resident}")))?;
        known.words.copy_from_slice(words);
        Ok(())
    }

    fn unload(&self, resident: ResidentId) {
        self.state().residents.remove(&resident);
    }

    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId> {
        let _lowering = preparing(Preparation::Lowering);
        let mut state = self.state();
        let shape = |id: &ResidentId| {
            let resident = state.residents.get(id);
            resident
                .map(|r| r.shape.clone())
                .ok_or_else(|| refuse(format!("no resident polynomial {id}")))
        };
        let shapes: Vec<ResidentShape> = residents.iter().map(shape).collect::<Result<_, _>>()?;
        let preparer = Preparer {
            layout: self.layout,
            simd: self.simd,
            primes: &self.primes,
            residents: &shapes,
            arena: schedule.arena_limbs,
            automorphisms: &mut state.automorphisms,
        };
        let routine = Arc::new(preparer.prepare(schedule)?);
        let id = state.number();
        state.routines.insert(id, Prepared { routine, residents: residents.to_vec() });
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        let mut state = self.state();
        state.routines.remove(&routine);
        // Without routines nothing will run soon.
        if state.routines.is_empty() {
            state.arena = None;
            state.scratch.clear();
            state.spare.clear();
        }
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()> {
        calls.iter().try_for_each(|call| self.run_call(routine, call))
    }

    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        self.execute(&mut self.state(), routine, call)
    }

    fn synchronize(&self) -> Result<()> {
        // The arena stays until no routine is left: the system clears new pages at their first use.
        Ok(())
    }

    fn bytes_in_use(&self) -> u64 {
        let state = self.state();
        // Values and quotients of N roots and of their inverses.
        let tables = 4 * self.primes.len() * self.ring.degree();
        let buffers = state.buffers.values().chain(&state.spare);
        let buffers: usize = buffers.map(|words| words.len()).sum();
        let residents: usize = state.residents.values().map(|r| r.words.len()).sum();
        let scratch: usize = state.scratch.iter().flatten().map(|words| words.len()).sum();
        4 * (tables
            + buffers
            + residents
            + scratch
            + state.arena.as_ref().map_or(0, |words| words.len())) as u64
    }
}

/// Whole limbs of a buffer.
fn range(
    buffers: &mut HashMap<BufferId, Memory32>,
    place: Place,
    len: usize,
    degree: usize,
) -> Result<&mut [u32]> {
    let Place { buffer, first } = place;
    let words = buffers.get_mut(&buffer).ok_or_else(|| refuse(format!("no buffer {buffer}")))?;
    let limbs = words.len() / degree;
    let start = first.checked_mul(degree);
    let part = start.and_then(|start| words.get_mut(start..start.checked_add(len)?));
    part.filter(|_| len.is_multiple_of(degree)).ok_or_else(|| {
        refuse(format!(
            "{len} words from limb {first} on, of buffer {buffer} of \
                                       {limbs} limbs of {degree} words"
        ))
    })
}
