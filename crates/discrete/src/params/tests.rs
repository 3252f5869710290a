use super::*;
use girih_rlwe::security::LweProblem;

#[test]
fn the_sets_are_those_of_their_design() {
    for (name, modulus, counts, levels, weight) in
        [("DISCRETE_1", 4, (17, 9), 3, None), ("DISCRETE_4", 16, (20, 7), 6, Some(256))]
    {
        let set = DiscreteParameters::by_name(name).expect("built in");
        let chain = set.ckks().chain();
        assert_eq!((set.modulus(), set.numbers(), set.wire_level()), (modulus, 1 << 15, 2));
        assert_eq!((chain.full_len(), chain.auxiliary_len()), counts, "{set}");
        assert_eq!((set.table_levels(), set.ckks().secret_weight()), (levels, weight));
        assert_eq!(set.interval(), 18.5);
        assert_eq!(set.raised_level(levels), set.ckks().top_level());
        let primes: Vec<u32> = (0..chain.full_len()).map(|i| chain.prime(i)).collect();
        assert_eq!(primes, nearest_primes(15, set.scale(), chain.full_len()), "{set}");
        assert!((set.scale().log2() - 29.9).abs() < 1e-9);
        // Neither level 0 nor level 1 has a scale; the wire level has that of the set.
        assert!(set.ckks().scale(1).is_none() && set.ckks().default_level() == 2);
        assert!(!set.is_insecure() && set.warnings().is_empty());
    }
    assert_eq!(DiscreteParameters::default().name(), "DISCRETE_4");
}

/// 128 bits by the project's own estimator, and what the description says.
#[test]
fn security_is_that_of_the_estimator() {
    for (name, dense, cheapest) in [("DISCRETE_1", 144.9, 141.9), ("DISCRETE_4", 139.0, 128.6)] {
        let security = DiscreteParameters::by_name(name).expect("built in").security();
        let found = security.estimate;
        println!("{name}: {}", security.text);
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
