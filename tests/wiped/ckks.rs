//! Client keys of CKKS.

use crate::heap::{Case, SPARSE, alone, check, left_behind, secret};
use girih::NoProgress;
use girih::ckks::keys::{KeyPart, SwitchingKeySource};
use girih::ckks::{CkksParameters, ClientKey, EvaluationKeys, KeyKind, StreamedKeys};

#[test]
fn client_keys_of_ckks() {
    let _alone = alone();
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let weight = set.bootstrapping().expect("it has one").sparse_weight();
    let sparse = |len: usize| -> Vec<i8> {
        let full = SPARSE.iter().cycle().take(weight).map(|&s| s as i8);
        full.chain(std::iter::repeat(0)).take(len).collect()
    };
    let degree = set.degree();
    assert_eq!(left_behind(|| secret(degree)), 1, "a plain array is noticed");
    assert_eq!(left_behind(|| sparse(degree)), 1, "a plain array is noticed");
    let residues = || secret(degree).iter().map(|&s| i32::from(s)).collect::<Vec<_>>();
    assert_eq!(left_behind(residues), 2, "words are noticed");

    let make = || ClientKey::from_secrets(&set, secret(degree), Some(sparse(degree)));
    let client = make().expect("of the set's distributions");
    let bytes = client.to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);

    let refused = |dense, sparse| {
        drop(ClientKey::from_secrets(&set, dense, sparse).expect_err("impossible secrets"));
    };
    let plain = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
    let cases: [Case<'_>; 13] = [
        ("a key", Box::new(|| drop(make().expect("valid")))),
        ("a wrong length", Box::new(|| refused(secret(degree + 1), Some(sparse(degree))))),
        ("another one", Box::new(|| refused(secret(degree), Some(sparse(degree - 1))))),
        ("no sparse secret", Box::new(|| refused(secret(degree), None))),
        (
            "a wrong coefficient",
            Box::new(|| {
                let mut wrong = secret(degree);
                wrong[degree - 1] = 2;
                refused(wrong, Some(sparse(degree)));
            }),
        ),
        ("a wrong weight", Box::new(|| refused(secret(degree), Some(secret(degree))))),
        (
            "a sparse secret where there is none",
            Box::new(|| {
                let secrets = (secret(plain.degree()), Some(sparse(plain.degree())));
                drop(ClientKey::from_secrets(&plain, secrets.0, secrets.1).expect_err("one more"));
            }),
        ),
        ("writing", Box::new(|| drop(client.to_bytes().expect("serializes")))),
        ("reading", Box::new(|| drop(ClientKey::from_bytes(&bytes).expect("own output")))),
        (
            "reading what is wrong",
            Box::new(|| drop(ClientKey::from_bytes(&damaged).expect_err("impossible secrets"))),
        ),
        (
            "evaluation keys",
            Box::new(|| {
                let client = make().expect("valid");
                let kinds = [
                    KeyKind::Multiplication,
                    KeyKind::DenseToSparse,
                    KeyKind::SparseToDense,
                    KeyKind::conjugation(&set),
                ];
                drop(EvaluationKeys::generate(&client, kinds, &NoProgress).expect("memory"));
            }),
        ),
        (
            "streamed keys",
            Box::new(|| {
                let client = make().expect("valid");
                let (all, some) = (KeyKind::conjugation(&set), KeyKind::Multiplication);
                let keys = StreamedKeys::new(&client, [all, some]).expect("seeds");
                let mut limb = vec![0; set.degree()];
                for position in keys.range(all).positions(&set) {
                    for digit in keys.range(all).digits(&set) {
                        keys.limb(all, digit, KeyPart::Body, position, &mut limb).expect("there");
                    }
                }
                // What the limbs of a key share goes with the last of them, or with all keys.
                keys.limb(some, 0, KeyPart::Body, 0, &mut limb).expect("there");
            }),
        ),
        (
            "use",
            Box::new(|| {
                let client = make().expect("valid");
                let sent = client.public_key().expect("made").encrypt(&[0.5]).expect("a number");
                client.decrypt(&sent).expect("its own");
                client
                    .decrypt_to_share(&client.encrypt(&[0.5]).expect("a number"), 4, 0.0)
                    .expect("few");
            }),
        ),
    ];
    check(&cases);
}
