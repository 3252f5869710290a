//! What is known about the security of a set, always with the cost model it rests on.

use super::{ErrorDistribution, ParameterSet};
use girih_backend::SecretKind;
use girih_rlwe::SecretDistribution;
use girih_rlwe::security::{LweProblem, SecurityEstimate};

/// What is known about the security of a set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Security {
    /// What attacks take.
    pub estimate: SecurityEstimate,
    /// The problems that it is of, which the set publishes samples of: LWE, and module LWE of the
    /// bootstrapping key.
    pub problems: [LweProblem; 2],
    /// Bits that the set's source claims.
    pub claim: Option<u32>,
    /// One or two sentences for people, cost model included.
    pub text: String,
    /// What a user must be told before relying on the set, if anything.
    pub warning: Option<String>,
}

/// The problems that a set publishes samples of: LWE, and module LWE of the bootstrapping key.
fn problems(set: &ParameterSet) -> [LweProblem; 2] {
    let shape = set.shape();
    let distribution = |kind| match kind {
        SecretKind::Ternary => SecretDistribution::Ternary,
        SecretKind::Binary => SecretDistribution::Binary,
    };
    // Uniform on [-2^b, 2^b] with half weight at both ends.
    let uniform = |b: u32| ((2f64.powi(2 * b as i32 + 1) + 1.0) / 6.0).sqrt();
    let (lwe_error, ring_error) = match set.errors() {
        ErrorDistribution::Gaussian { sigma } => (sigma, sigma),
        ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => {
            (uniform(lwe_log2_bound), uniform(glwe_log2_bound))
        }
    };
    let log2_ring = shape.key_modulus_value().map_or(64.0, |modulus| (modulus as f64).log2());
    // The native torus has the one modulus 2^64; q_ks says there which bits its digits represent.
    let log2_lwe = if shape.is_torus() { 64 } else { shape.log2_ks_modulus };
    [
        LweProblem {
            dimension: shape.lwe_dimension,
            log2_modulus: f64::from(log2_lwe),
            error: lwe_error,
            secret: distribution(shape.secret),
        },
        LweProblem {
            dimension: shape.ks_indices(),
            log2_modulus: log2_ring,
            error: ring_error,
            secret: distribution(set.ring_secret()),
        },
    ]
}

/// Below this a set is called by its bits.
const WEAK: f64 = 100.0;

pub(super) fn judge(set: &ParameterSet) -> Security {
    let problems = problems(set);
    let estimate = SecurityEstimate::of(&problems);
    let claim = set.0.origin.claim;
    let claimed = claim.map_or_else(
        || "no published claim".to_owned(),
        |bits| format!("its source claims {bits} bits"),
    );
    let packed = if set.packing() > 1 {
        format!(" Packing costs at most a factor {}.", set.packing())
    } else {
        String::new()
    };
    let text = format!(
        "{:.1} bits against uSVP (BDGL16), {:.1} against the cheapest attack that is computed \
         (MATZOV); {claimed}.{packed}",
        estimate.usvp_bdgl16, estimate.cheapest_matzov
    );
    let name = set.name();
    let warning = match (estimate.cheapest_matzov, claim) {
        _ if name.starts_with("INSECURE") => {
            Some(format!("{name} is a toy for tests: it has no security at all"))
        }
        (bits, _) if bits < WEAK => {
            Some(format!("{name} is a {:.0}-bit set (MATZOV): below {WEAK} bits", bits.floor()))
        }
        _ if estimate.usvp_bdgl16 < WEAK => Some(format!(
            "{name} is a {:.0}-bit set (uSVP, BDGL16): below {WEAK} bits",
            estimate.usvp_bdgl16
        )),
        (_, None) => Some(format!(
            "of {name} two attacks were computed; have the lattice estimator look at all of them"
        )),
        _ => None,
    };
    Security { estimate, problems, claim, text, warning }
}
