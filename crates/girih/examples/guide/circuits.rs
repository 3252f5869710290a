//! Docs: docs/guide/circuits.md.

use super::Failure;
use girih::tfhe::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = ParameterSet::by_name(set)?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR: adder
    let netlist = circuit::generate::adder(4, false);
    let circuit = Circuit::new(&netlist, &set)?;
    println!("{} bootstrappings in {} levels", circuit.bootstraps(), circuit.depth());

    // Two instances at once: 5 + 3 and 15 + 1, bits of a, then of b, lowest first.
    let bits = |a: u8, b: u8| -> Vec<bool> {
        [a, b].iter().flat_map(|x| (0..4).map(move |i| x >> i & 1 == 1)).collect()
    };
    let inputs = EncryptedBits::encrypt(&client, &[bits(5, 3), bits(15, 1)])?;
    let (sums, _) = circuit.evaluate(&server, &inputs, &NoProgress)?;

    let number = |bits: &[bool]| bits.iter().rev().fold(0, |x, &bit| 2 * x + u8::from(bit));
    let sums: Vec<u8> = sums.decrypt(&client)?.iter().map(|bits| number(bits)).collect();
    assert_eq!(sums, [8, 16]);
    // ANCHOR_END: adder
    Ok(())
}
