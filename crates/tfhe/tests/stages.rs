//! The noise between stages: what each rounding and the key switch add, and by how much the
//! rotation's exponents miss. The outputs alone hide errors that a later stage is too coarse for.

use girih_backend::{
    BootstrapJob, BootstrapShape, Combination, LoadOptions, NoProgress, Operand, SecretKind, Stage,
    Transform,
};
use girih_cpu::CpuBackend;
use girih_ring::sampler::SecretSeed;
use girih_tfhe::{
    ClientKey, ErrorDistribution, EvaluationKeys, ParameterLiteral, ParameterSet, ServerKey,
};

/// Samples of each error: two deviations of the estimate are 5 %.
const SAMPLES: usize = 768;

/// A key whose secrets this test knows.
struct Bench {
    lwe: Vec<i8>,
    glwe: Vec<i8>,
    server: ServerKey,
    client: ClientKey,
}

impl Bench {
    fn new(set: &ParameterSet) -> Self {
        Self::of_key(set, 9)
    }

    fn of_key(set: &ParameterSet, number: u8) -> Self {
        let (shape, seed) = (set.shape(), SecretSeed::new([number; 32]));
        assert_eq!(shape.packing, 1);
        let secret = |kind, index, len| -> Vec<i8> {
            let mut stream = seed.stream(0, index);
            let mut draw = || match kind {
                SecretKind::Ternary => stream.ternary(),
                SecretKind::Binary => stream.binary(),
            };
            (0..len).map(|_| draw()).collect()
        };
        let lwe = secret(shape.secret, 0, shape.lwe_dimension);
        let glwe = secret(set.ring_secret(), 1, shape.ks_indices());
        let client = ClientKey::from_secrets(set, lwe.clone(), glwe.clone()).expect("valid");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
        let options = LoadOptions::default().with_transform(Transform::Fft);
        let server = ServerKey::load(&CpuBackend::new(), &keys, &options, &NoProgress)
            .expect("the CPU runs every set");
        Self { lwe, glwe, server, client }
    }

    fn shape(&self) -> &BootstrapShape {
        self.server.set().shape()
    }

    /// What the device holds at `stages` of bootstrappings of fresh bits, their table constant.
    fn trace(&self, table: u64, stages: &[Stage]) -> Vec<Vec<Vec<u64>>> {
        self.trace_some(SAMPLES, table, stages)
    }

    fn trace_some(&self, samples: usize, table: u64, stages: &[Stage]) -> Vec<Vec<Vec<u64>>> {
        let bits: Vec<bool> = (0..samples).map(|i| i % 3 == 0).collect();
        let encrypted = self.client.encrypt_bits(&bits).expect("bits");
        let stored = self.server.upload(&encrypted).expect("room");
        let engine = self.server.engine();
        let log2_modulus = self.shape().log2_stored_modulus();
        let table = engine.add_tables(&vec![table; self.shape().polynomial_size]).expect("room");
        let trace = |i| {
            let operand = Operand { ciphertext: stored.at(i), weight: 1 };
            let job = BootstrapJob {
                input: Combination::new(&[operand], 0, log2_modulus),
                table,
                table_stride: 0,
                output_offset: 0,
                log2_output_modulus: log2_modulus,
                output: stored.at(i),
                second: None,
            };
            engine.trace(&job, stages).expect("the CPU traces every stage")
        };
        (0..samples).map(trace).collect()
    }
}

/// `body - sum mask s`, wrapping modulo 2^64.
fn phase(words: &[u64], secret: &[i8]) -> u64 {
    let dot = words.iter().zip(secret).fold(0u64, |sum, (&a, &s)| match s {
        0 => sum,
        1 => sum.wrapping_add(a),
        _ => sum.wrapping_sub(a),
    });
    words[secret.len()].wrapping_sub(dot)
}

/// `x`, known modulo `modulus`, as its representative around 0.
fn centred(x: f64, modulus: f64) -> f64 {
    x - modulus * (x / modulus).round()
}

fn squares(secret: &[i8]) -> f64 {
    secret.iter().map(|&s| f64::from(s).powi(2)).sum()
}

