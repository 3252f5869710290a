//! Docs: docs/guide/numbers.md.

// ANCHOR: program
use girih::discrete::prelude::*;

pub fn run(set: &str) -> Result<(), Box<dyn std::error::Error>> {
    let client = ClientKey::generate(&DiscreteParameters::by_name(set)?)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;

    // Digits of two bits, and a table of both: their product modulo 4.
    let a = server.upload(&client.encrypt_batch(&[[3, 2, 1, 0]], 4)?)?;
    let b = server.upload(&client.encrypt_batch(&[[2, 2, 3, 1]], 4)?)?;
    let both = server.sum(&[(4, &a), (1, &b)], 0)?;
    let product = Table::new(16, |m| ((m >> 2) * (m & 3)) & 3)?;
    let product = &server.lookup(&both, &[&product])?[0];

    assert_eq!(client.decrypt(&server.download(product)?)?, [2, 0, 3, 0]);
    Ok(())
}
// ANCHOR_END: program
