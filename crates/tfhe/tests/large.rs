//! Large-precision functions on the CPU: every message where there are up to 2^12,
//! random ones above.

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::large::{LargeKeys, LargeOperation, LargeParameters, LargeServer};
use girih_tfhe::{ClientKey, Function, LweCiphertexts, ParameterSet};
use std::sync::{Arc, OnceLock};

struct Context {
    parameters: LargeParameters,
    client: ClientKey,
    server: Arc<LargeServer>,
}

impl Context {
    fn new(transform: Transform, gadgets: &[usize]) -> Self {
        Self::of(LargeParameters::insecure(), transform, gadgets)
    }

    fn of(parameters: LargeParameters, transform: Transform, gadgets: &[usize]) -> Self {
        let client =
            ClientKey::generate_seeded_for_tests(parameters.home(), [1; 32]).expect("prime words");
        let keys = LargeKeys::generate(&parameters, &client, gadgets, &NoProgress)
            .expect("its own gadgets");
        let options = LoadOptions::default().with_transform(transform);
        let server = LargeServer::load(&CpuBackend::new(), &keys, &options, &NoProgress)
            .expect("the CPU runs every set");
        Self { parameters, client, server: Arc::new(server) }
    }

    fn encrypt(&self, messages: &[u64], log2_modulus: u32) -> LweCiphertexts {
        self.parameters.encrypt(&self.client, messages, log2_modulus).expect("fits")
    }

    fn decrypt(&self, ciphertexts: &LweCiphertexts) -> Vec<u64> {
        self.parameters.decrypt(&self.client, ciphertexts).expect("same context")
    }
}

/// One server for all tests, and each has a client of its own with the same secrets. Errors of toys
/// decide one comparison of some thousand wrongly: the same in every run.
fn context() -> Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    let first = CONTEXT.get_or_init(|| Context::new(Transform::Fft, &[0, 1, 2, 3]));
    let parameters = first.parameters.clone();
    let client =
        ClientKey::generate_seeded_for_tests(parameters.home(), [1; 32]).expect("prime words");
    Context { parameters, client, server: Arc::clone(&first.server) }
}

/// All messages of `bits` bits, or from 13 bits on 500 of them: the ends, those around the middle,
/// and others between.
fn messages(bits: u32) -> Vec<u64> {
    let end = 1u64 << bits;
    if bits <= 12 {
        return (0..end).collect();
    }
    let special = [0, 1, end / 2 - 1, end / 2, end / 2 + 1, end - 1];
    special
        .into_iter()
        .chain((0..494).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)))
        .collect()
}

#[test]
fn signs() {
    let c = context();
    // One bit, below one digit, exactly one, one more, and so on to the largest modulus there is.
    for log2_modulus in [6, 8, 9, 10, 13, 17, 22, 29] {
        let bits = c.parameters.message_bits(log2_modulus).expect("in range");
        let messages = messages(bits);
        let got = c
            .client
            .decrypt_bits(&c.server.sign(&c.encrypt(&messages, log2_modulus)).expect("runs"))
            .expect("bits");
        let want: Vec<bool> = messages.iter().map(|m| m >> (bits - 1) == 1).collect();
        assert!(got == want, "modulus 2^{log2_modulus}");
    }
}

#[test]
fn floors() {
    let c = context();
    for (log2_modulus, bits) in
        [(6, 1), (8, 2), (9, 4), (12, 1), (13, 3), (17, 4), (25, 4), (29, 2)]
    {
        let messages = messages(c.parameters.message_bits(log2_modulus).expect("in range"));
        let got =
            c.decrypt(&c.server.floor(&c.encrypt(&messages, log2_modulus), bits).expect("runs"));
        let want: Vec<u64> = messages.iter().map(|m| m >> bits << bits).collect();
        assert!(got == want, "{bits} bits, modulus 2^{log2_modulus}");
    }
}

#[test]
fn digits() {
    let c = context();
    for log2_modulus in [8, 9, 10, 17, 29] {
        let bits = c.parameters.message_bits(log2_modulus).expect("in range");
        let messages = messages(bits);
        let digits = c.server.decompose(&c.encrypt(&messages, log2_modulus)).expect("runs");
        assert_eq!(digits.len(), (bits.div_ceil(4) as usize).max(1));
        let mut values = vec![0; messages.len()];
        for (i, digit) in digits.iter().enumerate() {
            values.iter_mut().zip(c.decrypt(digit)).for_each(|(v, d)| *v += d << (4 * i));
        }
        assert!(values == messages, "modulus 2^{log2_modulus}");
    }
}

