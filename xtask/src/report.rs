//! `cargo xtask report`: what a device makes of girih, in one file that can be sent to its makers.
//!
//! Each step is a command of this binary in a process of its own, so that a driver that crashes or
//! hangs is told like any other failure. The file has no path, name of a host or name of a user.

use crate::record;
use anyhow::{Context, Result};
use girih::{Device, DeviceInfo, DeviceKind};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The device: cpu, wgpu:0, cuda:0.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// Where the report goes.
    #[arg(long, value_name = "FILE", default_value = "girih-report.json")]
    json: String,
    /// Replay the vectors alone, and measure nothing.
    #[arg(long)]
    no_rates: bool,
    /// A step that takes longer is ended, and told so.
    #[arg(long, value_name = "SECONDS", default_value_t = 600,
        value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

/// What is run on the device.
struct Step {
    name: &'static str,
    words: Vec<String>,
    /// Whether it leaves a record, as `bench --json` does.
    measures: bool,
}

/// What came of a step.
#[derive(Serialize)]
struct Outcome {
    name: &'static str,
    command: String,
    good: bool,
    seconds: f64,
    /// The last lines that it printed.
    said: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Value>,
}

#[derive(Serialize)]
struct Report {
    kind: &'static str,
    device: DeviceInfo,
    system: &'static str,
    processor: &'static str,
    version: &'static str,
    commit: String,
    date: String,
    steps: Vec<Outcome>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    record::check_file("--json", &arguments.json)?;
    let device = Device::open(&arguments.device)?;
    let mut report = Report {
        kind: "report",
        device: device.info().clone(),
        system: std::env::consts::OS,
        processor: std::env::consts::ARCH,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
        steps: Vec::new(),
    };
    // Steps open it themselves.
    drop(device);
    println!("{} ({})", report.device.id, report.device.name);
    for step in steps(&report.device, !arguments.no_rates) {
        let outcome = step.run(Duration::from_secs(arguments.limit))?;
        println!("{:<24} {}", outcome.name, told(&outcome));
        report.steps.push(outcome);
        // Whatever comes next, what is known is written.
        record::write_json(&arguments.json, &serde_json::to_value(&report)?)?;
    }
    let bad = report.steps.iter().filter(|step| !step.good).count();
    println!("{} of {} steps good", report.steps.len() - bad, report.steps.len());
    println!("the report is {}: send it with an issue", arguments.json);
    Ok(bad == 0)
}

/// Vectors of every scheme first, then rates, each with all outputs checked.
fn steps(device: &DeviceInfo, rates: bool) -> Vec<Step> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let on = |words: &[&str]| -> Vec<String> {
        words.iter().copied().chain(["--device", &device.id]).map(String::from).collect()
    };
    let folders =
        [("vectors of TFHE", ""), ("vectors of CKKS", "ckks"), ("vectors of numbers", "discrete")];
    let mut steps: Vec<Step> = folders
        .into_iter()
        .map(|(name, folder)| {
            let folder = root.join(folder).display().to_string();
            Step { name, words: on(&["vectors", &folder]), measures: false }
        })
        .collect();
    if !rates {
        return steps;
    }
    // What a software driver or a CPU does in a minute.
    let slow = device.software || device.kind == DeviceKind::Cpu;
    let (batch, repeat) = if slow { ("64", "1") } else { ("4096", "5") };
    let mut measure = |name, words: &[&str]| {
        let words = on(&[&["bench", "--repeat", repeat][..], words].concat());
        steps.push(Step { name, words, measures: true });
    };
    measure("a gate", &["--set", "STD128", "--batch", "1"]);
    measure("gates", &["--set", "STD128", "--batch", batch]);
    measure("look-ups of 4 bits", &["--set", "TFHERS_2_2", "--op", "lut", "--batch", batch]);
    measure("a product of vectors", &["--set", "CKKS_N15_D40", "--op", "multiply"]);
    let set = girih::ckks::CkksParameters::default();
    measure("a bootstrapping", &["--set", set.name(), "--op", "bootstrap"]);
    steps
}

