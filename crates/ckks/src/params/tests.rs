use super::*;
use crate::published;
use girih_rlwe::security::LweProblem;
use girih_rlwe::{ParameterSet, SecretDistribution};

fn d40() -> CkksParameters {
    CkksParameters::by_name("CKKS_D40").expect("built in")
}

/// The requests that the generated files come from.
fn requests() -> Vec<GeneratorRequest> {
    let bootstrapping = |message_ratio| {
        Some(BootstrappingRequest {
            message_ratio,
            coefficients_to_slots: 4,
            slots_to_coefficients: 3,
            arcsine_levels: 0,
            slots_to_coefficients_first: false,
        })
    };
    let request = |name: &str, description: &str| GeneratorRequest {
        name: name.into(),
        description: description.into(),
        log2_degree: 16,
        log2_scale: 40.0,
        normal_levels: None,
        headroom: 10.0,
        prime_bits: 31,
        auxiliary: 12,
        security: 128,
        bootstrapping: bootstrapping(6),
    };
    vec![
        GeneratorRequest {
            log2_scale: 39.85,
            prime_bits: 30,
            ..request(
                "CKKS_D40_30BIT",
                "13 levels of 39.85 bits after a bootstrapping, with all primes below 2^30",
            )
        },
        GeneratorRequest {
            log2_scale: 45.0,
            bootstrapping: bootstrapping(8),
            ..request("CKKS_D45", "11 levels of 45 bits after a bootstrapping")
        },
        GeneratorRequest {
            log2_scale: 50.0,
            bootstrapping: bootstrapping(8),
            ..request("CKKS_D50", "9 levels of 50 bits after a bootstrapping")
        },
        GeneratorRequest {
            bootstrapping: bootstrapping(7)
                .map(|b| BootstrappingRequest { arcsine_levels: 2, ..b }),
            ..request(
                "CKKS_D40_ARCSINE",
                "10 levels of 40 bits after a bootstrapping whose sine is corrected by an arcsine",
            )
        },
        GeneratorRequest {
            log2_scale: 39.85,
            prime_bits: 30,
            bootstrapping: bootstrapping(9).map(|b| BootstrappingRequest {
                arcsine_levels: 2,
                slots_to_coefficients_first: true,
                ..b
            }),
            ..request(
                "CKKS_D40_30BIT_STC_FIRST",
                "CKKS_D40_30BIT whose bootstrapping begins at level 3 with slots-to-coefficients \
                 and corrects its sine by an arcsine: 14 levels, any vector as precise as a random \
                 one",
            )
        },
        GeneratorRequest {
            log2_degree: 15,
            auxiliary: 8,
            bootstrapping: None,
            ..request("CKKS_N15_D40", "14 levels of 40 bits without bootstrapping, N = 2^15")
        },
        GeneratorRequest {
            log2_degree: 14,
            auxiliary: 5,
            bootstrapping: None,
            ..request("CKKS_N14_D40", "5 levels of 40 bits without bootstrapping, N = 2^14")
        },
    ]
}

