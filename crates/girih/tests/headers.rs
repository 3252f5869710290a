//! What stands on ciphertexts of bits, messages and integers besides their words tells nothing of
//! what is encrypted; for vectors, `crates/ckks/tests/headers.rs` says the same.

use girih::integer::{Encrypted, FheBool, FheInt, FheUint};
use girih::tfhe::{ClientKey, LweCiphertexts, ParameterSet, SeededCiphertexts};

/// The serialized form without its last `payload` bytes of words and the checksum; its length; what
/// `Debug` shows.
fn public(bytes: &[u8], payload: usize, shown: String) -> (usize, Vec<u8>, String) {
    let head = bytes[..bytes.len() - 16 - payload].to_vec();
    assert!(head.len() > 40 && head.len() < 1000, "{} bytes of a header", head.len());
    (bytes.len(), head, shown)
}

fn whole(x: &LweCiphertexts) -> (usize, Vec<u8>, String) {
    let each = x.log2_modulus().div_ceil(8) as usize;
    let words = if x.log2_modulus() > 32 { x.words().len() / 2 } else { x.words().len() };
    public(&x.to_bytes().expect("small"), words * each, format!("{x:?} {}", x.variance()))
}

/// Without the seed of the masks, 32 bytes before the bodies and their length.
fn seeded(x: &SeededCiphertexts) -> (usize, Vec<u8>, String) {
    let bodies = x.messages() * x.log2_modulus().div_ceil(8) as usize;
    let length = if bodies < 128 { 1 } else { 2 };
    public(&x.to_bytes().expect("small"), bodies + length + 32, format!("{x:?}"))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, all: impl IntoIterator<Item = T>) {
    let all: Vec<T> = all.into_iter().collect();
    assert!(all.len() > 1 && all.iter().all(|one| *one == all[0]), "{what}: {all:?}");
}

#[test]
fn headers_of_any_two_messages_are_equal() {
    for name in ["INSECURE_TOY_R4", "INSECURE_INTEGERS"] {
        let set = ParameterSet::by_name(name).expect("built in");
        let client = ClientKey::generate(&set).expect("randomness");
        let bits = [[false; 8], [true; 8], [true, false, true, true, false, false, true, false]];
        same("bits", bits.map(|b| whole(&client.encrypt_bits(&b).expect("eight"))));
        let messages = [[0; 8], [3; 8], [0, 1, 2, 3, 3, 2, 1, 0]];
        same("messages", messages.map(|m| whole(&client.encrypt_messages(&m, 2).expect("fit"))));
        same("seeded", messages.map(|m| seeded(&client.encrypt_seeded(&m, 8).expect("fit"))));
        let refused = [[9, 0, 0, 0], [0, 0, 0, 255]];
        same("refusals", refused.map(|m| client.encrypt_messages(&m, 2).expect_err("no").to_string()));
        same("refusals", refused.map(|m| client.encrypt(&m, 8).expect_err("no").to_string()));
    }
}

#[test]
fn headers_of_any_two_integers_are_equal() {
    let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let client = ClientKey::generate(&set).expect("randomness");
    let numbers = [[0u8, 0], [255, 1], [77, 200]];
    same("FheUint8", numbers.map(|v| {
        let x = Encrypted::<FheUint<8>>::encrypt(&client, &v).expect("fit");
        let header = x.to_bytes().expect("small").len() - x.ciphertexts().to_bytes().expect("").len();
        (header, whole(x.ciphertexts()), format!("{x:?}"))
    }));
    let numbers = [[0i8, 0], [-128, 127], [5, -1]];
    same("FheInt8", numbers.map(|v| {
        let x = Encrypted::<FheInt<8>>::encrypt(&client, &v).expect("fit");
        (whole(x.ciphertexts()), format!("{x:?}"))
    }));
    same("seeded FheUint8", [[0u8, 1], [9, 250]].map(|v| {
        seeded(&Encrypted::<FheUint<8>>::encrypt_seeded(&client, &v).expect("fit"))
    }));
    same("FheBool", [[false, false], [true, false]].map(|v| {
        whole(Encrypted::<FheBool>::encrypt(&client, &v).expect("fit").ciphertexts())
    }));
    let refused = [16u8, 255].map(|v| Encrypted::<FheUint<4>>::encrypt(&client, &[v]));
    same("refusals", refused.map(|r| r.expect_err("too large").to_string()));
}
