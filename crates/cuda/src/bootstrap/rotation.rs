//! Compiled plans of the rotation, and which one a batch gets.

use crate::bootstrap::arguments::{BlindRotateArguments, Job};
use crate::bootstrap::blind_rotate::{self, BLIND_ROTATE};
use crate::bootstrap::blind_rotate_spread::{self, BLIND_ROTATE_SPREAD};
use crate::bootstrap::layout::Geometry;
use crate::bootstrap::plan::{CudaPlan, Split};
use crate::bootstrap::queues;
use crate::bootstrap::source;
use crate::bootstrap::upload::kernels;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Buffer, Kernel, KernelCost, LaunchSize, Machine, Queue};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Combination, Operand, PlanReport, PlanValue,
    Preparation, Result, Transform, preparing,
};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// One compiled plan.
pub(crate) struct Rotation {
    pub plan: CudaPlan,
    pub cost: KernelCost,
    kernel: Kernel,
    /// Compiled at the first trace.
    traced: OnceLock<Kernel>,
    /// Ciphertexts that the device runs at once: a wave.
    wave: usize,
    /// How long a wave takes; measured where there is more than one variant to choose from.
    wave_seconds: f64,
    /// How long a single ciphertext takes, where it was measured.
    single_seconds: Option<f64>,
}

/// The kernel file of a split.
pub(crate) fn file(split: Split) -> KernelFile {
    match split {
        Split::Ciphertexts(_) => BLIND_ROTATE,
        Split::Blocks(_) => BLIND_ROTATE_SPREAD,
    }
}

fn size(plan: &CudaPlan, jobs: usize) -> LaunchSize {
    match plan.split {
        Split::Ciphertexts(groups) => blind_rotate::size(plan, groups, jobs),
        Split::Blocks(blocks) => blind_rotate_spread::size(plan, blocks, jobs),
    }
}

fn load(
    machine: &dyn Machine,
    shape: &BootstrapShape,
    plan: &CudaPlan,
    trace: bool,
) -> Result<(Kernel, KernelCost)> {
    let source = source::source(file(plan.split), shape, plan, trace);
    let [kernel] = kernels(machine, &source)?;
    Ok((kernel, machine.prepare(kernel, size(plan, plan.split.ciphertexts()))?))
}

impl Rotation {
    /// Compiles `plan`. A multiprocessor has as many of its blocks as fit if it is the one for
    /// `throughput`, else one block of whole ciphertexts.
    pub fn load(
        machine: &dyn Machine,
        shape: &BootstrapShape,
        plan: &CudaPlan,
        throughput: bool,
    ) -> Result<Self> {
        let (kernel, cost) = load(machine, shape, plan, false)?;
        let resident = match plan.split {
            Split::Ciphertexts(_) if !throughput => 1,
            _ => cost.resident_blocks.max(1) as usize,
        };
        let clusters = cost
            .resident_clusters
            .map_or(plan.multiprocessors * resident / plan.cluster(), |c| c as usize)
            .max(1);
        let wave = match plan.split {
            Split::Ciphertexts(groups) => clusters * plan.cluster() * groups,
            Split::Blocks(_) => clusters,
        };
        Ok(Self {
            plan: plan.clone(),
            cost,
            kernel,
            traced: OnceLock::new(),
            wave,
            wave_seconds: 1.0,
            single_seconds: None,
        })
    }

    /// Ciphertexts that the device runs at once.
    pub fn wave(&self) -> usize {
        self.wave
    }

    pub fn launch(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        arguments: BlindRotateArguments,
    ) -> Result<()> {
        machine.launch(
            queue,
            self.kernel,
            size(&self.plan, arguments.job_count as usize),
            bytes_of(&[arguments]),
        )
    }

    /// As `launch` in the first queue, by a build that writes what `arguments.dump_stage` asks for.
    pub fn launch_traced(
        &self,
        machine: &dyn Machine,
        shape: &BootstrapShape,
        arguments: BlindRotateArguments,
    ) -> Result<()> {
        let kernel = match self.traced.get() {
            Some(&kernel) => kernel,
            None => {
                let (kernel, _) = load(machine, shape, &self.plan, true)?;
                *self.traced.get_or_init(|| kernel)
            }
        };
        machine.launch(
            queues::FIRST,
            kernel,
            size(&self.plan, arguments.job_count as usize),
            bytes_of(&[arguments]),
        )
    }

    /// The source of a plan's kernel.
    pub fn source(shape: &BootstrapShape, plan: &CudaPlan) -> Source {
        source::source(file(plan.split), shape, plan, false)
    }

