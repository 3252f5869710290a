//! Compiled plans of the rotation, and how long each takes.

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
    /// How long lists up to a wave take, longest last; measured before anything runs.
    pub fills: Vec<Fill>,
    /// How long a single ciphertext takes, where it was measured.
    single_seconds: Option<f64>,
}

/// A part of a wave: so many ciphertexts are as many on each multiprocessor, and take as long as
/// any list between those of the part before and them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub ciphertexts: usize,
    pub seconds: f64,
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
        // Blocks go to idle multiprocessors first, so that each has as many as the others.
        let mut ciphertexts: Vec<usize> =
            (1..=resident).map(|blocks| (wave * blocks / resident).max(1)).collect();
        ciphertexts.dedup();
        let fill = |ciphertexts| Fill { ciphertexts, seconds: 1.0 };
        Ok(Self {
            plan: plan.clone(),
            cost,
            kernel,
            traced: OnceLock::new(),
            fills: ciphertexts.into_iter().map(fill).collect(),
            single_seconds: None,
        })
    }

    /// One that is only chosen, with times as they were measured.
    #[cfg(test)]
    pub fn timed(plan: CudaPlan, fills: Vec<Fill>) -> Self {
        Self {
            plan,
            cost: KernelCost::default(),
            kernel: Kernel(0),
            traced: OnceLock::new(),
            fills,
            single_seconds: None,
        }
    }

    /// The whole wave.
    pub fn full(&self) -> Fill {
        // Loading made at least one.
        self.fills[self.fills.len() - 1]
    }

    /// Ciphertexts that the device runs at once.
    pub fn wave(&self) -> usize {
        self.full().ciphertexts
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
        add("wave", self.wave().into());
        add("wave_ms", (self.full().seconds * 1e3).into());
        for fill in &self.fills[..self.fills.len() - 1] {
            add(&format!("ms_of_{}", fill.ciphertexts), (fill.seconds * 1e3).into());
        }
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
                add("resident_blocks", (cost.resident_blocks as usize).into());
                add("items", plan.spread_items.into());
            }
        }
    }
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
            .flat_map(|r| &mut r.fills)
            .for_each(|fill| fill.seconds = 1.5);
        return Ok(());
    }
    let _tuning = preparing(Preparation::Tuning);
    let most = rotations.iter().map(|r| r.wave()).max().unwrap_or(1);
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
        for i in 0..rotation.fills.len() {
            rotation.fills[i].seconds = time(rotation, rotation.fills[i].ciphertexts)?;
        }
        rotation.single_seconds = Some(time(rotation, 1)?);
    }
    Ok(())
}
