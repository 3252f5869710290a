//! How often gates fail, counted, against what the model says: the tail of the noise, and not only
//! its deviation, which `noise.rs` measures.

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::{
    ClientKey, DeviceCiphertexts, EvaluationKeys, Gate, NoiseModel, ParameterLiteral, ParameterSet,
    ServerKey,
};

/// Gates of one call.
const BATCH: usize = 512;

/// A toy whose gates fail as often as is wanted.
fn failing(name: &str, change: impl FnOnce(&mut ParameterLiteral)) -> ParameterSet {
    let mut literal = ParameterSet::by_name(name).expect("built in").literal();
    literal.name = format!("FAILING_{name}");
    change(&mut literal);
    ParameterSet::new(&literal).expect("possible")
}

/// Wrong outputs of `calls` calls of XOR on bits that gates made. An error of either sign turns an
/// XOR, as the model has it; other gates stand on one side of their boundary
/// and fail half as often.
fn wrong(set: &ParameterSet, key: u64, calls: usize) -> usize {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&key.to_le_bytes());
    let client = ClientKey::generate_seeded_for_tests(set, seed).expect("valid");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
    let options = LoadOptions::default().with_transform(Transform::Fft);
    let server = ServerKey::load(&CpuBackend::new(), &keys, &options, &NoProgress)
        .expect("the CPU runs every set");
    let plain = |which: usize| -> Vec<bool> {
        (0..BATCH).map(|i| ((i >> which) ^ (i / 7)) & 1 == 1).collect()
    };
    let xor =
        |a: &[bool], b: &[bool]| -> Vec<bool> { a.iter().zip(b).map(|(&a, &b)| a ^ b).collect() };
    let (mut x, mut y) = (plain(0), plain(1));
    let upload =
        |bits: &[bool]| server.upload(&client.encrypt_bits(bits).expect("bits")).expect("room");
    // Fresh bits have less noise: the first gates only make the inputs of those that are counted.
    let (fresh_x, fresh_y) = (upload(&x), upload(&y));
    let mut dx = server.gate(Gate::Nand, &fresh_x, &fresh_y).expect("runs");
    let mut dy = server.gate(Gate::Nor, &fresh_x, &fresh_y).expect("runs");
    let decrypt = |batch: &DeviceCiphertexts| {
        client.decrypt_bits(&server.download(batch).expect("there")).expect("own bits")
    };
    (x, y) = (decrypt(&dx), decrypt(&dy));
    let mut wrong = 0;
    for _ in 0..calls {
        let dz = server.gate(Gate::Xor, &dx, &dy).expect("runs");
        let (want, got) = (xor(&x, &y), decrypt(&dz));
        wrong += want.iter().zip(&got).filter(|(want, got)| want != got).count();
        // What came out goes on, right or not: each gate is judged by its own inputs.
        (dx, dy) = (dy, dz);
        (x, y) = (y, got);
    }
    wrong
}

/// Counts failures under `keys` keys and compares their mean with the model.
///
/// A key's table of errors shifts and widens what it makes, so that keys differ by more than chance
/// does: the error of the mean is what the keys themselves show.
fn check(set: &ParameterSet, keys: usize, calls: usize) {
    let gates = (calls * BATCH) as f64;
    let model = NoiseModel::with_transform(set, Transform::Fft).log2_failure().exp2();
    let counts: Vec<f64> = (0..keys as u64).map(|key| wrong(set, key, calls) as f64).collect();
    let mean = counts.iter().sum::<f64>() / keys as f64;
    let spread = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (keys - 1) as f64;
    let error = (spread / keys as f64).sqrt();
    let (ratio, error) = (mean / (gates * model), error / (gates * model));
    println!(
        "{set}: {} of {} gates failed, 2^{:.2}; the model says 2^{:.2}: {ratio:.2} +- {error:.2}",
        counts.iter().sum::<f64>(),
        gates * keys as f64,
        (mean / gates).log2(),
        model.log2()
    );
    assert!((-16.5..-11.0).contains(&model.log2()), "{set}: the model says 2^{}", model.log2());
    assert!(error < 0.4, "{set}: too few failures to judge by");
    assert!((ratio - 1.0).abs() < 3.0 * error, "{set}: {ratio:.2} +- {error:.2} of the model");
}

/// Most of the noise is the key switch's. Few indices make short rotations, and change nothing of
/// what the key switch adds. Both inputs of a gate come through one table, whose mean they share:
/// digits of seven bits leave next to nothing of it.
fn of_key_switches(sigma: f64) -> ParameterSet {
    failing("INSECURE_TOY", |set| {
        (set.n, set.base_ks, set.sigma) = (16, 1 << 7, Some(sigma));
    })
}

/// Most of the noise is the rotation's. The model counts the first step like any other, though its
/// accumulator has no mask yet: one part in n, which 64 indices make small.
fn of_rotations() -> ParameterSet {
    failing("INSECURE_TOY_ALL", |set| {
        (set.n, set.sigma, set.base_g) = (64, Some(1.55), Some(1 << 14))
    })
}

fn long() -> bool {
    std::env::var_os("GIRIH_LONG").is_some()
}

/// One gate in 4,000: some 40 failures, 300 by `cargo xtask test --long`.
#[test]
fn gates_fail_as_often_as_the_model_says() {
    let (keys, calls) = if long() { (64, 40) } else { (24, 12) };
    check(&of_key_switches(17.1), keys, calls);
}

/// One gate in 6,000, by longer rotations: only by `cargo xtask test --long`.
#[test]
fn rotations_fail_as_often_as_the_model_says() {
    if long() {
        check(&of_rotations(), 32, 16);
    }
}

/// One gate in 60,000: only by `cargo xtask test --long`.
#[test]
fn rare_failures_are_as_rare_as_the_model_says() {
    if long() {
        check(&of_key_switches(14.7), 64, 120);
    }
}
