//! Comparing a device with the exact twin, stage by stage.

use crate::bootstrap::synthetic::{SyntheticKeys, Words};
use crate::bootstrap::vectors::first_difference;
use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, Engine, Gadget, LinearJob,
    LoadOptions, LoadRequest, Operand, SecondOutput, Stage, Transform,
};

/// Ciphertexts in the store of a synthetic run.
const STORED: usize = 16;

/// What went wrong, a line each.
pub type Differences = Vec<String>;

/// Two engines with the same keys, store and tables: a device's and the twin's.
struct Pair {
    twin: Engine,
    device: Engine,
}

/// Jobs that use every field: weights of both signs, constants, moduli below and above q, offsets,
/// tables a slot, results in place.
fn jobs(shape: &BootstrapShape) -> Vec<BootstrapJob> {
    let q = shape.log2_lwe_modulus;
    let modulus = shape.accumulator_modulus().unwrap_or(u64::MAX);
    let operand = |ciphertext, weight| Operand { ciphertext, weight };
    let largest_output = shape.log2_ks_modulus.min(29);
    let job = |operands: &[Operand],
               constant,
               log2_modulus,
               table,
               table_stride,
               output_offset,
               log2_output_modulus,
               output| BootstrapJob {
        input: Combination::new(operands, constant, log2_modulus),
        table,
        table_stride,
        output_offset,
        log2_output_modulus,
        output,
        second: None,
    };
    if shape.is_torus() {
        let size = shape.polynomial_size as u32;
        let second = |coefficient, output_offset, output| {
            Some(SecondOutput { coefficient, output_offset, output })
        };
        let sum = job(&[operand(0, 1), operand(1, 1)], 0, 64, 0, 0, 1 << 61, 64, 8);
        // Both results take the places of operands.
        let in_place = job(
            &[operand(3, -1), operand(2, 3), operand(0, 1), operand(4, -7)],
            0xdead_beef,
            64,
            1,
            1,
            u64::MAX,
            64,
            3,
        );
        return vec![
            BootstrapJob { second: second(size / 2, 7 << 58, 9), ..sum },
            BootstrapJob { second: second(size - 1, 1, 4), ..in_place },
            BootstrapJob {
                second: second(size / 4, 5, 14),
                ..job(&[], 3 << 28, 64, 0, 0, 0, 64, 11)
            },
            BootstrapJob {
                second: second(1, u64::MAX, 13),
                ..job(&[operand(7, 1)], 1, 64, 1, 0, 3, 64, 12)
            },
        ];
    }
    vec![
        job(&[operand(0, 1), operand(1, 1)], 0, q, 0, 0, (modulus + 4) / 8, q, 8),
        job(&[operand(1, 2), operand(2, 2)], 0, q, 1, 1, 0, q, 9),
        job(
            &[operand(3, -1), operand(2, 3), operand(0, 1), operand(4, -7)],
            77,
            q,
            0,
            1,
            modulus - 1,
            q,
            10,
        ),
        job(&[operand(5, 1)], 1, q - 2, 2, 0, 5, largest_output, 5),
        job(&[], 3, shape.log2_monomials(), 0, 0, 0, 3, 11),
    ]
}

/// Stages that every transform has.
fn common_stages(shape: &BootstrapShape) -> Vec<Stage> {
    let n = shape.steps();
    let mut stages = vec![
        Stage::Combined,
        Stage::AccumulatorInitial,
        Stage::Digits { step: 0 },
        Stage::Accumulator { steps: 1 },
        Stage::Accumulator { steps: n },
        Stage::Extracted,
        Stage::SwitchedToKs,
        Stage::KeySwitched,
        Stage::Output,
    ];
    stages.retain(|&stage| stage != Stage::SwitchedToKs || !shape.is_torus());
    stages
}

/// Linear jobs with weights of both signs and results in place.
fn linear_jobs(shape: &BootstrapShape) -> Vec<LinearJob> {
    let operand = |ciphertext, weight| Operand { ciphertext, weight };
    let job =
        |operands: &[Operand], constant, log2_modulus, log2_output_modulus, output| LinearJob {
            input: Combination::new(operands, constant, log2_modulus),
            log2_output_modulus,
            output,
        };
    if shape.is_torus() {
        return vec![
            job(&[operand(8, -3), operand(5, 1)], 9, 64, 64, 12),
            job(&[operand(9, i32::MIN)], 1 << 31, 64, 64, 9),
        ];
    }
    vec![
        job(&[operand(8, -3), operand(5, 1)], 9, 10, 7, 12),
        job(&[operand(9, -1)], 1 << 28, 29, 29, 9),
        job(&[], 5, 4, 4, 13),
    ]
}

