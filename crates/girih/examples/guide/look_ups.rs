//! Docs: docs/guide/look-ups.md.

use super::Failure;
use girih::tfhe::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    // ANCHOR: keys
    let set = ParameterSet::by_name(set)?; // TFHERS_2_2
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR_END: keys

    // ANCHOR: square
    let square = LookUpTable::new(4, |x| x * x % 16)?;
    let x = client.encrypt_messages(&[2, 3, 5, 15], 4)?;
    let y = server.apply(&x, &square)?;
    assert_eq!(client.decrypt_messages(&y, 4)?, [4, 9, 9, 1]);
    // ANCHOR_END: square

    // ANCHOR: two
    let larger = LookUpTable::new(4, |pair| (pair / 4).max(pair % 4))?;
    let a = client.encrypt_messages(&[0, 1, 2, 3], 4)?;
    let b = client.encrypt_messages(&[3, 0, 2, 1], 4)?;
    let c = server.apply_weighted(&[&a, &b], &[4, 1], &larger)?; // of 4 a + b
    assert_eq!(client.decrypt_messages(&c, 4)?, [3, 1, 2, 3]);
    // ANCHOR_END: two

    // ANCHOR: resident
    let mut x = server.upload(&x)?;
    for _ in 0..3 {
        x = server.apply(&x, &square)?; // stays on the device
    }
    assert_eq!(client.decrypt_messages(&server.download(&x)?, 4)?, [0, 1, 1, 1]);
    // ANCHOR_END: resident
    Ok(())
}
