//! A CUDA device with the keys of one shape loaded.

use crate::bootstrap::arguments::{
    BlindRotateArguments, CombineArguments, Job, KeySwitchArguments, Linear,
    TorusKeySwitchArguments,
};
use crate::bootstrap::keys::{self, KeyLayout};
use crate::bootstrap::plan::{CudaPlan, Geometry, KeySwitchLaunch};
use crate::bootstrap::queues;
use crate::bootstrap::rotation::{self, Rotation};
use crate::bootstrap::source::{self, COMBINE, KEY_SWITCH, TORUS_BITS, ks_word_bytes};
use crate::bootstrap::switch_first::SwitchFirst;
use crate::bootstrap::tables;
use crate::runtime::bytes::{Plain, bytes_of, bytes_of_mut};
use crate::runtime::machine::{Buffer, Kernel, LaunchSize, Machine, Mark, Queue};
use crate::runtime::order::{Marks, Order, span};
use crate::runtime::source::Source;
use girih_backend::bootstrap::{BootstrapDevice, Pipelining};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Combination, KeySource, LinearJob, PlanReport,
    PlanSource, Progress, Stage, StageOutput, Transform, Waiting, at_once,
};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Host memory that one chunk of transformed keys may take while it is uploaded.
const CHUNK_BYTES: usize = 256 << 20;
/// Jobs of one launch: bounds the scratch between the two kernels.
const JOBS_PER_LAUNCH: usize = 132 * 128;
/// Waves of one launch where launches take turns: blocks drift apart, and set out together again at
/// the next.
const WAVES_PER_TURN: usize = 8;
/// Zeros behind each key: kernels ask for entries ahead of use,
/// and a digit of 0 reads a row of zeros.
const SLACK_BYTES: usize = 72 << 10;
/// Threads of a block of `combine`.
const COMBINE_THREADS: usize = 256;

// `DUMP_` constants of cuda/bootstrap/trace.cuh.
const DUMP_NONE: u32 = 0;
const DUMP_DIGITS: u32 = 1;
const DUMP_TRANSFORMED: u32 = 2;
const DUMP_PRODUCTS: u32 = 3;
const DUMP_ACCUMULATOR: u32 = 4;
const DUMP_EXTRACTED: u32 = 5;

/// Device memory that calls change.
struct Memory {
    /// `[ciphertext][n + r]`.
    store: Buffer,
    order: Order,
    /// `[table][N]`.
    tables: Buffer,
    /// The same of test polynomials as `order` of ciphertexts.
    table_order: Order,
    lanes: [Lane; 2],
    /// The lane of the latest call.
    lane: usize,
    /// Behind the latest call that took its turn.
    turn: Option<Mark>,
}

/// One of two places for calls, in turns: while one is at work, the next one's jobs arrive, and its
/// rotations begin where that pays.
struct Lane {
    jobs: Buffer,
    /// `[job][kN + r]` modulo Q_ks; native torus: exponents, `[job][n + r]` of 16 bits.
    switched: Buffer,
    /// Native torus: the digits that the key switch multiplies,
    /// and `[job][row]` between it and its rounding.
    digits: Buffer,
    sums: Buffer,
    /// Sums of key switches of which several blocks share one ciphertext: `[job][n + r]`, zero
    /// between launches.
    partial: Buffer,
    /// `[linear job][n + r]`.
    combined: Buffer,
    /// Behind the latest call here: until then it needs the buffers.
    last: Option<Mark>,
}

impl Memory {
    fn new(machine: &Arc<dyn Machine>) -> Result<Self, BackendError> {
        Ok(Self {
            store: Buffer::new(machine, 0, "ciphertexts")?,
            order: Order::default(),
            tables: Buffer::new(machine, 0, "test polynomials")?,
            table_order: Order::default(),
            lanes: [Lane::new(machine)?, Lane::new(machine)?],
            lane: 0,
            turn: None,
        })
    }

    /// Begins a call that reads and writes these places: chooses its lane and tells what it has to
    /// wait for.
    fn begin(&mut self, reads: &Range<usize>, writes: &Range<usize>) -> Marks {
        let needed = self.order.before(reads, writes);
        // What needs the latest call's results goes behind it; independent calls take turns.
        if !self.lanes[self.lane].last.is_some_and(|last| needed.contains(last)) {
            self.lane = 1 - self.lane;
        }
        needed
    }

    /// Ends the call that began last, at `mark`.
    fn end(&mut self, reads: Range<usize>, writes: Range<usize>, mark: Mark) {
        self.lanes[self.lane].last = Some(mark);
        self.order.add(reads, writes, mark);
    }
}

