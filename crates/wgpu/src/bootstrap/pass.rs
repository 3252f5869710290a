//! Bootstrappings of one chunk of jobs as dispatches, and the buffers they work in.

use crate::bootstrap::job::{GpuJob, GpuLaunch, Script, has_second};
use crate::bootstrap::keys::Segment;
use crate::bootstrap::loaded::{Kernels, Loaded};
use crate::bootstrap::store::Store;
use crate::bootstrap::variant::FINISH_THREADS;
use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use crate::runtime::script::Dispatch;
use girih_backend::{BootstrapJob, Result};

/// Most workgroups of one dimension of a dispatch, below WebGPU's 65,535.
pub(crate) const CHUNK_JOBS: usize = 32_768;
/// Bytes that one chunk of a batch may take in each of its buffers.
pub(crate) const CHUNK_BYTES: u64 = 256 << 20;

/// The size, `most` at most, of the fewest parts of `count` that are alike; 1 of none.
fn even(count: usize, most: usize) -> usize {
    count.div_ceil(count.div_ceil(most).max(1)).max(1)
}

/// Buffers that chunks of jobs work in, kept from chunk to chunk and grown as chunks need them.
#[derive(Default)]
pub(crate) struct Workspace {
    gathered: Option<wgpu::Buffer>,
    switched: Option<wgpu::Buffer>,
    scratch: Option<wgpu::Buffer>,
    partial: Option<wgpu::Buffer>,
}

/// The buffers of one chunk.
pub(crate) struct Work {
    /// Combinations of jobs whose operands lie in several segments of the store (native torus: of
    /// all), then their results.
    pub gathered: wgpu::Buffer,
    /// Extracted ciphertexts modulo Q_ks; native torus: switched ones as exponents.
    pub switched: wgpu::Buffer,
    /// Parked accumulators, and what a trace writes down.
    pub scratch: wgpu::Buffer,
    /// Parts of key-switching sums, and a trace's.
    pub partial: wgpu::Buffer,
}

/// 32-bit words that a chunk needs in each buffer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Words {
    pub gathered: usize,
    pub switched: usize,
    pub scratch: usize,
    pub partial: usize,
}

impl Words {
    fn largest(self) -> usize {
        self.gathered.max(self.switched).max(self.scratch).max(self.partial)
    }
}

impl Workspace {
    pub fn work(&mut self, gpu: &Gpu, words: Words) -> Result<Work> {
        let buffer = |slot: &mut Option<wgpu::Buffer>, words: usize, what: &str| {
            gpu.at_least(slot, 4 * words as u64, STORAGE, what).cloned()
        };
        Ok(Work {
            gathered: buffer(&mut self.gathered, words.gathered, "gathered ciphertexts")?,
            switched: buffer(&mut self.switched, words.switched, "extracted ciphertexts")?,
            scratch: buffer(&mut self.scratch, words.scratch, "parked accumulators")?,
            partial: buffer(&mut self.partial, words.partial, "parts of key-switching sums")?,
        })
    }
}

/// One chunk: which jobs, in which buffers, how far.
pub(crate) struct Pass<'a> {
    pub kernels: &'a Kernels,
    pub store: &'a Store,
    pub tables: &'a wgpu::Buffer,
    pub work: &'a Work,
    pub jobs: &'a [BootstrapJob],
    /// Where the result of each job goes, one after the other, if not to its place in the store.
    pub results: Option<&'a wgpu::Buffer>,
    /// Steps to run; below n the accumulator is parked and nothing is switched.
    pub steps: usize,
    /// The step whose insides are written down, or [`NO_STEP`].
    pub trace_step: usize,
}

/// No step is traced.
pub(crate) const NO_STEP: usize = u32::MAX as usize;

impl Loaded {
    /// The step ranges (key segment, first, last) of a blind rotation up to `steps`: cut at key
    /// segments and at the plan's steps a launch.
    pub(crate) fn ranges(&self, steps: usize) -> Vec<(usize, usize, usize)> {
        let mut ranges = Vec::new();
        for (at, segment) in self.key.iter().enumerate() {
            let end = segment.last.min(steps);
            let mut first = segment.first;
            while first < end {
                let last = end.min(first + self.plan.tile.steps_per_launch);
                ranges.push((at, first, last));
                first = last;
            }
        }
        // A trace of no steps still initialises and parks.
        if ranges.is_empty() { vec![(0, 0, 0)] } else { ranges }
    }

