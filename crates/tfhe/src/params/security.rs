//! What is known about the security of a set, always with the cost model it rests on.

use super::{ErrorDistribution, ParameterSet};
use girih_backend::SecretKind;

/// Security of one LWE problem, in bits, by the lattice estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Against uSVP with the BDGL16 cost model.
    pub usvp_bdgl16: f64,
    /// Against the cheapest attack with the MATZOV cost model.
    pub cheapest_matzov: f64,
}

/// Estimates for uniform ternary secrets and errors of deviation 3.19: LWE dimension, log2 of the modulus, estimate.
///
/// M5 and M6 were estimated as whole sets: both of their problems are at least that hard.
#[rustfmt::skip]
const ESTIMATES: [(usize, f64, Estimate); 13] = [
    (503,  14.0, Estimate { usvp_bdgl16: 128.6, cheapest_matzov: 120.9 }), // G1 LWE
    (1024, 27.0, Estimate { usvp_bdgl16: 131.6, cheapest_matzov: 126.2 }), // G1 ring
    (600,  15.0, Estimate { usvp_bdgl16: 142.5, cheapest_matzov: 134.1 }), // G2 LWE
    (2048, 50.0, Estimate { usvp_bdgl16: 141.0, cheapest_matzov: 137.0 }), // G2, M2 ring
    (1305, 35.0, Estimate { usvp_bdgl16: 128.2, cheapest_matzov: 124.2 }), // G4, G5 LWE
    (1024, 21.0, Estimate { usvp_bdgl16: 173.0, cheapest_matzov: 163.0 }), // M2 LWE
    (512,  14.0, Estimate { usvp_bdgl16: 130.9, cheapest_matzov: 122.9 }), // M3 LWE
    (1536, 41.0, Estimate { usvp_bdgl16: 128.5, cheapest_matzov: 124.7 }), // M3 module
    (2048, 41.0, Estimate { usvp_bdgl16: 176.0, cheapest_matzov: 169.0 }), // M4 module
    (1088, 15.0, Estimate { usvp_bdgl16: 256.5, cheapest_matzov: 241.0 }), // M5 LWE
    (3072, 44.0, Estimate { usvp_bdgl16: 256.5, cheapest_matzov: 241.0 }), // M5 module
    (1024, 16.0, Estimate { usvp_bdgl16: 197.5, cheapest_matzov: 188.0 }), // M6 LWE
    (2048, 37.0, Estimate { usvp_bdgl16: 197.5, cheapest_matzov: 188.0 }), // M6 ring
];

/// The one estimate known from above: the ring of M1 (dimension 1024, T just above 2^36), both models rounded down.
const M1_RING: (usize, f64, Estimate) = (1024, 36.0, Estimate { usvp_bdgl16: 95.0, cheapest_matzov: 95.0 });

/// Bits by which a modulus may exceed a table entry's nominal size: primes just above a power of two.
const SLACK: f64 = 0.1;

/// What is known about the security of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// A lower bound for the weaker of the set's two problems, if both can be judged.
    pub estimate: Option<Estimate>,
    /// Bits that the set's source claims.
    pub claim: Option<u32>,
    /// One or two sentences for people, cost model included.
    pub text: String,
    /// What a user must be told before relying on the set, if anything.
    pub warning: Option<String>,
}

/// The best entry that `(dimension, log2 modulus)` is at least as hard as: a larger dimension and a smaller modulus only help.
fn look_up(dimension: usize, log2_modulus: f64) -> Option<Estimate> {
    ESTIMATES
        .iter()
        .chain([&M1_RING])
        .filter(|(n, log2_q, _)| dimension >= *n && log2_modulus <= log2_q + SLACK)
        .map(|&(_, _, estimate)| estimate)
        .max_by(|a, b| a.cheapest_matzov.total_cmp(&b.cheapest_matzov))
}

fn estimate(set: &ParameterSet) -> Option<Estimate> {
    let shape = set.shape();
    let judged = shape.secret == SecretKind::Ternary && matches!(set.errors(), ErrorDistribution::Gaussian { sigma } if sigma >= 3.19);
    let modulus = shape.key_modulus_value()?;
    if !judged {
        return None;
    }
    let lwe = look_up(shape.lwe_dimension, f64::from(shape.log2_ks_modulus))?;
    let ring = look_up(shape.ks_indices(), (modulus as f64).log2())?;
    Some(Estimate { usvp_bdgl16: lwe.usvp_bdgl16.min(ring.usvp_bdgl16), cheapest_matzov: lwe.cheapest_matzov.min(ring.cheapest_matzov) })
}

pub(super) fn judge(set: &ParameterSet) -> Security {
    let (estimate, claim) = (estimate(set), set.0.origin.claim);
    let claimed = claim.map_or_else(|| "no published claim".to_owned(), |bits| format!("its source claims {bits} bits"));
    let packed = if set.packing() > 1 { format!(" Packing costs at most a factor {}.", set.packing()) } else { String::new() };
    let text = match estimate {
        Some(e) => format!(
            "at least {} bits (uSVP, BDGL16) and {} bits (cheapest attack, MATZOV) by the lattice estimator, for uniform ternary \
             secrets and errors of deviation 3.19; {claimed}.{packed}",
            e.usvp_bdgl16, e.cheapest_matzov
        ),
        None => format!("not judged by this library's table of estimates; {claimed}.{packed}"),
    };
    let name = set.name();
    let warning = match (estimate, claim) {
        _ if name.starts_with("INSECURE") => Some(format!("{name} is a toy for tests: it has no security at all")),
        (Some(e), _) if e.cheapest_matzov < 100.0 => {
            Some(format!("{name} is a {:.0}-bit set by this library's table (MATZOV): below 100 bits", e.cheapest_matzov))
        }
        (None, None) => Some(format!("the security of {name} cannot be judged by this library's table; estimate it before you rely on it")),
        _ => None,
    };
    Security { estimate, claim, text, warning }
}
