//! `cargo xtask drivers`: whole runs on drivers that need no GPU.
//!
//! Each run is this program in a process of its own, since a driver is chosen by the environment,
//! and one that crashes must be told like any other failure.

mod layers;
mod spirv;
mod work;

use super::apt;
use super::chips::{self, Driver};
use super::mesa::Mesa;
use crate::record::today;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these, commas between them [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<Run>,
    /// Chips whose drivers run with a device that does nothing.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "navi31,dg2")]
    chips: Vec<String>,
    /// The manifest of a Vulkan driver that runs in the place of SwiftShader.
    #[arg(long, value_name = "ICD.json")]
    driver_file: Option<PathBuf>,
    /// Where a driver cannot be had, say so and leave it out.
    #[arg(long)]
    if_available: bool,
    /// Run nothing: print when each of them last passed.
    #[arg(long)]
    last: bool,
    /// For this command itself: what a process of its own does.
    #[arg(long, hide = true)]
    here: Option<work::Here>,
    #[arg(long, hide = true, default_value = "auto")]
    device: String,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Run {
    /// Every call of both families on a device that does nothing, through the drivers of vendors.
    HostPath,
    /// Vectors and cases on SwiftShader.
    Swiftshader,
    /// Cases under the newest Khronos validation layer.
    Layers,
    /// Cases within the limits of small GPUs.
    Limits,
    /// The modules of built-in sets, by spirv-val.
    Spirv,
}

impl Run {
    const ALL: [Self; 5] =
        [Self::HostPath, Self::Swiftshader, Self::Layers, Self::Limits, Self::Spirv];

    fn name(self) -> &'static str {
        match self {
            Self::HostPath => "host-path",
            Self::Swiftshader => "swiftshader",
            Self::Layers => "layers",
            Self::Limits => "limits",
            Self::Spirv => "spirv",
        }
    }
}

/// What a run came to: a line that says so, and whether it was good.
type Outcome = (String, bool);

/// # Errors
/// If a driver cannot be had or a process not be started.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(here) = arguments.here {
        return here.run(&arguments.device);
    }
    if arguments.last {
        print!("{}", std::fs::read_to_string(notes()).context("no run has left a note")?);
        return Ok(true);
    }
    let all = if arguments.only.is_empty() { &Run::ALL[..] } else { &arguments.only };
    let mut good = true;
    for &one in all {
        let start = Instant::now();
        println!("{}:", one.name());
        let (what, passed) = match arguments.one(one) {
            Err(error) if arguments.if_available && error.is::<Absent>() => {
                println!("{} left out: {error:#}", one.name());
                continue;
            }
            other => other?,
        };
        let seconds = start.elapsed().as_secs();
        println!("{}: {what}: {} in {seconds} s", one.name(), said(passed));
        good &= passed;
        if passed && arguments.driver_file.is_none() {
            note(one, &format!("{what}; {seconds} s"))?;
        }
    }
    Ok(good)
}

fn said(passed: bool) -> &'static str {
    if passed { "good" } else { "FAILED" }
}

/// Something that a run needs and that cannot be had here.
#[derive(Debug)]
struct Absent(String);

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// An error that says that it is for want of something.
fn absent(error: anyhow::Error) -> anyhow::Error {
    Absent(format!("{error:#}")).into()
}

impl Arguments {
    fn one(&self, run: Run) -> Result<Outcome> {
        match run {
            Run::HostPath => self.host_path(),
            Run::Swiftshader => self.swiftshader(),
            Run::Layers => layers::run(),
            Run::Limits => limits(),
            Run::Spirv => spirv::run(),
        }
    }

    fn host_path(&self) -> Result<Outcome> {
        let chips = chips::named(&Driver::ALL, &self.chips)?;
        let (mut names, mut good) = (Vec::new(), true);
        for chip in chips {
            let mesa = Mesa::of(chip.driver).map_err(absent)?;
            for profile in ["int64", "core-full"] {
                println!("{}, {} by @{profile}", chip.name, chip.generation);
                let device = format!("wgpu:0@{profile}");
                let mut command = mesa.device(chip).map_err(absent)?;
                good &= succeeds(
                    command.args(["drivers", "--here", "host-path", "--device"]).arg(device),
                )?;
            }
            names.push(format!("{} ({})", chip.name, chip.generation));
        }
        Ok((format!("drivers for {}, whose device does nothing", names.join(", ")), good))
    }

