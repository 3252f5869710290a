//! `cargo xtask cuda-check`: checks and times a CUDA device.
//!
//! ```text
//! cargo xtask cuda-check conformance [NAME..]          every stage, against the CPU twin
//! cargo xtask cuda-check lists [NAME..]                whole bootstrappings of the integer
//!                                                      transform in few launches, for
//!                                                      compute-sanitizer
//! cargo xtask cuda-check bench [NAME..]                rates, a line of JSON each
//! cargo xtask cuda-check compile CAPABILITY [NAME..]   every kernel by NVRTC, without a GPU
//! ```
//!
//! Environment: `GIRIH_DEVICE` (default `cuda:0`), `BATCH` (default 16384), `TRANSFORMS` (`ntt`,
//! `fft`, default both), `GROUPS`, `WARPS`, `BLOCKS`, `PACKED`, `RING`, `COSINES`, `GAPS`, `PACE`,
//! `PREFETCH`, `TILED`, `SPREAD`, `SPREAD_ITEMS` (plan requests),
//! `ROUNDS` (timed batches, default 3, of small ones 24).

use crate::Rest;
use girih::tfhe::ParameterSet;
use girih_backend::{
    Backend, BootstrapJob, Combination, Engine, KeySource, LoadOptions, LoadRequest, Operand,
    PlanRequest, Transform,
};
use girih_conformance::planned::Planned;
use girih_conformance::synthetic::{SyntheticKeys, Words};
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{compare, shapes};
use girih_cpu::CpuBackend;
use girih_cuda::{CudaBackend, SPREAD, SPREAD_ITEMS, compile, variants};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// The packing at which BOLT-FHE runs its sets.
const PACKINGS: [(&str, usize); 6] =
    [("M1", 3), ("M2", 2), ("M3", 5), ("M4", 4), ("M5", 5), ("M6", 2)];

/// What `cargo xtask cuda-check` runs.
///
/// # Errors
/// What went wrong, in words.
pub fn run(arguments: &Rest) -> anyhow::Result<bool> {
    start(&arguments.words).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(true)
}

fn start(arguments: &[String]) -> Result<(), Failure> {
    if arguments.first().is_some_and(|a| a == "compile") {
        return compile_all(
            arguments.get(1).map_or(Ok(90), |c| c.parse())?,
            arguments.get(2..).unwrap_or_default(),
        );
    }
    let device =
        CudaBackend::open(&std::env::var("GIRIH_DEVICE").unwrap_or_else(|_| "cuda:0".into()))?;
    println!("{:?}", device.info());
    let names = arguments.get(1..).unwrap_or_default();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name == n);
    match arguments.first().map(String::as_str) {
        Some("conformance") => conformance(&device, &wanted, false),
        Some("lists") => conformance(&device, &wanted, true),
        Some("bench") => bench(&device, &wanted),
        _ => Err(
            "usage: cuda-check conformance|lists|bench [NAME..], or compile [CAPABILITY] [SET..]"
                .into(),
        ),
    }
}

