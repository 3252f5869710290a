//! `cargo xtask tune`: measures the plans that a device lists for a set and keeps the fastest.

use crate::progress::Terminal;
use crate::record::{self, Milliseconds};
use crate::{bench, ckks};
use anyhow::{Context, Result, bail};
use girih::ckks::CkksParameters;
use girih::{
    Backend, BootstrapShape, Device, DeviceKind, LoadOptions, LoadRequest, ParameterSet, Progress,
    Transform, TunedPlan, TunedPlans,
};
use girih_conformance::synthetic::{GateBatch, SyntheticKeys};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// The device: cpu, wgpu:0, wgpu:llvmpipe, cuda:0, or auto for the fastest real one.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// The parameter sets, of TFHE or CKKS, by name, commas between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "STD128")]
    set: Vec<String>,
    /// What plans of CKKS sets are measured by: multiply, bootstrap and others of `bench --help`
    /// [default: multiply].
    #[arg(long)]
    pub op: Option<bench::Operation>,
    /// Messages that share a ciphertext (r), 1 to 16 [default: the set's own].
    #[arg(long, value_name = "R")]
    packing: Option<usize>,
    /// Ciphertexts in a batch
    /// [default: 4096 on a GPU, 4 on a software driver or the CPU; of CKKS 1].
    #[arg(long)]
    pub batch: Option<usize>,
    /// Timed runs of each plan, after one that warms up.
    #[arg(long, default_value_t = 3)]
    pub repeat: usize,
    /// At most this many plans a set (of CKKS: a key switching), in the device's order of promise.
    #[arg(long, value_name = "COUNT")]
    pub most: Option<std::num::NonZeroUsize>,
    /// Measure only; store nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Write the measurements as JSON to FILE (`-` for standard output).
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

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

pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.repeat == 0 || arguments.batch == Some(0) {
        bail!("--repeat and --batch must be at least 1");
    }
    let sets = arguments.set.iter().map(|name| Set::find(arguments, name));
    let sets = sets.collect::<Result<Vec<_>>>()?;
    let device = Device::open(&arguments.device)?;
    let path =
        TunedPlans::path().context("this system names no cache folder: set XDG_CACHE_HOME")?;
    check_files(arguments, &path)?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!(
        "device    {} ({}), plans of {}",
        device.info().id,
        device.info().name,
        device.backend().identity()
    ));
    let mut all = Vec::new();
    let agree = sets.iter().try_fold(true, |agree, set| {
        let (measured, agrees) = match set {
            Set::Ckks(set) => ckks::tune::run(arguments, &device, set, &path, &say)?,
            Set::Tfhe(set) => tune(arguments, &device, set, &path, &say)?,
        };
        all.extend(measured);
        Ok(agrees && agree)
    });
    // What was measured before a failure is kept.
    if let Some(json) = &arguments.json
        && !all.is_empty()
    {
        record::write_json(json, &all.into())?;
    }
    agree
}

/// A set of either scheme.
enum Set {
    Tfhe(ParameterSet),
    Ckks(CkksParameters),
}

impl Set {
    fn find(arguments: &Arguments, name: &String) -> Result<Self> {
        if name.contains("CKKS") {
            if arguments.packing.is_some() {
                bail!("--packing: is an option of TFHE sets; leave it out for {name}");
            }
            return Ok(Self::Ckks(CkksParameters::by_name(name)?));
        }
        if arguments.op.is_some() {
            bail!("--op: plans of {name} are measured by gates; --op is for CKKS sets");
        }
        let set = ParameterSet::by_name(name)?;
        Ok(Self::Tfhe(bench::repack(set, Some(name), arguments.packing)?))
    }
}

/// Measures the plans of one set of TFHE and stores the fastest; the measurements, and whether the
/// exact ones agree.
fn tune(
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

/// Refuses files that could not be read or written when the measurements are there.
fn check_files(arguments: &Arguments, plans: &Path) -> Result<()> {
    if let Some(json) = &arguments.json {
        record::check_file("--json", json)?;
    }
    if !arguments.dry_run {
        TunedPlans::read(plans)?;
        // They are written beside their place first, and others may be reading them.
        record::check_file("tuned plans:", &plans.with_extension("json.check").to_string_lossy())?;
    }
    Ok(())
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

/// Says behind `plan` what its measurement brought, or why it was skipped.
pub fn told<M, E: std::fmt::Display>(
    say: &dyn Fn(String),
    plan: &str,
    measured: Result<M, E>,
    figures: impl FnOnce(&M) -> String,
) -> Option<M> {
    match measured {
        Ok(m) => {
            say(format!("{plan}{}", figures(&m)));
            Some(m)
        }
        Err(error) => {
            say(format!("{plan} skipped: {error:#}"));
            None
        }
    }
}

fn measure(
    backend: &dyn Backend,
    set: &ParameterSet,
    options: LoadOptions,
    batch: usize,
    repeat: usize,
) -> girih::Result<Measurement> {
    let progress: &dyn Progress = &Terminal::new();
    let start = Instant::now();
    let keys = SyntheticKeys::new(set.shape().clone(), 1);
    let model = LoadOptions { untuned: true, ..options.clone() };
    let engine = LoadRequest::new(&keys).options(&model).progress(progress).load(backend)?;
    let load_s = start.elapsed().as_secs_f64();
    let mut gates = GateBatch::prepare(&engine, batch)?;
    gates.run(&engine)?;
    let samples =
        (0..repeat).map(|_| Ok(1e3 * gates.run(&engine)?)).collect::<girih::Result<Vec<f64>>>()?;
    let ms = Milliseconds::of(&samples);
    Ok(Measurement {
        set: set.name().into(),
        packing: set.packing(),
        options: LoadOptions { transform: Some(engine.transform()), ..options },
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
