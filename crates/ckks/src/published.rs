//! The published vectors, as tests of this crate read them.

use crate::{CkksParameters, ParameterLiteral};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The file `name`.
pub fn file(name: &str) -> Value {
    let path = format!("{}/../../tests/vectors/ckks/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A value of a file, or a list of such.
pub fn list<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).expect("of this form")
}

/// The set that a file's `params` describe.
pub fn set(params: &Value) -> CkksParameters {
    let literal = ParameterLiteral {
        name: "INSECURE_VECTORS".into(),
        description: None,
        log2_degree: i64::from(list::<u64>(&params["N"]).ilog2()),
        scale: 2f64.powi(list(&params["log2_scale"])),
        secret_weight: None,
        terminal: list(&params["terminal"]),
        main: list(&params["main"]),
        auxiliary: list(&params["auxiliary"]),
        digits: None,
        states: list(&params["states"]),
        bootstrapping: None,
        encapsulation: None,
    };
    CkksParameters::new(&literal).expect("a valid set")
}
