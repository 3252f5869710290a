use super::*;
use crate::published;
use proptest::prelude::*;
use serde_json::Value;

fn complex(case: &Value, re: &str, im: &str) -> Vec<Complex64> {
    let numbers = |name: &str| published::reals(&case[name]);
    let parts = numbers(re).into_iter().zip(numbers(im));
    parts.map(|(re, im)| Complex64::new(re, im)).collect()
}

#[test]
fn the_published_vectors_encode_to_the_exact_integers() {
    let file = published::file("ckks/encode");
    let tolerance = file["tolerance"].as_f64().expect("a number");
    for case in file["cases"].as_array().expect("a list") {
        let degree = case["N"].as_u64().expect("a number") as usize;
        let encoder = Encoder::new(degree.trailing_zeros()).expect("in range");
        let scale = case["scale"].as_f64().expect("a number");
        let z = complex(case, "re", "im");
        let plaintext = encoder.encode(&z, scale).expect("it encodes");
        let want = case["coefficients"].as_array().expect("a list");
        let want: Vec<_> = want.iter().map(|x| x.as_i64().expect("an integer")).collect();
        assert_eq!(plaintext.coefficients(), want);
        let as_f64: Vec<_> = want.iter().map(|&m| m as f64).collect();
        let decoded = encoder.decode(&as_f64, z.len(), scale).expect("it decodes");
        for (found, want) in decoded.iter().zip(complex(case, "decoded_re", "decoded_im")) {
            assert!((found - want).norm() < tolerance, "{found} {want}");
        }
        let primes = case["primes"].as_array().expect("a list");
        for (prime, limb) in primes.iter().zip(case["residues"].as_array().expect("a list")) {
            let p = prime.as_i64().expect("an integer");
            let found: Vec<_> = plaintext.coefficients().iter().map(|m| m.rem_euclid(p)).collect();
            let want = limb.as_array().expect("a list").iter();
            assert_eq!(found, want.map(|x| x.as_i64().expect("an integer")).collect::<Vec<_>>());
        }
    }
}

/// Slot j is the value at zeta^(5^j): by the definition.
fn evaluate(coefficients: &[i64], j: usize) -> Complex64 {
    let degree = coefficients.len();
    let power = (0..j).fold(1, |power, _| power * 5 % (2 * degree));
    let term = |(k, &m): (usize, &i64)| {
        let angle = std::f64::consts::PI * (k * power % (2 * degree)) as f64 / degree as f64;
        Complex64::from_polar(m as f64, angle)
    };
    coefficients.iter().enumerate().map(term).sum()
}

#[test]
fn slots_are_values_at_the_roots_sparse_ones_repeated() {
    let encoder = Encoder::new(6).expect("in range");
    let scale = 2f64.powi(40);
    for slots in [1, 2, 8, 32] {
        let z: Vec<_> =
            (0..slots).map(|j| Complex64::new(0.3 - j as f64 / 40.0, 0.01 * j as f64)).collect();
        let plaintext = encoder.encode(&z, scale).expect("it encodes");
        for j in 0..32 {
            let found = evaluate(plaintext.coefficients(), j) / scale;
            assert!((found - z[j % slots]).norm() < 1e-10, "{slots} {j}: {found}");
        }
        let real: Vec<_> = z.iter().map(|z| z.re).collect();
        let same: Vec<_> = real.iter().map(|&re| Complex64::from(re)).collect();
        assert_eq!(encoder.encode(&real, scale).ok(), encoder.encode(&same, scale).ok());
    }
}

#[test]
fn what_cannot_be_encoded_is_named() {
    let encoder = Encoder::new(4).expect("in range");
    let refused = |values: &[f64], scale: f64| {
        encoder.encode(values, scale).expect_err("must be refused").to_string()
    };
    let scale = 2f64.powi(40);
    let of_one = refused(&[0.25, f64::NAN], scale);
    assert!(of_one.contains("only finite numbers"), "{of_one}");
    // Which value is wrong, and what it is, may be secret.
    assert_eq!(of_one, refused(&[f64::INFINITY; 2], scale));
    assert_eq!(refused(&[1e8; 8], scale), refused(&[0.0, -3e9], scale));
    assert!(refused(&[1e7; 8], scale).contains("must stay below 2^62"));
    assert!(refused(&[1e300; 8], 1e300).contains("must stay below 2^62"));
    assert!(refused(&[f64::MAX; 8], scale).contains("must stay below 2^62"));
    for len in [0, 3, 16] {
        assert!(refused(&vec![0.0; len], scale).contains("a power of two up to 8"), "{len}");
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(&[0.0; 8], scale).contains("finite, positive"), "{scale}");
    }
    assert!(encoder.decode(&[0.0; 15], 8, 1.0).is_err());
    assert!(encoder.decode(&[0.0; 16], 5, 1.0).is_err());
    assert!(encoder.decode(&[0.0; 16], 8, 0.0).is_err());
    assert!(Encoder::new(3).is_err() && Encoder::new(18).is_err());
}

proptest! {
    #[test]
    fn decoding_undoes_encoding_to_half_a_unit_a_coefficient(
        log2_slots in 0u32..9, seed in proptest::collection::vec((-1f64..1.0, -1f64..1.0), 256)
    ) {
        let encoder = Encoder::new(9).expect("in range");
        let scale = 2f64.powi(40);
        let z: Vec<_> =
            seed[..1 << log2_slots].iter().map(|&(re, im)| Complex64::new(re, im)).collect();
        let plaintext = encoder.encode(&z, scale).expect("it encodes");
        let coefficients: Vec<_> = plaintext.coefficients().iter().map(|&m| m as f64).collect();
        let back = encoder.decode(&coefficients, z.len(), scale).expect("it decodes");
        // 2n roundings of at most half a unit each.
        let bound = z.len() as f64 / scale;
        for (found, want) in back.iter().zip(&z) {
            prop_assert!((found - want).norm() <= bound + 1e-14);
        }
    }
}
