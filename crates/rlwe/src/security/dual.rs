//! The dual attack on LWE with a guess by Fourier transform, as the lattice estimator costs it.
//!
//! Short vectors of the dual lattice turn samples into such of fewer coefficients, whose error is a
//! Gaussian that many samples tell from uniform. Some of the coefficients left are guessed one by
//! one, others, rounded to a small modulus, all at once by a Fourier transform (Guo and Johansson
//! 2021; MATZOV 2022, whose theorem 7.6 is the cost). Ducas and Pulles (2023) show that its
//! independence heuristic fails where it would be needed most, so the attack may cost more than
//! this, not less.

use super::LweProblem;
use super::reduction::matzov::{LOG2_LIST, balanced_sieve, log2_reduction, log2_sieve};
use super::reduction::{LEAST_BLOCK, MOST_BLOCK, ln_hermite, log2_sum};
use std::f64::consts::{E, LN_2, LOG2_E, PI};

/// Coefficients that are guessed go in steps of so many, as the estimator has them.
const STEP: usize = 10;

/// Gates of a product and of a sum of the numbers in the transform (MATZOV, page 37).
const LOG2_PRODUCT: f64 = 10.0;
const SUM: f64 = 5.0 * 32.0;

/// What an attacker chooses, but for the block.
#[derive(Clone, Copy)]
struct Guess {
    /// Modulus of the Fourier transform.
    modulus: usize,
    /// Coefficients guessed one by one.
    one_by_one: usize,
    /// Coefficients guessed by the transform.
    transformed: usize,
}

/// One problem, with the numbers that every guess needs.
struct Dual {
    dimension: usize,
    ln_modulus: f64,
    error: f64,
    secret: f64,
    /// Bits of entropy of a secret coefficient, taken for a Gaussian.
    entropy: f64,
    /// log2 of the mean number of guesses for a coefficient, beyond its entropy.
    log2_guesses: f64,
}

/// The smallest value of `cost` over `range`, up to where it first falls no more.
fn while_it_falls(range: impl Iterator<Item = usize>, mut cost: impl FnMut(usize) -> f64) -> f64 {
    let mut best = f64::INFINITY;
    for at in range {
        let found = cost(at);
        if found >= best {
            break;
        }
        best = found;
    }
    best
}

impl Dual {
    fn new(problem: LweProblem) -> Self {
        // With samples to spare a secret larger than the errors is exchanged for errors.
        let secret = problem.secret.deviation(problem.dimension).min(problem.error);
        let square = (PI * secret).powi(2);
        let entropy = (0.5 + ((2.0 * PI).sqrt() * secret).ln() - square.tanh().ln()) / LN_2;
        let order = 8.0 * square * (-2.0 * square).exp() * square.tanh();
        Self {
            dimension: problem.dimension,
            ln_modulus: problem.log2_modulus * LN_2,
            error: problem.error,
            secret,
            entropy,
            log2_guesses: 1.0 + (order - 0.5) * LOG2_E,
        }
    }

    /// log2 of the gates with one choice of everything.
    fn cost(&self, block: usize, guess: Guess) -> f64 {
        let Guess { modulus, one_by_one, transformed } = guess;
        let left = self.dimension - one_by_one - transformed;
        // As many samples as coefficients.
        let (samples, reduced) = (self.dimension as f64, left as f64);
        let (dimension, beta) = (self.dimension + left, block as f64);
        let d = dimension as f64;
        // ln of the deviation of a sample's error after reduction, as a share of the modulus.
        let ln_error = samples / d * self.error.ln()
            + reduced / d * (self.secret.ln() + self.ln_modulus)
            + 0.5 * (4.0 / 3.0 * beta / (2.0 * PI * E)).ln()
            + (d - beta) * ln_hermite(beta)
            - self.ln_modulus;
        let (p, transformed) = (modulus as f64, transformed as f64);
        let candidates = one_by_one as f64 * self.entropy + transformed * p.ln() + LN_2;
        let log2_samples = LOG2_E
            * (4.0 * (ln_error.exp() * PI).powi(2)
                + transformed / 3.0 * (self.secret * PI / p).powi(2))
            + candidates.log2();
        let sieve = balanced_sieve(block, dimension);
        let sieves = (log2_samples - LOG2_LIST * sieve).max(0.0);
        // One sieve yields a list; beyond that, whole sieves.
        let sieves = if sieves < 50.0 { sieves.exp2().ceil().log2() } else { sieves };
        let sampling = sieves + log2_sum(log2_reduction(block, dimension), log2_sieve(sieve));
        let transform = LOG2_PRODUCT + transformed.log2() + (transformed + 1.0) * p.log2();
        let table = (4.0 * SUM).log2() + log2_samples;
        let guesses = -(1.0 - (-0.5 / self.secret.powi(2)).exp()).log2()
            + one_by_one as f64 * (self.log2_guesses + self.entropy);
        log2_sum(sampling, guesses + log2_sum(transform, table))
    }

    /// The best block for a guess: below it the samples cost too much, above it the reduction.
    fn best_block(&self, guess: Guess) -> f64 {
        let (mut least, mut most) = (LEAST_BLOCK, MOST_BLOCK);
        while most - least > 16 {
            let third = (most - least) / 3;
            let (a, b) = (self.cost(least + third, guess), self.cost(most - third, guess));
            // Blocks that are far too small all cost more than can be said.
            if a < b { most -= third } else { least += third }
        }
        (least..=most).map(|block| self.cost(block, guess)).fold(f64::INFINITY, f64::min)
    }

    fn cheapest(&self) -> f64 {
        while_it_falls(2..=64, |modulus| {
            while_it_falls((0..self.dimension).step_by(STEP), |one_by_one| {
                while_it_falls((0..self.dimension - one_by_one).step_by(STEP), |transformed| {
                    self.best_block(Guess { modulus, one_by_one, transformed })
                })
            })
        })
    }
}

impl LweProblem {
    /// log2 of the gates that the dual attack with a Fourier transform takes with the cost model of
    /// MATZOV, given as many samples as it likes.
    pub fn dual_matzov(self) -> f64 {
        Dual::new(self).cheapest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretDistribution::{Binary, Ternary};

    /// Computed from the theorem by another program: choices that no attacker makes, so that each
    /// of sieves (rounded up to whole ones), transform, table and guesses is once what decides.
    #[test]
    fn costs_are_those_of_their_formulas() {
        let ternary =
            LweProblem { dimension: 556, log2_modulus: 15.0, error: 3.19, secret: Ternary };
        // Its secret is exchanged for the errors, which are smaller.
        let binary = LweProblem { dimension: 300, log2_modulus: 20.0, error: 0.25, secret: Binary };
        for (problem, block, [modulus, one_by_one, transformed], wanted) in [
            (ternary, 335, [5, 10, 30], 127.390833),
            (ternary, 336, [5, 10, 30], 126.676536),
            (ternary, 360, [5, 10, 60], 178.801084),
            (ternary, 330, [3, 40, 0], 167.141826),
            (ternary, 60, [2, 400, 0], 1205.825979),
            (binary, 150, [2, 40, 10], 117.490906),
        ] {
            let guess = Guess { modulus, one_by_one, transformed };
            let found = Dual::new(problem).cost(block, guess);
            assert!((found - wanted).abs() < 1e-6, "{problem:?} {block}: {found}, not {wanted}");
        }
    }
}
