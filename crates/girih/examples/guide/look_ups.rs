//! Docs: docs/guide/look-ups.md.

use super::Failure;
use girih::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = ParameterSet::by_name(set)?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR: limit
    server.limit_failure(-60.0)?; // results wrong with a probability of 2^-60 at most
    // ANCHOR_END: limit

    // ANCHOR: square
    let square = LookUpTable::new(2, |x| x * x % 4)?;
    let x = client.encrypt_messages(&[0, 1, 2, 3], 2)?;
    let y = server.apply(&x, &square)?;
    assert_eq!(client.decrypt_messages(&y, 2)?, [0, 1, 0, 1]);
    // ANCHOR_END: square

    // ANCHOR: two
    let larger = LookUpTable::new(2, |pair| (pair / 2).max(pair % 2))?;
    let a = client.encrypt_messages(&[0, 0, 1, 1], 2)?;
    let b = client.encrypt_messages(&[0, 1, 0, 1], 2)?;
    let c = server.apply_weighted(&[&a, &b], &[2, 1], &larger)?; // of 2 a + b
    assert_eq!(client.decrypt_messages(&c, 2)?, [0, 1, 1, 1]);
    // ANCHOR_END: two

    // ANCHOR: resident
    let mut x = server.upload(&x)?;
    for _ in 0..3 {
        x = server.apply(&x, &square)?; // stays on the device
    }
    assert_eq!(client.decrypt_messages(&server.download(&x)?, 2)?, [0, 1, 0, 1]);
    // ANCHOR_END: resident
    Ok(())
}
