//! What is known about the security of a set, always with the cost model it rests on.

use super::{CkksParameters, ERROR_DEVIATION, Encapsulation};
use girih_rlwe::SecretDistribution;
use girih_rlwe::security::LweProblem;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// log2 N, and the largest log2 of Q P for uniform ternary secrets and errors of deviation 3.19
/// with 128, 192 and 256 bits of classical security: OpenFHE's `stdlatticeparms`, which follow the
/// security guidelines of Bossuat et al. (ePrint 2024/463) and their predecessor.
const LARGEST: [(u32, [f64; 3]); 8] = [
    (10, [27.0, 19.0, 14.0]),
    (11, [54.0, 37.0, 29.0]),
    (12, [109.0, 75.0, 58.0]),
    (13, [218.0, 152.0, 118.0]),
    (14, [438.0, 305.0, 237.0]),
    (15, [881.0, 611.0, 476.0]),
    (16, [1747.0, 1199.0, 929.0]),
    (17, [3523.0, 2411.0, 1866.0]),
];

/// The largest log2 of Q P with 128 bits of security at N = 2^`log2_degree`;
/// `None` outside 10..=17.
pub fn largest_log2_modulus(log2_degree: u32) -> Option<f64> {
    largest_for(log2_degree, 128)
}

/// The same for 128, 192 or 256 bits.
pub(super) fn largest_for(log2_degree: u32, bits: u32) -> Option<f64> {
    let column = [128, 192, 256].iter().position(|&b| b == bits)?;
    LARGEST.iter().find(|(log2, _)| *log2 == log2_degree).map(|(_, most)| most[column])
}

/// log2 of the largest modulus that a sparse secret of weight 32 may be under at N = 2^16
/// (Bossuat, Troncoso-Pastoriza and Hubaux 2022, and the check of Lattigo).
pub(super) const SPARSE_LOG2_MODULUS: f64 = 121.0;

/// The largest log2 of Q P at N = 2^16 for 128 bits under a secret of weight N/16, that of the
/// conjugation-invariant ring.
pub(super) const INVARIANT_LOG2_MODULUS: f64 = 1738.0;

/// log2 of the modulus of the one key that is under the sparse secret.
pub(super) fn sparse_log2_modulus(set: &CkksParameters) -> f64 {
    let chain = set.chain();
    chain.log2_product(chain.base(0).chain(chain.auxiliary().take(set.sparse_auxiliary())))
}

/// log2 of the largest modulus under a sparse secret of [`LEAST_SPARSE_WEIGHT`] from N = 2^15 on:
/// one prime of level 0 and one auxiliary prime.
pub(super) const ONE_PRIME_LOG2_MODULUS: f64 = 61.5;

/// The least weight of a sparse secret there: a search takes 2^131 for 36 of 2^15 coefficients.
pub(super) const LEAST_SPARSE_WEIGHT: usize = 36;

/// The least weight of a dense secret that is not uniform ternary.
pub(super) const LEAST_WEIGHT: usize = 256;

/// The largest log2 of Q P for 128 bits under a dense secret that is drawn 2^`log2_draws` times, of
/// weight [`LEAST_WEIGHT`] or more, or uniform ternary, at N = 2^15; larger rings have room to
/// spare. Seven bits of modulus are worth a bit.
pub(super) fn flat_log2_modulus(weight: Option<usize>, log2_draws: f64) -> f64 {
    let most = if weight.is_some() { 818.8 } else { 866.0 };
    most - 7.0 * log2_draws
}

/// So many estimates are kept, more than there are sets: files bring others.
const MOST_KNOWN: usize = 1024;

/// Bits that attacks take, always with the model that says so.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SecurityEstimate {
    /// The primal attack on the dense secret under all primes (uSVP, BDGL16: 0.292 b + 16.4 +
    /// log2 8d with block size b and lattice dimension d), without [`Self::log2_draws`]. Where both
    /// sines of a bootstrapping are one, on the weaker of that secret and the one of the
    /// conjugation-invariant ring; so is what follows.
    pub dense: f64,
    /// The cheapest attack on it that is computed with the MATZOV cost model: the dual one, or a
    /// hybrid one where the secret has a fixed weight; without [`Self::log2_draws`].
    pub dense_matzov: f64,
    /// What has been taken off both for a set that draws its dense secret until it is flat: log2 of
    /// the draws ([`Encapsulation::log2_draws`](super::Encapsulation::log2_draws)). An attack finds
    /// one of the secrets that are kept with at most so many times the probability that it has for
    /// any.
    pub log2_draws: f64,
    /// Attacks on the sparse secret under the primes of its one key.
    pub sparse: Option<SparseEstimate>,
}

