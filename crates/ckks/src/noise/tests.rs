use super::*;

fn model(name: &str) -> NoiseModel {
    NoiseModel::new(&CkksParameters::by_name(name).expect("built in"))
}

/// A toy whose bootstrapping does slots-to-coefficients first, with another correction of the sine;
/// what that takes or leaves goes to the normal levels.
pub(super) fn with_arcsine(levels: Option<i64>, normal_levels: i64) -> CkksParameters {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_STC_FIRST_N10").expect("built in");
    let mut literal = set.literal();
    literal.name = "INSECURE_OTHER_ARCSINE".into();
    let b = literal.bootstrapping.as_mut().expect("it has one");
    (b.arcsine_levels, b.normal_levels) = (levels, normal_levels);
    CkksParameters::new(&literal).expect("valid")
}

/// Rounding to the polynomials' own units: (1 + 2N/3)/12.
#[test]
fn the_noise_of_keys_is_negligible_beside_that_of_rounding() {
    for set in CkksParameters::all() {
        let model = NoiseModel::new(&set).with_joined_digits(false);
        let noise = model.key_product(set.top_level());
        let limit = match set.name() {
            "CKKS_D40" | "CKKS_D35" | "CKKS_D30" => 0.25,
            _ => model.rounding() / 100.0,
        };
        assert!(noise < limit, "{set}: {noise} against {limit}");
        for level in 0..set.top_level() {
            assert!(model.key_product(level) <= noise * 1.001, "{set} level {level}");
        }
        // Joined digits may add as much as rounding does, or 2^8 times that at the one level whose
        // scale is as much larger.
        let joined = model.clone().with_joined_digits(true);
        for level in 0..=set.top_level() {
            let own = set.bootstrapping().filter(|b| !b.slots_to_coefficients_first());
            let first = own.is_some_and(|b| level == b.reduced_level());
            let limit = model.rounding() * if first { 256.0 } else { 1.0 };
            let (noise, apart) = (joined.key_product(level), model.key_product(level));
            assert!(noise < limit, "{set} level {level}: {noise}");
            assert!(noise >= apart, "{set} level {level}: {noise}, {apart}");
        }
    }
    assert!((model("CKKS_D40").rounding() - 3641.0).abs() < 1.0);
}

/// What an exact implementation measured, as log2 of deviations.
#[test]
fn deviations_are_those_that_were_measured() {
    let model = model("INSECURE_CKKS_D40_N10");
    let log2 = |variance| model.deviation(variance, 1.0).log2();
    assert!((log2(model.fresh()) - (40.0 - 33.81)).abs() < 0.02);
    assert!((log2(model.rounding()) - 7.42).abs() < 0.01);
    // A rotation alone.
    assert!((log2(model.key_switch(13)) - (40.0 - 32.56)).abs() < 0.05);
}

