//! Polynomials, functions on intervals, signs and what is made of them.

use girih_ckks::approximation::{ApproximationError, CompositeSign, Polynomial};
use girih_ckks::{Complex64, Error};

use crate::support::{Pair, numbers, pair, to_complex};

fn mapped(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<Complex64> {
    x.iter().map(|&x| f(x).into()).collect()
}

/// Numbers of both signs whose magnitude is at least `gap`, up to 1.
fn outside(gap: f64, count: usize, seed: u64) -> Vec<f64> {
    numbers(count, seed).into_iter().map(|x| x.signum() * (gap + (1.0 - gap) * x.abs())).collect()
}

#[test]
fn polynomials_take_the_levels_they_say() {
    let p = pair(&[]);
    let x = numbers(512, 60);
    let cx = p.upload(&x);
    for degree in [1, 2, 3, 5, 7, 12, 15, 27] {
        let list: Vec<f64> = numbers(degree + 1, 61).iter().map(|c| c / degree as f64).collect();
        let poly = Polynomial::from_chebyshev(&list, -1.0..=1.0).unwrap();
        let y = p.server.polynomial(&cx, &poly).unwrap();
        assert_eq!(y.level(), cx.level() - poly.levels(), "degree {degree}");
        assert_eq!(Some(y.scale()), p.server.set().scale(y.level()));
        p.check_within(&y, &mapped(&x, |x| poly.evaluate(x)), 12.0, 5.0);
    }
    let constant = Polynomial::from_chebyshev(&[0.25], 0.0..=3.0).unwrap();
    let y = p.server.polynomial(&cx, &constant).unwrap();
    assert_eq!(y.level(), cx.level());
    p.check_within(&y, &[0.25.into()], 12.0, 61.0);
    // A line on an interval of its own takes one level.
    let line = Polynomial::from_powers(&[0.5, -0.25], -2.0..=5.0).unwrap();
    let y = p.server.polynomial(&cx, &line).unwrap();
    assert_eq!(y.level(), cx.level() - 1);
    p.check(&y, &mapped(&x, |x| 0.5 - 0.25 * x));
    // Too few levels.
    let low = p.upload_at(&x, 3);
    let poly = Polynomial::interpolate(f64::exp, -1.0..=1.0, 15).unwrap();
    let error = p.server.polynomial(&low, &poly).unwrap_err();
    assert!(matches!(error, Error::OutOfLevels { needed: 4, level: 3, .. }), "{error}");
}

#[test]
fn closures_become_polynomials() {
    let p = pair(&[]);
    let s = &p.server;
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let x: Vec<f64> = numbers(512, 62).iter().map(|x| 8.0 * x).collect();
    let cx = p.upload_within(&x, 8.0);
    let (y, poly) = s.function(&cx, sigmoid, -8.0..=8.0, 1e-4).unwrap();
    assert!(poly.error().unwrap() <= 1e-4 && poly.degree() < 32);
    p.check_within(&y, &mapped(&x, sigmoid), 12.0, 4.0);
    let x: Vec<f64> = numbers(512, 63).iter().map(|x| 2.5 + 1.5 * x).collect();
    let cx = p.upload_within(&x, 4.0);
    let (y, _) = s.inverse(&cx, 1.0..=4.0, 1e-5).unwrap();
    p.check_within(&y, &mapped(&x, |x| 1.0 / x), 12.0, 4.0);
    let large: Vec<f64> = x.iter().map(|x| 25e3 * x).collect();
    let cl = p.upload_within(&large, 1e5);
    let (y, poly) = s.relative_inverse(&cl, 25e3..=1e5, 1e-4).unwrap();
    p.check_within(&y, &mapped(&large, |x| 1.0 / x), 12.0, 6.0);
    let relative = p.values(&y).into_iter().zip(&large).map(|(y, x)| (y.re * x - 1.0).abs());
    let relative = relative.fold(0.0, f64::max);
    assert!(relative < 1e-4 + 1e5 * 2f64.powi(-27), "{relative}, degree {}", poly.degree());
    let (y, _) = s.sqrt(&cx, 1.0..=4.0, 1e-6).unwrap();
    p.check_within(&y, &mapped(&x, f64::sqrt), 12.0, 4.0);
    // What the levels do not allow.
    let low = s.adjust(&cx, 3).unwrap();
    let error = s.function(&low, f64::abs, -1.0..=1.0, 1e-3).unwrap_err();
    let Error::Approximation(ApproximationError::TooHard { degree: 7, levels: 3, .. }) = error
    else {
        panic!("{error}");
    };
    assert!(matches!(
        s.inverse(&cx, -1.0..=1.0, 0.1),
        Err(Error::Approximation(ApproximationError::NotFinite { .. }))
    ));
}

/// Nobody can see without the key that a slot left the interval: what comes out then is far from
/// the function, by the growth of Chebyshev polynomials, and no error says so. Decryption shows it.
#[test]
fn slots_outside_the_interval_come_out_wrong() {
    let p = pair(&[]);
    let x = [0.5, -0.5, 0.9, 1.5];
    let cx = p.upload_within(&x, 1.5);
    let fit = |cx| p.server.function(cx, f64::exp, -1.0..=1.0, 1e-4);
    // What was declared speaks against it; a wrong word is believed.
    let error = fit(&cx).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Room { .. }), "{error}");
    let (y, polynomial) = fit(&cx.with_magnitude(1.0).unwrap()).unwrap();
    let found = p.values(&y);
    let estimate = y.estimate();
    let allowed = 12.0 * estimate.deviation + estimate.bias;
    for (x, y) in x.iter().zip(&found) {
        let error = (y.re - x.exp()).abs();
        assert_eq!(error <= allowed, x.abs() <= 1.0, "{x}: {error:e}, {allowed:e}");
        // It is the polynomial's value all the same.
        assert!((y.re - polynomial.evaluate(*x)).abs() < 1e-5, "{x}");
    }
}

