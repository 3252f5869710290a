//! Docs: docs/guide/first-gate.md.

// ANCHOR: program
use girih::tfhe::prelude::*;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The owner of the data.
    let set = ParameterSet::by_name("STD128")?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let a = client.encrypt_bits(&[false, false, true, true])?;
    let b = client.encrypt_bits(&[false, true, false, true])?;

    // Whoever computes: has `keys`, `a` and `b`, and learns nothing.
    let server = Device::open("cpu")?.load(&keys)?;
    let c = server.gate(Gate::Nand, &a, &b)?;

    // The owner again.
    assert_eq!(client.decrypt_bits(&c)?, [true, true, true, false]);
    Ok(())
}
// ANCHOR_END: program
