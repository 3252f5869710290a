//! `cargo xtask sets`

use crate::ckks;
use anyhow::Result;
use girih::Transform;
use girih::ckks::CkksParameters;
use girih::discrete::DiscreteParameters;
use girih::tfhe::{NoiseModel, ParameterSet};

#[derive(clap::Args)]
pub struct Arguments {
    /// Print one set as a parameter file (TOML), ready to be changed and given to `bench --params`.
    name: Option<String>,
    /// List the insecure toys that tests use, too.
    #[arg(long, conflicts_with = "name")]
    toys: bool,
}

/// log2 of the probability that what a set is made for fails, by the noise model, and what that is.
pub fn log2_failure(set: &ParameterSet, transform: Transform) -> (f64, &'static str) {
    let model = NoiseModel::with_transform(set, transform);
    if model.looks_up_four_bits() {
        // The norm for which TFHE-rs states how often its messages of four bits fail.
        return (model.log2_failure_table(4, &[5]), "a look-up of four bits of norm 5");
    }
    (model.log2_failure(), "a gate of two bits")
}

/// One set, a cell a column.
fn row(set: &ParameterSet) -> [String; 7] {
    let shape = set.shape();
    let (failure, _) = log2_failure(set, Transform::Fft);
    let security = set.security();
    let known = |bits: Option<f64>| {
        bits.map_or_else(|| "-".to_owned(), |bits| format!("{:.0}", bits.floor()))
    };
    let estimate = security.estimate;
    let bits = format!(
        "{} / {} / {}",
        known(Some(estimate.usvp_bdgl16)),
        known(Some(estimate.cheapest_matzov)),
        known(security.claim.map(f64::from))
    );
    [
        set.name().to_owned(),
        shape.lwe_dimension.to_string(),
        shape.polynomial_size.to_string(),
        shape.glwe_dimension.to_string(),
        format!("2^{failure:.1}"),
        bits,
        set.description().to_owned(),
    ]
}

/// What the columns hold.
const LEGEND: &str = "
fails     a gate on bootstrapped bits, one bit a ciphertext (sets of 2+2 bits: a look-up of four \
bits of norm 5), f64 transform, by the noise model
security  bits against uSVP (BDGL16); against the cheapest attack that is computed (MATZOV); what \
the source of the set claims
SET_R5 packs five bits a ciphertext. `sets SET` prints a set as a parameter file; \
docs/parameters.md has all numbers.";

const HEADS: [&str; 7] = ["set", "n", "N", "k", "fails", "security", "what"];

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(name) = &arguments.name {
        let toml = if name.contains("DISCRETE") {
            DiscreteParameters::by_name(name)?.to_toml()
        } else if name.contains("CKKS") {
            CkksParameters::by_name(name)?.to_toml()
        } else {
            ParameterSet::by_name(name)?.to_toml()
        };
        println!("{}", toml.trim_end());
        return Ok(true);
    }
    let toys = if arguments.toys { ParameterSet::insecure() } else { Vec::new() };
    let rows: Vec<[String; 7]> = ParameterSet::all().iter().chain(&toys).map(row).collect();
    print(HEADS, &rows);
    println!("{LEGEND}\n");
    let toys = if arguments.toys { CkksParameters::insecure() } else { Vec::new() };
    let rows: Vec<_> = CkksParameters::all().iter().chain(&toys).map(ckks::sets::row).collect();
    print(ckks::sets::HEADS, &rows);
    println!("{}\n", ckks::sets::LEGEND);
    let toys = if arguments.toys { DiscreteParameters::insecure() } else { Vec::new() };
    let rows: Vec<_> = DiscreteParameters::all().iter().chain(&toys).map(discrete_row).collect();
    print(DISCRETE_HEADS, &rows);
    println!("{DISCRETE_LEGEND}");
    Ok(true)
}

const DISCRETE_HEADS: [&str; 7] = ["set", "N", "p", "log2 QP", "primes", "security", "what"];

const DISCRETE_LEGEND: &str = "
p         look-ups read sums modulo it; a ciphertext holds N numbers
primes    main and auxiliary ones
security  bits against uSVP (BDGL16); against the cheapest attack that is computed (MATZOV); of \
the sparse secret against the cheapest one. Off the first two is what draws of a flat secret may \
be worth";

/// One set for look-ups in slots, a cell a column.
fn discrete_row(set: &DiscreteParameters) -> [String; 7] {
    let (chain, security) = (set.ckks().chain(), set.security());
    let estimate = security.estimate;
    let sparse = estimate.sparse.map_or(0.0, |sparse| sparse.cheapest());
    [
        set.name().to_owned(),
        set.numbers().to_string(),
        set.modulus().to_string(),
        format!("{:.1}", security.log2_modulus),
        format!("{} + {}", chain.full_len(), chain.auxiliary_len()),
        format!("{:.1} / {:.1} / {sparse:.1}", estimate.dense, estimate.dense_matzov),
        set.description().to_owned(),
    ]
}

fn print<const N: usize>(heads: [&str; N], rows: &[[String; N]]) {
    lines(heads, rows).iter().for_each(|line| println!("{line}"));
}

/// A table, its columns as wide as their widest cells.
pub fn lines<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let heads = heads.map(str::to_owned);
    let width = |column: usize| {
        rows.iter().chain([&heads]).map(|r| r[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    [&heads].into_iter().chain(rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_the_set() {
        for set in ParameterSet::all().iter().chain(&ParameterSet::insecure()) {
            let read = ParameterSet::from_toml(&set.to_toml())
                .unwrap_or_else(|e| panic!("{}: {e}", set.name()));
            assert_eq!(read.shape(), set.shape(), "{}", set.name());
            assert!(row(set).iter().all(|cell| !cell.is_empty()), "{:?}", row(set));
        }
    }
}
