//! A ring on a device: buffers, residents and routines.

mod calls;
mod residents;
mod tiers;

use crate::poly::background::{Background, Order};
use crate::poly::kernels::Kernels;
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::ReadyLaunch;
use crate::poly::limbs::{Place, Places, Resident, ResidentPlace};
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
use girih_backend::{BackendError, DeviceLimits, Progress, Specialise};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
            let launches = general_launches(ring.log2_degree, ring.has_invariant());
            background.push(Arc::new(Order::at_once(launches)))?;
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
        self.load_residents(source, progress)
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<(), BackendError> {
        self.rewrite_resident(resident, words)
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