impl Lane {
    fn new(machine: &Arc<dyn Machine>) -> Result<Self, BackendError> {
        let empty = |what| Buffer::new(machine, 0, what);
        Ok(Self {
            jobs: empty("jobs")?,
            switched: empty("switched ciphertexts")?,
            digits: empty("digits of the key switch")?,
            sums: empty("sums of the key switch")?,
            partial: empty("partial sums")?,
            combined: empty("combined ciphertexts")?,
            last: None,
        })
    }

    /// Uploads jobs once the call before has done with its own, and lets `queue` wait for them
    /// (and, since uploads keep their order, for everything that was uploaded before).
    fn stage(
        &mut self,
        machine: &dyn Machine,
        queue: Queue,
        jobs: &[u8],
    ) -> Result<(), BackendError> {
        self.jobs.grow(Queue::UPLOADS, jobs.len(), 0, "jobs")?;
        if let Some(last) = self.last {
            machine.wait(Queue::UPLOADS, last)?;
        }
        machine.upload(self.jobs.address(), jobs)?;
        machine.wait(queue, machine.mark(Queue::UPLOADS)?)
    }
}

pub(crate) struct CudaEngine {
    machine: Arc<dyn Machine>,
    shape: BootstrapShape,
    /// The first of the plans, for what they share: transform, key layout, key switch.
    plan: CudaPlan,
    source: PlanSource,
    accumulator_bytes: usize,
    key: Buffer,
    roots: Buffer,
    powers: Buffer,
    /// At least one; where there are two, batches choose.
    rotations: Vec<Rotation>,
    /// This and `memory` are shared with engines loaded beside this one.
    key_switch: Arc<KeySwitch>,
    combine: [Kernel; 2],
    /// Whether independent calls run beside each other. Several blocks of a multiprocessor end at
    /// different times, and another call's blocks take their places; a single one profits from
    /// neighbours that read the same part of the key, which blocks of another call do not.
    overlaps: bool,
    memory: Arc<Mutex<Memory>>,
}

/// Where the key switch stands, and what it needs.
enum KeySwitch {
    /// After the rotation: `key_switch`, `key_switch_finish` and `key_switch_tiled`, the key, and
    /// the plan they were built for.
    Last([Kernel; 3], Buffer, CudaPlan),
    /// Before it, on the native torus.
    First(SwitchFirst),
}

impl CudaEngine {
    pub(crate) fn load(
        machine: Arc<dyn Machine>,
        keys: &dyn KeySource,
        plans: Vec<CudaPlan>,
        source: PlanSource,
        beside: Option<&Self>,
        progress: &dyn Progress,
    ) -> Result<Self, BackendError> {
        let shape = keys.shape().clone();
        // All variants of a shape share transform, keys and key switch.
        let plan = plans[0].clone();
        let multiprocessors = plan.multiprocessors;
        let mut rotations = (0..plans.len())
            .into_par_iter()
            .map(|index| Rotation::load(machine.as_ref(), &shape, &plans, index))
            .collect::<Result<Vec<_>, _>>()?;
        let combine = kernels(machine.as_ref(), &source::source(COMBINE, &shape, &plan, false))?;

        let layout = KeyLayout::new(&shape, &plan);
        let key = upload_blocks(
            &machine,
            "bootstrapping key",
            shape.steps(),
            layout.step_bytes(),
            progress,
            |i| layout.step(keys, i),
        )?;
        layout.check(machine.id())?;
        let key_switch = if let Some(engine) = beside {
            Arc::clone(&engine.key_switch)
        } else if shape.is_torus() {
            Arc::new(KeySwitch::First(SwitchFirst::load(
                &machine,
                keys,
                &plan,
                multiprocessors,
                progress,
            )?))
        } else {
            let switch =
                kernels(machine.as_ref(), &source::source(KEY_SWITCH, &shape, &plan, false))?;
            let launch = KeySwitchLaunch::new(&shape, &plan, usize::MAX >> 32);
            if launch.tiled {
                let size = LaunchSize {
                    blocks: 1,
                    threads: launch.threads,
                    shared_bytes: launch.shared_bytes,
                    cluster: 1,
                };
                machine.prepare(switch[2], size)?;
            }
            let row_bytes = keys::key_switching_bytes(&shape);
            let rows = |i| keys::key_switching_rows(&shape, keys, i);
            let table = upload_blocks(
                &machine,
                "key-switching key",
                shape.ks_indices(),
                row_bytes,
                progress,
                rows,
            )?;
            Arc::new(KeySwitch::Last(switch, table, plan.clone()))
        };
        let (roots, powers) = root_buffers(&machine, &shape, plan.transform)?;
        let arguments = BlindRotateArguments {
            key: key.address(),
            roots: roots.address(),
            powers: powers.address(),
            steps: shape.steps() as u32,
            ..Default::default()
        };
        rotation::measure(&machine, &shape, &mut rotations, arguments)?;
        let overlaps = rotations[0].cost.resident_blocks > 1 && rotations[0].plan.spread.is_none();
        // Keys, roots and tables are where kernels of all queues read them.
        machine.synchronize()?;
        let memory = match beside {
            Some(engine) => Arc::clone(&engine.memory),
            None => Arc::new(Mutex::new(Memory::new(&machine)?)),
        };
        Ok(Self {
            accumulator_bytes: Geometry::new(&shape, plan.transform).accumulator_bytes,
            machine: machine.clone(),
            shape,
            plan,
            source,
            key,
            roots,
            powers,
            rotations,
            key_switch,
            combine,
            overlaps,
            memory,
        })
    }

