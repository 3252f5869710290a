//! What attacks allow: the shortest LWE secrets and the largest ring moduli at a security target.

use girih::contract::SecretKind;
use girih_rlwe::SecretDistribution;
use girih_rlwe::security::{LweProblem, SecurityEstimate};
use std::collections::HashMap;

/// Longest LWE secret that is looked at, far beyond any of use at 128 bits; parameter sets may have
/// up to 8192.
const MOST_DIMENSION: usize = 1600;

/// Shortest one.
const LEAST_DIMENSION: usize = 200;

/// The first of `least..=most` from which on the rising `bits` is `target` or more, each computed
/// seldom: they are nearly on a line.
fn first(
    (mut least, mut most): (usize, usize),
    target: f64,
    mut bits: impl FnMut(usize) -> f64,
) -> Option<usize> {
    let (mut low, mut high) = (bits(least), bits(most));
    if low >= target {
        return Some(least);
    }
    if high < target {
        return None;
    }
    while most - least > 1 {
        let share = ((target - low) / (high - low)).clamp(0.0, 1.0);
        let on_the_line = least + (share * (most - least) as f64).ceil() as usize;
        let at = on_the_line.clamp(least + 1, most - 1);
        let found = bits(at);
        if found >= target {
            (most, high) = (at, found);
        } else {
            (least, low) = (at, found);
        }
    }
    Some(most)
}

/// Estimates of problems, each computed once: most candidates share theirs.
#[derive(Default)]
pub struct Estimates {
    known: HashMap<(usize, u64, u64, bool), f64>,
}

/// One side of a set: a modulus, an error in its units, a distribution of secrets.
#[derive(Clone, Copy)]
pub struct Side {
    pub log2_modulus: f64,
    pub error: f64,
    pub secret: SecretKind,
}

impl Estimates {
    /// Bits that the cheapest attack takes of all that the library computes, in either cost model.
    pub fn bits(&mut self, dimension: usize, side: Side) -> f64 {
        let secret = match side.secret {
            SecretKind::Ternary => SecretDistribution::Ternary,
            SecretKind::Binary => SecretDistribution::Binary,
        };
        let key = (
            dimension,
            side.log2_modulus.to_bits(),
            side.error.to_bits(),
            side.secret == SecretKind::Binary,
        );
        *self.known.entry(key).or_insert_with(|| {
            let estimate = SecurityEstimate::of(&[LweProblem {
                dimension,
                log2_modulus: side.log2_modulus,
                error: side.error,
                secret,
            }]);
            estimate.cheapest_matzov.min(estimate.usvp_bdgl16)
        })
    }

    /// How many problems were estimated.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The shortest secret of this side with `target` bits whose length `grouping` divides.
    pub fn least_dimension(&mut self, side: Side, target: f64, grouping: usize) -> Option<usize> {
        let ends = (LEAST_DIMENSION, MOST_DIMENSION);
        let least = first(ends, target, |n| self.bits(n, side))?;
        // Guesses of attacks go in steps, so that estimates fall here and there by a little.
        (least..MOST_DIMENSION)
            .filter(|n| n.is_multiple_of(grouping))
            .find(|&n| self.bits(n, side) >= target)
    }

    /// log2 of the largest modulus, to a 32nd, under which a ring secret of `dimension`
    /// coefficients with errors of deviation `error` has `target` bits.
    pub fn largest_modulus(
        &mut self,
        dimension: usize,
        secret: SecretKind,
        error: f64,
        target: f64,
    ) -> Option<f64> {
        // From 60 bits down to 13.
        let log2 = |steps: usize| 60.0 - steps as f64 / 32.0;
        let side = |steps| Side { log2_modulus: log2(steps), error, secret };
        first((0, 47 * 32), target, |steps| self.bits(dimension, side(steps))).map(log2)
    }

    /// The narrowest uniform errors, as log2 of their bound, under which a ring secret of
    /// `dimension` coefficients has `target` bits modulo 2^64.
    pub fn least_bound(
        &mut self,
        dimension: usize,
        secret: SecretKind,
        target: f64,
    ) -> Option<u32> {
        let side = |bound| Side { log2_modulus: 64.0, error: uniform(bound as u32), secret };
        let found = first((2, 58), target, |bound| self.bits(dimension, side(bound)));
        found.map(|bound| bound as u32)
    }
}

/// Deviation of errors uniform on `[-2^bound, 2^bound]`, the two ends with half weight.
pub fn uniform(bound: u32) -> f64 {
    ((2f64.powi(2 * bound as i32 + 1) + 1.0) / 6.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_holds_and_one_less_does_not() {
        let mut estimates = Estimates::default();
        let side = Side { log2_modulus: 15.0, error: 3.19, secret: SecretKind::Binary };
        let n = estimates.least_dimension(side, 110.0, 1).expect("there is one");
        assert!(estimates.bits(n, side) >= 110.0 && estimates.bits(n - 1, side) < 110.0, "{n}");
        let pairs = estimates.least_dimension(side, 110.0, 2).expect("there is one");
        assert!(pairs % 2 == 0 && (n..n + 4).contains(&pairs), "{n} {pairs}");
        let ternary = SecretKind::Ternary;
        let modulus = estimates.largest_modulus(512, ternary, 3.19, 110.0).expect("there is one");
        let at = |log2_modulus| Side { log2_modulus, error: 3.19, secret: ternary };
        assert!(estimates.bits(512, at(modulus)) >= 110.0);
        assert!(estimates.bits(512, at(modulus + 1.0 / 32.0)) < 110.0);
        let bound = estimates.least_bound(512, ternary, 110.0).expect("there is one");
        let side =
            |bound| Side { log2_modulus: 64.0, error: uniform(bound), secret: SecretKind::Ternary };
        assert!(estimates.bits(512, side(bound)) >= 110.0);
        assert!(estimates.bits(512, side(bound - 1)) < 110.0);
        let computed = estimates.count();
        estimates.least_bound(512, ternary, 110.0);
        assert_eq!(estimates.count(), computed, "each once");
    }
}
