//! `cargo xtask service`

use crate::apart::Apart;
use anyhow::Result;

#[derive(clap::Args)]
pub struct Arguments {
    /// Run nothing: print when the tests last passed, on what, and what they took.
    #[arg(long)]
    last: bool,
}

const CRATE: Apart = Apart {
    folder: "crates/service",
    why: "left out, since it builds a web server: `cargo xtask service`",
};

/// Builds and tests `crates/service`, which the workspace leaves out, and notes that it passed.
///
/// # Errors
/// If cargo cannot be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.last {
        CRATE.print_last()?;
        return Ok(true);
    }
    let lint = ["clippy", "--all-targets", "--", "-D", "warnings"];
    CRATE.test("lints and tests", &["test", "--no-run"], &[&lint, &["test"]])
}
