//! Bytes from strangers: every decoder refuses what is wrong, in words, and never panics.

use girih_backend::NoProgress;
use girih_ckks::{
    Ciphertext, CkksParameters, ClientKey, Error, EvaluationKeys, KeyKind, PublicKey,
};
use girih_rlwe::wire::reseal;

fn set(name: &str) -> CkksParameters {
    CkksParameters::by_name(name).expect("built in")
}

/// A set whose serialized things are small.
fn small() -> CkksParameters {
    let text = "name = 'INSECURE_SMALL'\nlog2_degree = 4\nscale = 1073741824.0\n\
                terminal = []\nmain = [786433, 1179649, 1073872897, 1073479681, 1074266113]\n\
                auxiliary = [2147352577, 2146959361, 2146041857]\n\
                states = [[3, 0], [4, 0], [5, 0]]\n";
    CkksParameters::from_toml(text).expect("valid")
}

type Decoder = fn(&[u8]) -> Result<(), Error>;

/// One thing of each kind, and what reads it.
fn things() -> Vec<(&'static str, Vec<u8>, Decoder)> {
    let set = small();
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("it is made");
    let kinds = [KeyKind::Multiplication, KeyKind::conjugation(&set)];
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
    let ciphertext = client.encrypt(&[0.5, -0.25]).expect("it encrypts");
    let public = client.public_key().expect("it is made");
    vec![
        ("client key", client.to_bytes().expect("small").to_vec(), |b| {
            ClientKey::from_bytes(b).map(|_| ())
        }),
        ("public key", public.to_bytes().expect("small"), |b| PublicKey::from_bytes(b).map(|_| ())),
        ("evaluation keys", keys.to_bytes().expect("small"), |b| {
            EvaluationKeys::from_bytes(b).map(|_| ())
        }),
        ("ciphertext", ciphertext.to_bytes().expect("small"), |b| {
            Ciphertext::from_bytes(b).map(|_| ())
        }),
    ]
}

#[test]
fn what_is_written_is_read_and_nothing_else() {
    let things = things();
    for (name, bytes, decode) in &things {
        assert!(decode(bytes).is_ok(), "{name}");
        for (other, foreign, _) in &things {
            if name != other {
                let text = decode(foreign).expect_err("another kind").to_string();
                assert!(text.contains("these bytes hold"), "{name} from {other}: {text}");
            }
        }
        for cut in [0, 1, 20, 33, bytes.len() / 2, bytes.len() - 1] {
            let text = decode(&bytes[..cut]).expect_err("cut").to_string();
            assert!(text.contains("truncated"), "{name}: {text}");
        }
        let text = decode(&[&bytes[..], &[0]].concat()).expect_err("longer").to_string();
        assert!(text.contains("too many"), "{name}: {text}");
        for at in (0..bytes.len()).step_by(7) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(decode(&flipped).is_err(), "{name}: byte {at}");
        }
    }
}

/// Mutations whose checksum is right again: what lies behind it is checked too.
#[test]
fn resealed_mutations_never_panic() {
    let mut state = 9u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut refused, rounds) = (0, 4000);
    for (_, bytes, decode) in things() {
        for _ in 0..rounds {
            let mut mutated = bytes.clone();
            for _ in 0..=next(3) {
                let at = match next(3) {
                    // The set and the first fields, where most decisions are made.
                    0 => (34 + next(150)).min(mutated.len() - 1),
                    1 => next(mutated.len()),
                    _ => mutated.len() - 1 - next(mutated.len() / 2),
                };
                match next(4) {
                    0 => mutated[at] ^= 1 << next(8),
                    1 => mutated[at] = next(256) as u8,
                    2 => mutated.truncate(at.max(50)),
                    _ => mutated.insert(at, next(256) as u8),
                }
            }
            reseal(&mut mutated);
            refused += usize::from(decode(&mutated).is_err());
        }
    }
    // Some change only a residue, a seed or a name, and are another valid thing.
    assert!(refused > 2 * rounds, "{refused}");
}

#[test]
fn other_sets_are_named_before_anything_is_read() {
    let (a, b) = (set("INSECURE_CKKS_D40_N10"), set("INSECURE_CKKS_D35_N10"));
    let client = ClientKey::generate_seeded_for_tests(&a, [1; 32]).expect("it is made");
    let ciphertext = client.encrypt_at(&[1.0, -0.5], 0).expect("it encrypts");
    let bytes = ciphertext.to_bytes().expect("small");
    assert_eq!(Ciphertext::from_bytes_for(&a, &bytes).expect("its own"), ciphertext);
    let text = Ciphertext::from_bytes_for(&b, &bytes).expect_err("another set").to_string();
    assert!(text.contains("INSECURE_CKKS_D40_N10") && text.contains("D35_N10"), "{text}");
    let bytes = client.to_bytes().expect("small");
    assert!(ClientKey::from_bytes_for(&a, &bytes).is_ok());
    assert!(ClientKey::from_bytes_for(&b, &bytes).is_err());
    let public = client.public_key().expect("it is made");
    let bytes = public.to_bytes().expect("small");
    let read = PublicKey::from_bytes_for(&a, &bytes).expect("its own");
    assert!(PublicKey::from_bytes_for(&b, &bytes).is_err());
    assert_eq!(read.key_id(), client.key_id());
    let found = read.within(2.0).encrypt(&[1.0, 2.0]).expect("it encrypts");
    let found = client.decrypt_real(&found).expect("it decrypts");
    assert!((found[0] - 1.0).abs() < 1e-6 && (found[1] - 2.0).abs() < 1e-6);
    let keys = EvaluationKeys::generate(&client, [KeyKind::DenseToSparse], &NoProgress);
    let bytes = keys.expect("they are made").to_bytes().expect("small");
    assert!(EvaluationKeys::from_bytes_for(&a, &bytes).is_ok());
    assert!(EvaluationKeys::from_bytes_for(&b, &bytes).is_err());
}

/// Parameter files come from anyone too.
#[test]
fn mutated_parameter_files_never_panic() {
    let text = set("CKKS_D40").to_toml();
    let mut state = 5u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let (mut refused, rounds) = (0, 1500);
    for _ in 0..rounds {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=next(2) {
            let at = next(bytes.len());
            let with = b"0123456789-.e[]\"=\nnaif_,"[next(24)];
            match next(3) {
                0 => bytes[at] = with,
                1 => bytes.insert(at, with),
                _ => drop(bytes.drain(at..(at + 1 + next(20)).min(bytes.len()))),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        refused += usize::from(CkksParameters::from_toml(&text).is_err());
    }
    assert!(refused > rounds * 9 / 10, "{refused}");
}
