//! What a process of its own does on the driver that it was started with.

use super::layers;
use crate::vectors;
use anyhow::{Context, Result, bail};
use girih::tfhe::ParameterSet;
use girih_backend::{Backend, BackendError};
use girih_conformance::poly::compare::{Plans, against_interpreter};
use girih_conformance::poly::kernels;
use girih_conformance::{compare, host_path, shapes};
use girih_cpu::CpuBackend;
use girih_wgpu::WgpuBackend;
use std::path::Path;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Here {
    /// All calls of both families, whatever comes out.
    HostPath,
    /// The published vectors of all schemes.
    Vectors,
    /// Shapes and programs, word by word.
    Cases,
    /// A call of Vulkan that is wrong, which a layer must notice.
    WrongCall,
}

/// Each kind of gadget, words and switch once, the quickest to compile.
const SHAPES: [&str; 5] = ["gd_std128", "gd_n256_r16", "gd2_g4", "mr_m3_r5", "torus_n256_23_bits"];
/// log2 of the degrees of programs on polynomials: a row of less than 128 threads, and a whole one.
const DEGREES: [u32; 2] = [9, 10];

impl Here {
    /// # Errors
    /// If the device cannot be opened, or does not do what it must.
    pub fn run(self, device: &str) -> Result<bool> {
        if self == Self::WrongCall {
            return layers::wrong_call();
        }
        let device = first(device)?;
        if self == Self::Vectors {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
            let folders = ["", "ckks", "discrete"].map(|folder| root.join(folder));
            return vectors::replay(&folders, &device);
        }
        let device = WgpuBackend::open(&device)?;
        let info = device.info();
        println!("{}: {} ({})", info.id, info.name, info.notes[..3].join(", "));
        match self {
            Self::HostPath => calls(&device),
            _ => cases(&device),
        }
    }
}

/// The name of a device; `wgpu` stands for the first.
fn first(device: &str) -> Result<String> {
    if device != "wgpu" {
        return Ok(device.into());
    }
    let found = girih_wgpu::enumerate();
    Ok(found.first().context("the driver shows no device")?.id.clone())
}

/// Both families once, with a set that people use.
fn calls(device: &WgpuBackend) -> Result<bool> {
    let set = ParameterSet::by_name("STD128")?;
    let start = Instant::now();
    let words = host_path::bootstraps(device, set.shape())?;
    println!("  STD128: {words} words read in {:.1} s", start.elapsed().as_secs_f64());
    for work in kernels::all(15) {
        let start = Instant::now();
        let words = host_path::program(device, &work)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("  {}: {words} words read in {seconds:.1} s", work.name);
    }
    Ok(true)
}

/// Shapes and programs; what does not fit the device has to be refused by what it needs.
fn cases(device: &WgpuBackend) -> Result<bool> {
    let (mut agree, mut refused, mut failed) = (0, 0, 0);
    let mut told = |name: &str, start: Instant, result: Result<Vec<String>, BackendError>| {
        let seconds = start.elapsed().as_secs_f64();
        match result {
            Ok(differences) if differences.is_empty() => agree += 1,
            Ok(differences) => {
                failed += 1;
                println!("  {name} DIFFERS:\n{}", differences.join("\n"));
            }
            Err(error @ BackendError::DoesNotFit { .. }) => {
                refused += 1;
                println!("  {name} refused: {error}");
            }
            Err(error) => {
                failed += 1;
                println!("  {name} FAILED after {seconds:.1} s: {error}");
            }
        }
    };
    let torus = shapes::torus();
    for case in shapes::all().into_iter().chain(torus).filter(|c| SHAPES.contains(&c.name)) {
        let start = Instant::now();
        told(case.name, start, compare::bit_for_bit(device, &CpuBackend::new(), &case.shape));
    }
    for work in DEGREES.into_iter().flat_map(kernels::all) {
        let start = Instant::now();
        told(&work.name, start, against_interpreter(device, &work, Plans::Own));
    }
    println!("  {agree} agree word by word, {refused} refused, {failed} failed");
    if agree == 0 {
        bail!("nothing ran");
    }
    Ok(failed == 0)
}