    /// Words of one ciphertext's key-switching sums.
    pub(crate) fn partial_words(&self) -> usize {
        self.plan.shape.switched_len() * self.plan.ks_words()
    }

    /// Words of one ciphertext's parked accumulator.
    pub(crate) fn parked_words(&self) -> usize {
        self.plan.shape.columns() * self.plan.accumulator_words() * self.plan.shape.polynomial_size
    }

    /// Parts of the key switch of each of `jobs` ciphertexts; 0 where it is not divided at all.
    pub(crate) fn key_switch_parts(&self, jobs: usize) -> usize {
        let one = 4 * jobs as u64 * self.partial_words() as u64;
        // No more than one binding can hold the sums of.
        let most = (self.gpu.binding_bytes() / one).max(1) as usize;
        let parts = self.plan.key_switch_parts(jobs).min(most);
        // The torus always finishes by a kernel of its own.
        let whole = parts == 1 && self.table.len() == 1 && !self.plan.shape.is_torus();
        if whole { 0 } else { parts }
    }

    /// What `jobs` at once need, which have so many `results` and a store of `segments`.
    pub(crate) fn words(&self, jobs: usize, results: usize, segments: usize) -> Words {
        let (plan, shape) = (&self.plan, &self.plan.shape);
        let parked = self.ranges(shape.steps()).len() > 1;
        let gathers = segments > 1 || shape.is_torus();
        let switched = if shape.is_torus() {
            shape.switched_len()
        } else {
            shape.extracted_len() * plan.ks_words()
        };
        Words {
            gathered: if gathers { results * shape.ciphertext_len() } else { 0 },
            switched: jobs * switched,
            scratch: if parked { jobs * self.parked_words() } else { 0 },
            partial: jobs * self.key_switch_parts(jobs) * self.partial_words(),
        }
    }

    /// The most jobs that one chunk takes, each with so many results: as many as bounded buffers
    /// hold.
    pub(crate) fn chunk_jobs(&self, results: usize, segments: usize) -> usize {
        // Of so many jobs no ciphertext is divided but where the table is.
        let words = self.words(CHUNK_JOBS, CHUNK_JOBS * results, segments);
        let each = words.largest().div_ceil(CHUNK_JOBS);
        ((CHUNK_BYTES.min(self.gpu.binding_bytes()) / (4 * each as u64)) as usize)
            .clamp(1, CHUNK_JOBS)
    }

