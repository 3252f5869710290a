//! Hybrid attacks on LWE with secrets of fixed weight, as the lattice estimator costs them.
//!
//! **Primal**: guess some coefficients, reduce the lattice of the others, and for each guess look
//! for the lattice point next to what is left of the samples, by nearest planes (Howgrave-Graham
//! 2007) or by a shortest-vector search in the last coordinates (Albrecht, Curtis and Wunderer
//! 2019). A meet in the middle takes the square root of the guesses. With nearest planes both
//! halves must round alike (Son and Cheon 2019); with a search in the last coordinates nobody has
//! analysed how likely they meet, and as in the estimator they always do, which errs on the safe
//! side.
//!
//! **Dual**: short vectors of the dual lattice turn samples into such of the guessed coefficients
//! alone, all values of which are then tried (Espitau, Joux and Kharchenko 2020).

use super::LweProblem;
use super::reduction::matzov::{LOG2_LIST, balanced_sieve, log2_reduction, log2_sieve};
use super::reduction::{LEAST_BLOCK, MOST_BLOCK, ln_hermite, log2_sum};
use super::sparse::{Guess, guesses, least_over, ln_within, log2_choices, log2_repetitions};
use crate::SecretDistribution;
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E, PI};

/// How each guess of a primal hybrid is finished, and how guesses are gone through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Search {
    /// A meet in the middle, or all guesses one by one.
    pub meets: bool,
    /// Nearest planes, or a shortest-vector search in the last coordinates.
    pub planes: bool,
}

impl Search {
    pub const ALL: [Self; 4] = [
        Self { meets: false, planes: false },
        Self { meets: false, planes: true },
        Self { meets: true, planes: false },
        Self { meets: true, planes: true },
    ];
}

/// Largest dimension of the final search that is looked at: over 512 bits.
const MOST_FINAL: usize = 1754;

/// Dimensions below which enumeration is cheaper than the line through the sieves says.
const ENUMERATED: usize = 20;

/// log2 of the gates of one shortest-vector search.
fn log2_shortest(dimension: usize) -> f64 {
    if dimension >= ENUMERATED {
        return log2_reduction(dimension, dimension);
    }
    // Chen and Nguyen 2011: nodes, and a hundred operations for each.
    let d = (dimension as f64).max(1.0);
    let nodes = 0.270_188_776_350_190 * d * d.ln() - 1.019_205_045_131_841_7 * d;
    log2_sum(3.0 * d.log2(), nodes + 16.102_531_352_007_65 + 100f64.log2())
}

/// ln of the volume of a ball of radius 1.
fn ln_ball(dimension: f64) -> f64 {
    0.5 * dimension * PI.ln() - libm::lgamma(0.5 * dimension + 1.0)
}

/// log2 of a product by the natural logarithms of its factors, all below 1; what is below e^`least`
/// need not be exact.
fn log2_product(ln_factors: impl Iterator<Item = f64>, least: f64) -> f64 {
    let mut ln = 0.0;
    for factor in ln_factors {
        ln += factor;
        if ln < least {
            break;
        }
    }
    ln * LOG2_E
}

/// A problem whose secret has a fixed weight.
#[derive(Clone, Copy)]
struct Sparse {
    dimension: usize,
    weight: usize,
    ln_modulus: f64,
    error: f64,
    /// Deviation of the secret's coefficients.
    secret: f64,
}

/// A reduced basis and what finishing one guess takes in it.
struct Basis {
    log2_reduction: f64,
    /// log2 of the operations of a guess and of the probability that it is recognised, by nearest
    /// planes and by a search.
    planes: [f64; 2],
    search: [f64; 2],
    /// log2 of the probability that both halves of a guess round alike.
    log2_alike: f64,
}

/// What is asked of a basis.
#[derive(Clone, Copy)]
struct Limits {
    /// log2 of what an attack may take to be of interest.
    log2_cost: f64,
    /// Whether halves of guesses must round alike.
    needs_alike: bool,
}

