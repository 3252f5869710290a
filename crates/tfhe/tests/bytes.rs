//! The serialized form: what it is, and that no accident on the way goes unnoticed.

use girih_backend::NoProgress;
use girih_tfhe::{ClientKey, Error, EvaluationKeys, LweCiphertexts, ParameterSet, Result};

/// Bytes of magic, version, scheme, kind and length, and of the checksum.
const HEADER: usize = 16;
const CHECKSUM: usize = 16;

fn client() -> ClientKey {
    let set = ParameterSet::by_name("INSECURE_TOY_R3").expect("built in");
    ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("prime words")
}

/// Client key, evaluation keys and ciphertexts of one client, with what reads them.
#[allow(clippy::type_complexity, reason = "named once, read once")]
fn everything() -> [(&'static str, Vec<u8>, fn(&[u8]) -> Result<()>); 3] {
    let client = client();
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("prime words");
    let batch =
        client.encrypt_bits(&[true, false, true, true, false, false]).expect("two ciphertexts");
    [
        ("client key", client.to_bytes().expect("serializes").to_vec(), |bytes| {
            ClientKey::from_bytes(bytes).map(drop)
        }),
        ("evaluation keys", keys.to_bytes().expect("serializes"), |bytes| {
            EvaluationKeys::from_bytes(bytes).map(drop)
        }),
        ("ciphertexts", batch.to_bytes().expect("serializes"), |bytes| {
            LweCiphertexts::from_bytes(bytes).map(drop)
        }),
    ]
}

#[test]
fn every_flipped_bit_is_found() {
    for (name, good, read) in everything() {
        read(&good).expect("own output");
        // All bytes of small things; of keys the ends, and a sample of what lies between.
        let mut places: Vec<usize> = (0..good.len()).collect();
        if good.len() > 4000 {
            places.retain(|at| *at < 1000 || at + 200 > good.len() || at % 9973 == 0);
        }
        assert!(places.len() > 400, "{name}");
        let mut bytes = good.clone();
        for at in places {
            let bits: &[u8] =
                if good.len() > 4000 { &[1 << (at % 8)] } else { &[1, 2, 4, 8, 16, 32, 64, 128] };
            for bit in bits {
                bytes[at] ^= bit;
                let error = read(&bytes).expect_err("a bit is flipped");
                assert!(matches!(error, Error::Malformed { what, .. } if what == name), "{error}");
                let text = error.to_string();
                let said = match at {
                    0..4 => text.contains("not written by this library"),
                    4..6 => text.contains("format version"),
                    6 => text.contains("not of TFHE"),
                    7 => text.contains("these bytes hold"),
                    8..HEADER => text.contains("the header speaks of"),
                    _ => text.contains("checksum does not match: damaged or truncated in transit"),
                };
                assert!(said, "byte {at} of {name}: {text}");
                bytes[at] ^= bit;
            }
        }
    }
}

#[test]
fn words_that_change_places_are_found() {
    let (_, good, read) = everything().into_iter().next_back().expect("three");
    let end = good.len() - CHECKSUM;
    let mut bytes = good.clone();
    bytes[end - 100..end].rotate_left(1);
    assert_ne!(bytes, good);
    assert!(read(&bytes).expect_err("moved").to_string().contains("checksum"));
}

/// What a seeded key, its masks, its ciphertexts and the format are: who changes any of them raises
/// the version.
#[test]
fn the_format_is_pinned() {
    let pins = everything().map(|(name, bytes, _)| {
        assert_eq!(bytes[..7], *b"GRIH\x06\x00\x01", "{name}");
        assert_eq!(bytes[8..HEADER], (bytes.len() as u64).to_le_bytes(), "{name}");
        let (front, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        assert_eq!(checksum, &blake3::hash(front).as_bytes()[..CHECKSUM], "{name}");
        let hex: String = checksum.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}: {} bytes, {hex}", bytes.len())
    });
    assert_eq!(
        pins,
        [
            "client key: 1198 bytes, 391d43f4bf117baafb7792e6023aace0",
            "evaluation keys: 4861713 bytes, 68b94b64efc55ddb71cad6ac3a575a50",
            "ciphertexts: 515 bytes, 11419693a41c2b6fe7a33ab87c2833bf",
        ]
    );
    assert_eq!(client().key_id().to_string(), "02ab06b22c2f583002cc4276a721d1dd");
}
