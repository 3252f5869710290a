//! `cargo xtask poly-check`: checks and times the poly kernels on a GPU, with nothing beside this
//! one program.
//!
//! ```text
//! cargo xtask poly-check [--device cuda:0] [--check] [--time] [--knobs] [--random N]
//!                        [--sources FOLDER] [--compile 90]
//! ```
//!
//! `--check` compares every word of switches between bases and of random programs with the
//! interpreter on the host; `--time` times them; without either, both. `--knobs` times one case
//! under other plans. `--sources` writes the texts of the kernels instead, for a compiler without a
//! GPU; `--compile` has NVRTC compile them for a compute capability.

mod cases;

use crate::Rest;
use cases::{Case, cases, ring};
use girih_backend::poly::random::{Numbers, RandomProgram, random_program};
use girih_backend::poly::{
    Bindings, HostPolynomials, Loader, Place, PolyDevice, PolyPlan, Program, ResidentShape,
    interpret, lower,
};
use girih_backend::{Backend, BackendError, NoProgress, timeline};
use girih_cuda::{CudaBackend, PolyKnobs, compile, limits_of, poly_kernel_sources};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// A program on a device with everything that it reads.
struct Loaded {
    inputs: Vec<Vec<u32>>,
    host: HostPolynomials,
    routine: u64,
    calls: Vec<Bindings>,
}

fn load(
    device: &dyn PolyDevice,
    case: &Case,
    plan: &PolyPlan,
    calls: usize,
) -> Result<Loaded, Failure> {
    let ring = case.program.ring();
    let degree = ring.degree();
    let mut numbers = Numbers::new(1);
    let polynomial = |s: &ResidentShape, n: &mut Numbers| {
        (s.clone(), n.limbs(ring, &s.basis, degree >> s.log2_run))
    };
    let host = HostPolynomials::new(
        ring,
        case.residents.iter().map(|s| polynomial(s, &mut numbers)).collect(),
    )?;
    let residents = device.load(&host, &NoProgress)?;
    let inputs: Vec<Vec<u32>> =
        case.inputs.iter().map(|b| numbers.limbs(ring, b, degree)).collect();
    let schedule = Arc::new(lower(&case.program, plan, &[])?);
    let before = Instant::now();
    let routine = device.prepare(&schedule, &residents)?;
    device.settle()?;
    let kernels: Vec<&str> = schedule.launches.iter().map(|l| l.kernel()).collect();
    println!(
        "{}: {} launches ({}), prepared in {:.1} s",
        case.name,
        kernels.len(),
        kernels.join(" "),
        before.elapsed().as_secs_f64()
    );
    let bound = bind(device, &case.program, &inputs, calls)?;
    Ok(Loaded { inputs, host, routine, calls: bound })
}

fn bind(
    device: &dyn PolyDevice,
    program: &Program,
    inputs: &[Vec<u32>],
    calls: usize,
) -> Result<Vec<Bindings>, BackendError> {
    let degree = program.ring().degree();
    let place = |limbs| Ok::<_, BackendError>(Place { buffer: device.allocate(limbs)?, first: 0 });
    let mut all = Vec::new();
    for _ in 0..calls {
        let mut call = Bindings::default();
        for words in inputs {
            let to = place(words.len() / degree)?;
            device.write(to, words)?;
            call.inputs.push(to);
        }
        for &value in program.outputs() {
            call.outputs.push(place(program.type_of(value).basis.len())?);
        }
        all.push(call);
    }
    Ok(all)
}

fn check(
    device: &dyn PolyDevice,
    program: &Program,
    host: &HostPolynomials,
    loaded: &Loaded,
    name: &str,
) -> Result<usize, Failure> {
    let wanted = interpret(program, host, &loaded.inputs, &[])?;
    device.run(loaded.routine, &loaded.calls)?;
    let mut wrong = 0;
    for call in &loaded.calls {
        for (place, wanted) in call.outputs.iter().zip(&wanted.outputs) {
            let mut words = vec![0; wanted.len()];
            device.read(*place, &mut words)?;
            wrong += words.iter().zip(wanted).filter(|(a, b)| a != b).count();
        }
    }
    let all: usize = wanted.outputs.iter().map(Vec::len).sum::<usize>() * loaded.calls.len();
    println!("  {name}: {wrong} wrong words of {all}");
    Ok(wrong)
}

