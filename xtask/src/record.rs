//! The machine-readable record of a bench run.

use anyhow::{Context, Result};
use serde::Serialize;

#[path = "../../crates/girih/examples/common/stamp.rs"]
mod stamp;
pub use stamp::{commit, today};

/// Milliseconds over the repeats of a run.
#[derive(Clone, Copy, Serialize)]
pub struct Milliseconds {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Milliseconds {
    /// Of at least one sample.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Self { min: sorted[0], median, max: sorted[sorted.len() - 1] }
    }
}

/// Measured and predicted deviation of the outputs, in units of the output modulus q.
#[derive(Clone, Copy, Serialize)]
pub struct Noise {
    pub sigma_out: f64,
    pub model: f64,
}

/// What a large-precision function is and does.
#[derive(Clone, Copy, Serialize)]
pub struct FunctionFigures {
    pub message_bits: u32,
    pub log2_modulus: u32,
    pub bootstraps_per_function: usize,
    pub functions_per_s: f64,
    /// By the noise model, for one message.
    pub log2_failure: f64,
}

/// One run.
#[derive(Serialize)]
pub struct Record {
    pub device: String,
    pub backend: String,
    pub set: String,
    pub packing: usize,
    pub transform: String,
    pub plan: serde_json::Value,
    pub op: String,
    pub batch: usize,
    pub repeat: usize,
    pub ms: Milliseconds,
    pub bootstraps_per_s: f64,
    pub transfers_included: bool,
    pub checked: usize,
    pub wrong: usize,
    pub noise: Noise,
    /// Of functions that take several bootstrappings.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionFigures>,
    pub keygen_s: f64,
    pub load_s: f64,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    pub version: &'static str,
    pub commit: String,
    pub date: String,
}

/// Writes pretty JSON to a file, or to standard output for `-`.
pub fn write_json(path: &str, value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    if path == "-" {
        println!("{text}");
        return Ok(());
    }
    if let Some(folder) = std::path::Path::new(path).parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::write(path, text + "\n").with_context(|| path.to_owned())
}

/// Refuses a file that could not be written when the work that fills it is done. `option` is what named it.
pub fn check_file(option: &str, path: &str) -> Result<()> {
    if path == "-" {
        return Ok(());
    }
    let path = std::path::Path::new(path);
    let context = || format!("{option} {}: cannot be written", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(context)?;
    }
    let is_new = !path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path).with_context(context)?;
    if is_new {
        std::fs::remove_file(path).with_context(context)?;
    }
    Ok(())
}

/// Memory that could be had now, where the system tells.
pub fn available_memory_bytes() -> Option<u64> {
    kib("/proc/meminfo", "MemAvailable:")
}

/// The most memory this process has held, where the system tells.
pub fn peak_memory_bytes() -> Option<u64> {
    kib("/proc/self/status", "VmHWM:")
}

/// A line of one of Linux's tables of sizes, in bytes.
fn kib(table: &str, name: &str) -> Option<u64> {
    let table = std::fs::read_to_string(table).ok()?;
    let line = table.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let m = Milliseconds::of(&[3.0, 1.0, 2.0]);
        assert_eq!((m.min, m.median, m.max), (1.0, 2.0, 3.0));
        assert_eq!(Milliseconds::of(&[4.0, 1.0]).median, 2.5);
    }

    #[test]
    fn files_that_cannot_be_written_are_refused_and_others_left_as_they_are() {
        let folder = std::env::temp_dir().join(format!("girih-record-{}", std::process::id()));
        let path = |name: &str| folder.join(name).display().to_string();
        check_file("--json", &path("new/record.json")).expect("a folder to be made");
        assert!(folder.join("new").is_dir() && !folder.join("new/record.json").exists());
        std::fs::write(folder.join("kept"), "kept").expect("writable");
        check_file("--json", &path("kept")).expect("writable");
        assert_eq!(std::fs::read_to_string(folder.join("kept")).expect("there"), "kept");
        for bad in [path("new"), path("kept/record.json"), String::new()] {
            let error = check_file("--json", &bad).expect_err(&bad).to_string();
            assert!(error.starts_with("--json") && error.contains(&bad), "{error}");
        }
        check_file("--json", "-").expect("standard output");
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
