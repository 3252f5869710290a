//! Bootstrappings on the native torus: switch keys, round to 2N, rotate, extract.

use crate::bootstrap::combine::{combine_torus, to_halves};
use crate::bootstrap::key_switch_torus::TorusKeySwitcher;
use crate::bootstrap::pipeline::{Memory, Pipeline};
use crate::bootstrap::rotator::{BlindRotator, RotateInput};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Gadget, LinearJob, PlanReport, Result, SecretKind,
    Stage, StageOutput,
};
use girih_ring::gadget::closest_representative_digits;

/// Combine, switch keys, round to 2N, blind rotate, extract;
/// stored ciphertexts are under the GLWE secret.
pub(crate) struct SwitchFirst {
    shape: BootstrapShape,
    rotator: Box<dyn BlindRotator>,
    switcher: TorusKeySwitcher,
}

impl SwitchFirst {
    pub(crate) fn new(
        shape: BootstrapShape,
        rotator: Box<dyn BlindRotator>,
        switcher: TorusKeySwitcher,
    ) -> Self {
        Self { shape, rotator, switcher }
    }

    /// `[job][kN + r]` modulo 2^64.
    fn combined(&self, memory: &Memory, jobs: &[BootstrapJob]) -> Vec<u64> {
        let len = self.shape.extracted_len();
        let mut combined = vec![0; jobs.len() * len];
        for (job, out) in jobs.iter().zip(combined.chunks_exact_mut(len)) {
            combine_torus(&memory.store, &job.input, self.shape.packing, out);
        }
        combined
    }

    /// `[job][n + r]` modulo 2^64.
    fn switched(&self, combined: &[u64]) -> Vec<u64> {
        let mut switched =
            vec![0; combined.len() / self.shape.extracted_len() * self.shape.switched_len()];
        self.switcher.key_switch(combined, &mut switched);
        switched
    }

    /// `[job][n + r]` words modulo 2^64 rounded to exponents modulo 2N, half up.
    ///
    /// Rounding moves the phase by `sum e_i s_i`, `e_i` the error of mask word i. Binary secrets
    /// have mean 1/2, so half of `sum e_i` is known: adding it to the bodies first leaves `sum e_i
    /// (s_i - 1/2)`, of half the variance.
    fn exponents(&self, switched: &[u64]) -> Vec<u32> {
        let shift = 64 - self.shape.log2_monomials();
        let round = |word: u64| {
            (word.wrapping_add(1 << (shift - 1)) >> shift) as u32
                & ((1 << self.shape.log2_monomials()) - 1)
        };
        let mut exponents = Vec::with_capacity(switched.len());
        for words in switched.chunks_exact(self.shape.switched_len()) {
            let (masks, bodies) = words.split_at(self.shape.lwe_dimension);
            exponents.extend(masks.iter().map(|&a| round(a)));
            let half_error =
                |&a: &u64| ((u64::from(round(a)) << shift).wrapping_sub(a) as i64 >> 1) as u64;
            let known = match self.shape.secret {
                SecretKind::Binary => masks.iter().map(half_error).fold(0, u64::wrapping_add),
                SecretKind::Ternary => 0,
            };
            exponents.extend(bodies.iter().map(|b| round(b.wrapping_add(known))));
        }
        exponents
    }

    /// Accumulators after `steps` steps, `[job][K][N]` modulo 2^64.
    fn rotated(
        &self,
        memory: &Memory,
        jobs: &[BootstrapJob],
        switched: &[u64],
        steps: usize,
    ) -> Vec<u64> {
        let exponents = self.exponents(switched);
        let inputs: Vec<RotateInput<'_>> = jobs
            .iter()
            .zip(exponents.chunks_exact(self.shape.switched_len()))
            .map(|(job, exponents)| RotateInput {
                exponents,
                tables: memory.tables_of(&self.shape, job),
            })
            .collect();
        let len = self.shape.columns() * self.shape.polynomial_size;
        let mut accumulators = vec![0; jobs.len() * len];
        let group = self.rotator.group();
        for (inputs, out) in inputs.chunks(group).zip(accumulators.chunks_mut(group * len)) {
            self.rotator.blind_rotate(inputs, steps, out);
        }
        accumulators
    }

    /// Coefficient `which` of one accumulator as a ciphertext, `[kN + r]`:
    /// `(a_which, .., a_0, -a_{N-1}, .., -a_{which+1})` of each mask.
    fn extracted(&self, accumulator: &[u64], which: usize, offset: u64) -> Vec<u64> {
        let (size, k) = (self.shape.polynomial_size, self.shape.glwe_dimension);
        let mut out = vec![0u64; self.shape.extracted_len()];
        for (mask, o) in accumulator.chunks_exact(size).zip(out.chunks_exact_mut(size)).take(k) {
            let (kept, negated) = mask.split_at(which + 1);
            let kept = kept.iter().rev().copied();
            let negated = negated.iter().rev().map(|a| a.wrapping_neg());
            o.iter_mut().zip(kept.chain(negated)).for_each(|(o, a)| *o = a);
        }
        for j in 0..self.shape.packing {
            out[k * size + j] = accumulator[(k + j) * size + which].wrapping_add(offset);
        }
        out
    }

