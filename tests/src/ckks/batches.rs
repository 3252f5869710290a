//! Batches on a device that divides them: the words of one CPU.

use super::evaluator::slots;
use girih::ckks::server::{Bootstrapping, Ciphertexts, Options, ServerKey};
use girih::ckks::{Ciphertext, CkksParameters, ClientKey, KeyKind, Result, StreamedKeys};
use girih_backend::{Backend, NoProgress};
use girih_cpu::CpuBackend;

const SET: &str = "INSECURE_CKKS_D40_N10";
/// Slots of what is computed on: few, so that bootstrapping takes few keys.
const SLOTS: usize = 16;
/// More than two members have one of each.
const BATCH: usize = 5;

/// Batches one after the other, so that operands lie where others were computed; results of all.
fn compute(server: &ServerKey, x: &[Ciphertext], y: &[Ciphertext]) -> Result<Vec<Ciphertext>> {
    let (x, y) = (server.upload(x)?, server.upload(y)?);
    let fresh = server.bootstrap(&x)?;
    let product = server.mul(&fresh, &server.rotate(&fresh, 1)?)?;
    // Some of a batch, and one alone, come from where their whole batch was computed.
    let some = server.mul(&product.select(1..4)?, &fresh.select(2..5)?)?;
    let one = server.square(&product.select(4..5)?)?;
    let mixed = server.add(&x, &y)?;
    let all: [&Ciphertexts; 5] = [&fresh, &product, &some, &one, &mixed];
    let parts = all.iter().map(|batch| server.download(batch)).collect::<Result<Vec<_>>>()?;
    Ok(parts.into_iter().flatten().collect())
}

/// One line for each ciphertext whose words differ from those of the CPU alone.
///
/// # Errors
/// Failures of the device.
pub fn divided(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let mut kinds = Bootstrapping::default().keys_by_level(&set, SLOTS)?;
    kinds.extend(KeyKind::rotation(&set, 1).map(|kind| kind.up_to(set.default_level())));
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32])?;
    let keys = StreamedKeys::new(&client, kinds)?;
    let encrypt = |first: u64| -> Result<Vec<Ciphertext>> {
        (first..).take(BATCH).map(|seed| client.encrypt_at(&slots(SLOTS, seed), 0)).collect()
    };
    let (x, y) = (encrypt(1)?, encrypt(100)?);
    let (options, cpu) = (Options::default(), CpuBackend::new());
    // On the device they are made while it loads, which are the same words.
    let streamed = ServerKey::load_streamed(device, &keys, &options, &NoProgress)?;
    let whole = ServerKey::load(&cpu, &keys.whole(&NoProgress)?, &options, &NoProgress)?;
    let (found, wanted) = (compute(&streamed, &x, &y)?, compute(&whole, &x, &y)?);
    let mut lines = Vec::new();
    if found.len() != wanted.len() {
        lines.push(format!("{} ciphertexts where {} are right", found.len(), wanted.len()));
    }
    for (number, (x, y)) in found.iter().zip(&wanted).enumerate() {
        if x.b() != y.b() || x.a() != y.a() {
            lines.push(format!("ciphertext {number} differs from the CPU's"));
        }
    }
    Ok(lines)
}
