//! Docs: docs/guide/keys.md.

use super::Failure;
use girih::tfhe::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = ParameterSet::by_name(set)?;
    // ANCHOR: travel
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?.to_bytes()?;
    let sent = client.encrypt_bits(&[true, false])?.to_bytes()?;

    // Elsewhere. `from_bytes_for` refuses bytes of any other set.
    let keys = EvaluationKeys::from_bytes_for(&set, &keys)?;
    let server = Device::open("cpu")?.load(&keys)?;
    let bits = LweCiphertexts::from_bytes_for(&set, &sent)?;
    let answer = server.not(&bits)?.to_bytes()?;

    let answer = LweCiphertexts::from_bytes_for(&set, &answer)?;
    assert_eq!(client.decrypt_bits(&answer)?, [false, true]);
    // ANCHOR_END: travel

    // ANCHOR: name
    assert_eq!(bits.key_id(), Some(keys.key_id()));
    let stranger = ClientKey::generate(&set)?.encrypt_bits(&[true])?;
    let refused = server.not(&stranger).unwrap_err();
    assert!(refused.to_string().contains("key"), "{refused}");
    // ANCHOR_END: name

    // ANCHOR: damaged
    let mut damaged = sent.clone();
    damaged[40] ^= 1;
    assert!(LweCiphertexts::from_bytes(&damaged).is_err());
    // ANCHOR_END: damaged

    // ANCHOR: keep
    let secret = client.to_bytes()?; // wiped from memory when dropped
    let again = ClientKey::from_bytes_for(&set, &secret)?;
    assert_eq!(again.key_id(), client.key_id());
    // ANCHOR_END: keep
    Ok(())
}
