//! `cargo xtask tfhe-rs`

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
pub struct Arguments {
    /// Run nothing: print when the tests last passed, on what, and what they took.
    #[arg(long)]
    last: bool,
    /// Compare all pairs of four bits and random ones up to 64 bits as well: some ten minutes more.
    #[arg(long)]
    exhaustive: bool,
}

/// What the last run that passed left, one line.
const LAST: &str = "last-run.txt";

/// The oldest compiler that TFHE-rs takes.
const RUST: (u32, u32) = (1, 91);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/tfhe-rs")
}

/// Builds and tests `crates/tfhe-rs`, which the workspace leaves out, and notes that it passed.
///
/// # Errors
/// For a compiler that is too old, and if cargo cannot be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let note = folder().join(LAST);
    if arguments.last {
        let last = std::fs::read_to_string(&note).with_context(|| LAST)?;
        println!(
            "left out, since it builds all of TFHE-rs: `cargo xtask tfhe-rs`. {}",
            last.trim()
        );
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
    let begin = Instant::now();
    if !cargo(&["test", "--release", "--no-run"])? {
        return Ok(false);
    }
    let built = begin.elapsed().as_secs();
    let begin = Instant::now();
    let all: &[&str] = if arguments.exhaustive { &["--include-ignored"] } else { &[] };
    // One test at a time: each uses all threads.
    let test = ["test", "--release", "--", "--test-threads", "1"];
    let example = ["run", "--release", "--example", "tfhe_rs_client"];
    let good = cargo(&[&test, all].concat())? && cargo(&example)?;
    if good {
        let tests = if arguments.exhaustive { "all tests, all pairs too" } else { "tests" };
        let tests = format!("{tests} and the example");
        let line = format!(
            "Last passed on {}: {tests}; built in {built} s (of what was not yet built), ran {} s, \
             {} threads.\n",
            today()?,
            begin.elapsed().as_secs(),
            std::thread::available_parallelism().map_or(1, usize::from),
        );
        print!("{line}");
        std::fs::write(&note, line).with_context(|| note.display().to_string())?;
    }
    Ok(good)
}

/// In the crate's folder, whose settings are its own.
fn cargo(words: &[&str]) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(words).current_dir(folder()).status();
    Ok(status.context("cargo")?.success())
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

/// As 2026-11-26, in UTC.
fn today() -> Result<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    Ok(format!("{year}-{month:02}-{day:02}"))
}

/// Year, month and day of a number of days since 1 January 1970.
fn date(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_783), (2026, 11, 26));
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(version("rustc 1.97.0-nightly (x)"), Some((1, 97)));
        assert_eq!(version("something"), None);
    }
}
