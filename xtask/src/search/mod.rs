//! `cargo xtask search`: parameter sets for a message size, a failure probability and a security,
//! ordered by a cost model and then by what a device takes.
//!
//! Failures are those of the library's noise model, with the f64 transform and with inputs that
//! are results of one key; security is that of its estimator, the cheaper of both attacks in
//! either cost model. A search without measurements takes seconds.

mod cost;
mod measure;
mod report;
mod security;
mod space;

use crate::record;
use anyhow::{Context, Result, bail};
use girih::contract::SecretKind;
use girih::tfhe::{Mode, ParameterSet};
use security::Estimates;
use space::Candidate;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// What the sets are for: `gate`, two-input gates on bits; or look-ups of messages of 1 to 6
    /// bits (`4`: two of message and two of carry).
    #[arg(long, default_value = "gate", value_parser = purpose)]
    message: Purpose,
    /// Look-ups: the norm of the sum of look-ups' results that they read.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=64))]
    norm: u32,
    /// Failure probability of one operation, 2^-BITS.
    #[arg(long, default_value_t = 128.0, value_name = "BITS", value_parser = bits)]
    failure: f64,
    /// Security by the cheapest attack that is computed, in bits.
    #[arg(long, default_value_t = 128.0, value_name = "BITS", value_parser = bits)]
    security: f64,
    /// Measure the parameter files of DIR, such as an earlier search wrote, in the place of what a
    /// search finds; targets are not held against them.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// What sets are ordered by.
    #[arg(long, default_value = "throughput")]
    by: By,
    /// Measure so many of the cheapest by the cost model on the device; 0 measures nothing.
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
    measure: usize,
    /// The device of measurements: cpu, cuda:0, or auto for the fastest real one.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// Messages in a measured batch [default: 256 on the CPU, 16384 on a GPU].
    #[arg(long)]
    batch: Option<usize>,
    /// Timed runs of each measurement, after one that warms up.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Write the sets that are listed as parameter files to DIR, for `bench --params`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the records of measurements as JSON to FILE (`-` for standard output).
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// List so many sets.
    #[arg(long, default_value_t = 16, value_name = "COUNT")]
    list: usize,
    /// Keep so many sets of each shape of a rotation (ring, digits, grouping), which differ in
    /// their key switch.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    each: usize,
    /// Polynomial sizes N.
    #[arg(long, value_delimiter = ',', default_values_t = [256, 512, 1024, 2048, 4096])]
    size: Vec<usize>,
    /// Mask polynomials of a GLWE ciphertext.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4])]
    k: Vec<usize>,
    /// Messages that share a ciphertext (r).
    #[arg(long, default_value_t = 1, value_name = "R")]
    packing: usize,
    /// LWE indices a step, of binary secrets.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3])]
    grouping: Vec<usize>,
    /// Gadget digits in use.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4])]
    digits: Vec<usize>,
    /// Ways to control the noise of a product: gd and mr on prime words, and the native torus.
    #[arg(long, value_delimiter = ',', default_values = ["gd", "mr", "torus"])]
    modes: Vec<ModeChoice>,
    /// Distributions of the LWE secret.
    #[arg(long, value_delimiter = ',', default_values = ["binary", "ternary"])]
    lwe_secret: Vec<SecretChoice>,
    /// Distributions of the ring's secret.
    #[arg(long, value_delimiter = ',', default_values = ["ternary", "binary"])]
    ring_secret: Vec<SecretChoice>,
    /// Standard deviation of errors on prime words.
    #[arg(long, default_value_t = 3.19)]
    sigma: f64,
    /// Largest size of both keys together on a device, 24G or 512M.
    #[arg(long, default_value = "1G", value_name = "BYTES", value_parser = crate::bytes::parse)]
    key_bytes: u64,
}

/// What sets are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Two-input gates on bits.
    Gate,
    /// Look-ups of messages of so many bits under one of padding.
    LookUp(u32),
}

impl Purpose {
    /// First part of a set's name.
    fn label(self) -> String {
        match self {
            Self::Gate => "GATE".to_owned(),
            Self::LookUp(bits) => format!("LUT{bits}"),
        }
    }
}

fn purpose(text: &str) -> Result<Purpose, String> {
    match text.parse() {
        _ if text == "gate" => Ok(Purpose::Gate),
        Ok(bits @ 1..=6) => Ok(Purpose::LookUp(bits)),
        _ => Err(format!("{text}: must be gate, or bits of a look-up's messages from 1 to 6")),
    }
}

