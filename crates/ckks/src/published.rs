//! The published vectors, as tests of this crate read them.

#[path = "../../../tests/vectors/reader.rs"]
mod reader;

use crate::{CkksParameters, ParameterLiteral};
pub use reader::{file, polynomial, reals, value};
use serde_json::Value;

/// The set that a file's `params` describe.
pub fn set(params: &Value) -> CkksParameters {
    let literal = ParameterLiteral {
        name: "INSECURE_VECTORS".into(),
        description: None,
        log2_degree: i64::from(value::<u64>(&params["N"]).ilog2()),
        scale: 2f64.powi(value(&params["log2_scale"])),
        secret_weight: None,
        terminal: value(&params["terminal"]),
        main: value(&params["main"]),
        auxiliary: value(&params["auxiliary"]),
        digits: None,
        states: value(&params["states"]),
        bootstrapping: None,
        encapsulation: None,
    };
    CkksParameters::new(&literal).expect("a valid set")
}
