//! Errors that share a source: promises hold however often and by whichever way one comes back,
//! and stay near where errors are independent.

use crate::support::{Pair, complex, kinds, pair, pair_of, server_of};
use girih_backend::NoProgress;
use girih_ckks::server::{Ciphertexts, LinearMap, Options};
use girih_ckks::{CkksParameters, Complex64, EvaluationKeys};

/// The largest error of a component over what decryption promises, of the worst ciphertext.
fn ratio(p: &Pair, batch: &Ciphertexts, wanted: &[Complex64]) -> f64 {
    let host = p.server.download(batch).unwrap();
    let one = |i: usize| {
        let found = p.client.decrypt_with_precision(&host[i]).unwrap();
        let errors = found.values.iter().zip(wanted.iter().cycle()).map(|(x, y)| x - y);
        let worst = errors.map(|e| e.re.abs().max(e.im.abs())).fold(0.0, f64::max);
        worst / (12.0 * found.noise.deviation)
    };
    (0..host.len()).map(one).fold(0.0, f64::max)
}

/// The promise holds and says something: within three bits for errors that are all there.
fn check(what: &str, p: &Pair, batch: &Ciphertexts, wanted: &[Complex64]) {
    let ratio = ratio(p, batch, wanted);
    println!("{what}: {ratio:.3} of the promise");
    assert!(ratio <= 1.0, "{what}: {ratio} of the promise");
    // A few numbers may all be near.
    assert!(ratio > 0.05 || wanted.len() < 64, "{what}: {ratio} of the promise says nothing");
}

fn scaled(x: &[Complex64], by: f64) -> Vec<Complex64> {
    x.iter().map(|v| v * by).collect()
}

#[test]
fn a_ciphertext_and_itself() {
    let p = pair(&[]);
    let s = &p.server;
    let x = complex(512, 1);
    // Little of an encoding, so that the message stays below the modulus.
    let cx = p.upload_at(&scaled(&x, 1e-3), 2);
    let mut sum = cx.clone();
    for count in 2..=1000 {
        sum = s.add(&sum, &cx).unwrap();
        if [100, 300, 1000].contains(&count) {
            let wanted = scaled(&x, 1e-3 * f64::from(count));
            check(&format!("{count} times x"), &p, &sum, &wanted);
        }
    }
    // Whatever it is called.
    let i = Complex64::new(0.0, 1.0);
    let turned = s.mul_constant(&cx, i).unwrap();
    let negative = s.neg(&cx).unwrap();
    let mut sum = s.adjust(&cx, 1).unwrap();
    for _ in 0..16 {
        let turned = s.mul_constant(&s.adjust(&turned, 1).unwrap(), -i).unwrap();
        sum = s.sub(&s.add(&sum, &turned).unwrap(), &s.adjust(&negative, 1).unwrap()).unwrap();
    }
    check("multiples by units", &p, &sum, &scaled(&x, 33e-3));
}

#[test]
fn conjugates_meet_in_the_real_part() {
    let p = pair(&[]);
    let s = &p.server;
    let x = complex(512, 2);
    let mut y = p.upload_at(&scaled(&x, 1e-6), 2);
    for step in 1..=20 {
        y = s.add(&y, &s.conjugate(&y).unwrap()).unwrap();
        if step >= 16 {
            let factor = 1e-6 * 2f64.powi(step);
            let wanted: Vec<Complex64> = x.iter().map(|v| (v.re * factor).into()).collect();
            check(&format!("x + conj x {step} times"), &p, &y, &wanted);
        }
    }
}