impl Sparse {
    fn of(problem: LweProblem) -> Option<Self> {
        let SecretDistribution::FixedWeight(weight) = problem.secret else { return None };
        let LweProblem { dimension, error, .. } = problem;
        (0 < weight && weight < dimension).then(|| Self {
            dimension,
            weight,
            ln_modulus: problem.log2_modulus * LN_2,
            error,
            secret: problem.secret.deviation(dimension),
        })
    }

    /// The lattice without `guessed` coefficients after reduction with `block`; nothing where the
    /// error is too large to be found there.
    fn basis(&self, guessed: usize, block: usize, limits: Limits) -> Option<Basis> {
        let left = self.dimension - guessed;
        let ln_stretch = (self.error / self.secret).max(1.0).ln();
        let (n, slope) = (left as f64, ln_hermite(block as f64));
        let best = (n * (self.ln_modulus - ln_stretch).max(0.0) / slope).sqrt().ceil() as usize;
        let dimension = best.max(block).max(left + 1);
        let d = dimension as f64;
        let ln_volume = (d - n) * self.ln_modulus + n * ln_stretch;
        // ln of the length of a Gram-Schmidt vector, in deviations of the error.
        let ln_length =
            |i: usize| (d - 1.0 - 2.0 * i as f64) * slope + ln_volume / d - self.error.ln();
        let last = self.last_dimensions(dimension, ln_volume, slope);
        if last >= dimension {
            return None;
        }
        // A probability below what the attack may take at all need not be known.
        let ln_least = -limits.log2_cost * LN_2;
        let lift = |count: usize| {
            let bounds = (0..count).rev().map(|i| 0.5 * ln_length(i).exp());
            log2_product(bounds.take_while(|&bound| bound < 9.0).map(ln_within), ln_least)
        };
        let alike = || {
            let halves = (0..dimension).rev().map(|i| ln_length(i).exp() * FRAC_1_SQRT_2);
            let ln_alike =
                |x: f64| (-libm::erfc(x) - (1.0 - (-x * x).exp()) / (x * PI.sqrt())).ln_1p();
            // What is left out is below 1e-3: it falls geometrically.
            log2_product(halves.take_while(|&x| x < 1e3 / slope).map(ln_alike), ln_least)
        };
        let lifted = (dimension - last).max(1) as f64;
        Some(Basis {
            log2_reduction: log2_reduction(block, dimension),
            planes: [2.0 * d.log2(), lift(dimension)],
            search: [
                log2_sum(log2_shortest(last + 1), 2.0 * lifted.log2()),
                lift(dimension - last),
            ],
            log2_alike: if limits.needs_alike { alike() } else { 0.0 },
        })
    }

    /// Of how many of the last coordinates the projected error is to be found by a search, being
    /// the shortest vector there.
    fn last_dimensions(&self, dimension: usize, ln_volume: f64, slope: f64) -> usize {
        let (d, ln_error) = (dimension as f64, self.error.ln());
        let is_hidden = |count: usize| {
            let (k, embedded) = (count as f64, count as f64 + 1.0);
            let ln_projected = k / d * ln_volume - (d - k) * k * slope + ln_error;
            let ln_expected = (ln_projected - ln_ball(embedded)) / embedded;
            ln_expected < ln_error + 0.5 * embedded.ln()
        };
        // Once it is the shortest vector it stays so with more coordinates.
        let (mut least, mut most) = (0, dimension.min(MOST_FINAL));
        while least < most {
            let middle = least + (most - least).div_ceil(2);
            if is_hidden(middle) { least = middle } else { most = middle - 1 }
        }
        least + 1
    }

