//! Thousands of malformed inputs: each is refused with an error that names the problem,
//! none panics.

use girih_backend::{KeySource, LoadOptions, NoProgress, Transform};
use girih_cpu::CpuBackend;
use girih_tfhe::{
    ClientKey, Counts, Error, EvaluationKeys, ExplicitKeys, Gate, LookUpTable, LweCiphertexts,
    Mismatch, ParameterSet, ServerKey,
};
use proptest::prelude::*;
use std::sync::OnceLock;

/// Everything good, made once; cases spoil copies of it.
struct Good {
    set: ParameterSet,
    toml: String,
    client: ClientKey,
    client_bytes: Vec<u8>,
    keys: EvaluationKeys,
    key_bytes: Vec<u8>,
    server: ServerKey,
    batch: LweCiphertexts,
    batch_bytes: Vec<u8>,
}

fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let set = ParameterSet::by_name("INSECURE_TOY_R3").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("prime words");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("prime words");
        let options = LoadOptions::default().with_transform(Transform::Ntt);
        let server = ServerKey::load(&CpuBackend::new(), &keys, &options, &NoProgress)
            .expect("the CPU runs every set");
        let batch = client.encrypt_bits(&[true; 12]).expect("four ciphertexts");
        Good {
            toml: set.to_toml(),
            client_bytes: client.to_bytes().expect("prime words").to_vec(),
            key_bytes: keys.to_bytes().expect("prime words"),
            batch_bytes: batch.to_bytes().expect("prime words"),
            set,
            client,
            keys,
            server,
            batch,
        }
    })
}

/// The message of an error, which must be one line.
fn message<T>(result: Result<T, Error>) -> String {
    let message = result.err().expect("must be refused").to_string();
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
    message
}

/// Bytes before the parameter set.
const HEADER: usize = 34;

/// Bytes with a header and a checksum that are right for them, as someone who changes them on
/// purpose would write them.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    girih_rlwe::wire::reseal(&mut bytes);
    bytes
}