    // Device memory holds no invariant that a panic elsewhere could break.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ciphertexts that the device runs at once.
    fn wave(&self) -> usize {
        self.rotations[0].wave()
    }

    /// What takes the rotations of a lane, and everything of its small calls.
    fn queue(&self, lane: usize) -> Queue {
        if lane == 1 && self.overlaps { queues::SECOND } else { queues::FIRST }
    }

    fn rotate_arguments(&self, memory: &Memory, lane: &Lane, jobs: usize) -> BlindRotateArguments {
        BlindRotateArguments {
            store: memory.store.address(),
            jobs: lane.jobs.address(),
            key: self.key.address(),
            roots: self.roots.address(),
            powers: self.powers.address(),
            tables: memory.tables.address(),
            switched: lane.switched.address(),
            dump: 0,
            job_count: jobs as u32,
            steps: self.shape.steps() as u32,
            dump_stage: DUMP_NONE,
            dump_step: 0,
        }
    }

    /// The staged jobs' key switch where it stands first; nothing elsewhere.
    fn switch_first(
        &self,
        queue: Queue,
        store: u64,
        lane: &Lane,
        jobs: usize,
        dump: u64,
    ) -> Result<(), BackendError> {
        let KeySwitch::First(switch) = &*self.key_switch else { return Ok(()) };
        let arguments = TorusKeySwitchArguments {
            jobs: lane.jobs.address(),
            store,
            digits: lane.digits.address(),
            sums: lane.sums.address(),
            exponents: lane.switched.address(),
            dump,
            job_count: jobs as u32,
            ..Default::default()
        };
        switch.launch(self.machine.as_ref(), queue, arguments)
    }

    /// The key switch where it stands last; nothing elsewhere.
    fn switch_last(
        &self,
        queue: Queue,
        lane: &Lane,
        jobs: usize,
        store: u64,
        dump: u64,
    ) -> Result<(), BackendError> {
        let KeySwitch::Last([gather, finish, tiled], key, plan) = &*self.key_switch else {
            return Ok(());
        };
        let launch = KeySwitchLaunch::new(&self.shape, plan, jobs);
        let arguments = KeySwitchArguments {
            jobs: lane.jobs.address(),
            switched: lane.switched.address(),
            key: key.address(),
            store,
            dump,
            partial: lane.partial.address(),
            job_count: jobs as u32,
            parts: launch.parts as u32,
        };
        let size = LaunchSize {
            blocks: launch.blocks,
            threads: launch.threads,
            shared_bytes: launch.shared_bytes,
            cluster: 1,
        };
        self.machine.launch(
            queue,
            if launch.tiled { *tiled } else { *gather },
            size,
            bytes_of(&[arguments]),
        )?;
        if shares_sums(&launch) {
            let words = jobs * self.shape.ciphertext_len();
            let size = LaunchSize {
                blocks: words.div_ceil(COMBINE_THREADS),
                threads: COMBINE_THREADS,
                shared_bytes: 0,
                cluster: 1,
            };
            self.machine.launch(queue, *finish, size, bytes_of(&[arguments]))?;
        }
        Ok(())
    }

