//! Bootstrapping and its variants, at N = 2^10.

use girih_ckks::server::{Bootstrapping, Options};
use girih_ckks::{CkksParameters, Complex64, Error};

use crate::support::{Pair, SMALL, complex, kinds, numbers, pair, pair_of, to_complex};

/// Errors of a bootstrapping are not alike in all slots: twelve deviations.
fn check(p: &Pair, y: &girih_ckks::server::Ciphertexts, wanted: &[Complex64]) {
    p.check_within(y, wanted, 12.0, 5.0);
}

fn bootstrapping_pair(slots: usize, options: Options) -> Pair {
    bootstrapping_pair_of(SMALL, slots, options)
}

fn bootstrapping_pair_of(name: &str, slots: usize, options: Options) -> Pair {
    let set = CkksParameters::by_name(name).expect("built in");
    let mut all = kinds(&set, &[1]);
    all.extend(Bootstrapping::default().keys(&set, slots).unwrap());
    pair_of(name, all, options)
}

#[test]
fn full_slots_come_back_to_the_highest_level() {
    let p = bootstrapping_pair(512, Options::default());
    let s = &p.server;
    let x = complex(512, 80);
    let y = s.bootstrap(&p.upload_at(&x, 0)).unwrap();
    assert_eq!(y.level(), s.set().default_level());
    assert_eq!(Some(y.scale()), s.set().scale(y.level()));
    check(&p, &y, &x);
    // From a level above, with another message ratio: a vector of equal slots gains by it.
    let how = Bootstrapping { message_ratio: Some(10), ..Default::default() };
    let y = s.bootstrap_with(&p.upload_at(&x, 2), &how).unwrap();
    check(&p, &y, &x);
}

#[test]
fn few_slots_pack_both_halves() {
    let p = bootstrapping_pair(16, Options::default());
    let x = complex(16, 81);
    let y = p.server.bootstrap(&p.upload_at(&x, 1)).unwrap();
    assert_eq!((y.level(), y.slots()), (p.server.set().default_level(), 16));
    p.check_within(&y, &x, 12.0, 8.0);
}

/// The noise of a full ciphertext repeats in no way; that of its few slots alone matters.
#[test]
fn full_slots_that_repeat_are_bootstrapped_as_few() {
    let p = bootstrapping_pair(16, Options::default());
    let x = complex(16, 85);
    let full: Vec<Complex64> = x.iter().copied().cycle().take(512).collect();
    let full = p.upload_at(&full, 0);
    let y = p.server.bootstrap(&full.with_slots(16).unwrap()).unwrap();
    p.check_within(&y, &x, 12.0, 8.0);
}

#[test]
fn real_ones_lose_their_imaginary_noise() {
    let p = bootstrapping_pair(16, Options::default());
    let s = &p.server;
    let (u, v) = (numbers(16, 82), numbers(16, 83));
    let (cu, cv) = (p.upload_at(&u, 0), p.upload_at(&v, 0));
    let how = Bootstrapping { real: true, ..Default::default() };
    let y = s.bootstrap_with(&cu, &how).unwrap();
    assert_eq!(y.scale(), 2.0 * s.set().scale(y.level()).unwrap());
    p.check_within(&y, &to_complex(&u), 12.0, 10.0);
    // A sum with another scale goes a level down by itself.
    let sum = s.add(&y, &p.upload(&v)).unwrap();
    assert_eq!(Some(sum.scale()), s.set().scale(s.set().default_level() - 1));
    let wanted: Vec<_> = u.iter().zip(&v).map(|(u, v)| Complex64::from(u + v)).collect();
    p.check_within(&sum, &wanted, 12.0, 10.0);
    let (yu, yv) = s.bootstrap_two_real(&cu, &cv, &Bootstrapping::default()).unwrap();
    p.check_within(&yu, &to_complex(&u), 12.0, 10.0);
    p.check_within(&yv, &to_complex(&v), 12.0, 10.0);
}

#[test]
fn two_in_a_row_serve_equal_slots() {
    let p = bootstrapping_pair(16, Options::default());
    let x = vec![1.0; 16];
    let cx = p.upload_at(&x, 0);
    let how = Bootstrapping { message_ratio: Some(8), equal_slots: true, ..Default::default() };
    // One leaves 13 bits, which the estimate knows.
    let y = p.server.bootstrap_with(&cx, &how).unwrap();
    p.check_within(&y, &to_complex(&x), 12.0, 1.0);
    assert!(y.estimate().bias > 2f64.powi(-14));
    let y = p.server.meta_bootstrap(&cx, 8, &how).unwrap();
    assert_eq!(y.level(), p.server.set().default_level() - 1);
    p.check_within(&y, &to_complex(&x), 12.0, 10.0);
    assert!(y.estimate().largest_error() < 2f64.powi(-22));
    // Phases make equal slots unlike, at the price of a level before.
    let how = Bootstrapping { phases: Some(1), ..how };
    let y = p.server.bootstrap_with(&p.upload_at(&x, 1), &how).unwrap();
    check(&p, &y, &to_complex(&x));
    let error = p.server.bootstrap_with(&cx, &how).unwrap_err();
    assert!(matches!(error, Error::OutOfLevels { needed: 1, level: 0, .. }), "{error}");
    let error = p.server.meta_bootstrap(&y, 0, &Bootstrapping::default()).unwrap_err();
    assert!(matches!(error, Error::Value { .. }), "{error}");
}

