//! The table of docs/integers.md is what recording says.

use girih_backend::Transform;
use girih_integer::{Cost, Error, costs};
use girih_tfhe::ParameterSet;
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

/// A row an operation: look-ups and levels at each width.
fn table(costs: &[Cost]) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut last = "";
    for cost in costs {
        if cost.operation != last {
            rows.push(format!("| {} |", cost.operation));
            last = cost.operation;
        }
        let row = rows.last_mut().expect("just pushed");
        row.push_str(&format!(" {}; {} |", cost.look_ups, cost.levels));
    }
    rows.join("\n")
}

#[test]
fn the_documented_costs_are_those_of_the_programs() {
    let (costs, table) = (wide(), table(wide()));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/integers.md");
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains(&table), "docs/integers.md should have this table:\n{table}\n{costs:?}");
}

#[test]
fn less_noise_takes_more_look_ups() {
    let set = set("TFHERS_2_2_GROUP_2");
    // At 2^-128 only sums of a smaller norm may be read.
    let narrow = costs(&set, Transform::Fft, -128.0).expect("there is room");
    let wide = wide();
    assert!(wide.iter().zip(&narrow).all(|(w, n)| w.look_ups <= n.look_ups));
    assert!(narrow.iter().zip(wide).any(|(n, w)| n.look_ups > w.look_ups));
    assert!(narrow.iter().all(|c| c.log2_failure < -100.0 && c.levels > 0 && c.scratch > 0));
    assert!(wide.iter().zip(&narrow).all(|(w, n)| w.log2_failure >= n.log2_failure - 3.0));
    let error = costs(&set, Transform::Fft, -140.0).expect_err("no set has such room");
    assert!(matches!(&error, Error::Mismatch(why) if why.contains("no room")), "{error}");
}