fn bits(text: &str) -> Result<f64, String> {
    match text.strip_prefix("2^-").unwrap_or(text).parse() {
        Ok(bits) if (5.0..=512.0).contains(&bits) => Ok(bits),
        _ => Err(format!("{text}: must be a number of bits from 5 to 512")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Messages a second in a large batch.
    Throughput,
    /// Time of one ciphertext.
    Latency,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ModeChoice {
    Gd,
    Mr,
    Torus,
}

impl From<Mode> for ModeChoice {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Gd => Self::Gd,
            Mode::Mr => Self::Mr,
            Mode::Torus => Self::Torus,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SecretChoice {
    Ternary,
    Binary,
}

impl From<SecretChoice> for SecretKind {
    fn from(choice: SecretChoice) -> Self {
        match choice {
            SecretChoice::Ternary => Self::Ternary,
            SecretChoice::Binary => Self::Binary,
        }
    }
}

/// Refuses what could only fail after the search.
fn check(arguments: &Arguments) -> Result<()> {
    let outside =
        |name: &str, values: &[usize], range: std::ops::RangeInclusive<usize>| match values
            .iter()
            .find(|v| !range.contains(v))
        {
            Some(value) => bail!("--{name} {value}: must be from {range:?}"),
            None => Ok(()),
        };
    outside("k", &arguments.k, 1..=4)?;
    outside("grouping", &arguments.grouping, 1..=4)?;
    outside("digits", &arguments.digits, 1..=20)?;
    outside("packing", &[arguments.packing], 1..=16)?;
    outside("each", &[arguments.each], 1..=usize::MAX)?;
    if let Some(size) =
        arguments.size.iter().find(|n| ![256, 512, 1024, 2048, 4096, 8192].contains(n))
    {
        bail!("--size {size}: must be a power of two from 256 to 8192");
    }
    if !(0.25..=64.0).contains(&arguments.sigma) {
        bail!("--sigma {}: must be from 0.25 to 64", arguments.sigma);
    }
    if let Some(json) = &arguments.json {
        record::check_file("--json", json)?;
    }
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    check(arguments)?;
    let say = record::speaker(arguments.json.as_deref());
    let found = match &arguments.from {
        Some(folder) => given(arguments, folder)?,
        None => search(arguments, &say)?,
    };
    report::print(&found, arguments.packing, &say);
    if let Some(folder) = &arguments.out {
        report::write(&found, folder, &say)?;
    }
    if arguments.measure == 0 {
        return Ok(true);
    }
    measure::run(arguments, &found, &say)
}

/// The parameter files of a folder, by name.
fn given(arguments: &Arguments, folder: &Path) -> Result<Vec<Candidate>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    if paths.is_empty() {
        bail!("{}: has no parameter files (*.toml)", folder.display());
    }
    let read = |path: &PathBuf| -> Result<Candidate> {
        let text = std::fs::read_to_string(path)?;
        Ok(Candidate::new(arguments, ParameterSet::from_toml(&text)?))
    };
    paths.iter().map(|path| read(path).with_context(|| path.display().to_string())).collect()
}

/// What holds the targets, in the order of the cost model.
fn search(arguments: &Arguments, say: &dyn Fn(String)) -> Result<Vec<Candidate>> {
    let (start, mut estimates) = (Instant::now(), Estimates::default());
    let rank = |cost: &cost::Cost| match arguments.by {
        By::Throughput => cost.throughput_ns,
        By::Latency => cost.latency_ms,
    };
    let (mut found, considered) = space::candidates(arguments, &mut estimates, &rank);
    say(format!(
        "searched  {considered} sets of at least {} bits; {} shapes of a rotation have one that \
         fails with 2^-{} or less; {} estimates, {:.1} s",
        arguments.security,
        found.len().div_ceil(arguments.each),
        arguments.failure,
        estimates.count(),
        start.elapsed().as_secs_f64()
    ));
    if found.is_empty() {
        bail!("no set of these holds both targets; allow other sizes, digits or larger keys");
    }
    found.truncate(arguments.list.max(arguments.measure).max(1));
    // By the set as it is, primes and all: what was computed of its sides must be what it says.
    for candidate in &found {
        let estimate = candidate.set.security().estimate;
        if estimate.cheapest_matzov.min(estimate.usvp_bdgl16) < arguments.security {
            bail!("{}: {}", candidate.set.name(), candidate.set.security().text);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_holds_the_targets_and_is_written() {
        let folder = std::env::temp_dir().join(format!("girih-search-{}", std::process::id()));
        let words = [
            "search",
            "--measure",
            "0",
            "--security",
            "90",
            "--failure",
            "64",
            "--size",
            "512,1024",
            "--k",
            "1,2",
            "--grouping",
            "2",
            "--lwe-secret",
            "binary",
            "--list",
            "4",
        ];
        let mut arguments: Arguments = crate::parsed(&words);
        arguments.out = Some(folder.clone());
        assert!(run(&arguments).expect("there are sets"));
        let mut read = 0;
        for file in std::fs::read_dir(&folder).expect("written") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
            let set = ParameterSet::from_toml(&text).expect("a set");
            let estimate = set.security().estimate;
            assert!(estimate.cheapest_matzov.min(estimate.usvp_bdgl16) >= 90.0, "{set}");
            let model = girih::tfhe::NoiseModel::with_transform(&set, girih::Transform::Fft);
            assert!(model.log2_failure() <= -64.0, "{set}");
            read += 1;
        }
        assert_eq!(read, 4);
        arguments.out = None;
        arguments.from = Some(folder.clone());
        assert!(run(&arguments).expect("they are files"));
        std::fs::remove_dir_all(&folder).expect("ours");
        assert!(run(&arguments).is_err(), "they are gone");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (words, part) in [
            (["search", "--size", "1000"], "power of two"),
            (["search", "--k", "5"], "--k 5"),
            (["search", "--sigma", "100"], "0.25 to 64"),
        ] {
            let error = run(&crate::parsed(&words)).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(purpose("7").is_err() && purpose("nand").is_err() && bits("2").is_err());
        assert_eq!(bits("2^-64"), Ok(64.0));
        assert!(bits("2^-2^-64").is_err());
    }
}
