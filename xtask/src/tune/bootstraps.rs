//! Plans of sets of TFHE, measured by gates.

use super::arguments::{Arguments, told};
use crate::record::Milliseconds;
use anyhow::{Context, Result, bail};
use girih::contract::{Backend, BootstrapShape, LoadRequest};
use girih::device::{TerminalProgress, TunedPlan, TunedPlans};
use girih::tfhe::ParameterSet;
use girih::{Device, DeviceKind, LoadOptions, Progress, Transform};
use girih_conformance::synthetic::{GateBatch, SyntheticKeys};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// What one plan measured.
#[derive(Serialize)]
struct Measurement {
    set: String,
    packing: usize,
    options: LoadOptions,
    ms: Milliseconds,
    ciphertexts_per_s: f64,
    load_s: f64,
    checksum: u64,
}

/// Measures the plans of one set of TFHE and stores the fastest; the measurements, and whether the
/// exact ones agree.
pub fn run(
    arguments: &Arguments,
    device: &Device,
    set: &ParameterSet,
    path: &Path,
    say: &dyn Fn(String),
) -> Result<(Vec<serde_json::Value>, bool)> {
    let measured = measure_set(arguments, device, set, say)?;
    let agree = agreement(&measured, say);
    if agree && !arguments.dry_run {
        store(path, &device.backend().identity(), set.shape(), &measured, say)?;
    }
    let values = measured.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    Ok((values, agree))
}

fn measure_set(
    arguments: &Arguments,
    device: &Device,
    set: &ParameterSet,
    say: &dyn Fn(String),
) -> Result<Vec<Measurement>> {
    let backend = device.backend();
    let bulk = device.info().kind != DeviceKind::Cpu && !device.info().software;
    let batch = arguments.batch.unwrap_or(if bulk { 4096 } else { 4 });
    let loader = backend
        .bootstrap()
        .with_context(|| format!("{} runs no bootstrappings", device.info().id))?;
    let mut plans = loader.alternatives(set.shape())?;
    plans.truncate(arguments.most.map_or(usize::MAX, usize::from));
    say(format!(
        "set       {} r={}: {} plans, batches of {batch} ciphertexts, random keys",
        set.name(),
        set.packing(),
        plans.len()
    ));
    say(format!(
        "{:<10}{:<56}{:>16}{:>12}{:>9}",
        "transform", "plan", "ciphertexts/s", "median ms", "load s"
    ));
    let mut all = Vec::new();
    for options in plans {
        let transform = options.transform.map_or("any".into(), |t| t.to_string());
        let plan = options.plan.to_string();
        let measured = measure(backend, set, options, batch, arguments.repeat);
        all.extend(told(say, &format!("{transform:<10}{plan:<56}"), measured, |m| {
            format!("{:>16.1}{:>12.3}{:>9.2}", m.ciphertexts_per_s, m.ms.median, m.load_s)
        }));
    }
    if all.is_empty() {
        bail!("no plan of {} ran on {}", set.name(), device.info().name);
    }
    Ok(all)
}

fn measure(
    backend: &dyn Backend,
    set: &ParameterSet,
    options: LoadOptions,
    batch: usize,
    repeat: usize,
) -> girih::tfhe::Result<Measurement> {
    let progress: &dyn Progress = &TerminalProgress::new().with_lines();
    let start = Instant::now();
    let keys = SyntheticKeys::new(set.shape().clone(), 1);
    let model = options.clone().by_model();
    let engine = LoadRequest::new(&keys).options(&model).progress(progress).load(backend)?;
    let load_s = start.elapsed().as_secs_f64();
    let mut gates = GateBatch::prepare(&engine, batch)?;
    gates.run(&engine)?;
    let samples = (0..repeat)
        .map(|_| Ok(1e3 * gates.run(&engine)?))
        .collect::<girih::tfhe::Result<Vec<f64>>>()?;
    let ms = Milliseconds::of(&samples);
    Ok(Measurement {
        set: set.name().into(),
        packing: set.packing(),
        options: options.with_transform(engine.transform()),
        ciphertexts_per_s: 1e3 * batch as f64 / ms.median,
        ms,
        load_s,
        checksum: gates.checksum(),
    })
}

/// Integer transforms are exact: plans that differ in a bit of the result are wrong, and nothing of
/// theirs is stored.
fn agreement(measured: &[Measurement], say: &dyn Fn(String)) -> bool {
    let exact: Vec<&Measurement> =
        measured.iter().filter(|m| m.options.transform == Some(Transform::Ntt)).collect();
    let agree = exact.windows(2).all(|w| w[0].checksum == w[1].checksum);
    if !agree {
        say("the exact plans differ in their results: nothing is stored".into());
        exact.iter().for_each(|m| say(format!("  {:016x} {}", m.checksum, m.options.plan)));
    }
    agree
}

/// Keeps the fastest plan of each transform.
fn store(
    path: &Path,
    device: &str,
    shape: &BootstrapShape,
    measured: &[Measurement],
    say: &dyn Fn(String),
) -> Result<()> {
    let (mut plans, note) = TunedPlans::read(path)?;
    if let Some(note) = note {
        say(note);
    }
    for transform in [Transform::Ntt, Transform::Fft] {
        let of = measured.iter().filter(|m| m.options.transform == Some(transform));
        let Some(best) = of.max_by(|a, b| a.ciphertexts_per_s.total_cmp(&b.ciphertexts_per_s))
        else {
            continue;
        };
        say(format!(
            "best      {transform} {} ({:.1} ciphertexts/s)",
            best.options.plan, best.ciphertexts_per_s
        ));
        plans.put(TunedPlan::new(device, shape, &best.options, best.ciphertexts_per_s)?);
    }
    plans.write(path)?;
    say(format!("stored    in {}", path.display()));
    Ok(())
}