/// The deviation of `errors` about 0 is `wanted`: within 13 %,
/// five deviations of the estimate, and `slack`.
fn check(set: &ParameterSet, what: &str, errors: &[f64], wanted: f64, slack: f64) {
    let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    let ratio = square.sqrt() / wanted;
    println!("{set}, {what}: {ratio:.3} of {wanted:.4e}");
    let most = 5.0 / (2.0 * SAMPLES as f64).sqrt() + slack;
    assert!((ratio - 1.0).abs() < most, "{set}, {what}: {ratio:.3} of the deviation {wanted:e}");
}

/// A key switch meets one table again and again, so the mean of its entries stays: one part in
/// B_ks of the variance, and as much again by chance.
const TABLE: f64 = 0.06;

#[test]
fn roundings_and_the_key_switch_add_what_they_should() {
    for name in ["INSECURE_TOY", "INSECURE_TOY_K2", "INSECURE_TOY_MR", "INSECURE_TOY_UP"] {
        let set = ParameterSet::by_name(name).expect("built in");
        let (bench, ErrorDistribution::Gaussian { sigma }) = (Bench::new(&set), set.errors())
        else {
            panic!("{name} has Gaussian errors")
        };
        let shape = bench.shape();
        let accumulator = shape.accumulator_modulus().expect("no torus");
        let (q, q_ks) = (set.lwe_modulus() as f64, 2f64.powi(shape.log2_ks_modulus as i32));
        let stages = [Stage::Extracted, Stage::SwitchedToKs, Stage::KeySwitched, Stage::Output];
        let [mut switch, mut keys, mut output] = [(); 3].map(|()| Vec::new());
        for traced in bench.trace(accumulator / 8, &stages) {
            let [extracted, switched, key_switched, out] = &traced[..] else {
                panic!("four stages were asked for")
            };
            // Words of up to 54 bits times 256 small coefficients stay below 2^63.
            let extracted = phase(extracted, &bench.glwe) as i64 as f64;
            let switched = phase(switched, &bench.glwe) as i64 as f64;
            let key_switched = phase(key_switched, &bench.lwe) as i64 as f64;
            let out = phase(out, &bench.lwe) as i64 as f64;
            switch.push(centred(switched - extracted * (q_ks / accumulator as f64), q_ks));
            keys.push(centred(key_switched - switched, q_ks));
            output.push(centred(out - key_switched * (q / q_ks), q));
        }
        let rounding = |secret: &[i8]| ((1.0 + squares(secret)) / 12.0).sqrt();
        let base = shape.ks_base() as f64;
        let entries = (shape.ks_indices() * shape.ks_digits()) as f64 * (1.0 - 1.0 / base);
        check(&set, "the switch to Q_ks", &switch, rounding(&bench.glwe), 0.0);
        check(&set, "the key switch", &keys, entries.sqrt() * sigma, TABLE);
        check(&set, "the switch to q", &output, rounding(&bench.lwe), 0.0);
    }
}

/// By how many places the constant polynomial was turned: X^N = -1 leaves its signs as a step.
fn turned(accumulator: &[u64], secret: &[i8], size: usize) -> usize {
    let mut phase = accumulator[secret.len()..][..size].to_vec();
    for (mask, secret) in accumulator.chunks_exact(size).zip(secret.chunks_exact(size)) {
        for (shift, &s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
            for (i, &a) in mask.iter().enumerate() {
                let place = &mut phase[(i + shift) % size];
                let taken = (i + shift < size) == (s > 0);
                *place = if taken { place.wrapping_sub(a) } else { place.wrapping_add(a) };
            }
        }
    }
    let negative = |x: &u64| (*x as i64) < 0;
    let count = phase.iter().filter(|x| negative(x)).count();
    if phase.first().is_some_and(negative) { count } else { (2 * size - count) % (2 * size) }
}