impl Pair {
    fn new(
        device: &dyn Backend,
        twin: &dyn Backend,
        shape: &BootstrapShape,
        transform: Transform,
    ) -> Result<Self, BackendError> {
        let keys = SyntheticKeys::new(shape.clone(), 7);
        let load = |backend: &dyn Backend, transform| {
            let options = LoadOptions::default().with_transform(transform);
            LoadRequest::new(&keys).options(&options).load(backend)
        };
        // On the native torus devices with the f64 transform hold fewer bits than the integer twin:
        // they are compared with the CPU's.
        let exact = if shape.is_torus() { transform } else { Transform::Ntt };
        let pair = Self { twin: load(twin, exact)?, device: load(device, transform)? };
        let mut words = Words::new(11);
        let largest = 1 << shape.log2_stored_modulus().min(32);
        let store: Vec<u32> =
            (0..STORED * shape.ciphertext_len()).map(|_| words.below(largest) as u32).collect();
        let mut coefficient = || match shape.accumulator_modulus() {
            Some(modulus) if leading_bits(shape, transform) => fraction(shape, modulus, &mut words),
            Some(modulus) => words.below(modulus),
            // With the f64 transform devices hold the leading bits of a word, 32 at least.
            None if transform == Transform::Fft => words.next_word() << 32,
            None => words.next_word(),
        };
        let tables: Vec<u64> =
            (0..(shape.packing + 2) * shape.polynomial_size).map(|_| coefficient()).collect();
        for engine in [&pair.twin, &pair.device] {
            engine.reserve(STORED)?;
            engine.write(0, &store)?;
        }
        pair.twin.add_tables(&tables)?;
        // All but the first come to the device in the place of others.
        let (first, others) = tables.split_at(shape.polynomial_size);
        pair.device.add_tables(&[first, &vec![0; others.len()]].concat())?;
        pair.device.write_tables(1, others)?;
        Ok(pair)
    }

    fn read_both(&self) -> Result<(Vec<u64>, Vec<u64>), BackendError> {
        let read = |engine: &Engine| {
            let mut words = vec![0; STORED * engine.shape().ciphertext_len()];
            engine.read(0, &mut words)?;
            Ok::<_, BackendError>(words.into_iter().map(u64::from).collect::<Vec<_>>())
        };
        Ok((read(&self.twin)?, read(&self.device)?))
    }
}

/// Every stage of every job bit for bit, then the whole list in one call, then linear jobs.
///
/// # Errors
/// When a device fails or refuses; differences come back as lines.
pub fn bit_for_bit(
    device: &dyn Backend,
    twin: &dyn Backend,
    shape: &BootstrapShape,
) -> Result<Differences, BackendError> {
    let pair = Pair::new(device, twin, shape, Transform::Ntt)?;
    let n = shape.steps();
    let mut stages = common_stages(shape);
    for step in [0, n - 1] {
        stages.extend([
            Stage::Digits { step },
            Stage::Transformed { step },
            Stage::Products { step },
        ]);
    }
    let mut differences = Differences::new();
    let jobs = jobs(shape);
    for (index, job) in jobs.iter().enumerate() {
        compare_stages(&pair, (index, job), &stages, &mut differences)?;
    }
    compare_lists(&pair, &jobs, &mut differences)?;
    Ok(differences)
}

/// The list of jobs in one call, then linear jobs, bit for bit: the kernels as they run, in few
/// launches. For tools that slow each of them down.
///
/// # Errors
/// As [`bit_for_bit`].
pub fn lists(
    device: &dyn Backend,
    twin: &dyn Backend,
    shape: &BootstrapShape,
) -> Result<Differences, BackendError> {
    let pair = Pair::new(device, twin, shape, Transform::Ntt)?;
    let mut differences = Differences::new();
    compare_lists(&pair, &jobs(shape), &mut differences)?;
    Ok(differences)
}

/// The stages of a job, by its index, bit for bit.
fn compare_stages(
    pair: &Pair,
    (index, job): (usize, &BootstrapJob),
    stages: &[Stage],
    differences: &mut Differences,
) -> Result<(), BackendError> {
    let (want, got) = (pair.twin.trace(job, stages)?, pair.device.trace(job, stages)?);
    for ((stage, want), got) in stages.iter().zip(&want).zip(&got) {
        differences
            .extend(first_difference(want, got).map(|d| format!("job {index} {stage:?}: {d}")));
    }
    Ok(())
}

