//! Client keys of TFHE.

use crate::heap::{Case, alone, check, left_behind, secret};
use girih::NoProgress;
use girih::tfhe::{ClientKey, EvaluationKeys, ParameterSet};

#[test]
fn client_keys_of_tfhe() {
    let _alone = alone();
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let (n, size) = (set.shape().lwe_dimension, set.shape().ks_indices());
    assert_eq!(left_behind(|| secret(n)), 1, "a plain array is noticed");

    let client = ClientKey::from_secrets(&set, secret(n), secret(size)).expect("ternary");
    let bytes = client.to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);

    let cases: [Case<'_>; 11] = [
        (
            "a key",
            Box::new(|| {
                drop(ClientKey::from_secrets(&set, secret(n), secret(size)).expect("ternary"))
            }),
        ),
        (
            "wrong lengths",
            Box::new(|| {
                drop(
                    ClientKey::from_secrets(&set, secret(n + 1), secret(size)).expect_err("length"),
                )
            }),
        ),
        (
            "one wrong length",
            Box::new(|| {
                drop(
                    ClientKey::from_secrets(&set, secret(n), secret(size - 1)).expect_err("length"),
                )
            }),
        ),
        (
            "a wrong coefficient",
            Box::new(|| {
                let mut wrong = secret(size);
                wrong[size - 1] = 2;
                drop(ClientKey::from_secrets(&set, secret(n), wrong).expect_err("no ternary"));
            }),
        ),
        ("writing", Box::new(|| drop(client.to_bytes().expect("serializes")))),
        ("reading", Box::new(|| drop(ClientKey::from_bytes(&bytes).expect("own output")))),
        (
            "reading what is wrong",
            Box::new(|| drop(ClientKey::from_bytes(&damaged).expect_err("no ternary"))),
        ),
        (
            "evaluation keys",
            Box::new(|| drop(EvaluationKeys::generate(&client, &NoProgress).expect("memory"))),
        ),
        (
            "a compression key",
            Box::new(|| {
                let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
                drop(keys.with_compression(&client).expect("memory"));
            }),
        ),
        (
            "compressed results",
            Box::new(|| {
                let batch = client.encrypt_bits(&[true, false]).expect("two");
                let results = batch.compress_bits().expect("few errors");
                client.decrypt_compressed_bits(&results).expect("bits");
            }),
        ),
        (
            "use",
            Box::new(|| {
                let batch = client.encrypt_bits(&[true, false]).expect("two");
                client.decrypt_bits(&batch).expect("bits");
            }),
        ),
    ];
    check(&cases);
}
