//! Two clients under one parameter set: what is one's never goes through the other's key unnoticed.

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::large::{LargeKeys, LargeParameters, LargeServer};
use girih_tfhe::{
    ClientKey, Error, EvaluationKeys, Function, Gate, KeyId, LookUpTable, LweCiphertexts,
    ParameterSet, Result, ServerKey, noise,
};

fn client(set: &ParameterSet, seed: u8) -> ClientKey {
    ClientKey::generate_seeded_for_tests(set, [seed; 32]).expect("a checked set")
}

fn load(client: &ClientKey) -> ServerKey {
    let keys = EvaluationKeys::generate(client, &NoProgress).expect("memory");
    let server = ServerKey::load(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    // Toys have little room.
    server.limit_failure(-10.0).expect("below 0");
    server
}

/// What was refused must be refused for its keys, and name both.
fn names_both<T>(what: &str, result: Result<T>, [a, b]: [KeyId; 2]) {
    let Err(error) = result else { panic!("{what}: not refused") };
    let text = error.to_string();
    assert!(matches!(error, Error::WrongKey { .. }) && !text.contains('\n'), "{what}: {text}");
    assert!(
        text.contains(&format!("client key {a:.8}"))
            && text.contains(&format!("client key {b:.8}")),
        "{what}: {text}"
    );
}

#[test]
fn a_key_has_one_name_wherever_it_goes() {
    let set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let [a, b] = [1, 2].map(|seed| client(&set, seed));
    assert_eq!(a.key_id(), client(&set, 1).key_id());
    assert_ne!(a.key_id(), b.key_id());
    let [c, d] = [0; 2].map(|_| ClientKey::generate(&set).expect("randomness").key_id());
    assert_ne!(c, d);
    let text = a.key_id().to_string();
    assert!(
        text.len() == 32
            && text.chars().all(|c| c.is_ascii_hexdigit())
            && format!("{:.8}", a.key_id()) == text[..8],
        "{text}"
    );
    assert_eq!(format!("{:?}", a.key_id()), format!("KeyId({text})"));

    let keys = EvaluationKeys::generate(&a, &NoProgress).expect("memory");
    let batch = a.encrypt_bits(&[true, false]).expect("one ciphertext");
    assert_eq!((keys.key_id(), batch.key_id()), (a.key_id(), Some(a.key_id())));
    let again = ClientKey::from_bytes(&a.to_bytes().expect("serializes")).expect("own output");
    assert_eq!(again.key_id(), a.key_id());
    assert_eq!(
        again.encrypt_bits(&[true, false]).expect("one ciphertext").key_id(),
        Some(a.key_id())
    );
    let keys =
        EvaluationKeys::from_bytes(&keys.to_bytes().expect("serializes")).expect("own output");
    assert_eq!((keys.key_id(), load(&again).key_id()), (a.key_id(), a.key_id()));

    // Of given secrets: whoever has the same ones has the same name.
    let given = |s: i8| {
        ClientKey::from_secrets(
            &set,
            vec![s; 2 * set.shape().lwe_dimension],
            vec![0; 2 * set.shape().ks_indices()],
        )
    };
    let [one, same, other] = [1, 1, -1].map(|s| given(s).expect("ternary").key_id());
    assert!(one == same && one != other);
}

#[test]
fn what_is_computed_keeps_the_name() {
    let set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let a = client(&set, 1);
    let (server, name) = (load(&a), Some(a.key_id()));
    let x = a.encrypt_bits(&[true, false, false, true]).expect("two ciphertexts");
    let one = LweCiphertexts::trivial_bits(&set, &[true; 4]).expect("two ciphertexts");
    assert_eq!(one.key_id(), None);
    let sum = |terms: &[(&LweCiphertexts, i64)]| {
        LweCiphertexts::weighted_sum(terms, 0).expect("alike").key_id()
    };
    assert_eq!(
        [sum(&[(&one, 1)]), sum(&[(&one, 1), (&x, -1)]), sum(&[(&x, 1), (&one, 1)])],
        [None, name, name]
    );
    let joined = LweCiphertexts::concatenate(&[&one, &x]).expect("alike");
    let small = x.log2_modulus() - 1;
    for batch in [
        x.not(),
        joined.slice(0..1).expect("short"),
        joined,
        x.rescale(small).expect("less"),
        x.reduce(small).expect("less"),
    ] {
        assert_eq!(batch.key_id(), name);
        assert_eq!(
            LweCiphertexts::from_bytes(&batch.to_bytes().expect("serializes"))
                .expect("own output")
                .key_id(),
            name
        );
    }
    assert_eq!(server.gate(Gate::Or, &x, &one).expect("runs").key_id(), name);
    assert_eq!(server.gate(Gate::Or, &one, &one).expect("runs").key_id(), name);
    let resident = server.upload(&x).expect("fits");
    let or = server.gate(Gate::Or, &resident, &server.upload(&one).expect("fits")).expect("runs");
    assert_eq!((resident.key_id(), or.key_id()), (name, name));
    assert_eq!(server.download(&server.not(&or).expect("runs")).expect("alive").key_id(), name);
    // What only lies on the device is what it was.
    let resident = server.upload(&one).expect("fits");
    let back = server.download(&resident).expect("alive");
    assert!(resident.key_id().is_none() && back == one);
}

#[test]
fn constants_go_with_every_key() {
    let set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let constant = LweCiphertexts::trivial_bits(&set, &[true, false]).expect("one ciphertext");
    let constant =
        LweCiphertexts::from_bytes(&constant.to_bytes().expect("serializes")).expect("own output");
    assert_eq!(constant.key_id(), None);
    for seed in [1, 2] {
        let client = client(&set, seed);
        let server = load(&client);
        let x = client.encrypt_bits(&[true, true]).expect("one ciphertext");
        assert_eq!(client.decrypt_bits(&constant).expect("bits"), [true, false]);
        assert_eq!(
            client
                .decrypt_bits(&server.gate(Gate::And, &x, &constant).expect("runs"))
                .expect("bits"),
            [true, false]
        );
        let [x, y] = [&x, &constant].map(|batch| server.upload(batch).expect("fits"));
        let xor = server.download(&server.gate(Gate::Xor, &x, &y).expect("runs")).expect("alive");
        assert_eq!(client.decrypt_bits(&xor).expect("bits"), [false, true]);
        // Words that were made elsewhere say nothing of a key.
        let words = LweCiphertexts::from_words(&set, xor.words().to_vec()).expect("whole");
        assert_eq!(words.key_id(), None);
        assert_eq!(
            client
                .decrypt_bits(&server.gate(Gate::Or, &words, &constant).expect("runs"))
                .expect("bits"),
            [true, true]
        );
    }
}

#[test]
fn another_clients_ciphertexts_are_refused_everywhere() {
    for name in ["INSECURE_TOY_R2", "INSECURE_TOY_TORUS_R2"] {
        let Ok(set) = ParameterSet::by_name(name) else { panic!("{name} is built in") };
        let [a, b] = [1, 2].map(|seed| client(&set, seed));
        let (server, ids) = (load(&a), [a.key_id(), b.key_id()]);
        let [own, other] = [&a, &b].map(|client| {
            client.encrypt_bits(&[true, false, true, false]).expect("two ciphertexts")
        });
        let through_bytes =
            LweCiphertexts::from_bytes(&other.to_bytes().expect("serializes")).expect("own output");
        for other in [&other, &other.not(), &through_bytes] {
            names_both("decrypt", a.decrypt(other, 4), ids);
            names_both("decrypt bits", a.decrypt_bits(other), ids);
            names_both("phases", a.phases(other), ids);
            names_both(
                "weighted sum",
                LweCiphertexts::weighted_sum(&[(&own, 1), (other, 1)], 0),
                ids,
            );
            names_both("concatenate", LweCiphertexts::concatenate(&[&own, other]), ids);
            names_both("upload", server.upload(other), ids);
            names_both("not", server.not(other), ids);
            names_both("gate", server.gate(Gate::Nand, &own, other), ids);
            names_both("gate", server.gate(Gate::Nand, other, &own), ids);
            names_both("gates", server.gates(&[Gate::Or; 2], &own, other), ids);
            names_both("mux", server.mux(&own, &own, other), ids);
            names_both("majority", server.majority(&own, other, &own), ids);
        }
        // Constants do not hide two keys from each other.
        let constant = LweCiphertexts::trivial_bits(&set, &[true; 4]).expect("two ciphertexts");
        names_both(
            "weighted sum",
            LweCiphertexts::weighted_sum(&[(&constant, 1), (&own, 1), (&other, 1)], 0),
            ids,
        );
        names_both("concatenate", LweCiphertexts::concatenate(&[&constant, &own, &other]), ids);

        let table = LookUpTable::new(1, |m| 1 - m).expect("a bit");
        let [own, other] = [&a, &b]
            .map(|client| client.encrypt_messages(&[1, 0, 1, 0], 1).expect("two ciphertexts"));
        names_both("decrypt messages", a.decrypt_messages(&other, 1), ids);
        names_both("apply", server.apply(&other, &table), ids);
        names_both("apply weighted", server.apply_weighted(&[&own, &other], &[1, 1], &table), ids);
        names_both("apply each", server.apply_each(&other, &[table.clone(), table.clone()]), ids);
        names_both("apply each slot", server.apply_each_slot(&other, &vec![table.clone(); 4]), ids);
        names_both("apply slots", server.apply_slots(&other, &[table.clone(), table.clone()]), ids);
        names_both("noise", noise::measure(&b, &server, 2, [0; 32]), ids);
        server.apply(&own, &table).expect("its own");

        let keys = EvaluationKeys::generate(&b, &NoProgress).expect("memory");
        let beside =
            server.load_beside(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress);
        names_both("keys beside", beside, ids);
    }
}

#[test]
fn another_clients_ciphertexts_go_through_no_function() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let [a, b] = [1, 2].map(|seed| client(&set, seed));
    let (server, ids) = (load(&a), [a.key_id(), b.key_id()]);
    let function = Function::new(2, 2, |m| m * m % 4).expect("2 bits");
    let [own, other] = [&a, &b].map(|client| client.encrypt_at(&[0, 1, 2, 3], 4, 8).expect("fits"));
    let square = server.evaluate(&own, &function, 9).expect("its own");
    assert_eq!(square.key_id(), Some(a.key_id()));
    names_both("evaluate", server.evaluate(&other, &function, 9), ids);
    names_both("evaluate each", server.evaluate_each(&other, &vec![function; 4], 9), ids);
}