    /// Whether the rotations of calls that fill the device follow each other, and only smaller
    /// calls and key switches run beside them. That is where the key switch is short: rotations
    /// that begin as others end have blocks far apart in the key for all of their time.
    fn takes_turns(&self) -> bool {
        self.overlaps && matches!(&*self.key_switch, KeySwitch::First(_))
    }

    /// Bytes of what lies between rotation and key switch for `jobs` ciphertexts,
    /// whichever comes first.
    fn switched_bytes(&self, jobs: usize) -> usize {
        match &*self.key_switch {
            KeySwitch::Last(..) => jobs * self.shape.extracted_len() * 8,
            KeySwitch::First(_) => SwitchFirst::exponents_bytes(&self.shape, jobs),
        }
    }

    /// Uploads jobs, makes room for what lies between the kernels, and lets `queue`, which takes
    /// the first of them, wait.
    fn stage_jobs(&self, lane: &mut Lane, queue: Queue, jobs: &[Job]) -> Result<(), BackendError> {
        match &*self.key_switch {
            KeySwitch::First(switch) => {
                lane.digits.grow(
                    queue,
                    switch.digits_bytes(jobs.len()),
                    0,
                    "digits of the key switch",
                )?;
                lane.sums.grow(
                    queue,
                    switch.sums_bytes(jobs.len()),
                    0,
                    "sums of the key switch",
                )?;
            }
            KeySwitch::Last(.., plan)
                if shares_sums(&KeySwitchLaunch::new(&self.shape, plan, jobs.len())) =>
            {
                let word = if ks_word_bytes(&self.shape) == 5 { 8 } else { 4 };
                lane.partial.grow(
                    queue,
                    jobs.len() * self.shape.ciphertext_len() * word,
                    0,
                    "partial sums",
                )?;
            }
            KeySwitch::Last(..) => {}
        }
        lane.switched.grow(queue, self.switched_bytes(jobs.len()), 0, "switched ciphertexts")?;
        lane.stage(self.machine.as_ref(), queue, bytes_of(jobs))
    }

    fn run_combine(
        &self,
        queue: Queue,
        store: u64,
        lane: &mut Lane,
        jobs: &[Linear],
        scatter: bool,
    ) -> Result<(), BackendError> {
        let words = jobs.len() * self.shape.ciphertext_len();
        lane.combined.grow(queue, words * 4, 0, "combined ciphertexts")?;
        lane.stage(self.machine.as_ref(), queue, bytes_of(jobs))?;
        let arguments = CombineArguments {
            jobs: lane.jobs.address(),
            store,
            results: lane.combined.address(),
            job_count: jobs.len() as u32,
            padding: 0,
        };
        let size = LaunchSize {
            blocks: words.div_ceil(COMBINE_THREADS),
            threads: COMBINE_THREADS,
            shared_bytes: 0,
            cluster: 1,
        };
        self.machine.launch(queue, self.combine[0], size, bytes_of(&[arguments]))?;
        if scatter {
            self.machine.launch(queue, self.combine[1], size, bytes_of(&[arguments]))?;
        }
        Ok(())
    }

    /// What `queues::FIRST` has put there.
    fn download<T: Plain + Default>(&self, from: u64, len: usize) -> Result<Vec<T>, BackendError> {
        let mut values = vec![T::default(); len];
        self.machine.wait(Queue::DOWNLOADS, self.machine.mark(queues::FIRST)?)?;
        self.machine.download(from, bytes_of_mut(&mut values))?;
        Ok(values)
    }