#[test]
fn bootstrapping_noise_is_near_what_was_measured() {
    for (name, rho, noise, total) in [
        ("INSECURE_CKKS_D40_N10", 5, -31.8, -16.7),
        ("INSECURE_CKKS_D40_N10", 8, -30.0, -22.7),
        ("INSECURE_CKKS_D40_N10", 10, -28.1, -26.6),
        ("INSECURE_CKKS_D40_N12", 8, -27.4, -24.7),
        ("INSECURE_CKKS_D40_N12", 10, -25.4, -25.4),
        ("INSECURE_CKKS_D35_N10", 5, -26.2, -16.6),
        ("INSECURE_CKKS_D35_N10", 8, -27.0, -22.6),
        ("INSECURE_CKKS_D35_30BIT_LOW_N10", 8, -27.0, -22.6),
        ("INSECURE_CKKS_D30_N10", 5, -20.0, -16.6),
        ("INSECURE_CKKS_D30_N10", 8, -20.4, -20.4),
        ("CKKS_D40", 6, -23.4, -23.3),
        ("CKKS_D35", 7, -21.3, -21.3),
    ] {
        let model = model(name);
        let found = model.bootstrapping(rho, model.set.slots()).expect("it has one");
        let (log2_noise, log2_total) = (found.noise.log2(), found.deviation().log2());
        assert!((log2_noise - noise).abs() < 0.6, "{name} {rho}: {log2_noise}, not {noise}");
        assert!((log2_total - total).abs() < 0.6, "{name} {rho}: {log2_total}, not {total}");
    }
    // Slots-to-coefficients first, without an arcsine: 2^-18.9 at rho = 10 was measured, all of it
    // the sine's.
    let found =
        NoiseModel::new(&with_arcsine(None, 15)).bootstrapping(10, 512).expect("it has one");
    assert!((found.deviation().log2() + 18.9).abs() < 0.6, "{found:?}");
    // An arcsine brings constant vectors near random ones.
    let corrected = model("CKKS_D40_ARCSINE").bootstrapping(7, 32768).expect("it has one");
    assert!(corrected.sine_of_constants.log2() < corrected.deviation().log2() + 2.0);
    let model = model("CKKS_D40");
    let constants = model.bootstrapping(8, 32768).expect("it has one").sine_of_constants;
    assert!((-constants.log2() - 13.3).abs() < 0.05);
    assert!(model.bootstrapping(11, 32768).is_err() && model.bootstrapping(4, 32768).is_err());
    // Transforms without a stage are the identity.
    let all = model.bootstrapping(8, 32768).expect("it has one");
    for slots in [1, 4] {
        let few = model.bootstrapping(8, slots).expect("any power of two");
        assert!(few.noise < 2.0 * all.noise && few.sine < 2.0 * few.sine_of_constants, "{few:?}");
    }
}

#[test]
fn noise_adds_and_multiplies() {
    let (x, y) =
        (Noise { deviation: 3e-6, magnitude: 2.0 }, Noise { deviation: 4e-6, magnitude: 0.5 });
    let sum = x.sum(y);
    assert!((sum.deviation - 5e-6).abs() < 1e-12 && sum.magnitude == 2.5);
    let product = x.product(y);
    assert!((product.deviation - 8e-6f64.hypot(1.5e-6)).abs() < 1e-10);
    assert_eq!((product.magnitude, x.square().magnitude), (1.0, 4.0));
    assert!((x.square().deviation - 12e-6).abs() < 1e-10);
    assert_eq!(x.times(-2.0).magnitude, 4.0);
    let one = Noise { deviation: 2f64.powi(-20) / 12.0, magnitude: 1.0 };
    assert!((one.precision_bits() - 20.0).abs() < 1e-9);
    assert_eq!(Noise { deviation: 1.0, magnitude: 1.0 }.precision_bits(), 0.0);
}