    /// Adds the plan and its cost to a report, under names that begin with the split unless it is
    /// the `first`.
    pub fn describe(&self, report: &mut PlanReport, first: bool) {
        let (plan, cost) = (&self.plan, &self.cost);
        let mut add = |name: &str, value: PlanValue| {
            let name = if first { name.to_owned() } else { format!("{}_{name}", plan.split) };
            report.set(name, value);
        };
        add("threads", plan.threads.into());
        add("shared_bytes", plan.shared_bytes.into());
        add("registers", (cost.registers as usize).into());
        add("local_bytes", (cost.local_bytes as usize).into());
        add("wave", self.wave.into());
        add("wave_ms", (self.wave_seconds * 1e3).into());
        add("single_ms", self.single_seconds.map(|s| s * 1e3).into());
        add("key_ring", plan.key_ring.into());
        match plan.split {
            Split::Ciphertexts(groups) => {
                add("groups", groups.into());
                add("blocks_per_multiprocessor", plan.blocks_per_multiprocessor.into());
                add("resident_blocks", (cost.resident_blocks as usize).into());
                add("pace", plan.pace.into());
                add("prefetch_steps", plan.prefetch_steps.into());
                add("packed_key", plan.packed.into());
            }
            Split::Blocks(blocks) => {
                add("blocks", blocks.into());
                add("items", plan.spread_items.into());
            }
        }
    }

    /// Predicted time of `jobs` bootstrappings: whole waves.
    fn seconds(&self, jobs: usize) -> f64 {
        jobs.div_ceil(self.wave) as f64 * self.wave_seconds
    }
}

/// The fastest variant for `jobs` bootstrappings.
pub(crate) fn choose(rotations: &[Arc<Rotation>], jobs: usize) -> &Rotation {
    // Loading made at least one.
    let first: &Rotation = &rotations[0];
    rotations[1..]
        .iter()
        .fold(first, |best, r| if r.seconds(jobs) < best.seconds(jobs) { r } else { best })
}

/// How `jobs` bootstrappings are launched: all by one variant, or whole waves of one and what is
/// left by others, whatever takes the least time one after another.
pub(crate) fn shares(rotations: &[Arc<Rotation>], jobs: usize) -> Vec<(&Rotation, usize)> {
    fastest(rotations, jobs).1
}

/// How long that is predicted to take, in seconds.
pub(crate) fn seconds(rotations: &[Arc<Rotation>], jobs: usize) -> f64 {
    fastest(rotations, jobs).0
}

fn fastest(rotations: &[Arc<Rotation>], jobs: usize) -> (f64, Vec<(&Rotation, usize)>) {
    let best = choose(rotations, jobs);
    let mut fastest = (best.seconds(jobs), vec![(best, jobs)]);
    for rotation in rotations {
        let left = jobs % rotation.wave;
        if left == 0 || left == jobs {
            continue;
        }
        let (seconds, rest) = self::fastest(rotations, left);
        let seconds = rotation.seconds(jobs - left) + seconds;
        if seconds < fastest.0 {
            fastest = (seconds, [(&**rotation, jobs - left)].into_iter().chain(rest).collect());
        }
    }
    fastest
}

/// The largest batch up to which every batch goes to splits over blocks; 0 where none does.
pub(crate) fn crossover(rotations: &[Arc<Rotation>]) -> usize {
    let most = rotations.iter().map(|r| r.wave).max().unwrap_or(0);
    let spread =
        |jobs: &usize| shares(rotations, *jobs).iter().all(|(r, _)| r.plan.split.is_spread());
    (1..=most).take_while(spread).last().unwrap_or(0)
}

