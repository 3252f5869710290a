//! Test polynomials of gates against the published vectors.

use girih_backend::{BootstrapShape, Gadget, KeyModulus, SecretKind};
use girih_tfhe::Gate;
use serde_json::Value;

fn shape(params: &Value) -> BootstrapShape {
    let number = |name: &str| params[name].as_u64().unwrap_or_else(|| panic!("{name} is a number"));
    let log2 = |name: &str| number(name).ilog2();
    let words: Vec<u32> = serde_json::from_value(params["modulus_words"].clone()).expect("words");
    let gadget = if params["mode"] == "MR" {
        Gadget::ModulusRaising { log2_modulus: log2("Q") }
    } else {
        let dropped = number("dropped_digits") as usize;
        let log2_base = log2("base_g");
        Gadget::Decomposition {
            log2_base,
            levels: number("digits_g") as usize - dropped,
            dropped_bits: dropped as u32 * log2_base,
        }
    };
    BootstrapShape {
        lwe_dimension: number("n") as usize,
        log2_lwe_modulus: log2("q"),
        polynomial_size: number("N") as usize,
        glwe_dimension: number("k") as usize,
        packing: number("r") as usize,
        secret: SecretKind::Ternary,
        grouping: 1,
        gadget,
        key_modulus: KeyModulus::Words(words),
        log2_ks_modulus: log2("q_ks"),
        log2_ks_base: log2("base_ks"),
    }
}

#[test]
fn test_polynomials_are_those_of_the_vectors() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");
    let mut gates = std::collections::HashSet::new();
    for name in ["gd_k1", "gd_k1_all_digits", "gd_k2_r2", "gd_two_words", "mr_k1", "mr_k3_r5"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}.json"))
            .expect("the vectors are in the repository");
        let vector: Value = serde_json::from_str(&text).expect("JSON");
        let shape = shape(&vector["params"]);
        shape.validate().expect("a possible shape");
        for run in vector["runs"].as_array().expect("runs") {
            let gate: Gate = run["gate"].as_str().expect("a name").parse().expect("a gate");
            let want: Vec<u64> =
                serde_json::from_value(run["test_polynomial"].clone()).expect("N numbers");
            assert_eq!(gate.test_polynomial(&shape), want, "{name}, {gate}");
            gates.insert(gate);
        }
    }
    assert!(gates.len() >= 4, "the vectors cover {gates:?}");
}