fn compare_lists(
    pair: &Pair,
    jobs: &[BootstrapJob],
    differences: &mut Differences,
) -> Result<(), BackendError> {
    let linear = linear_jobs(pair.twin.shape());
    for engine in [&pair.twin, &pair.device] {
        engine.bootstrap(jobs)?;
        engine.combine(&linear)?;
        engine.bootstrap(&[])?;
    }
    let (want, got) = pair.read_both()?;
    differences.extend(first_difference(&want, &got).map(|d| format!("store after lists: {d}")));
    Ok(())
}

/// The f64 transform over one step, within its stated error (or bit for bit where that is zero),
/// and the integer stages around it.
///
/// One step only: from the second on, a single rounding tie changes every digit.
///
/// # Errors
/// As [`bit_for_bit`].
pub fn within_fft_error(
    device: &dyn Backend,
    twin: &dyn Backend,
    shape: &BootstrapShape,
) -> Result<Differences, BackendError> {
    let pair = Pair::new(device, twin, shape, Transform::Fft)?;
    let exact = [Stage::Combined, Stage::AccumulatorInitial, Stage::Digits { step: 0 }];
    let mut differences = Differences::new();
    let modulus = shape.accumulator_modulus();
    let fraction = match modulus {
        Some(q) if leading_bits(shape, Transform::Fft) => q as f64 / 2f64.powi(32),
        _ => 0.0,
    };
    let tolerance = fft_tolerance(shape) + fraction;
    for (index, job) in jobs(shape).iter().enumerate() {
        compare_stages(&pair, (index, job), &exact, &mut differences)?;
        within_tolerance(&pair, (index, job), modulus, tolerance, &mut differences)?;
    }
    Ok(differences)
}

/// The coefficient nearest to one of 2^32 fractions of Q, which a device may hold, away from where
/// digits round up or down.
fn fraction(shape: &BootstrapShape, modulus: u64, words: &mut Words) -> u64 {
    let Gadget::Decomposition { dropped_bits, .. } = shape.gadget else { return 0 };
    let size = 1i64 << dropped_bits;
    loop {
        let c = ((u128::from(words.below(1 << 32)) * u128::from(modulus) + (1 << 31)) >> 32) as u64;
        let centred = if c > modulus / 2 { c as i64 - modulus as i64 } else { c as i64 };
        if centred.rem_euclid(size).abs_diff(size / 2) > 2 && c < modulus {
            return c;
        }
    }
}

/// Whether a device may hold accumulators as fractions of Q in 32 bits under `transform`: where
/// these are a small part of what digits leave out.
fn leading_bits(shape: &BootstrapShape, transform: Transform) -> bool {
    let Gadget::Decomposition { dropped_bits, .. } = shape.gadget else { return false };
    let fraction = shape.accumulator_modulus().map_or(0.0, |q| q as f64 / 2f64.powi(32));
    transform == Transform::Fft && (0.5..=2f64.powi(dropped_bits as i32 - 4)).contains(&fraction)
}

/// A set on the native torus with the f64 transform: combinations and key switch modulo 2^64 bit
/// for bit, one step of the rotation within the error of the transform and of accumulators of 32
/// bits, linear jobs bit for bit.
///
/// # Errors
/// As [`bit_for_bit`].
pub fn on_the_torus(
    device: &dyn Backend,
    reference: &dyn Backend,
    shape: &BootstrapShape,
) -> Result<Differences, BackendError> {
    let pair = Pair::new(device, reference, shape, Transform::Fft)?;
    let exact =
        [Stage::Combined, Stage::KeySwitched, Stage::AccumulatorInitial, Stage::Digits { step: 0 }];
    let tolerance = fft_tolerance(shape) + 2f64.powi(32);
    let mut differences = Differences::new();
    for (index, job) in jobs(shape).iter().enumerate() {
        compare_stages(&pair, (index, job), &exact, &mut differences)?;
        within_tolerance(&pair, (index, job), None, tolerance, &mut differences)?;
    }
    let linear = linear_jobs(shape);
    for engine in [&pair.twin, &pair.device] {
        engine.combine(&linear)?;
    }
    let (want, got) = pair.read_both()?;
    differences
        .extend(first_difference(&want, &got).map(|d| format!("store after linear jobs: {d}")));
    differences.extend(second_results(&pair)?);
    Ok(differences)
}

