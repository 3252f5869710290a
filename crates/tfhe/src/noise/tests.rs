use super::*;
use crate::{Mode, ParameterLiteral};

/// A row of docs/tfhe.md, "Noise model": set, packing, dropped digits, sigma_acc, sigma_out, log2
/// p_fail, each as printed there.
type Row = (&'static str, usize, i64, &'static str, &'static str, &'static str);

const TABLE: [Row; 21] = [
    ("G1", 1, 0, "8.29e5", "13.66", "-34.8"),
    ("G1", 1, 1, "6.79e5", "13.17", "-37.2"),
    ("G1_BASE512", 1, 1, "1.36e6", "15.93", "-26.2"),
    ("G2", 1, 1, "9.74e10", "16.45", "-91"),
    ("G3", 1, 0, "4.35e5", "12.57", "-40.6"),
    ("G3", 1, 1, "3.63e5", "12.44", "-41.4"),
    ("G3_KS128", 1, 1, "3.63e5", "10.83", "-53.8"),
    ("G4", 1, 1, "5.75e11", "8.52", "-330"),
    // The row does not say so, but its numbers are those of all six digits.
    ("G5", 1, 0, "2.16e5", "9.13", "-288"),
    ("M1", 1, 0, "208", "7.18", "-31.7"),
    ("M1", 3, 0, "239", "7.24", "-31.2"),
    ("M2", 1, 0, "347", "7.55", "-108"),
    ("M3", 1, 0, "217", "12.28", "-42.4"),
    ("M3", 5, 0, "225", "12.28", "-42.4"),
    ("M4", 1, 0, "252", "26.08", "-37.9"),
    ("M4", 4, 0, "262", "26.09", "-37.9"),
    ("M5", 1, 0, "435", "20.47", "-59.9"),
    ("M5", 5, 0, "440", "20.47", "-59.9"),
    ("M6", 1, 0, "582", "9.37", "-70.9"),
    ("M6", 2, 0, "671", "9.73", "-66.0"),
    ("M2", 2, 0, "349", "7.55", "-108"),
];

fn row_set(name: &str, packing: usize, dropped: i64) -> ParameterSet {
    let set =
        ParameterSet::by_name(name).expect("built in").with_packing(packing).expect("1 to 16");
    let literal = set.literal();
    match literal.mode {
        Mode::Gd if literal.dropped != Some(dropped) => {
            let name = format!("{name}_{dropped}_DROPPED");
            ParameterSet::new(&ParameterLiteral { name, dropped: Some(dropped), ..literal })
                .expect("valid")
        }
        _ => set,
    }
}

/// Formats as the table prints: as many digits as `like`, which may have an exponent.
fn like(value: f64, like: &str) -> String {
    let decimals = |s: &str| s.split_once('.').map_or(0, |(_, d)| d.len());
    match like.split_once('e') {
        Some((mantissa, _)) => format!("{value:.*e}", decimals(mantissa)),
        None => format!("{value:.*}", decimals(like)),
    }
}

/// The table was computed for moduli that are exactly powers of two.
#[test]
fn every_row_of_the_table_to_its_last_digit() {
    for (name, packing, dropped, acc, out, failure) in TABLE {
        let set = row_set(name, packing, dropped);
        let exact = Moduli::of(set.shape());
        let nominal = |m: f64| 2f64.powf(m.log2().round());
        let model = NoiseModel::with_moduli(
            &set,
            Moduli { accumulator: nominal(exact.accumulator), key: nominal(exact.key), ..exact },
        );
        assert_eq!(like(model.sigma_acc(), acc), acc, "sigma_acc of {set}, dropped {dropped}");
        assert_eq!(like(model.sigma_out(), out), out, "sigma_out of {set}, dropped {dropped}");
        // The page takes the errors of both inputs for independent.
        let log2_q = set.shape().log2_lwe_modulus;
        let (margin, both) = (2f64.powi(log2_q as i32 - 3), 2.0 * model.variance_out_at(log2_q));
        let found = model.log2_failure_input(margin, both);
        assert_eq!(like(found, failure), failure, "p_fail of {set}, dropped {dropped}");
    }
}

/// With the moduli that keys really have, deviations differ from the table by less than 0.7 %:
/// M6's T is 0.9 % above 2^37.
#[test]
fn exact_moduli_move_the_table_by_less_than_a_percent() {
    for (name, packing, dropped, acc, out, _) in TABLE {
        let model = NoiseModel::new(&row_set(name, packing, dropped));
        for (got, printed) in [(model.sigma_acc(), acc), (model.sigma_out(), out)] {
            let printed: f64 = printed.parse().expect("a number");
            assert!((got / printed - 1.0).abs() < 0.007, "{name}: {got} against {printed}");
        }
    }
}

