//! The table of a search, and its parameter files.

use super::space::Candidate;
use crate::sets;
use anyhow::{Context, Result};
use girih::contract::Gadget;
use std::path::Path;

const HEADS: [&str; 11] = [
    "set",
    "n",
    "N",
    "k",
    "g",
    "digits",
    "q_ks; base",
    "fails",
    "security",
    "keys, MB",
    "a second; one, ms",
];

/// What digits are used of what.
fn digits(candidate: &Candidate) -> String {
    match candidate.set.shape().gadget {
        Gadget::Decomposition { log2_base, levels, dropped_bits } => {
            format!("{levels} of 2^{log2_base}, {dropped_bits} bits left")
        }
        Gadget::ClosestRepresentative { log2_base, levels } => format!("{levels} of 2^{log2_base}"),
        Gadget::ModulusRaising { log2_modulus } => format!("Q = 2^{log2_modulus}"),
    }
}

fn row(candidate: &Candidate, packing: usize) -> [String; 11] {
    let (shape, cost) = (candidate.set.shape(), candidate.cost);
    let estimate = candidate.set.security().estimate;
    [
        candidate.set.name().to_owned(),
        shape.lwe_dimension.to_string(),
        shape.polynomial_size.to_string(),
        shape.glwe_dimension.to_string(),
        shape.grouping.to_string(),
        digits(candidate),
        format!("2^{}; 2^{}", shape.log2_ks_modulus, shape.log2_ks_base),
        format!("2^{:.1}", candidate.log2_failure),
        format!("{:.1}", estimate.cheapest_matzov.min(estimate.usvp_bdgl16)),
        format!("{:.0}", cost.key_bytes / 1e6),
        format!("{:.0}; {:.2}", cost.rate(packing), cost.latency_ms),
    ]
}

/// The last column is by the cost model.
pub fn print(found: &[Candidate], packing: usize, say: &dyn Fn(String)) {
    let rows: Vec<_> = found.iter().map(|candidate| row(candidate, packing)).collect();
    sets::lines(HEADS, &rows).into_iter().for_each(say);
    say("keys and the last column are by the cost model: one H200, f64 transform".into());
}

/// One file a set.
pub fn write(found: &[Candidate], folder: &Path, say: &dyn Fn(String)) -> Result<()> {
    for candidate in found {
        let path = folder.join(format!("{}.toml", candidate.set.name()));
        std::fs::write(&path, candidate.set.to_toml())
            .with_context(|| path.display().to_string())?;
    }
    say(format!("written   {} parameter files in {}", found.len(), folder.display()));
    Ok(())
}
