//! `cargo xtask fuzz`: every decoder, parser and file format under changed inputs.

use anyhow::{Context, Result, bail};
use girih_conformance::vectors::VectorFile;
use girih_fuzz::{Target, judge, targets, text};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Minutes to run for.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Where inputs come from; the same seed makes the same ones [default: one of the time, which
    /// is printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Only targets with this in their name.
    #[arg(long)]
    target: Option<String>,
    /// Read this file with each target instead, and say how that went.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Folder for inputs that were found.
    #[arg(long, default_value = "target/fuzz")]
    findings: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if !(arguments.minutes > 0.0 && arguments.minutes <= 1e5) {
        bail!("--minutes {}: must be above 0 and at most 100000", arguments.minutes);
    }
    let mut all = targets();
    let vectors = include_str!("../../tests/vectors/gd_k1.json").to_owned();
    all.push(text("vector file", vec![vectors], |text| VectorFile::parse("a vector file", text)));
    if let Some(part) = &arguments.target {
        let names: Vec<_> = all.iter().map(|target| target.name).collect();
        all.retain(|target| target.name.contains(part.as_str()));
        if all.is_empty() {
            bail!("--target {part}: no target of that name; there are {}", names.join(", "));
        }
    }
    match &arguments.replay {
        Some(file) => replay(&all, file),
        None => fuzz(arguments, &all),
    }
}

fn replay(all: &[Target], file: &Path) -> Result<bool> {
    let input = std::fs::read(file).with_context(|| file.display().to_string())?;
    let mut good = true;
    for target in all {
        match judge(target, &input) {
            Ok((outcome, took)) => println!("{:<16} {outcome:?} in {took:.1?}", target.name),
            Err(what) => {
                println!("{:<16} {what}", target.name);
                good = false;
            }
        }
    }
    Ok(good)
}

fn fuzz(arguments: &Arguments, all: &[Target]) -> Result<bool> {
    let since_1970 = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = arguments.seed.unwrap_or_else(|| since_1970().map_or(0, |time| time.as_secs()));
    let (start, limit) = (Instant::now(), Duration::from_secs_f64(60.0 * arguments.minutes));
    println!("{} targets for {} minutes, seed {seed}", all.len(), arguments.minutes);
    let (counts, findings) = girih_fuzz::run(all, seed, || start.elapsed() > limit);
    for (target, count) in all.iter().zip(&counts) {
        let (read, accepted, slowest) = (count.read, count.accepted, count.slowest);
        println!(
            "{:<16} {read:>9} inputs, {accepted:>7} accepted, slowest {slowest:.1?}",
            target.name
        );
    }
    for (index, finding) in findings.iter().enumerate() {
        std::fs::create_dir_all(&arguments.findings)
            .with_context(|| arguments.findings.display().to_string())?;
        let name = format!("{}-{seed}-{index}.bin", finding.target.replace(' ', "-"));
        let path = arguments.findings.join(name);
        std::fs::write(&path, &finding.input).with_context(|| path.display().to_string())?;
        println!("{}: {}", finding.target, finding.what);
        println!(
            "  repeat: cargo xtask fuzz --target \"{}\" --replay {}",
            finding.target,
            path.display()
        );
    }
    println!("{} findings", findings.len());
    Ok(findings.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(more: &[&str]) -> Arguments {
        crate::parsed(&[&["fuzz"], more].concat())
    }

    #[test]
    fn a_moment_of_one_target_and_what_cannot_be() {
        let folder = std::env::temp_dir().join(format!("girih-fuzz-{}", std::process::id()));
        let findings = folder.to_string_lossy().into_owned();
        let good = run(&line(&[
            "--minutes",
            "0.01",
            "--seed",
            "1",
            "--target",
            "parameter",
            "--findings",
            &findings,
        ]));
        assert!(good.expect("runs"));
        assert!(!folder.exists(), "nothing was found");
        let refusal = |more: &[&str]| run(&line(more)).expect_err("must be refused").to_string();
        assert!(refusal(&["--minutes", "0"]).contains("above 0"));
        assert!(refusal(&["--target", "nothing"]).contains("evaluation keys"));
        assert!(refusal(&["--replay", "no-such-file"]).contains("no-such-file"));
    }
}