/// docs/tfhe.md, "The error of the f64 transform": exact for GD on one word; below 0.5 % of the
/// noise of M1, M3..M6; 28 % for M2; outputs as good as unchanged.
#[test]
fn the_f64_transform_adds_what_the_page_says() {
    for (name, least, most) in [
        ("G1", 0.0, 0.0),
        ("G3", 0.0, 0.0),
        ("G5", 0.0, 0.0),
        ("STD128", 0.0, 0.0),
        ("M1", 0.0, 0.005),
        ("M3", 0.0, 0.005),
        ("M4", 0.0, 0.005),
        ("M5", 0.0, 0.005),
        ("M6", 0.0, 0.005),
        ("M2", 0.2, 0.4),
    ] {
        let set = ParameterSet::by_name(name).expect("built in");
        let [exact, fft] =
            [Transform::Ntt, Transform::Fft].map(|t| NoiseModel::with_transform(&set, t));
        let added = (fft.accumulator - exact.accumulator).sqrt() / exact.sigma_acc();
        assert!((least..=most).contains(&added), "{name}: {added}");
        assert!(fft.sigma_out() / exact.sigma_out() < 1.001, "{name}");
    }
    let set = ParameterSet::by_name("G4").expect("built in");
    let fft = NoiseModel::with_transform(&set, Transform::Fft);
    assert!((8.52..8.9).contains(&fft.sigma_out()), "{}", fft.sigma_out());
}

fn close(found: f64, wanted: f64) {
    assert!((found / wanted - 1.0).abs() < 1e-3, "{found}, not {wanted}");
}

/// Terms by hand, each of which is too small a part of a result for its measurement to show.
#[test]
fn terms_are_those_of_their_formulas() {
    let toy = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let model = NoiseModel::new(&toy);
    // k N = 256, three digits of 32 values, 3.19^2 = 10.1761, E[s^2] = 2/3.
    close(model.key_switch, (1.0 + 512.0 / 3.0) / 12.0 + 768.0 * 31.0 / 32.0 * 10.1761);
    close(model.shared, 768.0 * 31.0 / 1024.0 * 10.1761);
    close(model.rounding, (1.0 + 64.0 * 2.0 / 3.0) / 12.0);
    close(model.variance_of_bits(), model.variance_out_at(9).max(10.1761));
    let (lwe, ring) =
        variance_of(ErrorDistribution::TUniform { lwe_log2_bound: 2, glwe_log2_bound: 3 });
    assert_eq!((lwe, ring), (5.5, 21.5));
    let (lwe, ring) = variance_of(ErrorDistribution::Gaussian { sigma: 3.0 });
    assert_eq!((lwe, ring), (9.0, 9.0));
    // Beyond half a unit at two deviations; and a unit's own 1/12.
    close(after_rounding(0.25), 0.045_500_26);
    close(after_rounding(3.0), 9.0 + 1.0 / 12.0);
    // Rounding MR's Q = 2^17 to 2^14 leaves 256 sixty-fourths beside n = 64.
    let raised = BootstrapShape {
        secret: SecretKind::Binary,
        gadget: Gadget::ModulusRaising { log2_modulus: 17 },
        ..toy.shape().clone()
    };
    let left = |shape: &BootstrapShape| what_means_leave(shape, SecretKind::Binary);
    close(left(&raised), (64.0 + 4.0) / 16.0);
    let as_large = Gadget::ModulusRaising { log2_modulus: 14 };
    close(left(&BootstrapShape { gadget: as_large, ..raised.clone() }), 4.0);
    // Each secret has its own part, and ternary ones have none.
    close(what_means_leave(&raised, SecretKind::Ternary), 4.0);
    close(left(&BootstrapShape { secret: SecretKind::Ternary, ..raised.clone() }), 0.25);
    assert_eq!(what_means_leave(toy.shape(), toy.ring_secret()), 0.0);
    // 6 * (1/2) * 256^2 / pi^4.
    close(first_step(&raised, SecretKind::Binary), 2018.37);
    assert_eq!(first_step(&raised, SecretKind::Ternary), 0.0);
}

