//! What a look-up leaves of errors, by a model of its roundings.
//!
//! With u the deviation that one division leaves in a component of a slot, the transforms to slots
//! leave sqrt(5.1) K u on t, and those to coefficients hardly anything; the exponential's own
//! roundings, doubled by each squaring, leave 2^r c u on z both across the circle and along it; the
//! last roundings leave a few u on the result. Constants were fitted to look-ups of an exact
//! reference at N = 2^10 and 2^15.
//!
//! Roundings of the mask are multiplied by the secret, so the variance in slot j is proportional
//! to |s(zeta_j)|^2. Deviations here are means over slots; the worst slot has
//! sqrt([`DiscreteParameters::flatness`]) times that, by the rule that secrets are drawn by.

use crate::DiscreteParameters;
use crate::exponential::{DEGREES, series_size};
use crate::program::coefficient_labels;
use girih_ckks::NoiseModel;
use std::f64::consts::TAU;

/// What the transforms to slots add to t/K, as a variance in units of u^2.
const TRANSFORMS: f64 = 5.1;

/// What the polynomial of the exponential adds before its squarings, in units of u, by its degree.
const POLYNOMIAL: [(usize, f64); 2] = [(DEGREES[0], 13.7), (DEGREES[1], 44.0)];

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
        let to_coefficients = to_coefficients(set, p, p.into()).sqrt() / f64::from(p);
        let turns = (TRANSFORMS.sqrt() * set.interval() * u).hypot(to_coefficients);
        let known = POLYNOMIAL.iter().find(|(degree, _)| *degree == set.degree());
        let own = known.map_or(f64::INFINITY, |(_, own)| *own);
        let radial = (1u64 << set.squarings()) as f64 * own * u;
        let tangential = (TAU * turns).hypot(radial);
        let floor = (FLOOR.0 * u, FLOOR.1 * u);
        let series =
            series_size(set.interval(), set.squarings(), set.degree(), radial / tangential);
        Self { turns, tangential, radial, series, floor }
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
/// Numbers of magnitude `most` become parts of a turn, `modulus` of them.
///
/// A map multiplies squares of slots by 2^stages, all of them by N/2, which is what squares of
/// slots have of those of coefficients. Each map divides once, and switches keys of its input; its
/// diagonals are rounded.
pub(crate) fn to_coefficients(set: &DiscreteParameters, modulus: u32, most: f64) -> f64 {
    let model = NoiseModel::new(set.ckks());
    let labels = coefficient_labels(set, modulus);
    let stages = set.to_coefficients();
    let mut variance = 0.0;
    for i in 0..stages.len() {
        let squares = |from: usize| libm::exp2(stages[from..].iter().sum::<usize>() as f64);
        let level = set.wire_level() - i;
        let switched = model.key_switch(level) * squares(i) / labels[i].powi(2);
        let divided = model.rounding() * squares(i + 1) / labels[i + 1].powi(2);
        let encoded = labels[i + 1] * set.ckks().chain().ratio(level) / labels[i];
        let rounded = set.numbers() as f64 / 12.0 * (most / encoded).powi(2);
        variance += switched + divided + rounded;
    }
    variance
}
