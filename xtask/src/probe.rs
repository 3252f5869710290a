//! `cargo xtask probe`: replays the published vectors and times whole bootstrappings on one
//! adapter, without files beside it.
//!
//! ```text
//! probe list
//! probe vectors DEVICE
//! probe exact DEVICE SET ...       every stage of a few jobs against the CPU twin, random keys
//! probe bench DEVICE SET[:r] ... [--batch 16384].. [--repeat 3] [--checked] [--items N]
//!             [--staged N] [--rolled 0|1|2] [--signed 0|1] [--looped 0|1] [--parts N] [--few N]
//!             [--steps N] [--latency]
//! ```
//! DEVICE is a name that `list` prints, with `@core` or `@int64` after it if wanted. Keys are
//! random words: the work is the same, the results mean nothing.

use crate::Rest;
use girih::tfhe::ParameterSet;
use girih_backend::{BackendError, BootstrapShape, Engine, LoadOptions, LoadRequest, PlanRequest};
use girih_conformance::planned::Planned;
use girih_conformance::synthetic::{GateBatch, SyntheticKeys};
use girih_conformance::{compare, vectors};
use girih_cpu::CpuBackend;
use girih_wgpu::{OpenOptions, Profile, WgpuBackend, enumerate};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Settings {
    batches: Vec<usize>,
    repeat: usize,
    checked: bool,
    latency: bool,
    plan: PlanRequest,
    sets: Vec<String>,
}

fn settings(arguments: &[String]) -> Result<Settings, Box<dyn std::error::Error>> {
    let mut all = Settings {
        batches: Vec::new(),
        repeat: 3,
        checked: false,
        latency: false,
        plan: PlanRequest::default(),
        sets: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || {
            rest.next()
                .ok_or(format!("{argument} needs a number"))?
                .parse::<usize>()
                .map_err(|e| e.to_string())
        };
        match argument.as_str() {
            "--batch" => all.batches.push(number()?),
            "--repeat" => all.repeat = number()?,
            "--steps" => all.plan.steps_per_launch = Some(number()?),
            "--items" | "--staged" | "--rolled" | "--signed" | "--looped" | "--few" => {
                all.plan.choices.insert(argument[2..].to_string(), number()? as u32);
            }
            "--parts" => {
                all.plan.choices.insert("key_switch_parts".to_string(), number()? as u32);
            }
            "--checked" => all.checked = true,
            "--latency" => all.latency = true,
            set => all.sets.push(set.to_string()),
        }
    }
    if all.batches.is_empty() {
        all.batches.push(16_384);
    }
    Ok(all)
}

fn open(name: &str, checked: bool) -> Result<WgpuBackend, BackendError> {
    let (id, suffix) = name.split_once('@').unwrap_or((name, ""));
    let options = OpenOptions {
        profile: match suffix {
            "core" => Some(Profile::Core),
            "int64" => Some(Profile::Int64),
            _ => None,
        },
        webgpu_limits: suffix == "core",
        checked: Some(checked),
        rolled: None,
        ..Default::default()
    };
    WgpuBackend::open_with(id, &options)
}

fn shape(name: &str) -> Result<BootstrapShape, Box<dyn std::error::Error>> {
    let (name, packing) = name.split_once(':').map_or((name, None), |(n, r)| (n, Some(r)));
    let set = ParameterSet::by_name(name)?;
    let set = match packing {
        Some(r) => set.with_packing(r.parse()?)?,
        None => set,
    };
    Ok(set.shape().clone())
}

