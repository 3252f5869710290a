//! Bootstrapping and its variants, at N = 2^10.

use girih_backend::NoProgress;
use girih_ckks::server::{Bootstrapping, Builder, KeySwitching, Options};
use girih_ckks::{CkksParameters, ClientKey, Complex64, Error, EvaluationKeys, KeyKind};

use crate::support::{Pair, SMALL, complex, kinds, numbers, pair, pair_of, server_of, to_complex};

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
    let how = Bootstrapping { independent_slots: true, ..Default::default() };
    let y = s.bootstrap_with(&p.upload_at(&x, 0), &how).unwrap();
    assert_eq!(y.level(), s.set().default_level());
    assert_eq!(Some(y.scale()), s.set().scale(y.level()));
    check(&p, &y, &x);
    // From a level above, with another message ratio: a vector of equal slots gains by it.
    let how = Bootstrapping { message_ratio: Some(10), ..how };
    let y = s.bootstrap_with(&p.upload_at(&x, 2), &how).unwrap();
    check(&p, &y, &x);
}

/// Keys that reach as far as they are used yield the same words, on less memory; above that they
/// are refused by name.
#[test]
fn keys_for_their_levels_alone_are_enough() {
    let set = CkksParameters::by_name(SMALL).expect("built in");
    // Keys of two such clients have the same seeds.
    let client = || ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a key");
    let x = client().encrypt_at(&complex(16, 90), 0).unwrap();
    for switching in [KeySwitching::Hybrid, KeySwitching::klss(&set)] {
        let options = Options::default().with_key_switching(switching);
        let run = |keys: &EvaluationKeys| {
            let server = server_of(keys, options.clone());
            let bytes = server.memory().device_bytes;
            let y = server.bootstrap(&server.upload(std::slice::from_ref(&x)).unwrap()).unwrap();
            (server.download(&y).unwrap().swap_remove(0), bytes)
        };
        let how = Bootstrapping::default();
        let whole = how.keys(&set, 16).unwrap();
        let whole = EvaluationKeys::generate(&client(), whole, &NoProgress).unwrap();
        let parts = how.keys_by_level(&set, 16).unwrap();
        let parts = EvaluationKeys::generate(&client(), parts, &NoProgress).unwrap();
        let (y, all) = run(&whole);
        let (z, fewer) = run(&parts);
        assert!(y.b() == z.b() && y.a() == z.a(), "{switching}");
        assert!(fewer < all, "{switching}: {fewer} of {all} bytes");
        let low = [KeyKind::Multiplication.up_to(2)];
        let low = EvaluationKeys::generate(&client(), low, &NoProgress).unwrap();
        let server = server_of(&low, options.clone());
        let squared = |level| {
            let x = client().encrypt_at(&complex(16, 91), level).unwrap();
            server.square(&server.upload(&[x]).unwrap())
        };
        squared(2).unwrap();
        let error = squared(3).expect_err("no key reaches there").to_string();
        assert!(error.contains("relinearisation key was made for levels up to 2"), "{error}");
        // What is only estimated needs no key, and so none for its level.
        let of = server.upload(&[client().encrypt_at(&complex(16, 91), 3).unwrap()]).unwrap();
        let square = |b: &mut Builder<'_>| {
            let x = b.input_with(3, of.scale(), 16)?;
            Ok(vec![b.square(&x)?])
        };
        assert_eq!(server.estimate(&[of.estimate()], square).unwrap().len(), 1);
    }
}

/// Sines of two halves as calls of their own yield the same words and the same estimate, of one
/// ciphertext and of two.
#[test]
fn divided_sines_yield_the_same_words() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_STC_FIRST_N10").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [8; 32]).expect("a key");
    let start = set.bootstrap_level();
    let x = [93, 94].map(|seed| client.encrypt_at(&complex(16, seed), start + 1).unwrap());
    let hows = [Bootstrapping::default(), Bootstrapping { real: true, ..Default::default() }];
    let kinds = [KeyKind::Multiplication, KeyKind::conjugation(&set)];
    let kinds = hows[0].keys(&set, 16).unwrap().into_iter().chain(kinds);
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).unwrap();
    let run = |divide_sines, how: &Bootstrapping| {
        let server = server_of(&keys, Options::default().with_divide_sines(divide_sines));
        let y = server.bootstrap_with(&server.upload(&x).unwrap(), how).unwrap();
        (server.download(&y).unwrap(), y.estimate())
    };
    for how in &hows {
        let (whole, divided) = (run(false, how), run(true, how));
        assert_eq!(whole.0.len(), 2);
        for (a, b) in whole.0.iter().zip(&divided.0) {
            assert!(a.b() == b.b() && a.a() == b.a(), "{how:?}");
            assert_eq!((a.scale(), a.level()), (b.scale(), b.level()));
        }
        assert_eq!(whole.1, divided.1);
    }
}