#[test]
fn sums_over_slots_err_alike_in_all_of_them() {
    let steps: Vec<i64> = (0..9).map(|i| 1 << i).collect();
    let p = pair(&steps);
    let s = &p.server;
    for seed in 0..8 {
        let x = complex(512, 30 + seed);
        let sum: Complex64 = x.iter().sum();
        let cx = p.upload_at(&scaled(&x, 1e-3), 2);
        let all = s.inner_sum(&cx, 512, 1).unwrap();
        check("a sum over slots", &p, &all, &[sum * 1e-3]);
        check("as one slot", &p, &all.with_slots(1).unwrap(), &[sum * 1e-3]);
        // Independent in the slots of a fresh one: 22.6 deviations there, not 512.
        let ratio = all.estimate().deviation / cx.estimate().deviation;
        assert!(ratio > 22.0 && ratio < 700.0, "{ratio}");
        let again = s.inner_sum(&all, 512, 1).unwrap();
        check("a sum of a sum", &p, &again, &[sum * 0.512]);
        check("as one slot", &p, &again.with_slots(1).unwrap(), &[sum * 0.512]);
        // And by way of the host, at a server that does not know it.
        let other = another(&p);
        let back = other.server.upload(&p.server.download(&all).unwrap()).unwrap();
        check("uploaded again", &other, &back.with_slots(1).unwrap(), &[sum * 1e-3]);
    }
}

/// The same client with a server of its own.
fn another(p: &Pair) -> Pair {
    let set = p.client.set();
    let keys = EvaluationKeys::generate(&p.client, kinds(set, &[1, 2]), &NoProgress).unwrap();
    let client = girih_ckks::ClientKey::from_bytes(&p.client.to_bytes().unwrap()).unwrap();
    Pair { client, server: server_of(&keys, Options::default()) }
}

#[test]
fn matrices_of_ones() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").unwrap();
    let n = 16;
    let ones = (0..n as i64).map(|by| (by, vec![1.0; n])).collect::<Vec<_>>();
    let map = LinearMap::from_diagonals(n, ones).unwrap();
    let p = pair_of(set.name(), kinds(&set, &map.rotations()), Options::default());
    for seed in 0..4 {
        let x = scaled(&complex(n, 40 + seed), 1e-6);
        let sum: Complex64 = x.iter().sum();
        let mut y = p.upload_at(&x, 5);
        for power in 0..4 {
            y = p.server.linear_transform(&y, &map).unwrap();
            let wanted = sum * 16f64.powi(power);
            check(&format!("ones, {} times", power + 1), &p, &y, &[wanted]);
        }
    }
}

#[test]
fn inner_products_of_one_pair() {
    let p = pair(&[]);
    let (x, y) = (complex(512, 5), complex(512, 6));
    let (cx, cy) = (p.upload_at(&scaled(&x, 0.1), 2), p.upload_at(&scaled(&y, 0.1), 2));
    let (cx, cy) = (cx.with_magnitude(0.1).unwrap(), cy.with_magnitude(0.1).unwrap());
    let (left, right) = (vec![&cx; 256], vec![&cy; 256]);
    let product = p.server.inner_product(&left, &right).unwrap();
    let wanted: Vec<Complex64> = x.iter().zip(&y).map(|(x, y)| x * y * 2.56).collect();
    check("256 times one pair", &p, &product, &wanted);
}

#[test]
fn what_is_computed_again_errs_alike() {
    let p = pair(&[]);
    let s = &p.server;
    let x = complex(512, 7);
    let cx = p.upload_at(&scaled(&x, 0.1), 2).with_magnitude(0.1).unwrap();
    let wanted = |count: f64| x.iter().map(|v| v * v * 0.01 * count).collect::<Vec<_>>();
    let mut sum = s.mul(&cx, &cx).unwrap();
    for _ in 1..64 {
        sum = s.add(&sum, &s.mul(&cx, &cx).unwrap()).unwrap();
    }
    check("64 squares", &p, &sum, &wanted(64.0));
    // In a recording too, and by sums in another order.
    let halves = |b: &mut girih_ckks::server::Builder<'_>, x: &girih_ckks::server::Node| {
        let (two, three) = (b.add(x, x)?, b.mul_constant(x, 3.0)?);
        let x = b.sub(&three, &two)?;
        let x = b.with_magnitude(&x, 0.1)?;
        b.square(&x)
    };
    let recorded = s.record(|b| {
        let x = b.input_with(cx.level(), cx.scale(), cx.slots())?;
        let mut sum = b.square(&x)?;
        for _ in 1..64 {
            let other = halves(b, &x)?;
            sum = b.add(&sum, &other)?;
        }
        Ok(vec![sum])
    });
    let sum = s.add(&sum, &recorded.unwrap().run(&[&cx]).unwrap()[0]).unwrap();
    check("and in a recording", &p, &sum, &wanted(128.0));
}

