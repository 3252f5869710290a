//! What a look-up leaves of errors, by a model of its roundings.
//!
//! With u the deviation that one division leaves in a component of a slot, the transforms to slots
//! leave sqrt(5.1) K u on t, and those to coefficients hardly anything; the exponential's own
//! roundings, doubled by each squaring, leave 2^r c u on z along the circle and a little more
//! across it; the last roundings leave a few u on the result. Constants were fitted to look-ups of
//! an exact reference at N = 2^10 and 2^15.
//!
//! Roundings of the mask are multiplied by the secret, so the variance in slot j is proportional
//! to |s(zeta_j)|^2. Deviations here are means over slots; the worst slot has
//! sqrt([`DiscreteParameters::flatness`]) times that, by the rule that secrets are drawn by.
//!
//! What constants are rounded to is public, and whoever chooses numbers knows it. So its errors are
//! bounds over all numbers:
//!
//! - diagonals of the maps to coefficients, times the numbers: [`Constants`];
//! - constants of the exponential, part of [`LookupNoise::series`], and of a table's polynomial,
//!   [`polynomial_rounding`].
//!
//! The maps to slots are no such case. They multiply t, which is the sum of a number and of an
//! integer that its mask makes random: t is around 0 whatever the number is.

use crate::DiscreteParameters;
use crate::exponential::{DEGREES, series_size};
use crate::program::{MAGNITUDES, coefficient_labels, rounded_rows};
use girih_ckks::NoiseModel;
use std::f64::consts::TAU;

/// What the transforms to slots add to t/K, as a variance in units of u^2.
const TRANSFORMS: f64 = 5.1;

/// What the polynomial of the exponential adds before its squarings, in units of u, by its degree.
const POLYNOMIAL: [(usize, f64); 2] = [(DEGREES[0], 13.7), (DEGREES[1], 44.0)];

/// So much more of that goes across the circle than along it.
const ACROSS: f64 = 1.11;

/// What the last roundings of a table whose range is R leave: (`FLOOR.0` + `FLOOR.1` R) u.
const FLOOR: (f64, f64) = (4.0, 2.0);

/// Deviations that a look-up leaves in a component of a slot: means over slots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LookupNoise {
    /// Of t, in turns.
    pub turns: f64,
    /// Of z = exp(2 pi i t) along the circle.
    pub tangential: f64,
    /// Of z across the circle.
    pub radial: f64,
    /// What the exponential is off by at most beside that: the size of its error along and across
    /// the circle, where a unit across counts as tangential / radial units along.
    pub series: f64,
    /// What the last roundings leave of a result, for a table of range R: the first and R times the
    /// second.
    pub floor: (f64, f64),
    /// What rounded constants of the transforms to coefficients make of numbers at most, in their
    /// own units: the first times half the length of their range, and the second times its middle.
    pub constants: (f64, f64),
}

impl LookupNoise {
    /// The model of a set, for tables of `levels` levels.
    pub fn new(set: &DiscreteParameters, levels: usize) -> Self {
        let model = NoiseModel::new(set.ckks());
        // Keys disturb a switch by less than its rounding; what is multiplied afterwards counts.
        let switched = set.exponential_level(levels)..=set.raised_level(levels);
        let variance = switched.map(|level| model.key_switch(level)).fold(0.0, f64::max);
        let u = model.deviation(variance, set.scale());
        let p = set.modulus();
        let to_coefficients = to_coefficients(set, p).sqrt() / f64::from(p);
        let turns = (TRANSFORMS.sqrt() * set.interval() * u).hypot(to_coefficients);
        let known = POLYNOMIAL.iter().find(|(degree, _)| *degree == set.degree());
        let own = known.map_or(f64::INFINITY, |(_, own)| *own);
        let own = (1u64 << set.squarings()) as f64 * own * u;
        let (radial, tangential) = (ACROSS * own, (TAU * turns).hypot(own));
        let floor = (FLOOR.0 * u, FLOOR.1 * u);
        let ratio = radial / tangential;
        let series = series_size(set.interval(), set.squarings(), set.degree(), ratio)
            + exponential_rounding(set) / ratio.min(1.0);
        let Constants { span, middle } = Constants::new(set, p);
        Self { turns, tangential, radial, series, floor, constants: (span, middle) }
    }

    /// The deviation along the circle in units of numbers modulo `modulus`.
    pub fn deviation(&self, modulus: u32) -> f64 {
        self.tangential * f64::from(modulus) / TAU
    }

    /// The series' error in the same units.
    pub fn bias(&self, modulus: u32) -> f64 {
        self.series * f64::from(modulus) / TAU
    }