    /// The rotations of at most [`JOBS_PER_LAUNCH`] checked jobs,
    /// and the key switch that goes with them.
    fn run_bootstraps(
        &self,
        memory: &mut Memory,
        jobs: &[BootstrapJob],
    ) -> Result<(), BackendError> {
        let machine = self.machine.as_ref();
        let (reads, writes) =
            (read_by(jobs.iter().map(|j| &j.input)), span(jobs.iter().map(|j| j.output)));
        let needed = memory.begin(&reads, &writes);
        let queue = self.queue(memory.lane);
        let full = self.overlaps && jobs.len() >= self.wave();
        let (first, last) = match &*self.key_switch {
            // Where the rotation before leaves places idle at its end.
            KeySwitch::First(_) if full => (queues::TAIL, queue),
            // Beside the rotation behind, and before its waiting blocks.
            KeySwitch::Last(..) if full => (queue, queues::SWITCH),
            _ => (queue, queue),
        };
        let in_turns = full && self.takes_turns();
        needed.wait(machine, first)?;
        let staged: Vec<Job> = jobs.iter().map(Job::from).collect();
        self.stage_jobs(&mut memory.lanes[memory.lane], first, &staged)?;
        let lane = &memory.lanes[memory.lane];
        let store = memory.store.address();
        self.switch_first(first, store, lane, jobs.len(), 0)?;
        let ready = machine.mark(first)?;
        if let Some(before) = memory.turn.filter(|_| in_turns) {
            machine.wait(queue, before)?;
        }
        let mut arguments = self.rotate_arguments(memory, lane, jobs.len());
        for (index, (rotation, share)) in
            rotation::shares(&self.rotations, jobs.len()).into_iter().enumerate()
        {
            // What is left after whole waves fills multiprocessors as these drain.
            let queue = if index > 0 && self.overlaps { queues::TAIL } else { queue };
            if queue != first {
                machine.wait(queue, ready)?;
            }
            arguments.job_count = share as u32;
            rotation.launch(machine, queue, arguments)?;
            arguments.jobs += (share * size_of::<Job>()) as u64;
            arguments.switched += self.switched_bytes(share) as u64;
            if queue != last {
                machine.wait(last, machine.mark(queue)?)?;
            }
        }
        self.switch_last(last, lane, jobs.len(), store, 0)?;
        let end = machine.mark(last)?;
        if in_turns {
            memory.turn = Some(end);
        }
        memory.end(reads, writes, end);
        memory.table_order.add(tables_read_by(jobs, &self.shape), 0..0, end);
        Ok(())
    }

    /// Copies checked test polynomials to the places from `first` on, as kernels read them.
    fn upload_tables(
        &self,
        memory: &Memory,
        first: usize,
        polynomials: &[u64],
    ) -> Result<(), BackendError> {
        let at = memory.tables.address()
            + (first * self.shape.polynomial_size * self.accumulator_bytes) as u64;
        if self.accumulator_bytes == 8 {
            return self.machine.upload(at, bytes_of(polynomials));
        }
        let held = |c: u64| if self.shape.is_torus() { c.wrapping_add(1 << 31) >> 32 } else { c };
        let narrow: Vec<u32> = polynomials.iter().map(|&c| held(c) as u32).collect();
        self.machine.upload(at, bytes_of(&narrow))
    }

    /// Runs `steps` steps of the staged job and returns the `len` words that
    /// `dump_stage` wrote at `dump_step`.
    fn dump(
        &self,
        memory: &Memory,
        steps: usize,
        dump_stage: u32,
        dump_step: usize,
        len: usize,
    ) -> Result<Vec<u64>, BackendError> {
        let buffer = Buffer::new(&self.machine, len * 8, "a trace")?;
        self.machine.zero(queues::FIRST, buffer.address(), len * 8)?;
        let arguments = BlindRotateArguments {
            dump: buffer.address(),
            steps: steps as u32,
            dump_stage,
            dump_step: dump_step as u32,
            ..self.rotate_arguments(memory, &memory.lanes[0], 1)
        };
        rotation::choose(&self.rotations, 1).launch_traced(
            self.machine.as_ref(),
            &self.shape,
            arguments,
        )?;
        self.download(buffer.address(), len)
    }

    /// The accumulator after `steps` steps, modulo Q; of the native torus the bits that are held,
    /// at their place in 64.
    fn accumulator(&self, memory: &Memory, steps: usize) -> Result<Vec<u64>, BackendError> {
        let len = self.shape.columns() * self.shape.polynomial_size;
        let mut words = self.dump(memory, steps, DUMP_ACCUMULATOR, steps, len)?;
        if self.shape.is_torus() {
            words.iter_mut().for_each(|w| *w <<= 64 - TORUS_BITS);
        }
        Ok(words)
    }

    fn check_step(&self, step: usize) -> Result<(), BackendError> {
        let all = self.shape.steps();
        if step < all {
            Ok(())
        } else {
            Err(BackendError::InvalidRequest(format!(
                "step {step} is not below the {all} of a rotation"
            )))
        }
    }

    fn integer_only(&self, stage: Stage) -> Result<(), BackendError> {
        if self.plan.transform == Transform::Ntt {
            return Ok(());
        }
        Err(BackendError::Unsupported {
            device: self.machine.id().into(),
            what: format!("a trace of {stage:?} with {}", self.plan.transform),
            why: "only the integer transform has this stage; load the keys with it".into(),
        })
    }

