//! Whose keys a run is of, how they are loaded, and what is encrypted under them.

use super::arguments::{Arguments, TransformChoice};
use anyhow::{Context, Result, bail};
use girih::tfhe::ParameterSet;
use girih::{LoadOptions, PlanRequest, Transform};

/// The set that is asked for, or `default`.
pub fn parameter_set_or(arguments: &Arguments, default: &str) -> Result<ParameterSet> {
    let set = match &arguments.params {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            ParameterSet::from_toml(&text).with_context(|| path.display().to_string())?
        }
        None => ParameterSet::by_name(arguments.set.as_deref().unwrap_or(default))?,
    };
    repack(set, arguments.set.as_deref(), arguments.packing)
}

/// `set` at the packing that was asked for; a name that holds one of its own, such as `M3_R5`, does
/// not go with another.
pub fn repack(
    set: ParameterSet,
    name: Option<&str>,
    packing: Option<usize>,
) -> Result<ParameterSet> {
    match (packing, name) {
        (None, _) => Ok(set),
        (Some(r), Some(name)) if ![1, r].contains(&set.packing()) => {
            bail!(
                "--packing {r}: {name} is a set of packing {}; leave one of the two out",
                set.packing()
            )
        }
        (Some(r), _) => Ok(set.with_packing(r)?),
    }
}

/// 32 bytes of seed from the number on the command line.
pub fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

pub fn load_options(arguments: &Arguments) -> LoadOptions {
    let transform = match arguments.transform {
        TransformChoice::Auto => None,
        TransformChoice::Ntt => Some(Transform::Ntt),
        TransformChoice::Fft => Some(Transform::Fft),
    };
    let choices = arguments.plan.iter().cloned().collect();
    let plan = PlanRequest { groups: arguments.groups, choices, ..Default::default() };
    LoadOptions::default().with_transform(transform).with_plan(plan)
}

/// Random messages below `bound` from a counter (SplitMix64): reproducible, and plain text anyway.
pub fn messages(seed: u64, count: usize, bound: u64) -> Vec<u64> {
    let mut words = girih_conformance::synthetic::Words::new(seed);
    (0..count).map(|_| words.next_word() % bound).collect()
}
