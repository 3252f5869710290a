//! The CPU as an [`Engine`]: a store, test polynomials, and lists of jobs spread over threads.

use crate::blind_rotate::{decompose, initialise};
use crate::combine::{combine, rescale};
use crate::key_switch::{KeySwitcher, switch_to_output};
use crate::rotator::{BlindRotator, RotateInput};
use crate::sample_extract::{sample_extract, switch_to_ks};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Engine, KeyModulus, LinearJob, Stage, StageOutput, Transform, validate_jobs,
    validate_linear_jobs, validate_tables,
};
use rayon::prelude::*;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Ciphertexts that share one pass over the key-switching table: enough to reuse a block of it while it is in
/// cache, few enough that their sums stay there too.
const MAX_JOBS_PER_TASK: usize = 32;

#[derive(Default)]
struct Memory {
    /// `[ciphertext][n + r]`.
    store: Vec<u32>,
    /// `[table][N]`.
    tables: Vec<u64>,
}

pub(crate) struct CpuEngine {
    shape: BootstrapShape,
    transform: Transform,
    rotator: Box<dyn BlindRotator>,
    switcher: KeySwitcher,
    /// Accumulator modulus Q.
    modulus: u64,
    memory: RwLock<Memory>,
}

impl CpuEngine {
    pub(crate) fn new(shape: BootstrapShape, transform: Transform, rotator: Box<dyn BlindRotator>, switcher: KeySwitcher) -> Self {
        // Only the native torus has no modulus that fits a word, and this device does not load it.
        let modulus = shape.accumulator_modulus().unwrap_or(u64::MAX);
        Self { shape, transform, rotator, switcher, modulus, memory: RwLock::default() }
    }

    // A panic while the lock is held leaves words of a store that hold no invariant: reading on is sound.
    fn read_memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_memory(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_words(&self, first: usize, words: usize, stored: usize) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        if !words.is_multiple_of(len) {
            return Err(BackendError::InvalidRequest(format!(
                "{words} words are not a whole number of ciphertexts of n + r = {len} words"
            )));
        }
        if first + words / len > stored {
            return Err(BackendError::InvalidRequest(format!(
                "ciphertexts {first}..{} are outside the store of {stored}; reserve them first",
                first + words / len
            )));
        }
        Ok(())
    }

    /// Combined ciphertext scaled to exponents of X.
    fn exponents(&self, store: &[u32], job: &BootstrapJob) -> Vec<u32> {
        let mut words = vec![0; self.shape.ciphertext_len()];
        combine(store, &job.input, self.shape.packing, &mut words);
        let log2_factor = self.shape.log2_monomials() - job.input.log2_modulus;
        words.iter_mut().for_each(|w| *w <<= log2_factor);
        words
    }

