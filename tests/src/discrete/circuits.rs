//! Circuits on numbers in slots on one device: decrypted, and word for word those of the CPU.

use crate::bootstrap::compare::Differences;
use girih::circuit::generate;
use girih::discrete::prelude::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Instances: not all of a ciphertext.
const INSTANCES: usize = 1000;

/// One circuit on one device, from the same seed each time: its outputs.
fn run(
    device: &Device,
    (set, seed): (&DiscreteParameters, u8),
    netlist: &Netlist,
    inputs: &[Vec<bool>],
) -> Result<(WideBits, Vec<Vec<bool>>), Failure> {
    let client = ClientKey::generate_seeded_for_tests(set, [seed; 32])?;
    let server = device.load(&EvaluationKeys::generate(&client, &NoProgress)?)?;
    let circuit = WideCircuit::new(netlist, set)?;
    let encrypted = WideBits::encrypt(&client, inputs)?;
    let options = WideOptions::default().with_batch(3);
    let (outputs, _) = circuit.evaluate(&server, &encrypted, &options, &NoProgress)?;
    let bits = outputs.decrypt(&client)?;
    Ok((outputs, bits))
}

/// A comparator of DISCRETE_1, whose gates are two bits wide, and an adder of DISCRETE_4 over small
/// rings.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn end_to_end(device: &Device) -> Result<Differences, Failure> {
    let mut differences = Differences::new();
    for (name, netlist) in [
        ("INSECURE_DISCRETE_1_N10", generate::comparator(2)),
        ("INSECURE_DISCRETE_4_N10", generate::adder(4, false)),
    ] {
        let set = DiscreteParameters::by_name(name)?;
        let bit = |i: usize, b: usize| (i * 37 + b * 11 + i * b) % 5 < 3;
        let inputs: Vec<Vec<bool>> = (0..INSTANCES)
            .map(|i| (0..netlist.input_bits()).map(|b| bit(i, b)).collect())
            .collect();
        let (words, found) = run(device, (&set, 8), &netlist, &inputs)?;
        let (plain, _) = run(&Device::open("cpu")?, (&set, 8), &netlist, &inputs)?;
        for (input, found) in inputs.iter().zip(&found) {
            if netlist.evaluate(input)? != *found {
                differences.push(format!("{name}: {input:?} gives {found:?}"));
            }
        }
        let same = words.numbers().ciphertexts().iter().zip(plain.numbers().ciphertexts());
        if same.clone().any(|(a, b)| a.b() != b.b() || a.a() != b.a()) {
            differences.push(format!("{name}: other words than on the CPU"));
        }
    }
    Ok(differences)
}