    fn trace_stage(
        &self,
        memory: &mut Memory,
        job: &BootstrapJob,
        stage: Stage,
    ) -> Result<StageOutput, BackendError> {
        let (all, len) = (self.shape.steps(), self.shape.ciphertext_len());
        let accumulator_len = self.shape.columns() * self.shape.polynomial_size;
        let words = Geometry::new(&self.shape, self.plan.transform).words;
        Ok(match stage {
            Stage::Combined => {
                let linear = LinearJob {
                    input: job.input,
                    log2_output_modulus: job.input.log2_modulus,
                    output: 0,
                };
                let lane = &mut memory.lanes[0];
                self.run_combine(
                    queues::FIRST,
                    memory.store.address(),
                    lane,
                    &[Linear::from(&linear)],
                    false,
                )?;
                let combined = if self.shape.is_torus() {
                    self.download(lane.combined.address(), self.shape.extracted_len())?
                } else {
                    self.download::<u32>(lane.combined.address(), len)?
                        .into_iter()
                        .map(u64::from)
                        .collect()
                };
                self.stage_jobs(lane, queues::FIRST, &[Job::from(job)])?;
                combined
            }
            Stage::AccumulatorInitial => self.accumulator(memory, 0)?,
            Stage::Accumulator { steps } if steps > all => {
                return Err(BackendError::InvalidRequest(format!(
                    "{steps} steps are more than the {all} of a rotation"
                )));
            }
            Stage::Accumulator { steps } => self.accumulator(memory, steps)?,
            Stage::Digits { step } => {
                self.check_step(step)?;
                self.dump(
                    memory,
                    step.max(1),
                    DUMP_DIGITS,
                    step,
                    self.shape.levels() * accumulator_len,
                )?
            }
            Stage::Transformed { step } => {
                self.integer_only(stage)?;
                self.check_step(step)?;
                self.dump(
                    memory,
                    step + 1,
                    DUMP_TRANSFORMED,
                    step,
                    words * self.shape.levels() * accumulator_len,
                )?
            }
            Stage::Products { step } => {
                self.integer_only(stage)?;
                self.check_step(step)?;
                self.dump(memory, step + 1, DUMP_PRODUCTS, step, words * accumulator_len)?
            }
            Stage::Extracted => {
                self.dump(memory, all, DUMP_EXTRACTED, all, self.shape.extracted_len())?
            }
            Stage::Output if self.shape.is_torus() => {
                self.trace_stage(memory, job, Stage::Extracted)?
            }
            Stage::KeySwitched if self.shape.is_torus() => {
                let before = Buffer::new(&self.machine, self.shape.switched_len() * 8, "a trace")?;
                self.switch_first(
                    queues::FIRST,
                    memory.store.address(),
                    &memory.lanes[0],
                    1,
                    before.address(),
                )?;
                self.download(before.address(), self.shape.switched_len())?
            }
            Stage::SwitchedToKs if self.shape.is_torus() => {
                return Err(BackendError::Unsupported {
                    device: self.machine.id().into(),
                    what: format!("a trace of {stage:?} on the native torus"),
                    why: "the key switch comes first there: nothing is switched to Q_ks".into(),
                });
            }
            Stage::SwitchedToKs => {
                self.dump(memory, all, DUMP_NONE, 0, 1)?;
                self.download(memory.lanes[0].switched.address(), self.shape.extracted_len())?
            }
            Stage::KeySwitched | Stage::Output => {
                self.dump(memory, all, DUMP_NONE, 0, 1)?;
                let before = Buffer::new(&self.machine, len * 8, "a trace")?;
                // The one job writes where its output index says, in a store of its own.
                let result =
                    Buffer::new(&self.machine, (job.output as usize + 1) * len * 4, "a trace")?;
                self.switch_last(
                    queues::FIRST,
                    &memory.lanes[0],
                    1,
                    result.address(),
                    before.address(),
                )?;
                if stage == Stage::KeySwitched {
                    self.download(before.address(), len)?
                } else {
                    let at = result.address() + job.output as u64 * len as u64 * 4;
                    self.download::<u32>(at, len)?.into_iter().map(u64::from).collect()
                }
            }
        })
    }
}

/// The kernels of a file, which has exactly as many as the caller names.
pub(crate) fn kernels<const COUNT: usize>(
    machine: &dyn Machine,
    source: &Source,
) -> Result<[Kernel; COUNT], BackendError> {
    let found = machine.load(source)?;
    found.try_into().map_err(|found: Vec<Kernel>| BackendError::DeviceFailed {
        device: machine.id().into(),
        what: format!("{}.cu has {} kernels, {COUNT} were expected", source.file.name, found.len()),
    })
}