/// Set, packing, variance of an accumulator with the integer and with the f64 transform, then
/// `key_switch`, `shared`, `rounding`, `fresh`.
type Terms = (&'static str, usize, [f64; 2], [f64; 4]);

/// Computed from the formulas by another program, for each kind of set: the terms of digits, of
/// bits that are dropped, of modulus raising, of binary secrets and of the native torus, for
/// several indices a step and several bodies.
#[rustfmt::skip]
const TERMS: [Terms; 13] = [
    ("G1", 1, [4.607304e11, 4.607304e11], [30341.05, 946.3773, 28.02778, 10.1761]),
    ("G2", 1, [9.476901e21, 4.116748e22], [60682.01, 1892.755, 33.41667, 10.1761]),
    ("G4_1X23", 1, [9.149326e23, 2.015611e24], [141439.5, 4416.427, 72.58333, 10.1761]),
    ("G5", 1, [3.737960e10, 3.737960e10], [70719.81, 2208.214, 72.58333, 10.1761]),
    ("INSECURE_TOY_ALL", 1, [6.555836e10, 6.555836e10], [9783.362, 610.566, 2.75, 10.1761]),
    ("INSECURE_TOY_BINARY", 1, [7.332982e9, 7.332982e9], [7585.768, 240.5943, 2.75, 10.1761]),
    ("INSECURE_TOY_GROUP_4", 1, [2.735073e10, 2.735073e10], [7585.768, 240.5943, 2.75, 10.1761]),
    ("M2", 1, [120069.4, 131825.9], [101060.8, 3154.591, 56.97222, 10.1761]),
    ("M4", 4, [68716.87, 68717.0], [41469.53, 323.0912, 28.52778, 10.1761]),
    ("TFHERS_2_2", 1, [6.362114e29, 9.669844e29], [7.943944e31, 0.0, 19.20833, 5.726623e9]),
    ("TFHERS_2_2_GROUP_3", 1, [8.104476e29, 1.729903e30], [7.943944e31, 0.0, 19.20833, 5.726623e9]),
    ("INSECURE_TOY_TORUS", 2, [3.038056e23, 3.226661e23], [8.539723e29, 0.0, 1.416667, 5.726623e9]),
    ("GIRIH_GATE", 1, [3.382382e32, 3.382384e32], [2.509610e34, 0.0, 13.41667, 6.004800e15]),
];

#[test]
fn every_term_of_every_kind_of_set() {
    for (name, packing, accumulators, rest) in TERMS {
        let set = ParameterSet::by_name(name).expect("built in").with_packing(packing);
        let set = set.expect("1 to 16");
        for (transform, wanted) in [Transform::Ntt, Transform::Fft].into_iter().zip(accumulators) {
            let model = NoiseModel::with_transform(&set, transform);
            let found =
                [model.accumulator, model.key_switch, model.shared, model.rounding, model.fresh];
            let [key_switch, shared, rounding, fresh] = rest;
            for (found, wanted) in
                found.into_iter().zip([wanted, key_switch, shared, rounding, fresh])
            {
                assert!((found - wanted).abs() <= 1e-6 * wanted, "{name}: {found}, not {wanted}");
            }
        }
    }
}

/// A bound is held to the last of its digits, an error to half a step either way.
#[test]
fn what_is_refused_and_when_a_message_is_misread() {
    use super::bound::{check_log2_bound, log2_misread, refuse};
    // Eight messages modulo 2^10 are 128 apart: an error beyond 64.
    assert_eq!(log2_misread(8.0, 10, 256.0), log2_beyond(64.0, 16.0));
    assert_eq!(log2_beyond(64.0, 0.0), f64::NEG_INFINITY);
    // erfc(1 / sqrt(2)) = 0.317310507862914, beyond one deviation.
    assert!((log2_beyond(3.0, 3.0) - 0.317_310_507_862_914f64.log2()).abs() < 1e-12);
    refuse("what reaches it", -64.0, -64.0).expect("not above");
    refuse("what is above it", -63.999, -64.0).expect_err("above");
    for bound in [0.0, -1.0, f64::NEG_INFINITY] {
        check_log2_bound(bound).expect("a bound");
    }
    for bound in [f64::NAN, 1e-9, f64::INFINITY] {
        check_log2_bound(bound).expect_err("no bound");
    }
}

#[test]
fn log2_erfc_is_continuous_and_never_underflows() {
    assert!((log2_erfc(0.0)).abs() < 1e-15);
    assert!((log2_erfc(9.999_999_9) - log2_erfc(10.0)).abs() < 1e-4);
    // erfc(20) = 5.395865611607901e-176 and erfc(10) = 2.088487583762545e-45 (tables).
    assert!((log2_erfc(20.0) - 5.395_865_611_607_901e-176f64.log2()).abs() < 1e-7);
    assert!((log2_erfc(10.0) - 2.088_487_583_762_545e-45f64.log2()).abs() < 1e-6);
    assert!(log2_erfc(1000.0) < -1.4e6);
}

#[test]
fn wider_combinations_and_finer_tables_fail_more_often() {
    let model = NoiseModel::new(&ParameterSet::default());
    assert!(model.log2_failure() < model.log2_failure_majority());
    assert!(model.log2_failure_table(2, &[1]) < model.log2_failure_table(3, &[1]));
    assert!(model.log2_failure_table(2, &[1]) < model.log2_failure_table(2, &[2, 1]));
    // One bit under padding has the margin of a gate with one input.
    assert_eq!(model.log2_failure_table(1, &[1, 1]), model.log2_failure());
}

/// Results of one key share a part of their errors, which a sum has with its whole weight.
#[test]
fn what_results_share_adds_up() {
    let model = NoiseModel::new(&ParameterSet::default());
    let (variance, shared) = (model.variance_out_at(11), model.covariance_out_at(11));
    close(shared, model.shared * 4f64.powi(11 - model.log2_ks_modulus as i32));
    assert!(shared > 0.01 * variance && shared < variance, "{shared} of {variance}");
    // A result has exactly what results share, and a constant nothing.
    close(model.shared_at_most(11, variance), shared.sqrt());
    assert_eq!(model.shared_at_most(11, 0.0), 0.0);
    for weights in [&[1, 1][..], &[3, 1], &[2, 2, 1]] {
        let squares: i32 = weights.iter().map(|w| w * w).sum();
        let whole = weights.iter().sum::<i32>().pow(2);
        let sum = f64::from(squares) * (variance - shared) + f64::from(whole) * shared;
        close(model.log2_failure_of(0.125, weights), log2_beyond(256.0, sum.sqrt()));
        // Nobody knows which sign the shared part of a sum has.
        let negated: Vec<i32> = weights.iter().map(|w| -w).collect();
        assert_eq!(model.log2_failure_of(0.125, &negated), model.log2_failure_of(0.125, weights));
    }
    // Sums of results have all that they share, and sums of such sums, too.
    let sum = |terms: &[f64]| model.variance_of_sum(11, terms.iter().map(|&v| (1.0, v)));
    let two = sum(&[variance; 2]);
    close(two, 2.0 * (variance - shared) + 4.0 * shared);
    close(model.shared_at_most(11, two), 2.0 * shared.sqrt());
    close(sum(&[two, two]), 4.0 * (variance - shared) + 16.0 * shared);
    close(sum(&[two, variance]), sum(&[variance; 3]));
    // What is counted is never less than what is there: by hand for all sums of two ciphertexts,
    // each `a` results with weight 1 and `b` with weight -1.
    for (a, b, c, d) in [(1, 0, 1, 0), (2, 1, 1, 1), (0, 3, 2, 0), (3, 3, 1, 0), (0, 2, 0, 2)] {
        let true_sum = |plus: i32, minus: i32| {
            let (own, whole) = (f64::from(plus + minus), f64::from(plus - minus));
            own * (variance - shared) + whole * whole * shared
        };
        let stated = sum(&[true_sum(a, b), true_sum(c, d)]);
        let there = true_sum(a + c, b + d);
        assert!(stated >= there * (1.0 - 1e-12), "{a} {b} {c} {d}: {stated} {there}");
    }
    // Results of a transform that adds more have at least as much, and the torus shares nothing.
    let g4 = ParameterSet::by_name("G4").expect("built in");
    let fft = NoiseModel::with_transform(&g4, Transform::Fft);
    let shares = |variance| fft.shared_at_most(11, variance).powi(2) / fft.covariance_out_at(11);
    let log2_q = g4.shape().log2_lwe_modulus;
    assert_eq!(log2_q, 11);
    close(shares(NoiseModel::new(&g4).variance_out_at(11)), 1.0);
    assert!(shares(fft.variance_out_at(11)) >= 1.0);
    let torus = NoiseModel::new(&ParameterSet::by_name("TFHERS_2_2").expect("built in"));
    assert_eq!(torus.shared_at_most(64, 1e30), 0.0);
    assert_eq!(torus.variance_of_sum(64, [(2.0, 3.0), (-1.0, 5.0)]), 17.0);
}

/// A majority reads a sum of three, a look-up on the native torus one of four bits in a sum of norm
/// 5; what a set is made for follows from these.
#[test]
fn what_a_set_is_made_for_fails_as_its_sums_do() {
    let model = |name: &str| NoiseModel::new(&ParameterSet::by_name(name).expect("built in"));
    let std = model("STD128");
    let q = 2f64.powi(11);
    let (out, shared) = (std.variance_out_at(11), std.covariance_out_at(11));
    let of = |inputs: f64| {
        log2_beyond(q / 8.0, (inputs * (out - shared) + inputs * inputs * shared).sqrt())
    };
    close(std.log2_failure_majority(), of(3.0));
    assert!(!std.looks_up_four_bits());
    assert!(out > std.fresh);
    close(std.log2_failure_own(), of(2.0));
    let look_ups = model("TFHERS_2_2");
    assert!(look_ups.looks_up_four_bits());
    close(look_ups.log2_failure_own(), look_ups.log2_failure_table(4, &[5]));
    // Bits would fail less often.
    assert!(look_ups.log2_failure() < 2.0 * look_ups.log2_failure_own());
}
