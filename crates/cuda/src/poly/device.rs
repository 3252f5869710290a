//! A ring on a device: buffers, residents and routines.

mod calls;

use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{ReadyLaunch, ready};
use crate::poly::limbs::{Place, Places, Resident, ResidentPlace};
use crate::poly::memory::{Block, Memory};
use crate::poly::tables::RingTables;
use crate::poly::{LEAST_LOG2_DEGREE, PROGRAMS};
use crate::runtime::bytes::{bytes_of, bytes_of_mut};
use crate::runtime::machine::{Graph, Kernel, Machine, Queue};
use girih_backend::poly::schedule::{Limb, Schedule};
use girih_backend::poly::{
    Bindings, BufferId, PolyDevice, ResidentId, ResidentSource, RingShape, RoutineId,
};
use girih_backend::{BackendError, DeviceLimits, Progress};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a thread's spilled registers that are put up with: less than what fewer blocks a
/// multiprocessor cost.
const MOST_SPILLED_BYTES: i32 = 48;
/// Limbs of resident polynomials that are asked for at once: enough for every host thread, few
/// enough for host memory.
const LIMBS_AT_ONCE: usize = 64;

pub(crate) struct CudaPoly {
    machine: Arc<dyn Machine>,
    limits: DeviceLimits,
    knobs: PolyKnobs,
    ring: Arc<RingShape>,
    tables: RingTables,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
    buffers: HashMap<BufferId, Block>,
    residents: HashMap<ResidentId, Resident>,
    routines: HashMap<RoutineId, Routine>,
    /// With the most dynamic shared memory that a launch of each has.
    kernels: HashMap<(&'static str, String), (Kernel, usize)>,
    /// All calls of all routines compute here: one queue runs them one after the other.
    arena: Option<Block>,
    last_id: u64,
}

/// A kernel of a routine with everything but the number of calls.
struct Step {
    launch: ReadyLaunch,
    kernel: Kernel,
    data: Vec<u64>,
    /// Blocks that run on the device at once.
    resident_blocks: usize,
}

struct Routine {
    schedule: Arc<Schedule>,
    places: Places,
    residents: Vec<ResidentId>,
    steps: Vec<Step>,
    data: Block,
    /// The one used last behind all others.
    bases: Vec<Bases>,
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
            kernels: HashMap::new(),
            arena: None,
            last_id: 0,
        };
        Ok(Self { machine, limits, knobs, ring, tables, state: Mutex::new(state) })
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