impl Step {
    fn run(&self, limit: Duration) -> Result<Outcome> {
        let own = std::env::current_exe().context("this program's own file")?;
        let id = std::process::id();
        let json = std::env::temp_dir().join(format!("girih-report-{id}.json"));
        let mut command = Command::new(own);
        command.args(&self.words).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.measures {
            command.arg("--json").arg(&json);
        }
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{} cannot run", self.name))?;
        // Readers of their own, so that a full pipe stops nobody.
        let said = [child.stdout.take().map(lines), child.stderr.take().map(lines)];
        let ended = wait(&mut child, limit)?;
        let mut said: Vec<String> = said
            .into_iter()
            .flatten()
            .flat_map(|reader| reader.join().unwrap_or_default())
            .collect();
        let seconds = start.elapsed().as_secs_f64();
        if ended.is_none() {
            said.push(format!("ended after {} s without a result", limit.as_secs()));
        }
        let record = std::fs::read_to_string(&json).ok();
        std::fs::remove_file(&json).ok();
        let record = record.and_then(|text| serde_json::from_str(&text).ok());
        let good = ended == Some(true) && (record.is_some() || !self.measures);
        let shown = said.len().saturating_sub(if good { 1 } else { 20 });
        Ok(Outcome {
            name: self.name,
            command: private(&format!("xtask {}", self.words.join(" "))),
            good,
            seconds,
            said: said[shown..].iter().map(|line| private(line)).collect(),
            record,
        })
    }
}

/// Reads to the end, on a thread.
fn lines(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).lines().map(String::from).collect()
    })
}

/// Whether it ended well; none if it had to be ended.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<bool>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("a step of the report")? {
            return Ok(Some(status.success()));
        }
        if start.elapsed() > limit {
            child.kill().ok();
            child.wait().context("a step of the report")?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A line without the folders of this machine.
fn private(line: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let known = |path: &Path, to: &str, line: String| {
        let path = path.display().to_string();
        if path.len() < 2 { line } else { line.replace(&path, to) }
    };
    let mut line = known(&root, ".", line.into());
    for (path, to) in [
        (root.canonicalize().ok(), "."),
        (std::env::current_dir().ok(), "."),
        (std::env::home_dir(), "~"),
        (Some(std::env::temp_dir()), "TMP"),
    ] {
        line = path.map_or(line.clone(), |path| known(&path, to, line));
    }
    line
}

/// One step in one line.
fn told(outcome: &Outcome) -> String {
    let last = outcome.said.last().map_or("", String::as_str);
    let state = if outcome.good { "good" } else { "FAILED" };
    let rate = outcome.record.as_ref().and_then(|record| {
        let of = |name: &str| record[name].as_f64();
        let ms = record["ms"]["median"].as_f64()?;
        let rate = of("bootstraps_per_s").or(of("per_s"))?;
        Some(format!("{ms:.3} ms, {rate:.0} a second"))
    });
    format!("{state} in {:.1} s: {}", outcome.seconds, rate.as_deref().unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(words: &[&str], limit: u64) -> Outcome {
        let words = words.iter().copied().map(String::from).collect();
        let step = Step { name: "a step", words, measures: false };
        step.run(Duration::from_millis(limit)).expect("it starts")
    }

    /// Under test this binary is the test's own program, whose options these are.
    #[test]
    fn steps_that_fail_or_hang_are_told() {
        let good = outcome(&["--list"], 60_000);
        assert!(good.good && good.said.len() == 1, "{:?}", good.said);
        let bad = outcome(&["--no-such-option"], 60_000);
        assert!(!bad.good && bad.said.iter().any(|line| line.contains("no-such-option")));
        let hangs = outcome(&["--exact", "report::tests::sleeps", "--ignored"], 300);
        assert!(!hangs.good && hangs.said.last().is_some_and(|line| line.contains("ended after")));
    }

    #[test]
    #[ignore = "a step that hangs, for the test above"]
    fn sleeps() {
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn steps_are_commands_that_this_program_knows() {
        use clap::Parser;
        let device = Device::open("cpu").expect("always there");
        for step in steps(device.info(), true) {
            let line = std::iter::once("xtask").chain(step.words.iter().map(String::as_str));
            assert!(crate::Arguments::try_parse_from(line).is_ok(), "{:?}", step.words);
        }
    }

    #[test]
    fn folders_are_not_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let line = private(&format!("{}: no such file", root.join("x.rs").display()));
        assert_eq!(line, "./xtask/x.rs: no such file");
        if let Some(home) = std::env::home_dir() {
            let line = private(&home.join(".cache/girih").display().to_string());
            assert!(line.starts_with('~') || line.starts_with('.'), "{line}");
        }
    }
}
