//! Docs: docs/guide/integers.md and docs/integers.md.

// ANCHOR: program
use girih::tfhe::prelude::*;

pub fn run(set: &str) -> Result<(), Box<dyn std::error::Error>> {
    let set = ParameterSet::by_name(set)?; // TFHERS_2_2_GROUP_2
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?.with_compression(&client)?;
    let integers = Integers::new(Device::open("cpu")?.load(&keys)?)?;

    // Two numbers each, on the device from now on.
    let a = integers.upload(&FheUint::<16>::encrypt(&client, &[700u16, 50])?)?;
    let b = integers.upload(&FheUint::<16>::encrypt(&client, &[5u16, 51])?)?;
    let larger = a.greater(&b)?.select(&a, &b)?;
    let sum = (&(&a * &b)? + &larger)?;
    assert_eq!(integers.download(&sum)?.decrypt(&client)?, [4200, 2601]);
    // The compression key brings results home in few bytes.
    assert_eq!(integers.download_compressed(&sum)?.decrypt(&client)?, [4200, 2601]);
    Ok(())
}
// ANCHOR_END: program
