//! Bootstrappings of sets on prime words and of modulus raising: rotate, extract, then switch keys.

use crate::bootstrap::blind_rotate::{decompose, initialise};
use crate::bootstrap::combine::{combine, rescale};
use crate::bootstrap::key_switch::{KeySwitcher, switch_to_output};
use crate::bootstrap::pipeline::{Memory, Pipeline};
use crate::bootstrap::rotator::{BlindRotator, RotateInput};
use crate::bootstrap::sample_extract::{sample_extract, switch_to_ks};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, KeyModulus, LinearJob, PlanReport, Result, Stage,
    StageOutput, Transform,
};
use std::sync::Arc;

/// Combine, blind rotate, extract, switch to Q_ks, switch keys, switch to the output modulus.
pub(crate) struct RotateFirst {
    shape: BootstrapShape,
    transform: Transform,
    rotator: Box<dyn BlindRotator>,
    switcher: Arc<KeySwitcher>,
    /// Accumulator modulus Q.
    modulus: u64,
}

impl RotateFirst {
    pub(crate) fn new(
        shape: BootstrapShape,
        modulus: u64,
        transform: Transform,
        rotator: Box<dyn BlindRotator>,
        switcher: Arc<KeySwitcher>,
    ) -> Self {
        Self { shape, transform, rotator, switcher, modulus }
    }

    /// Combined ciphertext scaled to exponents of X.
    fn exponents(&self, store: &[u32], job: &BootstrapJob) -> Vec<u32> {
        let mut words = vec![0; self.shape.ciphertext_len()];
        combine(store, &job.input, self.shape.packing, &mut words);
        let log2_factor = self.shape.log2_monomials() - job.input.log2_modulus;
        words.iter_mut().for_each(|w| *w <<= log2_factor);
        words
    }

    /// Steps 1 to 4 for a few jobs: `[job][kN + r]` modulo Q.
    fn rotate_and_extract(&self, memory: &Memory, jobs: &[BootstrapJob], extracted: &mut [u64]) {
        let exponents: Vec<Vec<u32>> =
            jobs.iter().map(|job| self.exponents(&memory.store, job)).collect();
        let inputs: Vec<RotateInput<'_>> = jobs
            .iter()
            .zip(&exponents)
            .map(|(job, e)| RotateInput {
                exponents: e,
                tables: memory.tables_of(&self.shape, job),
            })
            .collect();
        let len = self.shape.columns() * self.shape.polynomial_size;
        let mut accumulators = vec![0; jobs.len() * len];
        self.rotator.blind_rotate(&inputs, self.shape.steps(), &mut accumulators);
        let out_len = self.shape.ks_indices() + self.shape.packing;
        for ((job, accumulator), out) in
            jobs.iter().zip(accumulators.chunks_exact(len)).zip(extracted.chunks_exact_mut(out_len))
        {
            sample_extract(&self.shape, accumulator, self.modulus, job.output_offset, out);
        }
    }

    fn trace_stage(&self, run: &TraceRun<'_>, stage: Stage) -> Result<StageOutput> {
        let widen = |words: &[u32]| words.iter().map(|&w| u64::from(w)).collect::<Vec<u64>>();
        let accumulator = |steps| run.accumulator(self, steps);
        let extracted = || {
            let mut out = vec![0; self.shape.ks_indices() + self.shape.packing];
            sample_extract(
                &self.shape,
                &accumulator(self.shape.steps())?,
                self.modulus,
                run.job.output_offset,
                &mut out,
            );
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
                let exponents = run.exponents[..self.shape.lwe_dimension]
                    .chunks_exact(self.shape.grouping)
                    .nth(step)
                    .ok_or_else(|| {
                        BackendError::InvalidRequest(format!(
                            "step {step} is not below the {} of a rotation",
                            self.shape.steps()
                        ))
                    })?;
                let trace = self
                    .rotator
                    .trace_step(step, exponents, &accumulator(step)?)
                    .ok_or_else(|| BackendError::Unsupported {
                        device: "cpu".into(),
                        what: format!("a trace of {stage:?} with {}", self.transform),
                        why: "only the integer transform has this stage; load the keys with it"
                            .into(),
                    })?;
                widen(if matches!(stage, Stage::Products { .. }) {
                    &trace.products
                } else {
                    &trace.transformed
                })
            }
            Stage::Extracted => extracted()?,
            Stage::SwitchedToKs => switched()?,
            Stage::KeySwitched => key_switched()?,
            Stage::Output => {
                let mut out = vec![0; self.shape.ciphertext_len()];
                switch_to_output(
                    &key_switched()?,
                    self.shape.log2_ks_modulus,
                    run.job.log2_output_modulus,
                    &mut out,
                );
                widen(&out)
            }
            _ => return Err(stage.unknown("cpu")),
        })
    }

    /// Signed digits as residues modulo the key modulus.
    fn digit_residues(&self, accumulator: &[u64]) -> Vec<u64> {
        let key_modulus = match &self.shape.key_modulus {
            KeyModulus::Words(words) => words.iter().map(|&w| i64::from(w)).product::<i64>(),
            KeyModulus::Torus64 => i64::MAX,
        };
        decompose(&self.shape, self.modulus, accumulator)
            .iter()
            .map(|&d| i64::from(d).rem_euclid(key_modulus) as u64)
            .collect()
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
    fn accumulator(&self, engine: &RotateFirst, steps: usize) -> Result<Vec<u64>> {
        let all = engine.shape.steps();
        if steps > all {
            return Err(BackendError::InvalidRequest(format!(
                "{steps} steps are more than the {all} of a rotation"
            )));
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

impl Pipeline for RotateFirst {
    fn group(&self) -> usize {
        self.rotator.group()
    }

    fn bootstrap(&self, memory: &Memory, jobs: &[BootstrapJob]) -> Vec<u32> {
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
        for ((job, words), out) in
            jobs.iter().zip(switched.chunks_exact(len)).zip(output.chunks_exact_mut(len))
        {
            switch_to_output(words, self.shape.log2_ks_modulus, job.log2_output_modulus, out);
        }
        output
    }

    fn combine(&self, memory: &Memory, job: &LinearJob, out: &mut [u32]) {
        combine(&memory.store, &job.input, self.shape.packing, out);
        rescale(out, job.input.log2_modulus, job.log2_output_modulus);
    }

    fn trace(
        &self,
        memory: &Memory,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>> {
        let mut combined = vec![0; self.shape.ciphertext_len()];
        combine(&memory.store, &job.input, self.shape.packing, &mut combined);
        let exponents = self.exponents(&memory.store, job);
        let run = TraceRun { job, combined, exponents, tables: memory.tables_of(&self.shape, job) };
        stages.iter().map(|&stage| self.trace_stage(&run, stage)).collect()
    }

    fn switcher(&self) -> Option<Arc<KeySwitcher>> {
        Some(Arc::clone(&self.switcher))
    }

    fn describe(&self) -> PlanReport {
        self.rotator.describe().with("key_switching_table_bytes", self.switcher.bytes())
    }
}