/// Second results where a rotation is not exact: their masks are those of the first results,
/// turned, and a job of no operands, which rotates by nothing but its constant, is exact.
fn second_results(pair: &Pair) -> Result<Differences, BackendError> {
    let (shape, mut differences) = (pair.twin.shape(), Differences::new());
    let jobs = jobs(shape);
    for engine in [&pair.twin, &pair.device] {
        engine.bootstrap(&jobs)?;
    }
    let (want, got) = pair.read_both()?;
    let ciphertext = |store: &[u64], index: u32| {
        let len = shape.ciphertext_len();
        let halves = &store[index as usize * len..][..len];
        halves.chunks_exact(2).map(|half| half[0] | half[1] << 32).collect::<Vec<u64>>()
    };
    let size = shape.polynomial_size;
    for (index, job) in jobs.iter().enumerate() {
        let Some(second) = job.second else { continue };
        let (first, turned) = (ciphertext(&got, job.output), ciphertext(&got, second.output));
        let masks = first.chunks_exact(size).zip(turned.chunks_exact(size));
        for (first, turned) in masks.take(shape.glwe_dimension) {
            // Multiplied by X^w: word i comes from word i - w.
            let from = |i: usize| match i.checked_sub(second.coefficient as usize) {
                Some(from) => first[from],
                None => first[i + size - second.coefficient as usize].wrapping_neg(),
            };
            if let Some(i) = (0..size).find(|&i| turned[i] != from(i)) {
                differences.push(format!("job {index}: word {i} of its second result"));
            }
        }
        if job.input.used().next().is_none()
            && [job.output, second.output]
                .iter()
                .any(|&o| ciphertext(&want, o) != ciphertext(&got, o))
        {
            differences.push(format!("job {index}, which has no operands, differs"));
        }
    }
    Ok(differences)
}

/// The accumulator of a job, by its index, after one step, within `tolerance`.
fn within_tolerance(
    pair: &Pair,
    (index, job): (usize, &BootstrapJob),
    modulus: Option<u64>,
    tolerance: f64,
    differences: &mut Differences,
) -> Result<(), BackendError> {
    let stage = Stage::Accumulator { steps: 1 };
    let (want, got) = (pair.twin.trace(job, &[stage])?, pair.device.trace(job, &[stage])?);
    let worst = largest_distance(&want[0], &got[0], modulus);
    if worst as f64 > tolerance {
        differences.push(format!(
            "job {index} {stage:?}: off by {worst}, the stated error allows {tolerance:.1}"
        ));
    }
    Ok(())
}

/// Largest distance modulo `modulus`, 2^64 where it is none; lengths that differ, words that are
/// not canonical and no words at all are infinitely far.
fn largest_distance(want: &[u64], got: &[u64], modulus: Option<u64>) -> u64 {
    if want.len() != got.len() {
        return u64::MAX;
    }
    let distance = |(&w, &g): (&u64, &u64)| match modulus {
        None => (w.wrapping_sub(g) as i64).unsigned_abs(),
        Some(modulus) if w >= modulus || g >= modulus => u64::MAX,
        Some(modulus) => w.abs_diff(g).min(modulus - w.abs_diff(g)),
    };
    want.iter().zip(got).map(distance).max().unwrap_or(u64::MAX)
}

/// What one f64 step may differ by, in units of Q: zero where the deviation before rounding is
/// below 2^-8 (a 64-sigma event would be needed to flip a rounding), else eight deviations and one
/// unit for the rounding itself.
///
/// The deviation is `c u sqrt(L K N) B M / 6` with `u = 2^-53` and `c = 4`, times `Q/M`; `B` is the
/// digit base, or Q for MR. That is with two GGSW ciphertexts a step;
/// the variance grows with their number.
pub fn fft_tolerance(shape: &BootstrapShape) -> f64 {
    let key_modulus = shape.key_modulus_value().map_or(2f64.powi(64), |m| m as f64);
    let modulus = shape.accumulator_modulus().map_or(2f64.powi(64), |m| m as f64);
    let base = match shape.gadget {
        Gadget::Decomposition { log2_base, .. }
        | Gadget::ClosestRepresentative { log2_base, .. } => 2f64.powi(log2_base as i32),
        Gadget::ModulusRaising { .. } => modulus,
    };
    let terms = (shape.levels() * shape.columns() * shape.polynomial_size) as f64;
    let products = (shape.ggsw_per_step() as f64 / 2.0).max(1.0);
    let deviation = 4.0 * products.sqrt() * 2f64.powi(-53) * terms.sqrt() * base * key_modulus
        / 6.0
        * (modulus / key_modulus);
    match shape.gadget {
        // MR rounds T -> Q after the sum: a tie may fall either way however small the error.
        Gadget::ModulusRaising { .. } => 8.0 * deviation + 1.0,
        _ if deviation < 2f64.powi(-8) => 0.0,
        _ => 8.0 * deviation + 1.0,
    }
}
