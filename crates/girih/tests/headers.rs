//! What stands on ciphertexts of bits, messages and integers besides their words tells nothing of
//! what is encrypted; `crates/ckks/tests/headers.rs` says the same of vectors.

use girih::circuit::EncryptedBits;
use girih::integer::{CompressedIntegers, Encrypted, FheBool, FheInt, FheUint, Integer, Integers};
use girih::tfhe::large::LargeParameters;
use girih::tfhe::prelude::*;
use girih::tfhe::{CompressedResults, LweCiphertexts, PublicKey, SeededCiphertexts};

/// Length, bytes without the last `payload` of them and without the checksum, and what is shown.
type Public = (usize, Vec<u8>, String);

const CHECKSUM: usize = 16;

fn public(bytes: &[u8], payload: usize, shown: String) -> Public {
    let head = bytes[..bytes.len() - CHECKSUM - payload].to_vec();
    assert!(head.len() > 40 && head.len() < 1000, "{} bytes of a header", head.len());
    (bytes.len(), head, shown)
}

fn whole(x: &LweCiphertexts) -> Public {
    let words = x.words().len() / if x.log2_modulus() > 32 { 2 } else { 1 };
    let payload = words * x.log2_modulus().div_ceil(8) as usize;
    let shown = format!("{x:?} {} {:?}", x.variance(), x.plaintext_modulus());
    public(&x.to_bytes().expect("small"), payload, shown)
}

/// Without the seed of the masks, which comes before the bodies and their length.
fn seeded(x: &SeededCiphertexts) -> Public {
    let bodies = x.messages() * if x.log2_modulus() > 32 { 8 } else { 2 };
    let length = if bodies < 128 { 1 } else { 2 };
    public(&x.to_bytes().expect("small"), bodies + length + 32, format!("{x:?}"))
}

fn compressed(x: &CompressedResults) -> Public {
    let shown = format!("{x:?} {} {}", x.variance(), x.modulus());
    public(&x.to_bytes().expect("small"), packed(x), shown)
}

/// Bytes of masks and bodies, as they are shown.
fn packed(x: &CompressedResults) -> usize {
    let shown = format!("{x:?}");
    let bytes = shown.rsplit(" in ").next().and_then(|rest| rest.split(' ').next());
    bytes.expect("a number of bytes").parse().expect("a number")
}

fn integers<T: Integer<Engine = ServerKey>>(x: &Encrypted<T>) -> (Public, Vec<u8>, String) {
    let (all, own) = (x.to_bytes().expect("small"), x.ciphertexts().to_bytes().expect("small"));
    (whole(x.ciphertexts()), all[..all.len() - own.len()].to_vec(), format!("{x:?}"))
}

/// Holds everything that is public of several encryptions to be the same.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, all: impl IntoIterator<Item = T>) {
    let all: Vec<T> = all.into_iter().collect();
    assert!(all.len() > 1 && all.iter().all(|one| *one == all[0]), "{what}: {all:?}");
}

/// The same for refusals, and that there are such.
fn same_refusal<T, E: std::fmt::Display>(
    what: &str,
    all: impl IntoIterator<Item = std::result::Result<T, E>>,
) {
    let error = |one: std::result::Result<T, E>| match one {
        Ok(_) => panic!("{what}: nothing was refused"),
        Err(error) => error.to_string(),
    };
    same(what, all.into_iter().map(error));
}

const BITS: [[bool; 8]; 3] =
    [[false; 8], [true; 8], [true, false, true, true, false, false, true, false]];

const MESSAGES: [[u64; 8]; 3] = [[0; 8], [3; 8], [0, 1, 2, 3, 3, 2, 1, 0]];

/// What does not fit two bits, or eight messages.
const TOO_LARGE: [[u64; 8]; 3] = [[9; 8], [0, 0, 0, 255, 0, 0, 0, 0], [1, 2, 3, 0, 1, 2, 3, 8]];

