//! `cargo xtask tfhe-rs`

use crate::apart::Apart;
use anyhow::{Context, Result, bail};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Run nothing: print when the tests last passed, on what, and what they took.
    #[arg(long)]
    last: bool,
    /// Compare all pairs of four bits and random ones up to 128 bits as well: half an hour on two
    /// cores.
    #[arg(long)]
    exhaustive: bool,
}

const CRATE: Apart = Apart {
    folder: "crates/tfhe-rs",
    why: "left out, since it builds all of TFHE-rs: `cargo xtask tfhe-rs`",
};

/// The oldest compiler that TFHE-rs takes.
const RUST: (u32, u32) = (1, 91);

/// Builds and tests `crates/tfhe-rs`, which the workspace leaves out, and notes that it passed.
///
/// # Errors
/// For a compiler that is too old, and if cargo cannot be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.last {
        CRATE.print_last()?;
        return Ok(true);
    }
    let found = compiler()?;
    if found < RUST {
        bail!(
            "TFHE-rs takes Rust {}.{}, this is {}.{}: `rustup update` brings a newer one",
            RUST.0,
            RUST.1,
            found.0,
            found.1
        );
    }
    let all: &[&str] = if arguments.exhaustive { &["--include-ignored"] } else { &[] };
    // One test at a time: each uses all threads.
    let test = [&["test", "--release", "--", "--test-threads", "1"], all].concat();
    let example = ["run", "--release", "--example", "tfhe_rs_client"];
    let tests = if arguments.exhaustive { "all tests, all pairs too" } else { "tests" };
    let what = format!("{tests} and the example");
    CRATE.test(&what, &["test", "--release", "--no-run"], &[&test, &example])
}

/// Major and minor version of the compiler.
fn compiler() -> Result<(u32, u32)> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().context("the Rust compiler")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    version(&text).with_context(|| format!("{text:?} is no version of Rust"))
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split_whitespace().nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(version("rustc 1.97.0-nightly (x)"), Some((1, 97)));
        assert_eq!(version("something"), None);
    }
}
