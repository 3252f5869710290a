//! Compiled variants of `blind_rotate`, and which one a batch gets.

use crate::arguments::{BlindRotateArguments, Job, bytes_of};
use crate::machine::{Buffer, Kernel, KernelCost, LaunchSize, Machine, Queue};
use crate::plan::{CudaPlan, Geometry};
use crate::source::{BLIND_ROTATE, BLIND_ROTATE_SPREAD, Source};
use crate::spread::{SPREAD, SPREAD_ITEMS, choice};
use girih_backend::{BackendError, BootstrapJob, BootstrapShape, Combination, DeviceLimits, Operand, PlanRequest, Transform};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The variants that `request` allows on a device with clusters of up to `cluster` blocks, throughput first.
///
/// # Errors
/// As [`CudaPlan::new`] and [`CudaPlan::spread`] where no variant is left.
pub(crate) fn plans(
    device: &str,
    shape: &BootstrapShape,
    transform: Transform,
    limits: &DeviceLimits,
    cluster: usize,
    request: &PlanRequest,
) -> Result<Vec<CudaPlan>, BackendError> {
    let whole = || CudaPlan::new(device, shape, transform, limits, request);
    let spread = || CudaPlan::spread(device, shape, transform, limits, cluster, request);
    // What is asked of groups or teams is asked of the throughput kernel alone; choices by name leave the others in place.
    let fixed = request.groups.is_some() || request.subgroups_per_polynomial.is_some() || request.layout.is_some();
    let common = |name: &String| ["tiled", SPREAD, SPREAD_ITEMS].contains(&name.as_str());
    let chosen = !request.choices.keys().all(common);
    match choice(request, SPREAD) {
        Some(0) => Ok(vec![whole()?]),
        Some(_) => Ok(vec![spread()?]),
        None if fixed => Ok(vec![whole()?]),
        None => match (whole(), spread()) {
            (Ok(whole), spread) => {
                let tail = CudaPlan::tail(device, shape, transform, limits, &whole);
                Ok([Some(whole), tail, spread.ok()].into_iter().flatten().collect())
            }
            // A choice that the throughput kernel cannot honour is refused, not ignored.
            (Err(_), Ok(spread)) if !chosen => Ok(vec![spread]),
            (Err(error), _) => Err(error),
        },
    }
}

/// One compiled variant.
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

fn source(shape: &BootstrapShape, plan: &CudaPlan, trace: bool) -> Source {
    Source::new(if plan.spread.is_some() { BLIND_ROTATE_SPREAD } else { BLIND_ROTATE }, shape, plan, trace)
}

fn load(machine: &dyn Machine, shape: &BootstrapShape, plan: &CudaPlan, trace: bool) -> Result<(Kernel, KernelCost), BackendError> {
    let [kernel] = crate::engine::kernels(machine, &source(shape, plan, trace))?;
    Ok((kernel, machine.prepare(kernel, size(plan, plan.groups))?))
}

fn size(plan: &CudaPlan, jobs: usize) -> LaunchSize {
    let cluster = plan.spread.map_or(1, |s| s.blocks);
    LaunchSize { blocks: jobs.div_ceil(plan.groups) * cluster, threads: plan.threads, shared_bytes: plan.shared_bytes, cluster }
}

impl Rotation {
    pub fn load(machine: &dyn Machine, shape: &BootstrapShape, plan: CudaPlan, multiprocessors: usize) -> Result<Self, BackendError> {
        let (kernel, cost) = load(machine, shape, &plan, false)?;
        let blocks = plan.spread.map_or(1, |s| s.blocks);
        let resident = if plan.tail { 1 } else { cost.resident_blocks.max(1) as usize };
        let clusters = cost.resident_clusters.map_or(multiprocessors * resident / blocks, |c| c as usize);
        Ok(Self {
            wave: clusters.max(1) * plan.groups,
            wave_seconds: 1.0,
            single_seconds: None,
            plan,
            cost,
            kernel,
            traced: OnceLock::new(),
        })
    }

    /// Ciphertexts that the device runs at once.
    pub fn wave(&self) -> usize {
        self.wave
    }

    pub fn launch(&self, machine: &dyn Machine, queue: Queue, arguments: BlindRotateArguments) -> Result<(), BackendError> {
        machine.launch(queue, self.kernel, size(&self.plan, arguments.job_count as usize), bytes_of(&[arguments]))
    }

    /// As `launch` in the first queue, by a build that writes what `arguments.dump_stage` asks for.
    pub fn launch_traced(
        &self,
        machine: &dyn Machine,
        shape: &BootstrapShape,
        arguments: BlindRotateArguments,
    ) -> Result<(), BackendError> {
        let kernel = match self.traced.get() {
            Some(&kernel) => kernel,
            None => {
                let (kernel, _) = load(machine, shape, &self.plan, true)?;
                *self.traced.get_or_init(|| kernel)
            }
        };
        machine.launch(Queue::First, kernel, size(&self.plan, arguments.job_count as usize), bytes_of(&[arguments]))
    }