/// Times one wave and one ciphertext of each variant, so that `choose` rests on this device and
/// this shape and not on a model.
pub(crate) fn measure(
    machine: &Arc<dyn Machine>,
    shape: &BootstrapShape,
    rotations: &mut [Rotation],
    arguments: BlindRotateArguments,
) -> Result<()> {
    if !machine.keeps_time() {
        // Tests look at small batches: these go to the spread variant as long as they fit one wave
        // of it.
        rotations
            .iter_mut()
            .filter(|r| !r.plan.split.is_spread())
            .for_each(|r| r.wave_seconds = 1.5);
        return Ok(());
    }
    let _tuning = preparing(Preparation::Tuning);
    let most = rotations.iter().map(|r| r.wave).max().unwrap_or(1);
    let mut state = 1u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let q = shape.log2_lwe_modulus;
    let ciphertext: Vec<u32> =
        (0..shape.ciphertext_len()).map(|_| word() & ((1 << q) - 1)).collect();
    // Small coefficients are below every Q; from the first step on the accumulator looks random.
    let bytes = Geometry::new(shape, Transform::Ntt).accumulator_bytes;
    let table: Vec<u8> = (0..shape.polynomial_size)
        .flat_map(|_| u64::from(word() & 0xff).to_le_bytes().into_iter().take(bytes))
        .collect();
    let jobs: Vec<Job> = (0..most as i32)
        .map(|i| {
            let input = Combination::new(&[Operand { ciphertext: 0, weight: 2 * i + 1 }], 0, q);
            Job::from(&BootstrapJob {
                input,
                table: 0,
                table_stride: 0,
                output_offset: 0,
                log2_output_modulus: q,
                output: 0,
                second: None,
            })
        })
        .collect();
    let what = "a wave to time";
    let store = Buffer::holding(machine, bytes_of(&ciphertext), what)?;
    let tables = Buffer::holding(machine, &table, what)?;
    let jobs_buffer = Buffer::holding(machine, bytes_of(&jobs), what)?;
    let switched = Buffer::new(machine, most * (shape.ks_indices() + shape.packing) * 8, what)?;
    // The native torus finds its exponents there.
    machine.zero(queues::FIRST, switched.address(), switched.bytes())?;
    let time = |rotation: &Rotation, jobs: usize| {
        let arguments = BlindRotateArguments {
            store: store.address(),
            tables: tables.address(),
            jobs: jobs_buffer.address(),
            switched: switched.address(),
            job_count: jobs as u32,
            ..arguments
        };
        let mut best = f64::MAX;
        // The first run warms up caches and clocks.
        for _ in 0..2 {
            machine.synchronize()?;
            let start = Instant::now();
            rotation.launch(machine.as_ref(), queues::FIRST, arguments)?;
            machine.synchronize()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok::<_, BackendError>(best)
    };
    for rotation in rotations {
        rotation.wave_seconds = time(rotation, rotation.wave)?;
        rotation.single_seconds = Some(time(rotation, 1)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::limits::{MAX_CLUSTER, limits_of};
    use crate::bootstrap::plan::Planner;
    use crate::bootstrap::test_shapes;
    use girih_backend::PlanRequest;

    /// The plans of three digits of one word with the times that an H200 measured.
    fn measured() -> Vec<Arc<Rotation>> {
        let (shape, limits) = (test_shapes::shape("word_3x7", 1), limits_of(90));
        let planner = Planner {
            device: "cuda",
            shape: &shape,
            transform: Transform::Fft,
            limits: &limits,
            cluster: MAX_CLUSTER,
        };
        let plans = planner.candidates(&PlanRequest::default()).expect("it fits");
        let splits: Vec<String> = plans.iter().map(|plan| plan.split.to_string()).collect();
        assert_eq!(
            splits,
            ["ciphertexts_4", "ciphertexts_2", "ciphertexts_1", "blocks_8", "blocks_2"]
        );
        let times = [(528, 5.87), (264, 4.8), (132, 4.59), (30, 1.53), (66, 2.03)];
        let rotation = |(plan, (wave, ms))| Rotation {
            plan,
            cost: KernelCost::default(),
            kernel: Kernel(0),
            traced: OnceLock::new(),
            wave,
            wave_seconds: ms / 1e3,
            single_seconds: None,
        };
        plans.into_iter().zip(times).map(rotation).map(Arc::new).collect()
    }

    #[test]
    fn what_is_left_of_whole_waves_goes_where_it_ends_soonest() {
        let rotations = measured();
        use Split::{Blocks, Ciphertexts};
        for (jobs, expected) in [
            (1, vec![(Blocks(8), 1)]),
            (30, vec![(Blocks(8), 30)]),
            (31, vec![(Blocks(2), 31)]),
            (90, vec![(Blocks(2), 66), (Blocks(8), 24)]),
            (132, vec![(Blocks(2), 132)]),
            (200, vec![(Ciphertexts(2), 200)]),
            (528, vec![(Ciphertexts(4), 528)]),
            (16_384, vec![(Ciphertexts(4), 16_368), (Blocks(8), 16)]),
            (1000, vec![(Ciphertexts(4), 1000)]),
        ] {
            let shares: Vec<(Split, usize)> = shares(&rotations, jobs)
                .into_iter()
                .map(|(rotation, share)| (rotation.plan.split, share))
                .collect();
            assert_eq!(shares, expected, "{jobs} ciphertexts");
        }
        assert_eq!(crossover(&rotations), 132);
    }
}
