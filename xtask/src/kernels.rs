//! `cargo xtask kernels`: every kernel variant in use, compiled or translated without a GPU.

use anyhow::{Context, Result, bail};
use girih::{BackendError, ParameterSet, PlanRequest};
use girih_cuda::{HEADERS, Source};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// CUDA architectures to compile for, such as sm_80,sm_89,sm_90.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "sm_90")]
    arch: Vec<String>,
    /// Only these sets.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    set: Vec<String>,
    /// The CUDA compiler [default: nvcc on the path]. Without one the CUDA half says so and fails.
    #[arg(long, value_name = "FILE")]
    nvcc: Option<PathBuf>,
    /// Leave the CUDA kernels out.
    #[arg(long)]
    wgsl_only: bool,
}

/// The packing at which BOLT-FHE runs its sets; the others have one slot.
const PACKINGS: [(&str, usize); 6] = [("M1", 3), ("M2", 2), ("M3", 5), ("M4", 4), ("M5", 5), ("M6", 2)];

pub fn run(arguments: &Arguments) -> Result<bool> {
    let sets = sets(&arguments.set)?;
    let mut good = wgsl(&sets)?;
    if !arguments.wgsl_only {
        good &= cuda(arguments, &sets)?;
    }
    Ok(good)
}

/// The sets that GPUs run, at the packing they are run at.
fn sets(names: &[String]) -> Result<Vec<ParameterSet>> {
    let wanted = if names.is_empty() {
        ParameterSet::all().into_iter().filter(|s| s.shape().key_modulus_value().is_some()).collect()
    } else {
        names.iter().map(|n| ParameterSet::by_name(n)).collect::<girih::Result<Vec<_>>>()?
    };
    let pack = |set: ParameterSet| match PACKINGS.iter().find(|(n, _)| *n == set.name()) {
        Some((_, r)) => set.with_packing(*r),
        None => Ok(set),
    };
    Ok(wanted.into_iter().map(pack).collect::<girih::Result<_>>()?)
}