    /// Errors across the circle for each unit along it.
    pub fn ratio(&self) -> f64 {
        self.radial / self.tangential
    }
}

/// What the way from slots to coefficients adds to a number, as a variance: a mean over slots.
/// Numbers become parts of a turn, `modulus` of them.
///
/// A map multiplies squares of slots by 2^stages, all of them by N/2, which is what squares of
/// slots have of those of coefficients. Each map divides once, and switches keys of its input. What
/// its rounded diagonals add is in [`Constants`].
pub(crate) fn to_coefficients(set: &DiscreteParameters, modulus: u32) -> f64 {
    let model = NoiseModel::new(set.ckks());
    let labels = coefficient_labels(set, modulus);
    let stages = set.to_coefficients();
    let mut variance = 0.0;
    for i in 0..stages.len() {
        let squares = |from: usize| libm::exp2(stages[from..].iter().sum::<usize>() as f64);
        let level = set.wire_level() - i;
        let switched = model.key_switch(level) * squares(i) / labels[i].powi(2);
        let divided = model.rounding() * squares(i + 1) / labels[i + 1].powi(2);
        variance += switched + divided;
    }
    variance
}

/// The scale that constants of polynomials are rounded at is that of numbers, but for the distances
/// of primes from it: a rounded constant is off by so many units of 1/scale at most.
const ROUNDED: f64 = 0.8;

/// What rounded constants of the polynomial of the exponential make of z at most. Chebyshev
/// polynomials are 1 at most, and T_3 has a rounded constant of its own; squarings double errors.
fn exponential_rounding(set: &DiscreteParameters) -> f64 {
    let constants = (set.degree() + 1) as f64 * ROUNDED + 4.0;
    (1u64 << set.squarings()) as f64 * constants / set.scale()
}

/// What rounded constants of a polynomial S of `len` coefficients make of a table's result, S +
/// conj S, at most; coefficients that are left out (2^-40 of others) are far smaller.
pub(crate) fn polynomial_rounding(set: &DiscreteParameters, len: usize) -> f64 {
    2.0 * 1.2 * ROUNDED * len as f64 / set.scale()
}

/// What rounded diagonals of the maps to coefficients make of numbers, at most.
///
/// Let A be the matrix from numbers to what the rounding of a map's diagonals adds to each number
/// at the end. Of numbers x from -M to M the worst makes M times the sum of magnitudes of a row.
/// With map i the last of S stages, of which s are its own, norms of rows are those of independent
/// roundings, D c/12 2^-s by squares in units of the map's encoding: D diagonals of c coefficients
/// each. n entries of a row are not 0, and the sum of their magnitudes is sqrt(2 n/pi) times the
/// norm, as of normal numbers.
/// - The last map has 2^s diagonals and c = n = N: sqrt(2/pi) N/sqrt(12).
/// - Those before have fewer than 2^(s + 1), which repeat after 2^S slots: c = 2^(S + 1), and n is
///   at most 6 2^S: sqrt(2/pi) sqrt(2) 2^S.
///
/// Diagonals of a set never change: a test computes rows of A for all sets there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Constants {
    /// For each unit of half the length of the range of numbers.
    pub span: f64,
    /// For each unit of the middle of the range: of numbers that are all alike.
    pub middle: f64,
}

/// What roundings add to one number is so many times the norm of its row at most, where all numbers
/// are 1: a normal number in each of N.
const ALIKE: f64 = 6.0;

impl Constants {
    /// Of numbers that become parts of a turn, `modulus` of them.
    pub fn new(set: &DiscreteParameters, modulus: u32) -> Self {
        let labels = coefficient_labels(set, modulus);
        let (mut span, mut middle) = (0.0, 0.0);
        for (i, (norm, entries)) in rounded_rows(set).into_iter().enumerate() {
            let ratio = set.ckks().chain().ratio(set.wire_level() - i);
            let norm = norm * labels[i] / (labels[i + 1] * ratio);
            span += MAGNITUDES * norm;
            middle += ALIKE * norm / entries.sqrt();
        }
        Self { span, middle }
    }

    /// Of numbers in a range, plus a constant below `constant` in magnitude. Numbers are off by
    /// half a step at most: what is more has been counted as wrong.
    pub fn error(&self, (low, high): (i64, i64), constant: f64) -> f64 {
        let (low, high) = (low as f64, high as f64);
        self.span * 0.5 * (high - low + 1.0) + self.middle * (0.5 * (low + high).abs() + constant)
    }
}

#[cfg(test)]
pub(crate) mod tests;
