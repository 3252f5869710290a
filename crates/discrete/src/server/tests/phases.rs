//! Numbers as phases and back.

use super::*;
use crate::noise::tests::{Rounded, as_of_independent};
use girih_ckks::Ciphertext;

impl Place {
    /// Phases of the first ciphertext, in steps of which `modulus` fill a turn, by number.
    fn steps(&self, x: &Phases, modulus: u32) -> Vec<f64> {
        let set = self.server.set();
        let back = self.server.ckks.download(x.ciphertexts()).expect("of this server");
        let slots = self.client.ckks().decrypt(&back[0]).expect("of this key");
        let encoder = Encoder::new(set.ckks().chain().log2_degree()).expect("a degree");
        // Slots are in turns; coefficients are exact to 2^-40 of one.
        let plain = encoder.encode(&slots, 2f64.powi(40)).expect("finite");
        let turns = |j: usize| plain.coefficients()[set.exponent(j)] as f64 / 2f64.powi(40);
        (0..set.numbers()).map(|j| turns(j) * f64::from(modulus)).collect()
    }
}

#[test]
fn numbers_become_phases_within_the_model() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 31);
    let m = numbers(1024, 16, 7);
    let x = place.upload(&m, 16);
    for modulus in [32, 16, 256] {
        let phases = place.server.phases(&x, modulus).expect("small errors");
        assert_eq!((phases.numbers(), phases.key_id()), (1024, place.client.key_id()));
        let off = |(f, m): (f64, &u32)| {
            let d = f - f64::from(*m);
            d - (d / f64::from(modulus)).round() * f64::from(modulus)
        };
        let errors = place.steps(&phases, modulus).into_iter().zip(&m).map(off);
        // The model is of the worst slot: three times the mean.
        let own = crate::noise::to_coefficients(place.server.set(), modulus);
        let flatness = place.server.set().flatness().sqrt();
        let model = flatness * x.deviation.hypot(own.sqrt());
        // Of numbers that do not know the constants.
        let rounded = flatness * as_of_independent(place.server.set(), modulus, 15.0);
        let ratio = deviation(errors) / model.hypot(rounded);
        // What phases carry has room for numbers that are chosen against constants, too.
        let [carried, bound] = [phases.deviation(), phases.bound()].map(|x| x * f64::from(modulus));
        println!(
            "m/{modulus}: {ratio:.2} of the deviation of the model, 2^{:.1}; carried 2^{:.1}, on \
             top of 2^{:.1}",
            model.log2(),
            carried.log2(),
            bound.log2()
        );
        assert!((0.1..0.7).contains(&ratio) && carried > model, "{ratio} {carried}");
        assert!((0.0..0.01).contains(&bound) && phases.normal() > phases.deviation(), "{bound}");
    }
}

/// Numbers that are chosen against the rounded constants, without masks, so that nothing else is
/// off: they err by what was computed of the constants, and by no more than is counted.
#[test]
fn numbers_against_the_constants_stay_within_the_bound() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 34);
    let set = place.server.set().clone();
    let rounded = Rounded::new(&set, 16);
    let before = as_of_independent(&set, 16, 15.0);
    for j in [3, 800] {
        let (numbers, expected) = rounded.worst(j, 15.0);
        let known: Vec<u32> = numbers.iter().map(|&m| m as u32).collect();
        let x = place.server.known(&[&known], 16).expect("numbers");
        let phases = place.server.phases(&x, 16).expect("small errors");
        let off = place.steps(&phases, 16)[j] - numbers[j];
        let off = (off - 16.0 * (off / 16.0).round()).abs();
        let counted = 16.0 * phases.bound();
        println!(
            "{j}: 2^{:.2}, computed 2^{:.2}, counted 2^{:.2}",
            off.log2(),
            expected.log2(),
            counted.log2()
        );
        assert!((off / expected - 1.0).abs() < 0.05, "{j}: {off} {expected}");
        assert!(off > 9.0 * before && off < counted, "{j}: {off} {before} {counted}");
    }
}

#[test]
fn phases_are_looked_up_modulo_whatever_they_are_parts_of() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 32);
    let m = numbers(1024, 12, 3);
    let x = place.upload(&m, 12);
    // 12 and 32 are no divisors of the set's 16.
    for modulus in [12, 32] {
        let phases = place.server.phases(&x, modulus).expect("small errors");
        let square = Table::new(modulus, |m| m * m % 12 % 4).expect("a table");
        let bit = Table::new(modulus, |m| m / 8 % 2).expect("a table");
        let found = place.server.lookup_phases(&phases, &[&square, &bit]).expect("small errors");
        for (found, table) in found.iter().zip([&square, &bit]) {
            let wanted: Vec<i64> = m.iter().map(|&m| table.at(i64::from(m))).collect();
            assert_eq!((place.decrypt(found), found.range()), (wanted, table.range()));
        }
        // What comes out is as good as of any look-up.
        let again = place.server.lookup(&found[0], &[&Table::new(4, |m| 3 - m).expect("a table")]);
        let wanted: Vec<i64> = m.iter().map(|&m| 3 - square.at(i64::from(m))).collect();
        assert_eq!(place.decrypt(&again.expect("small errors")[0]), wanted);
    }
}

#[test]
fn what_is_no_phase_is_refused_in_words() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 33);
    let server = &place.server;
    let x = place.upload(&[1, 2, 3], 16);
    let table = Table::new(16, |m| m).expect("a table");
    let said = |result: Result<Phases>| result.expect_err("refused").to_string();
    let error = said(server.phases(&x, 1));
    assert!(error.contains("is 1, and must be from 2 to 4096"), "{error}");
    let far = Wires { deviation: 0.02, ..x.clone() };
    let error = said(server.phases(&far, 16));
    assert!(
        error.contains("of a step beside a bound of 0.0000, and 0.036 beside none is"),
        "{error}"
    );

    let phases = server.phases(&x, 16).expect("small errors");
    let host: Vec<Ciphertext> = server.ckks.download(phases.ciphertexts()).expect("of this one");
    let error = said(server.upload_phases(&host, 0, 1e-4, 0.0));
    assert!(error.contains("no numbers in a ciphertext of"), "{error}");
    let error = said(server.upload_phases(&host, 3, f64::NAN, 0.0));
    assert!(error.contains("an error, in turns, is NaN"), "{error}");
    let wires = server.ckks.download(x.ciphertexts()).expect("of this one");
    let error = said(server.upload_phases(&wires, 3, 1e-4, 0.0));
    assert!(error.contains("level 2") && error.contains("they stand at level 0"), "{error}");

    let rough = server.upload_phases(&host, 3, 2f64.powi(-8), 0.0).expect("phases");
    let error = server.lookup_phases(&rough, &[&table]).expect_err("refused").to_string();
    assert!(error.contains("m/16 of a turn with errors of deviation 2^-8.0"), "{error}");
    assert!(error.contains("of that are enough"), "{error}");
    // What it says holds.
    let share = error.split("errors of ").nth(2).and_then(|s| s.split(' ').next());
    let share: f64 = share.and_then(|s| s.parse().ok()).expect("a number");
    let better = server.upload_phases(&host, 3, 0.99 * share * 2f64.powi(-8), 0.0).expect("phases");
    let found = server.lookup_phases(&better, &[&table]).expect("small errors");
    assert_eq!(place.decrypt(&found[0]), [1, 2, 3]);
    let off = server.upload_phases(&host, 3, 1e-6, 0.02).expect("phases");
    let error = server.lookup_phases(&off, &[&table]).expect_err("refused").to_string();
    assert!(error.contains("on top of 2^-5.6"), "{error}");
}
