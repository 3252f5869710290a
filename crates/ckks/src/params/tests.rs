use super::*;

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
            ..request("CKKS_D50", "levels of 50 bits after a bootstrapping")
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
    for request in requests() {
        let found = request.generate().expect("a set");
        let stored = CkksParameters::by_name(&request.name);
        assert_eq!(stored.ok().as_ref(), Some(&found), "the file should be\n{}", found.to_toml());
    }
}
