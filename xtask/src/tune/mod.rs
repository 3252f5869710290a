//! `cargo xtask tune`: measures the plans that a device lists for a set and keeps the fastest, and
//! where integers over numbers in slots become faster than over TFHE.

pub mod arguments;
mod bootstraps;
mod crossover;

pub use arguments::Arguments;

use crate::{bench, ckks, record};
use anyhow::{Context, Result, bail};
use girih::Device;
use girih::ckks::CkksParameters;
use girih::device::TunedPlans;
use girih::tfhe::ParameterSet;
use std::path::Path;

pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.repeat == 0 || arguments.batch == Some(0) {
        bail!("--repeat and --batch must be at least 1");
    }
    if let Some(pair) = crossover::Pair::find(arguments)? {
        if let Some(json) = &arguments.json {
            record::check_file("--json", json)?;
        }
        let device = Device::open(&arguments.device)?;
        let say = record::speaker(arguments.json.as_deref());
        say(format!("device    {} ({})", device.info().id, device.info().name));
        let (measured, right) = crossover::run(arguments, &device, &pair, &say)?;
        if let Some(json) = &arguments.json {
            record::write_json(json, &measured.into())?;
        }
        return Ok(right);
    }
    let sets = arguments.set.iter().map(|name| Set::find(arguments, name));
    let sets = sets.collect::<Result<Vec<_>>>()?;
    let device = Device::open(&arguments.device)?;
    let path =
        TunedPlans::path().context("this system names no cache folder: set XDG_CACHE_HOME")?;
    check_files(arguments, &path)?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!(
        "device    {} ({}), plans of {}",
        device.info().id,
        device.info().name,
        device.backend().identity()
    ));
    let mut all = Vec::new();
    let agree = sets.iter().try_fold(true, |agree, set| {
        let (measured, agrees) = match set {
            Set::Ckks(set) => ckks::tune::run(arguments, &device, set, &path, &say)?,
            Set::Tfhe(set) => bootstraps::run(arguments, &device, set, &path, &say)?,
        };
        all.extend(measured);
        Ok(agrees && agree)
    });
    // What was measured before a failure is kept.
    if let Some(json) = &arguments.json
        && !all.is_empty()
    {
        record::write_json(json, &all.into())?;
    }
    agree
}

/// A set of either scheme.
enum Set {
    Tfhe(ParameterSet),
    Ckks(CkksParameters),
}

impl Set {
    fn find(arguments: &Arguments, name: &String) -> Result<Self> {
        if name.contains("CKKS") {
            if arguments.packing.is_some() {
                bail!("--packing: is an option of TFHE sets; leave it out for {name}");
            }
            return Ok(Self::Ckks(CkksParameters::by_name(name)?));
        }
        if arguments.op.is_some() {
            bail!("--op: plans of {name} are measured by gates; --op is for CKKS sets");
        }
        let set = ParameterSet::by_name(name)?;
        Ok(Self::Tfhe(bench::repack(set, Some(name), arguments.packing)?))
    }
}

/// Refuses files that could not be read or written when the measurements are there.
fn check_files(arguments: &Arguments, plans: &Path) -> Result<()> {
    if let Some(json) = &arguments.json {
        record::check_file("--json", json)?;
    }
    if !arguments.dry_run {
        TunedPlans::read(plans)?;
        // They are written beside their place first, and others may be reading them.
        record::check_file("tuned plans:", &plans.with_extension("json.check").to_string_lossy())?;
    }
    Ok(())
}