/// Bits that attacks on a sparse secret take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SparseEstimate {
    /// The primal hybrid attack with the MATZOV cost model: some coefficients are guessed, one by
    /// one or by a meet in the middle, and the lattice of the others is reduced.
    pub primal_hybrid: f64,
    /// The dual hybrid attack with a search over the guessed coefficients, in the same model.
    pub dual_hybrid: f64,
    /// A search whatever the modulus: the power 0.3 of the number of secrets, at which May (2021,
    /// "How to meet ternary LWE keys") puts a meet in the middle with representations. It needs
    /// about as much memory.
    pub search: f64,
}

impl SparseEstimate {
    /// What the cheapest of them takes.
    pub fn cheapest(&self) -> f64 {
        self.primal_hybrid.min(self.dual_hybrid).min(self.search)
    }
}

/// What is known about the security of a set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Security {
    /// What the primal attack takes.
    pub estimate: SecurityEstimate,
    /// log2 of Q P.
    pub log2_modulus: f64,
    /// The largest one for 128 bits at this degree, if it is in the table.
    pub largest_log2_modulus: Option<f64>,
    /// One or two sentences for people, cost model included.
    pub text: String,
    /// What a user must be told before relying on the set, if anything.
    pub warning: Option<String>,
}

/// The weight of the secret of the conjugation-invariant ring at degree N: N/16. Errors of a
/// rounding are (1 + norm(s)^2)/12 a coefficient. In that ring they count twice in the norm and
/// four times in a slot, so that of a uniform ternary secret would be 1.5 bits larger than in the
/// usual ring; with this weight it is no larger.
pub(super) fn invariant_weight(degree: usize) -> usize {
    degree / 16
}

/// That secret, under all primes: a polynomial of N coefficients, multiplied by uniform ones.
fn invariant(set: &CkksParameters) -> Option<LweProblem> {
    let secret = SecretDistribution::FixedWeight(set.invariant_weight()?);
    Some(LweProblem { secret, ..dense(set) })
}

fn dense(set: &CkksParameters) -> LweProblem {
    let secret = match set.secret_weight() {
        Some(weight) => SecretDistribution::FixedWeight(weight),
        None => SecretDistribution::Ternary,
    };
    let (dimension, log2_modulus) = (set.degree(), set.log2_modulus());
    LweProblem { dimension, log2_modulus, error: ERROR_DEVIATION, secret }
}

/// The attacks on a sparse secret; nothing for a weight that is none.
fn sparse(degree: usize, weight: usize, log2_modulus: f64) -> Option<SparseEstimate> {
    let secret = SecretDistribution::FixedWeight(weight);
    let problem = LweProblem { dimension: degree, log2_modulus, error: ERROR_DEVIATION, secret };
    Some(SparseEstimate {
        primal_hybrid: problem.primal_hybrid_matzov()?,
        dual_hybrid: problem.dual_hybrid_matzov()?,
        search: problem.secret_search()?,
    })
}

/// The attacks on a set, computed once: they take some tenths of a second.
fn estimate(set: &CkksParameters, log2_sparse: f64) -> SecurityEstimate {
    static KNOWN: Mutex<BTreeMap<[u64; 7], SecurityEstimate>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let weight = |weight: Option<usize>| weight.unwrap_or(0) as u64;
    let log2_draws = set.encapsulation().map_or(0.0, Encapsulation::log2_draws);
    let problems = [
        set.degree() as u64,
        set.log2_modulus().to_bits(),
        weight(set.secret_weight()),
        weight(set.sparse_weight()),
        weight(set.invariant_weight()),
        log2_sparse.to_bits(),
        log2_draws.to_bits(),
    ];
    if let Some(estimate) = known().get(&problems) {
        return *estimate;
    }
    // Keys of the conjugation-invariant ring are under the same primes.
    let of_both = |bits: fn(LweProblem) -> f64| {
        let invariant = invariant(set).map_or(f64::INFINITY, bits);
        bits(dense(set)).min(invariant) - log2_draws
    };
    let estimate = SecurityEstimate {
        dense: of_both(LweProblem::usvp_bdgl16),
        dense_matzov: of_both(LweProblem::cheapest_matzov),
        log2_draws,
        sparse: set.sparse_weight().and_then(|weight| sparse(set.degree(), weight, log2_sparse)),
    };
    let mut known = known();
    if known.len() < MOST_KNOWN {
        known.insert(problems, estimate);
    }
    estimate
}

