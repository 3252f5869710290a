//! How the roundings inside a polynomial add up.
//!
//! The recording of a polynomial is followed on numbers, each with its derivatives by the input and
//! by every rounding that was made on the way. What the roundings do to the result is then the root
//! of the sum of squares of their derivatives; the worst point of the interval counts.

use std::collections::BTreeMap;
use std::f64::consts::PI;

/// log2 of the baby bound with the fewest products for a polynomial of `degree`.
pub(super) fn baby_bits(degree: usize) -> u32 {
    // Products of the splits below a node of this degree.
    fn splits(degree: usize, bits: u32) -> usize {
        if degree < 1 << bits {
            return 0;
        }
        let giant = 1 << degree.ilog2();
        1 + splits(degree - giant, bits) + splits(giant - 1, bits)
    }
    let basis = |bits: u32| {
        let babies = (1usize << bits).min(degree + 1) - 1;
        babies + degree.ilog2().saturating_sub(bits - 1) as usize
    };
    (1..=degree.ilog2() + 1).min_by_key(|&bits| splits(degree, bits) + basis(bits)).unwrap_or(1)
}

/// What a polynomial does to errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// The largest derivative by the input.
    pub slope: f64,
    /// Deviation of the result, in units of that of one rounding.
    pub internal: f64,
}

/// A value with its derivatives: by the input first, then by each rounding so far.
#[derive(Clone)]
struct Dual {
    value: f64,
    by: Vec<f64>,
    /// Levels below the input.
    depth: usize,
}

impl Dual {
    fn combine(&self, factor: f64, other: &Self, other_factor: f64) -> Self {
        let len = self.by.len().max(other.by.len());
        let at = |by: &[f64], i: usize| by.get(i).copied().unwrap_or(0.0);
        let by = (0..len).map(|i| factor * at(&self.by, i) + other_factor * at(&other.by, i));
        Self {
            value: factor * self.value + other_factor * other.value,
            by: by.collect(),
            depth: self.depth.max(other.depth),
        }
    }

    fn times(&self, other: &Self) -> Self {
        let linear = self.combine(other.value, other, self.value);
        Self { value: self.value * other.value, ..linear }
    }
}

/// One run through the recording at one point.
struct Run {
    terms: BTreeMap<usize, Dual>,
    log2_baby: u32,
    roundings: usize,
}

impl Run {
    /// A value after a rounding of its own, at `depth`.
    fn rounded(&mut self, mut value: Dual, depth: usize) -> Dual {
        self.roundings += 1;
        value.by.resize(self.roundings + 1, 0.0);
        value.by[self.roundings] = 1.0;
        Dual { depth, ..value }
    }

    /// A value brought down to `depth`; in a rational chain that rounds.
    fn dropped(&mut self, value: &Dual, depth: usize) -> Dual {
        if value.depth >= depth { value.clone() } else { self.rounded(value.clone(), depth) }
    }

    fn term(&mut self, j: usize) {
        let high = 1usize << j.ilog2();
        let (a, b) = if j == high { (j / 2, j / 2) } else { (high, j - high) };
        let depth = self.terms[&a].depth.max(self.terms[&b].depth);
        let [ta, tb] = [a, b].map(|i| self.terms[&i].clone());
        let (ta, tb) = (self.dropped(&ta, depth), self.dropped(&tb, depth));
        let one = Dual { value: 1.0, by: vec![0.0], depth: 0 };
        let rest = if a == b { one } else { self.terms[&(a - b)].clone() };
        let rest = if a == b { rest } else { self.dropped(&rest, depth) };
        let product = ta.times(&tb).combine(2.0, &rest, -1.0);
        let term = self.rounded(product, depth + 1);
        self.terms.insert(j, term);
    }

    /// The sum at `depth`, rounded.
    fn node(&mut self, c: &[f64], depth: usize) -> Dual {
        let sum = self.sum(c, depth - 1);
        self.rounded(sum, depth)
    }

