//! Numbers in slots from TFHE ciphertexts and from vectors of CKKS, and back to both.

mod support;

use girih_backend::NoProgress;
use girih_ckks::server::Options;
use girih_cpu::CpuBackend;
use girih_discrete::{
    ClientKey, DiscreteParameters, EvaluationKeys, Forecast, ServerKey, Table, Wires,
};
use girih_switching::{SwitchingKeys, WireSwitch};
use girih_tfhe::{LweCiphertexts, ParameterSet};
use support::{Parties, wave};

struct Place {
    client: ClientKey,
    tfhe: girih_tfhe::ClientKey,
    keys: SwitchingKeys,
    server: ServerKey,
}

fn place(set: &str, tfhe: &str) -> Place {
    let set = DiscreteParameters::by_name(set).expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a key");
    let tfhe = ParameterSet::by_name(tfhe).expect("built in");
    // The seed of `Parties`.
    let tfhe = girih_tfhe::ClientKey::generate_seeded_for_tests(&tfhe, [4; 32]).expect("a key");
    let keys = SwitchingKeys::generate_seeded_for_tests(client.ckks(), &tfhe, [5; 32]);
    let own = EvaluationKeys::generate(&client, &NoProgress).expect("keys");
    let device = CpuBackend::new();
    let server = ServerKey::load(&device, &own, &Options::default(), &NoProgress);
    Place { client, tfhe, keys: keys.expect("keys"), server: server.expect("it fits") }
}

impl Place {
    fn switch(&self) -> WireSwitch<'_> {
        WireSwitch::new(&self.server, &self.keys).expect("keys of these clients")
    }

    fn decrypt(&self, x: &Wires) -> Vec<i64> {
        let back = self.server.download(x).expect("of this server");
        self.client.decrypt_integers(&back).expect("of this key")
    }
}

