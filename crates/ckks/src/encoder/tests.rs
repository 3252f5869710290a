use super::*;
use crate::published;
use girih_ring::fft::Simd;
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
        let mut parts = Parts::default();
        parts.fill(z.iter().copied());
        let few = encoder.coefficients_of(&mut parts, scale).expect("it encodes");
        assert!(few.iter().eq(want.iter().step_by(degree / (2 * z.len()))));
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

/// Numbers of all signs, some of whose coefficients are halves of odd integers at scale 1.
fn some_slots(slots: usize) -> Vec<Complex64> {
    let part = |j: usize, factor: usize| (j * factor % 101) as f64 / 8.0 - 6.0;
    (0..slots).map(|j| Complex64::new(part(j, 37), part(j + 5, 59))).collect()
}

#[test]
fn vectors_give_the_integers_that_scalars_give() {
    let transform = Transform::new(12);
    for log2_slots in 0..=12 {
        let slots = some_slots(1 << log2_slots);
        for scale in [1.0, 2f64.powi(35), 1e12 / 3.0] {
            let mut z = Parts::default();
            z.fill(slots.iter().copied());
            transform.to_coefficients(&mut z);
            let parts = z.re.iter().chain(&z.im);
            let wanted: Vec<i64> =
                parts.map(|part| (part * scale).round_ties_even() as i64).collect();
            for simd in Simd::available() {
                let mut found = vec![0; 2 << log2_slots];
                z.fill(slots.iter().copied());
                let transform = transform.clone().with_simd(simd);
                let done = transform.to_small_integers(&mut z, scale, &mut found);
                assert_eq!(done.is_some(), slots.len() >= simd.width().pow(2));
                assert!(done.is_none() || found == wanted, "{} {log2_slots}", simd.name());
            }
        }
    }
}

#[test]
fn large_coefficients_are_rounded_otherwise() {
    let encoder = Encoder::new(9).expect("in range");
    let slots: Vec<Complex64> = some_slots(256).iter().map(|z| z * 2f64.powi(20)).collect();
    // Below 2^51, where sums with 3 2^51 round, and beyond.
    for log2_scale in [20, 25, 26, 27, 28, 29, 35] {
        let scale = 2f64.powi(log2_scale);
        let mut z = Parts::default();
        z.fill(slots.iter().copied());
        let found = encoder.coefficients_of(&mut z, scale).expect("it fits");
        let wanted = encoder.encode(&slots, scale).expect("it fits");
        assert_eq!(*found, *wanted.coefficients(), "{log2_scale}");
    }
}

#[test]
fn real_factors_are_complex_ones_without_imaginary_parts() {
    let encoder = Encoder::new(9).expect("in range");
    let real: Vec<f64> = some_slots(256).iter().map(|value| value.re).collect();
    let complex: Vec<Complex64> = real.iter().map(|&re| re.into()).collect();
    let encoded = |factors: Factors<'_>, by: i64| {
        let mut z = Parts::default();
        factors.rotate_into(by, &mut z);
        encoder.coefficients_of(&mut z, 2f64.powi(40)).expect("it encodes")
    };
    for by in [0, 1, 77, -3, 256 + 5] {
        let slots: Vec<f64> =
            (0..256i64).map(|j| real[(j + by).rem_euclid(256) as usize]).collect();
        let wanted = encoder.encode(&slots, 2f64.powi(40)).expect("it encodes");
        assert_eq!(*encoded(Factors::Real(&real), by), *wanted.coefficients());
        assert_eq!(*encoded(Factors::Complex(&complex), by), *wanted.coefficients());
    }
    let twice = [&real[..], &real[..]].concat();
    assert_eq!(Factors::Real(&twice).least_period().len(), 256);
    assert_eq!(Factors::from(&complex).iter().collect::<Vec<_>>(), complex);
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
