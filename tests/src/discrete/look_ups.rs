//! Gates and tables of numbers in slots on one device: decrypted, and word for word those of the
//! CPU.

use crate::bootstrap::compare::Differences;
use crate::synthetic::Words;
use girih::discrete::prelude::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What was computed, by what it is, and what it must be.
type Results = Vec<(String, EncryptedNumbers, Vec<i64>)>;

/// A batch of two ciphertexts of numbers below a bound, and the numbers.
fn numbers(
    client: &ClientKey,
    server: &ServerKey,
    words: &mut Words,
    below: u32,
) -> Result<(Wires, Vec<u32>), Failure> {
    let count = client.set().numbers();
    let mut vector =
        || (0..count).map(|_| (words.next_word() % u64::from(below)) as u32).collect::<Vec<u32>>();
    let batch = [vector(), vector()];
    let wires = server.upload(&client.encrypt_batch(&batch, below)?)?;
    Ok((wires, batch.concat()))
}

/// Look-ups of one set on one device, from the same seed each time.
fn run(device: &Device, name: &str) -> Result<(ClientKey, Results), Failure> {
    let set = DiscreteParameters::by_name(name)?;
    let client = ClientKey::generate_seeded_for_tests(&set, [6; 32])?;
    let server = device.load(&EvaluationKeys::generate(&client, &NoProgress)?)?;
    let mut words = Words::new(5);
    let mut results = Vec::new();
    let mut add = |what: &str, wires: &Wires, wanted: Vec<i64>| -> Result<(), Failure> {
        results.push((format!("{name}: {what}"), server.download(wires)?, wanted));
        Ok(())
    };
    let (x, a) = numbers(&client, &server, &mut words, 2)?;
    let (y, b) = numbers(&client, &server, &mut words, 2)?;
    let nand = server.gate(Gate::Nand, &x, &y)?;
    let both: Vec<u32> = a.iter().zip(&b).map(|(a, b)| 1 - a * b).collect();
    add("NAND", &nand, both.iter().map(|&v| v.into()).collect())?;
    let xor = server.gate(Gate::Xor, &nand, &x)?;
    add("XOR", &xor, both.iter().zip(&a).map(|(b, a)| i64::from(b ^ a)).collect())?;
    if set.modulus() == 16 {
        let (x, a) = numbers(&client, &server, &mut words, 4)?;
        let (y, b) = numbers(&client, &server, &mut words, 4)?;
        let sum = server.sum(&[(4, &x), (1, &y)], 0)?;
        let product = Table::new(16, |m| (m >> 2) * (m & 3))?.order(2)?;
        let least = Table::new(16, |m| (m >> 2).min(m & 3))?.order(2)?;
        let both = server.lookup(&sum, &[&product, &least])?;
        let pairs = || a.iter().zip(&b);
        add("a product", &both[0], pairs().map(|(a, b)| i64::from(a * b)).collect())?;
        add("the smaller", &both[1], pairs().map(|(a, b)| i64::from(*a.min(b))).collect())?;
        let (low, high) = server.digits(&both[0], 4, 2)?;
        add("its low digit", &low, pairs().map(|(a, b)| i64::from(a * b % 4)).collect())?;
        add("its high digit", &high, pairs().map(|(a, b)| i64::from(a * b / 4)).collect())?;
    }
    Ok((client, results))
}

/// Gates, tables and digits on `device`.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn end_to_end(device: &Device) -> Result<Differences, Failure> {
    let mut differences = Differences::new();
    for name in ["INSECURE_DISCRETE_1_N10", "INSECURE_DISCRETE_4_N10"] {
        let (client, found) = run(device, name)?;
        let (_, plain) = run(&Device::open("cpu")?, name)?;
        for ((what, found, wanted), (_, plain, _)) in found.iter().zip(&plain) {
            let numbers = client.decrypt_integers(found)?;
            let wrong = numbers.iter().zip(wanted).filter(|(found, wanted)| found != wanted);
            match wrong.count() {
                0 => {}
                count => differences.push(format!("{what}: {count} numbers are wrong")),
            }
            let words = |x: &EncryptedNumbers| {
                let parts = x.ciphertexts().iter().flat_map(|c| [c.b().to_vec(), c.a().to_vec()]);
                parts.collect::<Vec<_>>()
            };
            if words(found) != words(plain) {
                differences.push(format!("{what}: other words than on the CPU"));
            }
        }
    }
    Ok(differences)
}