#[test]
fn a_ciphertext_sent_twice() {
    let p = pair(&[]);
    let s = &p.server;
    let x = scaled(&complex(512, 8), 0.01);
    let sent = p.client.encrypt_at(&x, 1).unwrap();
    let copies = s.upload(&vec![sent.clone(); 64]).unwrap();
    let mut sum = copies.select(0..32).unwrap();
    sum = s.add(&sum, &copies.select(32..64).unwrap()).unwrap();
    check("in one batch", &p, &sum, &scaled(&x, 2.0));
    let mut sum = s.upload(std::slice::from_ref(&sent)).unwrap();
    for _ in 1..64 {
        sum = s.add(&sum, &s.upload(std::slice::from_ref(&sent)).unwrap()).unwrap();
    }
    check("64 times", &p, &sum, &scaled(&x, 64.0));
    // What went through a server stays what it was, here and elsewhere.
    let square = s.mul(&p.upload_at(&x, 2), &p.upload_at(&x, 2)).unwrap();
    let wanted: Vec<Complex64> = x.iter().map(|v| v * v).collect();
    let other = another(&p);
    for q in [&p, &other] {
        let mut sum = q.server.upload(&p.server.download(&square).unwrap()).unwrap();
        let mut negative = q.server.neg(&sum).unwrap();
        for _ in 1..64 {
            // Other bytes each time.
            let host = q.server.download(&negative).unwrap();
            negative = q.server.neg(&q.server.upload(&host).unwrap()).unwrap();
            sum = q.server.sub(&sum, &q.server.upload(&host).unwrap()).unwrap();
            negative = q.server.neg(&negative).unwrap();
        }
        check("through the host", q, &sum, &scaled(&wanted, 64.0));
    }
}

#[test]
fn independent_errors_add_by_squares() {
    let p = pair(&[1]);
    let s = &p.server;
    let x = scaled(&complex(512, 9), 0.01);
    let fresh = |count: usize| {
        let host: Vec<_> = (0..count).map(|_| p.client.encrypt_at(&x, 1).unwrap()).collect();
        s.upload(&host).unwrap()
    };
    let one = fresh(1).estimate().deviation;
    for (count, most) in [(64usize, 1.9), (1024, 4.0)] {
        // Encodings of one vector are off by the same each time: a part in eleven, which grows.
        let mut sum = fresh(count);
        while sum.len() > 1 {
            let half = sum.len() / 2;
            let (left, right) = (sum.select(0..half).unwrap(), sum.select(half..2 * half).unwrap());
            sum = s.add(&left, &right).unwrap();
        }
        check(&format!("{count} encryptions"), &p, &sum, &scaled(&x, count as f64));
        let ratio = sum.estimate().deviation / one / (count as f64).sqrt();
        assert!(ratio >= 1.0 && ratio < most, "{count}: {ratio}");
    }
    // A source meets itself in other slots only.
    let turned = s.add(&fresh(1), &s.rotate(&fresh(1), 1).unwrap()).unwrap();
    let cx = fresh(1);
    let itself = s.add(&cx, &s.rotate(&cx, 1).unwrap()).unwrap();
    let ratio = itself.estimate().deviation / turned.estimate().deviation;
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    // Roundings of many products.
    let batch = fresh(64);
    let mut sum = s.mul(&batch, &batch).unwrap();
    let each = sum.estimate().deviation;
    while sum.len() > 1 {
        let half = sum.len() / 2;
        let (left, right) = (sum.select(0..half).unwrap(), sum.select(half..2 * half).unwrap());
        sum = s.add(&left, &right).unwrap();
    }
    let ratio = sum.estimate().deviation / each / 8.0;
    assert!((0.99..1.5).contains(&ratio), "{ratio}");
}