#[test]
fn functions_of_a_digit() {
    let c = context();
    let relu = Function::new(3, 3, |m| if m < 4 { m } else { 0 }).expect("fits");
    let wide = Function::new(3, 17, |m| m * 18_000).expect("fits");
    let negacyclic =
        Function::new(4, 13, |m| if m < 8 { 511 * m } else { (8192 - 511 * (m - 8)) % 8192 })
            .expect("fits");
    for f in [relu, wide, negacyclic] {
        let messages: Vec<u64> = (0..1 << f.input_bits()).collect();
        let got = c.server.function(&c.encrypt(&messages, 5 + f.input_bits()), &f).expect("runs");
        assert_eq!(got.log2_modulus(), 5 + f.output_bits());
        assert_eq!(c.decrypt(&got), f.values(), "{f:?}");
    }
}

#[test]
fn comparisons() {
    let c = context();
    // Messages of 12 bits, the top one free: pairs near, far and equal.
    let a: Vec<u64> = (0..400).map(|i| i * 1237 % 2048).collect();
    let b: Vec<u64> = a
        .iter()
        .enumerate()
        .map(|(i, &a)| [a, a + 1, a.saturating_sub(1), (i as u64 * 911) % 2048][i % 4].min(2047))
        .collect();
    let (ea, eb) = (c.encrypt(&a, 17), c.encrypt(&b, 17));
    let check =
        |what: &str, got: girih_tfhe::Result<LweCiphertexts>, want: fn(u64, u64) -> bool| {
            let got = c.client.decrypt_bits(&got.expect("runs")).expect("bits");
            assert!(
                got.iter().zip(a.iter().zip(&b)).all(|(&got, (&a, &b))| got == want(a, b)),
                "{what}"
            );
        };
    check("less", c.server.less(&ea, &eb), |a, b| a < b);
    check("less or equal", c.server.less_or_equal(&ea, &eb), |a, b| a <= b);
    check("equal", c.server.equal(&ea, &eb), |a, b| a == b);
}

#[test]
fn rectified_and_chosen() {
    let c = context();
    // By one function, by one digit and its sign, and by several.
    for log2_modulus in [6, 8, 9, 10, 11, 13, 17, 24] {
        let bits = c.parameters.message_bits(log2_modulus).expect("in range");
        let messages = messages(bits);
        let got = c.decrypt(&c.server.relu(&c.encrypt(&messages, log2_modulus)).expect("runs"));
        let want: Vec<u64> =
            messages.iter().map(|&m| if m >> (bits - 1) == 1 { 0 } else { m }).collect();
        assert!(got == want, "modulus 2^{log2_modulus}");
    }
    for log2_modulus in [8, 17] {
        let half = 1 << (c.parameters.message_bits(log2_modulus).expect("in range") - 1);
        let a: Vec<u64> = (0..100).map(|i| i * 1237 % half).collect();
        let b: Vec<u64> =
            (0..100).map(|i| [a[i as usize], i * 911 % half][i as usize % 2]).collect();
        let (ea, eb) = (c.encrypt(&a, log2_modulus), c.encrypt(&b, log2_modulus));
        let both =
            |f: fn(u64, u64) -> u64| a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect::<Vec<_>>();
        assert_eq!(c.decrypt(&c.server.max(&ea, &eb).expect("runs")), both(u64::max));
        assert_eq!(c.decrypt(&c.server.min(&ea, &eb).expect("runs")), both(u64::min));
    }
    let message = c.server.relu(&c.encrypt(&[0], 29)).expect_err("no room").to_string();
    assert!(message.contains("2^29"), "{message}");
}

