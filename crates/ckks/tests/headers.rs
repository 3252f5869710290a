//! What stands on ciphertexts besides their limbs tells nothing of what is encrypted.

use girih_ckks::{Ciphertext, CkksParameters, ClientKey, Encoder, Error, PublicKey, Result};
use num_complex::Complex64;

/// Vectors of one length that have little in common.
fn messages() -> Vec<Vec<Complex64>> {
    let of = |f: &dyn Fn(usize) -> Complex64| (0..8).map(f).collect();
    vec![
        of(&|_| Complex64::default()),
        of(&|_| Complex64::new(1e-9, 0.0)),
        of(&|_| Complex64::new(0.5, 0.0)),
        of(&|j| Complex64::new(0.3, -0.2) * j as f64),
        of(&|j| Complex64::new(1000.0 / (1.0 + j as f64), 0.0)),
        of(&|j| Complex64::from_polar(1024.0, j as f64)),
    ]
}

/// The serialized form without limbs and without the checksum over all.
fn without_limbs(x: &Ciphertext) -> (usize, Vec<u8>) {
    let bytes = x.to_bytes().expect("it is serialized");
    let mut rest = bytes[..bytes.len() - 16].to_vec();
    for limbs in [x.b(), x.a()] {
        let limbs: Vec<u8> = limbs.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = rest.windows(limbs.len()).position(|w| w == limbs).expect("limbs as they are");
        rest.drain(at..at + limbs.len());
    }
    assert!(rest.len() < 1000 && bytes.len() > 4096, "{} and {}", rest.len(), bytes.len());
    (bytes.len(), rest)
}

/// All that is public of a ciphertext: its length, its bytes without limbs, and what is shown.
fn public(x: &Ciphertext) -> (usize, Vec<u8>, String) {
    let (len, bytes) = without_limbs(x);
    (len, bytes, format!("{x:?} {:?} {} {}", x.header(), x.precision_bits(), x.bytes()))
}

/// A way to encrypt.
type Way<'a> = (&'a str, &'a dyn Fn(&[Complex64]) -> Result<Ciphertext>);

#[test]
fn headers_of_any_two_messages_are_equal() {
    for name in ["INSECURE_CKKS_D40_N10", "INSECURE_CKKS_D30_N10"] {
        let set = CkksParameters::by_name(name).expect("built in");
        let client = ClientKey::generate(&set).expect("randomness");
        let sent = client.public_key().expect("it is made").to_bytes().expect("small");
        let key = PublicKey::from_bytes(&sent).expect("its own bytes");
        let encoder = Encoder::new(10).expect("in range");
        let scale = 2f64.powi(33);
        // Of a ciphertext at a level whose scale is of choice, too.
        let encoded = |z: &[Complex64]| encoder.encode(z, scale).expect("it encodes");
        let ways: [Way<'_>; 5] = [
            ("secret", &|z| client.within(1024.0).encrypt(z)),
            ("level", &|z| client.within(1024.0).encrypt_at(z, 1)),
            ("encoded", &|z| client.within(1024.0).encrypt_plaintext(&encoded(z), 1)),
            ("public", &|z| key.within(1024.0).encrypt(z)),
            ("public, encoded", &|z| key.within(1024.0).encrypt_plaintext(&encoded(z))),
        ];
        for (way, encrypt) in ways {
            let all: Vec<_> = messages()
                .iter()
                .map(|z| {
                    let x = encrypt(z).expect("within the bound");
                    let found = client.decrypt(&x).expect("its own");
                    assert!(found.iter().zip(z).all(|(f, z)| (f - z).norm() < 1e-3), "{way}");
                    assert_eq!(x.noise().magnitude, 1024.0, "{way}");
                    public(&x)
                })
                .collect();
            assert!(all.iter().all(|one| *one == all[0]), "{name}: {way}");
        }
        // Nothing said is 1, of whatever is smaller.
        let small = [client.encrypt(&[0.0; 4]), client.encrypt(&[1.0, -0.3, 1e-5, 0.0])];
        let small = small.map(|x| public(&x.expect("at most 1")));
        assert_eq!(small[0], small[1], "{name}");
    }
}

#[test]
fn larger_values_than_declared_are_refused_without_saying_which() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let client = ClientKey::generate(&set).expect("randomness");
    let key = client.public_key().expect("it is made");
    let encoder = Encoder::new(10).expect("in range");
    for (magnitude, over, within) in
        [(1.0, 1.0 + 1e-9, 1.0), (100.0, 1000.0, -100.0), (0.25, 0.5, 0.25)]
    {
        let over = [[0.0, over], [-3.0 * over, over]];
        let told = over.map(|values| {
            let encoded = encoder.encode(&values, 2f64.powi(30)).expect("it encodes");
            let (client, key) = (client.within(magnitude), key.within(magnitude));
            let all = [
                client.encrypt(&values),
                client.encrypt_at(&values, 0),
                client.encrypt_plaintext(&encoded, 0),
                key.encrypt(&values),
                key.encrypt_plaintext(&encoded),
            ];
            all.map(|refused| match refused {
                Err(error @ Error::Magnitude { .. }) => error.to_string(),
                other => panic!("{other:?}"),
            })
        });
        assert_eq!(told[0], told[1]);
        assert!(told[0].iter().all(|text| *text == told[0][0]));
        let text = &told[0][0];
        assert!(text.contains(&format!("magnitude {magnitude}: ")), "{text}");
        assert!(text.contains("within(magnitude)"), "{text}");
        assert!(client.within(magnitude).encrypt(&[0.0, within]).is_ok());
        assert!(key.within(magnitude).encrypt(&[0.0, within]).is_ok());
    }
    // The bound is one of |z|. The rounding of f64 does not count.
    assert!(client.encrypt(&[Complex64::new(0.8, 0.8)]).is_err());
    let circle: Vec<_> = (0..512).map(|j| Complex64::from_polar(1.0, j as f64)).collect();
    assert!(client.encrypt(&circle).is_ok());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let text = client.within(wrong).encrypt(&[0.0]).expect_err("no magnitude").to_string();
        assert!(text.contains("finite and positive"), "{text}");
        assert!(key.within(wrong).encrypt(&[0.0]).is_err());
    }
    let encoded = encoder.encode(&[0.123_456, 0.5], 2f64.powi(30)).expect("it encodes");
    assert_eq!(format!("{encoded:?}"), "Plaintext(scale 2^30.000, 2 slots)");
}