    /// Adds the plan and its cost to a record, those of a spread variant under names of their own.
    pub fn describe(&self, record: &mut serde_json::Map<String, serde_json::Value>) {
        let (plan, cost) = (&self.plan, &self.cost);
        let facts = match plan.spread {
            None if plan.tail => serde_json::json!({
                "tail_threads": plan.threads,
                "tail_shared_bytes": plan.shared_bytes,
                "tail_registers": cost.registers,
                "tail_local_bytes": cost.local_bytes,
                "tail_wave": self.wave,
                "tail_wave_ms": self.wave_seconds * 1e3,
            }),
            None => serde_json::json!({
                "groups": plan.groups,
                "threads": plan.threads,
                "blocks_per_multiprocessor": plan.blocks_per_multiprocessor,
                "resident_blocks": cost.resident_blocks,
                "shared_bytes": plan.shared_bytes,
                "registers": cost.registers,
                "local_bytes": cost.local_bytes,
                "prefetch_steps": plan.prefetch_steps,
                "prefetch_blocks": plan.prefetch_blocks,
                "key_ring": plan.key_ring,
                "hold_monomials": plan.hold_monomials,
                "wave": self.wave,
                "wave_ms": self.wave_seconds * 1e3,
                "single_ms": self.single_seconds.map(|s| s * 1e3),
            }),
            Some(spread) => serde_json::json!({
                "spread_blocks": spread.blocks,
                "spread_items": spread.items,
                "spread_threads": plan.threads,
                "spread_shared_bytes": plan.shared_bytes,
                "spread_registers": cost.registers,
                "spread_local_bytes": cost.local_bytes,
                "spread_key_ring": spread.key_ring,
                "spread_push": spread.push,
                "spread_wave": self.wave,
                "spread_wave_ms": self.wave_seconds * 1e3,
                "spread_single_ms": self.single_seconds.map(|s| s * 1e3),
            }),
        };
        record.extend(facts.as_object().cloned().unwrap_or_default());
    }

    /// Predicted time of `jobs` bootstrappings: whole waves.
    fn seconds(&self, jobs: usize) -> f64 {
        jobs.div_ceil(self.wave) as f64 * self.wave_seconds
    }
}

/// The fastest variant for `jobs` bootstrappings.
pub(crate) fn choose(rotations: &[Rotation], jobs: usize) -> &Rotation {
    // Loading made at least one.
    let first = &rotations[0];
    rotations[1..].iter().fold(first, |best, r| if r.seconds(jobs) < best.seconds(jobs) { r } else { best })
}

/// How `jobs` bootstrappings are launched: all by one variant, or whole waves of the first and what is left by another.
pub(crate) fn shares(rotations: &[Rotation], jobs: usize) -> Vec<(&Rotation, usize)> {
    let (first, best) = (&rotations[0], choose(rotations, jobs));
    let left = jobs % first.wave;
    let tail = choose(rotations, left);
    if left < jobs && left > 0 && first.seconds(jobs - left) + tail.seconds(left) < best.seconds(jobs) {
        return vec![(first, jobs - left), (tail, left)];
    }
    vec![(best, jobs)]
}

/// The largest batch up to which every batch goes to a spread variant; 0 where none does.
pub(crate) fn crossover(rotations: &[Rotation]) -> usize {
    let most = rotations.iter().map(|r| r.wave).max().unwrap_or(0);
    (1..=most).take_while(|&jobs| choose(rotations, jobs).plan.spread.is_some()).last().unwrap_or(0)
}

/// Times one wave and one ciphertext of each variant, so that `choose` rests on this device and this shape and not on a model.
pub(crate) fn measure(
    machine: &Arc<dyn Machine>,
    shape: &BootstrapShape,
    rotations: &mut [Rotation],
    arguments: BlindRotateArguments,
) -> Result<(), BackendError> {
    if !machine.keeps_time() {
        // Tests look at small batches: these go to the spread variant as long as they fit one wave of it.
        rotations.iter_mut().filter(|r| r.plan.spread.is_none()).for_each(|r| r.wave_seconds = 1.5);
        return Ok(());
    }
    let most = rotations.iter().map(|r| r.wave).max().unwrap_or(1);
    let mut state = 1u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let q = shape.log2_lwe_modulus;
    let ciphertext: Vec<u32> = (0..shape.ciphertext_len()).map(|_| word() & ((1 << q) - 1)).collect();
    // Small coefficients are below every Q; from the first step on the accumulator looks random.
    let bytes = Geometry::new(shape, Transform::Ntt).accumulator_bytes;
    let table: Vec<u8> = (0..shape.polynomial_size).flat_map(|_| u64::from(word() & 0xff).to_le_bytes().into_iter().take(bytes)).collect();
    let jobs: Vec<Job> = (0..most as i32)
        .map(|i| {
            let input = Combination::new(&[Operand { ciphertext: 0, weight: 2 * i + 1 }], 0, q);
            Job::from(&BootstrapJob { input, table: 0, table_stride: 0, output_offset: 0, log2_output_modulus: q, output: 0 })
        })
        .collect();
    let what = "a wave to time";
    let store = Buffer::holding(machine, bytes_of(&ciphertext), what)?;
    let tables = Buffer::holding(machine, &table, what)?;
    let jobs_buffer = Buffer::holding(machine, bytes_of(&jobs), what)?;
    let switched = Buffer::new(machine, most * (shape.ks_indices() + shape.packing) * 8, what)?;
    // The native torus finds its exponents there.
    machine.zero(Queue::First, switched.address(), switched.bytes())?;
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
            rotation.launch(machine.as_ref(), Queue::First, arguments)?;
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
