//! What is known about the security of a set, always with the cost model it rests on.

use super::{CkksParameters, ERROR_DEVIATION, ModulusChain, SPARSE_AUXILIARY};
use girih_rlwe::SecretDistribution;
use girih_rlwe::security::LweProblem;

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

/// log2 of the modulus of the one key that is under the sparse secret.
pub(super) fn sparse_log2_modulus(chain: &ModulusChain) -> f64 {
    chain.log2_product(chain.base(0).chain(chain.auxiliary().take(SPARSE_AUXILIARY)))
}

/// Bits that attacks take, always with the model that says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The primal attack on the dense secret under all primes (uSVP, BDGL16: 0.292 b + 16.4 +
    /// log2 8d with block size b and lattice dimension d).
    pub dense: f64,
    /// The cheaper of the primal and the dual attack on it with the MATZOV cost model; nothing for
    /// a secret of fixed weight.
    pub dense_matzov: Option<f64>,
    /// Attacks on the sparse secret under the primes of its one key.
    pub sparse: Option<SparseEstimate>,
}

/// Bits that attacks on a sparse secret take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseEstimate {
    /// The primal attack, in the same model, where the attacker also guesses that some coefficients
    /// are zero and repeats until that is so.
    pub primal: f64,
    /// A search whatever the modulus: the power 0.3 of the number of secrets, at which May (2021,
    /// "How to meet ternary LWE keys") puts a meet in the middle with representations. It needs
    /// about as much memory.
    pub search: f64,
}

/// The part of its exponent that a search of all secrets keeps.
const SEARCH: f64 = 0.3;

/// What is known about the security of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// What the primal attack takes.
    pub estimate: Estimate,
    /// log2 of Q P.
    pub log2_modulus: f64,
    /// The largest one for 128 bits at this degree, if it is in the table.
    pub largest_log2_modulus: Option<f64>,
    /// One or two sentences for people, cost model included.
    pub text: String,
    /// What a user must be told before relying on the set, if anything.
    pub warning: Option<String>,
}

fn dense(set: &CkksParameters) -> LweProblem {
    let secret = match set.secret_weight() {
        Some(weight) => SecretDistribution::FixedWeight(weight),
        None => SecretDistribution::Ternary,
    };
    let (dimension, log2_modulus) = (set.degree(), set.log2_modulus());
    LweProblem { dimension, log2_modulus, error: ERROR_DEVIATION, secret }
}

/// The primal attack on a secret of fixed weight, with `guessed` coefficients taken for zero.
///
/// A guess is right with probability C(N - g, h) / C(N, h); what remains is a problem of dimension
/// N - g with the same weight (Albrecht 2017, "On dual lattice attacks against small-secret LWE",
/// section 4, for the primal attack).
fn with_guesses(degree: usize, weight: usize, log2_modulus: f64, guessed: usize) -> f64 {
    let left = degree - guessed;
    let log2_success: f64 =
        (0..weight).map(|i| ((left - i) as f64 / (degree - i) as f64).log2()).sum();
    let secret = SecretDistribution::FixedWeight(weight);
    let error = ERROR_DEVIATION;
    LweProblem { dimension: left, log2_modulus, error, secret }.usvp_bdgl16() - log2_success
}

fn sparse(degree: usize, weight: usize, log2_modulus: f64) -> SparseEstimate {
    // Places and signs: C(N, h) 2^h.
    let places: f64 = (0..weight).map(|i| ((degree - i) as f64 / (i + 1) as f64).log2()).sum();
    let search = SEARCH * (places + weight as f64);
    SparseEstimate { primal: sparse_primal(degree, weight, log2_modulus), search }
}

fn sparse_primal(degree: usize, weight: usize, log2_modulus: f64) -> f64 {
    // The cost has one minimum: a coarse search over the share that is guessed, then a finer one.
    let steps = 64;
    let most = degree - weight - 1;
    let cost = |guessed: usize| with_guesses(degree, weight, log2_modulus, guessed.min(most));
    let (mut best, mut bits) = (0, cost(0));
    for width in [degree / steps, (degree / (steps * 16)).max(1)] {
        let from = best.max(width * steps / 2) - width * steps / 2;
        let range = if width == degree / steps { 0..steps } else { 0..steps + 1 };
        for i in range {
            let guessed = if width == degree / steps { i * width } else { from + i * width };
            let found = cost(guessed);
            if found < bits {
                (best, bits) = (guessed, found);
            }
        }
    }
    bits
}

pub(super) fn judge(set: &CkksParameters) -> Security {
    let chain = set.chain();
    let log2_sparse = sparse_log2_modulus(chain);
    let estimate = Estimate {
        dense: dense(set).usvp_bdgl16(),
        dense_matzov: dense(set).cheapest_matzov(),
        sparse: set.bootstrapping().map(|b| sparse(set.degree(), b.sparse_weight(), log2_sparse)),
    };
    let largest = largest_log2_modulus(chain.log2_degree());
    let log2_modulus = set.log2_modulus();
    let mut text = format!(
        "{:.1} bits against the primal attack (uSVP, BDGL16) with log2 QP = {log2_modulus:.2}",
        estimate.dense
    );
    if let Some(bits) = estimate.dense_matzov {
        text += &format!(", {bits:.1} against the cheapest attack that is computed (MATZOV)");
    }
    if let Some(most) = largest {
        text += &format!("; OpenFHE's table allows {most:.0} for 128 bits");
    }
    if let (Some(found), Some(b)) = (estimate.sparse, set.bootstrapping()) {
        let weight = b.sparse_weight();
        text += &format!(
            ". The sparse secret of weight {weight} under {log2_sparse:.2} bits: {:.1} bits \
             against the primal attack with guessed zeros, {:.1} against a meet in the middle at \
             the power 0.3 of the number of secrets; other hybrid attacks were not computed, \
             published bounds allow {SPARSE_LOG2_MODULUS:.0} bits of modulus",
            found.primal, found.search
        );
    }
    let warning =
        set.is_insecure().then(|| format!("{set} is a toy for tests: it has no security at all"));
    Security { estimate, log2_modulus, largest_log2_modulus: largest, text: text + ".", warning }
}
