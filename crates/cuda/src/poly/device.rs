//! A ring on a device: buffers, residents and routines.

mod calls;
mod tiers;

use crate::poly::arguments::{MaskRecord, MasksArguments};
use crate::poly::background::{Background, Order};
use crate::poly::kernels::Kernels;
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::ReadyLaunch;
use crate::poly::limbs::{Place, Places, Resident, ResidentPlace};
use crate::poly::masks;
use crate::poly::memory::{Block, Memory};
use crate::poly::routine::general_launches;
use crate::poly::tables::RingTables;
use crate::poly::{LEAST_LOG2_DEGREE, PROGRAMS};
use crate::runtime::bytes::{bytes_of, bytes_of_mut};
use crate::runtime::machine::{Graph, Kernel, Machine, Queue};
use girih_backend::poly::schedule::{Limb, Schedule};
use girih_backend::poly::{
    Bindings, BufferId, PolyDevice, ResidentId, ResidentSource, RingShape, RoutineId,
};
use girih_backend::{BackendError, DeviceLimits, Preparation, Progress, Specialise, preparing};
use girih_ring::{Modulus, Shoup};
use rayon::prelude::*;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Words of resident polynomials that the host makes at once: enough for every thread, however
/// short limbs are, few enough for its memory.
const WORDS_AT_ONCE: usize = 16 << 20;

pub(crate) struct CudaPoly {
    machine: Arc<dyn Machine>,
    limits: DeviceLimits,
    knobs: PolyKnobs,
    ring: Arc<RingShape>,
    tables: RingTables,
    kernels: Arc<Kernels>,
    background: Background,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
    buffers: HashMap<BufferId, Block>,
    residents: HashMap<ResidentId, Resident>,
    routines: HashMap<RoutineId, Routine>,
    /// The most dynamic shared memory that a launch of each kernel has.
    shared_bytes: HashMap<Kernel, usize>,
    /// All calls of all routines compute here: one queue runs them one after the other.
    arena: Option<Block>,
    last_id: u64,
}

/// A kernel of a routine with everything but the number of calls.
struct Step {
    launch: ReadyLaunch,
    kernel: Kernel,
    data: Vec<u64>,
}

struct Routine {
    schedule: Arc<Schedule>,
    places: Places,
    residents: Vec<ResidentId>,
    steps: Vec<Step>,
    data: Block,
    /// The one used last behind all others.
    bases: Vec<Bases>,
    /// What it changes over to as soon as that is compiled.
    own: Option<Arc<Order>>,
}

/// Tables of bases that a routine has at once. A run whose polynomials lie as those of one of its
/// last runs did then begins with its first kernel: a loop whose results take turns in two places
/// writes no table.
const MOST_TABLES: usize = 4;

/// Tables of bases of so many calls on the device, with what was written there last, and the
/// launches recorded.
struct Bases {
    block: Block,
    calls: usize,
    written: Vec<u64>,
    graph: Option<Graph>,
}

/// Bytes that are written in the queue of programs itself, which is quicker for a few.
const LITTLE_BYTES: usize = 64 << 10;

/// A limb of a resident polynomial that the host makes, and where it is to lie.
struct Made {
    /// The polynomial, and the place in its basis.
    number: usize,
    limb: usize,
    prime: u16,
    words: usize,
    address: u64,
}

/// The first of them that are made at once, which leave `rest`.
fn at_once<'a>(rest: &mut &'a [Made]) -> Option<&'a [Made]> {
    let mut words = 0;
    let more = |limb: &&Made| {
        words += limb.words;
        words <= WORDS_AT_ONCE
    };
    let count = rest.iter().take_while(more).count().max(1).min(rest.len());
    let some;
    (some, *rest) = rest.split_at(count);
    (!some.is_empty()).then_some(some)
}

