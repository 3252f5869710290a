//! Whole circuits, many instances at once, with ciphertexts that stay on the device between levels.

use crate::bootstrap::compare::Differences;
use girih::circuit::{Circuit, EncryptedBits, Netlist, generate};
use girih::tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
use girih::{Device, LoadOptions, NoProgress, Transform};

/// Instances of each circuit: no multiple of the packing, so that the last ciphertext is not full.
const INSTANCES: usize = 5;

/// Circuits that use every kind of gate between them.
fn netlists() -> [(&'static str, Netlist); 3] {
    [
        ("adder", generate::adder(4, false)),
        ("comparator", generate::comparator(4)),
        ("multiplier", generate::multiplier(3)),
    ]
}

/// Small circuits on one device, compared with the same netlists in the plain.
///
/// # Errors
/// When keys cannot be made or loaded, or the device fails; wrong outputs come back as lines.
pub fn end_to_end(
    device: &Device,
    set: &ParameterSet,
    transform: Transform,
) -> Result<Differences, Box<dyn std::error::Error>> {
    let client = ClientKey::generate_seeded_for_tests(set, [5; 32])?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let options = LoadOptions::default().with_transform(transform);
    let server = ServerKey::load(device.backend(), &keys, &options, &NoProgress)?;
    let mut differences = Differences::new();
    for (name, netlist) in netlists() {
        let bit =
            |instance: usize, input: usize| (instance * 37 + input * 11 + instance * input) % 5 < 3;
        let inputs: Vec<Vec<bool>> = (0..INSTANCES)
            .map(|instance| (0..netlist.input_bits()).map(|input| bit(instance, input)).collect())
            .collect();
        let encrypted = EncryptedBits::encrypt(&client, &inputs)?;
        let (outputs, _) =
            // With forms of three and four inputs, which the default bound leaves out.
            Circuit::with_log2_failure(&netlist, set, -64.0)?.evaluate(
                &server,
                &encrypted,
                &NoProgress,
            )?;
        for (input, got) in inputs.iter().zip(outputs.decrypt(&client)?) {
            let want = netlist.evaluate(input)?;
            if want != got {
                differences.push(format!("{name} of {input:?}: {got:?} instead of {want:?}"));
            }
        }
    }
    Ok(differences)
}