    /// The sum before its rescale, at `depth`.
    fn sum(&mut self, c: &[f64], depth: usize) -> Dual {
        let degree = c.len() - 1;
        let reaches = (1..=degree).all(|j| self.terms.get(&j).is_some_and(|t| t.depth <= depth));
        if degree < 1 << self.log2_baby && reaches || degree < 2 {
            let start = Dual { value: c[0], by: vec![0.0], depth };
            return (1..=degree).filter(|&j| c[j] != 0.0).fold(start, |sum, j| {
                let term = self.terms[&j].clone();
                let term = self.dropped(&term, depth);
                sum.combine(1.0, &term, c[j])
            });
        }
        let split = 1usize << degree.ilog2();
        let mut quotient = vec![c[split]];
        quotient.extend(c[split + 1..].iter().map(|c| 2.0 * c));
        let mut rest = c[..split].to_vec();
        for j in 1..=degree - split {
            rest[split - j] -= c[split + j];
        }
        let giant = self.terms[&split].clone();
        let giant = self.dropped(&giant, depth);
        let quotient = self.node(&quotient, depth);
        let rest = self.sum(&rest, depth);
        quotient.times(&giant).combine(1.0, &rest, 1.0)
    }
}

impl Rounding {
    /// Of the polynomial with these Chebyshev coefficients, degree at least 2, for inputs in
    /// [least, 1] and their negatives; for the whole interval, `least` is -1.
    pub fn of(coefficients: &[f64], log2_baby: u32, least: f64) -> Self {
        let mut worst = Self { slope: 0.0, internal: 0.0 };
        for u in points(least) {
            let by_input = Self::at(coefficients, log2_baby, u);
            let internal = by_input[1..].iter().map(|d| d * d).sum::<f64>().sqrt();
            worst.slope = worst.slope.max(by_input[0].abs());
            worst.internal = worst.internal.max(internal);
        }
        worst
    }

    fn at(coefficients: &[f64], log2_baby: u32, u: f64) -> Vec<f64> {
        let degree = coefficients.len() - 1;
        let first = Dual { value: u, by: vec![1.0], depth: 0 };
        let mut run = Run { terms: BTreeMap::from([(1, first)]), log2_baby, roundings: 0 };
        let powers = (1..usize::BITS).map(|i| 1usize << i).take_while(|&j| j <= degree);
        let babies = (3..1usize << log2_baby).take_while(|&j| j <= degree);
        for j in powers.chain(babies) {
            if !run.terms.contains_key(&j) {
                run.term(j);
            }
        }
        let depth = (usize::BITS - degree.leading_zeros()) as usize;
        run.node(coefficients, depth).by
    }

    /// The least value on [least, 1] of a polynomial that is positive there, at most 1: where the
    /// next polynomial of a composition starts.
    pub fn least_value(coefficients: &[f64], least: f64) -> f64 {
        let value = |u: f64| {
            let (mut one, mut two) = (0.0, 0.0);
            for &c in coefficients[1..].iter().rev() {
                (one, two) = (2.0 * u * one - two + c, one);
            }
            u * one - two + coefficients[0]
        };
        points(least).map(value).fold(1.0, f64::min).max(0.0)
    }
}

/// Points of [least, 1], denser towards both ends.
fn points(least: f64) -> impl Iterator<Item = f64> {
    const STEPS: usize = 256;
    (0..=STEPS).map(move |i| {
        let u = (1.0 - (PI * i as f64 / STEPS as f64).cos()) / 2.0;
        least + (1.0 - least) * u
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn babies_balance_giants() {
        assert_eq!([2, 3, 7].map(baby_bits), [2, 1, 2]);
        assert!((2..=3).contains(&baby_bits(15)));
        assert!((2..=3).contains(&baby_bits(27)));
        assert!((3..=4).contains(&baby_bits(63)));
    }

    #[test]
    fn slopes_are_derivatives() {
        // T_5 has slope 25 at the ends; 3 T_2 + T_1 has 13 at 1.
        let t5 = Rounding::of(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 2, -1.0);
        assert!((t5.slope - 25.0).abs() < 1e-9, "{t5:?}");
        let p = Rounding::of(&[0.0, 1.0, 3.0], 1, -1.0);
        assert!((p.slope - 13.0).abs() < 1e-9, "{p:?}");
        // T_2 alone: one rounding of T_2, one of the result.
        let t2 = Rounding::of(&[0.0, 0.0, 1.0], 2, -1.0);
        assert!(t2.internal >= 1.0 && t2.internal <= 2.0, "{t2:?}");
    }

    #[test]
    fn a_sign_pushes_values_up() {
        let least = Rounding::least_value(&[0.0, 9.0 / 8.0, 0.0, -1.0 / 8.0], 0.25);
        // 9/8 u - (4 u^3 - 3 u)/8 at u = 1/4.
        assert!((least - (9.0 / 8.0 * 0.25 - (4.0 / 64.0 - 0.75) / 8.0)).abs() < 1e-12);
    }
}
