//! `cargo xtask kernels`: every kernel variant in use, compiled or translated without a GPU.

use crate::drivers;
use crate::nvcc::{self, Nvcc};
use crate::nvrtc;
use crate::poly_kernels::{self, PolyKernel};
use crate::record::today;
use anyhow::{Context, Result};
use girih::ckks::CkksParameters;
use girih::tfhe::ParameterSet;
use girih::{BackendError, PlanRequest};
use girih_backend::DeviceLimits;
use girih_cuda::{BLIND_ROTATE, BLIND_ROTATE_SPREAD, Source, Variant};
use girih_wgpu::Vendor;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// CUDA architectures to compile for, such as sm_80,sm_89,sm_90.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "sm_90",
        value_parser = architecture,
        conflicts_with = "wgsl_only"
    )]
    arch: Vec<(String, u32)>,
    /// Only these sets, commas between them; none for `none` [default: all built-in ones].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    set: Vec<String>,
    /// CKKS sets whose products and rotations are compiled, commas between them; none for `none`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = CKKS_SET)]
    ckks_set: Vec<String>,
    /// Whole bootstrappings of the CKKS sets as well: some tens of kernels.
    #[arg(long, conflicts_with = "wgsl_only")]
    bootstrapping: bool,
    /// Of the CKKS sets only the kernels that any program of their degrees can run with, and what
    /// their products, rotations and bootstrappings take beside these where blocks have little
    /// memory: on sm_86, sm_89 and sm_120.
    #[arg(long, requires = "bundle", conflicts_with = "bootstrapping")]
    general: bool,
    /// The CUDA compiler [default: nvcc on the path]; `wheels` installs NVIDIA's Python wheels
    /// below `target` and uses those.
    #[arg(long, value_name = "FILE", conflicts_with = "wgsl_only")]
    nvcc: Option<PathBuf>,
    /// Whose compiler the WGSL kernels of gates are planned for: nvidia, amd or intel.
    #[arg(long, value_name = "NAME", value_parser = vendor, default_value = "nvidia")]
    vendor: Vendor,
    /// Instead of checks, compile the CUDA kernels by NVRTC and put them into DIR, where devices of
    /// these architectures find them that run with GIRIH_KERNELS=DIR; `cargo xtask python --kernels
    /// DIR` puts them into a wheel.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["wgsl_only", "nvcc"])]
    bundle: Option<PathBuf>,
    /// Multiprocessors of the devices, on which plans depend [default: those of the largest card of
    /// an architecture, 1 where nothing is made to run].
    #[arg(long, value_name = "N", requires = "bundle")]
    multiprocessors: Option<usize>,
    /// Where NVRTC is [default: on the library path]; `wheels` installs NVIDIA's Python wheel of it
    /// below `target`.
    #[arg(long, value_name = "FOLDER", requires = "bundle")]
    nvrtc: Option<PathBuf>,
    /// Compile nothing: print when all CUDA kernels last passed for the architectures that CI
    /// leaves out.
    #[arg(long, conflicts_with_all = ["bundle", "wgsl_only"])]
    last: bool,
    /// Leave the CUDA kernels out.
    #[arg(long)]
    wgsl_only: bool,
    /// Leave the WGSL kernels out.
    #[arg(long, conflicts_with = "wgsl_only")]
    cuda_only: bool,
    #[command(flatten)]
    drivers: drivers::DriverArguments,
}

fn vendor(text: &str) -> Result<Vendor, String> {
    match text {
        "nvidia" => Ok(Vendor::Nvidia),
        "amd" => Ok(Vendor::Amd),
        "intel" => Ok(Vendor::Intel),
        _ => Err("there are nvidia, amd and intel".into()),
    }
}

/// `sm_90`, with its number.
fn architecture(text: &str) -> Result<(String, u32), String> {
    match text.strip_prefix("sm_").and_then(|number| number.parse().ok()) {
        Some(number) if number >= 50 => Ok((text.to_owned(), number)),
        _ => Err(format!("{text} must look like sm_90")),
    }
}

/// The packing at which BOLT-FHE runs its sets; the others have one slot.
const PACKINGS: [(&str, usize); 6] =
    [("M1", 3), ("M2", 2), ("M3", 5), ("M4", 4), ("M5", 5), ("M6", 2)];

/// The architectures that CI leaves out: those of the oldest cards, of the first with clusters of
/// blocks and of the newest stand for what lies between.
const BY_HAND: [&str; 2] = ["sm_89", "sm_100"];

