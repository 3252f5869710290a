//! A CUDA device with the keys of one shape loaded: the contract of the family, call by call.

use crate::bootstrap::memory::Memory;
use crate::bootstrap::pipeline::Pipeline;
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::queues;
use crate::bootstrap::trace::Trace;
use crate::bootstrap::upload::Loading;
use crate::runtime::bytes::{bytes_of, bytes_of_mut};
use crate::runtime::machine::{Machine, Queue};
use crate::runtime::order::Order;
use girih_backend::bootstrap::{BootstrapDevice, Pipelining};
use girih_backend::{
    BootstrapJob, BootstrapShape, LinearJob, PlanReport, PlanSource, Result, Specialise, Stage,
    StageOutput, Transform, Waiting, at_once,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a shape loads, and the memory that calls change.
pub(crate) struct CudaEngine {
    pipeline: Pipeline,
    /// The first of the plans, for the report.
    plan: CudaPlan,
    source: PlanSource,
    /// Shared with engines loaded beside this one.
    memory: Arc<Mutex<Memory>>,
}

impl CudaEngine {
    /// Loads the keys of a shape under `plans`, which are at least one, over the store and the key
    /// switch of `beside` where there is one.
    pub(crate) fn load(
        loading: &Loading<'_>,
        plans: Vec<CudaPlan>,
        source: PlanSource,
        specialise: Specialise,
        beside: Option<&Self>,
    ) -> Result<Self> {
        let switch = beside.map(|engine| Arc::clone(&engine.pipeline.switch));
        let pipeline = Pipeline::load(loading, &plans, specialise, switch)?;
        let memory = match beside {
            Some(engine) => Arc::clone(&engine.memory),
            None => Arc::new(Mutex::new(Memory::new(&pipeline.machine)?)),
        };
        Ok(Self { pipeline, plan: plans[0].clone(), source, memory })
    }

    // Device memory holds no invariant that a panic elsewhere could break.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn machine(&self) -> &dyn Machine {
        self.pipeline.machine.as_ref()
    }

    /// Copies checked test polynomials to the places from `first` on, as kernels read them.
    fn upload_tables(&self, memory: &Memory, first: usize, polynomials: &[u64]) -> Result<()> {
        let at = memory.tables.address()
            + (first * self.pipeline.shape.polynomial_size * self.pipeline.coefficient_bytes)
                as u64;
        if self.pipeline.coefficient_bytes == 8 {
            return self.machine().upload(at, bytes_of(polynomials));
        }
        let held =
            |c: u64| if self.pipeline.shape.is_torus() { c.wrapping_add(1 << 31) >> 32 } else { c };
        let narrow: Vec<u32> = polynomials.iter().map(|&c| held(c) as u32).collect();
        self.machine().upload(at, bytes_of(&narrow))
    }
}

impl BootstrapDevice for CudaEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.pipeline.shape
    }

    fn transform(&self) -> Transform {
        self.pipeline.transform
    }

    fn report(&self) -> PlanReport {
        let Pipeline { rotations, key, switch, .. } = &self.pipeline;
        let mut report = PlanReport::new(self.plan.transform, self.source);
        let rotations = rotations.now();
        for rotation in rotations.rotations() {
            rotation.describe(&mut report, rotation.plan == self.plan);
        }
        report
            .with("key_switch_threads", self.plan.key_switch.threads)
            .with("key_switch_stages", self.plan.key_switch.stages)
            .with("spread_up_to_batch", rotations.crossover())
            .with("bootstrapping_key_bytes", key.bytes())
            .with("key_switching_key_bytes", switch.key_bytes())
    }

    fn grow(&self, from: usize, to: usize) -> Result<()> {
        let mut memory = self.memory();
        let bytes = self.pipeline.shape.ciphertext_len() * 4;
        // Nobody needs to wait for what is over on both sides of this.
        self.machine().synchronize()?;
        memory.store.grow(queues::FIRST, to * bytes, from * bytes, "ciphertexts")?;
        self.machine().synchronize()?;
        memory.order = Order::default();
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        let mut memory = self.memory();
        let len = self.pipeline.shape.ciphertext_len();
        let places = first..first + words.len() / len;
        memory.order.free(&places).wait(self.machine(), Queue::UPLOADS)?;
        self.machine()
            .upload(memory.store.address() + (first * len * 4) as u64, bytes_of(words))?;
        memory.order.add(0..0, places, self.machine().mark(Queue::UPLOADS)?);
        Ok(())
    }

    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        at_once(move || {
            let memory = self.memory();
            let len = self.pipeline.shape.ciphertext_len();
            memory
                .order
                .settled(&(first..first + words.len() / len))
                .wait(self.machine(), Queue::DOWNLOADS)?;
            self.machine()
                .download(memory.store.address() + (first * len * 4) as u64, bytes_of_mut(words))
        })
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<()> {
        let size = self.pipeline.shape.polynomial_size;
        let mut memory = self.memory();
        let bytes = size * self.pipeline.coefficient_bytes;
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

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()> {
        let memory = self.memory();
        let places = first..first + polynomials.len() / self.pipeline.shape.polynomial_size;
        // Rotations that read what is there come before; those to come wait for their jobs, which
        // are uploaded behind this.
        memory.table_order.free(&places).wait(self.machine(), Queue::UPLOADS)?;
        self.upload_tables(&memory, first, polynomials)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        self.pipeline.bootstrap(&mut self.memory(), jobs)
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        self.pipeline.combine(&mut self.memory(), jobs)
    }

    fn synchronize(&self) -> Waiting<'_, Result<()>> {
        at_once(|| self.machine().synchronize())
    }

    fn settle(&self) -> Result<usize> {
        // Nothing is asked for while they are timed.
        let _memory = self.memory();
        self.pipeline.settle()
    }

    fn pipelining(&self) -> Pipelining {
        Pipelining {
            overlaps_transfers: true,
            wave: self.pipeline.wave(),
            part: self.pipeline.part(),
        }
    }

    fn time_of(&self, bootstrappings: usize) -> f64 {
        self.pipeline.rotations.now().seconds(bootstrappings)
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        let mut memory = self.memory();
        let mut trace = Trace::new(&self.pipeline, &mut memory, job)?;
        stages.iter().map(|&stage| trace.stage(stage)).collect()
    }
}
