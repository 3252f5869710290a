//! Gates and look-up tables, end to end on the CPU, on toy sets that cover every path through keys.

use girih_backend::{LoadOptions, NoProgress};
use girih_cpu::CpuBackend;
use girih_tfhe::{
    Batch, ClientKey, EvaluationKeys, Gate, LookUpTable, LweCiphertexts, ParameterSet, ServerKey,
};

fn sets() -> Vec<ParameterSet> {
    let packings = [1, 3, 2, 2, 1, 5, 1, 2, 2];
    ParameterSet::insecure()
        .iter()
        .zip(packings)
        .map(|(set, r)| set.with_packing(r).expect("1 to 16"))
        .collect()
}

fn keys(set: &ParameterSet) -> (ClientKey, ServerKey) {
    let client = ClientKey::generate_seeded_for_tests(set, [7; 32]).expect("a checked set");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a checked set");
    let server = ServerKey::load(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    // Toys have little room.
    if set.name().starts_with("INSECURE") {
        server.limit_failure(-5.0).expect("below 0");
    }
    (client, server)
}

/// Bits that take every combination of three inputs in every slot.
fn bits(set: &ParameterSet, input: usize) -> Vec<bool> {
    (0..8 * set.packing())
        .map(|i| (i / set.packing() + i % set.packing()) >> input & 1 == 1)
        .collect()
}

#[test]
fn every_gate_on_every_kind_of_set() {
    for set in sets() {
        let (client, server) = keys(&set);
        let [a, b, c] = [0, 1, 2].map(|i| bits(&set, i));
        let [ea, eb, ec] = [&a, &b, &c].map(|x| client.encrypt_bits(x).expect("whole ciphertexts"));
        let check =
            |what: &str, got: girih_tfhe::Result<LweCiphertexts>, want: &dyn Fn(usize) -> bool| {
                let got = client.decrypt_bits(&got.expect("runs")).expect("bits");
                let want: Vec<_> = (0..a.len()).map(want).collect();
                assert_eq!(got, want, "{what} on {set}");
            };
        for gate in Gate::ALL {
            check(&gate.to_string(), server.gate(gate, &ea, &eb), &|i| gate.evaluate(a[i], b[i]));
        }
        check("not", server.not(&ea), &|i| !a[i]);
        check("host not", Ok(ea.not()), &|i| !a[i]);
        check("mux", server.mux(&ea, &eb, &ec), &|i| if a[i] { b[i] } else { c[i] });
        check("majority", server.majority(&ea, &eb, &ec), &|i| {
            [a[i], b[i], c[i]].iter().filter(|x| **x).count() >= 2
        });
        let mixed: Vec<_> = (0..ea.len()).map(|i| Gate::ALL[i % 6]).collect();
        check("mixed", server.gates(&mixed, &ea, &eb), &|i| {
            mixed[i / set.packing()].evaluate(a[i], b[i])
        });
        let constant =
            LweCiphertexts::trivial_bits(&set, &vec![true; a.len()]).expect("whole ciphertexts");
        check("constant", server.gate(Gate::Xor, &ea, &constant), &|i| !a[i]);
    }
}

#[test]
fn results_stay_on_the_device_between_gates() {
    let set =
        ParameterSet::by_name("INSECURE_TOY").expect("built in").with_packing(2).expect("1 to 16");
    let (client, server) = keys(&set);
    let [a, b, c] = [0, 1, 2].map(|i| bits(&set, i));
    let [da, db, dc] =
        [&a, &b, &c].map(|x| server.upload(&client.encrypt_bits(x).expect("whole")).expect("fits"));
    // A full adder, carried on the device; temporaries are freed on the way.
    let sum = server
        .gate(Gate::Xor, &server.gate(Gate::Xor, &da, &db).expect("runs"), &dc)
        .expect("runs");
    let carry = server.majority(&da, &db, &dc).expect("runs");
    let decrypt = |x| client.decrypt_bits(&server.download(x).expect("alive")).expect("bits");
    let (sum, carry) = (decrypt(&sum), decrypt(&carry));
    for i in 0..a.len() {
        let ones = [a[i], b[i], c[i]].iter().filter(|x| **x).count();
        assert_eq!((sum[i], carry[i]), (ones % 2 == 1, ones >= 2), "{i}");
    }
    let (_, other) = keys(&set);
    let message = other.not(&da).expect_err("another server's ciphertexts").to_string();
    assert!(message.contains("another server key"), "{message}");
}

#[test]
fn look_up_tables_of_several_bits() {
    for set in sets().into_iter().filter(|s| s.lwe_modulus() >= 512) {
        let (client, server) = keys(&set);
        let bits = 2;
        let messages: Vec<u64> =
            (0..4 * set.packing() as u64).map(|i| (i + i / set.packing() as u64) % 4).collect();
        let encrypted = client.encrypt_messages(&messages, bits).expect("fits");
        let decrypt = |c: girih_tfhe::Result<LweCiphertexts>, bits| {
            client.decrypt_messages(&c.expect("runs"), bits).expect("padding is clear")
        };
        let square = LookUpTable::new(bits, |m| m * m % 4).expect("2 bits");
        assert_eq!(
            decrypt(server.apply(&encrypted, &square), bits),
            messages.iter().map(|m| m * m % 4).collect::<Vec<_>>(),
            "{set}"
        );
        let big = LookUpTable::with_output_bits(bits, 3, |m| 7 - m).expect("3 bits");
        assert_eq!((big.input_bits(), big.output_bits(), big.values()), (2, 3, &[7, 6, 5, 4][..]));
        assert_eq!(
            decrypt(server.apply(&encrypted, &big), 3),
            messages.iter().map(|m| 7 - m).collect::<Vec<_>>(),
            "{set}"
        );
        let add = |by: usize| LookUpTable::new(bits, move |m| (m + by as u64) % 4).expect("2 bits");
        let each: Vec<_> = (0..encrypted.ciphertexts()).map(add).collect();
        let want = |of: &dyn Fn(usize) -> u64| {
            messages.iter().enumerate().map(|(i, m)| (m + of(i)) % 4).collect::<Vec<_>>()
        };
        assert_eq!(
            decrypt(server.apply_each(&encrypted, &each), bits),
            want(&|i| (i / set.packing()) as u64),
            "{set}"
        );
        let slots: Vec<_> = (0..messages.len()).map(add).collect();
        assert_eq!(
            decrypt(server.apply_each_slot(&encrypted, &slots), bits),
            want(&|i| i as u64),
            "{set}"
        );
        // Each of the four messages in all slots of its ciphertext: r functions of it at once.
        let repeated: Vec<u64> = (0..messages.len()).map(|i| (i / set.packing()) as u64).collect();
        let resident =
            server.upload(&client.encrypt_messages(&repeated, bits).expect("fits")).expect("room");
        let several =
            server.download(&server.apply_slots(&resident, &slots[..set.packing()]).expect("runs"));
        let want: Vec<u64> = repeated
            .iter()
            .enumerate()
            .map(|(i, m)| (m + (i % set.packing()) as u64) % 4)
            .collect();
        assert_eq!(decrypt(several, bits), want, "{set}");
        // Two one-bit messages side by side: 2 a + b.
        let low: Vec<u64> = messages.iter().map(|m| m % 2).collect();
        let high: Vec<u64> = messages.iter().map(|m| m / 2).collect();
        let [low_c, high_c] =
            [&low, &high].map(|m| client.encrypt_messages(m, bits).expect("fits"));
        let and = LookUpTable::new(bits, |m| u64::from(m == 3)).expect("2 bits");
        let got = decrypt(server.apply_weighted(&[&high_c, &low_c], &[2, 1], &and), bits);
        assert_eq!(got, low.iter().zip(&high).map(|(a, b)| a & b).collect::<Vec<_>>(), "{set}");
    }
}

/// TFHE-rs's own set with its own use: any table of four bits, and of two messages of two bits side
/// by side.
#[test]
fn four_bits_on_the_native_torus() {
    four_bits(&ParameterSet::by_name("TFHERS_2_2").expect("built in"));
}

/// The same with keys for pairs of indices.
#[test]
fn four_bits_on_the_native_torus_in_pairs() {
    four_bits(&ParameterSet::by_name("TFHERS_2_2_GROUP_2").expect("built in"));
}

fn four_bits(set: &ParameterSet) {
    let (client, server) = keys(set);
    let messages: Vec<u64> = (0..16).collect();
    let encrypted = client.encrypt_messages(&messages, 4).expect("fits");
    let decrypt = |c: girih_tfhe::Result<LweCiphertexts>| {
        client.decrypt_messages(&c.expect("runs"), 4).expect("padding is clear")
    };
    let table = LookUpTable::new(4, |m| (5 * m + 3) % 16).expect("4 bits");
    let start = std::time::Instant::now();
    let once = server.apply(&encrypted, &table).expect("runs");
    println!("16 look-ups of {set}: {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    assert_eq!(
        decrypt(Ok(once.clone())),
        messages.iter().map(|m| (5 * m + 3) % 16).collect::<Vec<_>>()
    );
    // Outputs are inputs again, and survive their bytes.
    let again =
        LweCiphertexts::from_bytes(&once.to_bytes().expect("serializes")).expect("own output");
    assert_eq!(
        decrypt(server.apply(&again, &table)),
        messages.iter().map(|m| (25 * m + 18) % 16).collect::<Vec<_>>()
    );
    let [high, low] = [
        messages.iter().map(|m| m / 4).collect::<Vec<_>>(),
        messages.iter().map(|m| m % 4).collect(),
    ];
    let [high_c, low_c] = [&high, &low].map(|m| client.encrypt_messages(m, 4).expect("fits"));
    let product = LookUpTable::new(4, |m| (m / 4) * (m % 4)).expect("4 bits");
    let want: Vec<u64> = high.iter().zip(&low).map(|(a, b)| a * b).collect();
    assert_eq!(decrypt(server.apply_weighted(&[&high_c, &low_c], &[4, 1], &product)), want);
}

/// Every message of 1 to 4 bits through one bootstrapping each.
#[test]
fn look_up_tables_of_one_to_four_bits() {
    let (client, server) =
        keys(&ParameterSet::by_name("INSECURE_TOY_WORDS2_R2").expect("built in"));
    for bits in 1..=4 {
        let values = 1u64 << bits;
        let messages: Vec<u64> = (0..2 * values).map(|i| (i / 2 + i % 2) % values).collect();
        let encrypted = client.encrypt_messages(&messages, bits).expect("fits");
        let f = |m: u64| (m * m * 3 + m + 1) % values;
        let got =
            server.apply(&encrypted, &LookUpTable::new(bits, f).expect("fits")).expect("runs");
        let want: Vec<u64> = messages.iter().map(|&m| f(m)).collect();
        assert_eq!(
            client.decrypt_messages(&got, bits).expect("padding is clear"),
            want,
            "{bits} bits"
        );
    }
}
