//! The table of built-in sets: files, and small rings over the same primes for tests.

use super::bootstrapping::shares;
use super::{CkksParameters, INSECURE, ParameterLiteral, check};
use std::sync::OnceLock;

/// Parameter files, the default set first.
const FILES: &[&str] = &[
    include_str!("../../sets/CKKS_D40_30BIT_LOW_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_D40.toml"),
    include_str!("../../sets/CKKS_D35.toml"),
    include_str!("../../sets/CKKS_D35_30BIT_LOW.toml"),
    include_str!("../../sets/CKKS_D30.toml"),
    include_str!("../../sets/CKKS_D40_30BIT.toml"),
    include_str!("../../sets/CKKS_D45.toml"),
    include_str!("../../sets/CKKS_D50.toml"),
    include_str!("../../sets/CKKS_D40_ARCSINE.toml"),
    include_str!("../../sets/CKKS_D40_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_LOW.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_14.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_14_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_12.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_12_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_D40_30BIT_INVARIANT_STC_FIRST.toml"),
    include_str!("../../sets/CKKS_N15_D40.toml"),
    include_str!("../../sets/CKKS_N14_D40.toml"),
];

/// Sets for tests: the file whose primes they have, and log2 N.
const SMALL: &[(&str, u32)] = &[
    ("CKKS_D40", 10),
    ("CKKS_D40", 11),
    ("CKKS_D40", 12),
    ("CKKS_D40", 13),
    ("CKKS_D35", 10),
    ("CKKS_D35_30BIT_LOW", 10),
    ("CKKS_D30", 10),
    ("CKKS_D40_30BIT", 10),
    ("CKKS_D45", 10),
    ("CKKS_D50", 10),
    ("CKKS_D40_ARCSINE", 10),
    ("CKKS_D40_STC_FIRST", 10),
    ("CKKS_D40_30BIT_STC_FIRST", 10),
    ("CKKS_D40_30BIT_LOW", 10),
    ("CKKS_D40_30BIT_LOW", 12),
    ("CKKS_D40_30BIT_14", 10),
    ("CKKS_D40_30BIT_LOW_STC_FIRST", 10),
    ("CKKS_D40_30BIT_14_STC_FIRST", 10),
    ("CKKS_D40_30BIT_12", 10),
    ("CKKS_D40_30BIT_12_STC_FIRST", 10),
    ("CKKS_D40_30BIT_INVARIANT_STC_FIRST", 10),
    ("CKKS_N14_D40", 10),
];

/// Sets whose results published runs fix word by word.
const PUBLISHED: &[&str] = &["CKKS_D40", "CKKS_D35"];

fn read(literal: &ParameterLiteral) -> CkksParameters {
    check::checked(literal).expect("every file of the table is a valid set")
}

fn tables() -> &'static (Vec<CkksParameters>, Vec<CkksParameters>) {
    static TABLES: OnceLock<(Vec<CkksParameters>, Vec<CkksParameters>)> = OnceLock::new();
    TABLES.get_or_init(|| {
        let literal = |text: &&str| ParameterLiteral::from_toml(text).expect("a parameter file");
        let literals: Vec<_> = FILES.iter().map(literal).collect();
        let small = |&(name, log2_degree): &(&str, u32)| {
            let literal = literals.iter().find(|literal| literal.name == name);
            let mut literal = literal.expect("the name of a file").clone();
            if let Some(listed) =
                literal.bootstrapping.as_mut().and_then(|b| b.coefficients_to_slots_stages.as_mut())
            {
                // The first has as many keys, the others share what is left.
                let left = log2_degree as usize - 1 - listed[0] as usize;
                let order: Vec<usize> = (0..listed.len() - 1).collect();
                let others = shares(left, &order).into_iter().map(|s| s as i64);
                *listed = std::iter::once(listed[0]).chain(others).collect();
            }
            read(&ParameterLiteral {
                name: format!("{INSECURE}{name}_N{log2_degree}"),
                description: Some(format!("{name} over a small ring, for tests: no security")),
                log2_degree: i64::from(log2_degree),
                ..literal
            })
        };
        (literals.iter().map(read).collect(), SMALL.iter().map(small).collect())
    })
}

pub(super) fn real() -> Vec<CkksParameters> {
    tables().0.clone()
}

pub(super) fn insecure() -> Vec<CkksParameters> {
    tables().1.clone()
}

/// The sets whose results published runs fix word by word.
pub(super) fn published() -> impl Iterator<Item = &'static CkksParameters> {
    tables().0.iter().filter(|set| PUBLISHED.contains(&set.name()))
}

fn all() -> impl Iterator<Item = &'static CkksParameters> {
    let (real, small) = tables();
    real.iter().chain(small)
}

pub(super) fn find(name: &str) -> Option<CkksParameters> {
    all().find(|set| set.name() == name).cloned()
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    all().map(CkksParameters::name)
}