/// The lengths of the launches of a list of jobs, which are independent. Where launches take turns,
/// the first has what whole waves leave, and others run beside it.
fn launches(jobs: usize, wave_in_turns: Option<usize>) -> Vec<usize> {
    let (left, most) = match wave_in_turns {
        Some(wave) => (jobs % wave, WAVES_PER_TURN * wave),
        None => (0, JOBS_PER_LAUNCH),
    };
    let whole = (0..jobs - left).step_by(most).map(|first| (jobs - left - first).min(most));
    (left > 0).then_some(left).into_iter().chain(whole).collect()
}

/// Whether a key switch adds its parts up in memory.
fn shares_sums(launch: &KeySwitchLaunch) -> bool {
    launch.tiled || launch.parts > 1
}

/// The places that combinations read, and some between them.
fn read_by<'a>(inputs: impl Iterator<Item = &'a Combination>) -> Range<usize> {
    span(inputs.flat_map(|c| c.operands.iter().filter(|o| o.weight != 0).map(|o| o.ciphertext)))
}

/// The test polynomials that jobs look up, and some between them.
fn tables_read_by(jobs: &[BootstrapJob], shape: &BootstrapShape) -> Range<usize> {
    span(jobs.iter().flat_map(|j| [j.table, j.table + j.table_stride * (shape.packing as u32 - 1)]))
}

/// Fills one device buffer with `count` blocks of `block_bytes`,
/// made on all host threads chunk by chunk.
pub(crate) fn upload_blocks(
    machine: &Arc<dyn Machine>,
    what: &str,
    count: usize,
    block_bytes: usize,
    progress: &dyn Progress,
    make: impl Fn(usize) -> Vec<u8> + Sync,
) -> Result<Buffer, BackendError> {
    let buffer = Buffer::new(machine, count * block_bytes + SLACK_BYTES, what)?;
    machine.zero(Queue::UPLOADS, buffer.address() + (count * block_bytes) as u64, SLACK_BYTES)?;
    let per_chunk = (CHUNK_BYTES / block_bytes.max(1)).clamp(1, count.max(1));
    for first in (0..count).step_by(per_chunk) {
        let last = (first + per_chunk).min(count);
        let blocks: Vec<Vec<u8>> = (first..last).into_par_iter().map(&make).collect();
        for (i, block) in blocks.iter().enumerate() {
            machine.upload(buffer.address() + ((first + i) * block_bytes) as u64, block)?;
        }
        progress.report(what, last, count);
    }
    Ok(buffer)
}

fn root_buffers(
    machine: &Arc<dyn Machine>,
    shape: &BootstrapShape,
    transform: Transform,
) -> Result<(Buffer, Buffer), BackendError> {
    let (roots, powers): (Vec<u8>, Vec<u8>) = match transform {
        Transform::Ntt => {
            let tables = tables::ntt_tables(shape);
            (
                bytes_of(&tables::ntt_roots(&tables)).to_vec(),
                bytes_of(&tables::ntt_powers(&tables)).to_vec(),
            )
        }
        Transform::Fft => {
            let size = shape.polynomial_size;
            (
                bytes_of(&tables::fft_roots(size)).to_vec(),
                bytes_of(&girih_ring::fft::roots_of_unity(size)).to_vec(),
            )
        }
    };
    Ok((
        Buffer::holding(machine, &roots, "roots")?,
        Buffer::holding(machine, &powers, "powers of the root")?,
    ))
}