/// The CKKS set of which CI compiles products and rotations.
const CKKS_SET: &str = "CKKS_D40";

/// Whether a run compiles all that is left to commands by hand, so that a note is due.
fn is_by_hand(arguments: &Arguments) -> bool {
    let all_sets = arguments.set.is_empty() && arguments.ckks_set.iter().any(|s| s == CKKS_SET);
    let compiles = |wanted: &str| arguments.arch.iter().any(|(name, _)| name == wanted);
    all_sets && BY_HAND.into_iter().all(compiles)
}

/// Where it is kept when they last passed.
fn note() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/compilers/last-kernels.txt")
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.last {
        let last = std::fs::read_to_string(note()).context("no run has left a note")?;
        println!("left out, since it compiles every set: {}", last.trim());
        return Ok(true);
    }
    let sets = sets(&arguments.set)?;
    if let Some(folder) = &arguments.bundle {
        return match &arguments.nvrtc {
            Some(name) if name.as_os_str() == "wheels" => nvrtc::again(&nvrtc::from_wheels()?),
            Some(libraries) => nvrtc::again(libraries),
            None => bundle(arguments, &sets, folder),
        };
    }
    if drivers::wanted(&arguments.drivers) {
        return drivers::run(&arguments.drivers, &sets, &ckks_sets(arguments)?);
    }
    let mut good = arguments.cuda_only || wgsl(&sets, arguments.vendor)? & poly_wgsl(arguments)?;
    if !arguments.wgsl_only {
        good &= cuda(arguments, &sets)?;
    }
    Ok(good)
}

/// The sets at the packing they are run at.
fn sets(names: &[String]) -> Result<Vec<ParameterSet>> {
    let wanted = if names == ["none"] {
        Vec::new()
    } else if names.is_empty() {
        ParameterSet::all()
    } else {
        names.iter().map(|n| ParameterSet::by_name(n)).collect::<girih::tfhe::Result<Vec<_>>>()?
    };
    let pack = |set: ParameterSet| match PACKINGS.iter().find(|(n, _)| *n == set.name()) {
        Some((_, r)) => set.with_packing(*r),
        None => Ok(set),
    };
    Ok(wanted.into_iter().map(pack).collect::<girih::tfhe::Result<_>>()?)
}

fn wgsl(sets: &[ParameterSet], vendor: Vendor) -> Result<bool> {
    println!("WGSL: validated, translated to SPIR-V, Metal and HLSL, compared with the plan");
    println!(
        "{:<18}{:<24}{:<8}{:>10}{:>9}{:>9}{:>10}  limits",
        "set", "kernel", "profile", "workgroup", "threads", "buffers", "SPIR-V"
    );
    let mut good = true;
    for set in sets {
        let named = [(format!("{} r={}", set.name(), set.packing()), set.shape().clone())];
        let (variants, limits) =
            match girih_wgpu::kernel_variants(&named, None, vendor, &PlanRequest::default()) {
                Ok(variants) => (variants, "WebGPU defaults".to_owned()),
                Err(BackendError::DoesNotFit { reason, .. }) => (
                    girih_wgpu::kernel_variants(
                        &named,
                        Some(&girih_wgpu::desktop_gpu()),
                        vendor,
                        &PlanRequest::default(),
                    )?,
                    reason.to_string(),
                ),
                Err(error) => return Err(error.into()),
            };
        for variant in variants {
            let kernel = if variant.few { "  for few" } else { variant.kernel.label() };
            let profile = variant.profile.to_string();
            match variant.check() {
                Ok(_) if variant.traced => {}
                Ok(check) => println!(
                    "{:<18}{kernel:<24}{profile:<8}{:>10}{:>9}{:>9}{:>10}  {limits}",
                    variant.set,
                    check.workgroup_bytes,
                    check.workgroup_threads,
                    check.storage_buffers,
                    check.spirv_words
                ),
                Err(why) => {
                    good = false;
                    println!("{:<18}{kernel:<24}{profile:<8} FAILED: {why}", variant.set);
                }
            }
        }
    }
    Ok(good)
}

fn ckks_sets(arguments: &Arguments) -> Result<Vec<CkksParameters>> {
    let named = arguments.ckks_set.iter().filter(|name| *name != "none");
    named.map(|name| Ok(CkksParameters::by_name(name)?)).collect()
}

