//! A ring on a wgpu device: buffers, resident polynomials and routines.

mod calls;
mod residents;

use crate::poly::kernels::{Kernels, MOST_SEGMENTS, PolyBuild};
use crate::poly::memory::{Block, Memory, Run};
use crate::poly::routine::{Ready, ready};
use crate::poly::script::{Script, Scripter};
use crate::poly::tables::Tables;
use crate::runtime::gpu::{Gpu, STORAGE};
use crate::runtime::upload::Uploads;
use crate::runtime::waits::PIECE;
use girih_backend::poly::schedule::Schedule;
use girih_backend::poly::{
    Bindings, BufferId, Place, PolyDevice, ResidentId, ResidentShape, ResidentSource, RingShape,
    RoutineId,
};
use girih_backend::{BackendError, Progress, Result, Waiting, block_on};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of arenas that calls of one run share; more calls run one after the other.
const ARENA_BYTES: usize = 512 << 20;
/// Words that a copy inside one buffer goes through at a time.
const COPY_WORDS: usize = 4 << 20;

/// One ring on a device.
pub(crate) struct WgpuPoly {
    gpu: Arc<Gpu>,
    kernels: Arc<Kernels>,
    build: PolyBuild,
    ring: Arc<RingShape>,
    tables: Tables,
    nothing: Vec<wgpu::Buffer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    memory: Memory,
    buffers: HashMap<BufferId, Block>,
    residents: HashMap<ResidentId, Resident>,
    routines: HashMap<RoutineId, Routine>,
    /// Calls of all routines compute here, one run after the other.
    arena: Option<Block>,
    /// Room for limbs that are copied together, for tiles that touch too many segments.
    gathered: Option<Block>,
    uploads: Uploads,
    staging: Option<wgpu::Buffer>,
    last_id: u64,
    #[cfg(test)]
    scripts_made: usize,
}

struct Resident {
    shape: ResidentShape,
    block: Block,
}

struct Routine {
    ready: Ready,
    residents: Vec<ResidentId>,
    records: wgpu::Buffer,
    /// The last one used first.
    scripts: Vec<Script>,
}

impl State {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

fn refuse(why: String) -> BackendError {
    BackendError::InvalidRequest(why)
}

fn unknown(what: &str, id: u64) -> BackendError {
    refuse(format!("{what} {id} is not on this device"))
}

impl WgpuPoly {
    /// Loads the tables of `ring`, for builds like `build`.
    pub fn open(
        gpu: Arc<Gpu>,
        kernels: Arc<Kernels>,
        build: PolyBuild,
        ring: Arc<RingShape>,
    ) -> Result<Self> {
        let tables = Tables::new(&gpu, &ring)?;
        let nothing = (0..MOST_SEGMENTS).map(|_| gpu.buffer(16, STORAGE, "nothing"));
        let nothing = nothing.collect::<Result<_, _>>()?;
        Ok(Self { gpu, kernels, build, ring, tables, nothing, state: Mutex::default() })
    }

    // A panic while the lock is held leaves whole maps.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether limbs were copied together for any routine so far.
    #[cfg(test)]
    pub(crate) fn gathers(&self) -> bool {
        self.state().gathered.is_some()
    }

    /// Scripts that were made so far.
    #[cfg(test)]
    pub(crate) fn scripts_made(&self) -> usize {
        self.state().scripts_made
    }

    fn scripter(&self) -> Scripter<'_> {
        Scripter {
            gpu: &self.gpu,
            kernels: &self.kernels,
            build: self.build,
            roots: &self.tables.roots,
            nothing: &self.nothing,
        }
    }

    /// Where the limbs of a buffer lie.
    fn runs(&self, state: &State, place: Place, words: usize) -> Result<Vec<Run>> {
        let Place { buffer, first } = place;
        let block = state.buffers.get(&buffer).ok_or_else(|| unknown("buffer", buffer))?;
        let limbs = words / self.ring.degree();
        if !words.is_multiple_of(self.ring.degree()) || first + limbs > block.limbs() {
            let have = block.limbs();
            return Err(refuse(format!(
                "{words} words from limb {first} on, of a buffer of {have} limbs"
            )));
        }
        Ok(block.runs(first, limbs))
    }

    /// Reads words, holding the state only while a copy begins.
    async fn read_runs(&self, runs: Vec<(wgpu::Buffer, Run)>, words: &mut [u32]) -> Result<()> {
        for (buffer, run) in runs {
            let words = &mut words[run.words];
            for (piece, words) in words.chunks_mut(PIECE).enumerate() {
                let first = u64::from(run.address.word) + (piece * PIECE) as u64;
                let download = {
                    let mut state = self.state();
                    self.gpu.begin_read(&buffer, first, words.len(), &mut state.staging)?
                };
                let staging = self.gpu.finish_read(download, words).await?;
                self.state().staging = Some(staging);
            }
        }
        Ok(())
    }
}