/// Errors of messages, in turns: their deviation.
fn deviation(tfhe: &girih_tfhe::ClientKey, x: &LweCiphertexts, messages: &[u64]) -> f64 {
    let (modulus, whole) = (x.plaintext_modulus().expect("known") as f64, x.log2_modulus());
    let phases = tfhe.phases(x).expect("of this key").into_iter();
    let turns = phases.map(|p| p as f64 / 2f64.powi(whole as i32));
    let errors = turns.zip(messages).map(|(f, &m)| f - m as f64 / modulus);
    let squares: Vec<f64> = errors.map(|e| (e - e.round()).powi(2)).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// Messages to wires, a look-up there, and back: `log2_modulus` is that of TFHE ciphertexts.
fn both_ways(set: &str, tfhe: &str, bits: u32, log2_modulus: u32) {
    let place = place(set, tfhe);
    let switch = place.switch();
    let below = 1u64 << bits;
    let messages: Vec<u64> = (0..300).map(|i| (i * i + i / 7) % below).collect();
    let x = place.tfhe.encrypt_at(&messages, 2 * below, log2_modulus).expect("they fit");

    // Several tables at once, of messages without their padding.
    let same = Table::new(below as u32, |m| m).expect("a table");
    let other = Table::new(below as u32, |m| (m * m + 1) % below as u32).expect("a table");
    let found = switch.to_wires(&x, &[&same, &other]).expect("small errors");
    for (found, table) in found.iter().zip([&same, &other]) {
        let wanted: Vec<i64> = messages.iter().map(|&m| table.at(m as i64)).collect();
        assert_eq!((found.len(), found.numbers()), (1, 300));
        assert_eq!(place.decrypt(found), wanted);
    }

    let back = switch.to_tfhe(&found[1], bits, log2_modulus).expect("small errors");
    let wanted: Vec<u64> = messages.iter().map(|&m| other.at(m as i64) as u64).collect();
    assert_eq!((back.len(), back.plaintext_modulus()), (300, Some(2 * below)));
    assert_eq!(place.tfhe.decrypt_messages(&back, bits).expect("messages"), wanted);
    let model = back.variance().sqrt() / 2f64.powi(log2_modulus as i32);
    let ratio = deviation(&place.tfhe, &back, &wanted) / model;
    println!("{set} to {tfhe}: {ratio:.2} of the deviation of the model, 2^{:.1}", model.log2());
    // The model is of the worst slot, and of a normal error that is larger with 2^-128 still.
    assert!((0.001..0.4).contains(&ratio), "{ratio}");
}

#[test]
fn messages_go_to_numbers_and_back() {
    both_ways("INSECURE_DISCRETE_4_N10", "INSECURE_TOY_TORUS", 3, 64);
    both_ways("INSECURE_DISCRETE_4_N10", "INSECURE_LARGE", 4, 24);
}

/// Gates of TFHE on both sides, and one of numbers between them.
#[test]
fn bits_go_to_numbers_and_back() {
    let place = place("INSECURE_DISCRETE_1_N10", "INSECURE_TOY");
    let switch = place.switch();
    let bits: Vec<bool> = (0..64).map(|i| i % 3 == 0 || i % 5 == 1).collect();
    // Modulo 2^14: the toy's own modulus has errors that are too large for 2^-128.
    let messages: Vec<u64> = bits.iter().map(|&b| u64::from(b)).collect();
    let rough = place.tfhe.encrypt_bits(&bits).expect("bits");
    let x = place.tfhe.encrypt_at(&messages, 4, 14).expect("bits");
    let not = Table::new(2, |m| 1 - m).and_then(|t| t.order(2)).expect("a table");
    let error = switch.to_wires(&rough, &[&not]).expect_err("large errors").to_string();
    assert!(error.contains("of that are enough"), "{error}");
    let found = switch.to_wires(&x, &[&not]).expect("small errors").remove(0);
    assert_eq!(place.decrypt(&found), bits.iter().map(|&b| i64::from(!b)).collect::<Vec<_>>());
    let error = switch.to_tfhe(&found, 1, rough.log2_modulus()).expect_err("a coarse modulus");
    assert!(error.to_string().contains("would be wrong with"), "{error}");
    place.server.limit_failure(-16.0).expect("a toy");
    let back = switch.to_tfhe(&found, 1, rough.log2_modulus()).expect("small errors");
    let keys = girih_tfhe::EvaluationKeys::generate(&place.tfhe, &NoProgress).expect("keys");
    let options = girih_backend::LoadOptions::default();
    let tfhe = girih_tfhe::ServerKey::load(&CpuBackend::new(), &keys, &options, &NoProgress);
    let tfhe = tfhe.expect("it fits");
    tfhe.limit_failure(-20.0).expect("a toy");
    let both = tfhe.gate(girih_tfhe::Gate::And, &back, &rough).expect("bits");
    assert_eq!(place.tfhe.decrypt_bits(&both).expect("bits"), vec![false; 64]);
}

/// More messages than a ciphertext holds.
#[test]
fn many_messages_take_several_ciphertexts() {
    let place = place("INSECURE_DISCRETE_4_N10", "INSECURE_LARGE");
    let messages: Vec<u64> = (0..1030).map(|i| (i / 3) % 4).collect();
    let x = place.tfhe.encrypt_at(&messages, 8, 24).expect("they fit");
    let table = Table::new(4, |m| m).expect("a table");
    let found = place.switch().to_wires(&x, &[&table]).expect("small errors").remove(0);
    let decrypted = place.decrypt(&found);
    assert_eq!((found.len(), decrypted.len()), (2, 2048));
    assert!(decrypted.iter().zip(&messages).all(|(found, &m)| *found == m as i64));
    assert!(decrypted[1030..].iter().all(|&found| found == 0));
}

/// Slots of CKKS that are near multiples of 0.25 become numbers, and numbers slots.
#[test]
fn vectors_are_rounded_and_come_back() {
    let place = place("INSECURE_DISCRETE_4_N10", "INSECURE_TOY_TORUS");
    let vectors = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_TOY_TORUS", 16);
    let ckks = vectors.load();
    let (switch, between) = (place.switch(), vectors.switch(&ckks));
    let m: Vec<i64> = (0..16).map(|j| (j * j + 3 * j) % 16).collect();
    // Off by up to a fiftieth of a step.
    let off = wave(16);
    let values = m.iter().zip(&off).map(|(&m, e)| 0.25 * (m as f64 + 0.02 * e));
    let values: Vec<f64> = values.collect();
    let x = ckks.upload(&[vectors.ckks.within(4.0).encrypt(&values).expect("slots")]).unwrap();
    let square = Table::new(16, |m| m * m % 16).and_then(|t| t.order(2)).expect("a table");
    let found = switch.round(&between, &x, (16, 0.25), 0.02, &[&square]).expect("near steps");
    let wanted: Vec<i64> = m.iter().map(|m| m * m % 16).collect();
    assert_eq!(place.decrypt(&found[0]), wanted);

    let back = switch.to_ckks(&found[0], &between).expect("numbers");
    let slots = vectors.ckks.decrypt_real(&ckks.download(&back).unwrap()[0]).unwrap();
    let estimate = back.estimate();
    let most = slots.iter().zip(&wanted).map(|(y, &m)| (y - m as f64).abs()).fold(0.0, f64::max);
    println!("back in slots: off by {most:.2e}, deviation {:.2e}", estimate.deviation);
    assert!(most < 8.0 * estimate.deviation && most < 0.05, "{most}");

    let far = switch.round(&between, &x, (16, 0.25), 0.3, &[&square]).expect_err("too far");
    assert!(far.to_string().contains("on top of 2^"), "{far}");
    for (call, words) in [
        (switch.round(&between, &x, (16, -1.0), 0.0, &[&square]), "a step is -1"),
        (switch.round(&between, &x, (16, 0.25), 0.5, &[&square]), "below 1/2"),
        (
            switch.round(&between, &x, (17, 0.25), 0.1, &[&square]),
            "17 slots to take of vectors of 16",
        ),
        (switch.round(&between, &x, (16, 0.25), 0.1, &[]), "no tables of a look-up"),
    ] {
        let error = call.expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_does_not_belong_together_is_refused_in_words() {
    let place = place("INSECURE_DISCRETE_4_N10", "INSECURE_TOY_TORUS");
    let switch = place.switch();
    let table = |p: u32| Table::new(p, |m| m).expect("a table");
    let said =
        |result: girih_switching::Result<Vec<Wires>>| result.expect_err("refused").to_string();
    let x = place.tfhe.encrypt_messages(&[1, 2, 3], 3).expect("they fit");
    let error = said(switch.to_wires(&x, &[&table(5)]));
    assert!(error.contains("tables modulo 5") && error.contains("take 8"), "{error}");
    let unknown = x.clone().with_plaintext_modulus(None).expect("none");
    let error = said(switch.to_wires(&unknown, &[&table(8)]));
    assert!(error.contains("say so (`with_plaintext_modulus`)"), "{error}");
    let rough = x.clone().with_variance(2f64.powi(118)).expect("a variance");
    let error = said(switch.to_wires(&rough, &[&table(8)]));
    assert!(error.contains("phases m/8 of a turn") && error.contains("allowed"), "{error}");
    let other = girih_tfhe::ClientKey::generate_seeded_for_tests(place.tfhe.set(), [9; 32]);
    let stranger = other.expect("a key");
    let x = stranger.encrypt_messages(&[1], 3).expect("it fits");
    let error = said(switch.to_wires(&x, &[&table(8)]));
    assert!(error.contains("under client key") && error.contains("this switch is for"), "{error}");
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let x = LweCiphertexts::trivial(&set, &[1], 16).expect("it fits");
    let error = said(switch.to_wires(&x, &[&table(8)]));
    assert!(error.contains("TFHE ciphertexts of INSECURE_TOY"), "{error}");

    let numbers = place.client.encrypt_batch(&[[9, 1]], 16).expect("numbers");
    let wires = place.server.upload(&numbers).expect("of this set");
    let error = switch.to_tfhe(&wires, 3, 64).expect_err("too large").to_string();
    assert!(error.contains("numbers from 0 to 15: messages of 3 bits must be"), "{error}");
    let error = switch.to_tfhe(&wires, 4, 3).expect_err("a modulus").to_string();
    assert!(error.contains("modulus"), "{error}");

    // Keys of others, and a switch for vectors where there are numbers.
    let foreign = SwitchingKeys::generate_seeded_for_tests(place.client.ckks(), &stranger, [6; 32]);
    let bytes = foreign.expect("keys").to_bytes().expect("bytes");
    let foreign = SwitchingKeys::from_bytes(&bytes).expect("the same");
    let vectors = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_TOY_TORUS", 16);
    let error = WireSwitch::new(&place.server, &vectors.keys).expect_err("another set").to_string();
    assert!(error.contains("the server key is of INSECURE_DISCRETE_4_N10"), "{error}");
    let own = WireSwitch::new(&place.server, &foreign).expect("keys of the client of numbers");
    let error = own.to_wires(&place.tfhe.encrypt_messages(&[1], 3).expect("it fits"), &[&table(8)]);
    assert!(error.expect_err("another key").to_string().contains("under client key"));
    let ckks = vectors.load();
    let between = vectors.switch(&ckks);
    let error = own.to_ckks(&wires, &between).expect_err("two keys").to_string();
    assert!(error.contains("numbers go through client key"), "{error}");
    let error = girih_switching::Switch::new(place.server.ckks(), &place.keys, 16);
    let error = error.expect_err("no bootstrapping").to_string();
    assert!(error.contains("numbers in slots go through a WireSwitch"), "{error}");
}

/// How far from a step slots may be, as the page says, beside errors of 2^-16 of a turn.
#[test]
fn slots_may_be_so_far_from_a_step() {
    let set = DiscreteParameters::by_name("DISCRETE_4").expect("built in");
    let forecast = Forecast::new(&set);
    let wrong = |within: f64, order| {
        let table = Table::new(16, |m| m).and_then(|t| t.order(order)).expect("a table");
        forecast.phases(2f64.powi(-16), within / 16.0, &[table]).0
    };
    for (order, holds, fails) in [(1, 0.05, 0.06), (2, 0.08, 0.09)] {
        let found = [holds, fails].map(|within| wrong(within, order));
        println!("order {order}: {holds} of a step 2^{:.0}, {fails} 2^{:.0}", found[0], found[1]);
        assert!(found[0] < -128.0 && found[1] > -128.0, "{found:?}");
    }
}

/// Rows of the pages: what it takes of keys, and what conversions of the sets for use leave.
#[test]
fn sets_for_use_go_together() {
    for (name, tfhe, below) in [
        ("DISCRETE_4", "TFHERS_2_2", 16),
        ("DISCRETE_4", "GIRIH_2_2", 16),
        ("DISCRETE_4", "GIRIH_GATE", 2),
        ("DISCRETE_1", "GIRIH_GATE", 2),
    ] {
        let set = DiscreteParameters::by_name(name).expect("built in");
        let tfhe = ParameterSet::by_name(tfhe).expect("built in");
        let parameters = girih_switching::SwitchingParameters::new(set.ckks(), &tfhe).expect("two");
        let noise = girih_switching::SwitchingNoise::new(&parameters);
        let stored = tfhe.shape().log2_stored_modulus();
        let [there, back] =
            [noise.there(stored), noise.back(32768, stored)].map(|v| 0.5 * v.log2());
        let bits = parameters.security().usvp_bdgl16;
        println!(
            "{name} and {tfhe}: packing in {}, {bits:.0} bits, to TFHE 2^{there:.1}, from it \
             2^{back:.1}",
            parameters.packing_degree()
        );
        assert!(bits >= 128.0, "{bits}");
        assert_eq!(parameters.packing_degree(), 4096);
        // Bootstrapped messages go to numbers, but for 2^-128 of all 32,768.
        let len = tfhe.shape().ciphertext_len();
        let x = LweCiphertexts::from_words(&tfhe, vec![0; len]).expect("words");
        let own = x.variance() * 2f64.powi(-2 * stored as i32);
        let deviation = (4.0 * own + noise.back(32768, stored)).sqrt();
        let read = Table::new(below, |m| m).expect("a table");
        let (failure, _) = Forecast::new(&set).phases(deviation, 0.0, &[read]);
        println!(
            "modulo {below}: deviation 2^{:.1} of a turn, wrong with 2^{failure:.0}",
            deviation.log2()
        );
        assert!(failure < -128.0, "{failure}");
    }
}