#[test]
fn the_generator_reproduces_the_stored_sets() {
    let mut wrong = String::new();
    for request in requests() {
        let found = request.generate().expect("a set");
        if CkksParameters::by_name(&request.name).ok().as_ref() != Some(&found) {
            wrong += &format!("\nsets/{}.toml should be\n{}", request.name, found.to_toml());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Sets with slots-to-coefficients first differ in how bootstrapping uses their levels alone.
#[test]
fn the_same_primes_serve_both_orders_of_bootstrapping() {
    for name in ["CKKS_D40", "CKKS_D40_30BIT"] {
        let set = CkksParameters::by_name(name).expect("built in");
        let first = CkksParameters::by_name(&format!("{name}_STC_FIRST")).expect("built in");
        assert_eq!(set.chain(), first.chain(), "{name}");
        let b = first.bootstrapping().expect("it has one");
        let found =
            [b.input_level(), b.output_level(), b.eval_mod_output_level(), b.eval_mod_level()];
        assert_eq!(found, [3, 14, 16, 24], "{name}");
        assert_eq!(b.arcsine_levels(), 2);
        // What the sine yields is a message at about the canonical scale.
        let message = b.eval_mod_scale() * 2f64.powi(-(b.message_ratio() as i32));
        assert!((message / first.scale(0).expect("a scale")).log2().abs() < 0.5);
    }
}

#[test]
fn generated_sets_can_be_asked_for_by_hand() {
    let base = requests().remove(0);
    let bits = |request: &GeneratorRequest| request.generate().expect("a set").log2_modulus();
    // Any scale, depth, degree and security.
    for (log2_scale, log2_degree, security) in
        [(30.0, 13, 128), (35.5, 15, 192), (45.0, 14, 128), (52.0, 16, 256)]
    {
        let request = GeneratorRequest {
            name: "MY_SET".into(),
            log2_scale,
            log2_degree,
            security,
            prime_bits: 31,
            auxiliary: if log2_degree < 14 { 2 } else { 3 },
            bootstrapping: None,
            ..base.clone()
        };
        let most = security::largest_for(log2_degree, security).expect("in the table");
        let found = bits(&request);
        assert!(found <= most && found > most - 130.0, "{log2_scale} {log2_degree}: {found}");
    }
    let refused = |change: &dyn Fn(&mut GeneratorRequest)| {
        let mut request = base.clone();
        change(&mut request);
        request.generate().expect_err("must be refused").to_string()
    };
    assert!(refused(&|r| r.normal_levels = Some(19)).contains("19 levels take"));
    assert!(refused(&|r| r.normal_levels = Some(20)).contains("one or two less or more"));
    assert!(refused(&|r| r.log2_scale = f64::NAN).contains("must be in 25..=55"));
    assert!(refused(&|r| r.security = 100).contains("128, 192 and 256"));
    assert!(refused(&|r| r.log2_degree = 15).contains("levels take"));
    assert!(refused(&|r| r.log2_degree = 40).contains("4..=17"));
    assert!(refused(&|r| r.auxiliary = 0).contains("1..=32"));
}

/// In large rings small primes are few: where levels of them are off, those of larger ones serve.
#[test]
fn few_small_primes_refuse_no_scale() {
    let base = requests().remove(0);
    for log2_degree in 14..=17 {
        for log2_scale in [35.0, 40.0, 45.0, 46.0, 50.0] {
            let request = GeneratorRequest {
                name: "MY_SET".into(),
                log2_degree,
                log2_scale,
                normal_levels: Some(3),
                prime_bits: 31,
                auxiliary: 3,
                bootstrapping: None,
                ..base.clone()
            };
            let found = request.generate();
            let found = found.unwrap_or_else(|e| panic!("2^{log2_degree}, {log2_scale}: {e}"));
            assert_eq!(found.default_level(), 3, "2^{log2_degree}, {log2_scale}");
        }
    }
}

/// Sums and sizes that the description of the scheme states.
#[test]
fn the_fixed_sets_have_the_stated_sizes() {
    for (name, log2_modulus, log2_first, levels, counts, digits) in [
        ("CKKS_D40", 1745.42, 50.01, [13, 16, 24, 28], [4, 43, 12], 4),
        ("CKKS_D35", 1740.07, 50.01, [16, 19, 27, 31], [5, 43, 11], 5),
        ("CKKS_D30", 1736.73, 39.75, [19, 22, 30, 34], [0, 48, 11], 5),
    ] {
        let set = CkksParameters::by_name(name).expect("built in");
        let (chain, b) = (set.chain(), set.bootstrapping().expect("it has one"));
        assert!((set.log2_modulus() - log2_modulus).abs() < 0.01, "{name}");
        assert!((chain.log2_product(chain.base(0)) - log2_first).abs() < 0.01, "{name}");
        let found =
            [b.output_level(), b.eval_mod_output_level(), b.eval_mod_level(), b.top_level()];
        assert_eq!(found, levels, "{name}");
        let found = [chain.terminal_len(), chain.main_len(), chain.auxiliary_len()];
        assert_eq!(found, counts, "{name}");
        assert_eq!(chain.digits().len(), digits, "{name}");
        assert!(!set.is_insecure() && set.warnings().is_empty(), "{name}");
    }
    let d40 = d40();
    let chain = d40.chain();
    for level in 1..=28 {
        let drop = d40.rescale_ratio(level).log2();
        let (low, high) = match level {
            1..=16 => (39.80, 40.10),
            17..=24 => (57.97, 58.02),
            25 | 26 => (59.98, 60.0),
            _ => (49.96, 50.01),
        };
        assert!(drop > low - 0.006 && drop < high + 0.006, "level {level}: {drop}");
    }
    let sizes: Vec<_> = chain.digits().iter().map(|d| chain.log2_product(d.clone())).collect();
    for (found, want) in sizes.iter().zip([339.8, 359.7, 350.8, 323.1]) {
        assert!((found - want).abs() < 0.06, "{sizes:?}");
    }
    // Level 4 is (7, 0), level 3 is (4, 2): q_4..q_6 go, t_1 and t_0 come.
    assert_eq!(chain.exchanged(4, 3), (vec![8, 9, 10], vec![2, 3]));
    // A digit keeps its number, and starts at its first position in use.
    assert_eq!(chain.digits_at(4), vec![(0, 4..11)]);
    assert_eq!(chain.digits_at(8)[0], (0, 0..12));
    assert_eq!((d40.default_level(), d40.slots()), (13, 32768));
    assert_eq!(d40.message_ratios(), 5..11);
    assert_eq!(CkksParameters::by_name("CKKS_D35").expect("built in").message_ratios(), 5..16);
    assert_eq!(d40.bootstrap_level(), 0);
    let own = CkksParameters::default();
    assert_eq!(own.name(), "CKKS_D40_30BIT_LOW_STC_FIRST");
    assert_eq!((own.default_level(), own.bootstrap_level()), (14, 3));
}

#[test]
fn sets_choose_the_order_of_a_bootstrapping() {
    let last = CkksParameters::by_name("CKKS_D40_ARCSINE").expect("built in");
    let first = CkksParameters::by_name("CKKS_D40_STC_FIRST").expect("built in");
    for (set, levels, input) in [(&last, [10, 13, 23, 27], 0), (&first, [14, 16, 24, 28], 3)] {
        let b = set.bootstrapping().expect("it has one");
        let found =
            [b.output_level(), b.eval_mod_output_level(), b.eval_mod_level(), b.top_level()];
        assert_eq!((found, b.input_level()), (levels, input), "{set}");
        assert_eq!(b.arcsine_levels(), 2);
        assert!(set.scale(levels[1]).is_some() && set.eval_mod_scale(levels[2]).is_some());
    }
    assert_eq!(last.level_kind(11), LevelKind::SlotsToCoefficients);
    assert_eq!(first.level_kind(15), LevelKind::EvalMod);
    let mut literal = first.literal();
    literal.name = "MINE".into();
    literal.bootstrapping.as_mut().expect("it has one").arcsine_levels = Some(1);
    let text = CkksParameters::new(&literal).expect_err("no such polynomial").to_string();
    assert!(text.contains("arcsine_levels = 1: must be 0 (none), 2"), "{text}");
}

/// Both sines in one: a level above the modular reduction and one above the normal ones, primes of
/// both rings, and a secret that the estimates count with.
#[test]
fn sets_with_both_sines_in_one() {
    let set = CkksParameters::by_name("CKKS_D40_30BIT_INVARIANT_STC_FIRST").expect("built in");
    let b = set.bootstrapping().expect("it has one");
    assert!(b.invariant_sine());
    let found = [b.output_level(), b.eval_mod_output_level(), b.eval_mod_level()];
    assert_eq!((found, b.to_slots_output_level(), b.top_level()), ([13, 16, 24], 25, 28));
    assert_eq!((set.default_level(), set.bootstrap_level()), (13, 3));
    assert_eq!((set.level_kind(24), set.level_kind(25)), {
        (LevelKind::EvalMod, LevelKind::CoefficientsToSlots)
    });
    // The way back starts a level above the normal ones, at a scale of theirs.
    assert!(set.scale(14).is_some() && set.scale(16).is_some());
    assert_eq!(set.invariant_weight(), Some(4096));
    let chain = set.chain();
    assert!(chain.moduli().iter().all(|p| p.value() % (1 << 18) == 1 && p.value() < 1 << 30));
    assert!((set.log2_modulus() - 1728.45).abs() < 0.01);
    let security = set.security();
    // The weaker of both secrets counts. The dense one has 131.8 and 129.6 bits.
    let problem = LweProblem {
        dimension: set.degree(),
        log2_modulus: set.log2_modulus(),
        error: ERROR_DEVIATION,
        secret: SecretDistribution::FixedWeight(4096),
    };
    let found = [security.estimate.dense, security.estimate.dense_matzov];
    assert_eq!(found, [problem.usvp_bdgl16(), problem.cheapest_matzov()]);
    for (found, wanted) in found.into_iter().zip([131.6, 129.1]) {
        assert!((found - wanted).abs() < 0.06, "{found}, not {wanted}");
    }
    let said = "under a secret of weight 4096 with the same modulus";
    assert!(security.text.contains(said), "{}", security.text);
    // Scales of the default set, to a fraction of its own spread.
    let other = CkksParameters::default();
    for level in 0..=13 {
        let [one, two] = [&set, &other].map(|set| set.scale(level).expect("canonical").log2());
        assert!((one - two).abs() < 0.04, "level {level}: 2^{one}, 2^{two}");
    }
    let bytes = set.to_canonical();
    assert_eq!(CkksParameters::from_canonical(&bytes).ok(), Some(set.clone()));
    let (last, rest) = bytes.split_last().expect("some");
    assert_eq!(*last, 1);
    for wrong in [rest.to_vec(), [rest, &[0]].concat(), [&bytes[..], &[1]].concat()] {
        assert!(CkksParameters::from_canonical(&wrong).is_err());
    }
    // Where nothing else is said of its transforms, too.
    let small = CkksParameters::by_name("INSECURE_CKKS_D40_30BIT_INVARIANT_STC_FIRST_N10");
    let small = small.expect("built in");
    let refused = |of: &CkksParameters, change: &dyn Fn(&mut BootstrappingLiteral)| {
        let mut literal = ParameterLiteral { name: "MINE".into(), ..of.literal() };
        change(literal.bootstrapping.as_mut().expect("it has one"));
        CkksParameters::new(&literal).expect_err("must be refused").to_string()
    };
    let needed = "only with slots-to-coefficients first and an arcsine";
    let text = refused(&small, &|b| b.slots_to_coefficients_first = None);
    assert!(text.contains(needed), "{text}");
    let text = refused(&small, &|b| b.arcsine_levels = None);
    assert!(text.contains(needed), "{text}");
    let text = refused(&set, &|b| b.invariant_sine = None);
    assert!(text.contains("there must be 27 states"), "{text}");
    let text = refused(&other, &|b| b.invariant_sine = Some(true));
    assert!(text.contains("1 modulo 4N = 262144"), "{text}");
    assert_eq!(other.invariant_weight(), None);
}

#[test]
fn sparse_packing_shares_stages_as_stated() {
    let set = d40();
    let b = set.bootstrapping().expect("it has one");
    for (log2, cts, stc) in [
        (15, [4, 3, 4, 4], [5, 5, 5]),
        (9, [3, 2, 2, 2], [3, 3, 3]),
        (11, [3, 2, 3, 3], [4, 4, 3]),
        (4, [1, 1, 1, 1], [2, 1, 1]),
        // Fewer stages than transforms: some do nothing.
        (3, [1, 0, 1, 1], [1, 1, 1]),
        (1, [1, 0, 0, 0], [1, 0, 0]),
        (0, [0, 0, 0, 0], [0, 0, 0]),
    ] {
        assert_eq!(b.coefficients_to_slots_stages(15, log2), cts);
        assert_eq!(b.slots_to_coefficients_stages(log2), stc);
    }
}

/// CKKS_D40 with `change` of its bootstrapping.
fn changed(change: impl Fn(&mut BootstrappingLiteral)) -> Result<CkksParameters> {
    let mut literal = ParameterLiteral { name: "MINE".into(), ..d40().literal() };
    change(literal.bootstrapping.as_mut().expect("it has one"));
    CkksParameters::new(&literal)
}

#[test]
fn sets_state_how_transforms_are_divided() {
    let set = changed(|b| {
        b.coefficients_to_slots_stages = Some(vec![5, 3, 3, 4]);
        b.coefficients_to_slots_shift = 0;
        b.coefficients_to_slots_shifts = Some(vec![2, 1, 0]);
        b.baby_steps = Some(vec![[15, 8], [63, 16]]);
    });
    let set = set.expect("a set");
    let b = set.bootstrapping().expect("it has one");
    assert_eq!(b.coefficients_to_slots_stages(15, 15), [5, 3, 3, 4]);
    assert_eq!(b.coefficients_to_slots_stages(15, 9), [3, 2, 2, 2]);
    assert_eq!(b.coefficients_to_slots_shifts(), [2, 1, 0]);
    assert_eq!(d40().bootstrapping().expect("it has one").coefficients_to_slots_shifts(), [1; 3]);
    let steps = |count| bootstrapping::baby_steps(count, b.baby_steps());
    assert_eq!([3, 15, 16, 31, 32, 63, 64].map(steps), [3, 8, 4, 8, 8, 16, 8]);
    // The same numbers come back from bytes and files.
    let bytes = set.to_canonical();
    assert_eq!(CkksParameters::from_canonical(&bytes).as_ref(), Ok(&set));
    assert_eq!(CkksParameters::from_toml(&set.to_toml()).ok(), Some(set));
    let mut longer = d40().to_canonical();
    assert!(bytes.len() > longer.len());
    longer.extend([0; 4]);
    assert!(CkksParameters::from_canonical(&longer).is_err());
    let refused = |change: &dyn Fn(&mut BootstrappingLiteral)| {
        changed(change).expect_err("must be refused").to_string()
    };
    for (text, expected) in [
        (refused(&|b| b.coefficients_to_slots_stages = Some(vec![5, 3, 4])), "4 numbers"),
        (refused(&|b| b.coefficients_to_slots_stages = Some(vec![5, 3, 3, 3])), "the sum 15"),
        (refused(&|b| b.coefficients_to_slots_stages = Some(vec![9, 3, 2, 1])), "1..=8"),
        (refused(&|b| b.coefficients_to_slots_shifts = Some(vec![1, 1])), "3 numbers"),
        (refused(&|b| b.coefficients_to_slots_shifts = Some(vec![1; 3])), "must be 0 where"),
        (refused(&|b| b.baby_steps = Some(vec![[15, 6]])), "a power of two"),
        (refused(&|b| b.baby_steps = Some(vec![[15, 8], [15, 4]])), "each listed once"),
        (refused(&|b| b.baby_steps = Some(vec![[0, 8]])), "1..=1024"),
        (refused(&|b| b.first_transform_by_keys = Some(true)), "there must be 28 states"),
    ] {
        assert!(text.contains(expected), "{text} should say {expected}");
    }
}

/// The sets whose first transform is done by keys: sizes as designed, and what each key is under.
#[test]
fn sets_with_a_first_transform_by_keys() {
    for (name, levels, log2_modulus, log2_first, bits) in [
        ("CKKS_D40_30BIT_LOW", [13, 16, 24, 27], 1670.6, "1370.76", 136.8),
        ("CKKS_D40_30BIT_14", [14, 17, 25, 28], 1730.4, "1430.5", 131.6),
        ("CKKS_D40_30BIT_LOW_STC_FIRST", [14, 16, 24, 27], 1670.6, "1370.76", 136.8),
        ("CKKS_D40_30BIT_14_STC_FIRST", [15, 17, 25, 28], 1730.4, "1430.5", 131.6),
        ("CKKS_D40_30BIT_12", [12, 15, 23, 26], 1730.7, "1340.89", 131.6),
        ("CKKS_D40_30BIT_12_STC_FIRST", [13, 15, 23, 26], 1730.7, "1340.89", 131.6),
        ("CKKS_D35_30BIT_LOW", [16, 19, 27, 30], 1695.6, "1395.75", 134.5),
        ("CKKS_D40_30BIT_INVARIANT_STC_FIRST", [13, 16, 24, 28], 1728.45, "1428", 131.6),
    ] {
        let set = CkksParameters::by_name(name).expect("built in");
        let b = set.bootstrapping().expect("it has one");
        let found =
            [b.output_level(), b.eval_mod_output_level(), b.eval_mod_level(), b.top_level()];
        assert_eq!(found, levels, "{name}");
        assert!((set.log2_modulus() - log2_modulus).abs() < 0.06, "{name}");
        let security = set.security();
        assert!((security.estimate.dense - bits).abs() < 0.06, "{name}: {}", security.text);
        let said = format!("dense one with {log2_first}");
        assert!(security.text.contains(&said), "{name}: {}", security.text);
        // All slots, and fewer, which take fewer transforms from a lower level on.
        let top = b.top_level();
        for (log2_slots, stages, level, log2_keys) in [
            (15, &[5, 3, 3, 4][..], top, 5),
            (14, &[6, 4, 4], top - 1, 6),
            (12, &[6, 3, 3], top - 1, 6),
            (11, &[6, 3, 2], top - 1, 6),
            (10, &[6, 4], top - 2, 6),
            (9, &[6, 3], top - 2, 6),
            (6, &[6, 0], top - 2, 6),
            (3, &[3, 0], top - 2, 6),
            (0, &[0, 0], top - 2, 6),
        ] {
            assert_eq!(b.coefficients_to_slots_stages(15, log2_slots), stages);
            assert_eq!(b.raised_level(15, log2_slots), level);
            assert_eq!(b.log2_first_keys(15, log2_slots), log2_keys);
        }
    }
}

#[test]
fn the_published_vectors_have_the_same_scales_and_layouts() {
    let file = published::file("ckks/base_change");
    let set = published::set(&file["params"]);
    let chain = set.chain();
    let scales: Vec<f64> = published::value(&file["canonical_scales"]);
    let ratios: Vec<f64> = published::value(&file["rescale_ratios"]);
    let layouts: Vec<Vec<u32>> = published::value(&file["layouts"]);
    for (level, scale) in scales.iter().enumerate() {
        assert_eq!(set.scale(level), Some(*scale), "level {level}");
        if level > 0 {
            assert_eq!(set.rescale_ratio(level), ratios[level - 1], "level {level}");
        }
        let base: Vec<_> = chain.base(level).map(|i| chain.prime(i)).collect();
        assert_eq!(base, layouts[level], "level {level}");
    }
    let digits: Vec<Vec<u32>> = published::value(&file["digit_primes"]);
    for (digit, want) in chain.digits().iter().zip(&digits) {
        assert_eq!(digit.clone().map(|i| chain.prime(i)).collect::<Vec<_>>(), *want);
    }
    assert_eq!(chain.digits().len(), digits.len());
}

#[test]
fn the_published_vectors_are_adjusted_by_the_same_constants() {
    let file = published::file("ckks/adjust");
    let set = published::set(&file["params"]);
    let level = file["input"]["level"].as_u64().expect("a number") as usize;
    let scale = file["input"]["scale"].as_f64().expect("a number");
    for case in file["cases"].as_array().expect("a list") {
        let to = case["to"].as_u64().expect("a number") as usize;
        let adjust = set.level_adjust(level, scale, to).expect("a lower level");
        assert_eq!(adjust.constant.to_string(), case["constant"].as_str().expect("a string"));
        let kept: Vec<_> = adjust.kept.iter().map(|&i| set.chain().prime(i)).collect();
        assert_eq!(kept, published::value::<Vec<u32>>(&case["kept_primes"]), "to {to}");
        assert_eq!(Some(adjust.scale), case["output"]["scale"].as_f64());
    }
    assert!(set.level_adjust(2, scale, 2).is_err());
    assert!(set.level_adjust(9, scale, 2).is_err());
    assert!(set.level_adjust(2, f64::NAN, 1).is_err());
}

#[test]
fn scales_settle_on_canonical_ones_and_nowhere_else() {
    let set = d40();
    for level in 1..=16 {
        let product = set.scale(level).expect("canonical").powi(2);
        assert_eq!(set.rescaled(level, product), set.scale(level - 1).expect("canonical"));
        let off = product * (1.0 + 2f64.powi(-40));
        assert_ne!(set.rescaled(level, off), set.scale(level - 1).expect("canonical"));
    }
    for level in 17..=24 {
        let product = set.eval_mod_scale(level).expect("canonical").powi(2);
        assert_eq!(Some(set.rescaled(level, product)), set.eval_mod_scale(level - 1));
    }
    assert_eq!(set.eval_mod_scale(16), Some(2f64.powi(58)));
    assert!(set.scale(17).is_none() && set.eval_mod_scale(15).is_none());
    assert!(set.eval_mod_scale(25).is_none());
    assert!(set.scales_agree(1.0, 1.0 + 2f64.powi(-41)));
    assert!(!set.scales_agree(1.0, 1.0 + 2f64.powi(-39)));
}

#[test]
fn files_read_back_as_the_same_set() {
    for set in CkksParameters::all().into_iter().chain(CkksParameters::insecure()) {
        let again = CkksParameters::from_toml(&set.to_toml()).expect("its own file");
        assert_eq!(again, set);
        assert_eq!(CkksParameters::by_name(set.name()).ok(), Some(set));
    }
}

#[test]
fn every_broken_rule_is_named() {
    let good = d40().literal();
    let refused = |change: &dyn Fn(&mut ParameterLiteral)| {
        let mut literal = ParameterLiteral { name: "MINE".into(), ..good.clone() };
        change(&mut literal);
        CkksParameters::new(&literal).expect_err("must be refused").to_string()
    };
    let b = |l: &mut ParameterLiteral, change: &dyn Fn(&mut BootstrappingLiteral)| {
        change(l.bootstrapping.as_mut().expect("it has one"));
    };
    let cases: Vec<(String, &str)> = vec![
        (refused(&|l| l.name = "no spaces".into()), "name"),
        (refused(&|l| l.description = Some("two\nlines".into())), "one line"),
        (refused(&|l| l.log2_degree = 3), "log2_degree = 3: must be in 4..=17"),
        (refused(&|l| l.log2_degree = 17), "1 modulo 2N"),
        (refused(&|l| l.scale = 0.0), "scale = 0: must be in 2^20..=2^60"),
        (refused(&|l| l.scale = f64::NAN), "scale = NaN"),
        (refused(&|l| l.main[3] = -5), "main = -5: primes must lie between"),
        (refused(&|l| l.main[3] = 1 << 31), "primes must lie between"),
        (refused(&|l| l.main[3] = l.main[4]), "stands twice"),
        (refused(&|l| l.main[3] = 999_948_288), "1 modulo 2N"),
        (refused(&|l| l.main[3] = 131_072 * 7632 + 1), "not prime"),
        (refused(&|l| l.auxiliary.clear()), "auxiliary"),
        (refused(&|l| l.states.clear()), "states"),
        (refused(&|l| l.states[3] = [0, 0]), "a level needs a prime"),
        (refused(&|l| l.states[3] = [44, 0]), "43 main and 4 terminal primes"),
        (refused(&|l| l.states[3] = [3, 0]), "must grow"),
        (refused(&|l| l.states[28] = [43, 3]), "must use all primes"),
        (refused(&|l| l.states[3] = [-1, 0]), "states = -1"),
        (refused(&|l| l.states[2] = [4, 0]), "within 2^0.5 of the scale"),
        (refused(&|l| l.states.truncate(28)), "must be 29 states"),
        (refused(&|l| _ = l.states.remove(1)), "there must be 29 states"),
        (refused(&|l| l.digits = Some(vec![12, 12, 12, 12])), "digits"),
        (refused(&|l| l.digits = Some(vec![13, 13, 12, 9])), "noise of key switches"),
        (refused(&|l| l.secret_weight = Some(64)), "secret_weight = 64"),
        (refused(&|l| b(l, &|b| b.message_ratio = 4)), "message_ratio = 4: must be in 5..=30"),
        (refused(&|l| b(l, &|b| b.message_ratio = 12)), "at least 2^12 times"),
        (refused(&|l| b(l, &|b| b.interval = 12)), "interval = 12"),
        (refused(&|l| b(l, &|b| b.double_angles = 2)), "double_angles = 2"),
        (refused(&|l| b(l, &|b| b.sparse_weight = 16)), "sparse_weight = 16"),
        (refused(&|l| b(l, &|b| b.eval_mod_scale = 2f64.powi(50))), "within 2^0.5 of the scale"),
        (refused(&|l| l.log2_degree = 15), "may have 881 bits"),
        (refused(&|l| l.log2_degree = 9), "10..=17"),
    ];
    for (text, expected) in cases {
        assert!(text.contains(expected), "{text} should say {expected}");
    }
    let taken = ParameterLiteral { scale: good.scale * 1.01, ..good.clone() };
    let text = CkksParameters::new(&taken).expect_err("another set's name").to_string();
    assert!(text.contains("take another name"), "{text}");
    let wide = |l: &mut ParameterLiteral| {
        // A key under the sparse secret with a modulus of three primes of level 0.
        l.states[0] = [0, 4];
        l.scale = 2f64.powi(40);
    };
    assert!(refused(&wide).contains("states"));
    let text = CkksParameters::from_toml("name = 3").expect_err("no name").to_string();
    assert!(text.contains("name = 3"), "{text}");
    assert!(CkksParameters::from_toml("nonsense").is_err());
    let text = CkksParameters::by_name("CKKS_D41").expect_err("there is none").to_string();
    assert!(text.contains("nearest are CKKS_D40"), "{text}");
}

#[test]
fn security_is_stated_with_its_cost_model() {
    // The description states 130.4 and 131.0 for the same model.
    for (name, bits) in [("CKKS_D40", 130.4), ("CKKS_D35", 131.0)] {
        let security = CkksParameters::by_name(name).expect("built in").security();
        let found = security.estimate;
        assert!((found.dense - bits).abs() < 0.6, "{name}: {found:?}");
        // The cheapest attack takes a little less.
        let cheapest = found.dense_matzov;
        assert!(cheapest > 128.0 && cheapest < found.dense, "{name}: {found:?}");
        assert!(
            security.text.contains("BDGL16") && security.text.contains("MATZOV"),
            "{}",
            security.text
        );
        assert!(security.warning.is_none());
    }
    for set in CkksParameters::all() {
        let security = set.security();
        assert!(security.estimate.dense > 128.0, "{set}: {}", security.text);
        if let Some(sparse) = security.estimate.sparse {
            // Below 121 bits of modulus: hybrids take far more than a search of all secrets.
            assert!(sparse.primal_hybrid > 168.0, "{set}: {}", security.text);
            assert!(sparse.dual_hybrid > 190.0, "{set}: {}", security.text);
            assert_eq!(sparse.cheapest(), sparse.search);
            // C(65536, 32) 2^32 = 2^426.3.
            assert!((sparse.search - 127.9).abs() < 0.05, "{set}: {}", security.text);
        }
    }
    let toy = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    assert!(toy.security().warning.expect("a warning").contains("no security"));
    assert_eq!(toy.warnings().len(), 1);
}

/// The sets that hybrid key switching and KLSS are compared on: CKKS_D40's limbs in more digits.
#[test]
fn the_sets_of_benches_have_digits_of_six_and_four() {
    let mut wrong = String::new();
    for (auxiliary, log2_scale, digits, text) in [
        (6, 40.0, 8, include_str!("../../../../benches/sets/CKKS_48_LIMBS_ALPHA_6.toml")),
        (4, 39.5, 12, include_str!("../../../../benches/sets/CKKS_48_LIMBS_ALPHA_4.toml")),
    ] {
        let request = GeneratorRequest {
            name: format!("CKKS_48_LIMBS_ALPHA_{auxiliary}"),
            description: format!("33 levels, 48 primes in {digits} digits of {auxiliary}"),
            log2_scale,
            normal_levels: Some(33),
            headroom: 20.0,
            auxiliary,
            bootstrapping: None,
            prime_bits: 31,
            ..requests().remove(0)
        };
        // Whole digits, which the bound of a set allows; the generator asks for more.
        let found = request.generate().expect("a set").literal();
        let found = CkksParameters::new(&ParameterLiteral { digits: None, ..found });
        let found = found.expect("a set");
        if CkksParameters::from_toml(text).ok().as_ref() != Some(&found) {
            wrong += &format!("\n{} should be\n{}", request.name, found.to_toml());
        }
        assert_eq!((found.chain().full_len(), found.chain().digits().len()), (48, digits));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn an_unknown_name_answers_with_the_nearest_ones() {
    let said = |name: &str| CkksParameters::by_name(name).expect_err("no set").to_string();
    assert!(said("CKKS_D4").contains("the nearest are CKKS_D40, "), "{}", said("CKKS_D4"));
    assert!(said("STD128").contains("girih::tfhe"), "{}", said("STD128"));
}
