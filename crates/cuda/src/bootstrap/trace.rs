//! What lies between the steps of one bootstrapping: the stages of [`Stage`], read back.

use crate::bootstrap::arguments::{BlindRotateArguments, Job, Linear};
use crate::bootstrap::layout::{Geometry, TORUS_BITS};
use crate::bootstrap::memory::Memory;
use crate::bootstrap::pipeline::Pipeline;
use crate::bootstrap::queues;
use crate::bootstrap::switches::Staged;
use crate::runtime::bytes::{Plain, bytes_of_mut};
use crate::runtime::machine::{Buffer, Queue};
use girih_backend::{BackendError, BootstrapJob, LinearJob, Result, Stage, StageOutput, Transform};

// `DUMP_` constants of cuda/bootstrap/trace.cuh.
const DUMP_NONE: u32 = 0;
const DUMP_DIGITS: u32 = 1;
const DUMP_TRANSFORMED: u32 = 2;
const DUMP_PRODUCTS: u32 = 3;
const DUMP_ACCUMULATOR: u32 = 4;
const DUMP_EXTRACTED: u32 = 5;

/// The stages of one job. Everything runs in the first lane, beside nothing.
pub(crate) struct Trace<'a> {
    pipeline: &'a Pipeline,
    memory: &'a mut Memory,
    job: &'a BootstrapJob,
}

impl<'a> Trace<'a> {
    /// Stages the job, and switches keys where that comes first.
    pub fn new(
        pipeline: &'a Pipeline,
        memory: &'a mut Memory,
        job: &'a BootstrapJob,
    ) -> Result<Self> {
        let machine = pipeline.machine.as_ref();
        machine.synchronize()?;
        pipeline.stage_jobs(&mut memory.lanes[0], queues::FIRST, &[Job::from(job)])?;
        let (lane, store) = (&memory.lanes[0], memory.store.address());
        let staged = Staged { lane, jobs: 1, store, dump: 0 };
        pipeline.switch.launch_first(machine, queues::FIRST, staged)?;
        memory.lanes[0].last = Some(machine.mark(queues::FIRST)?);
        Ok(Self { pipeline, memory, job })
    }

    pub fn stage(&mut self, stage: Stage) -> Result<StageOutput> {
        let shape = &self.pipeline.shape;
        let (all, torus) = (shape.steps(), shape.is_torus());
        let accumulator_len = shape.columns() * shape.polynomial_size;
        let words = Geometry::new(shape, self.pipeline.transform).words;
        Ok(match stage {
            Stage::Combined => self.combined()?,
            Stage::AccumulatorInitial => self.accumulator(0)?,
            Stage::Accumulator { steps } if steps > all => {
                return Err(BackendError::InvalidRequest(format!(
                    "{steps} steps are more than the {all} of a rotation"
                )));
            }
            Stage::Accumulator { steps } => self.accumulator(steps)?,
            Stage::Digits { step } => {
                self.check_step(step)?;
                self.dump(step.max(1), DUMP_DIGITS, step, shape.levels() * accumulator_len)?
            }
            Stage::Transformed { step } => {
                self.integer_only(stage)?;
                self.check_step(step)?;
                let len = words * shape.levels() * accumulator_len;
                self.dump(step + 1, DUMP_TRANSFORMED, step, len)?
            }
            Stage::Products { step } => {
                self.integer_only(stage)?;
                self.check_step(step)?;
                self.dump(step + 1, DUMP_PRODUCTS, step, words * accumulator_len)?
            }
            Stage::Extracted => self.dump(all, DUMP_EXTRACTED, all, shape.extracted_len())?,
            Stage::Output if torus => self.stage(Stage::Extracted)?,
            Stage::KeySwitched if torus => self.switched_first()?,
            Stage::SwitchedToKs if torus => {
                return Err(BackendError::Unsupported {
                    device: self.pipeline.machine.id().into(),
                    what: format!("a trace of {stage:?} on the native torus"),
                    why: "the key switch comes first there: nothing is switched to Q_ks".into(),
                });
            }
            Stage::SwitchedToKs => {
                self.dump(all, DUMP_NONE, 0, 1)?;
                self.download(self.memory.lanes[0].switched.address(), shape.extracted_len())?
            }
            Stage::KeySwitched | Stage::Output => self.switched_last(stage)?,
            _ => return Err(stage.unknown(self.pipeline.machine.id())),
        })
    }

    fn combined(&mut self) -> Result<Vec<u64>> {
        let (pipeline, input) = (self.pipeline, self.job.input);
        let linear = LinearJob { input, log2_output_modulus: input.log2_modulus, output: 0 };
        let Memory { store, lanes, .. } = &mut *self.memory;
        let lane = &mut lanes[0];
        let jobs = [Linear::from(&linear)];
        pipeline.run_combine(queues::FIRST, store.address(), lane, &jobs, false)?;
        let combined = self.memory.lanes[0].combined.address();
        let words = if pipeline.shape.is_torus() {
            self.download(combined, pipeline.shape.extracted_len())?
        } else {
            self.narrow(combined)?
        };
        let lane = &mut self.memory.lanes[0];
        pipeline.stage_jobs(lane, queues::FIRST, &[Job::from(self.job)])?;
        Ok(words)
    }

