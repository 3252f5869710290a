//! Tasks of rayon that share a server: none may wait for what another one on its thread holds.

use std::sync::mpsc;
use std::time::Duration;

use girih::ckks::prelude::*;
use girih::tfhe::{ClientKey as BitsKey, EvaluationKeys as BitsKeys, Gate};
use rayon::prelude::*;

use crate::bootstrap::compare::Differences;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Tasks of a round. The last of them are those that other threads help with: only these wait, and
/// take up another task meanwhile. So there are many short rounds.
const TASKS: usize = 16;

/// Threads that wait for parts of their tasks and take up others, on however few cores.
const THREADS: usize = 8;

/// How long all tasks together may take on the slowest device.
const LONGEST: Duration = Duration::from_secs(300);

/// Runs `task` in so many rounds on threads of rayon. Tasks that wait for one another never end:
/// then the whole test does.
fn all(
    what: &str,
    rounds: usize,
    task: impl Fn(usize) -> Result<Option<String>, Failure> + Sync,
) -> Result<Differences, Failure> {
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            if waiting.recv_timeout(LONGEST) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{what}: tasks of rayon wait for one another");
                std::process::abort();
            }
        });
        let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
        let round = |_| (0..TASKS).into_par_iter().map(&task).collect::<Result<Vec<_>, Failure>>();
        let found: Result<Vec<_>, Failure> = pool.install(|| (0..rounds).map(round).collect());
        drop(done);
        let mut differences = Differences::new();
        found?.into_iter().flatten().flatten().for_each(|found| differences.push(found));
        Ok(differences)
    })
}

/// Gates of one server key, uploads and downloads with them.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn gates(device: &Device) -> Result<Differences, Failure> {
    let set = ParameterSet::by_name("INSECURE_TOY")?;
    let client = BitsKey::generate_seeded_for_tests(&set, [21; 32])?;
    let server = device.load(&BitsKeys::generate(&client, &NoProgress)?)?;
    all("gates", 32, |task| {
        let bits = |by: usize| -> Vec<bool> {
            (0..5).map(|i| (i * by + task).is_multiple_of(3)).collect()
        };
        let (a, b) = (bits(1), bits(2));
        let (x, y) = (client.encrypt_bits(&a)?, client.encrypt_bits(&b)?);
        let found = client.decrypt_bits(&server.gate(Gate::Nand, &x, &y)?)?;
        let wanted: Vec<bool> = a.iter().zip(&b).map(|(a, b)| !(a & b)).collect();
        Ok((found != wanted).then(|| format!("task {task}: {found:?}, not {wanted:?}")))
    })
}

/// Encryption by one client, and recordings of one server that encode a vector each.
///
/// # Errors
/// If keys or computations are refused or fail.
pub fn recordings(device: &Device) -> Result<Differences, Failure> {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [22; 32])?;
    let keys = EvaluationKeys::generate(&client, [KeyKind::Multiplication], &NoProgress)?;
    let server = device.load(&keys)?;
    // A client that has encrypted nothing yet.
    let fresh = ClientKey::generate_seeded_for_tests(&set, [22; 32])?;
    all("recordings", 4, |task| {
        let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 32.0).collect();
        let factors: Vec<f64> = (0..16).map(|i| f64::from(i % 3) - 0.01 * task as f64).collect();
        let x = server.upload(&[fresh.encrypt(&values)?])?;
        let product = server.record(|b| {
            let x = b.input_with(x.level(), x.scale(), x.slots())?;
            Ok(vec![b.mul_plain(&x, &factors)?])
        })?;
        let found = client.decrypt_real(&server.download(&product.run(&[&x])?[0])?[0])?;
        let wanted = |i: usize| values[i] * factors[i];
        let far = (0..16).find(|&i| (found[i] - wanted(i)).abs() > 1e-6);
        Ok(far.map(|i| format!("task {task}, slot {i}: {}, not {}", found[i], wanted(i))))
    })
}
