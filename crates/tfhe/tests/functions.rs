//! Functions that fill their modulus: every message through every kind of function, on the CPU.

use girih_backend::{LoadOptions, NoProgress};
use girih_cpu::CpuBackend;
use girih_tfhe::{
    ClientKey, EvaluationKeys, Function, FunctionKind, LookUpTable, LweCiphertexts, NoiseModel,
    ParameterSet, ServerKey, noise,
};

fn keys(name: &str) -> (ClientKey, ServerKey) {
    let set = ParameterSet::by_name(name).expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a set on prime words");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a set on prime words");
    let server = ServerKey::load(&CpuBackend::new(), &keys, &LoadOptions::default(), &NoProgress)
        .expect("the CPU runs every set");
    // Toys have little room.
    server.limit_failure(-10.0).expect("below 0");
    (client, server)
}

/// Every message of `bits` bits in every slot.
fn all_messages(set: &ParameterSet, bits: u32) -> Vec<u64> {
    let r = set.packing() as u64;
    (0..r << bits).map(|i| (i / r + i % r) % (1 << bits)).collect()
}

fn function(input_bits: u32, output_bits: u32, f: impl Fn(u64) -> u64) -> Function {
    Function::new(input_bits, output_bits, f).expect("fits")
}

#[test]
fn every_kind_of_function_on_every_message() {
    for name in ["INSECURE_LARGE", "INSECURE_TOY_WORDS2", "INSECURE_TOY_R3", "INSECURE_TOY_MR_R2"] {
        let (client, server) = keys(name);
        let set = server.set();
        let log2_double = set.shape().log2_monomials();
        for bits in 1..=4 {
            let (top, last) = (1 << (bits - 1), (1 << bits) - 1);
            let kinds = [
                function(bits, 4, move |m| if m < top { m } else { (16 - (m - top)) % 16 }),
                function(bits, 1, move |m| m / top),
                function(bits, bits, move |m| last - m),
                function(bits, 3, move |m| [5, 7, 1, 2, 3, 0, 4, 6][(m % top) as usize]),
                function(bits, bits, move |m| m * m * m % (last + 1)),
            ];
            for f in kinds {
                let log2_input = log2_double - u32::from(f.kind() == FunctionKind::Arbitrary);
                for log2_output in [set.shape().log2_lwe_modulus, 13] {
                    let model = NoiseModel::new(set);
                    // Only what the model calls safe is asked for: a toy has room for few bits.
                    let step = 2f64.powi(log2_output as i32 - f.output_bits() as i32 - 1);
                    if model.log2_failure_function(&f, log2_input, model.sigma_fresh()) > -30.0
                        || step < 7.0 * model.sigma_out_at(log2_output)
                    {
                        continue;
                    }
                    let messages = all_messages(set, bits);
                    let encrypted = client
                        .encrypt_at(&messages, 1 << bits, log2_input)
                        .expect("whole ciphertexts");
                    let got = server.evaluate(&encrypted, &f, log2_output).expect("runs");
                    assert_eq!(got.log2_modulus(), log2_output);
                    let want: Vec<u64> = messages.iter().map(|&m| f.values()[m as usize]).collect();
                    let got = client.decrypt(&got, 1 << f.output_bits()).expect("same set");
                    assert_eq!(
                        got, want,
                        "{name}, {:?}, modulo 2^{log2_input} to 2^{log2_output}",
                        f
                    );
                }
            }
        }
    }
}