pub(super) fn judge(set: &CkksParameters) -> Security {
    let chain = set.chain();
    let log2_sparse = sparse_log2_modulus(set);
    let estimate = estimate(set, log2_sparse);
    let largest = largest_log2_modulus(chain.log2_degree());
    let log2_modulus = set.log2_modulus();
    let mut text = format!(
        "{:.1} bits against the primal attack (uSVP, BDGL16) with log2 QP = {log2_modulus:.2}, \
         {:.1} against the cheapest attack that is computed (MATZOV)",
        estimate.dense, estimate.dense_matzov
    );
    if estimate.log2_draws > 0.0 {
        text += &format!(
            ", {:.1} bits taken off both as the secret is drawn until it is flat",
            estimate.log2_draws
        );
    }
    if let Some(most) = largest {
        text += &format!("; OpenFHE's table allows {most:.0} for 128 bits");
    }
    if let (Some(found), Some(weight)) = (estimate.sparse, set.sparse_weight()) {
        text += &format!(
            ". The sparse secret of weight {weight} under {log2_sparse:.2} bits: {:.1} bits \
             against the primal hybrid attack and {:.1} against the dual one (MATZOV), {:.1} \
             against a meet in the middle at the power 0.3 of the number of secrets",
            found.primal_hybrid, found.dual_hybrid, found.search
        );
        if set.bootstrapping().is_some() {
            text += &format!("; published bounds allow {SPARSE_LOG2_MODULUS:.0} bits of modulus");
        }
    }
    if set.bootstrapping().is_some_and(|b| b.first_transform_by_keys()) {
        let top = chain.base(chain.top_level());
        let log2_first =
            chain.log2_product(top.chain(chain.auxiliary().take(set.sparse_auxiliary())));
        text += &format!(
            ". Keys of the first transform encrypt multiples of the sparse secret under the dense \
             one with {log2_first:.2} bits of modulus, a part of QP"
        );
    }
    if let Some(weight) = set.invariant_weight() {
        text += &format!(
            ". Keys of the conjugation-invariant ring are under a secret of weight {weight} with \
             the same modulus; the first two figures are those of the weaker of both secrets"
        );
    }
    let warning =
        set.is_insecure().then(|| format!("{set} is a toy for tests: it has no security at all"));
    Security { estimate, log2_modulus, largest_log2_modulus: largest, text: text + ".", warning }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weakest sparse secret that a parameter file may bring, under the largest modulus.
    #[test]
    fn what_the_bounds_of_sparse_secrets_admit_is_safe_from_hybrids() {
        let found = sparse(1 << 16, 32, SPARSE_LOG2_MODULUS).expect("a weight");
        assert!(found.primal_hybrid > 160.0 && found.dual_hybrid > 160.0, "{found:?}");
        assert_eq!(found.cheapest(), found.search);
        // Without these bounds hybrids do better than the search of all secrets: under all primes
        // of a set, or in a small ring.
        let under_all = sparse(1 << 16, 32, 1740.0).expect("a weight");
        assert!(under_all.cheapest() < 90.0, "{under_all:?}");
        let one = sparse(1 << 15, LEAST_SPARSE_WEIGHT, ONE_PRIME_LOG2_MODULUS).expect("a weight");
        assert!(one.cheapest() > 128.0, "{one:?}");
        let small = sparse(1 << 12, 32, SPARSE_LOG2_MODULUS).expect("a weight");
        assert!(small.primal_hybrid < small.search - 10.0, "{small:?}");
    }

    /// The weakest secret of the conjugation-invariant ring that a parameter file may bring.
    #[test]
    fn what_the_bound_of_invariant_secrets_admits_has_128_bits() {
        let secret = SecretDistribution::FixedWeight(invariant_weight(1 << 16));
        let (dimension, log2_modulus) = (1 << 16, INVARIANT_LOG2_MODULUS);
        let problem = LweProblem { dimension, log2_modulus, error: ERROR_DEVIATION, secret };
        let found = [problem.usvp_bdgl16(), problem.cheapest_matzov()];
        assert!(found.iter().all(|&bits| bits >= 128.0), "{found:?}");
        assert!(found[1] < 129.5, "{found:?}");
    }

    /// The weakest dense secrets that a parameter file with flat ones may bring.
    #[test]
    fn what_the_bound_of_flat_secrets_admits_has_128_bits() {
        for weight in [None, Some(LEAST_WEIGHT)] {
            for log2_draws in [0.0, 0.8, 2.4, 7.0] {
                let secret =
                    weight.map_or(SecretDistribution::Ternary, SecretDistribution::FixedWeight);
                let log2_modulus = flat_log2_modulus(weight, log2_draws);
                let error = ERROR_DEVIATION;
                let problem = LweProblem { dimension: 1 << 15, log2_modulus, error, secret };
                let found = [problem.usvp_bdgl16(), problem.cheapest_matzov()];
                let what = format!("{weight:?}, 2^{log2_draws} draws: {found:?}");
                assert!(found.iter().all(|bits| bits - log2_draws >= 128.0), "{what}");
                assert!(found[1] - log2_draws < 129.5, "{what}");
            }
        }
    }
}
