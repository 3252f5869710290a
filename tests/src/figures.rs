//! Figures of security in `docs/`, against what sets say of themselves.

use girih::ckks::CkksParameters;
use girih::discrete::DiscreteParameters;
use girih::tfhe::ParameterSet;
use girih_rlwe::SecretDistribution;
use girih_rlwe::security::LweProblem;
use std::path::Path;

/// How far a figure may be off: it is rounded to a tenth.
const ROUNDED: f64 = 0.0501;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The cells of each row of a page's tables, without marks of emphasis.
fn rows(page: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    page.lines().filter_map(|line| {
        let row = line.strip_prefix('|')?.strip_suffix('|')?;
        Some(row.split('|').map(|cell| cell.trim().replace("**", "")).collect())
    })
}

fn is(cell: &str, value: f64) -> bool {
    cell.parse().is_ok_and(|figure: f64| (figure - value).abs() < ROUNDED)
}

/// The set that a row is about, by the first word of its first cell.
fn named<T>(row: &[String], find: impl Fn(&str) -> Option<T>) -> Option<T> {
    find(row.first()?.split([' ', ':']).next()?)
}

#[test]
fn figures_of_tfhe_sets_are_those_of_the_estimates() {
    let text = page("security.md");
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for row in rows(&text).filter(|row| row.len() == 5) {
        let Some(set) = named(&row, |name| ParameterSet::by_name(name).ok()) else { continue };
        let [lwe, module] = set.security().problems;
        let want = [
            lwe.usvp_bdgl16(),
            module.usvp_bdgl16(),
            lwe.cheapest_matzov(),
            module.cheapest_matzov(),
        ];
        if !row[1..].iter().zip(want).all(|(cell, value)| is(cell, value)) {
            wrong.push(format!("{row:?}: {want:.2?}"));
        }
        checked += 1;
    }
    assert!(wrong.is_empty() && checked >= 12, "{checked} sets: {wrong:#?}");
}

#[test]
fn figures_of_ckks_sets_are_those_of_the_estimates() {
    let mut wrong = Vec::new();
    for (name, least) in [("ckks.md", 11), ("parameters.md", 10)] {
        let (text, mut checked) = (page(name), 0);
        // Tables that show a modulus: some hundred bits.
        let large = |cell: &String| cell.parse::<f64>().is_ok_and(|bits| bits > 300.0);
        for row in rows(&text).filter(|row| row.len() > 6 && row.iter().any(large)) {
            let found = named(&row, |name| CkksParameters::by_name(name).ok());
            let Some(security) = found.map(|set| set.security()) else { continue };
            // Bits stand behind the modulus.
            let pair = |cells: &[String]| {
                is(&cells[0], security.log2_modulus) && is(&cells[1], security.estimate.dense)
            };
            if !row.windows(2).any(pair) {
                wrong.push(format!("{name}, {row:?}: {}", security.text));
            }
            checked += 1;
        }
        assert!(checked >= least, "{checked} sets in {name}");
    }
    // The one set that is named in a sentence.
    let estimate = CkksParameters::by_name("CKKS_D40").expect("built in").security().estimate;
    let said = format!("CKKS_D40: {:.1} and {:.1}", estimate.dense, estimate.dense_matzov);
    let text = page("security.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&said), "docs/security.md must say `{said}`");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What the pages say of sets for look-ups, without the draws of their dense secrets.
#[test]
fn figures_of_sets_for_look_ups_are_those_of_the_estimates() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for row in rows(&page("security.md")).filter(|row| row.len() == 5) {
        let found =
            named(&row, |name| DiscreteParameters::by_name(name.trim_end_matches(',')).ok());
        let Some(security) = found.map(|set| set.security()) else { continue };
        let modulus = format!("{:.0} bits", security.log2_modulus);
        let found = security.estimate;
        let want = [found.log2_draws, found.dense, found.dense_matzov];
        if row[1] != modulus || !row[2..].iter().zip(want).all(|(cell, value)| is(cell, value)) {
            wrong.push(format!("{row:?}: {modulus}, {want:.2?}"));
        }
        checked += 1;
    }
    let text = page("discrete.md");
    for row in rows(&text).filter(|row| row[0].starts_with("its security")) {
        for (cell, name) in row[1..].iter().zip(["DISCRETE_1", "DISCRETE_4", "DISCRETE_4_FINE"]) {
            let found = DiscreteParameters::by_name(name).expect("built in").security().estimate;
            let want = format!("{:.1} / {:.1}", found.dense, found.dense_matzov);
            if *cell != want {
                wrong.push(format!("{row:?}: {want}"));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty() && checked == 6, "{checked} figures: {wrong:#?}");
}

/// The page says which attack is the cheapest: the dual one for sets of TFHE, the primal one for
/// CKKS_D40.
#[test]
fn the_cheapest_attack_is_the_one_that_is_named() {
    let is_dual = |problem: &LweProblem| problem.dual_matzov() < problem.usvp_matzov();
    for row in rows(&page("security.md")).filter(|row| row.len() == 5) {
        let Some(set) = named(&row, |name| ParameterSet::by_name(name).ok()) else { continue };
        for problem in &set.security().problems {
            assert!(is_dual(problem), "{set}: {problem:?}");
        }
    }
    let set = CkksParameters::by_name("CKKS_D40").expect("built in");
    let (dimension, log2_modulus) = (set.degree(), set.log2_modulus());
    let secret = SecretDistribution::Ternary;
    let dense = LweProblem { dimension, log2_modulus, error: 3.19, secret };
    assert!(!is_dual(&dense), "{}", set.security().text);
}