/// The kernels of programs on polynomials, for the degrees of the CKKS sets.
fn poly_wgsl(arguments: &Arguments) -> Result<bool> {
    let mut good = true;
    let sets = ckks_sets(arguments)?;
    let degrees: BTreeSet<u32> = sets.iter().map(|set| set.chain().log2_degree()).collect();
    let builds = |degree| girih_wgpu::poly_builds(degree, arguments.vendor);
    for build in degrees.into_iter().flat_map(builds) {
        let title = format!("N = 2^{}", build.log2_degree);
        let both = if build.invariant { ", both rings" } else { "" };
        let (kernel, profile) = (build.kernel.name(), build.profile.to_string());
        match build.check() {
            Ok(check) => println!(
                "{title:<18}{kernel:<18}{profile:<8}{:>10}{:>9}{:>9}{:>10}  {} slots a \
                 thread{both}",
                check.workgroup_bytes,
                check.workgroup_threads,
                check.storage_buffers,
                check.spirv_words,
                build.slots
            ),
            Err(why) => {
                good = false;
                println!("{title:<18}{kernel:<18}{profile:<8} FAILED: {why}");
            }
        }
    }
    Ok(good)
}

fn cuda(arguments: &Arguments, sets: &[ParameterSet]) -> Result<bool> {
    let nvcc = match &arguments.nvcc {
        Some(name) if name.as_os_str() == "wheels" => Nvcc::from_wheels()?,
        name => Nvcc::at(name.clone().unwrap_or_else(|| "nvcc".into()))?,
    };
    let release = nvcc.release()?;
    println!("CUDA: compiled by {nvcc}, release {release}");
    let start = Instant::now();
    let all = jobs(arguments, sets, |_| 1)?;
    let width = all.iter().map(|job| job.name.len() + 2).max().unwrap_or(0).max(10);
    println!(
        "{:<width$}{:<22}{:<8}{:>10}{:>8}{:>8}{:>10}",
        "variant", "kernel", "arch", "registers", "stack", "spills", "shared"
    );
    let good = each(&all, |job| report(&nvcc, job, width))?;
    if good && is_by_hand(arguments) {
        let texts: usize = all.iter().map(|job| job.sources.len()).sum();
        let arches: Vec<&str> = arguments.arch.iter().map(|(name, _)| name.as_str()).collect();
        let (on, arches, seconds) = (today(), arches.join(" and "), start.elapsed().as_secs());
        let by = format!("by nvcc {release}; {seconds} s");
        std::fs::write(note(), format!("passed on {on}: {texts} texts for {arches}, {by}\n"))?;
    }
    Ok(good)
}

/// Kernels of the sets, compiled as a device would, into a folder.
fn bundle(arguments: &Arguments, sets: &[ParameterSet], folder: &Path) -> Result<bool> {
    let own = |capability: u32| arguments.multiprocessors.unwrap_or(multiprocessors(capability));
    let all = jobs(arguments, sets, own)?;
    let shipped = Mutex::new(HashSet::new());
    let good = each(&all, |job| {
        for (source, _) in &job.sources {
            let new = (source.whole_text(), job.capability);
            if !shipped.lock().unwrap_or_else(PoisonError::into_inner).insert(new) {
                continue;
            }
            let cubin = girih_cuda::compile(source, job.capability, |note| eprintln!("{note}"))?;
            girih_cuda::ship(folder, source, job.capability, &cubin)
                .with_context(|| folder.display().to_string())?;
        }
        Ok(true)
    })?;
    let count = shipped.into_inner().unwrap_or_else(PoisonError::into_inner).len();
    girih_cuda::ship_contents(folder, arguments.arch.iter().map(|(_, capability)| *capability))?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        bytes += entry?.metadata()?.len();
    }
    println!(
        "{count} kernels were put into {}, which has {:.1} MB: run with GIRIH_KERNELS={0}",
        folder.display(),
        bytes as f64 / 1e6
    );
    Ok(good)
}

/// Of the data centre's card of an architecture, or else of the largest one.
fn multiprocessors(capability: u32) -> usize {
    match capability {
        80 => 108,
        86 => 84,
        89 => 142,
        90 => 132,
        100 => 148,
        120 => 188,
        _ => 1,
    }
}

