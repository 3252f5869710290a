//! What may not fit is refused with what to do, and who declares magnitudes keeps precision.

use girih_ckks::approximation::{CompositeSign, GoldschmidtInverse, NewtonInverseSqrt};
use girih_ckks::server::{Bootstrapping, Ciphertexts, Estimate, Options};
use girih_ckks::{Ciphertext, CiphertextHeader, CkksParameters, Complex64, Error, Noise, Result};

use crate::support::{Pair, SMALL, complex, kinds, numbers, pair, pair_of, to_complex};

fn refused(what: Result<Ciphertexts>, operation: &str) {
    let error = what.map(|_| ()).expect_err(operation);
    let Error::Room { operation: found, .. } = &error else {
        panic!("{operation}: {error}");
    };
    assert_eq!(found, operation, "{error}");
    assert!(error.to_string().contains("with_magnitude"), "{error}");
}

/// Slots of up to 1 of which more is said.
fn up_to(p: &Pair, magnitude: f64, level: usize) -> Ciphertexts {
    p.upload_at(&complex(512, 3), level).with_magnitude(magnitude).unwrap()
}

#[test]
fn what_wraps_around_is_refused() {
    let p = pair(&[1, 2]);
    let s = &p.server;
    refused(s.square(&up_to(&p, 40.0, 1)), "a product");
    refused(s.add_plain(&up_to(&p, 1.0, 0), &[1e6, 1e6]), "a sum with a vector");
    refused(s.mul_plain(&up_to(&p, 1.0, 1), &[1e6, 1e6]), "a product with a vector");
    refused(s.add_constant(&up_to(&p, 400.0, 0), 400.0), "a sum with a number");
    refused(s.mul_constant(&up_to(&p, 1.0, 1), 1e6 + 0.5), "a product with a number");
    let times = s.mul_constant(&up_to(&p, 1.0, 0), 400.0).unwrap();
    refused(s.mul_constant(&times, 400.0), "a product with a whole number");
    let square = s.mul_unscaled(&up_to(&p, 1.0, 2), &up_to(&p, 1.0, 2)).unwrap();
    refused(s.mul_unscaled(&square, &square), "a product");
    refused(s.add(&times, &times), "a sum");
    refused(s.inner_sum(&up_to(&p, 300.0, 0), 4, 1), "a sum");
    refused(s.adjust(&up_to(&p, 1e4, 3), 0), "an adjust");
    let x = up_to(&p, 20.0, 1);
    refused(s.inner_product(&[&x, &x, &x], &[&x, &x, &x]), "an inner product");
    // Where there is room they are right.
    let x = complex(512, 3);
    let large = s.mul_constant(&up_to(&p, 1.0, 3), 1e6 + 0.5).unwrap();
    let wanted: Vec<Complex64> = x.iter().map(|v| v * (1e6 + 0.5)).collect();
    p.check_within(&large, &wanted, 12.0, 40.0);
    // In a recording the operation is named, too.
    let recorded = s.record(|b| {
        let x = b.input(1)?;
        let y = b.mul_constant(&x, 40.0)?;
        Ok(vec![b.square(&y)?])
    });
    let recorded = recorded.unwrap();
    let run = |x: Ciphertexts| Ok(recorded.run(&[&x])?.remove(0));
    refused(run(up_to(&p, 1.0, 1)), "a product");
    assert!(run(up_to(&p, 0.1, 1)).is_ok());
    let word = Estimate::new(1e-9, 40.0);
    let error = recorded.estimate(&[word]).expect_err("the same without ciphertexts");
    assert!(matches!(error, Error::Room { .. }), "{error}");
    let error = s.square(&up_to(&p, 40.0, 1)).expect_err("as above").to_string();
    let wanted =
        "a product: slots may reach 1600, and at level 1 and this scale there is room below";
    assert!(error.starts_with(wanted), "{error}");
}