#[test]
fn large_precision_takes_one_client() {
    let parameters = LargeParameters::insecure();
    let [a, b] = [7, 8].map(|seed| client(parameters.home(), seed));
    let ids = [a.key_id(), b.key_id()];
    let make = |client: &ClientKey, gadgets: &[usize]| {
        LargeKeys::generate(&parameters, client, gadgets, &NoProgress).expect("its gadgets")
    };
    let keys = make(&a, &[0, 1, 2, 3]);
    assert!(keys.key_id() == a.key_id() && keys.keys().iter().all(|k| k.key_id() == a.key_id()));
    let read = |key: &EvaluationKeys| {
        EvaluationKeys::from_bytes(&key.to_bytes().expect("serializes")).expect("own output")
    };
    let mixed = vec![read(&keys.keys()[0]), read(&make(&b, &[1]).keys()[0])];
    names_both("keys of two clients", LargeKeys::new(&parameters, mixed), ids);

    let options = LoadOptions::default().with_transform(Transform::Fft);
    let server = LargeServer::load(&CpuBackend::new(), &keys, &options, &NoProgress)
        .expect("the CPU runs every set");
    assert_eq!(server.key_id(), a.key_id());
    let [own, other] =
        [&a, &b].map(|client| parameters.encrypt(client, &[5, 60], 13).expect("fits"));
    let [short, short_other] =
        [&a, &b].map(|client| parameters.encrypt(client, &[5, 6], 8).expect("fits"));
    let bits = parameters.message_bits(8).expect("in range");
    let function = Function::new(bits, bits, |m| m).expect("fits");
    let [bit, other_bit] =
        [&a, &b].map(|client| client.encrypt_bits(&[true, false]).expect("bits"));

    names_both("decrypt", parameters.decrypt(&a, &other), ids);
    names_both("function", server.function(&short_other, &function), ids);
    names_both("floor", server.floor(&other, 1), ids);
    names_both("sign", server.sign(&other), ids);
    names_both("decompose", server.decompose(&other), ids);
    names_both("relu", server.relu(&other), ids);
    names_both("relu", server.relu(&short_other), ids);
    names_both("less", server.less(&own, &other), ids);
    names_both("less, both of another", server.less(&other, &other), ids);
    names_both("equal", server.equal(&other, &own), ids);
    names_both("max", server.max(&own, &other), ids);
    names_both("min", server.min(&own, &other), ids);
    names_both("argmax", server.argmax(&[&own, &other]), ids);
    names_both("gate", server.gate(Gate::And, &bit, &other_bit), ids);
    names_both("gate", server.gate(Gate::And, &other_bit, &other_bit), ids);

    // Its own results name it, and a constant goes with them.
    let constant = LweCiphertexts::trivial_at(
        parameters.home(),
        &[9, 9],
        1 << parameters.message_bits(13).expect("in range"),
        13,
    );
    let less = server.less(&own, &constant.expect("fits")).expect("runs");
    assert_eq!(a.decrypt_bits(&less).expect("bits"), [true, false]);
    let results = [
        server.function(&short, &function).expect("runs"),
        server.floor(&own, 1).expect("runs"),
        server.relu(&own).expect("runs"),
        server.max(&own, &own).expect("runs"),
        server.gate(Gate::And, &bit, &less).expect("runs"),
        server.decompose(&own).expect("runs").remove(1),
        less,
    ];
    assert!(
        results
            .iter()
            .all(|result| result.key_id() == Some(a.key_id()) && result.set() == parameters.home())
    );
}
