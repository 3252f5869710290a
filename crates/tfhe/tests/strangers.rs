//! Bytes from strangers: how much they can make a decoder do, and what its errors tell.

use girih_backend::NoProgress;
use girih_rlwe::wire::{self, Bytes, Kind};
use girih_tfhe::{
    ClientKey, Error, EvaluationKeys, LweCiphertexts, Mode, ParameterLiteral, ParameterSet, Result,
};
use std::time::{Duration, Instant};

/// No decoder takes longer on any input below 1 MB.
const LIMIT: Duration = Duration::from_millis(50);

const KINDS: [Kind; 3] =
    [Kind::new(1, "client key"), Kind::new(2, "evaluation keys"), Kind::new(3, "ciphertexts")];

fn set(name: &str) -> ParameterSet {
    ParameterSet::by_name(name).expect("built in")
}

fn why<T>(result: Result<T>) -> String {
    result.err().expect("must be refused").to_string()
}

/// The least time of three, since other programs run, too.
fn time(mut run: impl FnMut()) -> Duration {
    (0..3)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .min()
        .expect("three")
}

/// A set whose bytes are given, right or wrong.
#[derive(Clone, PartialEq)]
struct Given(String);

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GIVEN")
    }
}

impl girih_rlwe::ParameterSet for Given {
    const SCHEME: girih_rlwe::Scheme = girih_rlwe::Scheme::Tfhe;
    const KINDS: &'static [Kind] = &KINDS;

    fn to_canonical(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }

    fn from_canonical(_: &[u8]) -> std::result::Result<Self, String> {
        Err("only written".into())
    }
}

fn mr(size: i64, log2_key_modulus: i64) -> ParameterLiteral {
    ParameterLiteral {
        name: "SLOW".into(),
        polynomial_size: size,
        q: 512,
        log2_key_modulus: Some(log2_key_modulus),
        words: None,
        ..set("INSECURE_TOY_MR").literal()
    }
}

#[test]
fn sets_from_strangers_name_their_primes_and_take_no_time() {
    for log2_t in 18..=60 {
        let text = mr(256, log2_t).to_toml();
        for (kind, key) in KINDS.into_iter().zip([true, true, false]) {
            let key = key.then(|| girih_tfhe::KeyId::from_bytes([1; 16]).expect("not zero"));
            let bytes = wire::encode(kind, &Given(text.clone()), key, 0, &()).expect("small");
            let read = || match kind.name() {
                "client key" => why(ClientKey::from_bytes(&bytes)),
                "evaluation keys" => why(EvaluationKeys::from_bytes(&bytes)),
                _ => why(LweCiphertexts::from_bytes(&bytes)),
            };
            let took = time(|| {
                assert!(read().contains("words = missing: a serialized set names its primes"))
            });
            assert!(took < LIMIT, "2^{log2_t}: {took:?}");
        }
    }
}

/// Files may leave the primes to the library, which finds any or says that there are none.
#[test]
fn every_key_modulus_of_a_file_is_found_at_once() {
    // The built-in sets are made once.
    let _ = set("STD128");
    for size in [256, 512, 1024, 2048, 4096, 8192] {
        for log2_t in 1..=64 {
            let literal = mr(size, log2_t);
            let took = time(|| drop(ParameterSet::new(&literal)));
            assert!(took < LIMIT, "N = {size}, log2_T = {log2_t}: {took:?}");
            let literal = ParameterLiteral { mode: Mode::Gd, log2_key_modulus: None, ..literal };
            let literal = ParameterLiteral {
                log2_accumulator_modulus: log2_t,
                base_g: Some(256),
                dropped: Some(0),
                ..literal
            };
            let took = time(|| drop(ParameterSet::new(&literal)));
            assert!(took < LIMIT, "N = {size}, log2_Q = {log2_t}: {took:?}");
        }
    }
}

