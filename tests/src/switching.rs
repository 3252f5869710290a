//! From CKKS to TFHE and back, and from TFHE to numbers in slots and back, on one device.

use crate::bootstrap::compare::Differences;
use girih::ckks::prelude::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// log2 of the modulus of signs: above that of one rotation, so that a floor comes first.
const LOG2_MODULUS: u32 = 12;

/// Signs and a look-up of 16 slots, both schemes on `device`.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn end_to_end(device: &Device) -> Result<Differences, Failure> {
    let slots = 16;
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [8; 32])?;
    let large = LargeParameters::insecure();
    let tfhe = girih::tfhe::ClientKey::generate_seeded_for_tests(large.home(), [9; 32])?;
    let between = SwitchingKeys::generate_seeded_for_tests(&client, &tfhe, [10; 32])?;
    let kinds = Switch::evaluation_keys(&set, slots)?;
    let server = device.load(&EvaluationKeys::generate(&client, kinds, &NoProgress)?)?;
    let transform = *device.info().transforms.first().ok_or("the device names no transform")?;
    let gadgets = Comparator::gadgets(between.parameters(), &large, LOG2_MODULUS, transform)?;
    let keys = LargeKeys::generate(&large, &tfhe, &gadgets, &NoProgress)?;
    let large = device.loader().transform(transform).load(&keys)?;
    let switch = Switch::new(&server, &between, slots)?;
    let comparator = Comparator::new(&switch, &large, LOG2_MODULUS)?;

    let values: Vec<f64> = (0..slots).map(|j| -0.95 + 0.125 * j as f64).collect();
    let x = server.upload(&[client.encrypt(&values)?])?;
    let square = |x: f64| x * x - 0.5;
    let points: Vec<f64> = (0..slots).map(|j| -1.0 + 0.5 * (j % 4) as f64).collect();
    let y = server.upload(&[client.encrypt(&points)?])?;
    let signs = comparator.sign(&x, slots, 1.0)?.slots;
    let squares = comparator.lookup(&y, slots, -1.0..1.0, 2, square)?.slots;

    let mut differences = Differences::new();
    let mut compare = |what: &str, found: &Ciphertexts, wanted: &dyn Fn(usize) -> f64| {
        let found = client.decrypt_real(&server.download(found)?[0])?;
        for (j, found) in found.iter().enumerate().filter(|(j, f)| (*f - wanted(*j)).abs() > 0.01) {
            differences.push(format!("{what} of slot {j}: {found} instead of {}", wanted(j)));
        }
        Ok::<(), Failure>(())
    };
    compare("the sign", &signs, &|j| values[j].signum())?;
    compare("the table", &squares, &|j| square(points[j]))?;
    Ok(differences)
}

/// Messages to numbers in slots, a table of them, and back: decrypted, and word for word those of
/// the CPU.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn wires(device: &Device) -> Result<Differences, Failure> {
    let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
    let client = girih::discrete::ClientKey::generate_seeded_for_tests(&set, [11; 32])?;
    let tfhe = ParameterSet::by_name("INSECURE_TOY_TORUS")?;
    let tfhe = girih::tfhe::ClientKey::generate_seeded_for_tests(&tfhe, [12; 32])?;
    let between = SwitchingKeys::generate_seeded_for_tests(client.ckks(), &tfhe, [13; 32])?;
    let keys = girih::discrete::EvaluationKeys::generate(&client, &NoProgress)?;
    let messages: Vec<u64> = (0..100).map(|i| i * i % 8).collect();
    let x = tfhe.encrypt_messages(&messages, 3)?;
    let table = Table::new(8, |m| (3 * m + 1) % 8)?;
    let run = |device: &Device| -> Result<_, Failure> {
        let server = device.load(&keys)?;
        let switch = WireSwitch::new(&server, &between)?;
        let found = switch.to_wires(&x, &[&table])?.remove(0);
        let back = switch.to_tfhe(&found, 3, 64)?;
        Ok((server.download(&found)?, back))
    };
    let ((found, back), (plain, plain_back)) = (run(device)?, run(&Device::open("cpu")?)?);
    let mut differences = Differences::new();
    let wanted: Vec<u64> = messages.iter().map(|m| (3 * m + 1) % 8).collect();
    if client.decrypt(&found)?.iter().map(|&m| u64::from(m)).ne(wanted.iter().copied()) {
        differences.push("messages as numbers are wrong".into());
    }
    if tfhe.decrypt_messages(&back, 3)? != wanted {
        differences.push("numbers as messages are wrong".into());
    }
    if found != plain || back.words() != plain_back.words() {
        differences.push("numbers or messages have other words than on the CPU".into());
    }
    Ok(differences)
}