/// Medians of replays, and of each launch alone.
fn time(device: &dyn PolyDevice, loaded: &Loaded, name: &str) -> Result<(), Failure> {
    const REPEATS: usize = 200;
    let calls = loaded.calls.len();
    device.run(loaded.routine, &loaded.calls)?;
    device.synchronize()?;
    let mut all = Vec::new();
    for _ in 0..7 {
        let before = Instant::now();
        for _ in 0..REPEATS {
            device.run(loaded.routine, &loaded.calls)?;
        }
        device.synchronize()?;
        all.push(before.elapsed().as_secs_f64() * 1e6 / REPEATS as f64);
    }
    all.sort_by(f64::total_cmp);
    println!(
        "  {name}: {:.1} us a replay of {calls} calls ({:.1} to {:.1})",
        all[3], all[0], all[6]
    );
    Ok(())
}

/// Each launch by itself; launches are not recorded while the timeline is on.
fn time_launches(device: &dyn PolyDevice, loaded: &Loaded) -> Result<(), Failure> {
    const REPEATS: usize = 20;
    timeline::start();
    let ran = (0..REPEATS).try_for_each(|_| device.run(loaded.routine, &loaded.calls));
    let synchronized = device.synchronize();
    let spans = timeline::stop();
    ran?;
    synchronized?;
    let spans: Vec<_> = spans.into_iter().filter(|s| s.what.contains("blocks")).collect();
    let launches = spans.len() / REPEATS;
    let mut medians: BTreeMap<usize, (String, Vec<f64>)> = BTreeMap::new();
    for (i, span) in spans.iter().enumerate() {
        medians
            .entry(i % launches.max(1))
            .or_insert_with(|| (span.what.clone(), Vec::new()))
            .1
            .push((span.end_ms - span.start_ms) * 1e3);
    }
    for (what, mut times) in medians.into_values() {
        times.sort_by(f64::total_cmp);
        println!("    {:>8.1} us  {what}", times[times.len() / 2]);
    }
    Ok(())
}

fn random(device_of: &dyn Loader, count: u64) -> Result<usize, Failure> {
    let mut wrong = 0;
    for log2_degree in [4, 8, 10, 11, 13, 14, 15, 16, 17] {
        for seed in 0..count {
            let RandomProgram { program, residents, inputs, .. } =
                random_program(log2_degree, 8, seed);
            let device = device_of.open(program.ring().clone())?;
            let loaded_residents = device.load(&residents, &NoProgress)?;
            let plan = PolyPlan { fuse: seed % 4 != 3, ..device_of.plan(program.ring()) };
            let routine =
                device.prepare(&Arc::new(lower(&program, &plan, &[])?), &loaded_residents)?;
            let calls = bind(device.as_ref(), &program, &inputs, 2)?;
            let loaded = Loaded { inputs, host: residents, routine, calls };
            wrong += check(
                device.as_ref(),
                &program,
                &loaded.host,
                &loaded,
                &format!("random, 2^{log2_degree}, seed {seed}"),
            )?;
        }
    }
    Ok(wrong)
}

fn write_sources(folder: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for narrow in [true, false] {
        let ring = ring(narrow);
        for case in cases(&ring, &[47, 23, 10])? {
            let schedule = lower(&case.program, &PolyPlan::default(), &[])?;
            for (i, (source, shared)) in
                poly_kernel_sources(&ring, &limits_of(90), &schedule, &case.residents)?
                    .into_iter()
                    .enumerate()
            {
                let name = format!(
                    "{}-{i}-{}-{shared}",
                    case.name.replace([' ', ','], "_"),
                    if narrow { "narrow" } else { "wide" }
                );
                let folder = format!("{folder}/{name}");
                std::fs::create_dir_all(&folder)?;
                for (header, text) in source.file.headers {
                    std::fs::write(format!("{folder}/{header}"), text)?;
                }
                std::fs::write(format!("{folder}/constants.cuh"), &source.constants)?;
                std::fs::write(format!("{folder}/{}.cu", source.file.name), source.file.text)?;
            }
        }
    }
    Ok(())
}

/// What opens rings on a device.
fn opener(backend: &CudaBackend) -> Result<&dyn Loader, Failure> {
    backend.poly().ok_or_else(|| "the device runs no programs on polynomials".into())
}