/// Who insists gets the words that the device makes of it, and no bit to trust, ever after.
#[test]
fn what_may_wrap_around_is_trusted_to_no_bit() {
    let set = CkksParameters::by_name(SMALL).unwrap();
    let options = Options::default().with_may_wrap(true);
    let p = pair_of(SMALL, kinds(&set, &[]), options);
    let s = &p.server;
    let host = p.client.within(40.0).encrypt_at(&[40.0, 30.0], 2).unwrap();
    let x = s.adjust(&s.upload(&[host]).unwrap(), 1).unwrap();
    let y = s.square(&x).unwrap();
    let host = s.download(&y).unwrap().remove(0);
    let found = p.client.decrypt_with_precision(&host).unwrap();
    assert!((found.values[0] - 1600.0).norm() > 100.0, "{:?}", found.values);
    assert_eq!((found.precision_bits, host.precision_bits()), (0.0, 0.0));
    assert_eq!((host.largest_error(), y.estimate().deviation), (f64::INFINITY, f64::INFINITY));
    let tiny = s.mul_constant(&s.mul_unscaled(&x, &x).unwrap(), 1e-6).unwrap();
    assert_eq!(s.download(&tiny).unwrap()[0].precision_bits(), 0.0);
    // Brought along by the bytes, too.
    let back = s.upload(&[host]).unwrap();
    assert_eq!(s.add(&back, &back).unwrap().estimate().deviation, f64::INFINITY);
    // A sum that wraps around and back is right, and who knows it says so.
    let x = complex(512, 9);
    let cx = p.upload_at(&x, 0);
    let much = s.mul_constant(&cx, 400.0).unwrap();
    let more = s.add(&much, &much).unwrap();
    assert_eq!(s.download(&more).unwrap()[0].precision_bits(), 0.0);
    let less = s.sub(&s.sub(&more, &much).unwrap(), &s.mul_constant(&cx, 399.0).unwrap()).unwrap();
    let less = less.with_estimate(Estimate { deviation: 1e-6, bias: 0.0, magnitude: 1.0 }).unwrap();
    let host = s.download(&less).unwrap().remove(0);
    assert!(host.precision_bits() > 15.0);
    let found = p.client.decrypt(&host).unwrap();
    assert!(found.iter().zip(&x).all(|(f, x)| (f - x).norm() < 1e-5));
    // One recording may insist where its server does not.
    let p = pair(&[]);
    let insisted = p.server.record(|b| {
        b.may_wrap(true);
        let x = b.input(1)?;
        Ok(vec![b.square(&x)?])
    });
    let x = up_to(&p, 40.0, 1);
    let y = insisted.unwrap().run(&[&x]).unwrap().remove(0);
    assert_eq!(y.estimate().deviation, f64::INFINITY);
    refused(p.server.square(&x), "a product");
}

#[test]
fn what_is_encrypted_must_fit() {
    let p = pair(&[]);
    let large = p.client.within(1000.0);
    let error = large.encrypt_at(&[1000.0], 0).unwrap_err();
    assert!(matches!(&error, Error::Room { .. }), "{error}");
    assert!(error.to_string().contains("higher level"), "{error}");
    let host = large.encrypt_at(&[1000.0], 1).unwrap();
    assert!((p.client.decrypt_real(&host).unwrap()[0] - 1000.0).abs() < 1e-6);
    let huge = p.client.public_key().unwrap();
    assert!(huge.within(1e300).encrypt(&[1.0]).is_err());
}

#[test]
fn what_is_unknown_asks_for_a_word() {
    let p = pair(&[]);
    let of = p.client.encrypt_at(&complex(512, 4), 2).unwrap();
    for magnitude in [f64::INFINITY, 1e300] {
        let noise = Noise { magnitude, ..of.noise() };
        let header = CiphertextHeader { noise, ..of.header() };
        let host = Ciphertext::from_parts(header, of.b().to_vec(), of.a().to_vec()).unwrap();
        let x = p.server.upload(&[host]).unwrap();
        refused(p.server.square(&x), "a product");
        let x = x.with_magnitude(1.0).unwrap();
        assert!(p.server.square(&x).is_ok());
    }
}

#[test]
fn functions_are_made_for_a_range() {
    let p = pair(&[]);
    let s = &p.server;
    let sign = CompositeSign::new(0.25, 0.1).unwrap();
    let x = p.upload(&numbers(512, 5)).with_magnitude(3.0).unwrap();
    refused(s.sign(&x, 1.0, &sign), "a sign");
    refused(s.relu(&x, 1.0, &sign), "a sign");
    refused(s.function(&x, f64::exp, -1.0..=1.0, 1e-3).map(|(y, _)| y), "a polynomial");
    assert!(s.sign(&x, 3.0, &sign).is_ok());
    // A range below what everyone encrypts within who says nothing is the caller's word, as one of
    // slots that were computed is.
    let fresh = p.upload(&numbers(512, 6));
    assert!(s.function(&fresh, f64::exp, -0.5..=0.5, 1e-3).is_ok());
    let error = s.goldschmidt_inverse(&x, &GoldschmidtInverse::new(0.5..=1.0, 1e-2, 8).unwrap());
    refused(error, "an inverse");
    let error = s.newton_inverse_sqrt(&x, &NewtonInverseSqrt::new(0.5..=1.0, 1e-2, 8).unwrap());
    refused(error, "an inverse square root");
    // What the caller says last counts: differences of slots up to 1 that stay below 1.
    let x = x.with_magnitude(1.0).unwrap();
    let y = p.upload(&numbers(512, 6));
    assert!(s.compare(&x, &y, 1.0, &sign).is_ok());
    assert!(s.sign(&s.sub(&x, &y).unwrap(), 1.0, &sign).is_ok());
}

