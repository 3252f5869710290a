//! `cargo xtask first-result`: how long a newcomer waits, with empty caches and with kept ones.
//!
//! Each row is a command of this binary, run twice in a process of its own over a cache folder that
//! is empty at first. Seconds are those of the whole process, by the clock of whoever starts it.

use crate::record;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// The device: cpu, wgpu:0, cuda:0.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// The rows to measure [default: those that suit the device].
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    rows: Vec<Row>,
    /// Also write the record to FILE, after every row.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Where caches and records of the rows lie while they are measured [default: a new folder of
    /// the system's for temporary files, which is removed].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Row {
    /// One bootstrapping of CKKS_D40_30BIT; of CKKS_D40 on the CPU.
    Bootstrap,
    /// The same on four cores.
    FourCores,
    /// HELR, 12 minibatches of 1024 rows.
    Helr,
    /// The transformer block of the examples, as it is used.
    Transformer,
    /// ResNet-20 on 8 images, as it is used.
    Resnet20,
    /// The same with `--warm`, which waits for the kernels that run fastest.
    Resnet20Warm,
    /// One gate of STD128.
    Gate,
}

impl Row {
    /// Those that suit a device: examples take minutes on a CPU.
    fn of(device: &str) -> Vec<Self> {
        if device == "cpu" {
            return vec![Self::Bootstrap, Self::Gate];
        }
        use Row::*;
        vec![Bootstrap, FourCores, Helr, Transformer, Resnet20, Resnet20Warm, Gate]
    }

    fn name(self) -> String {
        crate::bench::name(self)
    }

    /// The command of this binary.
    fn words(self, device: &str) -> Vec<&str> {
        let set = if device == "cpu" { "CKKS_D40" } else { "CKKS_D40_30BIT" };
        let mut words = match self {
            Self::Bootstrap | Self::FourCores => {
                vec!["bench", "--set", set, "--op", "bootstrap", "--repeat", "1"]
            }
            Self::Helr => {
                let size = ["--set", "CKKS_D40", "--batch", "1024", "--batches", "12"];
                [&["example", "helr"][..], &size].concat()
            }
            Self::Transformer => vec!["example", "transformer", "--full"],
            Self::Resnet20 => vec!["example", "resnet20", "--full", "--images", "8"],
            Self::Resnet20Warm => {
                vec!["example", "resnet20", "--full", "--images", "8", "--warm"]
            }
            Self::Gate => vec!["bench", "--set", "STD128", "--batch", "1", "--repeat", "1"],
        };
        words.extend(["--device", device]);
        words
    }
}

/// One run of a row.
#[derive(Serialize)]
struct Run {
    /// Of the whole process.
    seconds: f64,
    /// Compiled kernels in the cache folder when it ended.
    kernels: usize,
    /// What the program itself wrote.
    record: Value,
}

/// A row, measured.
#[derive(Serialize)]
struct Measured {
    row: String,
    command: String,
    /// With an empty cache folder.
    cold: Run,
    /// Again, with what the first run kept.
    kept: Run,
}

#[derive(Serialize)]
struct Record {
    kind: &'static str,
    device: String,
    cores: usize,
    rows: Vec<Measured>,
    version: &'static str,
    commit: String,
    date: String,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(json) = &arguments.json {
        record::check_file("--json", json)?;
    }
    let say = record::speaker(arguments.json.as_deref());
    let own = std::env::temp_dir().join(format!("girih-first-result-{}", std::process::id()));
    let folder = arguments.folder.clone().unwrap_or_else(|| own.clone());
    let rows = match arguments.rows.as_slice() {
        [] => Row::of(&arguments.device),
        rows => rows.to_vec(),
    };
    let mut record = Record {
        kind: "first-result",
        device: arguments.device.clone(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        rows: Vec::new(),
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    };
    for row in rows {
        let measured = measure(row, &arguments.device, &folder)?;
        for (what, run) in [("cold", &measured.cold), ("kept", &measured.kept)] {
            let first = &run.record["first_result"];
            let (row, kernels) = (&measured.row, run.kernels);
            say(format!("{row:<12} {what} {:>8.2} s, {kernels} kernels", run.seconds));
            say(format!("             {}", told(first)));
        }
        record.rows.push(measured);
        if let Some(path) = &arguments.json {
            record::write_json(path, &serde_json::to_value(&record)?)?;
        }
    }
    if arguments.folder.is_none() {
        std::fs::remove_dir_all(&own).ok();
    }
    Ok(true)
}

/// The times of a program's record in one line.
fn told(first: &Value) -> String {
    let seconds = |value: &Value| value.as_f64().unwrap_or_default();
    let mut line = format!("result after {:.2} s", seconds(&first["seconds"]));
    for (what, time) in first["preparations"].as_object().into_iter().flatten() {
        line += &format!(", {what} {:.2}", seconds(&time["wall_s"]));
    }
    line
}

fn measure(row: Row, device: &str, folder: &Path) -> Result<Measured> {
    let name = row.name();
    let folder = folder.join(&name);
    let cache = folder.join("cache");
    if cache.exists() {
        std::fs::remove_dir_all(&cache).with_context(|| cache.display().to_string())?;
    }
    std::fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    let words = row.words(device);
    let cold = once(row, &words, &folder, &cache)?;
    let kept = once(row, &words, &folder, &cache)?;
    Ok(Measured { row: name, command: format!("xtask {}", words.join(" ")), cold, kept })
}

fn once(row: Row, words: &[&str], folder: &Path, cache: &Path) -> Result<Run> {
    let own = std::env::current_exe().context("this program's own file")?;
    let json = folder.join("record.json");
    let mut command = match row {
        Row::FourCores => {
            let mut command = Command::new("taskset");
            command.args(["-c", "0-3"]).arg(own);
            command
        }
        _ => Command::new(own),
    };
    command.args(words).arg("--json").arg(&json).stdin(Stdio::null());
    // The driver's own cache, too.
    command.env("XDG_CACHE_HOME", cache).env("CUDA_CACHE_PATH", cache.join("driver"));
    let start = Instant::now();
    let output = command.output().with_context(|| format!("{} could not be run", row.name()))?;
    let seconds = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("xtask {} failed: {}", words.join(" "), told.trim());
    }
    let text = std::fs::read_to_string(&json).with_context(|| json.display().to_string())?;
    let record = serde_json::from_str(&text).with_context(|| json.display().to_string())?;
    Ok(Run { seconds, kernels: kernels(&cache.join("girih")), record })
}

/// Compiled kernels in a cache folder, of whatever device.
fn kernels(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let one = |entry: std::fs::DirEntry| {
        let path = entry.path();
        if path.is_dir() {
            return kernels(&path);
        }
        usize::from(path.extension().is_some_and(|e| e == "cubin" || e == "bin"))
    };
    entries.flatten().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_commands_that_this_program_knows() {
        use clap::Parser;
        for device in ["cpu", "cuda:0"] {
            for row in Row::of(device) {
                let words = row.words(device);
                let line = [&["xtask"], words.as_slice(), &["--json", "x.json"]].concat();
                assert!(crate::Arguments::try_parse_from(&line).is_ok(), "{line:?}");
            }
        }
    }

    #[test]
    fn times_are_told_in_one_line() {
        let first = serde_json::json!({
            "seconds": 12.345,
            "preparations": { "keys": { "wall_s": 1.5 }, "lowering": { "wall_s": 0.25 } }
        });
        assert_eq!(told(&first), "result after 12.35 s, keys 1.50, lowering 0.25");
    }
}
