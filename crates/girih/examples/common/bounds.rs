//! Between which numbers the functions of an encoder are needed, and polynomials for them.

use super::encoder::{Encoder, Exact, Functions, gelu, moments};
use girih::ckks::prelude::*;
use std::sync::{Mutex, PoisonError};

/// What samples have shown, with some room.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// No score, less the mean of its row, has a larger magnitude.
    pub score: f64,
    /// No mean of exp(score) over a row is larger; none is below 1, since scores have mean 0.
    pub sum: f64,
    /// Nothing that GELU is given has a larger magnitude.
    pub gelu: f64,
    /// No number after a normalisation, before its gain, has a larger magnitude.
    pub normal: f64,
    /// Largest variances that are divided by, for each layer and normalisation.
    pub variance: Vec<[f64; 2]>,
    /// No variance is less than its bound times this.
    pub ratio: f64,
    /// No number before a normalisation is larger than the root of its bound times this.
    pub reach: f64,
}

/// How much larger than what was seen bounds are.
const ROOM: f64 = 1.15;

#[derive(Clone, Debug, Default)]
struct Seen {
    score: f64,
    sum: f64,
    gelu: f64,
    normal: f64,
    /// Least and largest variances and largest magnitudes.
    sums: Vec<[[f64; 3]; 2]>,
}

struct Watched(Mutex<Seen>);

impl Watched {
    fn note(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Functions for Watched {
    fn exp(&self, score: f64) -> f64 {
        self.note(|seen| seen.score = seen.score.max(score.abs()));
        Exact.exp(score)
    }

    fn inverse(&self, mean: f64) -> f64 {
        self.note(|seen| seen.sum = seen.sum.max(mean));
        Exact.inverse(mean)
    }

    fn inverse_root(&self, place: [usize; 2], variance: f64) -> f64 {
        Exact.inverse_root(place, variance)
    }

    fn gelu(&self, x: f64) -> f64 {
        self.note(|seen| seen.gelu = seen.gelu.max(x.abs()));
        Exact.gelu(x)
    }

    fn told(&self, [layer, norm]: [usize; 2], sum: &[f64], normal: &[f64]) {
        let largest = |of: &[f64]| of.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let (_, variance) = moments(sum);
        self.note(|seen| {
            let [least, most, magnitude] = &mut seen.sums[layer][norm];
            *least = least.min(variance);
            *most = most.max(variance);
            *magnitude = magnitude.max(largest(sum));
            seen.normal = seen.normal.max(largest(normal));
        });
    }
}

impl Bounds {
    /// Of the encoder on these samples. Inputs count as results of a normalisation.
    pub fn of(encoder: &Encoder, samples: &[Vec<Vec<f64>>]) -> Self {
        let sums = vec![[[f64::INFINITY, 0.0, 0.0]; 2]; encoder.layers.len()];
        let watched = Watched(Mutex::new(Seen { sums, ..Seen::default() }));
        for x in samples {
            encoder.run(x, &watched);
            let largest = x.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
            watched.note(|seen| seen.normal = seen.normal.max(largest));
        }
        let seen = watched.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = || seen.sums.iter().flatten();
        Self {
            score: ROOM * seen.score,
            // At least twice as much as the least, so that there is an interval.
            sum: (ROOM * seen.sum).max(2.0),
            gelu: ROOM * seen.gelu,
            normal: ROOM * seen.normal,
            variance: seen.sums.iter().map(|of| of.map(|[_, most, _]| ROOM * most)).collect(),
            ratio: all().map(|[least, most, _]| least / most).fold(1.0, f64::min) / ROOM.powi(2),
            reach: all().map(|[_, most, x]| x / (ROOM * most).sqrt()).fold(0.0, f64::max) * ROOM,
        }
    }
}

/// Polynomials for the functions of an encoder, on [-1, 1], and the bounds that they are for.
pub struct Fitted {
    pub bounds: Bounds,
    pub tokens: usize,
    /// exp(score) / tokens of the score over its bound.
    pub exp: Polynomial,
    /// The inverse of the sum of these, of a line of it.
    pub inverse: Polynomial,
    /// 1 / sqrt of a variance over its bound, of a line of it.
    pub root: Polynomial,
    /// GELU over the bound of its argument, of the argument over it.
    pub gelu: Polynomial,
}

/// Degrees: of exp and inverse, of inverse roots, of GELU.
const DEGREES: [usize; 3] = [31, 15, 63];

impl Fitted {
    pub fn new(bounds: Bounds, tokens: usize) -> girih::ckks::Result<Self> {
        let unit = || -1.0..=1.0;
        let (sum, root) = (bounds.sum_line(), bounds.root_line());
        let (b, count) = (&bounds, tokens as f64);
        Ok(Self {
            exp: Polynomial::interpolate(|u| (b.score * u).exp() / count, unit(), DEGREES[0])?,
            inverse: Polynomial::interpolate(|u| sum.before(u).recip(), unit(), DEGREES[0])?,
            root: Polynomial::interpolate(|u| root.before(u).sqrt().recip(), unit(), DEGREES[1])?,
            gelu: Polynomial::interpolate(|u| gelu(b.gelu * u) / b.gelu, unit(), DEGREES[2])?,
            tokens,
            bounds,
        })
    }
}

/// u = slope x + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub offset: f64,
}

impl Line {
    /// x of u.
    fn before(&self, u: f64) -> f64 {
        (u - self.offset) / self.slope
    }

    fn at(&self, x: f64) -> f64 {
        self.slope * x + self.offset
    }
}

impl Bounds {
    /// From a mean of powers to [-1, 1].
    pub fn sum_line(&self) -> Line {
        let slope = 2.0 / (self.sum - 1.0);
        Line { slope, offset: -1.0 - slope }
    }

    /// By what sums are divided when they are normalised, in roots of the bound of their variance.
    /// Half of two of them, as real and imaginary part, stays within 1.
    pub fn unit(&self) -> f64 {
        std::f64::consts::FRAC_1_SQRT_2 * self.reach
    }

    /// A whole number t: of sums divided by [`Bounds::unit`], t^2 times the variance, and a number
    /// added, lies in [-1, 1].
    pub fn root_factor(&self) -> u32 {
        let slope = 2.0 / (1.0 - self.ratio);
        ((slope.sqrt() * self.unit()).floor() as u32).max(1)
    }

    /// From a variance over its bound to [-1, 1], with that whole number.
    pub fn root_line(&self) -> Line {
        let slope = (f64::from(self.root_factor()) / self.unit()).powi(2);
        Line { slope, offset: -1.0 - slope * self.ratio }
    }
}

impl Functions for Fitted {
    fn exp(&self, score: f64) -> f64 {
        self.exp.evaluate(score / self.bounds.score) * self.tokens as f64
    }

    fn inverse(&self, mean: f64) -> f64 {
        self.inverse.evaluate(self.bounds.sum_line().at(mean))
    }

    fn inverse_root(&self, [layer, norm]: [usize; 2], variance: f64) -> f64 {
        let most = self.bounds.variance[layer][norm];
        self.root.evaluate(self.bounds.root_line().at(variance / most)) / most.sqrt()
    }

    fn gelu(&self, x: f64) -> f64 {
        self.gelu.evaluate(x / self.bounds.gelu) * self.bounds.gelu
    }
}
