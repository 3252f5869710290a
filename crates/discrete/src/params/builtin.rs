//! The table of built-in sets: files, and small rings for tests.

use super::{DiscreteLiteral, DiscreteParameters, nearest_primes};
use std::sync::OnceLock;

/// Parameter files, the default set first.
const FILES: [&str; 3] = [
    include_str!("../../sets/DISCRETE_4.toml"),
    include_str!("../../sets/DISCRETE_1.toml"),
    include_str!("../../sets/DISCRETE_4_FINE.toml"),
];

/// Sets for tests: the file that they follow, log2 N, and stages of the transforms to coefficients
/// and to slots.
const SMALL: [(&str, u32, [i64; 2], [i64; 3]); 5] = [
    ("DISCRETE_1", 10, [5, 4], [3, 3, 3]),
    ("DISCRETE_1", 11, [5, 5], [4, 3, 3]),
    (PUBLISHED, 10, [5, 4], [3, 3, 3]),
    ("DISCRETE_4", 11, [5, 5], [4, 3, 3]),
    ("DISCRETE_4_FINE", 10, [5, 4], [3, 3, 3]),
];

/// The set whose small ring of N = 2^10 has the primes of published runs: its level 0 is a prime
/// like the others.
const PUBLISHED: &str = "DISCRETE_4";

/// Main primes: that of level 0 nearest to the first of `of`, the others to its scale.
fn main_primes(of: &DiscreteLiteral, log2_degree: u32) -> Vec<u32> {
    let near = |middle: f64, count| nearest_primes(log2_degree, middle, count);
    let all = near(of.scale, of.main.len());
    let first = of.main[0] as f64;
    // Where level 0 has a prime like the others, that is the nearest of all.
    let alike = (first / of.scale).log2().abs() < 0.5;
    if alike || (of.name == PUBLISHED && log2_degree == 10) {
        return all;
    }
    let others = all.len() - 1;
    near(first, 1).into_iter().chain(all.into_iter().take(others)).collect()
}

fn small(
    files: &[DiscreteLiteral],
    (name, log2_degree, back, there): &(&str, u32, [i64; 2], [i64; 3]),
) -> DiscreteLiteral {
    let of = files.iter().find(|file| file.name == *name).expect("the name of a file");
    let main = main_primes(of, *log2_degree);
    DiscreteLiteral {
        name: format!("INSECURE_{name}_N{log2_degree}"),
        description: Some(format!("{name} over a small ring, for tests: no security")),
        log2_degree: i64::from(*log2_degree),
        main: main.into_iter().map(i64::from).collect(),
        to_coefficients: back.to_vec(),
        to_slots: there.to_vec(),
        ..of.clone()
    }
}

fn tables() -> &'static (Vec<DiscreteParameters>, Vec<DiscreteParameters>) {
    static TABLES: OnceLock<(Vec<DiscreteParameters>, Vec<DiscreteParameters>)> = OnceLock::new();
    TABLES.get_or_init(|| {
        let literal = |text: &&str| DiscreteLiteral::from_toml(text).expect("a parameter file");
        let literals: Vec<_> = FILES.iter().map(literal).collect();
        let read = |literal: &DiscreteLiteral| {
            DiscreteParameters::checked(literal).expect("every file of the table is a valid set")
        };
        let others = SMALL.iter().map(|row| read(&small(&literals, row))).collect();
        (literals.iter().map(read).collect(), others)
    })
}

pub(super) fn real() -> Vec<DiscreteParameters> {
    tables().0.clone()
}

pub(super) fn insecure() -> Vec<DiscreteParameters> {
    tables().1.clone()
}

pub(super) fn find(name: &str) -> Option<DiscreteParameters> {
    let (real, small) = tables();
    real.iter().chain(small).find(|set| set.name() == name).cloned()
}

pub(super) fn names() -> String {
    let (real, small) = tables();
    let names: Vec<&str> = real.iter().chain(small).map(DiscreteParameters::name).collect();
    names.join(", ")
}
