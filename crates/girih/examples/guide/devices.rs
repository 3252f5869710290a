//! Docs: docs/guide/devices.md.

use super::Failure;
use girih::tfhe::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = ParameterSet::by_name(set)?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    // ANCHOR: list
    let found = Device::enumerate();
    for device in &found.devices {
        println!("{}: {}", device.id, device.name);
    }
    for why in &found.absent {
        println!("absent: {why}");
    }
    // ANCHOR_END: list

    // ANCHOR: several
    // All NVIDIA GPUs as one device. Nothing takes their place where there is none.
    match Device::open("cuda:*") {
        Ok(all) => println!("{}: {}", all.info().id, all.info().name),
        Err(why) => println!("{why}"),
    }
    // ANCHOR_END: several

    // ANCHOR: plan
    let device = Device::open("cpu")?;
    let server = device.loader().transform(Transform::Fft).load(&keys)?;
    println!("{}", server.engine().plan());
    // ANCHOR_END: plan
    let bits = client.encrypt_bits(&[true, false])?;
    assert_eq!(client.decrypt_bits(&server.gate(Gate::And, &bits, &bits)?)?, [true, false]);
    Ok(())
}
