//! How many ciphertexts are few: timing two variants of `blind_rotate` when keys are loaded.

use crate::bootstrap::job::{GpuJob, GpuLaunch, Script};
use crate::bootstrap::loaded::Loaded;
use crate::bootstrap::pass::{CHUNK_BYTES, NO_STEP, Words, Work, Workspace};
use crate::bootstrap::variant::Kernel;
use crate::runtime::gpu::{Pipeline, STORAGE};
use crate::runtime::script::ScriptBuffers;
use girih_backend::{Instant, Result};

/// Sizes of batch to try: below, at and above what fills GPUs of today.
const BATCHES: [usize; 4] = [32, 128, 512, 2048];
/// Steps of a trial: enough that launches do not count, few enough that loading does not wait.
const STEPS: usize = 128;
/// After trials of so many seconds no larger one is made: such a GPU is full by then.
const SECONDS: f64 = 0.1;

impl Loaded {
    /// The variant of `blind_rotate` for few ciphertexts, and up to how many it is taken; none
    /// where it never is.
    pub(crate) fn few(&self) -> Result<Option<(Pipeline, usize)>> {
        let (Some((_, most)), Some(plan)) = (self.plan.few, self.plan.few_plan()) else {
            return Ok(None);
        };
        let few = Self::pipeline(&self.gpu, Kernel::BlindRotate, &plan, &self.constant, false)?;
        let most = most.map_or_else(|| self.measure_few(&few), Ok)?;
        Ok((most > 0).then_some((few, most)))
    }

    /// Up to how many ciphertexts `few` is faster than the kernel for many; without end where it is
    /// faster for all tried.
    fn measure_few(&self, few: &Pipeline) -> Result<usize> {
        let steps = self.plan.shape.steps().min(STEPS);
        let mut most = 0;
        for batch in BATCHES {
            let words =
                Words { scratch: batch * self.parked_words(), ..self.words(batch, batch, 1) };
            if 4 * words.scratch as u64 > CHUNK_BYTES.min(self.gpu.binding_bytes())
                || batch > self.chunk_jobs(1, 1)
            {
                return Ok(most);
            }
            let work = Workspace::default().work(&self.gpu, words)?;
            let many = self.seconds(&self.kernels.blind_rotate, &work, batch, steps)?;
            if self.seconds(few, &work, batch, steps)? > many {
                return Ok(most);
            }
            most = batch;
            if many > SECONDS {
                return Ok(most);
            }
        }
        Ok(usize::MAX)
    }

    /// Seconds of the first `steps` of a blind rotation, the best of three. The time does not
    /// depend on what is rotated: zeros.
    fn seconds(&self, kernel: &Pipeline, work: &Work, batch: usize, steps: usize) -> Result<f64> {
        let buffer = |words: usize| self.gpu.buffer(4 * words as u64, STORAGE, "a measurement");
        // A combined ciphertext or, on the native torus, where results go.
        let store = buffer(self.plan.shape.ciphertext_len())?;
        let table = buffer(self.plan.shape.polynomial_size * self.plan.accumulator_words())?;
        let mut script = Script { jobs: vec![GpuJob::default(); batch], ..Default::default() };
        let launch =
            GpuLaunch { jobs: batch as u32, trace_step: NO_STEP as u32, ..Default::default() };
        let (input, result) = self.rotation_ends(&store, work, &store);
        let bound = [input, &table, result];
        self.push_blind_rotate(&mut script, kernel, bound, work, steps, launch);
        let mut buffers = ScriptBuffers::default();
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            script.submit(&self.gpu, &mut buffers, "measuring plans")?;
            self.gpu.wait("measuring plans")?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best)
    }
}