/// Two keys a transform: fewer bytes, the same slots within the same estimate.
#[test]
fn few_keys_bootstrap_as_well() {
    let set = CkksParameters::by_name(SMALL).expect("built in");
    // Full slots take longer: with `GIRIH_LONG` (`cargo xtask test --long`).
    let full = std::env::var_os("GIRIH_LONG").map(|_| 512);
    for slots in [16].into_iter().chain(full) {
        let how = Bootstrapping { few_keys: true, ..Default::default() };
        let (few, many) = (how.keys(&set, slots).unwrap(), Bootstrapping::default());
        let many = many.keys(&set, slots).unwrap();
        assert!(few.len() < many.len(), "{} and {} keys", few.len(), many.len());
        let p = pair_of(SMALL, few, Options::default());
        let x = complex(slots, 92);
        let deviation = |p: &Pair, how: &Bootstrapping| {
            let y = p.server.bootstrap_with(&p.upload_at(&x, 0), how).unwrap();
            p.check_within(&y, &x, 12.0, 8.0);
            let found = p.values(&y);
            let squares = found.iter().zip(&x).map(|(f, w)| (f - w).norm_sqr());
            (squares.sum::<f64>() / (2 * slots) as f64).sqrt()
        };
        let q = pair_of(SMALL, many, Options::default());
        let ratio = deviation(&p, &how) / deviation(&q, &Bootstrapping::default());
        assert!(ratio < 1.01, "{slots} slots: {ratio} times the noise");
        let error = p.server.bootstrap(&p.upload_at(&x, 0)).expect_err("other keys").to_string();
        assert!(error.contains("rotations by"), "{error}");
    }
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

/// From one slot on, by whatever keys: the estimate holds.
#[test]
fn few_slots_and_a_first_transform_by_keys() {
    for (set, counts) in [
        (SMALL, &[1, 8][..]),
        ("INSECURE_CKKS_D40_30BIT_LOW_N10", &[64, 512]),
        ("INSECURE_CKKS_D40_30BIT_LOW_STC_FIRST_N10", &[4]),
        // Of all slots by both sines in one.
        ("INSECURE_CKKS_D40_30BIT_INVARIANT_STC_FIRST_N10", &[4, 512]),
    ] {
        let set = CkksParameters::by_name(set).expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [9; 32]).expect("a key");
        let start = set.bootstrap_level();
        for &slots in counts {
            let how = Bootstrapping::default();
            let kinds = how.keys_by_level(&set, slots).unwrap();
            let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).unwrap();
            let server = server_of(&keys, Options::default());
            let x = complex(slots, 95);
            let real: Vec<_> = x.iter().map(|z| Complex64::new(z.re, 0.0)).collect();
            // The keys for complex slots serve real ones, where both take a conjugation.
            let by_two = set.invariant_weight().is_none() || 2 * slots <= set.slots();
            let real_too = by_two.then_some((&real, Bootstrapping { real: true, ..how }));
            for (x, how) in [(&x, how)].into_iter().chain(real_too) {
                let input = client.encrypt_at(x, start).unwrap();
                let y = server.bootstrap_with(&server.upload(&[input]).unwrap(), &how).unwrap();
                assert_eq!(Some(y.scale()), set.scale(set.default_level()));
                let found = server.download(&y).unwrap().remove(0);
                let error = client.decrypt(&found).unwrap();
                let worst = error.iter().zip(x).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                let stated = y.estimate().largest_error();
                assert!(worst < stated, "{set}, {slots}: {worst}, stated {stated}");
            }
            if slots == 64 {
                // Keys of another number of slots are named as missing.
                let input = client.encrypt_at(&complex(16, 96), start).unwrap();
                let input = server.upload(&[input]).unwrap();
                let text = server.bootstrap(&input).expect_err("no keys").to_string();
                assert!(text.contains("bootstrapping of 16 slots"), "{text}");
                assert!(text.contains("bootstrapping of 64 slots"), "{text}");
            }
        }
    }
}

/// Numbers from 0 to 1 and equal ones are promised as much as any by the small ring of the default
/// set, and keep it; a sine without an arcsine promises them little.
#[test]
fn the_default_set_is_exact_for_numbers_from_0_to_1() {
    let default = CkksParameters::default();
    let small = format!("INSECURE_{}_N10", default.name());
    let client = |name: &str| {
        let set = CkksParameters::by_name(name).expect("built in");
        ClientKey::generate_seeded_for_tests(&set, [10; 32]).expect("a key")
    };
    let promise = |name: &str, x: &[f64]| {
        let client = client(name);
        let (set, how) = (client.set().clone(), Bootstrapping::default());
        let kinds = how.keys_by_level(&set, x.len()).unwrap();
        let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).unwrap();
        let server = server_of(&keys, Options::default());
        let input = client.encrypt_at(x, set.bootstrap_level()).unwrap();
        let y = server.bootstrap(&server.upload(&[input]).unwrap()).unwrap();
        let found = client.decrypt_real(&server.download(&y).unwrap()[0]).unwrap();
        let worst = found.iter().zip(x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let stated = y.estimate().largest_error();
        assert!(worst < stated, "{name}: {worst}, stated {stated}");
        stated
    };
    let from_0_to_1: Vec<f64> = numbers(16, 97).iter().map(|x| (x + 1.0) / 2.0).collect();
    for x in [&from_0_to_1[..], &[1.0; 16]] {
        let (stated, other) = (promise(&small, x), promise(SMALL, x));
        assert!(stated < f64::exp2(-20.0) && other > f64::exp2(-10.0), "{stated}, {other}");
    }
}