#[test]
fn keys_that_would_fill_the_machine_are_refused_by_their_set() {
    let mut literal = set("STD128").literal();
    (literal.name, literal.n, literal.base_ks, literal.q_ks) = ("HUGE".into(), 8192, 4096, 1 << 24);
    let huge = ParameterSet::new(&literal).expect("possible");
    let gigabytes = EvaluationKeys::expanded_bytes(&huge) >> 30;
    assert!(gigabytes > 400, "{gigabytes}");
    let key = girih_tfhe::KeyId::from_bytes([1; 16]);
    let bytes =
        wire::encode(KINDS[1], &huge, key, 0, &([0u8; 32], Bytes(&[]), Bytes(&[]))).expect("small");
    let text = why(EvaluationKeys::from_bytes(&bytes));
    assert!(
        text.contains("keys of HUGE expand to ")
            && text.contains(&EvaluationKeys::LARGEST_EXPANSION.to_string()),
        "{text}"
    );
    // Who expects this very set gets as far as the payload.
    let text = why(EvaluationKeys::from_bytes_for(&huge, &bytes));
    assert!(text.contains("bootstrapping key of HUGE: 0 bytes where"), "{text}");
    // No published set is refused, whatever its packing.
    for set in ParameterSet::all() {
        for packed in (1..=16).filter_map(|r| set.with_packing(r).ok()) {
            let bytes = EvaluationKeys::expanded_bytes(&packed);
            assert!(bytes <= EvaluationKeys::LARGEST_EXPANSION, "{packed}: {bytes}");
        }
    }
}

#[test]
fn what_is_of_another_set_is_refused_before_its_payload() {
    let (mine, other) = (set("INSECURE_TOY"), set("INSECURE_TOY_R2"));
    let client = ClientKey::generate_seeded_for_tests(&mine, [1; 32]).expect("valid");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
    let batch = client.encrypt_bits(&[true, false]).expect("two");
    let all = [
        client.to_bytes().expect("serializes").to_vec(),
        keys.to_bytes().expect("serializes"),
        batch.to_bytes().expect("serializes"),
    ];
    let read_for = |which: usize, set: &ParameterSet, bytes: &[u8]| match which {
        0 => ClientKey::from_bytes_for(set, bytes).map(drop),
        1 => EvaluationKeys::from_bytes_for(set, bytes).map(drop),
        _ => LweCiphertexts::from_bytes_for(set, bytes).map(drop),
    };
    for (which, bytes) in all.iter().enumerate() {
        read_for(which, &mine, bytes).expect("its own set");
        let text = why(read_for(which, &other, bytes));
        let both = text.contains("INSECURE_TOY_R2")
            && (text.contains("they are of INSECURE_TOY,") || text.contains("needs at most"));
        assert!(both, "{text}");
        // A payload that makes no sense is not what is complained of.
        let set_len = usize::from(u16::from_le_bytes([bytes[32], bytes[33]]));
        let mut cut = bytes[..34 + set_len + 16].to_vec();
        wire::reseal(&mut cut);
        assert!(
            why(read_for(which, &other, &cut))
                .contains("they are of INSECURE_TOY, where INSECURE_TOY_R2 is expected")
        );
        assert!(why(read_for(which, &mine, &cut)).contains("truncated"));
    }
    // More than the set needs is refused by its length.
    let mut long = all[0].clone();
    long.extend([0; 1 << 20]);
    wire::reseal(&mut long);
    assert!(why(ClientKey::from_bytes_for(&mine, &long)).contains("needs at most"));
    assert!(why(ClientKey::from_bytes(&long)).contains("needs at most"));
    // A key must say whose it is.
    let mut nameless = all[1].clone();
    nameless[16..32].fill(0);
    wire::reseal(&mut nameless);
    assert!(why(EvaluationKeys::from_bytes(&nameless)).contains("they name no client key"));
}

/// Whoever can make a service decrypt must not learn from its errors what came out.
#[test]
fn errors_of_decryption_tell_no_value_and_no_place() {
    let client =
        ClientKey::generate_seeded_for_tests(&set("INSECURE_TOY"), [1; 32]).expect("valid");
    let text = |messages: &[u64], modulus, read: &dyn Fn(&LweCiphertexts) -> Result<()>| {
        let error =
            read(&client.encrypt(messages, modulus).expect("messages")).expect_err("refused");
        assert!(matches!(error, Error::Mismatch(_)));
        error.to_string()
    };
    let bits = |batch: &LweCiphertexts| client.decrypt_bits(batch).map(drop);
    let messages = |batch: &LweCiphertexts| client.decrypt_messages(batch, 2).map(drop);
    let of_bits =
        [&[2u64, 0, 0][..], &[3, 0, 0], &[0, 1, 2], &[2, 3, 2]].map(|m| text(m, 4, &bits));
    let of_messages =
        [&[4u64, 0, 0][..], &[7, 0, 0], &[0, 1, 5], &[4, 6, 7]].map(|m| text(m, 8, &messages));
    for texts in [of_bits, of_messages] {
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
}
