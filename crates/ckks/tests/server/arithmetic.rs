//! Sums, products, constants, vectors, levels.

use girih_ckks::{Complex64, Error};

use crate::support::{complex, numbers, pair, to_complex};

fn zip(
    x: &[Complex64],
    y: &[Complex64],
    f: fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

#[test]
fn sums_and_products_are_those_of_slots() {
    let p = pair(&[]);
    let s = &p.server;
    let (x, y) = (complex(512, 1), complex(512, 2));
    let (cx, cy) = (p.upload(&x), p.upload(&y));
    p.check_exact(&cx, &x);
    p.check_exact(&s.add(&cx, &cy).unwrap(), &zip(&x, &y, |x, y| x + y));
    p.check(&s.sub(&cx, &cy).unwrap(), &zip(&x, &y, |x, y| x - y));
    p.check_exact(&s.neg(&cx).unwrap(), &zip(&x, &x, |x, _| -x));
    p.check(&s.add(&cx, &cx).unwrap(), &zip(&x, &x, |x, y| x + y));
    let product = s.mul(&cx, &cy).unwrap();
    assert_eq!(product.level(), cx.level() - 1);
    assert_eq!(Some(product.scale()), s.set().scale(product.level()));
    p.check(&product, &zip(&x, &y, |x, y| x * y));
    let square = s.square(&cx).unwrap();
    p.check(&square, &zip(&x, &x, |x, y| x * y));
    p.check_exact(&s.conjugate(&cx).unwrap(), &zip(&x, &x, |x, _| x.conj()));
    // Inputs stay as they were.
    p.check(&cx, &x);
    // Levels are brought together: x y is one below x, and x^2 y three below.
    let mixed = s.add(&product, &cx).unwrap();
    assert_eq!(mixed.level(), product.level());
    p.check(&mixed, &zip(&x, &y, |x, y| x * y + x));
    let deep = s.mul(&s.mul(&square, &product).unwrap(), &cx).unwrap();
    assert_eq!(deep.level(), cx.level() - 3);
    p.check_within(&deep, &zip(&x, &y, |x, y| x * x * x * y * x), 12.0, 6.0);
}

#[test]
fn constants_and_vectors() {
    let p = pair(&[]);
    let s = &p.server;
    let (x, y) = (complex(512, 3), complex(512, 4));
    let cx = p.upload(&x);
    let c = Complex64::new(0.3, -1.7);
    p.check(&s.add_constant(&cx, c).unwrap(), &zip(&x, &x, |x, _| x + Complex64::new(0.3, -1.7)));
    let product = s.mul_constant(&cx, c).unwrap();
    assert_eq!(product.level(), cx.level() - 1);
    p.check(&product, &zip(&x, &x, |x, _| x * Complex64::new(0.3, -1.7)));
    // Gaussian integers cost no level.
    let free = s.mul_constant(&cx, Complex64::new(-3.0, 2.0)).unwrap();
    assert_eq!(free.level(), cx.level());
    p.check(&free, &zip(&x, &x, |x, _| x * Complex64::new(-3.0, 2.0)));
    p.check(&s.add_plain(&cx, &y).unwrap(), &zip(&x, &y, |x, y| x + y));
    let product = s.mul_plain(&cx, &y).unwrap();
    assert_eq!(Some(product.scale()), s.set().scale(cx.level() - 1));
    p.check(&product, &zip(&x, &y, |x, y| x * y));
    // A short vector repeats, and real ones need no conversion.
    let mask = [1.0, 0.0];
    let masked: Vec<_> = x.iter().enumerate().map(|(j, x)| x * mask[j % 2]).collect();
    p.check(&s.mul_plain(&cx, &mask).unwrap(), &masked);
    // The same recording serves another vector.
    let kept = s.memory().recordings;
    p.check(&s.mul_plain(&cx, &x).unwrap(), &zip(&x, &x, |x, y| x * y));
    assert_eq!(s.memory().recordings, kept);
}

#[test]
fn batches_are_computed_pairwise() {
    let p = pair(&[]);
    let lists: Vec<_> = (0..3).map(|i| numbers(64, 10 + i)).collect();
    let host: Vec<_> = lists.iter().map(|x| p.client.encrypt(x).unwrap()).collect();
    let batch = p.server.upload(&host).unwrap();
    let square = p.server.square(&batch).unwrap();
    assert_eq!((square.len(), square.slots()), (3, 64));
    for (i, x) in lists.iter().enumerate() {
        let wanted: Vec<_> = x.iter().map(|x| Complex64::from(x * x)).collect();
        p.check_within(&square.select(i..i + 1).unwrap(), &wanted, 12.0, 6.0);
    }
    let two = p.server.add(&batch.select(0..2).unwrap(), &square.select(1..3).unwrap()).unwrap();
    let wanted: Vec<_> =
        (0..64).map(|j| Complex64::from(lists[1][j] + lists[2][j] * lists[2][j])).collect();
    p.check_within(&two.select(1..2).unwrap(), &wanted, 12.0, 6.0);
}

#[test]
fn levels_and_scales_by_hand() {
    let p = pair(&[]);
    let s = &p.server;
    let (x, y) = (complex(512, 5), complex(512, 6));
    let (cx, cy) = (p.upload(&x), p.upload(&y));
    let raw = s.mul_unscaled(&cx, &cy).unwrap();
    assert_eq!((raw.level(), raw.scale()), (cx.level(), cx.scale() * cy.scale()));
    let sum = s.add(&raw, &s.mul_unscaled(&cx, &cx).unwrap()).unwrap();
    let sum = s.rescale(&sum).unwrap();
    let wanted = zip(&x, &y, |x, y| x * y + x * x);
    p.check(&sum, &wanted);
    p.check(&s.inner_product(&[&cx, &cx], &[&cy, &cx]).unwrap(), &wanted);
    let low = s.adjust(&cx, 2).unwrap();
    assert_eq!((low.level(), Some(low.scale())), (2, s.set().scale(2)));
    p.check_exact(&low, &x);
    p.check(&s.drop_to(&cx, 0).unwrap(), &x);
    assert_eq!(s.drop_to(&cx, 0).unwrap().level(), 0);
}

#[test]
fn running_out_of_levels_says_what_to_do() {
    let p = pair(&[]);
    let s = &p.server;
    let x = p.upload_at(&numbers(512, 7), 0);
    let error = s.mul(&x, &x).unwrap_err();
    assert!(matches!(error, Error::OutOfLevels { needed: 1, level: 0, .. }), "{error}");
    assert!(error.to_string().contains("bootstrap it"), "{error}");
    assert!(matches!(s.rescale(&x), Err(Error::OutOfLevels { .. })));
    assert!(matches!(s.mul_constant(&x, 0.5), Err(Error::OutOfLevels { .. })));
    assert!(matches!(s.mul_plain(&x, &[0.5]), Err(Error::OutOfLevels { .. })));
    // What needs no level works.
    assert_eq!(s.mul_constant(&x, 2.0).unwrap().level(), 0);
    assert!(matches!(s.adjust(&x, 0), Err(Error::Level { .. })));
    assert!(matches!(s.drop_to(&x, 1), Err(Error::Level { .. })));
    assert!(matches!(s.adjust(&x, 99), Err(Error::Level { .. })));
}

#[test]
fn bad_operands_are_refused() {
    let p = pair(&[]);
    let s = &p.server;
    let x = p.upload(&to_complex(&numbers(512, 8)));
    assert!(matches!(s.add_plain(&x, &[f64::NAN]), Err(Error::Value { .. })));
    assert!(matches!(s.add_plain(&x, &[1.0; 3]), Err(Error::Length { .. })));
    assert!(matches!(s.mul_plain(&x, &[1.0; 1024]), Err(Error::Length { .. })));
    assert!(matches!(s.add_plain(&x, &[1e30]), Err(Error::Value { .. })));
    assert!(matches!(s.add_constant(&x, f64::INFINITY), Err(Error::Value { .. })));
    assert!(matches!(s.mul_constant(&x, 1e300), Err(Error::Value { .. })));
    assert!(matches!(s.upload(&[]), Err(Error::Length { .. })));
    assert!(matches!(x.select(0..2), Err(Error::Length { .. })));
    assert!(matches!(x.with_magnitude(f64::NAN), Err(Error::Value { .. })));
    let short = p.client.encrypt(&numbers(64, 1)).unwrap();
    let long = p.client.encrypt(&numbers(512, 1)).unwrap();
    let low = p.client.encrypt_at(&numbers(64, 1), 3).unwrap();
    assert!(matches!(s.upload(&[short.clone(), long]), Err(Error::Length { .. })));
    assert!(matches!(s.upload(&[short.clone(), low]), Err(Error::Level { .. })));
    // Batches of unequal lengths.
    let two = s.upload(&[short.clone(), short.clone()]).unwrap();
    let one = s.upload(&[short]).unwrap();
    assert!(matches!(s.add(&one, &two), Err(Error::Length { .. })));
}

#[test]
fn other_keys_and_servers_are_refused() {
    let p = pair(&[]);
    let other = crate::support::pair_of("INSECURE_CKKS_D35_N10", Vec::new(), Default::default());
    let x = p.upload(&[0.5]);
    let foreign = other.client.encrypt(&[0.5]).unwrap();
    assert!(matches!(p.server.upload(&[foreign]), Err(Error::WrongSet { .. })));
    let y = other.upload(&[0.5]);
    assert!(matches!(p.server.add(&x, &y), Err(Error::WrongKey { .. })));
    assert!(matches!(p.server.download(&y), Err(Error::WrongKey { .. })));
    let set = p.server.set();
    let stranger = girih_ckks::ClientKey::generate_seeded_for_tests(set, [9; 32]).unwrap();
    let foreign = stranger.encrypt(&[0.5]).unwrap();
    assert!(matches!(p.server.upload(&[foreign]), Err(Error::WrongKey { .. })));
    // The same keys on another device.
    let again = pair(&[]);
    assert!(matches!(p.server.add(&x, &again.upload(&[0.5])), Err(Error::Order { .. })));
}
