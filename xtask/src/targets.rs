//! `cargo xtask targets`: the code of other systems, by their standard library, without their
//! linkers.

use crate::record::today;
use crate::wasm::has_target;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Windows and macOS, on the processors that most of their machines have.
const TARGETS: [&str; 2] = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

/// What a user depends on, and the commands.
const PACKAGES: [&str; 2] = ["girih", "xtask"];

#[derive(clap::Args)]
pub struct Arguments {
    /// Systems, commas between them.
    #[arg(long = "target", value_name = "NAMES", value_delimiter = ',',
        default_values_t = TARGETS.map(String::from))]
    targets: Vec<String>,
    /// Fail where the toolchain lacks one, instead of saying that it is left out.
    #[arg(long)]
    require: bool,
    /// Run nothing: print when all of them last passed.
    #[arg(long)]
    last: bool,
}

/// # Errors
/// If no compiler or cargo can be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.last {
        let last = std::fs::read_to_string(note()).context("no run has left a note")?;
        println!("left out, since it builds everything again: {}", last.trim());
        return Ok(true);
    }
    let start = Instant::now();
    let (mut good, mut missing) = (true, false);
    for target in &arguments.targets {
        if !has_target(target)? {
            println!("{target} left out: `rustup target add {target}` installs what it needs");
            missing = true;
            continue;
        }
        good &= check(target)?;
    }
    if good && !missing && arguments.targets == TARGETS {
        let seconds = start.elapsed().as_secs();
        let (what, on) = (PACKAGES.join(" and "), TARGETS.join(" and "));
        let line = format!("passed on {}: {what} for {on}; {seconds} s\n", today());
        std::fs::write(note(), line)?;
    }
    Ok(good && !(missing && arguments.require))
}

fn check(target: &str) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["check", "--lib", "--bins", "--target", target]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let good = command.status().context("cargo")?.success();
    println!("{target}: {}", if good { "good" } else { "FAILED" });
    Ok(good)
}

fn note() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/compilers/last-targets.txt")
}
