//! The knobs of this device: every name that [`PlanRequest::choices`] may hold here, with the
//! values it may have.
//!
//! What never gained more than 2 % over the model is no knob: how many blocks ask for the key
//! ahead, and whether the last two levels of an inverse pass are one step.

use girih_backend::{BackendError, PlanRequest, Result, SPECIALISE, Specialise};
use std::ops::RangeInclusive;

/// The choice that fixes the ciphertexts of a block.
pub(crate) const GROUPS: &str = "groups";
/// The choice of [`PlanRequest::choices`] that fixes how many blocks share a ciphertext for every
/// batch: a power of two, or 0 for whole ciphertexts a block. Left open, each batch goes the way
/// that is faster by measurement.
pub const SPREAD: &str = "spread";
/// The choice that fixes how many values a thread holds in a pass where blocks share a ciphertext:
/// 2, 4, 8 or 16. Left open, 8 on one block or two and 4 on more.
pub const SPREAD_ITEMS: &str = "spread_items";

/// One knob.
pub(crate) struct Knob {
    pub name: &'static str,
    pub values: RangeInclusive<usize>,
    /// Whether it says something where blocks share a ciphertext, too.
    pub spread: bool,
}

const fn knob(name: &'static str, values: RangeInclusive<usize>, spread: bool) -> Knob {
    Knob { name, values, spread }
}

/// All of them.
///
/// | name | value |
/// |---|---|
/// | `groups` | ciphertexts a block, as [`PlanRequest::groups`]; small batches keep their splits |
/// | `blocks` | blocks a multiprocessor that the compiler leaves registers for |
/// | `ring` | key entries that a thread has in flight |
/// | `cosines` | 1: inverse transforms leave those of their last pass to the rounding (f64 FFT) |
/// | `gaps` | 0: slots are swizzled even where memory has room for gaps (f64 FFT) |
/// | `pace` | blocks of a cluster that begin each step together: 1, 2, 4 or 8 (sm_90 and above) |
/// | `prefetch` | LWE indices by which the key is asked into L2 ahead of use |
/// | `packed` | 1: key entries of 48 bits a part, where the key bears it (f64 FFT) |
/// | `tiled` | 1: key switches always by tiles, 0: never |
/// | `spread` | [`SPREAD`] |
/// | `spread_items` | [`SPREAD_ITEMS`] |
/// | `specialise` | when kernels for large batches are compiled, by the number of [`Specialise`] |
pub(crate) const KNOBS: [Knob; 12] = [
    knob(GROUPS, 1..=64, false),
    knob("blocks", 1..=8, false),
    // What a ring reads behind the key stays inside its slack; 16 of entries that are not packed.
    knob("ring", 0..=24, false),
    knob("cosines", 0..=1, false),
    knob("gaps", 0..=1, false),
    knob("pace", 1..=8, false),
    knob("prefetch", 0..=64, false),
    knob("packed", 0..=1, true),
    knob("tiled", 0..=1, true),
    knob(SPREAD, 0..=8, true),
    knob(SPREAD_ITEMS, 2..=16, true),
    knob(SPECIALISE, 0..=2, true),
];

/// What `request` chooses under `name`.
pub(crate) fn choice(request: &PlanRequest, name: &str) -> Option<usize> {
    request.choices.get(name).map(|&value| value as usize)
}

/// When `request` wants the kernels for large batches.
pub(crate) fn specialise(request: &PlanRequest) -> Specialise {
    let number = request.choices.get(SPECIALISE).copied();
    number.and_then(Specialise::of_number).unwrap_or_default()
}

/// Whether a choice also holds where blocks share a ciphertext.
pub(crate) fn is_of_both_splits(name: &str) -> bool {
    KNOBS.iter().any(|knob| knob.name == name && knob.spread)
}

/// A refusal of `name = value`.
pub(crate) fn refusal(device: &str, name: &str, value: usize, why: String) -> BackendError {
    BackendError::Unsupported {
        device: device.into(),
        what: format!("a plan with {name} = {value}"),
        why,
    }
}

/// Refuses choices that no kernel here knows, and values that none has.
///
/// # Errors
/// [`BackendError::Unsupported`] naming the choice and what it may be.
pub(crate) fn check(device: &str, request: &PlanRequest) -> Result<()> {
    // What a request says by itself has the range of the knob of that name; subgroups are warps.
    let fields = [
        (GROUPS, request.groups, KNOBS[0].values.clone()),
        ("subgroups_per_polynomial", request.subgroups_per_polynomial, 1..=32),
    ];
    for (name, value, values) in fields {
        if let Some(value) = value.filter(|value| !values.contains(value)) {
            let why = format!("it may be {} to {}", values.start(), values.end());
            return Err(refusal(device, name, value, why));
        }
    }
    for (name, &value) in &request.choices {
        let value = value as usize;
        let why = match KNOBS.iter().find(|knob| knob.name == name) {
            None => {
                let known: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
                format!("the choices are {}", known.join(", "))
            }
            Some(knob) if !knob.values.contains(&value) => {
                format!("it may be {} to {}", knob.values.start(), knob.values.end())
            }
            Some(_) if name == SPREAD_ITEMS && !value.is_power_of_two() => {
                "a thread holds 2, 4, 8 or 16 values in a pass".into()
            }
            Some(_) if name == "pace" && !value.is_power_of_two() => {
                "a cluster has 1, 2, 4 or 8 blocks".into()
            }
            Some(_) => continue,
        };
        return Err(refusal(device, name, value, why));
    }
    Ok(())
}
