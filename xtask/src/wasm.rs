//! `cargo xtask wasm`

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Fail where the toolchain lacks the target, instead of saying that the check is left out.
    #[arg(long)]
    require: bool,
}

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// What a browser can run: everything but CUDA.
const PACKAGES: [&str; 10] = [
    "girih-backend",
    "girih-rlwe",
    "girih-tfhe",
    "girih-integer",
    "girih-ckks",
    "girih-switching",
    "girih-discrete",
    "girih-wgpu",
    "girih",
    "girih-web",
];

/// Checks that the crates compile for a browser.
///
/// # Errors
/// If no compiler or cargo can be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if !has_target(TARGET)? {
        println!(
            "left out: this toolchain has no {TARGET}; `rustup target add {TARGET}` installs it"
        );
        return Ok(!arguments.require);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["check", "--lib", "--target", TARGET, "--no-default-features"]);
    command.args(["--features", "girih/wgpu"]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let good = command.status().context("cargo")?.success();
    if good {
        println!("{} compile for {TARGET}", PACKAGES.join(", "));
    }
    Ok(good)
}

/// Whether the standard library of a target lies beside the compiler.
pub(crate) fn has_target(target: &str) -> Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(rustc).args(["--print", "sysroot"]).output().context("the Rust compiler")?;
    let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(root.join("lib/rustlib").join(target).join("lib").exists())
}
