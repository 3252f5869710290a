//! `cargo xtask targets`: the code of other systems, by their standard library, without their
//! linkers. A toolchain that lacks that library checks it from its source.

use crate::drivers::apt::unpacked;
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
        let library = if has_target(target)? {
            Library::Installed
        } else {
            match source() {
                Ok(folder) => Library::Source(folder),
                Err(why) => {
                    println!(
                        "{target} left out: `rustup target add {target}` installs what it needs; \
                         the source of the standard library was not had either: {why:#}"
                    );
                    missing = true;
                    continue;
                }
            }
        };
        good &= check(target, &library)?;
    }
    if good && !missing && arguments.targets == TARGETS {
        let seconds = start.elapsed().as_secs();
        let (what, on) = (PACKAGES.join(" and "), TARGETS.join(" and "));
        let line = format!("passed on {}: {what} for {on}; {seconds} s\n", today());
        std::fs::write(note(), line)?;
    }
    Ok(good && !(missing && arguments.require))
}

/// Where a target's standard library comes from.
enum Library {
    /// The toolchain has it.
    Installed,
    /// Cargo checks it from its source, in this folder.
    Source(PathBuf),
}

/// The source of the standard library of this compiler's version, from Debian's packages, for
/// machines that the toolchain's own server is out of reach of.
fn source() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(rustc).arg("--version").output().context("the Rust compiler")?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let version = told.split_whitespace().nth(1).context("a version of the Rust compiler")?;
    let folder = unpacked(&format!("rust-src-{version}"), &[&format!("rust-src={version}+*")])?;
    Ok(folder.join(format!("usr/src/rustc-{version}/library")))
}

fn check(target: &str, library: &Library) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["check", "--lib", "--bins", "--target", target]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    if let Library::Source(folder) = library {
        println!("{target}: with the standard library in {}", folder.display());
        // What cargo's own tests name a source by, which else lies in the toolchain.
        command.arg("-Zbuild-std").env("__CARGO_TESTS_ONLY_SRC_ROOT", folder);
        // Cargo takes that from nightly compilers, and from others that are told so.
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    let good = command.status().context("cargo")?.success();
    println!("{target}: {}", if good { "good" } else { "FAILED" });
    Ok(good)
}

fn note() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/compilers/last-targets.txt")
}
