//! KLSS in the place of hybrid key switching: results of the same keys are the same words.

use girih_backend::NoProgress;
use girih_ckks::server::{Ciphertexts, KeySwitching, Options};
use girih_ckks::{CkksParameters, ClientKey, Error, EvaluationKeys};

use crate::support::{complex, kinds, server_of};

const SET: &str = "INSECURE_CKKS_N14_D40_N10";

#[test]
fn products_and_rotations_are_the_same_words_by_klss() {
    let set = CkksParameters::by_name(SET).expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]).unwrap();
    let keys = EvaluationKeys::generate(&client, kinds(&set, &[1, 3]), &NoProgress).unwrap();
    let x = client.encrypt_at(&complex(512, 1), 3).unwrap();
    let words = |switching: Option<KeySwitching>| -> Vec<Vec<u32>> {
        let options = Options::default().with_key_switching(switching);
        let s = server_of(&keys, options);
        assert_eq!(s.key_switching(), switching.unwrap_or(KeySwitching::Hybrid));
        let x = s.upload(std::slice::from_ref(&x)).unwrap();
        let mut all = vec![s.square(&x).unwrap(), s.conjugate(&x).unwrap()];
        all.extend(s.rotate_many(&x, &[1, 3]).unwrap());
        let host = |batch: &Ciphertexts| s.download(batch).unwrap().remove(0);
        all.iter().map(host).flat_map(|x| [x.b().to_vec(), x.a().to_vec()]).collect()
    };
    let expected = words(None);
    for switching in [KeySwitching::klss(&set), KeySwitching::Klss { group: 3 }] {
        assert!(words(Some(switching)) == expected, "{switching}");
    }
}

#[test]
fn groups_that_the_set_cannot_have_are_refused() {
    let set = CkksParameters::by_name(SET).expect("built in");
    for group in [0, 100] {
        let error = KeySwitching::Klss { group }.ring(&set).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }), "{error}");
        assert!(error.to_string().contains("take 1 to"), "{error}");
    }
}
