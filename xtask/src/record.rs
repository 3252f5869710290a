//! The machine-readable record of a bench run.

use anyhow::{Context, Result};
use serde::Serialize;

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

/// The commit that was built, `unknown` outside a checkout; `-dirty` where files differ from it.
pub fn commit() -> String {
    if let Some(built) = option_env!("GIRIH_COMMIT") {
        return built.into();
    }
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        None => "unknown".into(),
        Some(hash) if git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|s| !s.is_empty()) => hash + "-dirty",
        Some(hash) => hash,
    }
}

/// Today, as year-month-day (UTC).
pub fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil_from_days((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Gregorian date of a day counted from 1970-01-01, by walking years and months: short, and called once.
fn civil_from_days(mut days: i64) -> (i64, i64, i64) {
    let leap = |y: i64| (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    let mut year = 1970;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as i64 + 1, days + 1)
}

/// The most memory this process has held, where the system tells.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(20_778), (2026, 11, 21));
    }

    #[test]
    fn medians() {
        let m = Milliseconds::of(&[3.0, 1.0, 2.0]);
        assert_eq!((m.min, m.median, m.max), (1.0, 2.0, 3.0));
        assert_eq!(Milliseconds::of(&[4.0, 1.0]).median, 2.5);
    }
}
