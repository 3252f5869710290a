//! Encryption and decryption of both schemes, as their users call them.

use crate::step::aside;
use crate::{hides, words};
use girih::ckks::{CkksParameters, ClientKey as CkksKey, ParameterLiteral};
use girih::tfhe::{ClientKey, ParameterSet};
use std::hint::black_box;

/// Runs on this thread alone, so that every step is seen.
fn on_one_thread() -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    aside(|| builder.build().expect("a pool of this thread"))
}

#[test]
fn decryption_in_ckks() {
    let pool = on_one_thread();
    // A ring of one row, as the smallest built-in one, of a sixteenth of its steps.
    let set = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
    let literal = ParameterLiteral::from_toml(&set.to_toml()).expect("its own file");
    let name = "INSECURE_N6".to_owned();
    let small = ParameterLiteral { name, description: None, log2_degree: 6, ..literal };
    let set = CkksParameters::new(&small).expect("a set of the same primes");
    let keys: Vec<u8> = (1..5).collect();
    for level in [0, 2] {
        hides(
            &format!("CKKS decryption at level {level}"),
            &keys,
            |&key| {
                let client = CkksKey::generate_seeded_for_tests(&set, [key; 32]).expect("made");
                let slots: Vec<f64> =
                    words(key.into()).take(8).map(|x| x as f64 / 2f64.powi(64) - 0.5).collect();
                let ciphertext = client.encrypt_at(&slots, level).expect("encrypted");
                // Tables of the ring are made by the first use.
                client.phase(&ciphertext).expect("its phase");
                (client, ciphertext)
            },
            |(client, ciphertext)| {
                black_box(client.phase(ciphertext).expect("its phase"));
            },
        );
    }
    drop(pool);
}

#[test]
fn encryption_and_decryption_in_tfhe() {
    let pool = on_one_thread();
    for name in ["INSECURE_TOY", "INSECURE_TOY_BINARY", "INSECURE_TOY_TORUS"] {
        let set = ParameterSet::by_name(name).expect("built in");
        let keys: Vec<u8> = (1..5).collect();
        hides(
            &format!("{name}, decryption"),
            &keys,
            |&key| {
                let client = ClientKey::generate_seeded_for_tests(&set, [key; 32]).expect("made");
                let bits: Vec<bool> = words(key.into()).take(4).map(|x| x & 1 == 1).collect();
                let ciphertexts = client.encrypt_bits(&bits).expect("encrypted");
                client.decrypt_bits(&ciphertexts).expect("bits");
                (client, ciphertexts)
            },
            |(client, ciphertexts)| {
                black_box(client.decrypt_bits(ciphertexts).expect("bits"));
            },
        );
        hides(
            &format!("{name}, encryption"),
            &keys,
            |&key| {
                let client = ClientKey::generate_seeded_for_tests(&set, [key; 32]).expect("made");
                let bits: Vec<bool> = words(key.into()).take(4).map(|x| x & 1 == 1).collect();
                (client, bits)
            },
            |(client, bits)| {
                black_box(client.encrypt_bits(bits).expect("encrypted"));
            },
        );
    }
    drop(pool);
}
