//! Noise that is tracked: what ciphertexts say of their errors, and what is refused for them.

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::{
    ClientKey, Error, EvaluationKeys, Function, Gate, LookUpTable, LweCiphertexts, NoiseModel,
    ParameterSet, Result, ServerKey,
};

fn set(name: &str) -> ParameterSet {
    ParameterSet::by_name(name).expect("built in")
}

fn client(set: &ParameterSet) -> ClientKey {
    ClientKey::generate_seeded_for_tests(set, [3; 32]).expect("a checked set")
}

fn keys(name: &str) -> (ClientKey, ServerKey) {
    let client = client(&set(name));
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a checked set");
    let server = ServerKey::load(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    (client, server)
}

/// log2 of what it would have failed with, of something that is refused for its noise.
fn refused<T>(what: &str, result: Result<T>) -> f64 {
    match result {
        Err(error @ Error::TooNoisy { log2_failure, log2_bound, .. }) => {
            let text = error.to_string();
            assert!(text.contains("limit_failure") && text.contains("above"), "{text}");
            assert!(log2_failure > log2_bound, "{text}");
            log2_failure
        }
        Err(other) => panic!("{what} is refused for something else: {other}"),
        Ok(_) => panic!("{what} is not refused"),
    }
}

/// 2^-128 where a set's own gate or look-up reaches it, else 2^-64, else its own figure: every
/// published set runs what it is made for.
#[test]
fn bounds_of_published_sets() {
    for (name, bound) in [("STD128", -128.0), ("G4", -128.0), ("STD192", -64.0), ("G2", -64.0)] {
        assert_eq!(NoiseModel::new(&set(name)).default_bound(), bound, "{name}");
    }
    // A look-up of norm 5 in four bits has 2^-127.7.
    assert_eq!(NoiseModel::new(&set("TFHERS_2_2")).default_bound(), -64.0);
    let g1 = NoiseModel::new(&set("G1"));
    assert_eq!(g1.default_bound(), g1.log2_failure());
    for set in ParameterSet::all().into_iter().chain(ParameterSet::insecure()) {
        for transform in [Transform::Ntt, Transform::Fft] {
            let model = NoiseModel::with_transform(&set, transform);
            assert!(model.log2_failure_own() <= model.default_bound(), "{set}");
        }
    }
}

/// The default set: gates run; a table of three bits, whose input or output fails with 2^-18.8, a
/// majority and one ciphertext in two places of a sum do not, until the bound is moved.
#[test]
fn what_the_default_set_refuses() {
    let (client, server) = keys("STD128");
    assert_eq!(server.failure_limit(), -128.0);
    let messages = client.encrypt_messages(&[0, 3, 7], 3).expect("fits");
    let table = LookUpTable::new(3, |m| 7 - m).expect("3 bits");
    let failure = refused("a table of three bits", server.apply(&messages, &table));
    assert!((failure + 18.8).abs() < 0.3, "{failure}");
    let bits = |b: &[bool]| client.encrypt_bits(b).expect("bits");
    let (a, b) = (bits(&[true, false, true]), bits(&[true, true, false]));
    let nand = server.gate(Gate::Nand, &a, &b).expect("2^-130");
    assert_eq!(client.decrypt_bits(&nand).expect("bits"), [false, true, true]);
    let out = server.noise_model().variance_out_at(11);
    assert_eq!((a.variance(), nand.variance()), (3.19 * 3.19, out));
    // Inputs with the errors of bootstrapped ones.
    let (and, or) = (
        server.gate(Gate::And, &nand, &a).expect("runs"),
        server.gate(Gate::Or, &nand, &b).expect("runs"),
    );
    let failure = refused("a majority", server.majority(&nand, &and, &or));
    assert!((-95.0..-80.0).contains(&failure), "{failure}");
    // Errors of a gate's two inputs add up; its result has its own alone.
    let noisy = |c: &LweCiphertexts| c.clone().with_variance(2.0 * out).expect("a variance");
    let (model, eighth) = (server.noise_model(), 2f64.powi(8));
    let failure = refused("a gate of noisy bits", server.gate(Gate::Or, &noisy(&a), &noisy(&b)));
    let together = |variance| model.variance_of_sum(11, [(1.0, variance); 2]);
    let stated = model.log2_failure_input(eighth, together(2.0 * out));
    assert!((failure - stated).abs() < 1e-6, "{failure}");
    assert!(stated > model.log2_failure_input(eighth, 4.0 * out) + 1.0, "{stated}");
    server.limit_failure(-60.0).expect("below 0");
    let fresh = server.gate(Gate::Or, &noisy(&a), &noisy(&b)).expect("2^-67");
    assert_eq!(fresh.variance(), out);
    // The second level of a mux reads two results, whatever went in.
    server.limit_failure(-140.0).expect("below 0");
    let failure = refused("a mux", server.mux(&a, &b, &a));
    assert!((failure - model.log2_failure()).abs() < 1e-6, "{failure}");
    server.limit_failure(-64.0).expect("below 0");
    let majority = server.majority(&nand, &and, &or).expect("2^-89");
    assert_eq!(client.decrypt_bits(&majority).expect("bits"), [false, true, true]);
    assert!(server.limit_failure(0.5).is_err() && server.limit_failure(f64::NAN).is_err());
}

/// gate(a, a) is a copy, the inverse or a constant, without a bootstrapping and without its error
/// twice over; on host and device, alone and among others.
#[test]
fn a_gate_of_one_bit() {
    let (client, server) = keys("INSECURE_TOY_R2");
    let plain = [true, false, true, true, false, false];
    let a = client.encrypt_bits(&plain).expect("whole");
    let resident = server.upload(&a).expect("fits");
    assert_eq!((resident.len(), resident.messages(), resident.is_empty()), (3, 6, false));
    let with = |variance| server.allocate(1).expect("room").with_variance(variance);
    assert_eq!([0.0, 2.5].map(|v| with(v).expect("a variance").variance()), [0.0, 2.5]);
    assert!([f64::NAN, f64::INFINITY, -1.0].into_iter().all(|wrong| with(wrong).is_err()));
    for gate in Gate::ALL {
        let want = plain.map(|bit| gate.evaluate(bit, bit));
        let on_host = server.gate(gate, &a, &a.clone()).expect("no noise");
        assert_eq!(client.decrypt_bits(&on_host).expect("bits"), want, "{gate}");
        let on_device = server.gate(gate, &resident, &resident).expect("no noise");
        let back = server.download(&on_device).expect("alive");
        assert_eq!(client.decrypt_bits(&back).expect("bits"), want, "{gate} on the device");
    }
    // A copy has the error of its original, word for word.
    assert_eq!(server.gate(Gate::And, &a, &a).expect("runs").words(), a.words());
    let copy = server.gate(Gate::And, &resident, &resident).expect("runs");
    assert_eq!(server.download(&copy).expect("alive").words(), a.words());
    // The second ciphertext is the same, the others are not.
    let other = client.encrypt_bits(&[true; 6]).expect("whole");
    let [first, last] = [0..1, 2..3].map(|range| other.slice(range).expect("inside"));
    let mixed = LweCiphertexts::concatenate(&[&first, &a.slice(1..2).expect("inside"), &last])
        .expect("alike");
    let got = server.gate(Gate::Nand, &a, &mixed).expect("runs");
    let want = [false, true, false, false, true, true];
    assert_eq!(client.decrypt_bits(&got).expect("bits"), want);
    let error = server.noise_model().variance_of_sum(9, [(1.0, 3.19 * 3.19); 3]);
    let alone = server.noise_model().log2_failure_input(64.0, error);
    server.limit_failure(alone - 1.0).expect("below 0");
    refused("majority", server.majority(&a, &other, &mixed.not()));
    // Two of three that are one decide, whatever the bound is, and take no bootstrapping.
    let [x, y] = [&a, &other];
    for three in [[x, x, y], [x, y, x], [y, x, x], [x, x, x]] {
        let majority = server.majority(three[0], three[1], three[2]).expect("no noise");
        assert_eq!((majority.words(), majority.plaintext_modulus()), (a.words(), Some(4)));
    }
    let on_device = server.upload(&other).expect("fits");
    let majority = server.majority(&resident, &on_device, &resident).expect("no noise");
    assert_eq!(server.download(&majority).expect("alive").words(), a.words());
    server.limit_failure(alone).expect("below 0");
    // In the second ciphertext two are the same, in the others none.
    let third = client.encrypt_bits(&[false; 6]).expect("whole");
    let got = server.majority(&a, &mixed, &third).expect("as its bound says");
    assert_eq!(client.decrypt_bits(&got).expect("bits"), plain);
    server.limit_failure(-100.0).expect("below 0");
    // `y` is all true and `third` all false.
    for (three, want) in [
        ([x, x, y], [true; 6]),
        ([x, y, x], plain),
        ([x, x, x], plain),
        ([x, &third, x], [false; 6]),
        ([x, x, &third], plain),
        ([&third, y, y], [true; 6]),
    ] {
        let got = server.mux(three[0], three[1], three[2]).expect("no error twice over");
        assert_eq!(client.decrypt_bits(&got).expect("bits"), want);
    }
}

/// What gave 39 wrong messages of 64 without a word, and what takes no more than a weight.
#[test]
fn look_ups_functions_and_sums_beyond_the_noise() {
    let (client, server) = keys("INSECURE_TOY");
    server.limit_failure(-5.0).expect("below 0");
    let messages = client.encrypt_messages(&(0..64).collect::<Vec<_>>(), 6).expect("room");
    let table = LookUpTable::new(6, |m| 63 - m).expect("6 bits");
    let failure = refused("a table of six bits", server.apply(&messages, &table));
    assert!(failure > -2.0, "{failure}");
    // Inputs are fine, results are not.
    let few = client.encrypt_messages(&[0, 1], 1).expect("room");
    let wide = LookUpTable::with_output_bits(1, 6, |m| 63 * m).expect("6 bits");
    refused("results of six bits", server.apply(&few, &wide));
    refused(
        "one of several",
        server.apply_each(&few, &[LookUpTable::new(1, |m| m).expect("one"), wide]),
    );
    let one = LookUpTable::new(1, |m| m).expect("one");
    refused("a weight of 20", server.apply_weighted(&[&few], &[20], &one));
    let full = client.encrypt_at(&[0, 9, 63], 64, 8).expect("room");
    let function = Function::new(6, 1, |m| m >> 5).expect("fits");
    refused("a function of six bits", server.evaluate(&full, &function, 9));
    refused("a weight of 2^40", LweCiphertexts::weighted_sum(&[(&few, 1 << 40)], 0));
    // Whoever wants it has it.
    server.limit_failure(0.0).expect("no bound");
    server.apply(&messages, &table).expect("no bound");
}

/// Variances are those of the errors: fresh, in sums, of one ciphertext twice, rounded.
#[test]
fn variances_are_those_of_the_errors() {
    for name in ["INSECURE_LARGE", "INSECURE_TOY_BINARY"] {
        let set = set(name);
        let client = client(&set);
        let most = set.shape().log2_ks_modulus.min(20);
        let zeros = vec![0; 4096];
        let [a, b] = [0, 1].map(|_| client.encrypt_at(&zeros, 2, most).expect("whole"));
        let check = |what: &str, c: &LweCiphertexts| {
            let half = 1u64 << (c.log2_modulus() - 1);
            let centred =
                |p: &u64| if *p >= half { *p as f64 - 2.0 * half as f64 } else { *p as f64 };
            let errors: Vec<f64> = client.phases(c).expect("own").iter().map(centred).collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            let ratio = (square / c.variance()).sqrt();
            // 4,096 samples: 1.1 % a deviation of the estimate.
            assert!((0.95..1.05).contains(&ratio), "{what} of {name}: {ratio:.3} of the variance");
            assert!(mean.abs() < 0.07 * square.sqrt() + 0.5, "{what} of {name}: mean {mean:.2}");
        };
        check("fresh", &a);
        let sum = LweCiphertexts::weighted_sum(&[(&a, 3), (&b, -2)], 5).expect("alike");
        // As if it were results, which share a little.
        let apart = 13.0 * 3.19 * 3.19;
        assert!((1.0..1.001).contains(&(sum.variance() / apart)), "{}", sum.variance() / apart);
        check("a sum", &LweCiphertexts::weighted_sum(&[(&sum, 1)], -5).expect("alike"));
        let twice = LweCiphertexts::weighted_sum(&[(&a, 1), (&a.clone(), 1)], 0).expect("alike");
        assert!((twice.variance() / (4.0 * 3.19 * 3.19) - 1.0).abs() < 1e-12);
        check("one twice", &twice);
        check("its inverse", &LweCiphertexts::weighted_sum(&[(&twice, -1)], 0).expect("alike"));
        check("rounded", &a.rescale(most - 6).expect("smaller"));
        // One bit leaves 3/4 of the variance of many.
        check("rounded by three bits", &a.rescale(most - 3).expect("smaller"));
        assert_eq!(a.reduce(9).expect("smaller").variance(), a.variance());
        // Constants have no mask to round.
        let one = LweCiphertexts::trivial_at(&set, &[1], 4, most).expect("whole");
        let phases = client.phases(&one.rescale(9).expect("smaller")).expect("any key");
        assert_eq!((one.variance(), phases), (0.0, vec![128]));
    }
}

#[test]
fn bytes_carry_the_variance() {
    let client = client(&set("INSECURE_TOY"));
    let sum = {
        let a = client.encrypt_bits(&[true, false]).expect("whole");
        LweCiphertexts::weighted_sum(&[(&a, 2)], 0).expect("one term")
    };
    let bytes = sum.to_bytes().expect("serializes");
    let back = LweCiphertexts::from_bytes(&bytes).expect("own bytes");
    assert_eq!((back.variance(), &back), (sum.variance(), &sum));
    assert!((sum.variance() / (4.0 * 3.19 * 3.19) - 1.0).abs() < 1e-12);
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        let text = sum.clone().with_variance(wrong).expect_err("no variance").to_string();
        assert!(text.contains("variance") && text.contains("from 0 on"), "{text}");
    }
    // The eight bytes of the variance follow the modulus, one byte, behind header and set.
    let variance = sum.variance().to_le_bytes();
    let at = bytes.windows(8).position(|w| w == variance).expect("it is there");
    let mut wrong = bytes.clone();
    wrong[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    let end = wrong.len() - 16;
    let checksum = blake3::hash(&wrong[..end]);
    wrong[end..].copy_from_slice(&checksum.as_bytes()[..16]);
    let text = LweCiphertexts::from_bytes(&wrong).expect_err("no number").to_string();
    assert!(text.contains("variance"), "{text}");
    let mut old = bytes;
    old[4] = 4;
    let text = LweCiphertexts::from_bytes(&old).expect_err("an older version").to_string();
    assert!(text.contains("version 4") && text.contains("make the keys and ciphertexts"), "{text}");
    // Words from elsewhere are taken for bootstrapped ones.
    let words = LweCiphertexts::from_words(sum.set(), sum.words().to_vec()).expect("whole");
    let model = NoiseModel::with_transform(sum.set(), Transform::Fft);
    assert_eq!(words.variance(), model.variance_out_at(9));
}

#[test]
fn decryption_says_how_near_the_boundary_it_was() {
    let set = set("INSECURE_LARGE");
    let client = client(&set);
    let room = |phase: u64, modulus| {
        let words = [vec![0; set.shape().lwe_dimension], vec![phase as u32]].concat();
        let c = LweCiphertexts::from_words_at(&set, 10, words).expect("whole");
        client.decrypt_checked(&c, modulus).expect("in range")
    };
    // Steps of 256, so boundaries 128 from each message.
    for (phase, message, left) in [
        (0, 0, 1.0),
        (256, 1, 1.0),
        (320, 1, 0.5),
        (192, 1, 0.5),
        (383, 1, 1.0 / 128.0),
        (128, 1, 0.0),
        (1023, 0, 127.0 / 128.0),
    ] {
        let got = room(phase, 4);
        assert_eq!((got.messages, got.room), (vec![message], left), "phase {phase}");
    }
    // The least of all, and the messages of `decrypt`, for any modulus.
    let messages: Vec<u64> = (0..100).map(|i| i % 7).collect();
    let c = client.encrypt_at(&messages, 7, 20).expect("fits");
    let got = client.decrypt_checked(&c, 7).expect("in range");
    assert_eq!(got.messages, messages);
    assert!((0.9995..1.0).contains(&got.room), "{}", got.room);
    // By the variance alone, without a key.
    assert!(c.log2_failure(7).expect("in range") < -1e4);
    assert!(c.log2_failure(1 << 18).expect("in range") > -1.0);
    assert!(c.log2_failure(1).is_err());
}
