//! Client keys of CKKS.

use crate::heap::{Case, SPARSE, alone, check, left_behind, secret};
use girih::NoProgress;
use girih::ckks::keys::{KeyPart, SwitchingKeySource};
use girih::ckks::{
    CkksParameters, ClientKey, ClientSecrets, Error, EvaluationKeys, KeyKind, StreamedKeys,
};

/// A key of a set without a secret of the conjugation-invariant ring.
fn client(
    set: &CkksParameters,
    dense: Vec<i8>,
    sparse: Option<Vec<i8>>,
) -> Result<ClientKey, Error> {
    ClientKey::from_secrets(set, ClientSecrets { dense, sparse, invariant: None })
}

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

    let make = || client(&set, secret(degree), Some(sparse(degree)));
    let own = make().expect("of the set's distributions");
    let bytes = own.to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);

    let refused = |dense, sparse| {
        drop(client(&set, dense, sparse).expect_err("impossible secrets"));
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
                drop(client(&plain, secrets.0, secrets.1).expect_err("one more"));
            }),
        ),
        ("writing", Box::new(|| drop(own.to_bytes().expect("serializes")))),
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

/// Those of sets with a third secret.
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
    let [sparse, invariant] = weights.map(|weight| {
        move || -> Vec<i8> {
            let mut all = vec![0; degree];
            all[..weight].iter_mut().zip(SPARSE.iter().cycle()).for_each(|(f, &s)| *f = s as i8);
            all
        }
    });
    assert_eq!(left_behind(sparse), 1, "a plain array is noticed");
    assert_eq!(left_behind(invariant), 1, "a plain array is noticed");
    let secrets = || ClientSecrets {
        dense: secret(degree),
        sparse: Some(sparse()),
        invariant: Some(invariant()),
    };
    let make = || ClientKey::from_secrets(&set, secrets()).expect("valid");
    let bytes = make().to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);
    let refused = |sparse, invariant| {
        let wrong = ClientSecrets { dense: secret(degree), sparse, invariant };
        drop(ClientKey::from_secrets(&set, wrong).expect_err("impossible"));
    };
    let cases: [Case<'_>; 10] = [
        ("a key", Box::new(|| drop(make()))),
        ("secrets that make no key", Box::new(|| drop(secrets()))),
        ("no sparse one", Box::new(|| refused(None, Some(invariant())))),
        ("no third one", Box::new(|| refused(Some(sparse()), None))),
        ("one in the other's place", Box::new(|| refused(Some(invariant()), Some(sparse())))),
        (
            "a wrong coefficient of the third",
            Box::new(|| {
                let mut wrong = invariant();
                wrong[degree - 1] = 1;
                refused(Some(sparse()), Some(wrong));
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
