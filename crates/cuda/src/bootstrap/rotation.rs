//! Compiled variants of `blind_rotate`, and which one a batch gets.

use crate::bootstrap::arguments::{BlindRotateArguments, Job};
use crate::bootstrap::plan::{CudaPlan, Geometry};
use crate::bootstrap::queues;
use crate::bootstrap::source::{self, BLIND_ROTATE, BLIND_ROTATE_SPREAD};
use crate::bootstrap::spread::{SPREAD, SPREAD_ITEMS, choice, spread_items};
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Buffer, Kernel, KernelCost, LaunchSize, Machine, Queue};
use crate::runtime::source::Source;
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Combination, DeviceLimits, Operand, PlanReport,
    PlanRequest, PlanValue, Transform,
};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The variants that `request` allows on a device with clusters of up to `cluster` blocks,
/// throughput first.
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
    let whole = || CudaPlan::new(device, shape, transform, limits, cluster, request);
    let over_blocks = |request: &PlanRequest| {
        CudaPlan::spread(device, shape, transform, limits, cluster, request)
    };
    // What is asked of groups or teams is asked of the throughput kernel alone; choices by name
    // leave the others in place.
    let fixed = request.groups.is_some()
        || request.subgroups_per_polynomial.is_some()
        || request.layout.is_some();
    let common = |name: &String| ["packed", "tiled", SPREAD, SPREAD_ITEMS].contains(&name.as_str());
    let chosen = !request.choices.keys().all(common);
    // All variants read one key, and differ in what only some of them have.
    let shared = || PlanRequest {
        choices: request
            .choices
            .iter()
            .filter(|(name, _)| common(name))
            .map(|(n, v)| (n.clone(), *v))
            .collect(),
        ..request.clone()
    };
    // Where the variant over blocks is one of several, its refusals leave the others; this one is
    // the request's own fault.
    spread_items(device, request)?;
    match choice(request, SPREAD) {
        Some(0) => Ok(vec![whole()?]),
        Some(_) => Ok(vec![over_blocks(request)?]),
        None if fixed => Ok(vec![whole()?]),
        None => match (whole(), over_blocks(&shared())) {
            (Ok(whole), spread) => {
                let tail = |groups| {
                    CudaPlan::tail(device, shape, transform, limits, cluster, &whole, groups)
                };
                let half = (whole.groups / 2 > 1).then(|| tail(whole.groups / 2)).flatten();
                let pairs =
                    spread.as_ref().ok().and_then(|s| s.spread).filter(|s| s.blocks > 2).and_then(
                        |_| {
                            let mut request = shared();
                            request.choices.insert(SPREAD.to_owned(), 2);
                            over_blocks(&request).ok()
                        },
                    );
                let tail = tail(1);
                Ok([Some(whole), half, tail, spread.ok(), pairs].into_iter().flatten().collect())
            }
            // A choice that the throughput kernel cannot honour is refused, not ignored.
            (Err(_), Ok(spread)) if !chosen => Ok(vec![spread]),
            (Err(error), _) => Err(error),
        },
    }
}

/// What plan `index` of those of [`plans`] is called beside the others: nothing, `tail`, `spread`,
/// or one of these with its number of ciphertexts or blocks where there is a first of its kind.
pub(crate) fn role(plans: &[CudaPlan], index: usize) -> String {
    let plan = &plans[index];
    match plan.spread {
        None if !plan.tail => String::new(),
        None if plan.groups == 1 => "tail".into(),
        None => format!("tail{}", plan.groups),
        Some(spread) if plans[..index].iter().any(|p| p.spread.is_some()) => {
            format!("spread{}", spread.blocks)
        }
        Some(_) => "spread".into(),
    }
}

/// One compiled variant.
pub(crate) struct Rotation {
    /// Its [`role`].
    role: String,
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
    source::source(
        if plan.spread.is_some() { BLIND_ROTATE_SPREAD } else { BLIND_ROTATE },
        shape,
        plan,
        trace,
    )
}