impl CudaPoly {
    /// Loads the tables of `ring`.
    pub fn open(
        machine: Arc<dyn Machine>,
        limits: DeviceLimits,
        knobs: PolyKnobs,
        ring: Arc<RingShape>,
    ) -> Result<Self, BackendError> {
        if ring.log2_degree < LEAST_LOG2_DEGREE {
            return Err(BackendError::Unsupported {
                device: machine.id().into(),
                what: format!("polynomials of degree 2^{}", ring.log2_degree),
                why: format!("its kernels start at 2^{LEAST_LOG2_DEGREE}"),
            });
        }
        let tables = RingTables::new(&machine, &ring)?;
        let state = State {
            memory: Memory::new(machine.clone()),
            buffers: HashMap::new(),
            residents: HashMap::new(),
            routines: HashMap::new(),
            shared_bytes: HashMap::new(),
            arena: None,
            last_id: 0,
        };
        let kernels = Arc::new(Kernels::new(machine.clone()));
        let background = Background::new(kernels.clone());
        if knobs.specialise != Specialise::Now {
            // Keys are loaded meanwhile.
            background.push(Arc::new(Order::at_once(general_launches(ring.log2_degree))))?;
        }
        let state = Mutex::new(state);
        Ok(Self { machine, limits, knobs, ring, tables, kernels, background, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uploads in order with everything else: behind what was called before,
    /// in front of what comes.
    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), BackendError> {
        self.machine.wait(Queue::UPLOADS, self.machine.mark(PROGRAMS)?)?;
        self.machine.upload(to, bytes)?;
        self.machine.wait(PROGRAMS, self.machine.mark(Queue::UPLOADS)?)
    }

    fn download(&self, from: u64, words: &mut [u32]) -> Result<(), BackendError> {
        self.machine.wait(Queue::DOWNLOADS, self.machine.mark(PROGRAMS)?)?;
        self.machine.download(from, bytes_of_mut(words))
    }

    fn limb_bytes(&self) -> usize {
        4 * self.ring.degree()
    }

    /// What words of resident polynomials are stored times: 2^32, so that kernels multiply by them
    /// and divide by 2^32 at once.
    fn stored_factor(&self, prime: u16) -> (Modulus, Shoup) {
        let p = self.ring.primes[usize::from(prime)];
        (p, p.shoup(p.reduce(1 << 32)))
    }

    /// Makes limbs on all threads and uploads them, what lies side by side in one piece.
    fn make(&self, source: &dyn ResidentSource, limbs: &[Made]) -> Result<(), BackendError> {
        let mut words = vec![0u32; limbs.iter().map(|limb| limb.words).sum()];
        let mut rest = words.as_mut_slice();
        let mut parts = Vec::with_capacity(limbs.len());
        for limb in limbs {
            let (part, others) = rest.split_at_mut(limb.words);
            parts.push((limb, part));
            rest = others;
        }
        parts.into_par_iter().for_each(|(limb, out)| {
            let (p, factor) = self.stored_factor(limb.prime);
            source.limb(limb.number, limb.limb, out);
            out.iter_mut().for_each(|w| *w = p.mul_shoup(*w, factor));
        });
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

    /// A limb, as it is on the device.
    fn read_limb(
        &self,
        place: Place,
        bases: &[u64],
        prime: Option<u16>,
    ) -> Result<Vec<u32>, BackendError> {
        let degree = self.ring.degree();
        let mut words = vec![0u32; degree >> place.log2_run];
        self.download(bases[place.base as usize] + place.offset, &mut words)?;
        let run = 1 << place.log2_run;
        let words: Vec<u32> = words.into_iter().flat_map(|w| std::iter::repeat_n(w, run)).collect();
        Ok(match prime.filter(|_| place.montgomery) {
            None => words,
            Some(prime) => {
                let p = self.ring.primes[usize::from(prime)];
                let factor = p.shoup(p.inverse(p.reduce(1 << 32)));
                words.into_iter().map(|w| p.mul_shoup(w, factor)).collect()
            }
        })
    }
}

fn unknown(what: &str, id: u64) -> BackendError {
    BackendError::InvalidRequest(format!("{what} {id} is not on this device"))
}

impl PolyDevice for CudaPoly {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId, BackendError> {
        let mut state = self.state();
        let block = state.memory.allocate(limbs * self.limb_bytes(), "polynomials")?;
        state.last_id += 1;
        let id = state.last_id;
        state.buffers.insert(id, block);
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        let mut state = self.state();
        if let Some(block) = state.buffers.remove(&buffer) {
            state.memory.free(block);
        }
    }

    fn write(&self, to: girih_backend::poly::Place, words: &[u32]) -> Result<(), BackendError> {
        let address = self.address(to)?;
        self.upload(address, bytes_of(words))
    }

    fn read(
        &self,
        from: girih_backend::poly::Place,
        words: &mut [u32],
    ) -> Result<(), BackendError> {
        let address = self.address(from)?;
        self.download(address, words)
    }

    fn copy(
        &self,
        from: girih_backend::poly::Place,
        to: girih_backend::poly::Place,
        limbs: usize,
    ) -> Result<(), BackendError> {
        let (from, to) = (self.address(from)?, self.address(to)?);
        self.machine.copy(PROGRAMS, from, to, limbs * self.limb_bytes())
    }

    fn copy_from(
        &self,
        peer: &dyn PolyDevice,
        from: girih_backend::poly::Place,
        to: girih_backend::poly::Place,
        limbs: usize,
    ) -> Result<bool, BackendError> {
        let peer: &dyn Any = peer;
        let Some(peer) = peer.downcast_ref::<Self>() else { return Ok(false) };
        let (from, to) = (peer.address(from)?, self.address(to)?);
        match peer.machine.offer(PROGRAMS)? {
            Some(offer) => self.machine.take(PROGRAMS, &offer, from, to, limbs * self.limb_bytes()),
            None => Ok(false),
        }
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>, BackendError> {
        let shapes = source.shapes();
        let total: usize = shapes.iter().map(|s| s.basis.len()).sum();
        let mut loaded: Vec<Resident> = Vec::new();
        let (mut expanded, mut made) = (Vec::new(), Vec::new());
        let places = shapes.iter().enumerate().try_for_each(|(number, shape)| {
            let words = self.ring.degree() >> shape.log2_run;
            let block =
                self.state().memory.allocate(4 * words * shape.basis.len(), source.what())?;
            loaded.push(Resident {
                block,
                log2_run: shape.log2_run,
                primes: shape.basis.primes().to_vec(),
            });
            for (limb, &prime) in shape.basis.primes().iter().enumerate() {
                let address = block.address + (4 * words * limb) as u64;
                match source.stream(number, limb).filter(|_| shape.log2_run == 0) {
                    Some(stream) => {
                        let prime = &self.ring.primes[usize::from(prime)];
                        expanded.push(masks::record(&stream, prime, address));
                    }
                    None => made.push(Made { number, limb, prime, words, address }),
                }
            }
            Ok(())
        });
        // The device expands its share while the host makes the rest.
        let mut done = expanded.len();
        let result = places.and_then(|()| self.expand(&expanded)).and_then(|()| {
            let mut rest = made.as_slice();
            while let Some(some) = at_once(&mut rest) {
                self.make(source, some)?;
                done += some.len();
                progress.report(source.what(), done, total);
            }
            Ok(())
        });
        self.machine.take_notes().iter().for_each(|note| progress.note(note));
        if result.is_ok() && !expanded.is_empty() {
            progress.report(source.what(), total, total);
        }
        let mut state = self.state();
        if let Err(error) = result {
            for resident in loaded {
                state.memory.free(resident.block);
            }
            return Err(error);
        }
        let ids = loaded.into_iter().map(|resident| {
            state.last_id += 1;
            let id = state.last_id;
            state.residents.insert(id, resident);
            id
        });
        Ok(ids.collect())
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<(), BackendError> {
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

    fn unload(&self, resident: ResidentId) {
        let mut state = self.state();
        if let Some(resident) = state.residents.remove(&resident) {
            state.memory.free(resident.block);
        }
    }

    fn prepare(
        &self,
        schedule: &Arc<Schedule>,
        residents: &[ResidentId],
    ) -> Result<RoutineId, BackendError> {
        let place = |state: &State, id: &ResidentId| {
            let resident =
                state.residents.get(id).ok_or_else(|| unknown("resident polynomial", *id))?;
            Ok(ResidentPlace { address: resident.block.address, log2_run: resident.log2_run })
        };
        let resident_places = {
            let state = self.state();
            residents.iter().map(|id| place(&state, id)).collect::<Result<_, BackendError>>()?
        };
        let places = Places::new(self.ring.log2_degree, schedule, resident_places);
        let (launches, own) = self.launches(schedule, &places)?;
        // While compilers run, other threads may prepare routines, and run them.
        let kernels = self.kernels.of(&launches)?;
        let mut guard = self.state();
        let state = &mut *guard;
        let (steps, data) = self.lay_out(state, launches, kernels)?;
        if let Some(order) = &own
            && let Err(error) = self.background.push(order.clone())
        {
            state.memory.free(data);
            return Err(error);
        }
        state.last_id += 1;
        let id = state.last_id;
        state.routines.insert(
            id,
            Routine {
                schedule: schedule.clone(),
                places,
                residents: residents.to_vec(),
                steps,
                data,
                bases: Vec::new(),
                own,
            },
        );
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        let mut state = self.state();
        if let Some(routine) = state.routines.remove(&routine) {
            routine.own.iter().for_each(|order| order.give_up());
            state.memory.free(routine.data);
            for bases in routine.bases {
                self.free_bases(&mut state.memory, bases);
            }
        }
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<(), BackendError> {
        if calls.is_empty() { Ok(()) } else { self.run_calls(routine, calls).map(|_| ()) }
    }

    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>, BackendError> {
        let tables = self.run_calls(routine, std::slice::from_ref(call))?;
        let (wanted, bases) = {
            let state = self.state();
            let of = state.routines.get(&routine).ok_or_else(|| unknown("routine", routine))?;
            let prime = |limb: Limb| match limb {
                Limb::Resident { slot, limb } => {
                    let id = of.residents.get(slot as usize)?;
                    state.residents.get(id)?.primes.get(usize::from(limb)).copied()
                }
                _ => None,
            };
            let limbs = of.schedule.kept.iter().flat_map(|(_, limbs)| limbs);
            let wanted = limbs
                .map(|&limb| Ok((of.places.place(limb)?, prime(limb))))
                .collect::<Result<Vec<_>, BackendError>>()?;
            (wanted, tables.into_iter().next().unwrap_or_default())
        };
        wanted.into_iter().map(|(place, prime)| self.read_limb(place, &bases, prime)).collect()
    }

    fn settle(&self) -> Result<usize, BackendError> {
        CudaPoly::settle(self)
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        self.machine.synchronize()
    }

    fn bytes_in_use(&self) -> u64 {
        self.state().memory.used() + self.tables.bytes
    }
}

impl CudaPoly {
    fn address(&self, place: girih_backend::poly::Place) -> Result<u64, BackendError> {
        let state = self.state();
        let block =
            state.buffers.get(&place.buffer).ok_or_else(|| unknown("buffer", place.buffer))?;
        Ok(block.address + (place.first * self.limb_bytes()) as u64)
    }
}

impl Drop for CudaPoly {
    fn drop(&mut self) {
        for order in self.state().routines.values().filter_map(|routine| routine.own.as_ref()) {
            order.give_up();
        }
        // Waits for what is under way; errors were reported to whoever asked for results.
        let _ = self.machine.synchronize();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let blocks = state.buffers.drain().map(|(_, b)| b).chain(state.arena.take());
        let residents = state.residents.drain().map(|(_, r)| r.block);
        let mut blocks: Vec<Block> = blocks.chain(residents).collect();
        for (_, routine) in state.routines.drain() {
            blocks.push(routine.data);
            for bases in routine.bases {
                blocks.push(bases.block);
                if let Some(graph) = bases.graph {
                    self.machine.forget(graph);
                }
            }
        }
        for block in blocks {
            state.memory.free(block);
        }
    }
}