    /// log2 of the gates of a primal hybrid in a basis, with all vectors up to `guess` tried.
    fn primal(&self, basis: &Basis, guess: &Guess, search: Search) -> f64 {
        let [log2_each, log2_found] = if search.planes { basis.planes } else { basis.search };
        let halves = if search.meets { 0.5 } else { 1.0 };
        let log2_alike = if search.meets && search.planes && guess.log2_size > 0.0 {
            basis.log2_alike
        } else {
            0.0
        };
        let once = log2_sum(basis.log2_reduction, halves * guess.log2_size + log2_each);
        once + log2_repetitions(guess.log2_hit + log2_found + log2_alike)
    }

    /// The cheapest primal hybrid of these kinds that takes less than `bound`, if any does.
    fn cheapest_primal(&self, searches: &[Search], bound: f64) -> f64 {
        let (mut best, most) = (bound, self.dimension.min(MOST_BLOCK));
        let needs_alike = searches.iter().any(|s| s.meets && s.planes);
        least_over(0, self.dimension - 1, |guessed| {
            let all: Vec<Guess> = guesses(self.dimension, self.weight, guessed).collect();
            let found = least_over(LEAST_BLOCK, most, |block| {
                // Reduction alone takes that: larger blocks are of no use any more.
                if log2_reduction(block, block) > best {
                    return f64::INFINITY;
                }
                let limits = Limits { log2_cost: best, needs_alike };
                let Some(basis) = self.basis(guessed, block, limits) else {
                    return f64::INFINITY;
                };
                let of = |guess| {
                    searches.iter().map(|&s| self.primal(&basis, guess, s)).fold(f64::MAX, f64::min)
                };
                all.iter().map(of).fold(f64::MAX, f64::min)
            });
            best = best.min(found);
            found
        })
    }

    /// log2 of the gates of the dual hybrid with one choice of everything.
    fn dual(&self, guessed: usize, guess: &Guess, block: usize) -> f64 {
        let (left, beta) = (self.dimension - guessed, block as f64);
        let (n, slope) = (left as f64, ln_hermite(beta));
        let weight = (self.weight - guess.weight) as f64;
        let secret = (weight / n).sqrt();
        let ln_ratio = secret.ln() + self.ln_modulus - self.error.ln();
        if ln_ratio <= 0.0 {
            return f64::INFINITY;
        }
        let samples = ((n * ln_ratio / slope).sqrt().ceil() - n).max(1.0);
        let d = samples + n;
        // Vectors of one sieve are longer than the shortest by this.
        let sieve = balanced_sieve(block, 2 * block);
        let ln_longer = 0.5 * (4.0f64 / 3.0).ln() + (sieve - 1.0) * (ln_hermite(sieve) - slope);
        // ln of the deviation of a new sample's error, as a share of the modulus.
        let ln_error = ln_longer + secret.ln() + d * slope - samples / d * ln_ratio;
        // Both stages, listing and telling apart, succeed with probability sqrt(0.99).
        let log2_size = guess.log2_layer + 0.5 * 0.99f64.log2();
        let candidates = log2_size * LN_2 - (-0.5 * 0.99f64.ln()).ln();
        let log2_samples = (8.0 * candidates).log2() + 4.0 * LOG2_E * (PI * ln_error.exp()).powi(2);
        if log2_samples.is_nan() || log2_samples > 1000.0 {
            return f64::INFINITY;
        }
        let dimension = d as usize;
        let sieve = balanced_sieve(block, dimension);
        let sieves = (log2_samples - LOG2_LIST * sieve).max(0.0);
        let sieves = if sieves < 50.0 { sieves.exp2().ceil().log2() } else { sieves };
        let sampling = sieves + log2_sum(log2_reduction(block, dimension), log2_sieve(sieve));
        log2_sum(sampling, 1.0 + log2_size + log2_samples) + log2_repetitions(guess.log2_layer_hit)
    }

    fn cheapest_dual(&self) -> f64 {
        let most = self.dimension.min(MOST_BLOCK);
        least_over(0, self.dimension - 1, |guessed| {
            guesses(self.dimension, self.weight, guessed)
                .filter(|guess| guess.weight < self.weight)
                .map(|guess| least_over(LEAST_BLOCK, most, |b| self.dual(guessed, &guess, b)))
                .fold(f64::INFINITY, f64::min)
        })
    }

