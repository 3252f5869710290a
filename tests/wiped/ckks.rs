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

/// Those of sets with a third secret, which is handed over behind the sparse one.
#[test]
fn client_keys_with_a_secret_of_the_conjugation_invariant_ring() {
    let _alone = alone();
    let name = "INSECURE_CKKS_D40_30BIT_INVARIANT_STC_FIRST_N10";
    let set = CkksParameters::by_name(name).expect("built in");
    let degree = set.degree();
    let weights = [
        set.sparse_weight().expect("it has one"),
        set.invariant_weight().expect("it has a third secret"),
    ];
    let others = || -> Vec<i8> {
        let mut both = vec![0; 2 * degree];
        for (half, weight) in both.chunks_exact_mut(degree).zip(weights) {
            half[..weight].iter_mut().zip(SPARSE.iter().cycle()).for_each(|(f, &s)| *f = s as i8);
        }
        both
    };
    assert_eq!(left_behind(others), 1, "a plain array is noticed");
    let make = || ClientKey::from_secrets(&set, secret(degree), Some(others())).expect("valid");
    let bytes = make().to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);
    let refused = |others| {
        drop(ClientKey::from_secrets(&set, secret(degree), Some(others)).expect_err("impossible"));
    };
    let cases: [Case<'_>; 7] = [
        ("a key", Box::new(|| drop(make()))),
        (
            "a secret too few",
            Box::new(|| {
                let mut few = others();
                few.truncate(degree);
                refused(few);
            }),
        ),
        (
            "a wrong coefficient of the third",
            Box::new(|| {
                let mut wrong = others();
                wrong[2 * degree - 1] = 1;
                refused(wrong);
            }),
        ),
        ("writing", Box::new(|| drop(make().to_bytes().expect("serializes")))),
        ("reading", Box::new(|| drop(ClientKey::from_bytes(&bytes).expect("own output")))),
        (
            "reading what is wrong",
            Box::new(|| drop(ClientKey::from_bytes(&damaged).expect_err("impossible secrets"))),
        ),
        (
            "keys of both rings",
            Box::new(|| {
                let kinds = [
                    KeyKind::InvariantMultiplication,
                    KeyKind::ToInvariant,
                    KeyKind::FromInvariant,
                ];
                let client = make();
                let keys = StreamedKeys::new(&client, kinds).expect("seeds");
                drop(keys.whole(&NoProgress).expect("memory"));
                let mut limb = vec![0; degree];
                for kind in kinds {
                    keys.limb(kind, 0, KeyPart::Body, 0, &mut limb).expect("there");
                }
            }),
        ),
    ];
    check(&cases);
}