fn check_sign(p: &Pair, y: &girih_ckks::server::Ciphertexts, wanted: &[Complex64]) {
    // The estimate counts with slots just outside the gap, where the slope is largest.
    p.check_within(y, wanted, 12.0, 11.0);
}

#[test]
fn signs_and_comparisons() {
    let p = pair(&[]);
    let s = &p.server;
    let sign = CompositeSign::new(0.05, 0.01).unwrap();
    let x = outside(0.05, 512, 64);
    let y = s.sign(&p.upload(&x), 1.0, &sign).unwrap();
    assert_eq!(y.level(), s.set().default_level() - sign.levels());
    check_sign(&p, &y, &mapped(&x, f64::signum));
    // On [-4, 4], a level more.
    let wide: Vec<f64> = x.iter().map(|x| 4.0 * x).collect();
    let y = s.sign(&p.upload_within(&wide, 4.0), 4.0, &sign).unwrap();
    check_sign(&p, &y, &mapped(&x, f64::signum));
    // Pairs whose difference is outside the gap.
    let low: Vec<f64> = numbers(512, 65).iter().map(|v| v / 2.0).collect();
    let high: Vec<f64> = low.iter().zip(&x).map(|(v, d)| v + d).collect();
    let (ch, cl) = (p.upload_within(&high, 1.5), p.upload(&low));
    let y = s.compare(&ch, &cl, 1.0, &sign).unwrap();
    check_sign(&p, &y, &mapped(&x, |d| f64::from(u8::from(d > 0.0))));
    let error = s.sign(&p.upload_at(&x, 3), 1.0, &sign).unwrap_err();
    assert!(matches!(error, Error::OutOfLevels { level: 3, .. }), "{error}");
    assert!(matches!(s.sign(&ch, 0.0, &sign), Err(Error::Value { .. })));
    // The last product belongs to what was asked for.
    let spent = p.upload_at(&x, sign.levels());
    let error = s.max(&spent, &spent, 1.0, &sign).unwrap_err();
    assert!(error.to_string().starts_with("a maximum needs level"), "{error}");
    let error = s.min(&spent, &spent, 1.0, &sign).unwrap_err();
    assert!(error.to_string().starts_with("a minimum needs level"), "{error}");
    let error = s.relu(&spent, 1.0, &sign).unwrap_err();
    assert!(error.to_string().starts_with("a ReLU needs level"), "{error}");
    assert!(matches!(s.sign(&ch, f64::NAN, &sign), Err(Error::Value { .. })));
}

#[test]
fn the_larger_and_the_smaller() {
    let p = pair(&[]);
    let s = &p.server;
    let sign = CompositeSign::for_relu(2f64.powi(-7)).unwrap();
    let x = numbers(512, 66);
    let cx = p.upload(&x);
    let relu = s.relu(&cx, 1.0, &sign).unwrap();
    check_sign(&p, &relu, &mapped(&x, |x| x.max(0.0)));
    let y = numbers(512, 67);
    let (cx, cy) = (s.mul_constant(&cx, 0.5).unwrap(), p.upload(&y));
    let cy = s.mul_constant(&cy, 0.5).unwrap();
    let pairs = || x.iter().zip(&y).map(|(x, y)| (x / 2.0, y / 2.0));
    let most: Vec<f64> = pairs().map(|(x, y)| x.max(y)).collect();
    let least: Vec<f64> = pairs().map(|(x, y)| x.min(y)).collect();
    check_sign(&p, &s.max(&cx, &cy, 1.0, &sign).unwrap(), &to_complex(&most));
    check_sign(&p, &s.min(&cx, &cy, 1.0, &sign).unwrap(), &to_complex(&least));
}
