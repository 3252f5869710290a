//! The machine-readable record of a bench run.

use serde::Serialize;
use std::io::Write as _;
use std::time::Instant;

#[path = "../../crates/girih/examples/common/first.rs"]
mod first;
#[path = "../../crates/girih/examples/common/output.rs"]
mod output;
#[path = "../../crates/girih/examples/common/stamp.rs"]
mod stamp;
pub use first::{FirstResult, start};
pub use output::{check_file, write_json};
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
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
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

/// What an operation on encrypted integers is and does.
#[derive(Clone, Copy, Serialize)]
pub struct IntegerFigures {
    /// Bootstrappings of one operation.
    pub look_ups_each: u64,
    pub operations_per_s: f64,
    /// An array of one.
    pub one_ms: Milliseconds,
    /// Of results that were compressed: bytes of an integer, in the whole array and alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_each: Option<[f64; 2]>,
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
    /// Of operations on integers.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub integers: Option<IntegerFigures>,
    pub keygen_s: f64,
    pub load_s: f64,
    /// Of the whole process, where this is its first batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_result: Option<FirstResult>,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    pub version: &'static str,
    pub commit: String,
    pub date: String,
}

/// How a command speaks to people: on standard output, or on standard error where the other carries
/// the record (`--json -`) or takes no more, since a full disk beneath a log must not end an hour's
/// work before its record is written.
pub fn speaker(json: Option<&str>) -> impl Fn(String) {
    let quiet = json == Some("-");
    move |line| {
        if quiet || writeln!(std::io::stdout(), "{line}").is_err() {
            eprintln!("{line}");
        }
    }
}

/// Waits, after a first result, until the device has the kernels that take long to compile, and
/// says so: what is timed then runs by them.
pub fn settle(engine: &girih_backend::Engine, json: Option<&str>) -> anyhow::Result<()> {
    let start = Instant::now();
    let waited = engine.settle()?;
    if waited > 0 {
        let seconds = start.elapsed().as_secs_f64();
        speaker(json)(format!(
            "kernels   for large batches: waited {seconds:.1} s for {waited} of them"
        ));
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
}
