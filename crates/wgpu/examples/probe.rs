//! Replays the published vectors and times whole bootstrappings on one adapter, without cargo or files beside it.
//!
//! ```text
//! probe list
//! probe vectors DEVICE
//! probe exact DEVICE SET ...            every stage of a few jobs against the CPU twin, random keys
//! probe bench DEVICE SET[:r] ... [--batch 16384] [--repeat 3] [--checked] [--staged N] [--items N] [--steps N] [--rolled 0|1|2] [--latency]
//! ```
//! DEVICE is a name that `list` prints, with `@core` or `@int64` after it if wanted. Keys are random words: the work is
//! the same, the results mean nothing.

use girih_backend::{
    AccumulatorHome, Backend, BackendError, BootstrapJob, BootstrapShape, Combination, LoadOptions, NoProgress, Operand, PlanRequest,
    TileLayout,
};
use girih_conformance::synthetic::{SyntheticKeys, Words};
use girih_conformance::{compare, vectors};
use girih_cpu::CpuBackend;
use girih_tfhe::ParameterSet;
use girih_wgpu::{OpenOptions, Profile, Rolled, WgpuBackend, enumerate};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Settings {
    batch: usize,
    repeat: usize,
    checked: bool,
    latency: bool,
    staged: Option<usize>,
    items: Option<usize>,
    steps: Option<usize>,
    rolled: Option<Rolled>,
    sets: Vec<String>,
}

fn settings(arguments: &[String]) -> Result<Settings, Box<dyn std::error::Error>> {
    let mut all = Settings {
        batch: 16_384,
        repeat: 3,
        checked: false,
        latency: false,
        staged: None,
        items: None,
        steps: None,
        rolled: None,
        sets: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || rest.next().ok_or(format!("{argument} needs a number"))?.parse::<usize>().map_err(|e| e.to_string());
        match argument.as_str() {
            "--batch" => all.batch = number()?,
            "--repeat" => all.repeat = number()?,
            "--staged" => all.staged = Some(number()?),
            "--items" => all.items = Some(number()?),
            "--steps" => all.steps = Some(number()?),
            "--rolled" => all.rolled = Some([Rolled::Nothing, Rolled::Columns, Rolled::RowsAndColumns][number()?.min(2)]),
            "--checked" => all.checked = true,
            "--latency" => all.latency = true,
            set => all.sets.push(set.to_string()),
        }
    }
    Ok(all)
}

fn open(name: &str, checked: bool, rolled: Option<Rolled>) -> Result<WgpuBackend, BackendError> {
    let (id, suffix) = name.split_once('@').unwrap_or((name, ""));
    let options = OpenOptions {
        profile: match suffix {
            "core" => Some(Profile::Core),
            "int64" => Some(Profile::Int64),
            _ => None,
        },
        webgpu_limits: suffix == "core",
        checked: Some(checked),
        rolled,
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

fn request(device: &WgpuBackend, shape: &BootstrapShape, all: &Settings) -> PlanRequest {
    let lanes = device.info().limits.subgroup_threads;
    PlanRequest {
        layout: all.staged.map(|staged| TileLayout {
            accumulator: AccumulatorHome::Registers,
            accumulator_bytes: 4,
            exchange_bytes: 4,
            staged,
            rotation_bytes: 0,
            threads_per_column: false,
        }),
        subgroups_per_polynomial: all.items.map(|items| shape.polynomial_size / items / lanes),
        groups: None,
        steps_per_launch: all.steps,
        choices: Default::default(),
    }
}

fn bench(name: &str, all: &Settings) -> Outcome {
    let device = open(name, all.checked, all.rolled)?;
    for set in &all.sets {
        let shape = shape(set)?;
        let keys = SyntheticKeys::new(shape.clone(), 1);
        let options = LoadOptions { transform: None, plan: request(&device, &shape, all), ..Default::default() };
        let start = Instant::now();
        let engine = device.load(&keys, &options, &NoProgress)?;
        println!("{set}: loaded in {:.2} s, plan {}", start.elapsed().as_secs_f64(), engine.plan());
        let mut words = Words::new(5);
        let mut below = |count: usize, bound: u64| (0..count).map(|_| words.below(bound)).collect::<Vec<u64>>();
        let modulus = shape.accumulator_modulus().ok_or("a torus set")?;
        engine.add_tables(&below(shape.polynomial_size, modulus))?;
        let sizes = if all.latency { vec![1, all.batch] } else { vec![all.batch] };
        for batch in sizes {
            engine.reserve(3 * batch)?;
            let length = shape.ciphertext_len();
            let input: Vec<u32> = below(2 * batch * length, 1 << shape.log2_lwe_modulus).iter().map(|&x| x as u32).collect();
            let operand = |i: usize| Operand { ciphertext: i as u32, weight: 1 };
            let jobs: Vec<BootstrapJob> = (0..batch)
                .map(|i| BootstrapJob {
                    input: Combination::new(&[operand(2 * i), operand(2 * i + 1)], 0, shape.log2_lwe_modulus),
                    table: 0,
                    table_stride: 0,
                    output_offset: modulus / 8,
                    log2_output_modulus: shape.log2_lwe_modulus,
                    output: (2 * batch + i) as u32,
                })
                .collect();
            let mut output = vec![0u32; batch * length];
            let mut seconds = Vec::new();
            for _ in 0..=all.repeat {
                let start = Instant::now();
                engine.write(0, &input)?;
                engine.bootstrap(&jobs)?;
                engine.read(2 * batch, &mut output)?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            let first = seconds.remove(0);
            seconds.sort_by(f64::total_cmp);
            let median = seconds[seconds.len() / 2];
            let checksum = output.iter().fold(0u64, |x, &y| x.wrapping_mul(0x100_0000_01b3) ^ u64::from(y));
            println!(
                "{set}: batch {batch}: {:.1} ciphertexts/s, {:.1} bits/s, median {:.3} ms, best {:.3} ms, first {:.3} ms, checksum {checksum:016x}",
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

fn replay(name: &str) -> Outcome {
    for checked in [true, false] {
        let device = open(name, checked, None)?;
        for (file, text) in vectors::PUBLISHED {
            let start = Instant::now();
            let replay = vectors::VectorFile::parse(file, text)?.replay(&device)?;
            let verdict = if replay.failures.is_empty() { "exact".to_string() } else { replay.failures.join("\n") };
            println!("{name} checked {checked} {file}: {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

fn exact(name: &str, all: &Settings) -> Outcome {
    let device = open(name, all.checked, all.rolled)?;
    for set in &all.sets {
        // A few steps show every kernel path; all n would take the twin minutes for nothing new.
        let shape = BootstrapShape { lwe_dimension: 5, ..shape(set)? };
        let start = Instant::now();
        let differences = compare::bit_for_bit(&device, &CpuBackend::new(), &shape)?;
        let verdict = if differences.is_empty() { "exact".to_string() } else { differences.join("\n") };
        println!("{name} {set}: {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
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
        _ => Err("usage: probe list | vectors DEVICE | exact DEVICE SET.. | bench DEVICE SET[:r].. [--batch N] [--repeat N] [--checked] [--staged N] [--items N] [--steps N] [--rolled 0|1|2] [--latency]".into()),
    }
}
