//! `cargo xtask bundle`

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder to fill.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// What goes into a bundle: the name there, and the cargo arguments that build it.
const PARTS: &[(&str, &[&str])] = &[
    ("xtask", &["build", "--release", "--package", "xtask"]),
    (
        "conformance",
        &[
            "test",
            "--release",
            "--no-run",
            "--package",
            "girih-conformance",
            "--test",
            "conformance",
        ],
    ),
    ("examples", &["build", "--release", "--examples", "--package", "girih"]),
];

pub fn run(arguments: &Arguments) -> Result<bool> {
    std::fs::create_dir_all(&arguments.out).with_context(|| arguments.out.display().to_string())?;
    for (part, cargo_arguments) in PARTS {
        for built in build(cargo_arguments)? {
            // Examples keep their names; the others have one binary,
            // whose file name may carry a hash.
            let name = if *part == "examples" {
                built.file_stem().unwrap_or_default().to_owned()
            } else {
                OsString::from(part)
            };
            let to = arguments.out.join(name);
            std::fs::copy(&built, &to)
                .with_context(|| format!("{} to {}", built.display(), to.display()))?;
            strip(&to);
            println!("{:>12} bytes  {}", std::fs::metadata(&to)?.len(), to.display());
        }
    }
    Ok(true)
}

/// Builds and returns the executables that cargo names.
fn build(arguments: &[&str]) -> Result<Vec<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .env("GIRIH_COMMIT", crate::record::commit())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    if !output.status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages =
        text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut built: Vec<PathBuf> =
        messages.filter_map(|m| m["executable"].as_str().map(PathBuf::from)).collect();
    built.sort();
    built.dedup();
    Ok(built)
}

/// Makes the copy smaller where the tool is there; an unstripped binary runs as well.
fn strip(path: &Path) {
    if !Command::new("strip").arg(path).status().is_ok_and(|s| s.success()) {
        eprintln!("note: `strip` is not there; {} keeps its symbols", path.display());
    }
}
