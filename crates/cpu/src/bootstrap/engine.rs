//! The CPU as a [`BootstrapDevice`]: a store, test polynomials,
//! and lists of jobs spread over threads.

use crate::bootstrap::key_switch::KeySwitcher;
use crate::bootstrap::pipeline::{MAX_JOBS_PER_TASK, Memory, Pipeline};
use crate::memory::out_of_memory;
use girih_backend::bootstrap::{BootstrapDevice, Pipelining};
use girih_backend::parallel::prelude::*;
use girih_backend::{
    BootstrapJob, BootstrapShape, LinearJob, PlanReport, Result, Stage, StageOutput, Transform,
    Waiting, at_once,
};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) struct CpuEngine {
    shape: BootstrapShape,
    transform: Transform,
    pipeline: Box<dyn Pipeline>,
    /// Shared with engines loaded beside this one.
    memory: Arc<RwLock<Memory>>,
}

impl CpuEngine {
    pub(crate) fn new(
        shape: BootstrapShape,
        transform: Transform,
        pipeline: Box<dyn Pipeline>,
    ) -> Self {
        Self { shape, transform, pipeline, memory: Arc::default() }
    }

    /// Over the memory of `self`, with a pipeline of its own.
    pub(crate) fn beside(
        &self,
        shape: BootstrapShape,
        transform: Transform,
        pipeline: Box<dyn Pipeline>,
    ) -> Self {
        Self { shape, transform, pipeline, memory: Arc::clone(&self.memory) }
    }

    /// The key switch of this engine, where it stands last.
    pub(crate) fn switcher(&self) -> Option<Arc<KeySwitcher>> {
        self.pipeline.switcher()
    }

    // A panic while the lock is held leaves words of a store that hold no invariant:
    // reading on is sound.
    fn read_memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_memory(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs of one task: as many as share well, but no fewer tasks than threads.
    fn jobs_per_task(&self, jobs: usize) -> usize {
        let group = self.pipeline.group();
        let even = jobs.div_ceil(girih_backend::parallel::current_num_threads());
        let most = MAX_JOBS_PER_TASK.next_multiple_of(group);
        if even >= most { most } else { even.max(1) }
    }
}

impl BootstrapDevice for CpuEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn report(&self) -> PlanReport {
        self.pipeline.describe().with("threads", girih_backend::parallel::current_num_threads())
    }

    /// Each thread has a job of its own.
    fn pipelining(&self) -> Pipelining {
        Pipelining { wave: girih_backend::parallel::current_num_threads(), ..Pipelining::default() }
    }

    fn grow(&self, _: usize, to: usize) -> Result<()> {
        let mut memory = self.write_memory();
        let words = to * self.shape.ciphertext_len();
        let more = words - memory.store.len();
        let refuse = |_| out_of_memory(4 * words, format!("{to} ciphertexts"));
        memory.store.try_reserve_exact(more).map_err(refuse)?;
        memory.store.resize(words, 0);
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        let len = self.shape.ciphertext_len();
        self.write_memory().store[first * len..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        at_once(move || {
            let len = self.shape.ciphertext_len();
            words.copy_from_slice(&self.read_memory().store[first * len..][..words.len()]);
            Ok(())
        })
    }

    fn add_tables(&self, _: usize, polynomials: &[u64]) -> Result<()> {
        let tables = &mut self.write_memory().tables;
        let bytes = 8 * (tables.len() + polynomials.len());
        let refuse = |_| out_of_memory(bytes, "test polynomials");
        tables.try_reserve(polynomials.len()).map_err(refuse)?;
        tables.extend_from_slice(polynomials);
        Ok(())
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()> {
        self.write_memory().tables[first * self.shape.polynomial_size..][..polynomials.len()]
            .copy_from_slice(polynomials);
        Ok(())
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        let len = self.shape.ciphertext_len();
        // Each task locks for itself. A thread of rayon that held the lock while it waits for tasks
        // could take up one of the caller's, which writes. Places that jobs name are the caller's,
        // so others change nothing that is read here.
        let run = |jobs: &[BootstrapJob]| self.pipeline.bootstrap(&self.read_memory(), jobs);
        let tasks = jobs.par_chunks(self.jobs_per_task(jobs.len()));
        let results = tasks.map(run).collect::<Vec<_>>().concat();
        let mut memory = self.write_memory();
        let outputs = jobs.iter().flat_map(BootstrapJob::outputs);
        for (output, words) in outputs.zip(results.chunks_exact(len)) {
            memory.store[output as usize * len..][..len].copy_from_slice(words);
        }
        Ok(())
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        let len = self.shape.ciphertext_len();
        let mut memory = self.write_memory();
        let mut words = vec![0; len];
        for job in jobs {
            // Jobs are independent, so each may write before the next reads.
            self.pipeline.combine(&memory, job, &mut words);
            memory.store[job.output as usize * len..][..len].copy_from_slice(&words);
        }
        Ok(())
    }

    fn synchronize(&self) -> Waiting<'_, Result<()>> {
        at_once(|| Ok(()))
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        self.pipeline.trace(&self.read_memory(), job, stages)
    }
}