/// On the native torus the exponents are what the key switch leaves, rounded to 2N. What rounding
/// the mask is known to add on average is taken off first, which halves its variance: without it,
/// this deviation grows by 1.4 while outputs of tables with room to spare stay right.
#[test]
fn the_torus_key_switch_and_the_exponents_err_as_they_should() {
    let mut sets = ["INSECURE_TOY_TORUS", "INSECURE_TOY_TORUS_GROUP_2"]
        .map(|name| ParameterSet::by_name(name).expect("built in"))
        .to_vec();
    let mixed = ParameterLiteral {
        name: "TERNARY_RING".into(),
        ring_secret: Some(SecretKind::Ternary),
        ..sets[1].literal()
    };
    sets.push(ParameterSet::new(&mixed).expect("valid"));
    for set in sets {
        let ErrorDistribution::TUniform { lwe_log2_bound, .. } = set.errors() else {
            panic!("{set} has uniform errors")
        };
        let bench = Bench::new(&set);
        let shape = bench.shape();
        let (size, n) = (shape.polynomial_size, shape.lwe_dimension);
        let stages =
            [Stage::Combined, Stage::KeySwitched, Stage::Accumulator { steps: shape.steps() }];
        let (mut keys, mut exponents) = (Vec::new(), Vec::new());
        for traced in bench.trace(1 << 61, &stages) {
            let [combined, switched, accumulator] = &traced[..] else {
                panic!("three stages were asked for")
            };
            let switched = phase(switched, &bench.lwe);
            keys.push(switched.wrapping_sub(phase(combined, &bench.glwe)) as i64 as f64);
            // The table is turned back by the phase.
            let turned = turned(accumulator, &bench.glwe, size) as f64;
            let unit = 2f64.powi(64 - shape.log2_monomials() as i32);
            exponents.push(centred(turned + switched as f64 / unit, 2.0 * size as f64));
        }
        let left_out = 4f64.powi(64 - shape.log2_ks_modulus as i32) / 12.0;
        let error = (2f64.powi(2 * lwe_log2_bound as i32 + 1) + 1.0) / 6.0;
        let digits = (shape.ks_indices() * shape.ks_digits()) as f64;
        let key_switch = squares(&bench.glwe) * left_out
            + digits * ((shape.ks_base() as f64).powi(2) + 2.0) / 12.0 * error;
        check(&set, "the key switch", &keys, key_switch.sqrt(), TABLE);
        let rounding = ((1.0 + n as f64 / 4.0) / 12.0).sqrt();
        check(&set, "the exponents", &exponents, rounding, 0.0);
    }
}

/// Digits of one bit are 0 or -1: their mean square is 1/2, where B^2 / 12 is 1/3; half of that is
/// their mean, which meets the errors of one key in the same way each time. So many keys are asked.
#[test]
fn digits_of_one_bit_switch_with_the_error_of_their_mean_square() {
    const KEYS: u8 = 192;
    let set = ParameterSet::new(&ParameterLiteral {
        name: "ONE_BIT".into(),
        base_ks: 2,
        tuniform_lwe: Some(48),
        ..ParameterSet::by_name("INSECURE_TOY_TORUS").expect("built in").literal()
    })
    .expect("valid");
    let (shape, each) = (set.shape(), SAMPLES / usize::from(KEYS));
    let errors: Vec<f64> = (0..KEYS)
        .flat_map(|number| {
            let bench = Bench::of_key(&set, number);
            let traced = bench.trace_some(each, 0, &[Stage::Combined, Stage::KeySwitched]);
            let error = |traced: &Vec<Vec<u64>>| {
                phase(&traced[1], &bench.lwe).wrapping_sub(phase(&traced[0], &bench.glwe)) as i64
            };
            traced.iter().map(|traced| error(traced) as f64).collect::<Vec<_>>()
        })
        .collect();
    let row = (2f64.powi(97) + 1.0) / 6.0;
    let digits = (shape.ks_indices() * shape.ks_digits()) as f64;
    let left_out = shape.ks_indices() as f64 / 2.0 * 4f64.powi(48) / 12.0;
    // Half of it are 192 means: from run to run, with other keys, it moves by 3 % (100 runs).
    check(&set, "the key switch", &errors, (digits / 2.0 * row + left_out).sqrt(), 0.0);
}
