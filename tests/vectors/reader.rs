//! Reads the published vectors. Tests of crates bring this file along; their folders lie two below
//! that of the repository.

#![allow(dead_code, reason = "not all tests read all kinds of values")]

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The file `name`, such as `ckks/ntt`.
pub fn file(name: &str) -> Value {
    let path = format!("{}/../../tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A value of a file, or a list of such.
pub fn value<T: DeserializeOwned>(of: &Value) -> T {
    serde_json::from_value(of.clone()).unwrap_or_else(|e| panic!("{e}: {of}"))
}

/// A list, to walk through.
pub fn array(of: &Value) -> &[Value] {
    of.as_array().unwrap_or_else(|| panic!("no list: {of}"))
}

pub fn number(of: &Value) -> usize {
    value(of)
}

pub fn real(of: &Value) -> f64 {
    value(of)
}

pub fn reals(of: &Value) -> Vec<f64> {
    value(of)
}

pub fn words(of: &Value) -> Vec<u32> {
    value(of)
}

/// A polynomial, prime by prime.
pub fn limbs(of: &Value) -> Vec<Vec<u32>> {
    value(of)
}

/// A polynomial, limb after limb.
pub fn polynomial(of: &Value) -> Vec<u32> {
    limbs(of).concat()
}
