//! What attacks on secrets of fixed weight share: guesses of some of their coefficients.
//!
//! Most coefficients of such a secret are zero. An attacker picks some places, guesses what the
//! secret has there (nothing but zeros, or a few ones), and attacks what is left, whose dimension
//! is smaller and whose weight is lower. Where the guess was wrong, the attack starts again with
//! other places.

use super::reduction::log2_sum;
use std::f64::consts::LN_2;

/// Points of a first look at a range, and of each closer one.
const POINTS: usize = 64;

/// log2 of the number of ways to choose `taken` of `all`; minus infinity where there are none.
pub(super) fn log2_choices(all: usize, taken: usize) -> f64 {
    if taken > all {
        return f64::NEG_INFINITY;
    }
    let ln_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
    (ln_factorial(all) - ln_factorial(taken) - ln_factorial(all - taken)) / LN_2
}

/// log2 of how often something of probability 2^`log2_probability` is tried until it has happened
/// with probability 0.99.
pub(super) fn log2_repetitions(log2_probability: f64) -> f64 {
    let probability = log2_probability.exp2();
    if probability >= 0.99 {
        0.0
    } else if log2_probability > -40.0 {
        (0.01f64.ln() / (-probability).ln_1p()).ceil().log2()
    } else {
        (-(0.01f64.ln())).log2() - log2_probability
    }
}

/// All secrets that have at most some weight on the places that are guessed.
#[derive(Clone, Copy)]
pub(super) struct Guess {
    /// Their weight there: at most this, and in the last step exactly this.
    pub weight: usize,
    /// log2 of their number, by places and signs.
    pub log2_size: f64,
    /// log2 of those that have exactly this weight there.
    pub log2_layer: f64,
    /// log2 of the probability that the secret is among them.
    pub log2_hit: f64,
    /// log2 of the probability that it has exactly this weight there.
    pub log2_layer_hit: f64,
}

/// The guesses of `guessed` places of a secret of `weight` in `dimension`, by growing weight.
pub(super) fn guesses(
    dimension: usize,
    weight: usize,
    guessed: usize,
) -> impl Iterator<Item = Guess> {
    let least = (guessed + weight).saturating_sub(dimension);
    let all = log2_choices(dimension, guessed);
    let (mut size, mut hit) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    (least..=weight.min(guessed)).map(move |on| {
        let log2_layer = log2_choices(guessed, on) + on as f64;
        let log2_layer_hit =
            log2_choices(weight, on) + log2_choices(dimension - weight, guessed - on) - all;
        size = log2_sum(size, log2_layer);
        hit = log2_sum(hit, log2_layer_hit).min(0.0);
        Guess { weight: on, log2_size: size, log2_layer, log2_hit: hit, log2_layer_hit }
    })
}

/// The least value of `cost` from `least` to `most`, on a grid that closes in on the best point.
pub(super) fn least_over(least: usize, most: usize, mut cost: impl FnMut(usize) -> f64) -> f64 {
    let (mut from, mut to) = (least, most.max(least));
    let (mut best, mut lowest) = (from, f64::INFINITY);
    loop {
        let step = (to - from).div_ceil(POINTS).max(1);
        for at in (from..=to).step_by(step) {
            let found = cost(at);
            if found < lowest {
                (best, lowest) = (at, found);
            }
        }
        if step == 1 {
            return lowest;
        }
        (from, to) = (best.saturating_sub(step).max(least), (best + step).min(most));
    }
}

/// ln of the probability that a Gaussian of deviation 1 stays below `bound` on both sides.
pub(super) fn ln_within(bound: f64) -> f64 {
    (-libm::erfc(bound * std::f64::consts::FRAC_1_SQRT_2)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_count_all_secrets_in_the_end() {
        for (dimension, weight, guessed) in [(20, 3, 7), (20, 3, 0), (20, 3, 20), (9, 8, 5)] {
            let all: Vec<Guess> = guesses(dimension, weight, guessed).collect();
            let (first, last) = (&all[0], all.last().expect("there is one"));
            assert_eq!(first.log2_hit, first.log2_layer_hit.min(0.0));
            assert!(last.log2_hit.abs() < 1e-9, "{dimension} {weight} {guessed}");
            assert!(all.windows(2).all(|w| w[0].log2_size < w[1].log2_size));
        }
        // 35 of 100 places: none of four is there with probability C(65, 4) / C(100, 4).
        let first = guesses(100, 4, 35).next().expect("there is one");
        assert!((first.log2_hit.exp2() - 677_040.0 / 3_921_225.0).abs() < 1e-9);
        assert_eq!((first.weight, first.log2_size), (0, 0.0));
        let second = guesses(100, 4, 35).nth(1).expect("there is one");
        assert!((second.log2_size.exp2() - 71.0).abs() < 1e-9);
        assert!((second.log2_layer.exp2() - 70.0).abs() < 1e-9);
    }

    #[test]
    fn repetitions_reach_their_probability() {
        assert_eq!(log2_repetitions(0.0), 0.0);
        // (1 - 1/2)^7 < 0.01 < (1 - 1/2)^6.
        assert_eq!(log2_repetitions(-1.0), 7f64.log2());
        assert!((log2_repetitions(-39.999_999) - log2_repetitions(-40.0)).abs() < 1e-5);
        assert!((log2_repetitions(-200.0) - 202.203).abs() < 1e-3);
    }

    #[test]
    fn the_grid_finds_what_is_least() {
        for at in [0, 1, 39, 700, 65_535] {
            let found = least_over(0, 65_535, |x| (x as f64 - at as f64).abs());
            assert_eq!(found, 0.0, "{at}");
        }
        assert_eq!(least_over(7, 7, |x| x as f64), 7.0);
        assert_eq!(least_over(7, 3, |x| x as f64), 7.0);
    }
}
