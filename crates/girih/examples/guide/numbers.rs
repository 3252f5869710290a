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

/// Docs: docs/guide/circuits.md.
pub fn circuit(set: &str) -> Result<(), Box<dyn std::error::Error>> {
    use girih::circuit::generate;

    let client = ClientKey::generate(&DiscreteParameters::by_name(set)?)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR: circuit
    let circuit = WideCircuit::new(&generate::comparator(4), client.set())?;
    println!("{} look-ups of {} tables", circuit.lookups(), circuit.tables());

    // Two instances: 3 and 5, 9 and 2, bits of the first number, then of the second, lowest first.
    let bits = |a: u8, b: u8| -> Vec<bool> {
        [a, b].iter().flat_map(|x| (0..4).map(move |i| x >> i & 1 == 1)).collect()
    };
    let inputs = WideBits::encrypt(&client, &[bits(3, 5), bits(9, 2)])?;
    let (less, _) = circuit.evaluate(&server, &inputs, &WideOptions::default(), &NoProgress)?;
    let less: Vec<bool> = less.decrypt(&client)?.iter().map(|bits| bits[0]).collect();
    assert_eq!(less, [true, false]);
    // ANCHOR_END: circuit
    Ok(())
}

/// Docs: docs/guide/numbers.md.
pub fn from_tfhe(set: &str, tfhe_set: &str) -> Result<(), Box<dyn std::error::Error>> {
    let client = ClientKey::generate(&DiscreteParameters::by_name(set)?)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR: from_tfhe
    // The owner has a key of each scheme, and makes keys between them.
    let tfhe = tfhe::ClientKey::generate(&ParameterSet::by_name(tfhe_set)?)?;
    let between = SwitchingKeys::generate(client.ckks(), &tfhe, &NoProgress)?;
    let x = tfhe.encrypt_messages(&[3, 0, 2, 1], 2)?;

    // Messages of two bits become numbers modulo 4, all by one look-up of their squares.
    let switch = WireSwitch::new(&server, &between)?;
    let square = Table::new(4, |m| m * m % 4)?;
    let numbers = &switch.to_wires(&x, &[&square])?[0];
    // And numbers messages, of the same modulus.
    let back = switch.to_tfhe(numbers, 2, x.log2_modulus())?;

    assert_eq!(client.decrypt(&server.download(numbers)?)?, [1, 0, 0, 1]);
    assert_eq!(tfhe.decrypt_messages(&back, 2)?, [1, 0, 0, 1]);
    // ANCHOR_END: from_tfhe
    Ok(())
}
