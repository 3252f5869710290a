//! NVIDIA's compiler, from a CUDA installation or from Python wheels, and what it says of a kernel.

use anyhow::{Context, Result, bail};
use girih_cuda::{CONSTANTS, Source};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The wheels that together make a compiler. Unpinned,
/// pip mixes releases whose parts refuse each other.
const WHEELS: [&str; 5] = [
    "nvidia-cuda-nvcc",
    "nvidia-nvvm",
    "nvidia-cuda-crt",
    "nvidia-cuda-cccl",
    "nvidia-cuda-runtime",
];
pub const RELEASE: &str = "13.0";

/// Installs wheels of NVIDIA's into a folder.
///
/// # Errors
/// If Python's pip is absent or cannot install them.
pub fn install(wheels: &[&str], folder: &Path) -> Result<()> {
    println!("installing {} {RELEASE} below target", wheels.join(", "));
    let options = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
    let status = Command::new("python3")
        .args(["-m", "pip", "install"])
        .args(options)
        .arg("--target")
        .arg(folder)
        .args(wheels.iter().map(|wheel| format!("{wheel}=={RELEASE}.*")))
        .status()
        .context("python3, whose pip installs the wheels")?;
    if !status.success() {
        bail!("pip could not install {}: {status}", wheels.join(", "));
    }
    Ok(())
}

/// A compiler that has answered.
pub struct Nvcc {
    program: PathBuf,
    /// Every compilation has a folder of its own in here.
    folder: PathBuf,
}

impl fmt::Display for Nvcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())
    }
}

impl Nvcc {
    /// The compiler at `program`.
    ///
    /// # Errors
    /// If it cannot be run, with what would help.
    pub fn at(program: PathBuf) -> Result<Self> {
        if Command::new(&program).arg("--version").output().is_err() {
            bail!(
                "{} cannot be run: install CUDA {RELEASE}, name a compiler with --nvcc, have \
                 NVIDIA's Python wheels installed with --nvcc wheels, or pass --wgsl-only",
                program.display()
            );
        }
        let folder = std::env::temp_dir().join(format!("girih-kernels-{}", std::process::id()));
        Ok(Self { program, folder })
    }

    /// Its release, such as 13.0.
    ///
    /// # Errors
    /// If it cannot be run or does not say.
    pub fn release(&self) -> Result<String> {
        let output = Command::new(&self.program).arg("--version").output();
        let text = output.with_context(|| self.to_string())?.stdout;
        let text = String::from_utf8_lossy(&text).into_owned();
        release(&text).with_context(|| format!("{self} names no release: {text:?}"))
    }

    /// The compiler of NVIDIA's wheels, installed below `target` by the first call.
    ///
    /// # Errors
    /// If Python's pip is absent or cannot install them.
    pub fn from_wheels() -> Result<Self> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(format!("nvcc-{RELEASE}"));
        let program = root.join("nvidia/cu13/bin/nvcc");
        if !program.exists() {
            install(&WHEELS, &root)?;
        }
        Self::at(program)
    }

    /// Compiles one source for `arch`; the inner error is the compiler's log.
    ///
    /// # Errors
    /// If the compiler cannot be started or its folder not be written.
    pub fn compile(
        &self,
        source: &Source,
        arch: &str,
    ) -> Result<std::result::Result<Vec<Cost>, String>> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let folder = self.folder.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        for (name, text) in source.file.headers {
            std::fs::write(folder.join(name), text)?;
        }
        std::fs::write(folder.join(CONSTANTS), &source.constants)?;
        let file = folder.join(format!("{}.cu", source.file.name));
        std::fs::write(&file, source.file.text)?;
        let output = Command::new(&self.program)
            .args(["-cubin", "-std=c++17", "-Xptxas", "-v", &format!("-arch={arch}")])
            .arg("-I")
            .arg(&folder)
            .arg("-o")
            .arg(folder.join("out.cubin"))
            .arg(&file)
            .output()
            .with_context(|| self.to_string())?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(if output.status.success() { Ok(costs(&log)) } else { Err(log) })
    }
}

impl Drop for Nvcc {
    fn drop(&mut self) {
        // What is left in the system's folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What stands behind `release` in what the compiler says of itself.
fn release(text: &str) -> Option<String> {
    Some(text.split_once("release ")?.1.split(',').next()?.trim().to_owned())
}

/// What ptxas reports of one kernel.
#[derive(Default)]
pub struct Cost {
    pub kernel: String,
    pub registers: u32,
    pub stack: u32,
    /// Bytes of spill stores and loads.
    pub spills: u32,
    /// Bytes of shared memory that its text declares; a launch may add more.
    pub shared: u32,
}

/// Reads `ptxas info` lines: a kernel's name, then its stack and spills, then its registers.
fn costs(log: &str) -> Vec<Cost> {
    let number = |line: &str, before: &str| -> u32 {
        line.split(before)
            .next()
            .and_then(|head| head.split_whitespace().last())
            .and_then(|n| n.parse().ok())
            .unwrap_or(0)
    };
    let mut all: Vec<Cost> = Vec::new();
    for line in log.lines() {
        if let Some((_, name)) = line.split_once("Compiling entry function '") {
            all.push(Cost {
                kernel: name.split('\'').next().unwrap_or_default().into(),
                ..Default::default()
            });
        } else if let Some(cost) = all.last_mut() {
            if line.contains("bytes stack frame") {
                cost.stack = number(line, " bytes stack frame");
                cost.spills =
                    number(line, " bytes spill stores") + number(line, " bytes spill loads");
            } else if line.contains(" registers") {
                cost.registers = number(line, " registers");
                cost.shared = number(line, " bytes smem");
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_what_the_compiler_says_of_itself() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, \
                    V13.0.88\n";
        assert_eq!(super::release(text).as_deref(), Some("13.0"));
        assert_eq!(super::release("another program"), None);
    }

    #[test]
    fn reads_what_ptxas_prints() {
        let log = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function \
                   'blind_rotate' for 'sm_90'\n\
                   ptxas info    : Function properties for blind_rotate\n    16 bytes stack frame, \
                   8 bytes spill stores, 12 bytes spill loads\n\
                   ptxas info    : Used 128 registers, used 1 barriers, 16 bytes cumulative stack \
                   size, 96 bytes smem\n";
        let costs = super::costs(log);
        assert_eq!(costs.len(), 1);
        let cost = &costs[0];
        assert_eq!(
            (cost.kernel.as_str(), cost.registers, cost.stack, cost.spills, cost.shared),
            ("blind_rotate", 128, 16, 20, 96)
        );
    }
}
