//! The CPU as an [`Engine`]: a store, test polynomials, and lists of jobs spread over threads.

use crate::bootstrap::key_switch::KeySwitcher;
use crate::bootstrap::pipeline::{MAX_JOBS_PER_TASK, Memory, Pipeline};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Engine, LinearJob, Stage, StageOutput, Transform, validate_jobs, validate_linear_jobs,
    validate_range, validate_table_range, validate_tables,
};
use rayon::prelude::*;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) struct CpuEngine {
    shape: BootstrapShape,
    transform: Transform,
    pipeline: Box<dyn Pipeline>,
    /// Shared with engines loaded beside this one.
    memory: Arc<RwLock<Memory>>,
}

impl CpuEngine {
    pub(crate) fn new(shape: BootstrapShape, transform: Transform, pipeline: Box<dyn Pipeline>) -> Self {
        Self { shape, transform, pipeline, memory: Arc::default() }
    }

    /// Over the memory of `self`, with a pipeline of its own.
    pub(crate) fn beside(&self, shape: BootstrapShape, transform: Transform, pipeline: Box<dyn Pipeline>) -> Self {
        Self { shape, transform, pipeline, memory: Arc::clone(&self.memory) }
    }

    /// The key switch of this engine, where it stands last.
    pub(crate) fn switcher(&self) -> Option<Arc<KeySwitcher>> {
        self.pipeline.switcher()
    }

    // A panic while the lock is held leaves words of a store that hold no invariant: reading on is sound.
    fn read_memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_memory(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs of one task: as many as share well, but no fewer tasks than threads.
    fn jobs_per_task(&self, jobs: usize) -> usize {
        let group = self.pipeline.group();
        let even = jobs.div_ceil(rayon::current_num_threads());
        let most = MAX_JOBS_PER_TASK.next_multiple_of(group);
        if even >= most { most } else { even.max(1) }
    }
}

impl Engine for CpuEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn plan(&self) -> serde_json::Value {
        let mut plan = self.pipeline.describe();
        plan["threads"] = rayon::current_num_threads().into();
        plan
    }

    fn stored(&self) -> usize {
        self.read_memory().store.len() / self.shape.ciphertext_len()
    }

    fn reserve(&self, ciphertexts: usize) -> Result<(), BackendError> {
        let mut memory = self.write_memory();
        let words = ciphertexts * self.shape.ciphertext_len();
        if words > memory.store.len() {
            let more = words - memory.store.len();
            memory.store.try_reserve_exact(more).map_err(|_| BackendError::OutOfMemory {
                device: "cpu".into(),
                bytes: 4 * words as u64,
                what: format!("{ciphertexts} ciphertexts"),
            })?;
            memory.store.resize(words, 0);
        }
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let mut memory = self.write_memory();
        validate_range(&self.shape, memory.store.len() / len, first, words.len())?;
        memory.store[first * len..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    fn read(&self, first: usize, words: &mut [u32]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let memory = self.read_memory();
        validate_range(&self.shape, memory.store.len() / len, first, words.len())?;
        words.copy_from_slice(&memory.store[first * len..][..words.len()]);
        Ok(())
    }

    fn add_tables(&self, polynomials: &[u64]) -> Result<u32, BackendError> {
        let size = self.shape.polynomial_size;
        validate_tables(&self.shape, polynomials)?;
        let mut memory = self.write_memory();
        let first = memory.tables.len() / size;
        memory.tables.extend_from_slice(polynomials);
        Ok(first as u32)
    }

    fn write_tables(&self, first: u32, polynomials: &[u64]) -> Result<(), BackendError> {
        let size = self.shape.polynomial_size;
        let mut memory = self.write_memory();
        validate_table_range(&self.shape, memory.tables.len() / size, first, polynomials)?;
        memory.tables[first as usize * size..][..polynomials.len()].copy_from_slice(polynomials);
        Ok(())
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let outputs = {
            let memory = self.read_memory();
            validate_jobs(&self.shape, memory.store.len() / len, memory.tables.len() / self.shape.polynomial_size, jobs)?;
            let tasks = jobs.par_chunks(self.jobs_per_task(jobs.len()));
            tasks.map(|jobs| self.pipeline.bootstrap(&memory, jobs)).collect::<Vec<_>>().concat()
        };
        let mut memory = self.write_memory();
        for (job, words) in jobs.iter().zip(outputs.chunks_exact(len)) {
            memory.store[job.output as usize * len..][..len].copy_from_slice(words);
        }
        Ok(())
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let mut memory = self.write_memory();
        validate_linear_jobs(&self.shape, memory.store.len() / len, jobs)?;
        let mut words = vec![0; len];
        for job in jobs {
            // Jobs are independent, so each may write before the next reads.
            self.pipeline.combine(&memory, job, &mut words);
            memory.store[job.output as usize * len..][..len].copy_from_slice(&words);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>, BackendError> {
        let memory = self.read_memory();
        let stored = memory.store.len() / self.shape.ciphertext_len();
        validate_jobs(&self.shape, stored, memory.tables.len() / self.shape.polynomial_size, std::slice::from_ref(job))?;
        self.pipeline.trace(&memory, job, stages)
    }
}