    /// Chunks of `jobs`, alike in size: a chunk of the few that would be left over still has all
    /// steps of a rotation.
    pub(crate) fn chunks<'a>(
        &self,
        jobs: &'a [BootstrapJob],
        segments: usize,
    ) -> impl Iterator<Item = &'a [BootstrapJob]> {
        let results = if has_second(jobs) { 2 } else { 1 };
        jobs.chunks(even(jobs.len(), self.chunk_jobs(results, segments)))
    }

    /// Adds the dispatches of one chunk.
    pub(crate) fn push_bootstrap<'a>(
        &'a self,
        script: &mut Script<'a>,
        pass: &Pass<'a>,
    ) -> Result<()> {
        let (work, whole) = (pass.work, pass.store.whole());
        let torus = self.plan.shape.is_torus();
        if whole.is_none() || torus {
            pass.store.gather(
                script,
                &self.combine,
                pass.jobs.iter().map(|j| &j.input),
                &work.gathered,
            );
        }
        let base = GpuLaunch {
            trace_step: pass.trace_step as u32,
            first_job: script.jobs.len() as u32,
            jobs: pass.jobs.len() as u32,
            ..Default::default()
        };
        // Behind all first results.
        let mut seconds = pass.jobs.len() as u32..;
        script.jobs.extend((0..).zip(pass.jobs).map(|(place, job)| {
            let second = job.second.and_then(|_| seconds.next());
            let job = self.gpu_job(job);
            match (whole, pass.results) {
                (None, _) => job.at(place, second.unwrap_or(0)),
                (Some(_), Some(_)) => GpuJob { output: place, ..job },
                (Some(_), None) => job,
            }
        }));
        let inputs = whole.unwrap_or(&work.gathered);
        let results = pass.results.unwrap_or(inputs);
        if torus {
            self.push_key_switch_torus(script, pass, base);
        }
        let kernel = self.rotation(pass.kernels, pass.jobs)?;
        let (input, result) = self.rotation_ends(inputs, work, results);
        let bound = [input, pass.tables, result];
        self.push_blind_rotate(script, kernel, bound, work, pass.steps, base);
        if pass.steps < self.plan.shape.steps() {
            return Ok(());
        }
        if !torus {
            self.push_key_switch(script, pass, results, base);
        }
        if whole.is_none() && pass.results.is_none() {
            let seconds = pass.jobs.iter().filter_map(|j| Some((j, j.second?.output)));
            let outputs = pass.jobs.iter().map(|j| (j, j.output)).chain(seconds);
            let outputs = outputs.map(|(j, at)| (j.log2_output_modulus, j.log2_output_modulus, at));
            pass.store.scatter(script, &self.combine, outputs, &work.gathered);
        }
        Ok(())
    }

    /// What a rotation reads and what it writes: `inputs` and extracted ciphertexts, or, on the
    /// native torus, exponents and `results`.
    pub(crate) fn rotation_ends<'a>(
        &self,
        inputs: &'a wgpu::Buffer,
        work: &'a Work,
        results: &'a wgpu::Buffer,
    ) -> (&'a wgpu::Buffer, &'a wgpu::Buffer) {
        if self.plan.shape.is_torus() {
            (&work.switched, results)
        } else {
            (inputs, &work.switched)
        }
    }

    /// Adds the dispatches that rotate `base.jobs` ciphertexts by `steps` steps; `bound` are what
    /// they read, the tables, and what they write.
    pub(crate) fn push_blind_rotate<'a>(
        &'a self,
        script: &mut Script<'a>,
        kernel: &'a Pipeline,
        bound: [&'a wgpu::Buffer; 3],
        work: &'a Work,
        steps: usize,
        base: GpuLaunch,
    ) {
        for (segment, first, last) in self.ranges(steps) {
            let key = &self.key[segment];
            script.dispatches.push(Dispatch {
                kernel,
                buffers: vec![
                    bound[0],
                    bound[1],
                    &key.buffer,
                    &self.roots,
                    bound[2],
                    &work.scratch,
                ],
                launch: GpuLaunch {
                    first_step: first as u32,
                    last_step: last as u32,
                    first_block: key.first as u32,
                    ..base
                },
                groups: [base.jobs as usize, 1, 1],
            });
        }
    }

    /// Key switch and last mod switch: one dispatch, or, where tables or ciphertexts are divided,
    /// one a segment of the table and one that finishes the sums.
    fn push_key_switch<'a>(
        &'a self,
        script: &mut Script<'a>,
        pass: &Pass<'a>,
        results: &'a wgpu::Buffer,
        base: GpuLaunch,
    ) {
        let (work, jobs) = (pass.work, pass.jobs.len());
        let parts = self.key_switch_parts(jobs);
        let groups = parts.max(1);
        for (at, segment) in self.table.iter().enumerate() {
            script.dispatches.push(Dispatch {
                kernel: &pass.kernels.key_switch,
                buffers: vec![results, &work.switched, &work.partial, &segment.buffer],
                launch: GpuLaunch {
                    parts: parts as u32,
                    ..key_switch_launch(base, segment, at, groups)
                },
                groups: [jobs, self.plan.key_switch_column_groups(), groups],
            });
        }
        if parts > 0 {
            script.dispatches.push(Dispatch {
                kernel: &pass.kernels.key_switch_finish,
                buffers: vec![results, &work.switched, &work.partial],
                launch: GpuLaunch { parts: parts as u32, ..base },
                groups: [jobs, self.plan.shape.ciphertext_len().div_ceil(FINISH_THREADS), 1],
            });
        }
    }
}

/// The launch that adds up segment `at` of a key-switching key, its steps in `parts` shares.
pub(crate) fn key_switch_launch(
    base: GpuLaunch,
    segment: &Segment,
    at: usize,
    parts: usize,
) -> GpuLaunch {
    GpuLaunch {
        first_step: segment.first as u32,
        last_step: segment.last as u32,
        first_block: segment.first as u32,
        parts: parts as u32,
        share: (segment.last - segment.first).div_ceil(parts) as u32,
        add: u32::from(at > 0),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::even;

    #[test]
    fn chunks_are_alike() {
        // No chunk of 8 behind one of 16,376.
        assert_eq!(even(16_384, 16_376), 8_192);
        assert_eq!([even(0, 5), even(5, 5), even(6, 5), even(11, 5), even(3, 1)], [1, 5, 3, 4, 1]);
        for (count, most) in (1..60).flat_map(|count| (1..20).map(move |most| (count, most))) {
            let size = even(count, most);
            assert!(size <= most && count.div_ceil(size) == count.div_ceil(most), "{count} {most}");
        }
    }
}