#[test]
fn operations_bootstrap_by_themselves_if_allowed() {
    let options = Options { bootstrap_when_needed: true, ..Default::default() };
    let p = bootstrapping_pair(16, options);
    let s = &p.server;
    let x = numbers(16, 84);
    let cx = p.upload_at(&x, 0);
    let square = s.square(&cx).unwrap();
    assert_eq!(square.level(), s.set().default_level() - 1);
    let wanted: Vec<_> = x.iter().map(|x| Complex64::from(x * x)).collect();
    p.check_within(&square, &wanted, 12.0, 8.0);
}

/// Sets that correct the sine, the second with slots-to-coefficients first: a vector of equal slots
/// is no worse than others.
#[test]
fn a_corrected_sine_serves_equal_slots() {
    for name in ["INSECURE_CKKS_D40_ARCSINE_N10", "INSECURE_CKKS_D40_STC_FIRST_N10"] {
        let options = Options { bootstrap_when_needed: true, ..Default::default() };
        let p = bootstrapping_pair_of(name, 16, options);
        let set = p.server.set();
        let start = set.bootstrapping().expect("it has one").input_level();
        let how = Bootstrapping { equal_slots: true, ..Default::default() };
        let x = vec![1.0; 16];
        let y = p.server.bootstrap_with(&p.upload_at(&x, start), &how).unwrap();
        assert_eq!(y.level(), set.default_level());
        p.check_within(&y, &to_complex(&x), 12.0, 12.0);
        assert!(y.estimate().largest_error() < 2f64.powi(-16), "{name}: {:?}", y.estimate());
        // A product leaves enough for the next bootstrapping.
        let square = p.server.square(&p.upload_at(&x, start)).unwrap();
        assert_eq!(square.level(), set.default_level() - 1);
        let product = p.server.mul_plain(&p.upload_at(&x, start), &[0.5]).unwrap();
        assert_eq!(product.level(), set.default_level() - 1);
    }
}

#[test]
fn slots_to_coefficients_first_serves_any_vector() {
    let options = Options { bootstrap_when_needed: true, ..Default::default() };
    let p = bootstrapping_pair_of("INSECURE_CKKS_D40_STC_FIRST_N10", 16, options);
    let s = &p.server;
    for x in [complex(16, 90), to_complex(&[1.0; 16]), to_complex(&[0.0; 16])] {
        let y = s.bootstrap(&p.upload_at(&x, 5)).unwrap();
        assert_eq!(y.level(), s.set().default_level());
        assert_eq!(Some(y.scale()), s.set().scale(y.level()));
        p.check_within(&y, &x, 12.0, 8.0);
    }
    // It needs three levels itself, so operations call it before those are gone.
    let x = numbers(16, 91);
    let square = s.square(&p.upload_at(&x, 3)).unwrap();
    assert_eq!(square.level(), s.set().default_level() - 1);
    let wanted: Vec<_> = x.iter().map(|x| Complex64::from(x * x)).collect();
    p.check_within(&square, &wanted, 12.0, 8.0);
    let error = s.bootstrap(&p.upload_at(&x, 2)).unwrap_err().to_string();
    assert!(error.contains("needs level 3"), "{error}");
}

#[test]
fn impossible_bootstrappings_are_refused() {
    let p = pair(&[]);
    let s = &p.server;
    let x = p.upload_at(&complex(512, 85), 0);
    let error = s.bootstrap(&x).unwrap_err();
    let Error::MissingKey { wanted, .. } = &error else { panic!("{error}") };
    assert!(wanted.starts_with("bootstrapping, rotations by "), "{wanted}");
    let how = |ratio| Bootstrapping { message_ratio: Some(ratio), ..Default::default() };
    assert!(matches!(s.bootstrap_with(&x, &how(4)), Err(Error::Value { .. })));
    assert!(matches!(s.bootstrap_with(&x, &how(60)), Err(Error::Value { .. })));
    let few = p.upload_at(&complex(8, 86), 0);
    assert!(s.bootstrap(&few).is_err());
    let plain = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
    let none = Bootstrapping::default().keys(&plain, 16);
    assert!(matches!(none, Err(Error::Unsupported { .. })));
}