#[test]
fn the_first_of_the_largest() {
    let c = context();
    for count in [2, 3, 10] {
        let rows: Vec<Vec<u64>> = (0..count)
            .map(|i| (0..6).map(|j| (i * 7 + j * 5) % 8 * 100 * (j % 3)).collect())
            .collect();
        let encrypted: Vec<LweCiphertexts> = rows.iter().map(|row| c.encrypt(row, 17)).collect();
        let bits = c.server.argmax(&encrypted.iter().collect::<Vec<_>>()).expect("runs");
        let bits: Vec<Vec<bool>> =
            bits.iter().map(|b| c.client.decrypt_bits(b).expect("bits")).collect();
        for j in 0..6 {
            let got = bits.iter().rev().fold(0, |n, bit| 2 * n + usize::from(bit[j]));
            let want = (0..rows.len()).rev().max_by_key(|&i| rows[i][j]).expect("not empty");
            assert_eq!(got, want, "place {j} of {count}");
        }
    }
}

/// Of four, in every order: each has lost to those above it alone.
#[test]
fn the_largest_of_four_in_every_order() {
    let c = context();
    let orders: Vec<[u64; 4]> = (0..256u64)
        .map(|i| [i % 4, i / 4 % 4, i / 16 % 4, i / 64])
        .filter(|order| (0..4).all(|rank| order.contains(&rank)))
        .collect();
    let row = |i: usize| orders.iter().map(|order| order[i]).collect::<Vec<_>>();
    let encrypted = [0, 1, 2, 3].map(|i| c.encrypt(&row(i), 8));
    let bits = c.server.argmax(&encrypted.each_ref()).expect("runs");
    let [low, high] = [0, 1].map(|i| c.client.decrypt_bits(&bits[i]).expect("bits"));
    assert_eq!((orders.len(), bits.len()), (24, 2));
    for (j, order) in orders.iter().enumerate() {
        let got = usize::from(low[j]) + 2 * usize::from(high[j]);
        assert_eq!(order[got], 3, "the largest of {order:?}");
    }
}

