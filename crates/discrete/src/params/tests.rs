use super::*;
use girih_rlwe::security::LweProblem;

#[test]
fn the_sets_are_those_of_their_design() {
    for (name, modulus, counts, levels, weight, scale) in [
        ("DISCRETE_1", 4, (17, 9), 3, None, 29.9),
        ("DISCRETE_4", 16, (20, 7), 6, Some(256), 29.9),
        ("DISCRETE_4_FINE", 16, (20, 6), 6, Some(256), 30.8),
    ] {
        let set = DiscreteParameters::by_name(name).expect("built in");
        let chain = set.ckks().chain();
        assert_eq!((set.modulus(), set.numbers(), set.wire_level()), (modulus, 1 << 15, 2));
        assert_eq!((chain.full_len(), chain.auxiliary_len()), counts, "{set}");
        assert_eq!((set.table_levels(), set.ckks().secret_weight()), (levels, weight));
        assert_eq!(set.interval(), 18.5);
        assert_eq!(set.raised_level(levels), set.ckks().top_level());
        let primes: Vec<u32> = (0..chain.full_len()).map(|i| chain.prime(i)).collect();
        let near = nearest_primes(15, set.scale(), chain.full_len());
        if name == "DISCRETE_1" {
            assert_eq!(primes, near, "{set}");
        } else {
            // Level 0 has a prime of two bits less, so that security pays for the secrets that are
            // drawn again, and keys disturb a switch by less.
            assert_eq!(primes[0], nearest_primes(15, set.scale() / 4.0, 1)[0], "{set}");
            assert_eq!(primes[1..], near[..primes.len() - 1], "{set}");
        }
        assert!((set.scale().log2() - scale).abs() < 1e-9);
        // Neither level 0 nor level 1 has a scale; the wire level has that of the set.
        assert!(set.ckks().scale(1).is_none() && set.ckks().default_level() == 2);
        assert!(!set.is_insecure() && set.warnings().is_empty());
    }
    assert_eq!(DiscreteParameters::default().name(), "DISCRETE_4");
}

/// 128 bits by the project's own estimator, and what the description says: without what the draws
/// of a flat secret may be worth to an attacker.
#[test]
fn security_is_that_of_the_estimator() {
    for (name, draws, dense, cheapest) in [
        ("DISCRETE_1", 2.39, 142.5, 139.5),
        ("DISCRETE_4", 0.80, 138.5, 128.06),
        ("DISCRETE_4_FINE", 1.60, 140.1, 129.2),
    ] {
        let security = DiscreteParameters::by_name(name).expect("built in").security();
        let found = security.estimate;
        println!("{name}: {}", security.text);
        assert!((found.log2_draws - draws).abs() < 0.01, "{name}: {found:?}");
        assert!(security.text.contains(&format!("{draws:.1} bits taken off")), "{security:?}");
        assert!(found.dense_matzov >= 128.0, "{name}: {found:?}");
        assert!((found.dense - dense).abs() < 0.3, "{name}: {found:?}");
        assert!((found.dense_matzov - cheapest).abs() < 0.3, "{name}: {found:?}");
        let sparse = found.sparse.expect("a sparse secret");
        assert!((sparse.search - 131.4).abs() < 0.1, "{name}: {sparse:?}");
        assert!(sparse.cheapest() > 128.0, "{name}: {sparse:?}");
    }
    // The sparse secret is under one prime of level 0 and one auxiliary prime, no more.
    let set = DiscreteParameters::default();
    let ranges = crate::program::key_ranges(&set).expect("keys");
    let sparse = ranges.iter().find(|r| r.kind == girih_ckks::KeyKind::DenseToSparse);
    let positions = sparse.expect("it is there").positions(set.ckks());
    assert_eq!(positions, [0, set.ckks().chain().full_len()]);
    let log2_modulus = set.ckks().chain().log2_product(positions);
    let problem = LweProblem {
        dimension: set.numbers(),
        log2_modulus,
        error: 3.19,
        secret: girih_rlwe::SecretDistribution::FixedWeight(36),
    };
    assert!(problem.cheapest_matzov() > 128.0);
}

#[test]
fn files_and_bytes_read_back_as_the_same_set() {
    for set in DiscreteParameters::all().into_iter().chain(DiscreteParameters::insecure()) {
        assert_eq!(DiscreteParameters::from_toml(&set.to_toml()).expect("its own file"), set);
        let bytes = set.to_canonical();
        assert!(bytes.len() < girih_rlwe::wire::LONGEST_SET);
        assert_eq!(DiscreteParameters::from_canonical(&bytes).expect("its own bytes"), set);
        assert!(DiscreteParameters::from_canonical(&bytes[..bytes.len() - 1]).is_err());
        assert!(DiscreteParameters::from_canonical(&[&bytes[..], &[0]].concat()).is_err());
    }
}