#[test]
fn bootstrappings_take_what_their_ratio_says() {
    let set = CkksParameters::by_name(SMALL).unwrap();
    let mut all = kinds(&set, &[]);
    all.extend(Bootstrapping::default().keys(&set, 512).unwrap());
    let p = pair_of(SMALL, all, Options::default());
    refused(p.server.bootstrap(&up_to(&p, 100.0, 0)), "a bootstrapping");
    assert!(p.server.bootstrap(&up_to(&p, 1.0, 0)).is_ok());
    // What was only computed may be far below its bound: that bound holds, and says nothing.
    let x = complex(512, 3);
    let large = p.server.mul_constant(&p.upload_at(&x, 0), 100.0).unwrap();
    let zero = p.server.sub(&large, &large).unwrap();
    assert_eq!(zero.estimate().magnitude, 200.0);
    let zero = p.server.bootstrap(&zero).unwrap();
    assert_eq!(p.server.download(&zero).unwrap()[0].precision_bits(), 0.0);
    assert!(p.values(&zero).iter().all(|z| z.norm() < 1e-3));
    // So is that of errors which nobody knows, and a result in the middle of a program.
    for unknown in [1e3, f64::INFINITY] {
        let lost = p.upload_at(&x, 2).with_estimate(Estimate::new(unknown, 1.0)).unwrap();
        let squares = p.server.square(&p.server.square(&lost).unwrap()).unwrap();
        let back = p.server.bootstrap(&squares).unwrap();
        let again = back.with_magnitude(1.0).unwrap();
        assert_eq!(p.server.download(&again).unwrap()[0].precision_bits(), 0.0);
        let found = p.values(&back);
        assert!(found.iter().zip(&x).all(|(f, x)| (f - x * x * x * x).norm() < 1e-3));
    }
    // The promise that slots are independent is one for slots that fit.
    let how = Bootstrapping { independent_slots: true, ..Default::default() };
    refused(p.server.bootstrap_with(&large, &how), "a bootstrapping");
}

/// y (2 - x y), z^2 - 1/2 and high powers: who says what they reach is told what they err by.
#[test]
fn declared_magnitudes_keep_bounds_useful() {
    let p = pair(&[]);
    let s = &p.server;
    let x: Vec<f64> = numbers(512, 7).iter().map(|v| 0.75 + 0.25 * v).collect();
    let cx = p.upload(&x);
    let mut y = s.add_constant(&s.neg(&cx).unwrap(), 2.0).unwrap().with_magnitude(1.5).unwrap();
    let mut bits = Vec::new();
    for _ in 0..6 {
        let xy = s.mul(&cx, &y).unwrap().with_magnitude(1.0).unwrap();
        let factor = s.add_constant(&s.neg(&xy).unwrap(), 2.0).unwrap();
        y = s.mul(&y, &factor.with_magnitude(1.25).unwrap()).unwrap();
        y = y.with_magnitude(2.0).unwrap();
        bits.push(s.download(&y).unwrap()[0].precision_bits());
    }
    println!("Newton's iteration: {bits:.1?} bits");
    assert!(bits[5] > 5.0, "{bits:?}");
    p.check_within(&y, &to_complex(&x.iter().map(|x| 1.0 / x).collect::<Vec<_>>()), 12.0, 20.0);

    let mut z = numbers(512, 8);
    let mut cz = p.upload(&z);
    for step in 0..10 {
        cz = s.add_constant(&s.square(&cz).unwrap(), -0.5).unwrap().with_magnitude(0.5).unwrap();
        z.iter_mut().for_each(|z| *z = *z * *z - 0.5);
        let bits = s.download(&cz).unwrap()[0].precision_bits();
        assert!(bits > 15.0, "step {step}: {bits}");
    }
    p.check_within(&cz, &to_complex(&z), 12.0, 10.0);

    let half = vec![0.499; 512];
    let mut power = s.add(&p.upload(&half), &p.upload(&half)).unwrap();
    let undeclared = (0..11).try_fold(power.clone(), |x, _| s.square(&x));
    refused(undeclared, "a product");
    power = power.with_magnitude(1.0).unwrap();
    for _ in 0..11 {
        power = s.square(&power).unwrap();
        let host = &s.download(&power).unwrap()[0];
        assert!(host.precision_bits() >= 0.0 && host.noise().deviation.is_finite());
    }
    p.check_within(&power, &[0.998f64.powi(2048).into()], 12.0, 20.0);
    assert!(s.download(&power).unwrap()[0].precision_bits() > 5.0);
}

#[test]
fn bits_are_never_negative_nor_no_numbers() {
    for deviation in [0.0, 1e-300, 1.0, 9.0, 1e300, f64::INFINITY] {
        let bits = Noise { deviation, magnitude: 1.0 }.precision_bits();
        assert!(bits >= 0.0, "{deviation}: {bits}");
    }
}