    fn tables<'a>(&self, tables: &'a [u64], job: &BootstrapJob) -> Vec<&'a [u64]> {
        let size = self.shape.polynomial_size;
        (0..self.shape.packing).map(|j| &tables[(job.table as usize + j * job.table_stride as usize) * size..][..size]).collect()
    }

    /// Steps 1 to 4 for a few jobs: `[job][kN + r]` modulo Q.
    fn rotate_and_extract(&self, memory: &Memory, jobs: &[BootstrapJob], extracted: &mut [u64]) {
        let exponents: Vec<Vec<u32>> = jobs.iter().map(|job| self.exponents(&memory.store, job)).collect();
        let inputs: Vec<RotateInput<'_>> =
            jobs.iter().zip(&exponents).map(|(job, e)| RotateInput { exponents: e, tables: self.tables(&memory.tables, job) }).collect();
        let len = self.shape.columns() * self.shape.polynomial_size;
        let mut accumulators = vec![0; jobs.len() * len];
        self.rotator.blind_rotate(&inputs, self.shape.lwe_dimension, &mut accumulators);
        let out_len = self.shape.ks_indices() + self.shape.packing;
        for ((job, accumulator), out) in jobs.iter().zip(accumulators.chunks_exact(len)).zip(extracted.chunks_exact_mut(out_len)) {
            sample_extract(&self.shape, accumulator, self.modulus, job.output_offset, out);
        }
    }

    /// Whole bootstrappings of a few jobs: `[job][n + r]`.
    fn bootstrap_task(&self, memory: &Memory, jobs: &[BootstrapJob]) -> Vec<u32> {
        let in_len = self.shape.ks_indices() + self.shape.packing;
        let len = self.shape.ciphertext_len();
        let mut extracted = vec![0u64; jobs.len() * in_len];
        let group = self.rotator.group();
        for (jobs, out) in jobs.chunks(group).zip(extracted.chunks_mut(group * in_len)) {
            self.rotate_and_extract(memory, jobs, out);
        }
        switch_to_ks(&mut extracted, self.modulus, self.shape.log2_ks_modulus);
        let mut switched = vec![0u64; jobs.len() * len];
        self.switcher.key_switch(&extracted, &mut switched);
        let mut output = vec![0u32; jobs.len() * len];
        for ((job, words), out) in jobs.iter().zip(switched.chunks_exact(len)).zip(output.chunks_exact_mut(len)) {
            switch_to_output(words, self.shape.log2_ks_modulus, job.log2_output_modulus, out);
        }
        output
    }

    /// Jobs of one task: as many as share well, but no fewer tasks than threads.
    fn jobs_per_task(&self, jobs: usize) -> usize {
        let group = self.rotator.group();
        let even = jobs.div_ceil(rayon::current_num_threads());
        let most = MAX_JOBS_PER_TASK.next_multiple_of(group);
        if even >= most { most } else { even.max(1) }
    }

    fn trace_stage(&self, run: &TraceRun<'_>, stage: Stage) -> Result<StageOutput, BackendError> {
        let widen = |words: &[u32]| words.iter().map(|&w| u64::from(w)).collect::<Vec<u64>>();
        let accumulator = |steps| run.accumulator(self, steps);
        let extracted = || {
            let mut out = vec![0; self.shape.ks_indices() + self.shape.packing];
            sample_extract(&self.shape, &accumulator(self.shape.lwe_dimension)?, self.modulus, run.job.output_offset, &mut out);
            Ok::<_, BackendError>(out)
        };
        let switched = || {
            let mut words = extracted()?;
            switch_to_ks(&mut words, self.modulus, self.shape.log2_ks_modulus);
            Ok::<_, BackendError>(words)
        };
        let key_switched = || {
            let mut out = vec![0; self.shape.ciphertext_len()];
            self.switcher.key_switch(&switched()?, &mut out);
            Ok::<_, BackendError>(out)
        };
        Ok(match stage {
            Stage::Combined => widen(&run.combined),
            Stage::AccumulatorInitial => accumulator(0)?,
            Stage::Accumulator { steps } => accumulator(steps)?,
            Stage::Digits { step } => self.digit_residues(&accumulator(step)?),
            Stage::Transformed { step } | Stage::Products { step } => {
                let exponent = *run.exponents[..self.shape.lwe_dimension]
                    .get(step)
                    .ok_or_else(|| BackendError::InvalidRequest(format!("step {step} is not below n = {}", self.shape.lwe_dimension)))?;
                let trace = self.rotator.trace_step(step, exponent, &accumulator(step)?).ok_or_else(|| BackendError::Unsupported {
                    device: "cpu".into(),
                    what: format!("a trace of {stage:?} with {}", self.transform),
                    why: "only the integer transform has this stage; load the keys with it".into(),
                })?;
                widen(if matches!(stage, Stage::Products { .. }) { &trace.products } else { &trace.transformed })
            }
            Stage::Extracted => extracted()?,
            Stage::SwitchedToKs => switched()?,
            Stage::KeySwitched => key_switched()?,
            Stage::Output => {
                let mut out = vec![0; self.shape.ciphertext_len()];
                switch_to_output(&key_switched()?, self.shape.log2_ks_modulus, run.job.log2_output_modulus, &mut out);
                widen(&out)
            }
        })
    }

    /// Signed digits as residues modulo the key modulus.
    fn digit_residues(&self, accumulator: &[u64]) -> Vec<u64> {
        let key_modulus = match &self.shape.key_modulus {
            KeyModulus::Words(words) => words.iter().map(|&w| i64::from(w)).product::<i64>(),
            KeyModulus::Torus64 => i64::MAX,
        };
        decompose(&self.shape, self.modulus, accumulator).iter().map(|&d| i64::from(d).rem_euclid(key_modulus) as u64).collect()
    }
}

/// One job being traced.
struct TraceRun<'a> {
    job: &'a BootstrapJob,
    combined: Vec<u32>,
    exponents: Vec<u32>,
    tables: Vec<&'a [u64]>,
}

impl TraceRun<'_> {
    fn accumulator(&self, engine: &CpuEngine, steps: usize) -> Result<Vec<u64>, BackendError> {
        let n = engine.shape.lwe_dimension;
        if steps > n {
            return Err(BackendError::InvalidRequest(format!("{steps} steps are more than n = {n}")));
        }
        let mut out = vec![0; engine.shape.columns() * engine.shape.polynomial_size];
        let input = RotateInput { exponents: &self.exponents, tables: self.tables.clone() };
        if steps == 0 {
            initialise(&engine.shape, engine.modulus, &input, &mut out);
        } else {
            engine.rotator.blind_rotate(&[input], steps, &mut out);
        }
        Ok(out)
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
        let mut plan = self.rotator.describe();
        plan["threads"] = rayon::current_num_threads().into();
        plan["key_switching_table_bytes"] = self.switcher.bytes().into();
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
        self.check_words(first, words.len(), memory.store.len() / len)?;
        memory.store[first * len..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    fn read(&self, first: usize, words: &mut [u32]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let memory = self.read_memory();
        self.check_words(first, words.len(), memory.store.len() / len)?;
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

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        let len = self.shape.ciphertext_len();
        let outputs = {
            let memory = self.read_memory();
            validate_jobs(&self.shape, memory.store.len() / len, memory.tables.len() / self.shape.polynomial_size, jobs)?;
            let tasks = jobs.par_chunks(self.jobs_per_task(jobs.len()));
            tasks.map(|jobs| self.bootstrap_task(&memory, jobs)).collect::<Vec<_>>().concat()
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
        validate_linear_jobs(memory.store.len() / len, jobs)?;
        let mut words = vec![0; len];
        for job in jobs {
            // Jobs are independent, so each may write before the next reads.
            combine(&memory.store, &job.input, self.shape.packing, &mut words);
            rescale(&mut words, job.input.log2_modulus, job.log2_output_modulus);
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
        let mut combined = vec![0; self.shape.ciphertext_len()];
        combine(&memory.store, &job.input, self.shape.packing, &mut combined);
        let run = TraceRun { job, combined, exponents: self.exponents(&memory.store, job), tables: self.tables(&memory.tables, job) };
        stages.iter().map(|&stage| self.trace_stage(&run, stage)).collect()
    }
}