#[test]
fn headers_of_any_two_messages_are_equal() {
    for name in ["INSECURE_TOY", "INSECURE_TOY_MR", "INSECURE_INTEGERS"] {
        let set = ParameterSet::by_name(name).expect("built in");
        let client = ClientKey::generate(&set).expect("randomness");
        same("bits", BITS.map(|b| whole(&client.encrypt_bits(&b).expect("eight"))));
        same(
            "circuits",
            BITS.map(|b| {
                let x = EncryptedBits::encrypt(&client, &[b, b]).expect("two");
                (whole(x.ciphertexts()), format!("{x:?}"))
            }),
        );
        let messages = |m: &[u64]| client.encrypt_messages(m, 2).expect("two bits");
        same("messages", MESSAGES.map(|m| whole(&messages(&m))));
        let seeds = |m: &[u64; 8]| client.encrypt_seeded(m, 8).expect("two bits");
        same("seeded", MESSAGES.iter().map(|m| seeded(&seeds(m))));
        same("expanded", MESSAGES.iter().map(|m| whole(&seeds(m).expand())));
        let few = |b: &[bool]| client.encrypt_bits(b).and_then(|x| x.compress_bits());
        same("compressed", BITS.map(|b| compressed(&few(&b).expect("few errors"))));

        same_refusal("messages", TOO_LARGE.map(|m| client.encrypt_messages(&m, 2)));
        same_refusal("any modulus", TOO_LARGE.map(|m| client.encrypt(&m, 8)));
        same_refusal("seeded", TOO_LARGE.map(|m| client.encrypt_seeded(&m, 8)));
        // Decryption of what is no bit, by whoever knows only that it is of words.
        let unknown = [[4u64; 8], [6; 8]].map(|m| {
            let words = client.encrypt(&m, 8).expect("three bits").words().to_vec();
            LweCiphertexts::from_words(&set, words).expect("of this set")
        });
        same_refusal("no bits", unknown.map(|x| client.decrypt_bits(&x)));
    }
}

#[test]
fn headers_under_public_keys_are_equal() {
    let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let client = ClientKey::generate(&set).expect("randomness");
    let key = PublicKey::generate(&client).expect("of the torus");
    same("messages", MESSAGES.map(|m| whole(&key.encrypt_messages(&m, 2).expect("fit"))));
    same_refusal("messages", TOO_LARGE.map(|m| key.encrypt_messages(&m, 2)));
    let numbers = [[0u8, 0], [255, 1], [77, 200]];
    same(
        "integers",
        numbers.map(|v| integers(&Encrypted::<FheUint<8>>::encrypt(&key, &v).expect("fit"))),
    );
}

#[test]
fn headers_of_any_two_large_messages_are_equal() {
    let parameters = LargeParameters::insecure();
    let client = ClientKey::generate(parameters.home()).expect("randomness");
    let log2_modulus = parameters.log2_modulus(8);
    let encrypt = |m: u64| parameters.encrypt(&client, &[m, 1], log2_modulus);
    same("large", [0, 1, 255].map(|m| whole(&encrypt(m).expect("eight bits"))));
    same_refusal("large", [256, 1 << 40].map(encrypt));
}

#[test]
fn headers_of_any_two_integers_are_equal() {
    let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let client = ClientKey::generate(&set).expect("randomness");
    let numbers = [[0u8, 0], [255, 1], [77, 200]];
    let unsigned = |v: [u8; 2]| FheUint::<8>::encrypt(&client, &v).expect("fit");
    same("FheUint8", numbers.map(|v| integers(&unsigned(v))));
    let signed = [[0i8, 0], [-128, 127], [5, -1]];
    same(
        "FheInt8",
        signed.map(|v| integers(&Encrypted::<FheInt<8>>::encrypt(&client, &v).expect("fit"))),
    );
    same(
        "seeded",
        numbers
            .map(|v| seeded(&Encrypted::<FheUint<8>>::encrypt_seeded(&client, &v).expect("fit"))),
    );
    let conditions = [[false, false], [true, false], [true, true]];
    same(
        "FheBool",
        conditions.map(|v| integers(&Encrypted::<FheBool>::encrypt(&client, &v).expect("fit"))),
    );
    same_refusal("FheUint4", [16u8, 255].map(|v| FheUint::<4>::encrypt(&client, &[1, v])));
    same_refusal("FheInt4", [-9i8, 127].map(|v| FheInt::<4>::encrypt(&client, &[v, 1])));
    // Digits that no number has, in the place of numbers.
    let wrong = [4u64, 15].map(|digit| {
        let digits = client.encrypt_messages(&[1, digit, 0, 2], 4).expect("four bits");
        Encrypted::<FheUint<8>>::from_ciphertexts(digits, 1).expect("as many as it has")
    });
    same_refusal("digits", wrong.map(|x| x.decrypt(&client)));

    // What a server makes of them.
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
    let keys = keys.with_compression(&client).expect("its own");
    let server = Device::open("cpu").expect("there is one").load(&keys).expect("fits");
    let server = Integers::new(server).expect("of integers");
    let sums = numbers.map(|v| {
        let x = server.upload(&unsigned(v)).expect("its own");
        x.add(&x).expect("alike")
    });
    same("sums", sums.each_ref().map(|x| integers(&server.download(x).expect("its own"))));
    same(
        "compressed sums",
        sums.each_ref().map(|x| {
            let few: CompressedIntegers<_> = server.download_compressed(x).expect("its own");
            (compressed(few.results()), format!("{few:?}"))
        }),
    );
}
