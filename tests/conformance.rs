//! Runs the list of cases on every device found.
//!
//! `GIRIH_REQUIRE=wgpu,cpu` turns an absent kind of device into a failure. A case that cannot run says why.

use girih::Device;
use girih_conformance::vectors::VectorFile;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

fn vector_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 6, "the published vectors are missing from {}", folder.display());
    files
}

fn replay(device: &Device, path: &Path) -> Result<(), Failed> {
    let replay = VectorFile::read(path)?.replay(device.backend())?;
    if replay.failures.is_empty() { Ok(()) } else { Err(replay.failures.join("\n").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for info in Device::enumerate().devices {
        let device = Device::open(&info.id).unwrap_or_else(|e| panic!("{e}"));
        for path in vector_files() {
            let name = format!("{}::vectors::{}", info.id, path.file_stem().unwrap_or_default().to_string_lossy());
            let device = device.clone();
            trials.push(Trial::test(name, move || replay(&device, &path)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
