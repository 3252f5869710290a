//! NVRTC from NVIDIA's Python wheel, for machines without CUDA.

use crate::nvcc::{RELEASE, install};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the system looks for libraries.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// The folder of NVRTC's libraries, installed below `target` by the first call.
///
/// # Errors
/// If Python's pip is absent or cannot install the wheel.
pub fn from_wheels() -> Result<PathBuf> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(format!("nvrtc-{RELEASE}"));
    let folder = root.join("nvidia/cu13/lib");
    if !folder.exists() {
        install(&["nvidia-cuda-nvrtc"], &root)?;
    }
    folder.canonicalize().with_context(|| folder.display().to_string())
}

/// Runs this command once more, with libraries from `folder`: the system reads where it looks for
/// them when a process begins.
///
/// # Errors
/// Where no process can be started, or the system is not one that has that variable.
pub fn again(folder: &Path) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        bail!("--nvrtc is for Linux: put the folder of NVRTC on the library path instead");
    }
    let mut words = std::env::args_os().skip(1).peekable();
    let mut rest = Vec::new();
    while let Some(word) = words.next() {
        if word == "--nvrtc" {
            words.next();
        } else if !word.to_string_lossy().starts_with("--nvrtc=") {
            rest.push(word);
        }
    }
    let before = std::env::var_os(LIBRARIES);
    let folders = std::iter::once(folder.to_owned())
        .chain(before.iter().flat_map(std::env::split_paths))
        .collect::<Vec<_>>();
    let program = std::env::current_exe().context("this program")?;
    let done = Command::new(&program)
        .args(rest)
        .env(LIBRARIES, std::env::join_paths(folders)?)
        .status()
        .with_context(|| program.display().to_string())?;
    Ok(done.success())
}