/// What every operation adds, written out.
#[test]
fn operations_add_their_terms() {
    let near = |found: f64, wanted: f64| {
        assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, not {wanted}");
    };
    let set = CkksParameters::by_name("CKKS_D40").expect("built in");
    let model = NoiseModel::new(&set);
    let (n, norm) = (65536.0f64, 65536.0 * 2.0 / 3.0);
    near(set.secret_norm(), norm);
    near(model.fresh(), 3.19 * 3.19 + 1.0 / 12.0);
    near(model.fresh_public(), 3.19 * 3.19 * (norm + 1.0 + norm) + 1.0 / 12.0);
    near(model.rounding(), (1.0 + norm) / 12.0);
    let scale = 2f64.powi(40);
    let of = |variance: f64, scale: f64| (0.5 * n * variance).sqrt() / scale;
    near(model.deviation(7.0, scale), of(7.0, scale));
    let (x, y) =
        (Noise { deviation: 3e-9, magnitude: 2.0 }, Noise { deviation: 5e-9, magnitude: 3.0 });
    let level = 7;
    let switch = of(model.key_product(level) + model.rounding(), scale);
    let ratio = set.rescale_ratio(level);
    let rounding = of(model.rounding(), scale / ratio);
    near(model.rotated(x, level, scale).deviation, 3e-9f64.hypot(switch));
    near(model.rescaled(x, level, scale).deviation, 3e-9f64.hypot(rounding));
    let found = model.multiplied(x, y, level, scale);
    near(found.deviation, x.product(y).deviation.hypot(switch).hypot(rounding));
    near(found.magnitude, 6.0);
    let found = model.times_plain(x, 4.0, scale);
    near(found.deviation, (4.0 * 3e-9f64).hypot(2.0 * of(1.0 / 12.0, scale)));
    near(found.magnitude, 8.0);
    let constant = 2.0 / (scale * 3f64.sqrt());
    near(
        model.adjusted(x, scale).deviation,
        3e-9f64.hypot(of(model.rounding(), scale)).hypot(constant),
    );
    near(model.decrypted(x, 8).deviation, 3e-9 * (16.0 / n).sqrt());
    near(x.times(-3.0).deviation, 9e-9);
    // Products of errors count where messages are small.
    let small = Noise { deviation: 1.0, magnitude: 1e-6 };
    near(small.square().deviation, 2e-6f64.hypot(2f64.sqrt()));
    near(small.product(small).deviation, 1e-6f64.hypot(1e-6).hypot(2f64.sqrt()));
}

/// Digits of 45 limbs in three: `N (|D| D^2 / 12) 3.19^2 / P^2` each.
#[test]
fn key_products_add_their_digits() {
    let set = CkksParameters::by_name("CKKS_D40").expect("built in");
    let (chain, level) = (set.chain(), set.top_level());
    let p = chain.log2_product(chain.auxiliary());
    let digits = chain.digits_at(level);
    assert!(digits.len() > 1);
    let sum: f64 = digits
        .into_iter()
        .map(|(_, part)| (part.len() as f64, chain.log2_product(part)))
        .map(|(len, log2)| len / 12.0 * libm::exp2(2.0 * (log2 - p)))
        .sum();
    let model = NoiseModel::new(&set).with_joined_digits(false);
    let wanted = 65536.0 * 3.19 * 3.19 * sum;
    assert!((model.key_product(level) / wanted - 1.0).abs() < 1e-12);
    assert!((model.key_switch(level) / (wanted + model.rounding()) - 1.0).abs() < 1e-12);
}

/// What the sine leaves of slots that are all 1: the first term of its inverse that is not there.
#[test]
fn the_sine_leaves_the_first_term_that_is_missing() {
    let longer = with_arcsine(Some(3), 13);
    let mut seen = Vec::new();
    for set in CkksParameters::all().into_iter().chain([longer]) {
        let Some(b) = set.bootstrapping() else { continue };
        let (levels, rho) = (b.arcsine_levels(), b.message_ratio());
        let found = NoiseModel::new(&set).bootstrapping(rho, set.slots()).expect("it has one");
        // Slots of 1 are 2^-rho of Q_0, but for the rounding of the message's factor; the sine is
        // that of 2 pi times it.
        let chain = set.chain();
        let factor = u64::try_from(set.message_factor(rho)).expect("a word") as f64;
        let bottom = set.scale(0).expect("level 0 has a scale");
        let part = factor * bottom * libm::exp2(-chain.log2_product(chain.base(0)));
        assert!((part.log2() + f64::from(rho)).abs() < 0.1, "{set}: {part}");
        let x = 2.0 * std::f64::consts::PI * part;
        let wanted = match levels {
            0 => x.powi(2) / 6.0,
            2 => x.powi(4) * 3.0 / 40.0,
            _ => x.powi(6) * 15.0 / 336.0,
        };
        assert!((found.sine_of_constants / wanted - 1.0).abs() < 1e-9, "{set}: {found:?}");
        seen.push(levels);
    }
    assert!([0, 2, 3].iter().all(|levels| seen.contains(levels)), "{seen:?}");
}