    /// What a key switch before the rotation makes, before it is rounded to exponents.
    fn switched_first(&self) -> Result<Vec<u64>> {
        let Pipeline { machine, shape, switch, .. } = self.pipeline;
        let before = Buffer::new(machine, shape.switched_len() * 8, "a trace")?;
        let lane = &self.memory.lanes[0];
        let (store, dump) = (self.memory.store.address(), before.address());
        let staged = Staged { lane, jobs: 1, store, dump };
        switch.launch_first(machine.as_ref(), queues::FIRST, staged)?;
        self.download(before.address(), shape.switched_len())
    }

    /// What a key switch behind the rotation makes,
    /// before it is rounded to the output modulus or after.
    fn switched_last(&self, stage: Stage) -> Result<Vec<u64>> {
        let Pipeline { machine, shape, switch, .. } = self.pipeline;
        let (len, output) = (shape.ciphertext_len(), self.job.output as usize);
        self.dump(shape.steps(), DUMP_NONE, 0, 1)?;
        let before = Buffer::new(machine, len * 8, "a trace")?;
        // The one job writes where its output index says, in a store of its own.
        let result = Buffer::new(machine, (output + 1) * len * 4, "a trace")?;
        let lane = &self.memory.lanes[0];
        let (store, dump) = (result.address(), before.address());
        let staged = Staged { lane, jobs: 1, store, dump };
        switch.launch_last(machine.as_ref(), queues::FIRST, staged)?;
        if stage == Stage::KeySwitched {
            self.download(before.address(), len)
        } else {
            self.narrow(result.address() + (output * len * 4) as u64)
        }
    }

    /// A ciphertext of 32-bit words that `queues::FIRST` has put there.
    fn narrow(&self, from: u64) -> Result<Vec<u64>> {
        let words = self.download::<u32>(from, self.pipeline.shape.ciphertext_len())?;
        Ok(words.into_iter().map(u64::from).collect())
    }

    /// What `queues::FIRST` has put there.
    fn download<T: Plain + Default>(&self, from: u64, len: usize) -> Result<Vec<T>> {
        let machine = self.pipeline.machine.as_ref();
        let mut values = vec![T::default(); len];
        machine.wait(Queue::DOWNLOADS, machine.mark(queues::FIRST)?)?;
        machine.download(from, bytes_of_mut(&mut values))?;
        Ok(values)
    }

    /// Runs `steps` steps of the staged job and returns the `len` words that
    /// `dump_stage` wrote at `dump_step`.
    fn dump(
        &self,
        steps: usize,
        dump_stage: u32,
        dump_step: usize,
        len: usize,
    ) -> Result<Vec<u64>> {
        let Pipeline { machine, shape, rotations, .. } = self.pipeline;
        let buffer = Buffer::new(machine, len * 8, "a trace")?;
        machine.zero(queues::FIRST, buffer.address(), len * 8)?;
        let arguments = BlindRotateArguments {
            dump: buffer.address(),
            steps: steps as u32,
            dump_stage,
            dump_step: dump_step as u32,
            ..self.pipeline.rotate_arguments(self.memory, &self.memory.lanes[0], 1)
        };
        let choice = rotations.now();
        let shares = choice.shares(1);
        let rotation = shares.first().map_or(choice.first(), |&(rotation, _)| rotation);
        rotation.launch_traced(machine.as_ref(), shape, arguments)?;
        self.download(buffer.address(), len)
    }

    /// The accumulator after `steps` steps, modulo Q; of the native torus the bits that are held,
    /// at their place in 64.
    fn accumulator(&self, steps: usize) -> Result<Vec<u64>> {
        let shape = &self.pipeline.shape;
        let len = shape.columns() * shape.polynomial_size;
        let mut words = self.dump(steps, DUMP_ACCUMULATOR, steps, len)?;
        if shape.is_torus() {
            words.iter_mut().for_each(|w| *w <<= 64 - TORUS_BITS);
        }
        Ok(words)
    }

    fn check_step(&self, step: usize) -> Result<()> {
        let all = self.pipeline.shape.steps();
        if step < all {
            return Ok(());
        }
        Err(BackendError::InvalidRequest(format!(
            "step {step} is not below the {all} of a rotation"
        )))
    }

    fn integer_only(&self, stage: Stage) -> Result<()> {
        let transform = self.pipeline.transform;
        if transform == Transform::Ntt {
            return Ok(());
        }
        Err(BackendError::Unsupported {
            device: self.pipeline.machine.id().into(),
            what: format!("a trace of {stage:?} with {transform}"),
            why: "only the integer transform has this stage; load the keys with it".into(),
        })
    }
}