#[test]
fn real_ones_lose_their_imaginary_noise() {
    let p = bootstrapping_pair(16, Options::default());
    let s = &p.server;
    let (u, v) = (numbers(16, 82), numbers(16, 83));
    let (cu, cv) = (p.upload_at(&u, 0), p.upload_at(&v, 0));
    let how = Bootstrapping { real: true, ..Default::default() };
    let y = s.bootstrap_with(&cu, &how).unwrap();
    // One sine, and the canonical scale.
    assert_eq!(y.scale(), s.set().scale(y.level()).unwrap());
    p.check_within(&y, &to_complex(&u), 12.0, 10.0);
    let sum = s.add(&y, &p.upload(&v)).unwrap();
    assert_eq!(sum.level(), s.set().default_level());
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
    let how = Bootstrapping { message_ratio: Some(8), ..Default::default() };
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
    let options = Options::default().with_bootstrap_when_needed(true);
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
        let options = Options::default().with_bootstrap_when_needed(true);
        let p = bootstrapping_pair_of(name, 16, options);
        let set = p.server.set();
        let start = set.bootstrap_level();
        let how = Bootstrapping::default();
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
    let options = Options::default().with_bootstrap_when_needed(true);
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
    assert!(error.to_string().contains("a bootstrapping of 512 slots is part of this"), "{error}");
    let how = |ratio| Bootstrapping { message_ratio: Some(ratio), ..Default::default() };
    assert!(matches!(s.bootstrap_with(&x, &how(4)), Err(Error::Value { .. })));
    assert!(matches!(s.bootstrap_with(&x, &how(60)), Err(Error::Value { .. })));
    let few = p.upload_at(&complex(8, 86), 0);
    assert!(s.bootstrap(&few).is_err());
    let plain = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
    let none = Bootstrapping::default().keys(&plain, 16);
    assert!(matches!(none, Err(Error::Unsupported { .. })));
}

/// Estimates hold without a hint, whatever the slots up to 1 are.
#[test]
fn promises_hold_for_any_slots() {
    let vectors: [(&str, &dyn Fn(usize) -> f64); 6] = [
        ("ones", &|_| 1.0),
        ("0.3", &|j| 0.3 + 0.01 * (j as f64).sin()),
        ("alternating", &|j| if j % 2 == 0 { 1.0 } else { -1.0 }),
        ("blocks", &|j| if j % 8 < 4 { 1.0 } else { 0.0 }),
        ("one of all", &|j| if j == 3 { 1.0 } else { 0.0 }),
        ("zeros", &|_| 0.0),
    ];
    for name in [SMALL, "INSECURE_CKKS_D40_ARCSINE_N10", "INSECURE_CKKS_D40_STC_FIRST_N10"] {
        let p = bootstrapping_pair_of(name, 16, Options::default());
        let start = p.server.set().bootstrap_level();
        let uniform: Vec<f64> = numbers(16, 95).iter().map(|x| 0.5 + 0.5 * x).collect();
        let lists = vectors.iter().map(|(what, f)| (*what, (0..16).map(f).collect()));
        for (what, x) in lists.chain([("[0, 1]", uniform)]) {
            let x: Vec<f64> = x;
            // Errors of the reduction are the same each time, and so add up.
            let mut y = p.upload_at(&x, start);
            for round in 1..=if what == "ones" { 3 } else { 1 } {
                y = p.server.bootstrap(&y).unwrap();
                let errors = p.values(&y).into_iter().zip(&x);
                let worst =
                    errors.map(|(y, x)| (y - x).re.abs().max(y.im.abs())).fold(0.0, f64::max);
                let promised = y.estimate().largest_error();
                println!("{name}, {what}, {round}: {worst:.2e} of {promised:.2e}");
                assert!(worst <= promised, "{name}, {what}, {round}: {worst:e} of {promised:e}");
                y = p.server.adjust(&y, start).unwrap();
            }
        }
    }
}

/// Slots above 1 err by the power of the first term that the reduction gets wrong.
#[test]
fn promises_hold_for_slots_of_four() {
    for name in [SMALL, "INSECURE_CKKS_D40_ARCSINE_N10", "INSECURE_CKKS_D40_STC_FIRST_N10"] {
        let p = bootstrapping_pair_of(name, 16, Options::default());
        let start = p.server.set().bootstrap_level();
        let x = p.client.within(4.0).encrypt_at(&[4.0; 16], start).unwrap();
        let y = p.server.bootstrap(&p.server.upload(&[x]).unwrap()).unwrap();
        let worst = p.values(&y).iter().map(|y| (y - 4.0).norm()).fold(0.0, f64::max);
        let promised = y.estimate().largest_error();
        println!("{name}: {worst:.2e} of {promised:.2e}");
        assert!(worst <= promised && promised < 40.0 * worst, "{name}: {worst:e}, {promised:e}");
    }
}