/// A field of the good file and a value that it cannot have.
fn impossible_field() -> impl Strategy<Value = (&'static str, String)> {
    let not_power = prop_oneof![
        Just(0i64),
        Just(3),
        5i64..8,
        any::<i64>().prop_filter("no power of two", |x| *x < 0 || x.count_ones() != 1)
    ];
    let outside = |low: i64, high: i64| prop_oneof![i64::MIN..low, high + 1..i64::MAX];
    let number = prop_oneof![
        (Just("n"), outside(1, 8192)),
        (Just("q"), prop_oneof![not_power.clone(), (10u32..62).prop_map(|b| 1 << b)]),
        (Just("N"), prop_oneof![outside(256, 8192), not_power.clone()]),
        (Just("k"), outside(1, 4)),
        (Just("r"), outside(1, 16)),
        (Just("log2_Q"), outside(27, 27)),
        (Just("base_g"), not_power.clone()),
        (Just("dropped"), outside(0, 3)),
        (Just("q_ks"), prop_oneof![not_power.clone(), (41u32..62).prop_map(|b| 1 << b)]),
        (Just("base_ks"), prop_oneof![not_power, (13u32..62).prop_map(|b| 1 << b)]),
    ]
    .prop_map(|(field, value)| (field, value.to_string()));
    let other = prop_oneof![
        (Just("sigma"), prop_oneof![-1e9f64..0.24, 65f64..1e9].prop_map(|x| format!("{x:.3}"))),
        (Just("sigma"), Just("inf".to_owned())),
        (Just("mode"), "\"[A-Z]{3,6}\""),
        (Just("secret"), "\"[a-z]{1,5}\""),
        (Just("name"), "\"[ ,;/]{0,9}\""),
        (
            Just("words"),
            prop_oneof![
                Just("[]".to_owned()),
                prop::collection::vec(any::<u16>(), 1..9).prop_map(|v| format!("{v:?}"))
            ]
        ),
        (
            prop::sample::select(vec!["n", "q", "N", "k", "r", "q_ks", "sigma"]),
            prop_oneof!["\"[a-z0-9]{0,9}\"", Just("[1]".to_owned()), Just("true".to_owned())]
        ),
        (prop::sample::select(vec!["n", "q", "k"]), Just("1e300".to_owned())),
    ];
    prop_oneof![3 => number, 2 => other]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn parameter_files_with_one_impossible_value((field, value) in impossible_field()) {
        let text: String = good().toml.lines().map(|line| {
            if line.starts_with(&format!("{field} =")) { format!("{field} = \
                {value}\n") } else { format!("{line}\n") }
        }).collect();
        let message = message(ParameterSet::from_toml(&text));
        // A wrong k, N or base may first show in the primes or digits that no longer fit it.
        let named = message.contains(field) || (field == "N" && message.contains("words"));
        prop_assert!(named, "{field} = {value}: {message}");
    }

    #[test]
    fn parameter_files_with_lines_lost_or_gained(
        lost in 0usize..14,
        gained in "[a-zA-Z_]{1,12}",
        at in 0usize..14,
    ) {
        let lines: Vec<_> = good().toml.lines().collect();
        let rest = lines.iter().enumerate().filter(|(i, _)| *i != lost % lines.len());
        let without: Vec<_> = rest.map(|(_, l)| *l).collect();
        let field = lines[lost % lines.len()].split(' ').next().unwrap_or("");
        match ParameterSet::from_toml(&without.join("\n")) {
            // The primes may be left to the library.
            Ok(set) => prop_assert!(field == "words" && set == good().set),
            Err(error) => prop_assert!(error.to_string().contains(field), "{error}"),
        }
        let mut with = lines.clone();
        let extra = format!("{gained} = 1");
        with.insert(at % lines.len(), &extra);
        let message = message(ParameterSet::from_toml(&with.join("\n")));
        prop_assert!(message.contains(&gained), "{message}");
    }

    #[test]
    fn any_text_is_no_parameter_file(
        text in "\\PC{0,200}",
        cut in any::<prop::sample::Index>(),
        byte in any::<char>(),
    ) {
        message(ParameterSet::from_toml(&text));
        // A good file with one character changed is refused or still means a valid set.
        let mut text: Vec<char> = good().toml.chars().collect();
        let at = cut.index(text.len());
        text[at] = byte;
        match ParameterSet::from_toml(&text.iter().collect::<String>()) {
            Ok(set) => prop_assert!(set.shape().validate().is_ok()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn serialized_things_cut_short(which in 0usize..3, cut in any::<prop::sample::Index>()) {
        let good = good();
        let bytes = [&good.client_bytes, &good.key_bytes, &good.batch_bytes][which];
        let bytes = &bytes[..cut.index(bytes.len())];
        let message = match which {
            0 => message(ClientKey::from_bytes(bytes)),
            1 => message(EvaluationKeys::from_bytes(bytes)),
            _ => message(LweCiphertexts::from_bytes(bytes)),
        };
        prop_assert!(message.contains("truncated"), "{message}");
    }

    #[test]
    fn serialized_things_cut_short_on_purpose(
        which in 0usize..3,
        cut in any::<prop::sample::Index>(),
    ) {
        let good = good();
        let bytes = [&good.client_bytes, &good.key_bytes, &good.batch_bytes][which];
        let bytes = sealed(bytes[..HEADER + 16 + cut.index(bytes.len() - HEADER - 16)].to_vec());
        let message = match which {
            0 => message(ClientKey::from_bytes(&bytes)),
            1 => message(EvaluationKeys::from_bytes(&bytes)),
            _ => message(LweCiphertexts::from_bytes(&bytes)),
        };
        prop_assert!(message.contains("truncated"), "{message}");
    }

    #[test]
    fn serialized_things_with_a_wrong_head(which in 0usize..3, at in 0usize..8, by in 1u8..=255) {
        let good = good();
        let mut bytes = [&good.client_bytes, &good.key_bytes, &good.batch_bytes][which].clone();
        bytes[at] ^= by;
        let message = match which {
            0 => message(ClientKey::from_bytes(&bytes)),
            1 => message(EvaluationKeys::from_bytes(&bytes)),
            _ => message(LweCiphertexts::from_bytes(&bytes)),
        };
        let want = match at {
            0..4 => "not written by this library",
            4..6 => "format version",
            6 => "not of TFHE",
            _ => "these bytes hold",
        };
        prop_assert!(message.contains(want), "{message}");
    }

    #[test]
    fn serialized_things_with_bytes_changed(
        which in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        near_head: bool,
    ) {
        let good = good();
        let whole = [&good.client_bytes, &good.key_bytes, &good.batch_bytes][which];
        let mut bytes = whole.clone();
        let range = if near_head { bytes.len().min(400) } else { bytes.len() };
        for (at, value) in changes {
            bytes[at.index(range)] = value;
        }
        let names_it = |error: Error| matches!(error, Error::Malformed { .. });
        let refused = match which {
            0 => ClientKey::from_bytes(&bytes).err(),
            1 => EvaluationKeys::from_bytes(&bytes).err(),
            _ => LweCiphertexts::from_bytes(&bytes).err(),
        };
        prop_assert_eq!(refused.map(names_it), (bytes != *whole).then_some(true));
        // Changed on purpose: what is accepted must be whole and in range; what is refused must say
        // what it is and why.
        let bytes = sealed(bytes);
        match which {
            0 => {
                if let Err(error) = ClientKey::from_bytes(&bytes) { prop_assert!(names_it(error)) }
            }
            1 => match EvaluationKeys::from_bytes(&bytes) {
                Ok(keys) => {
                    let mut block = vec![0; keys.shape().bootstrapping_block_len()];
                    keys.bootstrapping_block(keys.shape().lwe_dimension - 1, &mut block);
                    let modulus = keys.shape().key_modulus_value().unwrap_or(0);
                    prop_assert!(block.iter().all(|&w| w < modulus));
                }
                Err(error) => prop_assert!(names_it(error)),
            },
            _ => match LweCiphertexts::from_bytes(&bytes) {
                Ok(batch) => {
                    let modulus = batch.set().lwe_modulus();
                    prop_assert!(batch.words().iter().all(|&w| u128::from(w) < modulus));
                }
                Err(error) => prop_assert!(names_it(error)),
            },
        }
    }

    #[test]
    fn ciphertexts_of_wrong_length_or_range(
        len in 0usize..400,
        at in any::<prop::sample::Index>(),
        value: u32,
    ) {
        let set = &good().set;
        let whole = set.shape().ciphertext_len();
        let result = LweCiphertexts::from_words(set, vec![0; len]);
        match (len, len % whole) {
            (0, _) => prop_assert!(message(result).contains("empty")),
            (_, 0) => prop_assert!(result.is_ok()),
            _ => { let text = message(result); prop_assert!(text.contains("no whole number of \
                ciphertexts of 67"), "{text}") }
        }
        let mut words = good().batch.words().to_vec();
        let at = at.index(words.len());
        words[at] = value | 512;
        let message = message(LweCiphertexts::from_words(set, words));
        prop_assert!(message.contains(&format!("word {} of ciphertext \
            {}", at % whole, at / whole)) && message.contains("q is 512"), "{message}");
    }

    #[test]
    fn batches_that_are_no_batches(len in 0usize..20, modulus: u64, large in 4u64..) {
        let client = &good().client;
        let allowed = match (client.encrypt(&vec![1; len], 4), len % 3) {
            (Ok(_), 0) if len > 0 => None,
            (Err(Error::Mismatch(Mismatch::Count { found, allowed, .. })), _) => {
                prop_assert_eq!(found, len);
                Some(allowed)
            }
            (other, _) => { prop_assert!(false, "{:?}", other.map(|b| b.len())); None }
        };
        let wanted = if len == 0 { Some(Counts::From(1)) } else { Some(Counts::MultipleOf(3)) };
        prop_assert_eq!(allowed, wanted.filter(|_| len == 0 || len % 3 != 0));
        let fits = "a message does not fit the plaintext modulus 4, which takes 0 to 3";
        prop_assert_eq!(message(client.encrypt(&[0, large, 0], 4)), fits);
        if !(2..=512).contains(&modulus) {
            prop_assert!(message(client.encrypt(&[0; 3], modulus)).contains("plaintext modulus"));
            prop_assert!(message(client.decrypt(&good().batch, modulus)).contains("plaintext \
                modulus"));
        }
    }

    #[test]
    fn explicit_keys_of_wrong_length_or_range(
        which: bool,
        at in any::<prop::sample::Index>(),
        shorter in 1usize..100,
        over in 0u64..1000,
    ) {
        static EXPLICIT: OnceLock<ExplicitKeys> = OnceLock::new();
        let expand = || ExplicitKeys::expand(&good().keys).expect("good keys");
        let explicit = EXPLICIT.get_or_init(expand);
        let make = |spoil: &dyn Fn(&mut Vec<u64>)| {
            let mut bootstrapping = explicit.bootstrapping().to_vec();
            let mut key_switching = explicit.key_switching().to_vec();
            spoil(if which { &mut bootstrapping } else { &mut key_switching });
            message(ExplicitKeys::new(explicit.shape().clone(), bootstrapping, key_switching))
        };
        let name = if which { "bootstrapping_key" } else { "key_switching_key" };
        let short = make(&|words| words.truncate(words.len() - shorter));
        prop_assert!(short.contains(name) && short.contains("the shape needs"), "{short}");
        let modulus = if which { 134_215_681 } else { 1 << 14 };
        let large = make(&|words| { let at = at.index(words.len()); words[at] = modulus + over; });
        prop_assert!(large.contains(name) && large.contains("the largest residue is"), "{large}");
    }
}

#[test]
fn the_bodies_of_keys_are_checked_word_by_word() {
    let good = good();
    // The last word before the checksum belongs to the key-switching key, modulo 2^14; the middle
    // is bootstrapping key.
    let mut bytes = good.key_bytes.clone();
    let last = bytes.len() - 17;
    bytes[last] = 0xFF;
    let message_ks = message(EvaluationKeys::from_bytes(&sealed(bytes)));
    assert!(
        message_ks.contains("key-switching key")
            && message_ks.contains("above the largest residue 16383"),
        "{message_ks}"
    );
    let mut bytes = good.key_bytes.clone();
    bytes[1000..1008].fill(0xFF);
    let message_bsk = message(EvaluationKeys::from_bytes(&sealed(bytes)));
    assert!(
        message_bsk.contains("bootstrapping key") && message_bsk.contains("134215680"),
        "{message_bsk}"
    );
    let mut bytes = good.key_bytes.clone();
    bytes.push(0);
    assert!(message(EvaluationKeys::from_bytes(&bytes)).contains("1 bytes too many"));
    let message_end = message(EvaluationKeys::from_bytes(&sealed(bytes)));
    assert!(message_end.contains("the compression key's 1 bytes end early"), "{message_end}");
}

#[test]
fn moduli_of_ciphertexts_are_checked() {
    let good = good();
    let at = |log2_modulus| good.client.encrypt_at(&[1; 12], 2, log2_modulus);
    for log2_modulus in [0, 2, 15, 31, 64] {
        let Err(Error::Mismatch(Mismatch::Modulus { log2_found, log2_least, log2_most, .. })) =
            at(log2_modulus)
        else {
            panic!("2^{log2_modulus} is no modulus");
        };
        assert_eq!((log2_found, log2_least, log2_most), (log2_modulus, 3, 14));
    }
    let large = at(14).expect("Q_ks");
    let back =
        LweCiphertexts::from_bytes(&large.to_bytes().expect("prime words")).expect("own output");
    assert_eq!((back.log2_modulus(), back == large), (14, true));
    assert_eq!(
        good.client.decrypt(&back.rescale(9).expect("smaller"), 2).expect("same set"),
        [1; 12]
    );
    for text in [
        message(good.server.gate(Gate::And, &large, &large)),
        message(good.server.not(&large)),
        message(good.server.not(&good.server.upload(&large).expect("fits"))),
    ] {
        assert!(text.contains("2^14") && text.contains("2^9"), "{text}");
    }
    assert!(message(large.rescale(15)).contains("2^14"));
    assert!(message(large.reduce(2)).contains("2^2"));
    assert!(
        message(LweCiphertexts::weighted_sum(&[(&large, 1), (&good.batch, 1)], 0))
            .contains("must be the same")
    );
    assert!(
        message(LweCiphertexts::concatenate(&[&large, &good.batch])).contains("must be the same")
    );
    assert!(message(large.slice(2..5)).contains("batch of 4"));
    let mut old = good.batch_bytes.clone();
    old[4] = 1;
    let text = message(LweCiphertexts::from_bytes(&old));
    assert!(
        text.contains("format version 1 (of girih before ciphertexts carried their modulus"),
        "{text}"
    );
    old[4] = 2;
    let text = message(LweCiphertexts::from_bytes(&old));
    assert!(
        text.contains("format version 2 (of girih before bytes ended with a checksum")
            && text.contains("anew"),
        "{text}"
    );
    old[4] = 3;
    let text = message(LweCiphertexts::from_bytes(&old));
    assert!(
        text.contains("format version 3 (of girih before random streams were bound to their set"),
        "{text}"
    );
}

#[test]
fn things_of_different_sets_do_not_mix() {
    let good = good();
    let other_set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let other = ClientKey::generate_seeded_for_tests(&other_set, [4; 32]).expect("prime words");
    let batch = other.encrypt_bits(&[true; 12]).expect("six ciphertexts");
    for text in [
        message(good.client.decrypt_bits(&batch)),
        message(good.client.phases(&batch)),
        message(good.server.not(&batch)),
        message(good.server.upload(&batch)),
        message(good.server.gate(Gate::Nand, &batch, &batch)),
    ] {
        assert!(text.contains("INSECURE_TOY_R2") && text.contains("INSECURE_TOY_R3"), "{text}");
    }
    let short = good.client.encrypt_bits(&[true; 3]).expect("one ciphertext");
    assert!(
        message(good.server.gate(Gate::And, &good.batch, &short))
            .contains("batches of ciphertexts have the lengths [4, 1]")
    );
    assert!(
        message(good.server.gates(&[Gate::And], &good.batch, &good.batch))
            .contains("1 gates for 4 ciphertexts")
    );
    let table = LookUpTable::new(2, |m| m).expect("2 bits");
    assert!(
        message(good.server.apply_each(&good.batch, std::slice::from_ref(&table)))
            .contains("1 tables for 4 ciphertexts")
    );
    assert!(
        message(good.server.apply_each_slot(&good.batch, std::slice::from_ref(&table)))
            .contains("1 tables for 12 messages")
    );
    let mixed = [table.clone(), table.clone(), LookUpTable::new(1, |m| m).expect("1 bit")];
    assert!(message(good.server.apply_slots(&good.batch, &mixed)).contains("same number of bits"));
    assert!(message(good.server.apply_slots(&good.batch, &[table])).contains("1 tables for the"));
    let one = LookUpTable::new(1, |m| m).expect("1 bit");
    for (inputs, weights) in [(0, 0), (1, 2), (2, 1), (5, 5)] {
        let inputs = vec![&good.batch; inputs];
        let refused = message(good.server.apply_weighted(&inputs, &vec![1; weights], &one));
        assert!(
            refused.contains("there must be 1 to 4") || refused.contains("weights for"),
            "{refused}"
        );
    }
    let fine = LookUpTable::new(8, |m| m).expect("8 bits");
    assert!(
        message(good.server.apply(&good.batch, &fine)).contains("is 8, and must be from 1 to 7")
    );
    assert!(message(LookUpTable::new(2, |m| m + 1)).contains("what the table maps 3 to is 4"));
    assert!(message(LookUpTable::new(0, |m| m)).contains("1 to 11"));
    assert!(
        message(good.client.encrypt_messages(&[0, 4, 0], 2))
            .contains("a message does not fit 2 bits")
    );
    assert!(message(good.server.allocate(0)).contains("no ciphertexts"));
    assert!(
        message(ClientKey::from_secrets(&good.set, vec![0; 3], vec![])).contains("3 coefficients")
    );
    assert!(
        message(ClientKey::from_secrets(&good.set, vec![2; 192], vec![0; 768])).contains("Ternary")
    );
}

#[test]
fn keys_and_ciphertexts_survive_serialization() {
    let good = good();
    let client = ClientKey::from_bytes(&good.client_bytes).expect("own output");
    let batch = LweCiphertexts::from_bytes(&good.batch_bytes).expect("own output");
    assert_eq!(client.decrypt_bits(&batch).expect("same set"), [true; 12]);
    assert!(batch == good.batch && batch.to_bytes().expect("prime words") == good.batch_bytes);
    assert_eq!(*client.to_bytes().expect("prime words"), good.client_bytes);
    let keys = EvaluationKeys::from_bytes(&good.key_bytes).expect("own output");
    assert_eq!(keys.to_bytes().expect("prime words"), good.key_bytes);
    let shown = format!("{:?} {:?} {:?}", good.client, good.keys, good.batch);
    assert!(shown.len() < 200 && shown.contains("INSECURE_TOY_R3"), "{shown}");
}
