//! What is known about the security of a set, always with the cost model it rests on.

use super::usvp::Lwe;
use super::{ErrorDistribution, ParameterSet};
use girih_backend::SecretKind;

/// Bits of security of the weaker of a set's two problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Against the primal attack (uSVP) with the BDGL16 cost model: computed as the lattice estimator does, whose own results it
    /// meets to half a bit.
    pub usvp_bdgl16: f64,
    /// At least so many against the cheapest attack with the MATZOV cost model, where the lattice estimator was asked about problems
    /// that are no harder.
    pub cheapest_matzov: Option<f64>,
}

/// Bits against the cheapest attack (MATZOV) by the lattice estimator, for uniform ternary secrets and errors of deviation 3.19: LWE
/// dimension, log2 of the modulus, bits.
///
/// M5 and M6 were estimated as whole sets: both of their problems are at least that hard.
#[rustfmt::skip]
const MATZOV: [(usize, f64, f64); 14] = [
    (503,  14.0, 120.9), // G1 LWE
    (1024, 27.0, 126.2), // G1 ring
    (600,  15.0, 134.1), // G2 LWE
    (2048, 50.0, 137.0), // G2, M2 ring
    (1305, 35.0, 124.2), // G4, G5 LWE
    (1024, 21.0, 163.0), // M2 LWE
    (512,  14.0, 122.9), // M3 LWE
    (1536, 41.0, 124.7), // M3 module
    (2048, 41.0, 169.0), // M4 module
    (1088, 15.0, 241.0), // M5 LWE
    (3072, 44.0, 241.0), // M5 module
    (1024, 16.0, 188.0), // M6 LWE
    (2048, 37.0, 188.0), // M6 ring
    (1024, 36.0, 95.0),  // M1 ring, T just above 2^36, rounded down
];

/// Bits by which a modulus may exceed a table entry's nominal size: primes just above a power of two.
const SLACK: f64 = 0.1;

/// What is known about the security of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// What attacks take.
    pub estimate: Estimate,
    /// Bits that the set's source claims.
    pub claim: Option<u32>,
    /// One or two sentences for people, cost model included.
    pub text: String,
    /// What a user must be told before relying on the set, if anything.
    pub warning: Option<String>,
}

/// The best entry that `(dimension, log2 modulus)` is at least as hard as: a larger dimension and a smaller modulus only help.
fn matzov(dimension: usize, log2_modulus: f64) -> Option<f64> {
    let easier = MATZOV.iter().filter(|(n, log2_q, _)| dimension >= *n && log2_modulus <= log2_q + SLACK);
    easier.map(|&(_, _, bits)| bits).max_by(f64::total_cmp)
}

fn estimate(set: &ParameterSet) -> Estimate {
    let shape = set.shape();
    let secret = match shape.secret {
        SecretKind::Ternary => (2f64 / 3.0).sqrt(),
        SecretKind::Binary => 0.5,
    };
    // Uniform on [-2^b, 2^b] with half weight at both ends.
    let uniform = |b: u32| ((2f64.powi(2 * b as i32 + 1) + 1.0) / 6.0).sqrt();
    let (lwe_error, ring_error) = match set.errors() {
        ErrorDistribution::Gaussian { sigma } => (sigma, sigma),
        ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => (uniform(lwe_log2_bound), uniform(glwe_log2_bound)),
    };
    let log2_ring = shape.key_modulus_value().map_or(64.0, |modulus| (modulus as f64).log2());
    let lwe = Lwe { dimension: shape.lwe_dimension, log2_modulus: f64::from(shape.log2_ks_modulus), error: lwe_error, secret };
    let ring = Lwe { dimension: shape.ks_indices(), log2_modulus: log2_ring, error: ring_error, secret };
    let known = |lwe: Lwe| {
        let asked = shape.secret == SecretKind::Ternary && lwe.error >= 3.19;
        asked.then(|| matzov(lwe.dimension, lwe.log2_modulus)).flatten()
    };
    let usvp_bdgl16 = lwe.bits().min(ring.bits());
    let cheapest_matzov = known(lwe).zip(known(ring)).map(|(lwe, ring)| lwe.min(ring));
    // A bound from problems much easier than these says nothing about them.
    Estimate { usvp_bdgl16, cheapest_matzov: cheapest_matzov.filter(|bits| bits + FAR > usvp_bdgl16) }
}

/// Bits by which the cheapest attack falls short of uSVP at most, where both were estimated for one problem (16), and some more.
const FAR: f64 = 20.0;

/// Below this a set is called by its bits.
const WEAK: f64 = 100.0;

pub(super) fn judge(set: &ParameterSet) -> Security {
    let (estimate, claim) = (estimate(set), set.0.origin.claim);
    let claimed = claim.map_or_else(|| "no published claim".to_owned(), |bits| format!("its source claims {bits} bits"));
    let packed = if set.packing() > 1 { format!(" Packing costs at most a factor {}.", set.packing()) } else { String::new() };
    let cheapest = match estimate.cheapest_matzov {
        Some(bits) => format!("at least {bits} against the cheapest attack (MATZOV) by the lattice estimator"),
        None => "the cheapest attack was not estimated (4 to 16 bits less where it was)".to_owned(),
    };
    let text = format!("{:.1} bits against uSVP (BDGL16), {cheapest}; {claimed}.{packed}", estimate.usvp_bdgl16);
    let name = set.name();
    let warning = match (estimate.cheapest_matzov, claim) {
        _ if name.starts_with("INSECURE") => Some(format!("{name} is a toy for tests: it has no security at all")),
        (Some(bits), _) if bits < WEAK => Some(format!("{name} is a {bits:.0}-bit set (MATZOV): below {WEAK} bits")),
        _ if estimate.usvp_bdgl16 < WEAK => {
            Some(format!("{name} is a {:.0}-bit set (uSVP, BDGL16): below {WEAK} bits", estimate.usvp_bdgl16))
        }
        (None, None) => Some(format!("of {name} only the primal attack was estimated; have the lattice estimator look at all of them")),
        _ => None,
    };
    Security { estimate, claim, text, warning }
}