/// What is compiled, on devices of so many multiprocessors.
fn jobs<'a>(
    arguments: &'a Arguments,
    sets: &[ParameterSet],
    multiprocessors: impl Fn(u32) -> usize,
) -> Result<Vec<Job<'a>>> {
    let mut all: Vec<Job> = Vec::new();
    for (arch, capability) in &arguments.arch {
        for set in sets {
            let mut seen = HashSet::new();
            let variants = match girih_cuda::variants(
                set.name(),
                set.shape(),
                *capability,
                &PlanRequest::default(),
            ) {
                Ok(variants) => variants,
                // What a device of this kind would answer too; the other sets still compile.
                Err(why) => {
                    println!("{} refused on {arch}: {why}", set.name());
                    continue;
                }
            };
            for mut variant in variants {
                // Key switch and combine come with every variant of a set and are the same but for
                // constants that they do not read.
                let has_all = arguments.bundle.is_some();
                variant.sources.retain(|source| {
                    has_all || rotates(source.file.name) || seen.insert(source.file.name)
                });
                all.push(Job::of(arch, *capability, variant));
            }
        }
        let limits = DeviceLimits {
            multiprocessors: multiprocessors(*capability),
            ..girih_cuda::limits_of(*capability)
        };
        for name in arguments.ckks_set.iter().filter(|n| *n != "none") {
            let set = CkksParameters::by_name(name)?;
            if arguments.general {
                let plan = girih_cuda::poly_plan(&limits, set.chain().log2_degree());
                let sources = poly_kernels::general(&set, &limits, &plan)?;
                let (arch, capability) = (arch.as_str(), *capability);
                all.push(Job { arch, capability, name: set.name().into(), sources });
                continue;
            }
            let kernels = poly_kernels::kernels(
                &set,
                arguments.bootstrapping,
                &limits,
                &girih_cuda::poly_plan(&limits, set.chain().log2_degree()),
            )?;
            let job = |k: PolyKernel| Job {
                arch,
                capability: *capability,
                name: k.name,
                sources: vec![(k.source, k.shared)],
            };
            all.extend(kernels.into_iter().map(job));
        }
        // Sets whose programs are in both rings differ from others of their degree by these.
        for log2_degree in both_rings_checked(arguments)? {
            let sources = girih_cuda::poly_general_sources(log2_degree, true);
            let name = format!("N = 2^{log2_degree}, both rings");
            all.push(Job { arch, capability: *capability, name, sources });
        }
    }
    Ok(all)
}

/// Degrees of which the kernels for programs in both rings are checked: a bundle has those of its
/// sets instead.
fn both_rings_checked(arguments: &Arguments) -> Result<BTreeSet<u32>> {
    if arguments.bundle.is_some() {
        return Ok(BTreeSet::new());
    }
    Ok(ckks_sets(arguments)?.iter().map(|set| set.chain().log2_degree()).collect())
}

/// Does all jobs; whether all were good.
fn each(all: &[Job<'_>], compile: impl Fn(&Job<'_>) -> Result<bool> + Sync) -> Result<bool> {
    // One compiler a core; whatever one finds, the others are still heard.
    let (next, good) = (AtomicUsize::new(0), Mutex::new(Ok(true)));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let compiled = compile(job);
                    let mut good = good.lock().unwrap_or_else(PoisonError::into_inner);
                    *good = match (std::mem::replace(&mut *good, Ok(true)), compiled) {
                        (Ok(before), Ok(now)) => Ok(before && now),
                        (Err(e), _) | (_, Err(e)) => Err(e),
                    };
                }
            });
        }
    });
    good.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a kernel file holds a rotation, which differs from variant to variant.
fn rotates(file: &str) -> bool {
    [BLIND_ROTATE.name, BLIND_ROTATE_SPREAD.name].contains(&file)
}

/// Sources to compile for one architecture, with the bytes of shared memory that launches add.
struct Job<'a> {
    arch: &'a str,
    capability: u32,
    name: String,
    sources: Vec<(Source, usize)>,
}

impl<'a> Job<'a> {
    fn of(arch: &'a str, capability: u32, variant: Variant) -> Self {
        // Tiles of a key switch are sized at launch.
        let tile = |file: &str| if rotates(file) { variant.plan.shared_bytes } else { 0 };
        let sources = variant
            .sources
            .into_iter()
            .map(|source| (tile(source.file.name), source))
            .map(|(bytes, source)| (source, bytes));
        Self { arch, capability, name: variant.name, sources: sources.collect() }
    }
}

