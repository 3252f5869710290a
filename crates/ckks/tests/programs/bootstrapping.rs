//! Whole bootstrappings at N = 2^10, against the message and against the sine itself (ckks.md section 10).

use std::f64::consts::PI;
use std::sync::Arc;

use girih_ckks::CkksParameters;
use girih_ckks::program::{BootstrappingPlan, Chain, ChainShape, Recorder, Variant};
use num_complex::Complex64;

use crate::toy::{Client, errors};

fn chain(set: &str) -> Arc<Chain> {
    let set = CkksParameters::by_name(set).unwrap();
    Chain::new(ChainShape::from(&set)).unwrap()
}

/// Errors of a bootstrapping, log2: deviation and worst slot against the message, deviation against the sine.
struct Outcome {
    total: (f64, f64),
    noise: (f64, f64),
}

/// Bootstraps `slots` made by `make`.
fn bootstrap(
    set: &str,
    message_ratio: u32,
    variant: Variant,
    make: impl Fn(&mut Client) -> Vec<Complex64>,
) -> Outcome {
    let chain = chain(set);
    let mut client = Client::new(&chain, 1);
    let z = make(&mut client);
    let plan =
        BootstrappingPlan::new(&chain, z.len(), message_ratio, variant, &client.encoder).unwrap();
    let mut r = Recorder::new(chain.clone());
    let x = r.input(0, chain.scale(0).unwrap(), z.len()).unwrap();
    let y = r.bootstrap(&x, &plan).unwrap();
    r.output(&y);
    let effective = chain.highest_normal();
    assert_eq!((y.level, y.scale), (effective, chain.scale(effective).unwrap()));
    let keys = client.keys(&plan.keys(&chain));
    let input = client.encrypt(&z, 0);
    let output = keys.run(&chain, &r.finish(), &input);
    let got = client.decrypt(&y, &output);

    let q0 = chain.ring().primes[usize::from(chain.level(0).unwrap().primes()[0])..]
        .iter()
        .take(chain.level(0).unwrap().len())
        .map(|p| f64::from(p.value()))
        .product::<f64>();
    let k0: f64 = plan.factor().to_string().parse().unwrap();
    let sine: Vec<f64> = client
        .phase(0, &input)
        .iter()
        .map(|m| (2.0 * PI * (m * k0 / q0)).sin() * q0 / (2.0 * PI) / k0)
        .collect();
    let ideal = client.encoder.decode(&sine, z.len(), x.scale).unwrap();
    let outcome = Outcome { total: errors(&got, &z), noise: errors(&got, &ideal) };
    println!(
        "{set} rho {message_ratio} {variant:?} {} slots: noise {:.1}, worst {:.1}; total {:.1}, \
         worst {:.1}",
        z.len(),
        outcome.noise.0,
        outcome.noise.1,
        outcome.total.0,
        outcome.total.1
    );
    outcome
}

/// log2 of the factor by which a measured deviation may differ from one measured elsewhere, with other randomness:
/// 15 %, and a tenth of a bit of the tables' rounding.
const SPREAD: f64 = 0.3;

fn near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < SPREAD, "2^{measured:.2} where 2^{expected} is expected");
}

#[test]
fn full_packing() {
    let outcome =
        bootstrap("INSECURE_CKKS_D40_N10", 8, Variant::Pair, |client| client.random_slots(512));
    near(outcome.noise.0, -30.0);
    near(outcome.total.0, -22.7);
}