#[test]
fn kinds_mix_in_one_batch_and_stay_on_the_device() {
    let (client, server) = keys("INSECURE_LARGE");
    let messages: Vec<u64> = (0..24).map(|i| i * 5 % 8).collect();
    let functions: Vec<Function> = (0..24u64)
        .map(|i| match i % 3 {
            0 => function(3, 3, move |m| (m + i) % 8),
            1 => function(3, 3, move |m| (m % 4 + i) % 8),
            _ => function(3, 3, |m| 7 * (m >> 2)),
        })
        .collect();
    let want: Vec<u64> =
        messages.iter().zip(&functions).map(|(&m, f)| f.values()[m as usize]).collect();
    let encrypted = client.encrypt_at(&messages, 8, 8).expect("fits");
    let on_device = server
        .evaluate_each(&server.upload(&encrypted).expect("fits"), &functions, 20)
        .expect("runs");
    let back = server.download(&on_device).expect("alive");
    assert_eq!((back.log2_modulus(), client.decrypt(&back, 8).expect("same set")), (20, want));
}

#[test]
fn impossible_moduli_are_named() {
    let (client, server) = keys("INSECURE_TOY");
    let refuse = |c: &LweCiphertexts, f: &Function, output| {
        server.evaluate(c, f, output).expect_err("must be refused").to_string()
    };
    let encrypted = client.encrypt_at(&[1, 2], 8, 9).expect("fits");
    let arbitrary = function(3, 3, |m| m);
    let message = refuse(&encrypted, &arbitrary, 9);
    assert!(
        message.contains("arbitrary")
            && message.contains("2^9")
            && message.contains("from 2^3 to 2^8"),
        "{message}"
    );
    let small = encrypted.rescale(8).expect("smaller");
    for output in [2, 15] {
        let message = refuse(&small, &arbitrary, output);
        assert!(
            message.contains(&format!("2^{output}")) && message.contains("from 2^3 to 2^14"),
            "{message}"
        );
    }
    let message =
        server.evaluate_each(&small, &[arbitrary], 8).expect_err("one for two").to_string();
    assert!(message.contains("1 functions for 2 ciphertexts"), "{message}");
    let message = server.not(&small).expect_err("another modulus").to_string();
    assert!(message.contains("2^8") && message.contains("2^9"), "{message}");
}

/// What a function takes without keys: moduli from that of its messages to that of a rotation, and
/// an error below half a step, to which a first bootstrapping of two adds its own.
#[test]
fn moduli_and_failures_of_functions() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let model = NoiseModel::new(&set);
    let negacyclic = function(3, 3, |m| if m < 4 { m } else { (12 - m) % 8 });
    for (f, most, first) in [
        (negacyclic, 9, 0.0),
        (function(3, 3, |m| m % 4), 9, model.sigma_out_at(6)),
        (function(3, 3, |m| m), 8, model.sigma_out_at(7)),
    ] {
        for log2_input in 0..12 {
            let fits = (3..=most).contains(&log2_input);
            assert_eq!(f.check(&set, log2_input, 9).is_ok(), fits, "2^{log2_input}, {f:?}");
        }
        for log2_output in 0..20 {
            let fits = (3..=14).contains(&log2_output);
            assert_eq!(f.check(&set, 6, log2_output).is_ok(), fits, "to 2^{log2_output}");
        }
        // Eight messages modulo 2^6 are 8 apart.
        let failure = noise::log2_beyond(4.0, first.hypot(0.7));
        let found = model.log2_failure_function(&f, 6, 0.7);
        assert!((found - failure).abs() < 1e-9, "{found}, not {failure}, of {f:?}");
    }
}

/// Eight bytes a coefficient, as many whole tables as a limit holds.
#[test]
fn tables_take_what_their_limit_allows() {
    let (client, server) = keys("INSECURE_TOY");
    let bit = client.encrypt_messages(&[1], 1).expect("fits");
    let used = |limit: usize| {
        server.limit_tables(limit);
        for pair in 0..12 {
            let table = LookUpTable::with_output_bits(1, 2, |m| [pair % 4, pair / 4][m as usize]);
            server.apply(&bit, &table.expect("two bits")).expect("room");
        }
        server.table_bytes()
    };
    let one = 8 * server.set().shape().polynomial_size;
    assert_eq!(server.table_bytes(), 0);
    assert_eq!([5 * one + one - 1, 7 * one, 6 * one].map(used), [5 * one, 7 * one, 7 * one]);
}