fn load(
    machine: &dyn Machine,
    shape: &BootstrapShape,
    plan: &CudaPlan,
    trace: bool,
) -> Result<(Kernel, KernelCost), BackendError> {
    let [kernel] = crate::bootstrap::engine::kernels(machine, &source(shape, plan, trace))?;
    Ok((kernel, machine.prepare(kernel, size(plan, plan.groups))?))
}

fn size(plan: &CudaPlan, jobs: usize) -> LaunchSize {
    let blocks = match plan.spread {
        Some(spread) => jobs * spread.blocks,
        None => jobs.div_ceil(plan.groups).next_multiple_of(plan.pace),
    };
    let cluster = plan.spread.map_or(plan.pace, |s| s.blocks);
    LaunchSize { blocks, threads: plan.threads, shared_bytes: plan.shared_bytes, cluster }
}

impl Rotation {
    /// Compiles plan `index`.
    pub fn load(
        machine: &dyn Machine,
        shape: &BootstrapShape,
        plans: &[CudaPlan],
        index: usize,
    ) -> Result<Self, BackendError> {
        let plan = plans[index].clone();
        let multiprocessors = plan.multiprocessors;
        let (kernel, cost) = load(machine, shape, &plan, false)?;
        let cluster = plan.spread.map_or(plan.pace, |s| s.blocks);
        let resident = if plan.tail { 1 } else { cost.resident_blocks.max(1) as usize };
        let clusters = cost
            .resident_clusters
            .map_or(multiprocessors * resident / cluster, |c| c as usize)
            .max(1);
        Ok(Self {
            role: role(plans, index),
            wave: if plan.spread.is_some() { clusters } else { clusters * cluster * plan.groups },
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

    pub fn launch(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        arguments: BlindRotateArguments,
    ) -> Result<(), BackendError> {
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
    ) -> Result<(), BackendError> {
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

    /// Adds the plan and its cost to a report, under names that begin with the role.
    pub fn describe(&self, report: &mut PlanReport) {
        let (plan, cost) = (&self.plan, &self.cost);
        let mut add = |name: &str, value: PlanValue| {
            report.set(
                if self.role.is_empty() {
                    name.to_owned()
                } else {
                    format!("{}_{name}", self.role)
                },
                value,
            );
        };
        add("threads", plan.threads.into());
        add("shared_bytes", plan.shared_bytes.into());
        add("registers", (cost.registers as usize).into());
        add("local_bytes", (cost.local_bytes as usize).into());
        add("wave", self.wave.into());
        add("wave_ms", (self.wave_seconds * 1e3).into());
        add("single_ms", self.single_seconds.map(|s| s * 1e3).into());
        match plan.spread {
            None if plan.tail => {}
            None => {
                add("groups", plan.groups.into());
                add("blocks_per_multiprocessor", plan.blocks_per_multiprocessor.into());
                add("resident_blocks", (cost.resident_blocks as usize).into());
                add("pace", plan.pace.into());
                add("prefetch_steps", plan.prefetch_steps.into());
                add("prefetch_blocks", plan.prefetch_blocks.into());
                add("key_ring", plan.key_ring.into());
                add("packed_key", plan.packed.into());
            }
            Some(spread) => {
                add("blocks", spread.blocks.into());
                add("items", spread.items.into());
                add("key_ring", spread.key_ring.into());
            }
        }
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
    rotations[1..]
        .iter()
        .fold(first, |best, r| if r.seconds(jobs) < best.seconds(jobs) { r } else { best })
}

/// How `jobs` bootstrappings are launched: all by one variant, or whole waves of one and what is
/// left by others, whatever takes the least time one after another.
pub(crate) fn shares(rotations: &[Rotation], jobs: usize) -> Vec<(&Rotation, usize)> {
    fastest(rotations, jobs).1
}

fn fastest(rotations: &[Rotation], jobs: usize) -> (f64, Vec<(&Rotation, usize)>) {
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
            fastest = (seconds, [(rotation, jobs - left)].into_iter().chain(rest).collect());
        }
    }
    fastest
}

/// The largest batch up to which every batch goes to spread variants; 0 where none does.
pub(crate) fn crossover(rotations: &[Rotation]) -> usize {
    let most = rotations.iter().map(|r| r.wave).max().unwrap_or(0);
    let spread =
        |jobs: &usize| shares(rotations, *jobs).iter().all(|(r, _)| r.plan.spread.is_some());
    (1..=most).take_while(spread).last().unwrap_or(0)
}

/// Times one wave and one ciphertext of each variant, so that `choose` rests on this device and
/// this shape and not on a model.
pub(crate) fn measure(
    machine: &Arc<dyn Machine>,
    shape: &BootstrapShape,
    rotations: &mut [Rotation],
    arguments: BlindRotateArguments,
) -> Result<(), BackendError> {
    if !machine.keeps_time() {
        // Tests look at small batches: these go to the spread variant as long as they fit one wave
        // of it.
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
    use crate::bootstrap::spread::MAX_CLUSTER;
    use crate::bootstrap::test_shapes;
    use crate::bootstrap::variants::limits_of;

    /// A kernel that takes the key for another layout than the first plan's reads past its end.
    #[test]
    fn all_variants_of_a_shape_read_one_key() {
        for name in test_shapes::names() {
            for r in [1, 2, 5] {
                let shape = test_shapes::shape(name, r);
                for choices in [
                    &[][..],
                    &[("packed", 0)],
                    &[("packed", 1)],
                    &[("ring", 0)],
                    &[("packed", 1), ("blocks", 1)],
                ] {
                    let choices = choices.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
                    let request = PlanRequest { choices, ..Default::default() };
                    let Ok(plans) = plans(
                        "cuda",
                        &shape,
                        Transform::Fft,
                        &limits_of(90),
                        MAX_CLUSTER,
                        &request,
                    ) else {
                        continue;
                    };
                    assert!(
                        plans.iter().all(|p| p.packed == plans[0].packed),
                        "{name} r={r} {:?}",
                        request.choices
                    );
                    let spread = plans.iter().filter(|p| p.spread.is_some()).count();
                    assert!(
                        spread > 0,
                        "{name} r={r} {:?} leaves no variant over blocks",
                        request.choices
                    );
                }
            }
        }
    }

    /// The variants of three digits of one word with the times that an H200 measured.
    fn measured() -> Vec<Rotation> {
        let shape = test_shapes::shape("word_3x7", 1);
        let plans = plans(
            "cuda",
            &shape,
            Transform::Fft,
            &limits_of(90),
            MAX_CLUSTER,
            &PlanRequest::default(),
        )
        .expect("it fits");
        let roles: Vec<String> = (0..plans.len()).map(|i| role(&plans, i)).collect();
        assert_eq!(roles, ["", "tail2", "tail", "spread", "spread2"]);
        let times = [(528, 5.87), (264, 4.8), (132, 4.59), (30, 1.53), (66, 2.03)];
        let rotation = |((plan, role), (wave, ms))| Rotation {
            role,
            plan,
            cost: KernelCost::default(),
            kernel: Kernel(0),
            traced: OnceLock::new(),
            wave,
            wave_seconds: ms / 1e3,
            single_seconds: None,
        };
        plans.into_iter().zip(roles).zip(times).map(rotation).collect()
    }

    #[test]
    fn what_is_left_of_whole_waves_goes_where_it_ends_soonest() {
        let rotations = measured();
        let shares = |jobs| {
            shares(&rotations, jobs)
                .into_iter()
                .map(|(r, share)| (r.role.as_str(), share))
                .collect::<Vec<_>>()
        };
        assert_eq!(shares(1), [("spread", 1)]);
        assert_eq!(shares(30), [("spread", 30)]);
        assert_eq!(shares(31), [("spread2", 31)]);
        assert_eq!(shares(90), [("spread2", 66), ("spread", 24)]);
        assert_eq!(shares(132), [("spread2", 132)]);
        assert_eq!(shares(200), [("tail2", 200)]);
        assert_eq!(shares(528), [("", 528)]);
        assert_eq!(shares(16_384), [("", 16_368), ("spread", 16)]);
        assert_eq!(shares(1000), [("", 1000)]);
        assert_eq!(crossover(&rotations), 132);
    }
}