/// Compiles the sources of a job and prints what their kernels take.
fn report(nvcc: &Nvcc, job: &Job<'_>, width: usize) -> Result<bool> {
    let Job { arch, name, sources, .. } = job;
    let mut good = true;
    for (source, launch_bytes) in sources {
        match nvcc.compile(source, arch)? {
            Ok(costs) if costs.is_empty() => {
                good = false;
                println!("{name} {} {arch} FAILED: the compiler names no kernel", source.file.name);
            }
            Ok(costs) => costs.iter().for_each(|cost| {
                let nvcc::Cost { kernel, registers, stack, spills, shared } = cost;
                let shared = *shared as usize + launch_bytes;
                println!(
                    "{name:<width$}{kernel:<22}{arch:<8}{registers:>10}{stack:>8}{spills:>8}\
                     {shared:>10}"
                );
            }),
            Err(log) => {
                good = false;
                println!("{name} {} {arch} FAILED:\n{log}", source.file.name);
            }
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed;
    use girih::contract::ckks::RecordedProgram;
    use girih_cuda::Source;

    fn arguments(words: &[&str]) -> Arguments {
        parsed(&[&["kernels"], words].concat())
    }

    #[test]
    fn a_note_is_left_by_runs_of_all_that_ci_leaves_out() {
        let all = ["--cuda-only", "--arch", "sm_89,sm_100", "--nvcc", "wheels"];
        let more = ["--arch", "sm_80,sm_89,sm_100"];
        assert!(is_by_hand(&arguments(&all)) && is_by_hand(&arguments(&more)));
        for less in [["--set", "STD128"], ["--ckks-set", "none"]] {
            assert!(!is_by_hand(&arguments(&[&all[..], &less].concat())), "{less:?}");
        }
        for arch in BY_HAND {
            assert!(!is_by_hand(&arguments(&["--arch", arch])), "{arch}");
        }
    }

    /// The texts of a command's jobs for an architecture.
    fn texts(words: &[&str], arch: &str) -> HashSet<String> {
        let arguments = arguments(&[&["--set", "none", "--arch", arch], words].concat());
        let all = jobs(&arguments, &[], |_| 1).expect("built-in sets");
        let sources = all.iter().flat_map(|job| &job.sources);
        sources.map(|(source, _)| source.whole_text()).collect()
    }

    fn general(log2_degree: u32, both_rings: bool) -> HashSet<String> {
        let sources: Vec<(Source, usize)> =
            girih_cuda::poly_general_sources(log2_degree, both_rings);
        sources.iter().map(|(source, _)| source.whole_text()).collect()
    }

    /// A device without NVRTC compiles nothing before its keys are loaded, but what a folder has.
    #[test]
    fn a_bundle_has_the_general_kernels_of_its_sets() {
        let own = |set: &str| texts(&["--bundle", "DIR", "--general", "--ckks-set", set], "sm_90");
        let (usual, both) = (general(16, false), general(16, true));
        assert_eq!(own("CKKS_D40"), usual);
        assert_eq!(own("CKKS_D40_30BIT_INVARIANT_STC_FIRST"), both);
        // That of rows is another one, which reads views; columns of the second ring are one more.
        assert_eq!((both.difference(&usual).count(), usual.difference(&both).count()), (2, 1));
    }

    /// Products, rotations and bootstrappings, also where a block has 99 KiB.
    #[test]
    fn programs_run_by_the_kernels_of_a_bundle() {
        let name = "CKKS_D40_30BIT_INVARIANT_STC_FIRST";
        let set = CkksParameters::by_name(name).expect("built in");
        let recordings = poly_kernels::recordings(&set, true).expect("it is recorded");
        for (arch, capability) in [("sm_80", 80), ("sm_89", 89)] {
            let all = texts(&["--bundle", "DIR", "--general", "--ckks-set", name], arch);
            let most = general(16, recordings[0].1.program.ring().has_invariant());
            assert_eq!(all == most, capability == 80, "{name} on {arch}: {}", all.len());
            let limits = girih_cuda::limits_of(capability);
            let plan = girih_cuda::poly_plan(&limits, 16);
            for (what, RecordedProgram { program, .. }) in &recordings {
                let schedule = girih_backend::poly::lower(program, &plan, &[]).expect("it fits");
                let (ring, residents) = (program.ring(), program.residents());
                let sources =
                    girih_cuda::poly_general_sources_of(ring, &limits, &schedule, residents);
                for (source, _) in sources.expect("it fits") {
                    let (file, constants) = (source.file.name, &source.constants);
                    let found = all.contains(&source.whole_text());
                    assert!(found, "{name}, {what} on {arch}: {file} with {constants}");
                }
            }
        }
    }

    #[test]
    fn kernels_of_both_rings_are_checked_for_any_set() {
        assert!(texts(&["--ckks-set", "CKKS_D40"], "sm_90").is_superset(&general(16, true)));
    }
}