/// One case, timed by launch, under other numbers of the plan.
fn time_knobs(backend: &mut CudaBackend) -> Result<(), Failure> {
    let own = PolyKnobs::default();
    let all = [
        own,
        PolyKnobs { most_fetched: 8, ..own },
        PolyKnobs { most_fetched: 4, ..own },
        PolyKnobs { most_fetched: 0, ..own },
        PolyKnobs { small_blocks: 0, ..own },
        PolyKnobs { team_warps: 12, ..own },
        PolyKnobs { team_warps: 20, ..own },
        PolyKnobs { lone_warps: 16, ..own },
        PolyKnobs { lone_warps: 24, ..own },
        PolyKnobs { column_blocks: 1, ..own },
    ];
    let ring = ring(true);
    for knobs in all {
        println!("{knobs:?}");
        backend.set_poly_knobs(knobs);
        let device = opener(backend)?.open(ring.clone())?;
        for case in cases(&ring, &[47])?.iter().take(1) {
            let loaded = load(device.as_ref(), case, &opener(backend)?.plan(&ring), 1)?;
            time(device.as_ref(), &loaded, &case.name)?;
            time_launches(device.as_ref(), &loaded)?;
        }
    }
    backend.set_poly_knobs(own);
    Ok(())
}

/// Every kernel of the cases, compiled by NVRTC.
fn compile_all(capability: u32) -> Result<(), Failure> {
    for narrow in [true, false] {
        let ring = ring(narrow);
        for case in cases(&ring, &[47, 23, 10])? {
            let schedule = lower(&case.program, &PolyPlan::default(), &[])?;
            for (source, _) in
                poly_kernel_sources(&ring, &limits_of(capability), &schedule, &case.residents)?
            {
                let before = Instant::now();
                let cubin = compile(&source, capability, |note| eprintln!("{note}"))?;
                println!(
                    "{}, {}: {} bytes in {:.1} s",
                    case.name,
                    source.file.name,
                    cubin.len(),
                    before.elapsed().as_secs_f64()
                );
            }
        }
    }
    Ok(())
}

/// What `cargo xtask poly-check` runs.
///
/// # Errors
/// What went wrong, in words.
pub fn run(arguments: &Rest) -> anyhow::Result<bool> {
    start(&arguments.words).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(true)
}

fn start(arguments: &[String]) -> Result<(), Failure> {
    let (mut name, mut wants_check, mut wants_time, mut count) =
        (String::from("cuda:0"), false, false, 3);
    let mut wants_knobs = false;
    let mut arguments = arguments.iter().cloned();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--device" => name = value()?,
            "--random" => count = value()?.parse()?,
            "--sources" => return write_sources(&value()?),
            "--compile" => return compile_all(value()?.parse()?),
            "--check" => wants_check = true,
            "--time" => wants_time = true,
            "--knobs" => wants_knobs = true,
            other => {
                return Err(format!(
                    "unknown argument {other}: there are --device, --check, --time, \
                             --random, --sources and --compile"
                )
                .into());
            }
        }
    }
    let both = !wants_check && !wants_time;
    let mut backend = CudaBackend::open(&name)?;
    println!("{}, {}", backend.info().name, backend.info().notes.join(", "));
    if wants_knobs {
        return time_knobs(&mut backend);
    }
    let mut wrong = 0;
    for narrow in [true, false] {
        println!(
            "{}",
            if narrow { "primes below 2^30" } else { "special primes and each fourth above 2^30" }
        );
        let ring = ring(narrow);
        let device = opener(&backend)?.open(ring.clone())?;
        let plan = opener(&backend)?.plan(&ring);
        for case in cases(&ring, &[47, 23, 10])? {
            let loaded = load(device.as_ref(), &case, &plan, 1)?;
            if wants_check || both {
                wrong += check(device.as_ref(), &case.program, &loaded.host, &loaded, &case.name)?;
            }
            if wants_time || both {
                time(device.as_ref(), &loaded, &case.name)?;
                time_launches(device.as_ref(), &loaded)?;
                if case.name.contains("10") {
                    let calls = bind(device.as_ref(), &case.program, &loaded.inputs, 4)?;
                    time(device.as_ref(), &Loaded { calls, ..loaded }, &case.name)?;
                }
            }
        }
        println!("{} bytes in use", device.bytes_in_use());
    }
    if wants_check || both {
        wrong += random(opener(&backend)?, count)?;
        println!("{wrong} wrong words in all");
    }
    if wrong == 0 { Ok(()) } else { Err("wrong words".into()) }
}