fn bench(name: &str, all: &Settings) -> Outcome {
    let device = open(name, all.checked)?;
    for set in &all.sets {
        let shape = shape(set)?;
        let keys = SyntheticKeys::new(shape.clone(), 1);
        let options = LoadOptions::default().with_plan(all.plan.clone()).by_model();
        let start = Instant::now();
        let engine = LoadRequest::new(&keys).options(&options).load(&device)?;
        println!("{set}: loaded in {:.2} s, plan {}", start.elapsed().as_secs_f64(), engine.plan());
        if all.latency {
            println!("{set}: {}", latency(&engine)?);
        }
        for &batch in &all.batches {
            let mut gates = GateBatch::prepare(&engine, batch)?;
            let mut seconds =
                (0..=all.repeat).map(|_| gates.run(&engine)).collect::<Result<Vec<_>, _>>()?;
            let checksum = gates.checksum();
            let first = seconds.remove(0);
            seconds.sort_by(f64::total_cmp);
            let median = seconds[seconds.len() / 2];
            println!(
                "{set}: batch {batch}: {:.1} ciphertexts/s, {:.1} bits/s, median {:.3} ms, best \
                 {:.3} ms, first {:.3} ms, checksum {checksum:016x}",
                batch as f64 / median,
                (batch * shape.packing) as f64 / median,
                1e3 * median,
                1e3 * seconds[0],
                1e3 * first
            );
        }
    }
    Ok(())
}

/// What a batch of one takes beyond its kernels: the time of one call less the slope of several
/// between one write and one read, which depend on one another on the device
/// and only queue on the host.
fn latency(engine: &Engine) -> Result<String, BackendError> {
    const MANY: usize = 9;
    let mut gates = GateBatch::prepare(engine, 1)?;
    let mut median = |calls: usize| {
        let mut seconds =
            (0..9).map(|_| gates.run_calls(engine, calls)).collect::<Result<Vec<_>, _>>()?;
        seconds.sort_by(f64::total_cmp);
        Ok::<_, BackendError>(1e3 * seconds[4])
    };
    median(1)?;
    let (one, many) = (median(1)?, median(MANY)?);
    let kernels = (many - one) / (MANY - 1) as f64;
    Ok(format!(
        "batch of one: {one:.3} ms, kernels {kernels:.3} ms, overhead {:.3} ms",
        one - kernels
    ))
}

fn replay(name: &str) -> Outcome {
    for checked in [true, false] {
        let device = open(name, checked)?;
        for (file, text) in vectors::PUBLISHED {
            let start = Instant::now();
            let replay = vectors::VectorFile::parse(file, text)?.replay(&device)?;
            let verdict = if replay.failures.is_empty() {
                "exact".to_string()
            } else {
                replay.failures.join("\n")
            };
            println!(
                "{name} checked {checked} {file}: {verdict} ({:.1} s)",
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}

fn exact(name: &str, all: &Settings) -> Outcome {
    let device = open(name, all.checked)?;
    let device = Planned { device: &device, plan: all.plan.clone() };
    for set in &all.sets {
        // A few steps show every kernel path; all n would take the twin minutes for nothing new.
        let shape = BootstrapShape { lwe_dimension: 5, ..shape(set)? };
        let start = Instant::now();
        let differences = compare::bit_for_bit(&device, &CpuBackend::new(), &shape)?;
        let verdict =
            if differences.is_empty() { "exact".to_string() } else { differences.join("\n") };
        println!("{name} {set}: {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// What `cargo xtask probe` runs.
///
/// # Errors
/// What went wrong, in words.
pub fn run(arguments: &Rest) -> anyhow::Result<bool> {
    start(&arguments.words).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(true)
}

fn start(arguments: &[String]) -> Outcome {
    let text: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match text[..] {
        ["list"] => {
            for info in enumerate() {
                println!("{}: {} {:?} {:?}", info.id, info.name, info.limits, info.notes);
            }
            Ok(())
        }
        ["vectors", device] => replay(device),
        ["exact", device, ..] => exact(device, &settings(&arguments[2..])?),
        ["bench", device, ..] => bench(device, &settings(&arguments[2..])?),
        _ => {
            Err("usage: probe list | vectors DEVICE | exact DEVICE SET.. | bench DEVICE SET[:r].. \
                  [--batch N].. [--repeat N] [--checked] [--items N] [--staged N] [--rolled 0|1|2] \
                  [--signed 0|1] [--looped 0|1] [--parts N] [--few N] [--steps N] [--latency]"
                .into())
        }
    }
}