    /// Compiles the kernels of `launches` that are new, on all host threads.
    fn load_kernels(
        &self,
        state: &mut State,
        launches: &[ReadyLaunch],
    ) -> Result<(), BackendError> {
        let key = |l: &ReadyLaunch| (l.source.file.name, l.source.constants.clone());
        let new: HashMap<_, _> = launches
            .iter()
            .map(|l| (key(l), l))
            .filter(|(k, _)| !state.kernels.contains_key(k))
            .collect();
        let loaded = new
            .into_par_iter()
            .map(|(key, launch)| {
                let mut source = launch.source.clone();
                loop {
                    let kernel = self.machine.load(&source)?.first().copied();
                    let missing = || BackendError::DeviceFailed {
                        device: self.machine.id().into(),
                        what: format!("{} has no kernel", source.file.name),
                    };
                    let kernel = kernel.ok_or_else(missing)?;
                    let cost = self.machine.prepare(kernel, launch.block(launch.shared_bytes))?;
                    match launch.roomier(&source) {
                        Some(roomier) if cost.local_bytes > MOST_SPILLED_BYTES => source = roomier,
                        _ => return Ok((key, (kernel, 0))),
                    }
                }
            })
            .collect::<Result<Vec<_>, BackendError>>()?;
        state.kernels.extend(loaded);
        Ok(())
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

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>, BackendError> {
        let shapes = source.shapes();
        let total: usize = shapes.iter().map(|s| s.basis.len()).sum();
        let mut done = 0usize;
        let mut loaded: Vec<Resident> = Vec::new();
        let result = shapes.iter().enumerate().try_for_each(|(number, shape)| {
            let words = self.ring.degree() >> shape.log2_run;
            let block =
                self.state().memory.allocate(4 * words * shape.basis.len(), source.what())?;
            loaded.push(Resident {
                block,
                log2_run: shape.log2_run,
                primes: shape.basis.primes().to_vec(),
            });
            let limbs: Vec<usize> = (0..shape.basis.len()).collect();
            for some in limbs.chunks(LIMBS_AT_ONCE) {
                // Kernels multiply by residents and divide by 2^32 at once.
                let made: Vec<Vec<u32>> = some
                    .par_iter()
                    .map(|&limb| {
                        let p = self.ring.primes[usize::from(shape.basis.primes()[limb])];
                        let factor = p.shoup(p.reduce(1 << 32));
                        let mut out = vec![0; words];
                        source.limb(number, limb, &mut out);
                        out.iter_mut().for_each(|w| *w = p.mul_shoup(*w, factor));
                        out
                    })
                    .collect();
                self.upload(
                    block.address + (4 * words * some[0]) as u64,
                    bytes_of(&made.concat()),
                )?;
                done += some.len();
                progress.report(source.what(), done, total);
            }
            Ok(())
        });
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
        let mut guard = self.state();
        let state = &mut *guard;
        let resident_places = residents
            .iter()
            .map(|id| {
                let resident =
                    state.residents.get(id).ok_or_else(|| unknown("resident polynomial", *id))?;
                Ok(ResidentPlace { address: resident.block.address, log2_run: resident.log2_run })
            })
            .collect::<Result<Vec<_>, BackendError>>()?;
        let places = Places::new(self.ring.log2_degree, schedule, resident_places);
        let launches = ready(&self.ring, &self.limits, &self.knobs, &places, schedule)?;
        self.load_kernels(state, &launches)?;
        // All data in one piece, each part on a unit of 16 bytes.
        let mut words: Vec<u32> = Vec::new();
        let mut offsets = Vec::new();
        for launch in &launches {
            let mut own = Vec::new();
            for part in &launch.data {
                words.resize(words.len().next_multiple_of(4), 0);
                own.push(4 * words.len() as u64);
                words.extend(part);
            }
            offsets.push(own);
        }
        let data = state.memory.allocate(4 * words.len(), "the tables of a routine")?;
        let made = self.upload(data.address, bytes_of(&words)).and_then(|()| {
            let step = |(mut launch, own): (ReadyLaunch, Vec<u64>)| {
                let key = (launch.source.file.name, launch.source.constants.clone());
                let (kernel, most_bytes) =
                    state.kernels.get_mut(&key).ok_or_else(|| unknown("kernel", 0))?;
                let cost = self.machine.prepare(*kernel, launch.block(launch.shared_bytes))?;
                // What is allowed to a kernel is allowed to all its launches: the largest counts.
                *most_bytes = launch.shared_bytes.max(*most_bytes);
                if *most_bytes > launch.shared_bytes {
                    self.machine.prepare(*kernel, launch.block(*most_bytes))?;
                }
                let kernel = *kernel;
                launch.data.clear();
                Ok(Step {
                    launch,
                    kernel,
                    data: own.into_iter().map(|offset| data.address + offset).collect(),
                    resident_blocks: cost.resident_blocks as usize * self.limits.multiprocessors,
                })
            };
            launches.into_iter().zip(offsets).map(step).collect::<Result<Vec<_>, BackendError>>()
        });
        let steps = match made {
            Ok(steps) => steps,
            Err(error) => {
                state.memory.free(data);
                return Err(error);
            }
        };
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
            },
        );
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        let mut state = self.state();
        if let Some(routine) = state.routines.remove(&routine) {
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