impl PolyDevice for WgpuPoly {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId> {
        let mut state = self.state();
        let block = state.memory.allocate(&self.gpu, limbs, self.ring.degree(), "polynomials")?;
        let id = state.id();
        state.buffers.insert(id, block);
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        let mut state = self.state();
        if let Some(block) = state.buffers.remove(&buffer) {
            state.memory.free(&block);
        }
    }

    fn write(&self, to: Place, words: &[u32]) -> Result<()> {
        let mut guard = self.state();
        let runs = self.runs(&guard, to, words.len())?;
        let State { memory, uploads, .. } = &mut *guard;
        for run in runs {
            let buffer = memory.buffer(run.address.segment);
            let offset = 4 * u64::from(run.address.word);
            uploads.write(&self.gpu, buffer, offset, &words[run.words])?;
        }
        self.gpu.check("writing polynomials")
    }

    fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        block_on(self.read_async(from, words))
    }

    fn read_async<'a>(&'a self, from: Place, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        Box::pin(async move {
            let runs = {
                let state = self.state();
                let runs = self.runs(&state, from, words.len())?.into_iter();
                runs.map(|r| (state.memory.buffer(r.address.segment).clone(), r)).collect()
            };
            self.read_runs(runs, words).await
        })
    }

    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        let state = self.state();
        let degree = self.ring.degree();
        let words = limbs * degree;
        let (sources, targets) = (self.runs(&state, from, words)?, self.runs(&state, to, words)?);
        let mut encoder =
            self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // A buffer cannot be copied to itself: words go through another.
        let through = self.gpu.buffer(
            4 * words.min(COPY_WORDS) as u64,
            STORAGE,
            "polynomials that are copied",
        )?;
        for source in &sources {
            for target in &targets {
                let begin = source.words.start.max(target.words.start);
                let end = source.words.end.min(target.words.end);
                for begin in (begin..end.max(begin)).step_by(COPY_WORDS) {
                    let bytes = 4 * (end - begin).min(COPY_WORDS) as u64;
                    let offset = |run: &Run| {
                        4 * (u64::from(run.address.word) + (begin - run.words.start) as u64)
                    };
                    let [a, b] = [source, target].map(|r| state.memory.buffer(r.address.segment));
                    encoder.copy_buffer_to_buffer(a, offset(source), &through, 0, bytes);
                    encoder.copy_buffer_to_buffer(&through, 0, b, offset(target), bytes);
                }
            }
        }
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.check("copying polynomials")
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        self.load_residents(source, progress)
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        self.rewrite_resident(resident, words)
    }

    fn unload(&self, resident: ResidentId) {
        let mut state = self.state();
        if let Some(resident) = state.residents.remove(&resident) {
            state.memory.free(&resident.block);
        }
    }

    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId> {
        let (shapes, segments) = {
            let state = self.state();
            let shape = |id: &ResidentId| {
                let resident = state.residents.get(id);
                let resident = resident.ok_or_else(|| unknown("resident polynomial", *id))?;
                Ok(resident.shape.clone())
            };
            let shapes: Result<Vec<_>> = residents.iter().map(shape).collect();
            (shapes?, state.memory.segments().max(1))
        };
        let ready = ready(&self.ring, &self.build, &self.tables.primes, schedule, &shapes)?;
        for (kernel, invariant, slots) in ready.builds() {
            self.scripter().pipeline(kernel, invariant, slots, segments)?;
        }
        let bytes = 16 * ready.records.len() as u64;
        let records = self.gpu.buffer(bytes, STORAGE, "the records of a routine")?;
        let mut state = self.state();
        state.uploads.write(&self.gpu, &records, 0, ready.records.as_flattened())?;
        let id = state.id();
        // The device has them now.
        let ready = Ready { records: Vec::new(), ..ready };
        let residents = residents.to_vec();
        state.routines.insert(id, Routine { ready, residents, records, scripts: Vec::new() });
        self.gpu.check("preparing a routine")?;
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        self.state().routines.remove(&routine);
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()> {
        let arena = {
            let state = self.state();
            let of = state.routines.get(&routine).ok_or_else(|| unknown("routine", routine))?;
            4 * of.ready.arena_limbs * self.ring.degree()
        };
        let together = (ARENA_BYTES / arena.max(1)).clamp(1, 256);
        calls.chunks(together).try_for_each(|calls| self.run_together(routine, calls).map(drop))
    }

    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        let kept = self.run_together(routine, std::slice::from_ref(call))?;
        let degree = self.ring.degree();
        kept.into_iter()
            .map(|address| {
                let buffer = self.state().memory.buffer(address.segment).clone();
                let mut words = vec![0; degree];
                let run = Run { address, words: 0..degree };
                block_on(self.read_runs(vec![(buffer, run)], &mut words))?;
                Ok(words)
            })
            .collect()
    }

    fn synchronize(&self) -> Result<()> {
        block_on(self.synchronize_async())
    }

    fn synchronize_async(&self) -> Waiting<'_, Result<()>> {
        Box::pin(self.gpu.finished("synchronize"))
    }

    fn bytes_in_use(&self) -> u64 {
        let state = self.state();
        let records: u64 = state.routines.values().map(|r| r.records.size()).sum();
        state.memory.used() + self.tables.bytes + records
    }
}