/// `set` at the packing at which BOLT-FHE runs it.
pub fn packed(set: ParameterSet) -> Result<ParameterSet, Failure> {
    match PACKINGS.iter().find(|(n, _)| *n == set.name()) {
        Some((_, r)) => Ok(set.with_packing(*r)?),
        None => Ok(set),
    }
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// What the environment fixes of the plan.
fn request() -> PlanRequest {
    let choices = [
        "blocks",
        "packed",
        "ring",
        "cosines",
        "gaps",
        "pace",
        "prefetch",
        "tiled",
        SPREAD,
        SPREAD_ITEMS,
    ];
    let choices = choices
        .into_iter()
        .filter_map(|name| Some((name.to_string(), number(&name.to_uppercase())? as u32)));
    PlanRequest {
        groups: number("GROUPS"),
        subgroups_per_polynomial: number("WARPS"),
        choices: choices.collect(),
        ..Default::default()
    }
}

fn compile_all(capability: u32, names: &[String]) -> Result<(), Failure> {
    let transforms = transforms();
    for set in ParameterSet::all()
        .into_iter()
        .filter(|s| names.is_empty() || names.iter().any(|n| s.name() == n))
    {
        let set = packed(set)?;
        let Ok(all) = variants(set.name(), set.shape(), capability, &request()) else { continue };
        for variant in all.iter().filter(|v| transforms.contains(&v.plan.transform)) {
            for source in &variant.sources {
                let started = Instant::now();
                let bytes = compile(source, capability, |note| eprintln!("{note}"))?.len();
                println!(
                    "{} {} {bytes} bytes, {:.1} s",
                    variant.name,
                    source.file.name,
                    started.elapsed().as_secs_f64()
                );
            }
        }
    }
    Ok(())
}

/// The transforms that `TRANSFORMS` names.
fn transforms() -> Vec<Transform> {
    let named = std::env::var("TRANSFORMS").unwrap_or_else(|_| "ntt,fft".into());
    let of = [("ntt", Transform::Ntt), ("fft", Transform::Fft)];
    of.into_iter()
        .filter(|(name, _)| named.contains(name))
        .map(|(_, transform)| transform)
        .collect()
}

/// Every stage, or (`lists`) only what comes out of the integer transform.
fn conformance(
    device: &CudaBackend,
    wanted: &dyn Fn(&str) -> bool,
    lists: bool,
) -> Result<(), Failure> {
    let mut failed = 0;
    let mut told =
        |name: &str, kind: &str, started: Instant, problems: Result<Vec<String>, Failure>| {
            let seconds = started.elapsed().as_secs_f64();
            match problems {
                Ok(p) if p.is_empty() => println!("ok      {kind} {name} ({seconds:.2} s)"),
                Ok(p) => {
                    failed += 1;
                    println!(
                        "FAILED  {kind} {name}: {}",
                        p.join("; ").chars().take(600).collect::<String>()
                    );
                }
                Err(e) => {
                    failed += 1;
                    println!(
                        "ERROR   {kind} {name}: {}",
                        e.to_string().chars().take(600).collect::<String>()
                    );
                }
            }
        };
    let (ntt, fft) = (
        lists || transforms().contains(&Transform::Ntt),
        !lists && transforms().contains(&Transform::Fft),
    );
    let exact = if lists { compare::lists } else { compare::bit_for_bit };
    for (name, text) in PUBLISHED.into_iter().filter(|(n, _)| ntt && !lists && wanted(n)) {
        let started = Instant::now();
        let run = || -> Result<Vec<String>, Failure> {
            Ok(VectorFile::parse(name, text)?.replay(device)?.failures)
        };
        told(name, "vectors", started, run());
    }
    let device = Planned { device, plan: request() };
    for case in shapes::all().into_iter().chain(shapes::grouped()).filter(|s| wanted(s.name)) {
        if ntt && case.shape.grouping == 1 {
            let started = Instant::now();
            told(
                case.name,
                "ntt",
                started,
                exact(&device, &CpuBackend::new(), &case.shape).map_err(Into::into),
            );
        }
        if fft {
            let started = Instant::now();
            told(
                case.name,
                "fft",
                started,
                compare::within_fft_error(&device, &CpuBackend::new(), &case.shape)
                    .map_err(Into::into),
            );
        }
    }
    for case in shapes::torus().into_iter().filter(|s| fft && wanted(s.name)) {
        let started = Instant::now();
        told(
            case.name,
            "fft",
            started,
            compare::on_the_torus(&device, &CpuBackend::new(), &case.shape).map_err(Into::into),
        );
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} cases failed").into()) }
}

/// Bootstrappings of random ciphertexts under random words as keys: the time does not depend on
/// what they mean.
fn bench(device: &CudaBackend, wanted: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
    let transforms = transforms();
    for set in ParameterSet::all().into_iter().filter(|s| wanted(s.name())) {
        let set = packed(set)?;
        for &transform in &transforms {
            let keys = SyntheticKeys::new(set.shape().clone(), 1);
            let started = Instant::now();
            let options =
                LoadOptions::default().with_transform(transform).with_plan(request()).by_model();
            match LoadRequest::new(&keys).options(&options).load(device) {
                Ok(engine) => {
                    let loaded = started.elapsed().as_secs_f64();
                    time(set.name(), &engine, &keys, number("BATCH").unwrap_or(16_384), loaded)?;
                }
                Err(e) => println!(
                    "{{\"set\":\"{}\",\"transform\":\"{transform}\",\"error\":{:?}}}",
                    set.name(),
                    e.to_string()
                ),
            }
        }
    }
    Ok(())
}

fn time(
    name: &str,
    engine: &Engine,
    keys: &SyntheticKeys,
    batch: usize,
    loaded: f64,
) -> Result<(), Failure> {
    let shape = keys.shape();
    // The batch counts bits: r of them share a ciphertext.
    let count = batch.div_ceil(shape.packing);
    engine.reserve(3 * count)?;
    let mut words = Words::new(3);
    let store: Vec<u32> = (0..2 * count * shape.ciphertext_len())
        .map(|_| words.below(1 << shape.log2_stored_modulus().min(32)) as u32)
        .collect();
    let modulus = shape.accumulator_modulus();
    let table: Vec<u64> =
        (0..shape.polynomial_size).map(|_| words.below(modulus.unwrap_or(u64::MAX))).collect();
    let table = engine.add_tables(&table)?;
    let jobs: Vec<BootstrapJob> = (0..count as u32)
        .map(|i| BootstrapJob {
            input: Combination::new(
                &[
                    Operand { ciphertext: i, weight: 1 },
                    Operand { ciphertext: i + count as u32, weight: 1 },
                ],
                0,
                shape.log2_stored_modulus(),
            ),
            table,
            table_stride: 0,
            output_offset: modulus.map_or(1 << 61, |m| (m + 4) / 8),
            log2_output_modulus: shape.log2_stored_modulus(),
            output: 2 * count as u32 + i,
            second: None,
        })
        .collect();
    let mut out = vec![0; count * shape.ciphertext_len()];
    let mut times = Vec::new();
    // Small batches are over in a millisecond: more of them cost nothing.
    for _ in 0..=number("ROUNDS").unwrap_or(if count < 64 { 24 } else { 3 }).max(1) {
        let started = Instant::now();
        engine.write(0, &store)?;
        engine.bootstrap(&jobs)?;
        engine.read(2 * count, &mut out)?;
        times.push(started.elapsed().as_secs_f64());
    }
    let best = times[1..].iter().copied().fold(f64::MAX, f64::min);
    let mut resident = f64::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        engine.bootstrap(&jobs)?;
        engine.synchronize()?;
        resident = resident.min(started.elapsed().as_secs_f64());
    }
    println!(
        "{}",
        format_args!(
            "{{\"set\":\"{name}\",\"r\":{},\"bits_per_second\":{:.0},\
             \"resident_bits_per_second\":{:.0},\"batch_ms\":{:.2},\"loaded_s\":{loaded:.1},\
             \"plan\":{}}}",
            shape.packing,
            (count * shape.packing) as f64 / best,
            (count * shape.packing) as f64 / resident,
            best * 1e3,
            engine.plan()
        )
    );
    Ok(())
}
