//! `cargo xtask test`

use anyhow::{Context, Result};
use girih::{Device, DeviceKind};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub struct Arguments {
    /// Kinds of device that must be present, such as `wgpu,cpu`: an absent one fails the run.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    require: Vec<String>,
    /// Also measure the noise of every parameter set against the model (minutes).
    #[arg(long)]
    all_noise: bool,
    /// Also run what takes hours: 1,000 bootstrappings of a small CKKS set, 20 of CKKS_D40, and the
    /// stated precision of every set and variant, one line a case, on every device; rarer failures;
    /// with the feature below, all shapes.
    #[arg(long)]
    long: bool,
    /// Only cases of the conformance suite whose names contain this, optimised as for use:
    /// `--long --case cpu::ckks::long::d40_meta`.
    #[arg(long, value_name = "NAME", conflicts_with = "rest")]
    case: Option<String>,
    /// Features to build with: `girih-conformance/emulation` runs the CUDA sources on the host,
    /// with a C++ compiler.
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    features: Vec<String>,
    /// Settings of cargo to build with, as a file or as KEY=VALUE.
    #[arg(long, value_name = "CONFIG")]
    config: Option<String>,
    /// Passed on to the test runner.
    #[arg(last = true)]
    rest: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut found = Device::enumerate();
    if !found.devices.iter().any(|d| d.kind == DeviceKind::Wgpu) && install_software_driver() {
        found = Device::enumerate();
    }
    for device in &found.devices {
        println!("device: {:<10} {}", device.id, device.name);
    }
    for line in &found.absent {
        println!("absent: {line}");
    }
    for kind in &arguments.require {
        if !found.devices.iter().any(|d| d.kind.to_string() == *kind) {
            println!("required device kind `{kind}` is absent");
            return Ok(false);
        }
    }
    let mut counted = Counts::default();
    let mut success = true;
    for targets in targets(arguments.case.as_deref()) {
        success &= run_targets(arguments, targets, &mut counted)?;
    }
    println!("{} passed, {} failed, {} skipped", counted.passed, counted.failed, counted.ignored);
    Ok(success)
}

/// What is handed to `cargo test`, one list a run: one case's suite; or all tests, then those in
/// documentation. Without naming targets the programs of the examples would be linked, too, whose
/// code the tests have.
fn targets(case: Option<&str>) -> &'static [&'static [&'static str]] {
    match case {
        Some(_) => &[&["--release", "-p", "girih-conformance", "--test", "conformance"]],
        None => &[&["--workspace", "--lib", "--bins", "--tests"], &["--workspace", "--doc"]],
    }
}

/// One run of `cargo test`, whose lines are shown and counted; whether everything passed.
fn run_targets(arguments: &Arguments, targets: &[&str], counted: &mut Counts) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    if let Some(config) = &arguments.config {
        command.args(["--config", config]);
    }
    command.arg("test").args(targets);
    if !arguments.features.is_empty() {
        command.args(["--features", &arguments.features.join(",")]);
    }
    if arguments.all_noise {
        command.env("GIRIH_ALL_NOISE", "1");
    }
    if arguments.long {
        command.env("GIRIH_LONG", "1");
    }
    // Every test of every binary, whatever failed before it: the last line counts them all.
    command.arg("--no-fail-fast");
    if let Some(case) = &arguments.case {
        command.args(["--", case]);
    }
    if !arguments.rest.is_empty() {
        command.arg("--").args(&arguments.rest);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().context("cargo could not be started")?;
    let output = child.stdout.take().context("cargo has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line.context("reading what the tests print")?;
        println!("{line}");
        counted.add(&line);
    }
    Ok(child.wait().context("cargo")?.success())
}

/// Sums of the lines with which test binaries end.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Counts {
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let number = |what: &str| {
            let part = counts.split([';', '.']).map(str::trim).find_map(|p| p.strip_suffix(what));
            part.and_then(|n| n.trim().parse::<usize>().ok()).unwrap_or(0)
        };
        self.passed += number("passed");
        self.failed += number("failed");
        self.ignored += number("ignored");
    }
}

/// Without any Vulkan driver the WGSL kernels would go untested: where this user may install
/// packages the software driver is installed, elsewhere the command is told. Returns whether
/// something changed.
fn install_software_driver() -> bool {
    const PACKAGES: [&str; 2] = ["libvulkan1", "mesa-vulkan-drivers"];
    let apt = |arguments: &[&str]| {
        let status = Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(arguments)
            .status();
        status.is_ok_and(|s| s.success())
    };
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    if root && Command::new("apt-get").arg("--version").output().is_ok() {
        println!("no Vulkan driver: installing {}", PACKAGES.join(" "));
        return apt(&["update", "-qq"])
            && apt(&[&["install", "-y", "-qq"], &PACKAGES[..]].concat());
    }
    println!(
        "no Vulkan driver: WGSL kernels stay untested; install one with `apt-get install {}` or \
         your system's like",
        PACKAGES.join(" ")
    );
    false
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn sums_what_test_binaries_print() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test result: ok. 13 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished \
             in 0.07s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; \
             finished in 1.00s",
        ] {
            counts.add(line);
        }
        assert_eq!(counts, Counts { passed: 17, failed: 2, ignored: 1 });
    }
}