/// What is printed of a set of one's own is without its draws, too, and has 128 bits.
#[test]
fn flat_secrets_cost_bits_in_every_set() {
    let of = DiscreteParameters::by_name("DISCRETE_4_FINE").expect("built in").literal();
    let with = |flatness| {
        let literal = DiscreteLiteral { name: "MINE".into(), flatness, ..of.clone() };
        DiscreteParameters::new(&literal).map(|set| set.security().estimate)
    };
    let [flat, any] = [9.6, 30.0].map(|flatness| with(flatness).expect("a set"));
    assert!(any.log2_draws < 1e-6 && flat.log2_draws > 1.5);
    for (with, without) in [(flat.dense, any.dense), (flat.dense_matzov, any.dense_matzov)] {
        assert!((without - with - flat.log2_draws).abs() < 1e-5, "{flat:?} {any:?}");
    }
    let text = with(8.2).expect_err("too few bits").to_string();
    assert!(text.contains("take fewer primes or a larger flatness"), "{text}");
    let text = with(7.9).expect_err("too few secrets").to_string();
    assert!(text.contains("one secret of 2^8.8 would be as flat"), "{text}");
}

/// Bytes of DISCRETE_4 as it was name another set, and are refused in words.
#[test]
fn sets_of_before_are_refused_by_name() {
    let own = DiscreteParameters::default();
    let mut main = own.literal().main;
    main.remove(0);
    main.push(1_008_271_361);
    let before = DiscreteLiteral { main, flatness: 9.2, ..own.literal() };
    let renamed = DiscreteLiteral { name: "INSECURE_BEFORE".into(), ..before.clone() };
    let text = DiscreteParameters::new(&before).expect_err("another set's name").to_string();
    assert!(text.contains("have 802.1 bits for 128 bits"), "{text}");
    let renamed = DiscreteParameters::new(&renamed).expect("for tests");
    assert!(DiscreteParameters::from_canonical(&renamed.to_canonical()).is_ok());
}

#[test]
fn every_broken_rule_is_named() {
    let good = DiscreteParameters::default().literal();
    let refused = |change: &dyn Fn(&mut DiscreteLiteral)| {
        let mut literal = DiscreteLiteral { name: "MINE".into(), ..good.clone() };
        change(&mut literal);
        DiscreteParameters::new(&literal).expect_err("must be refused").to_string()
    };
    for (text, expected) in [
        (refused(&|l| l.name = "no spaces".into()), "name"),
        (refused(&|l| l.modulus = 1), "modulus = 1: must be in 2..=32"),
        (refused(&|l| l.to_slots = vec![5, 5]), "sum to log2 N - 1 = 14"),
        (refused(&|l| l.to_coefficients = vec![14, 0]), "to_coefficients"),
        (refused(&|l| l.to_coefficients = vec![i64::MAX, 15]), "to_coefficients"),
        (refused(&|l| l.squarings = 0), "squarings = 0"),
        (refused(&|l| l.degree = 16), "must be 15 or 31"),
        (refused(&|l| l.squarings = 2), "would be off by"),
        (refused(&|l| l.sparse_weight = 35), "must be even"),
        (refused(&|l| l.sparse_weight = 32), "must be at least 36"),
        (refused(&|l| l.main.truncate(15)), "tables 2 to 8 more"),
        (refused(&|l| l.secret_weight = Some(192)), "must be at least 256"),
        (refused(&|l| l.flatness = 1.0), "flatness = 1"),
        (refused(&|l| l.main[3] = 7), "primes must lie between"),
        (refused(&|l| l.auxiliary.clear()), "auxiliary"),
    ] {
        assert!(text.contains(expected), "{text} should say {expected}");
    }
    let taken = DiscreteLiteral { modulus: 8, ..good.clone() };
    let text = DiscreteParameters::new(&taken).expect_err("another set's name").to_string();
    assert!(text.contains("take another name"), "{text}");
    let text = DiscreteParameters::by_name("DISCRETE_5").expect_err("there is none").to_string();
    assert!(text.contains("DISCRETE_4") && text.contains("INSECURE_DISCRETE_1_N10"), "{text}");
    assert!(DiscreteParameters::from_toml("name = 3").is_err());
}