fn wgsl(sets: &[ParameterSet]) -> Result<bool> {
    println!("WGSL: validated, translated to SPIR-V, Metal and HLSL, compared with the plan");
    println!("{:<18}{:<14}{:<8}{:>10}{:>9}{:>9}{:>10}  limits", "set", "kernel", "profile", "workgroup", "threads", "buffers", "SPIR-V");
    let mut good = true;
    for set in sets {
        let named = [(format!("{} r={}", set.name(), set.packing()), set.shape().clone())];
        let (variants, limits) = match girih_wgpu::kernel_variants(&named, None) {
            Ok(variants) => (variants, "WebGPU defaults".to_owned()),
            Err(BackendError::DoesNotFit { reason, .. }) => {
                (girih_wgpu::kernel_variants(&named, Some(&girih_wgpu::desktop_gpu()))?, reason.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        for variant in variants {
            let (kernel, profile) = (variant.kernel.name(), variant.profile.to_string());
            match variant.check() {
                Ok(_) if variant.traced => {}
                Ok(check) => println!(
                    "{:<18}{kernel:<14}{profile:<8}{:>10}{:>9}{:>9}{:>10}  {limits}",
                    variant.set, check.workgroup_bytes, check.workgroup_threads, check.storage_buffers, check.spirv_words
                ),
                Err(why) => {
                    good = false;
                    println!("{:<18}{kernel:<14}{profile:<8} FAILED: {why}", variant.set);
                }
            }
        }
    }
    Ok(good)
}

fn cuda(arguments: &Arguments, sets: &[ParameterSet]) -> Result<bool> {
    let nvcc = arguments.nvcc.clone().unwrap_or_else(|| "nvcc".into());
    if Command::new(&nvcc).arg("--version").output().is_err() {
        bail!(
            "{} cannot be run: install CUDA 13 (or the Python wheels nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-cccl and nvidia-cuda-runtime, all ==13.0.*), name it with --nvcc, or pass --wgsl-only",
            nvcc.display()
        );
    }
    println!("CUDA: compiled by {}", nvcc.display());
    println!("{:<24}{:<14}{:<8}{:>10}{:>8}{:>8}{:>10}", "variant", "kernel", "arch", "registers", "stack", "spills", "shared");
    let folder = std::env::temp_dir().join(format!("girih-kernels-{}", std::process::id()));
    let mut good = true;
    for arch in &arguments.arch {
        let capability =
            arch.strip_prefix("sm_").and_then(|c| c.parse().ok()).with_context(|| format!("--arch {arch}: must look like sm_90"))?;
        for set in sets {
            for variant in girih_cuda::variants(set.name(), set.shape(), capability, &PlanRequest::default())? {
                for source in &variant.sources {
                    let report = compile(&nvcc, &folder, source, arch)?;
                    good &= report.is_ok();
                    match report {
                        Ok(costs) => costs.iter().for_each(|c| {
                            println!(
                                "{:<24}{:<14}{arch:<8}{:>10}{:>8}{:>8}{:>10}",
                                variant.name, c.kernel, c.registers, c.stack, c.spills, variant.plan.shared_bytes
                            );
                        }),
                        Err(log) => println!("{} {} {arch} FAILED:\n{log}", variant.name, source.file.name),
                    }
                }
            }
        }
    }
    // What is left in the system's folder for temporary files does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(good)
}

/// What ptxas reports of one kernel.
#[derive(Default)]
struct Cost {
    kernel: String,
    registers: u32,
    stack: u32,
    spills: u32,
}

/// Compiles one source; the inner error is the compiler's log.
fn compile(nvcc: &Path, folder: &Path, source: &Source, arch: &str) -> Result<std::result::Result<Vec<Cost>, String>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, text) in HEADERS {
        std::fs::write(folder.join(name), text)?;
    }
    std::fs::write(folder.join(girih_cuda::CONSTANTS), &source.constants)?;
    let file = folder.join(format!("{}.cu", source.file.name));
    std::fs::write(&file, source.file.text)?;
    let output = Command::new(nvcc)
        .args(["-cubin", "-std=c++17", "-Xptxas", "-v", &format!("-arch={arch}")])
        .arg("-I")
        .arg(folder)
        .arg("-o")
        .arg(folder.join("out.cubin"))
        .arg(&file)
        .output()
        .with_context(|| nvcc.display().to_string())?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { Ok(costs(&log)) } else { Err(log) })
}

/// Reads `ptxas info` lines: a kernel's name, then its stack and spills, then its registers.
fn costs(log: &str) -> Vec<Cost> {
    let number = |line: &str, before: &str| -> u32 {
        line.split(before).next().and_then(|head| head.split_whitespace().last()).and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let mut all: Vec<Cost> = Vec::new();
    for line in log.lines() {
        if let Some((_, name)) = line.split_once("Compiling entry function '") {
            all.push(Cost { kernel: name.split('\'').next().unwrap_or_default().into(), ..Default::default() });
        } else if let Some(cost) = all.last_mut() {
            if line.contains("bytes stack frame") {
                cost.stack = number(line, " bytes stack frame");
                cost.spills = number(line, " bytes spill stores") + number(line, " bytes spill loads");
            } else if line.contains(" registers") {
                cost.registers = number(line, " registers");
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_what_ptxas_prints() {
        let log = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'blind_rotate' for 'sm_90'\n\
                   ptxas info    : Function properties for blind_rotate\n    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n\
                   ptxas info    : Used 128 registers, used 1 barriers, 16 bytes cumulative stack size\n";
        let costs = super::costs(log);
        assert_eq!(costs.len(), 1);
        assert_eq!((costs[0].kernel.as_str(), costs[0].registers, costs[0].stack, costs[0].spills), ("blind_rotate", 128, 16, 20));
    }
}