/// Two messages to a ciphertext: every function acts on both.
#[test]
fn packed_messages() {
    let c = Context::of(
        LargeParameters::insecure().with_packing(2).expect("1 to 16"),
        Transform::Fft,
        &[0, 1, 2],
    );
    let messages: Vec<u64> = (0..40).map(|i| i * 1237 % 4096).collect();
    let encrypted = c.encrypt(&messages, 17);
    assert_eq!(encrypted.len(), 20);
    let relu: Vec<u64> = messages.iter().map(|&m| if m < 2048 { m } else { 0 }).collect();
    assert_eq!(c.decrypt(&c.server.relu(&encrypted).expect("runs")), relu);
    let signs: Vec<bool> = messages.iter().map(|&m| m >= 2048).collect();
    assert_eq!(
        c.client.decrypt_bits(&c.server.sign(&encrypted).expect("runs")).expect("bits"),
        signs
    );
    let message = c
        .parameters
        .encrypt(&c.client, &messages[..3], 17)
        .expect_err("no whole ciphertexts")
        .to_string();
    assert!(message.contains("a multiple of 2"), "{message}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (c, toy) = (context(), LargeParameters::insecure());
    let refuse = |result: Option<girih_tfhe::Error>, text: &str| {
        let message = result.expect("must be refused").to_string();
        assert!(message.contains(text) && !message.contains('\n'), "{message}");
    };
    let set = |name| girih_tfhe::ParameterSet::by_name(name).expect("built in");
    refuse(
        LargeParameters::new(vec![], 4, -40.0).err(),
        "no parameter sets of a large-precision context",
    );
    refuse(LargeParameters::new(vec![set("G4"), set("G5")], 7, -60.0).err(), "G4 and G5");
    refuse(
        LargeParameters::new(toy.sets().iter().rev().cloned().collect(), 4, -40.0).err(),
        "fewer digits first",
    );
    refuse(LargeParameters::new(vec![set("M3")], 4, -40.0).err(), "gadget decomposition");
    refuse(
        LargeParameters::new(vec![set("G4")], 11, -60.0).err(),
        "log2 of beta of G4 is 11, and must be from 1 to 10",
    );
    for target in [0.0, f64::INFINITY, f64::NAN] {
        refuse(LargeParameters::new(toy.sets().to_vec(), 4, target).err(), "below 0");
    }
    assert_eq!(toy.log2_modulus(u32::MAX), u32::MAX, "which no check lets pass");
    refuse(
        LargeKeys::generate(&toy, &c.client, &[4], &NoProgress).err(),
        "is 4, and must be from 0 to 3",
    );
    refuse(
        LargeKeys::generate(&toy, &c.client, &[0, 0], &NoProgress).err(),
        "2 keys of INSECURE_LARGE: there must be 1",
    );
    refuse(LargeKeys::generate(&toy, &c.client, &[], &NoProgress).err(), "at least one");
    let stranger =
        ClientKey::generate_seeded_for_tests(&set("INSECURE_TOY"), [1; 32]).expect("prime words");
    let keys = girih_tfhe::EvaluationKeys::generate(&stranger, &NoProgress).expect("a toy");
    refuse(
        LargeKeys::new(&toy, vec![keys]).err(),
        "evaluation keys of the set INSECURE_TOY where INSECURE_LARGE or",
    );
    refuse(LargeKeys::generate(&toy, &stranger, &[0], &NoProgress).err(), "INSECURE_TOY");
    refuse(toy.encrypt(&stranger, &[0], 17).err(), "INSECURE_TOY");
    for log2_modulus in [5, 30] {
        refuse(toy.encrypt(&c.client, &[0], log2_modulus).err(), "from 2^6 to 2^29");
    }
    refuse(
        toy.encrypt(&c.client, &[4096], 17).err(),
        "the plaintext modulus 4096, which takes 0 to 4095",
    );
    refuse(c.server.sign(&stranger.encrypt_bits(&[true]).expect("a bit")).err(), "INSECURE_TOY");
    let (a, b) = (c.encrypt(&[1, 2], 17), c.encrypt(&[1, 2], 16));
    refuse(c.server.floor(&a, 5).err(), "at a time is 5, and must be from 1 to 4");
    refuse(c.server.less(&a, &b).err(), "must be the same");
    refuse(c.server.argmax(&[&a]).err(), "2 to 256");
    // Of another width than the modulus has here.
    let wide = c.client.encrypt_at(&[1, 2], 1 << 11, 17).expect("room");
    refuse(c.server.sign(&wide).err(), "makes them, is 2048, and must be 4096");
    refuse(c.server.less(&a, &wide).err(), "must be 4096");
    refuse(c.server.gate(girih_tfhe::Gate::And, &a, &a).err(), "2^17");
    refuse(
        c.server.function(&a, &Function::new(3, 3, |m| m).expect("fits")).err(),
        "a function of messages of 12 bits reads is 3, and must be 12",
    );
}

/// The exact transform chooses other gadgets for the same moduli, and finds no key of them where
/// none was made.
#[test]
fn exact_transforms_and_missing_keys() {
    let c = Context::new(Transform::Ntt, &[0]);
    let messages = messages(12)[..64].to_vec();
    let got = c
        .server
        .sign(&c.encrypt(&messages.iter().map(|m| m * 64).collect::<Vec<_>>(), 17))
        .expect("runs");
    let want: Vec<bool> = messages.iter().map(|m| m * 64 >= 2048).collect();
    assert_eq!(c.client.decrypt_bits(&got).expect("bits"), want);
    let message = c.server.sign(&c.encrypt(&[0], 29)).expect_err("no key").to_string();
    assert!(message.contains("2^29") && message.contains("INSECURE_LARGE_2P9"), "{message}");
}

#[test]
fn the_published_context_switches_gadgets_with_the_modulus() {
    let p = LargeParameters::default();
    assert_eq!((p.beta(), p.digit_bits(), p.message_bits(24).expect("in range")), (128, 4, 16));
    // docs/tfhe.md, "Functions of messages that fill their modulus, and large precision": the
    // largest modulus of each gadget.
    let exact = [("G4", 18), ("G4_BASE2P18", 26), ("G4_BASE2P14", 29)];
    let fft = [("G4_1X23", 16), ("G4_2X15", 24), ("G4_3X12", 27), ("G4_4X9", 29)];
    for (transform, last) in [(Transform::Ntt, exact.as_slice()), (Transform::Fft, &fft)] {
        for log2_modulus in 9..=29 {
            let (want, _) =
                last.iter().find(|(_, l)| log2_modulus <= *l).expect("29 is the largest");
            let gadget = p.gadget(log2_modulus, transform).expect("in range");
            assert_eq!(p.sets()[gadget].name(), *want, "2^{log2_modulus}, {transform}");
        }
    }
    let names = |operations: &[LargeOperation], transform| {
        let gadgets = p.gadgets(operations, 24, transform).expect("in range");
        gadgets.into_iter().map(|g| p.sets()[g].name()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[LargeOperation::Sign], Transform::Ntt), ["G4", "G4_BASE2P18"]);
    assert_eq!(
        names(&[LargeOperation::Decompose, LargeOperation::Sign], Transform::Fft),
        ["G4_1X23", "G4_2X15"]
    );
    // OpenFHE's switches, and the finer gadgets of a smaller probability.
    let strict = p.clone().with_target(-60.0).expect("below 0");
    for bad in [0.0, 3.0, f64::NAN, f64::INFINITY] {
        let error = p.clone().with_target(bad).expect_err("no probability below 1").to_string();
        assert!(error.contains("must be below 0"), "{error}");
    }
    assert_eq!(
        [17, 18, 26, 27].map(|l| strict.gadget(l, Transform::Ntt).expect("in range")),
        [0, 2, 2, 4]
    );
    assert_eq!(
        strict.sets()[strict.gadget(24, Transform::Fft).expect("in range")].name(),
        "G4_3X12"
    );
    let boots = |operation| p.bootstraps(operation, 24);
    assert_eq!(
        [LargeOperation::Floor, LargeOperation::Sign, LargeOperation::Decompose].map(boots),
        [2, 7, 6]
    );
}

/// The figures of docs/tfhe.md, "Functions of messages that fill their modulus, and large
/// precision": log2 of the failure probability for fresh inputs, exact
/// transform and f64.
#[test]
fn failures_are_as_documented() {
    let p = LargeParameters::default();
    use LargeOperation::{Decompose, Floor, Relu, Sign};
    let table = [
        (Floor, [(16, -139.8, -111.9), (24, -143.2, -77.3), (29, -97.3, -85.7)]),
        (Sign, [(16, -139.8, -111.9), (24, -80.3, -62.9), (29, -69.1, -81.5)]),
        (Decompose, [(16, -139.8, -111.9), (24, -80.3, -62.9), (29, -69.1, -81.5)]),
        (Relu, [(11, -146.9, -146.8), (16, -77.7, -79.7), (24, -55.2, -56.6)]),
    ];
    for (operation, row) in table {
        for (log2_modulus, ntt, fft) in row {
            for (transform, want) in [(Transform::Ntt, ntt), (Transform::Fft, fft)] {
                let got =
                    p.log2_failure(operation, log2_modulus, transform, 3.19).expect("in range");
                assert!(
                    (got - want).abs() < 0.06,
                    "{operation:?} modulo 2^{log2_modulus}, {transform}: {got:.2}"
                );
            }
        }
    }
    let arbitrary = Function::new(3, 3, |m| m).expect("fits");
    for (transform, want) in [(Transform::Ntt, -146.9), (Transform::Fft, -146.8)] {
        let set = &p.sets()[p.gadget(12, transform).expect("in range")];
        let got = girih_tfhe::NoiseModel::with_transform(set, transform)
            .log2_failure_function(&arbitrary, 11, 3.19);
        assert!((got - want).abs() < 0.06, "EvalFunc, {transform}: {got:.2}");
    }
    let message = p.gadgets(&[Relu], 29, Transform::Ntt).expect_err("no room").to_string();
    assert!(message.contains("2^29"), "{message}");
}

/// Deviations of results under the exact and the f64 transform, which ciphertexts carry on; bounds
/// on failures; keys that operations need: computed from docs/tfhe.md, "Noise model", by another
/// program.
#[test]
fn deviations_bounds_and_keys_are_those_of_the_formulas() {
    use LargeOperation::{Decompose, Floor, Relu, Sign};
    let published = LargeParameters::default();
    let both = [Transform::Ntt, Transform::Fft];
    // Under the modulus of a rotation relu is a function, whose first bootstrapping has twice it.
    let strict = published.clone().with_target(-84.97).expect("below 0");
    for (p, operation, log2_modulus, wanted) in [
        (&published, Floor, 16, [8.772_315_992, 9.965_863_160]),
        (&published, Floor, 24, [8.648_277_017, 12.262_014_004]),
        (&published, Sign, 11, [8.519_835_744, 8.521_117_405]),
        (&published, Sign, 24, [8.519_835_744, 8.521_117_405]),
        (&published, Decompose, 12, [3.19, 3.19]),
        (&published, Decompose, 24, [8.537_208_739, 8.542_323_802]),
        (&published, Relu, 10, [8.519_647_896, 8.519_968_337]),
        (&strict, Relu, 11, [8.519_835_744, 8.519_585_347]),
        (&published, Relu, 12, [8.572_346_965, 8.587_620_227]),
        (&published, Relu, 16, [10.254_725_554, 8.635_759_472]),
        (&published, Relu, 24, [10.497_514_698, 9.273_413_019]),
        (&published, Relu, 26, [9.831_083_504, 10.095_926_861]),
    ] {
        for (transform, wanted) in both.into_iter().zip(wanted) {
            let got = p.sigma_result(operation, log2_modulus, transform).expect("in range");
            let what = format!("{operation:?} modulo 2^{log2_modulus}, {transform}");
            assert!((got / wanted - 1.0).abs() < 1e-6, "{what}: {got}, not {wanted}");
        }
    }
    // Nothing is done to what fits a rotation, but somebody will read it. Of inputs without errors
    // the last reading fails as often as the first.
    let stricter = published.clone().with_target(-84.0).expect("below 0");
    for (p, operation, log2_modulus, sigma, wanted) in [
        (&published, Decompose, 12, 20.0, [-32.583_508, -32.583_508]),
        (&published, Decompose, 13, 0.0, [-166.915_007, -166.132_864]),
        (&published, Sign, 13, 0.0, [-165.653_247, -165.273_218]),
        (&published, Relu, 9, 3.19, [-146.951_840, -146.942_372]),
        (&strict, Relu, 11, 3.19, [-146.924_092, -146.953_683]),
        (&published, Relu, 12, 3.19, [-146.924_092, -146.772_810]),
        (&stricter, Sign, 19, 3.19, [-84.390_000, -85.000_773]),
    ] {
        for (transform, wanted) in both.into_iter().zip(wanted) {
            let got = p.log2_failure(operation, log2_modulus, transform, sigma).expect("in range");
            let what = format!("{operation:?} modulo 2^{log2_modulus}, {transform}");
            assert!((got - wanted).abs() < 1e-5, "{what}: {got}, not {wanted}");
        }
    }
    for (operation, log2_modulus, wanted) in [
        (Floor, 20, [&[2][..], &[3]]),
        (Decompose, 12, [&[0], &[1]]),
        (Relu, 11, [&[0], &[1]]),
        (Relu, 12, [&[0], &[1]]),
        (Sign, 17, [&[0], &[1, 3]]),
        (Relu, 17, [&[0, 2], &[1, 3]]),
        (Relu, 25, [&[0, 2, 4], &[1, 3, 5]]),
        (Relu, 26, [&[0, 2, 4], &[1, 3, 5, 6]]),
        (Sign, 27, [&[0, 2, 4], &[1, 3, 5]]),
    ] {
        let gadgets = both.map(|t| published.gadgets(&[operation], log2_modulus, t));
        let gadgets = gadgets.map(|g| g.expect("in range"));
        assert_eq!(gadgets, wanted, "{operation:?} modulo 2^{log2_modulus}");
    }
    // 16 above the target, half of it, what differences of refreshed messages or of fresh ones do.
    let small = LargeParameters::small();
    assert_eq!((small.home().name(), small.beta(), small.digit_bits()), ("G5", 128, 3));
    let bound = |target| published.clone().with_target(target).expect("below 0").default_bound();
    for (got, wanted) in [
        (published.default_bound(), -40.0),
        (small.default_bound(), -44.0),
        (bound(-20.0), -10.0),
        (bound(-100.0), -56.736_869_4),
        (LargeParameters::insecure().default_bound(), -9.507_813),
    ] {
        assert!((got - wanted).abs() < 1e-5, "{got}, not {wanted}");
    }
    assert_eq!(
        [Floor, Sign, Decompose, Relu]
            .map(|operation| [8, 9, 17]
                .map(|l| LargeParameters::insecure().bootstraps(operation, l))),
        [[2, 2, 2], [1, 1, 5], [0, 0, 4], [2, 3, 16]]
    );
}

/// What a server computes carries the deviation of its operation, and what would fail too often is
/// refused.
#[test]
fn results_carry_their_deviation_and_noisy_messages_are_refused() {
    let (c, transform) = (context(), Transform::Fft);
    let bound = c.parameters.default_bound();
    assert_eq!(c.server.failure_limit(), bound);
    let encrypted = c.encrypt(&[1, 2000, 4095], 17);
    let carries = |what: &str, got: girih_tfhe::Result<LweCiphertexts>, operation| {
        let (got, sigma) =
            (got.expect("runs").variance(), c.parameters.sigma_result(operation, 17, transform));
        let wanted = sigma.expect("in range").powi(2);
        assert!((got / wanted - 1.0).abs() < 1e-9, "{what}: {got}, not {wanted}");
    };
    carries("a floor", c.server.floor(&encrypted, 2), LargeOperation::Floor);
    carries("a sign", c.server.sign(&encrypted), LargeOperation::Sign);
    carries("products", c.server.relu(&encrypted), LargeOperation::Relu);
    let digits = c.server.decompose(&encrypted).map(|mut digits| digits.pop().expect("the last"));
    carries("digits", digits, LargeOperation::Decompose);
    let noisy = encrypted.clone().with_variance(36.0).expect("a variance");
    for (what, result) in [
        ("a floor of", c.server.floor(&noisy, 2).err()),
        ("a sign of", c.server.sign(&noisy).err()),
        ("digits of", c.server.decompose(&noisy).err()),
        ("a product with the sign of", c.server.relu(&noisy).err()),
    ] {
        let message = result.expect("must be refused").to_string();
        let named = message.contains(&format!("{what} messages modulo 2^17"));
        assert!(named && message.contains("limit_failure"), "{message}");
    }
}

/// The published context at its real size, two of its keys: with `GIRIH_ALL_NOISE=1` alone, as they
/// take 5 GB of memory.
#[test]
fn the_published_context_computes() {
    if std::env::var_os("GIRIH_ALL_NOISE").is_none_or(|v| v != "1") {
        return;
    }
    let parameters = LargeParameters::default();
    let client =
        ClientKey::generate_seeded_for_tests(parameters.home(), [8; 32]).expect("prime words");
    let transform = Transform::Fft;
    // Messages of 13 bits, whose rounds change from key to key.
    let gadgets = parameters.gadgets(&[LargeOperation::Sign], 21, transform).expect("in range");
    assert_eq!(gadgets, [1, 3]);
    let keys =
        LargeKeys::generate(&parameters, &client, &gadgets, &NoProgress).expect("its own gadgets");
    let options = LoadOptions::default().with_transform(transform);
    let server = LargeServer::load(&CpuBackend::new(), &keys, &options, &NoProgress)
        .expect("the CPU runs every set");
    drop(keys);
    let encrypt = |messages: &[u64], log2_modulus| {
        parameters.encrypt(&client, messages, log2_modulus).expect("fits")
    };
    let decrypt = |c: &LweCiphertexts| parameters.decrypt(&client, c).expect("same context");
    let f = Function::new(3, 3, |m| (m * m + m + 5) % 8).expect("fits");
    let all: Vec<u64> = (0..8).collect();
    assert_eq!(decrypt(&server.function(&encrypt(&all, 11), &f).expect("runs")), f.values());
    let messages: Vec<u64> =
        [0, 1, 4095, 4096, 8190, 8191].into_iter().chain((0..10).map(|i| i * 997 % 8192)).collect();
    let encrypted = encrypt(&messages, 21);
    let floors = decrypt(&server.floor(&encrypted, 4).expect("runs"));
    assert_eq!(floors, messages.iter().map(|m| m >> 4 << 4).collect::<Vec<_>>());
    let signs = client.decrypt_bits(&server.sign(&encrypted).expect("runs")).expect("bits");
    assert_eq!(signs, messages.iter().map(|m| m >> 12 == 1).collect::<Vec<_>>());
    let mut values = vec![0; messages.len()];
    for (i, digit) in server.decompose(&encrypted).expect("runs").iter().enumerate() {
        values.iter_mut().zip(decrypt(digit)).for_each(|(v, d)| *v += d << (4 * i));
    }
    assert_eq!(values, messages);
}

/// Keys beside each other have one room for tables: here none beyond what is held at one time.
#[test]
fn functions_of_several_threads_take_tables_places_in_turns() {
    let c = Context::new(Transform::Fft, &[0, 1, 2, 3]);
    let bytes = || c.server.servers().map(|s| s.table_bytes()).collect::<Vec<_>>();
    c.server.servers().next().expect("a key").limit_tables(0);
    let [short, long] = [(3, 8), (17, 22)].map(|(bits, log2_modulus)| {
        assert_eq!(c.parameters.message_bits(log2_modulus).expect("in range"), bits);
        let messages: Vec<u64> = (0..8u64).map(|i| i * ((1 << bits) - 1) / 7).collect();
        (c.encrypt(&messages, log2_modulus), messages)
    });
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (c, short, long) = (&c, &short, &long);
            scope.spawn(move || {
                for i in (thread..240).step_by(3) {
                    let shuffle =
                        Function::new(3, 3, |m| (m * m * i + m + i / 8) % 8).expect("fits");
                    let got = c.decrypt(&c.server.function(&short.0, &shuffle).expect("runs"));
                    assert_eq!(
                        got,
                        short.1.iter().map(|&m| shuffle.values()[m as usize]).collect::<Vec<_>>(),
                        "{i}"
                    );
                    if i % 16 == 0 {
                        let got = c.decrypt(&c.server.relu(&long.0).expect("runs"));
                        assert_eq!(
                            got,
                            long.1
                                .iter()
                                .map(|&m| if m < 1 << 16 { m } else { 0 })
                                .collect::<Vec<_>>(),
                            "{i}"
                        );
                    }
                }
            });
        }
    });
    // Three threads hold three tables each at most.
    let (bytes, one) = (bytes(), 8 * c.parameters.home().shape().polynomial_size);
    assert!(
        bytes.iter().all(|&b| (one..=9 * one).contains(&b) && b == bytes[0]),
        "{bytes:?} of {one} a table"
    );
}