    /// The results of one job, one or two ciphertexts, as they are stored.
    fn results(&self, job: &BootstrapJob, accumulator: &[u64]) -> Vec<u32> {
        let len = self.shape.ciphertext_len();
        let second = job.second.map(|second| (second.coefficient, second.output_offset));
        std::iter::once((0, job.output_offset))
            .chain(second)
            .flat_map(|(which, offset)| {
                let mut words = vec![0; len];
                to_halves(&self.extracted(accumulator, which as usize, offset), &mut words);
                words
            })
            .collect()
    }

    /// `[level][K][N]` as residues modulo 2^64.
    fn digits(&self, accumulator: &[u64]) -> Vec<u64> {
        let Gadget::ClosestRepresentative { log2_base, levels } = self.shape.gadget else {
            unreachable!("the torus has one gadget")
        };
        let (len, mut one) = (accumulator.len(), vec![0; levels]);
        let mut out = vec![0; levels * len];
        for (i, &x) in accumulator.iter().enumerate() {
            closest_representative_digits(x, log2_base, &mut one);
            one.iter()
                .enumerate()
                .for_each(|(level, &d)| out[level * len + i] = i64::from(d) as u64);
        }
        out
    }

    fn trace_stage(
        &self,
        memory: &Memory,
        job: &BootstrapJob,
        stage: Stage,
    ) -> Result<StageOutput> {
        let jobs = std::slice::from_ref(job);
        let combined = self.combined(memory, jobs);
        let switched = self.switched(&combined);
        let accumulator = |steps: usize| {
            let all = self.shape.steps();
            if steps > all {
                return Err(BackendError::InvalidRequest(format!(
                    "{steps} steps are more than the {all} of a rotation"
                )));
            }
            Ok(self.rotated(memory, jobs, &switched, steps))
        };
        let unsupported = |why: &str| BackendError::Unsupported {
            device: "cpu".into(),
            what: format!("a trace of {stage:?} on the native torus"),
            why: why.into(),
        };
        match stage {
            Stage::Combined => Ok(combined),
            Stage::KeySwitched => Ok(switched),
            Stage::AccumulatorInitial => accumulator(0),
            Stage::Accumulator { steps } => accumulator(steps),
            Stage::Digits { step } => Ok(self.digits(&accumulator(step)?)),
            Stage::Extracted | Stage::Output => {
                Ok(self.extracted(&accumulator(self.shape.steps())?, 0, job.output_offset))
            }
            Stage::Transformed { step } | Stage::Products { step } => {
                let exponents = self.exponents(&switched);
                let all = self.shape.steps();
                let of_step = exponents[..self.shape.lwe_dimension]
                    .chunks_exact(self.shape.grouping)
                    .nth(step)
                    .ok_or_else(|| {
                        BackendError::InvalidRequest(format!(
                            "step {step} is not below the {all} of a rotation"
                        ))
                    })?;
                let trace = self
                    .rotator
                    .trace_step(step, of_step, &accumulator(step)?)
                    .ok_or_else(|| {
                        unsupported(
                            "only the integer transform has this stage; load the keys with it",
                        )
                    })?;
                let words = match stage {
                    Stage::Products { .. } => trace.products,
                    _ => trace.transformed,
                };
                Ok(words.into_iter().map(u64::from).collect())
            }
            Stage::SwitchedToKs => Err(unsupported("the key switch comes first there")),
            _ => Err(stage.unknown("cpu")),
        }
    }
}

impl Pipeline for SwitchFirst {
    fn group(&self) -> usize {
        self.rotator.group()
    }

    fn bootstrap(&self, memory: &Memory, jobs: &[BootstrapJob]) -> Vec<u32> {
        let switched = self.switched(&self.combined(memory, jobs));
        let accumulators = self.rotated(memory, jobs, &switched, self.shape.steps());
        let len = self.shape.columns() * self.shape.polynomial_size;
        let accumulators = accumulators.chunks_exact(len);
        jobs.iter().zip(accumulators).flat_map(|(job, a)| self.results(job, a)).collect()
    }

    fn combine(&self, memory: &Memory, job: &LinearJob, out: &mut [u32]) {
        let mut words = vec![0; self.shape.extracted_len()];
        combine_torus(&memory.store, &job.input, self.shape.packing, &mut words);
        to_halves(&words, out);
    }

    fn trace(
        &self,
        memory: &Memory,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>> {
        stages.iter().map(|&stage| self.trace_stage(memory, job, stage)).collect()
    }

    fn describe(&self) -> PlanReport {
        self.rotator.describe().with("key_switching_key_bytes", self.switcher.bytes())
    }
}
