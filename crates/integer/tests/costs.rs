//! The table of docs/integers.md is what recording says.

use girih_backend::Transform;
use girih_integer::{Aim, Cost, Error, costs};
use girih_tfhe::{NoiseModel, ParameterSet};
use std::sync::OnceLock;

fn set(name: &str) -> ParameterSet {
    ParameterSet::by_name(name).expect("built in")
}

/// At the bound of the set, once for all tests: recording all takes seconds.
fn wide() -> &'static [Cost] {
    static WIDE: OnceLock<Vec<Cost>> = OnceLock::new();
    WIDE.get_or_init(|| {
        costs(&set("TFHERS_2_2_GROUP_2"), Transform::Fft, -64.0).expect("there is room")
    })
}

/// A row an operation: bootstrappings and levels at each width.
fn table(costs: &[Cost], aim: Aim) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut last = "";
    for cost in costs.iter().filter(|cost| cost.aim == aim) {
        if cost.operation != last {
            rows.push(format!("| {} |", cost.operation));
            last = cost.operation;
        }
        let row = rows.last_mut().expect("just pushed");
        row.push_str(&format!(" {}; {} |", cost.bootstrappings, cost.levels));
    }
    rows.join("\n")
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/integers.md");
    std::fs::read_to_string(page).expect("the page")
}

#[test]
fn the_documented_failures_are_those_of_the_noise_model() {
    let page = page();
    let wrong = |set: &ParameterSet, transform| {
        NoiseModel::with_transform(set, transform).log2_failure_table(4, &[5])
    };
    for name in ["TFHERS_2_2", "TFHERS_2_2_GROUP_2", "TFHERS_2_2_GROUP_3", "GIRIH_2_2"] {
        let set = set(name);
        let [exact, f64] = [Transform::Ntt, Transform::Fft].map(|t| wrong(&set, t));
        let row = format!("| {name} | {exact:.1} | {f64:.1} |");
        assert!(page.contains(&row), "docs/integers.md should have {row}");
    }
    let of = |aim: Aim| {
        ["a + b, carries propagated", "a * b", "a / b, a % b"].map(|of| {
            let alone = |c: &&Cost| c.aim == aim && c.operation == of && c.bits == 64;
            wide().iter().find(alone).expect("such an operation").log2_failure
        })
    };
    let [[sum, product, quotient], [sums, products, quotients]] = Aim::ALL.map(of);
    let line = format!(
        "2^{sum:.1} for a sum, 2^{product:.1} for a product, 2^{quotient:.1} for a quotient with \
         few levels, and 2^{sums:.1}, 2^{products:.1} and 2^{quotients:.1} with few bootstrappings"
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(&line), "docs/integers.md should have: {line}");
}

/// The largest square of a norm at which a look-up with a margin of a whole step fails no more
/// often than one at norm 5 with half a step.
fn largest_wide_norm(set: &ParameterSet, transform: Transform) -> u32 {
    let model = NoiseModel::with_transform(set, transform);
    let bound = model.log2_failure_table(4, &[5]);
    // 32 steps are the circle.
    let step = 2f64.powi(set.shape().log2_stored_modulus() as i32 - 5);
    let variance = model.variance_of_bits();
    let fits = |norm: u32| model.log2_failure_input(step, f64::from(norm) * variance) <= bound;
    (1..).take_while(|&norm| fits(norm)).last().expect("one that fits")
}

#[test]
fn the_documented_norms_are_those_of_the_noise_model() {
    let page = page();
    let row = |name: &str| {
        let of = |transform| largest_wide_norm(&set(name), transform);
        format!("| {name} | {} | {} |", of(Transform::Ntt), of(Transform::Fft))
    };
    let names = ["TFHERS_2_2", "TFHERS_2_2_GROUP_2", "TFHERS_2_2_GROUP_3", "GIRIH_2_2"];
    let rows = names.map(row).join("\n");
    assert!(page.contains(&rows), "docs/integers.md should have:\n{rows}");
}

#[test]
fn the_documented_costs_are_those_of_the_programs() {
    let page = page();
    let tables = Aim::ALL.map(|aim| table(wide(), aim));
    let missing: Vec<&String> = tables.iter().filter(|table| !page.contains(*table)).collect();
    let missing: Vec<&str> = missing.iter().map(|table| table.as_str()).collect();
    assert!(missing.is_empty(), "docs/integers.md should have:\n{}", missing.join("\n\n"));
}

#[test]
fn less_noise_takes_more_look_ups() {
    let set = set("TFHERS_2_2_GROUP_2");
    // At 2^-128 only sums of a smaller norm may be read.
    let narrow = costs(&set, Transform::Fft, -128.0).expect("there is room");
    let wide = wide();
    assert!(wide.iter().zip(&narrow).all(|(w, n)| w.bootstrappings <= n.bootstrappings));
    assert!(narrow.iter().zip(wide).any(|(n, w)| n.bootstrappings > w.bootstrappings));
    assert!(narrow.iter().all(|c| c.log2_failure < -100.0 && c.levels > 0 && c.scratch > 0));
    assert!(wide.iter().zip(&narrow).all(|(w, n)| w.log2_failure >= n.log2_failure - 3.0));
    let error = costs(&set, Transform::Fft, -140.0).expect_err("no set has such room");
    assert!(matches!(&error, Error::Unsupported { why, .. } if why.contains("no room")), "{error}");
}
