//! `cargo xtask vectors`

use anyhow::{Context, Result, bail};
use girih::Device;
use girih_conformance::ckks::vectors::CkksVectorFile;
use girih_conformance::discrete::vectors::DiscreteVectorFile;
use girih_conformance::vectors::VectorFile;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Vector files, or folders of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The device to replay on.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "cpu")]
    device: String,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    replay(&arguments.paths, &arguments.device)
}

/// Replays files and folders of them on a device; whether all stages agree.
///
/// # Errors
/// If there is no such device, or a file cannot be read.
pub fn replay(paths: &[PathBuf], device: &str) -> Result<bool> {
    let device = Device::open(device)?;
    println!("device: {} ({})", device.info().id, device.info().name);
    let (mut passed, mut failed) = (0, 0);
    for path in files(paths)? {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let shown = path.display().to_string();
        let (name, replay) = if CkksVectorFile::is_one(&text) {
            let file = CkksVectorFile::parse(&shown, &text)?;
            (file.name().to_owned(), file.replay(device.backend())?)
        } else if DiscreteVectorFile::is_one(&text) {
            let file = DiscreteVectorFile::parse(&shown, &text)?;
            (file.name().to_owned(), file.replay(device.backend())?)
        } else {
            let file = VectorFile::parse(&shown, &text)?;
            (file.name().to_owned(), file.replay(device.backend())?)
        };
        println!("{name:<24} {} stages agree, {} differ", replay.passed, replay.failures.len());
        replay.failures.iter().for_each(|line| println!("  {line}"));
        passed += replay.passed;
        failed += replay.failures.len();
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// The files named, and the `.json` files of the folders named.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside = folder(path)?;
            if inside.is_empty() {
                bail!("{}: no .json files in this folder", path.display());
            }
            inside.sort();
            all.append(&mut inside);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).with_context(|| path.display().to_string())?;
    let paths: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    Ok(paths.into_iter().filter(|p| p.extension().is_some_and(|e| e == "json")).collect())
}
