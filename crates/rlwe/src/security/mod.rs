//! What attacks on learning with errors take, always with the cost model it rests on.
//!
//! The primal attack is computed for any problem; other attacks were estimated once, for the
//! problems of published sets, with the lattice estimator. Of secrets of small fixed weight the
//! primal attack says little: hybrid and combinatorial attacks are cheaper against these, so a
//! scheme that uses them needs an estimate of its own.

mod usvp;

use crate::SecretDistribution;

/// One problem of learning with errors, over a ring or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LweProblem {
    /// Coefficients of the secret: n, or kN over a ring.
    pub dimension: usize,
    /// log2 of the modulus in which samples are published.
    pub log2_modulus: f64,
    /// Standard deviation of the errors, in units of that modulus.
    pub error: f64,
    /// Distribution of the secret.
    pub secret: SecretDistribution,
}

/// Bits against the cheapest attack (MATZOV) by the lattice estimator, for uniform ternary secrets
/// and errors of deviation 3.19: LWE dimension, log2 of the modulus, bits.
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

/// Bits by which a modulus may exceed a table entry's nominal size:
/// primes just above a power of two.
const SLACK: f64 = 0.1;

/// Bits by which the cheapest attack falls short of uSVP at most, where both were estimated for one
/// problem (16), and some more.
const FAR: f64 = 20.0;

impl LweProblem {
    /// Bits that the cheapest attack takes at least with the MATZOV cost model, where the lattice
    /// estimator was asked about a problem that is no harder: a larger dimension, a smaller modulus
    /// and larger errors only help.
    pub fn cheapest_matzov(self) -> Option<f64> {
        if self.secret != SecretDistribution::Ternary || self.error < 3.19 {
            return None;
        }
        let no_harder =
            |n: usize, log2_q: f64| self.dimension >= n && self.log2_modulus <= log2_q + SLACK;
        let easier = MATZOV.iter().filter(|(n, log2_q, _)| no_harder(*n, *log2_q));
        easier.map(|&(_, _, bits)| bits).max_by(f64::total_cmp)
    }
}

/// Bits of security of the weakest of several problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Against the primal attack (uSVP) with the BDGL16 cost model: computed as the lattice
    /// estimator does, whose own results it meets to half a bit.
    pub usvp_bdgl16: f64,
    /// At least so many against the cheapest attack with the MATZOV cost model, where the lattice
    /// estimator was asked about problems that are no harder.
    pub cheapest_matzov: Option<f64>,
}

impl Estimate {
    /// Of all `problems` that a set publishes samples of; infinite for none.
    pub fn of(problems: &[LweProblem]) -> Self {
        let least = |bits: f64, problem: &LweProblem| bits.min(problem.usvp_bdgl16());
        let usvp_bdgl16 = problems.iter().fold(f64::INFINITY, least);
        let known: Option<Vec<f64>> = problems.iter().map(|p| p.cheapest_matzov()).collect();
        let cheapest = known.and_then(|bits| bits.into_iter().min_by(f64::total_cmp));
        // A bound from problems much easier than these says nothing about them.
        Self { usvp_bdgl16, cheapest_matzov: cheapest.filter(|bits| bits + FAR > usvp_bdgl16) }
    }
}