/// Binary secrets: every rounding on the way would move phases by a multiple of n/4 fractions,
/// which is taken off.
#[test]
fn binary_secrets_lose_the_means_of_their_roundings() {
    let set = ParameterSet::from_toml(
        "name = \"LARGE_BINARY\"\nmode = \"GD\"\nsecret = \"binary\"\nn = 240\nq = 256\nN = 256\n\
         k = 1\nr = 1\nlog2_Q = 54\nbase_g = 16384\ndropped = 1\nq_ks = 1099511627776\n\
         base_ks = 32\nsigma = 3.19\n",
    )
    .expect("a set");
    let parameters = LargeParameters::new(vec![set], 5, -10.0).expect("one set");
    let c = Context::of(parameters, Transform::Fft, &[0]);
    let messages = messages(10);
    let encrypted = c.encrypt(&messages[..100], 16);
    let digits = c.server.decompose(&encrypted).expect("runs");
    let (digit, last) = (c.parameters.digit_bits(), digits.len() - 1);
    let unit = 1 << (c.parameters.log2_modulus(0));
    for (index, batch) in digits.iter().enumerate() {
        let bits = c.parameters.message_bits(batch.log2_modulus()).expect("in range");
        let want: Vec<u64> = messages[..100]
            .iter()
            .map(|m| m >> (digit * index as u32) & ((1 << bits) - 1))
            .collect();
        assert_eq!(c.decrypt(batch), want, "digit {index}");
        if index == last {
            let phases = c.client.phases(batch).expect("its own");
            let modulus = 1i64 << batch.log2_modulus();
            let errors = phases.iter().zip(&want).map(|(&p, &m)| {
                let error = (p as i64 - m as i64 * unit).rem_euclid(modulus);
                (if error >= modulus / 2 { error - modulus } else { error }) as f64
            });
            let (sum, squares) =
                errors.fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
            let (mean, sigma) = (sum / 100.0, (squares / 100.0f64).sqrt());
            let model = batch.variance().sqrt();
            println!("mean {mean:.2}, deviation {sigma:.2} ({model:.2})");
            assert!(mean.abs() < 0.35 * model, "mean {mean:.2} of deviation {model:.2}");
            assert!((0.8..1.2).contains(&(sigma / model)), "{sigma:.2} and not {model:.2}");
        }
    }
}