    /// log2 of the steps of a search of all secrets whatever the modulus: the power 0.3 of their
    /// number, at which May ("How to meet ternary LWE keys", 2021) puts a meet in the middle with
    /// representations. It needs about as much memory.
    fn search(&self) -> f64 {
        0.3 * (log2_choices(self.dimension, self.weight) + self.weight as f64)
    }
}

impl LweProblem {
    /// log2 of the gates of the cheapest primal hybrid attack with the MATZOV cost model; nothing
    /// for secrets that are not of fixed weight.
    pub fn primal_hybrid_matzov(self) -> Option<f64> {
        Some(Sparse::of(self)?.cheapest_primal(&Search::ALL, self.usvp_matzov() + 1.0))
    }

    /// log2 of the gates of the dual hybrid attack with an exhaustive search in the MATZOV cost
    /// model; nothing for secrets that are not of fixed weight.
    pub fn dual_hybrid_matzov(self) -> Option<f64> {
        Some(Sparse::of(self)?.cheapest_dual())
    }

    /// log2 of the steps of a meet in the middle over all secrets, which does not depend on the
    /// modulus; nothing for secrets that are not of fixed weight.
    pub fn secret_search(self) -> Option<f64> {
        Some(Sparse::of(self)?.search())
    }

    /// One kind of primal hybrid.
    #[cfg(test)]
    pub(super) fn primal_hybrid_by(self, search: Search) -> Option<f64> {
        Some(Sparse::of(self)?.cheapest_primal(&[search], self.usvp_matzov() + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(dimension: usize, log2_modulus: f64, weight: usize) -> LweProblem {
        let secret = SecretDistribution::FixedWeight(weight);
        LweProblem { dimension, log2_modulus, error: 3.19, secret }
    }

    /// A problem, a kind of attack, its choices, and what it takes.
    type Estimated = ((usize, f64, usize), usize, (usize, usize, usize), f64);

    /// What the lattice estimator itself says (its state of June 2026, with signs of guesses free)
    /// of single choices: dimension, log2 of the modulus, weight; the kind of search by its place
    /// in `Search::ALL`, 4 for the dual hybrid; guessed places, block, weight of guesses; bits.
    const ESTIMATED: [Estimated; 17] = [
        ((1024, 27.0, 64), 0, (368, 204, 9), 106.449),
        ((1024, 27.0, 64), 1, (368, 204, 9), 106.750),
        ((1024, 27.0, 64), 2, (432, 172, 17), 90.835),
        ((1024, 27.0, 64), 3, (496, 188, 18), 104.276),
        ((1024, 27.0, 64), 4, (336, 196, 8), 103.967),
        ((2048, 37.0, 32), 2, (1300, 110, 16), 134.561),
        ((2048, 37.0, 32), 3, (1300, 110, 16), 190.964),
        ((4096, 60.0, 48), 0, (2496, 204, 6), 130.827),
        ((4096, 60.0, 48), 1, (2496, 204, 6), 130.853),
        ((4096, 60.0, 48), 2, (2560, 188, 13), 111.033),
        ((4096, 60.0, 48), 3, (2688, 196, 13), 117.883),
        ((4096, 60.0, 48), 4, (2560, 196, 7), 128.278),
        ((65536, 120.0, 32), 0, (62464, 180, 4), 199.555),
        ((65536, 120.0, 32), 1, (62464, 180, 4), 199.476),
        ((65536, 120.0, 32), 2, (61440, 284, 12), 169.946),
        ((65536, 120.0, 32), 3, (62464, 204, 9), 173.165),
        ((65536, 120.0, 32), 4, (62464, 188, 5), 193.431),
    ];

    #[test]
    fn the_lattice_estimator_agrees_on_hybrids_of_any_choice() {
        for ((dimension, log2_modulus, weight), kind, (guessed, block, on), wanted) in ESTIMATED {
            let sparse = Sparse::of(problem(dimension, log2_modulus, weight)).expect("a weight");
            let guess = guesses(dimension, weight, guessed)
                .find(|guess| guess.weight == on)
                .expect("a possible weight");
            let found = if kind == 4 {
                sparse.dual(guessed, &guess, block)
            } else {
                let limits = Limits { log2_cost: 1e4, needs_alike: true };
                let basis = sparse.basis(guessed, block, limits).expect("it is found there");
                sparse.primal(&basis, &guess, Search::ALL[kind])
            };
            assert!(
                (found - wanted).abs() < 0.02,
                "{dimension} {log2_modulus} {weight}, kind {kind}: {found:.3}, not {wanted}"
            );
        }
    }

    /// Dimension, log2 of the modulus, error, guessed places, block; then log2 of the gates of the
    /// reduction, planes and search with the probabilities of each, halves that round alike.
    type Terms = ((usize, f64, f64, usize, usize), [f64; 6]);

    /// Computed from the formulas by another program, for secrets of weight 8: terms that are a
    /// small part of what a whole attack takes, and in the last a lattice of the least dimension.
    const TERMS: [Terms; 4] = [
        ((200, 12.0, 3.19, 150, 60), [45.547647, 14.589241, 0.0, 21.098268, 0.0, -1.345991]),
        ((100, 6.0, 3.19, 0, 60), [44.947734, 13.908393, -27.198675, 52.241508, 0.0, -46.907906]),
        ((100, 5.0, 0.5, 0, 60), [45.591590, 14.643856, -13.288878, 43.971272, -2e-6, -33.217441]),
        ((150, 3.0, 1.0, 0, 100), [55.713241, 14.476809, -40.755164, 62.686852, 0.0, -65.008273]),
    ];

    #[test]
    fn terms_of_a_basis_are_those_of_their_formulas() {
        let limits = Limits { log2_cost: 1e4, needs_alike: true };
        for ((dimension, log2_modulus, error, guessed, block), wanted) in TERMS {
            let secret = SecretDistribution::FixedWeight(8);
            let problem = LweProblem { dimension, log2_modulus, error, secret };
            let sparse = Sparse::of(problem).expect("a weight");
            let basis = sparse.basis(guessed, block, limits).expect("it is found there");
            let ([planes, lifted], [search, above]) = (basis.planes, basis.search);
            let found = [basis.log2_reduction, planes, lifted, search, above, basis.log2_alike];
            for (i, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
                // What halves leave out is below 1e-3.
                let most = if i == 5 { 2e-3 } else { 1e-6 };
                assert!((found - wanted).abs() < most, "{problem:?}, {i}: {found}, not {wanted}");
            }
            // One guess, of nothing but zeros, has no halves.
            let guess = guesses(dimension, 8, guessed).next().expect("there is one");
            let [one_by_one, meeting] = [Search::ALL[1], Search::ALL[3]];
            let of = |search| sparse.primal(&basis, &guess, search);
            assert!(guess.log2_size > 0.0 || of(one_by_one) == of(meeting));
        }
        assert!(Sparse::of(problem(100, 5.0, 8)).expect("a weight").basis(0, 60, limits).is_none());
        for weight in [0, 64, 65] {
            assert!(Sparse::of(problem(64, 14.0, weight)).is_none(), "{weight}");
        }
        for (dimension, wanted) in
            [(1, 21.727183), (10, 18.778875), (19, 18.523527), (20, 20.385207)]
        {
            let found = log2_shortest(dimension);
            assert!((found - wanted).abs() < 1e-6, "{dimension}: {found}, not {wanted}");
        }
    }

    /// Computed by another program, as [`TERMS`]: whether sieves are rounded up to whole ones, or
    /// are too many to be, and what no attack takes any more.
    #[test]
    fn costs_of_dual_hybrids_are_those_of_their_formulas() {
        let sparse = Sparse::of(problem(1024, 27.0, 64)).expect("a weight");
        for (on, block, wanted) in [
            (8, 196, 103.967175),
            (4, 183, 111.507690),
            (4, 184, 109.984958),
            (8, 150, 360.225866),
            (12, 250, 112.567155),
        ] {
            let guess = guesses(1024, 64, 336).nth(on).expect("a possible weight");
            let found = sparse.dual(336, &guess, block);
            assert!((found - wanted).abs() < 1e-6, "{on} {block}: {found}, not {wanted}");
        }
        let guess = guesses(1024, 64, 336).nth(8).expect("a possible weight");
        assert_eq!(sparse.dual(336, &guess, 100), f64::INFINITY);
        // C(100, 4) = 3,921,225 places and 2^4 signs.
        let found = problem(100, 14.0, 4).secret_search().expect("a weight");
        assert!((found - 0.3 * (3_921_225f64.log2() + 4.0)).abs() < 1e-9, "{found}");
    }

    /// The estimator's own example: Kyber's smallest set with a secret of weight 32.
    #[test]
    fn the_lattice_estimator_agrees_on_the_best_choice() {
        let secret = SecretDistribution::FixedWeight(32);
        let log2_modulus = 3329f64.log2();
        let sparse = LweProblem { dimension: 512, log2_modulus, error: 1.5f64.sqrt(), secret };
        for (search, wanted) in Search::ALL.into_iter().zip([87.9, 88.2, 72.1, 85.4]) {
            let found = sparse.primal_hybrid_by(search).expect("a weight");
            assert!((found - wanted).abs() < 0.1, "{search:?}: {found:.2}, not {wanted}");
        }
        let found = sparse.dual_hybrid_matzov().expect("a weight");
        assert!((found - 87.1).abs() < 0.1, "dual: {found:.2}");
        assert_eq!(sparse.primal_hybrid_matzov(), sparse.primal_hybrid_by(Search::ALL[2]));
    }

    #[test]
    fn hybrids_notice_weak_weights_moduli_and_errors() {
        let base = problem(1024, 27.0, 64);
        let figures = |p: LweProblem| {
            [p.primal_hybrid_matzov(), p.dual_hybrid_matzov()].map(|bits| bits.expect("a weight"))
        };
        let bits = figures(base);
        assert!(base.usvp_matzov() > bits[0] + 10.0 && base.usvp_matzov() > bits[1] + 10.0);
        assert!(base.cheapest_matzov() <= bits[0].min(bits[1]));
        for weaker in [
            problem(1024, 27.0, 48),
            problem(1024, 34.0, 64),
            problem(800, 27.0, 64),
            LweProblem { error: 1.0, ..base },
        ] {
            let found = figures(weaker);
            assert!(found[0] < bits[0] - 1.0 && found[1] < bits[1] - 1.0, "{weaker:?}: {found:?}");
        }
        // A search of all secrets knows the weight alone.
        assert_eq!(
            problem(1024, 27.0, 64).secret_search(),
            problem(1024, 60.0, 64).secret_search()
        );
        assert!(problem(1024, 27.0, 8).cheapest_matzov() < 25.0);
        // Nothing that can be asked for fails.
        for (dimension, log2_modulus, weight) in
            [(2, 3.0, 1), (100, 1000.0, 3), (300, 2.0, 299), (1, 14.0, 1), (64, 14.0, 0)]
        {
            let bits = problem(dimension, log2_modulus, weight).cheapest_matzov();
            assert!(!bits.is_nan(), "{dimension} {log2_modulus} {weight}: {bits}");
        }
        let dense = LweProblem { secret: SecretDistribution::Ternary, ..base };
        assert_eq!((dense.primal_hybrid_matzov(), dense.secret_search()), (None, None));
    }
}