    fn swiftshader(&self) -> Result<Outcome> {
        let (manifest, title) = match &self.driver_file {
            Some(file) if !file.exists() => bail!("{}: there is no such file", file.display()),
            Some(file) => (file.canonicalize()?, file.display().to_string()),
            None => {
                let chromium = chromium()?;
                (chromium.join("vk_swiftshader_icd.json"), format!("SwiftShader of {}", version()))
            }
        };
        let mut good = true;
        for what in ["vectors", "cases"] {
            let mut command = this_program()?;
            command.args(["drivers", "--here", what, "--device", "wgpu"]);
            command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", &manifest);
            good &= succeeds(&mut command)?;
        }
        Ok((format!("vectors of all schemes, and cases, on {title}"), good))
    }
}

/// Cases on this machine's software driver, opened as a small GPU.
fn limits() -> Result<Outcome> {
    let mut good = true;
    for profile in ["mobile16", "mobile32"] {
        println!("@{profile}");
        let device = format!("wgpu:llvmpipe@{profile}");
        let words = ["drivers", "--here", "cases", "--device", &device];
        good &= succeeds(this_program()?.args(words))?;
    }
    let what =
        "cases within 128 threads, bindings of 128 MiB and 16 and 32 KiB of workgroup memory";
    Ok((what.into(), good))
}

/// The folder of Debian's Chromium that has SwiftShader and the Khronos validation layer, both of
/// the same day as the browser. Its version is the list's newest: older ones are taken away.
fn chromium() -> Result<PathBuf> {
    let folder = apt::unpacked("chromium-common", &["chromium-common"]).map_err(absent)?;
    Ok(folder.join("usr/lib/chromium"))
}

fn version() -> String {
    let folder = apt::below_target("chromium-common").ok();
    let version = folder.and_then(|folder| apt::version(&folder, "chromium-common"));
    format!("Chromium {}", version.as_deref().unwrap_or("of an unknown version"))
}

fn this_program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("this program's own file")?))
}

/// Whether a process, whose lines are shown, ends well.
fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().context("this program, once more")?;
    if !status.success() {
        println!("FAILED: {status}");
    }
    Ok(status.success())
}

/// Where it is kept when each run last passed.
fn notes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks/compilers/last-runs.txt")
}

/// Keeps that a run passed, in the place of what was kept of it before.
fn note(run: Run, what: &str) -> Result<()> {
    let before = std::fs::read_to_string(notes()).unwrap_or_default();
    std::fs::write(notes(), noted(&before, run, &format!("passed on {}: {what}", today())))?;
    Ok(())
}

fn noted(before: &str, run: Run, what: &str) -> String {
    let line = |one: Run| {
        let name = format!("{}: ", one.name());
        if one == run {
            return Some(format!("{name}{what}\n"));
        }
        before.lines().find(|line| line.starts_with(&name)).map(|line| format!("{line}\n"))
    };
    Run::ALL.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_takes_the_place_of_the_one_before() {
        let first = noted("", Run::Layers, "passed on a day: one");
        let both = noted(&first, Run::HostPath, "passed on a day: two");
        assert_eq!(both, "host-path: passed on a day: two\nlayers: passed on a day: one\n");
        let later = noted(&both, Run::Layers, "passed later: three");
        assert_eq!(later, "host-path: passed on a day: two\nlayers: passed later: three\n");
    }

    #[test]
    fn what_is_absent_is_told_from_what_failed() {
        let error = absent(anyhow::anyhow!("apt-get cannot be run"));
        assert!(error.is::<Absent>() && error.to_string().contains("apt-get"));
        assert!(!anyhow::anyhow!("wrong words").is::<Absent>());
    }
}