impl BootstrapDevice for CudaEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn transform(&self) -> Transform {
        self.plan.transform
    }

    fn report(&self) -> PlanReport {
        let mut report = PlanReport::new(self.plan.transform, self.source);
        for rotation in &self.rotations {
            rotation.describe(&mut report);
        }
        let key_switch_bytes = match &*self.key_switch {
            KeySwitch::Last(_, key, _) => key.bytes(),
            KeySwitch::First(switch) => switch.key_bytes(),
        };
        report
            .with("key_switch_threads", self.plan.key_switch_threads)
            .with("spread_up_to_batch", rotation::crossover(&self.rotations))
            .with("key_switch_stages", self.plan.key_switch_stages)
            .with("bootstrapping_key_bytes", self.key.bytes())
            .with("key_switching_key_bytes", key_switch_bytes)
    }

    fn grow(&self, from: usize, to: usize) -> Result<(), BackendError> {
        let mut memory = self.memory();
        let bytes = self.shape.ciphertext_len() * 4;
        // Nobody needs to wait for what is over on both sides of this.
        self.machine.synchronize()?;
        memory.store.grow(queues::FIRST, to * bytes, from * bytes, "ciphertexts")?;
        self.machine.synchronize()?;
        memory.order = Order::default();
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        let mut memory = self.memory();
        let len = self.shape.ciphertext_len();
        let places = first..first + words.len() / len;
        memory.order.free(&places).wait(self.machine.as_ref(), Queue::UPLOADS)?;
        self.machine.upload(memory.store.address() + (first * len * 4) as u64, bytes_of(words))?;
        memory.order.add(0..0, places, self.machine.mark(Queue::UPLOADS)?);
        Ok(())
    }

    fn read<'a>(
        &'a self,
        first: usize,
        words: &'a mut [u32],
    ) -> Waiting<'a, Result<(), BackendError>> {
        at_once(move || {
            let memory = self.memory();
            let len = self.shape.ciphertext_len();
            memory
                .order
                .settled(&(first..first + words.len() / len))
                .wait(self.machine.as_ref(), Queue::DOWNLOADS)?;
            self.machine
                .download(memory.store.address() + (first * len * 4) as u64, bytes_of_mut(words))
        })
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        let size = self.shape.polynomial_size;
        let mut memory = self.memory();
        let bytes = size * self.accumulator_bytes;
        let count = held + polynomials.len() / size;
        // Room for many more: tables are added a few at a time.
        if count * bytes > memory.tables.bytes() {
            memory.tables.grow(
                Queue::UPLOADS,
                count.next_power_of_two() * bytes,
                held * bytes,
                "test polynomials",
            )?;
        }
        self.upload_tables(&memory, held, polynomials)
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        let memory = self.memory();
        let places = first..first + polynomials.len() / self.shape.polynomial_size;
        // Rotations that read what is there come before; those to come wait for their jobs, which
        // are uploaded behind this.
        memory.table_order.free(&places).wait(self.machine.as_ref(), Queue::UPLOADS)?;
        self.upload_tables(&memory, first, polynomials)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        let mut memory = self.memory();
        let mut rest = jobs;
        launches(jobs.len(), self.takes_turns().then(|| self.wave())).into_iter().try_for_each(
            |length| {
                let (jobs, later) = rest.split_at(length);
                rest = later;
                self.run_bootstraps(&mut memory, jobs)
            },
        )
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        let mut memory = self.memory();
        for jobs in jobs.chunks(JOBS_PER_LAUNCH) {
            let staged: Vec<Linear> = jobs.iter().map(Linear::from).collect();
            let (reads, writes) =
                (read_by(jobs.iter().map(|j| &j.input)), span(jobs.iter().map(|j| j.output)));
            let needed = memory.begin(&reads, &writes);
            let Memory { store, lanes, lane, .. } = &mut *memory;
            let queue = self.queue(*lane);
            needed.wait(self.machine.as_ref(), queue)?;
            self.run_combine(queue, store.address(), &mut lanes[*lane], &staged, true)?;
            let mark = self.machine.mark(queue)?;
            memory.end(reads, writes, mark);
        }
        Ok(())
    }

    fn synchronize(&self) -> Waiting<'_, Result<(), BackendError>> {
        at_once(|| self.machine.synchronize())
    }

    fn pipelining(&self) -> Pipelining {
        Pipelining { overlaps_transfers: true, wave: self.wave(), devices: 1 }
    }

    fn trace(
        &self,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>, BackendError> {
        let mut memory = self.memory();
        // Everything runs in the first lane, beside nothing.
        self.machine.synchronize()?;
        let memory = &mut *memory;
        self.stage_jobs(&mut memory.lanes[0], queues::FIRST, &[Job::from(job)])?;
        self.switch_first(queues::FIRST, memory.store.address(), &memory.lanes[0], 1, 0)?;
        memory.lanes[0].last = Some(self.machine.mark(queues::FIRST)?);
        stages.iter().map(|&stage| self.trace_stage(memory, job, stage)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_in_turns_are_of_whole_waves_and_begin_with_what_is_left() {
        assert_eq!(launches(16_384, Some(396)), [148, 3168, 3168, 3168, 3168, 3168, 396]);
        assert_eq!(launches(3168, Some(396)), [3168]);
        assert_eq!(launches(7, Some(396)), [7]);
        assert_eq!(launches(16_384, None), [16_384]);
        assert_eq!(launches(40_000, None), [16_896, 16_896, 6208]);
        assert!(launches(0, None).is_empty() && launches(0, Some(396)).is_empty());
    }
}
