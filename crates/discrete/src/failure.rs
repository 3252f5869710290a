//! How likely a look-up is wrong: tails of errors, carried from look-up to look-up.
//!
//! A look-up reads a sum with an error of size d, in units of its numbers, and gives a result that
//! is off by at most lambda(d), which is about c d^2 (order 1) or c d^3 (order 2): small errors
//! shrink. The sum's error is that of its inputs plus fresh noise. A wrong result needs noise in
//! one look-up, or less of it in each of several in a row; so what is known of the error of a
//! ciphertext is its whole tail, P(|error| > x) for x on a grid, and a look-up makes the tail of
//! its results from those of its inputs. Everything is rounded towards larger probabilities:
//!
//! - the tail of a sum of dependent errors is at most the sum of their tails at shares of x;
//! - noise is normal in each slot, and counted with the deviation of the worst one;
//! - along and across the circle it has two deviations; d is the size of both together, in units
//!   of the first, so that P(noise > d) = exp(-d^2 / 2 sigma^2);
//! - what rounded constants make of numbers is a bound over all numbers of the sum's range, not
//!   noise: whoever chooses numbers knows the constants;
//! - lambda is computed for each table from its polynomial, over all errors of that size, and is
//!   infinite from 1/2 on.

use crate::noise::{Constants, polynomial_rounding};
use crate::{DiscreteParameters, LookupNoise, Table};
use girih_ckks::Complex64;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// log2 of the least size on the grid, and points to each power of two. Smaller errors count as
/// the least size: a sum of dozens of them is to stay far below what changes a look-up.
const LEAST: i32 = -18;
const STEPS: usize = 128;

/// Points of the grid: the last is 1, [`HALF`] is 1/2.
const POINTS: usize = 18 * STEPS + 1;
const HALF: usize = 17 * STEPS;

/// Directions in which errors of one size are tried, and what a largest value between two of them
/// may add.
const DIRECTIONS: usize = 64;
const BETWEEN: f64 = 1.004;

/// Every so many points lambda is computed. Its logarithm is convex in that of the size, as it is
/// the largest value of harmonic functions on growing sets, so that straight lines are above it.
const COMPUTED: usize = 8;

/// Probabilities are powers of two to this fraction, rounded up, so that chains of equal look-ups
/// come to equal tails.
const FRACTION: f64 = 8.0;

/// A probability, 2^-249, of no account.
const HARDLY: f64 = 1e-75;

/// Probabilities below this are 0.
const NOTHING: f64 = 1e-90;

/// Errors that are exceeded with 2^-140 only do not count where a deviation stands for a tail.
const UNCOUNTED: f64 = 7.174648137343064e-43;

/// A normal error exceeds so much of its deviation with 3/4.
const THREE_QUARTERS: f64 = 0.3186;

/// Steps until errors are at rest, at most.
const ROUNDS: usize = 48;

fn sizes() -> &'static [f64] {
    static SIZES: OnceLock<Vec<f64>> = OnceLock::new();
    SIZES.get_or_init(|| {
        let size = |point| libm::exp2(f64::from(LEAST) + point as f64 / STEPS as f64);
        (0..POINTS).map(size).collect()
    })
}

fn size(point: usize) -> f64 {
    sizes()[point]
}

/// The last point whose size is at most `x`, if there is one.
fn point_below(x: f64) -> Option<usize> {
    let at = (libm::log2(x) - f64::from(LEAST)) * STEPS as f64;
    // What rounds to a point from below counts as below it.
    let at = (at - 1e-9).floor();
    (at >= 0.0).then(|| (at as usize).min(POINTS - 1))
}

fn rounded_up(p: f64) -> f64 {
    if p <= NOTHING {
        return if p > 0.0 { NOTHING } else { 0.0 };
    }
    libm::exp2((libm::log2(p) * FRACTION).ceil() / FRACTION).min(1.0)
}

/// The tail of an error: P(|error| > size) at each point of the grid. It is 0 at the least size
/// only where there is no error at all; what never exceeds that size has [`NOTHING`] there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tail(Arc<[f64]>);

impl Tail {
    /// No error.
    pub fn none() -> Self {
        Self(vec![0.0; POINTS].into())
    }

    /// An error that never exceeds `bound`.
    pub fn bounded(bound: f64) -> Self {
        if bound <= 0.0 {
            return Self::none();
        }
        // The least size stands for smaller ones, too.
        let at = |i: usize| if i == 0 || size(i) < bound { 1.0 } else { 0.0 };
        Self((0..POINTS).map(at).collect())
    }

    /// The deviation of a normal error that is larger in distribution, but for 2^-140: with any
    /// other normal error on top it exceeds every size that matters at least as often.
    pub fn normal_above(&self) -> f64 {
        if self.0[0] == 0.0 {
            return 0.0;
        }
        let largest = self.0[POINTS - 1];
        if largest > UNCOUNTED {
            return f64::INFINITY;
        }
        // What is nearer to 0 than three quarters of all errors makes large sums less likely than
        // the fiftieth does that is added below.
        let holds = |deviation: f64| {
            let exceeds = |x: f64| libm::erfc(x / (std::f64::consts::SQRT_2 * deviation));
            size(0) <= THREE_QUARTERS * deviation
                && (0..POINTS - 1).all(|i| {
                    let p = self.0[i].min(0.75);
                    p <= UNCOUNTED || p <= exceeds(size(i + 1))
                })
        };
        let (mut low, mut high) = (LEAST, 4);
        // In steps of 2^(1/64).
        (low, high) = (low * 64, high * 64);
        let deviation = |step: i32| libm::exp2(f64::from(step) / 64.0);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if holds(deviation(middle)) { high = middle } else { low = middle }
        }
        1.02 * deviation(high)
    }

    /// P(|error| > x), at most.
    fn beyond(&self, x: f64) -> f64 {
        match point_below(x) {
            Some(point) => self.0[point],
            None if self.0[0] == 0.0 => 0.0,
            None => 1.0,
        }
    }

    /// The size that is exceeded with a probability below `p` only.
    pub fn quantile(&self, p: f64) -> f64 {
        (0..POINTS).find(|&i| self.0[i] <= p).map_or(f64::INFINITY, |i| match self.0[0] {
            0.0 => 0.0,
            _ => size(i),
        })
    }

    /// The tail of the sum of errors times weights, however they depend on each other.
    pub fn sum<'a>(terms: impl IntoIterator<Item = (f64, &'a Tail)>) -> Self {
        // Long sums have few kinds of terms: how often, weight, share, tail.
        let mut kinds: Vec<(f64, f64, f64, &Tail)> = Vec::new();
        for (weight, tail) in terms.into_iter().filter(|(_, tail)| tail.0[0] > 0.0) {
            let weight = weight.abs();
            let same = |(_, other, _, of): &&mut (f64, f64, f64, &Tail)| {
                *other == weight && Arc::ptr_eq(&of.0, &tail.0)
            };
            match kinds.iter_mut().find(same) {
                Some(kind) => kind.0 += 1.0,
                None => kinds.push((1.0, weight, weight * tail.quantile(1e-18), tail)),
            }
        }
        if let [(1.0, 1.0, _, tail)] = kinds.as_slice() {
            return (*tail).clone();
        }
        // If a sum exceeds x, a term exceeds its share.
        let all: f64 = kinds.iter().map(|(count, _, share, _)| count * share).sum();
        let at = |i: usize| {
            let x = size(i);
            let one = |(count, weight, share, tail): &(f64, f64, f64, &Tail)| {
                count * tail.beyond(x * share / all / weight)
            };
            rounded_up(kinds.iter().map(one).sum())
        };
        if !all.is_finite() {
            return Self(vec![1.0; POINTS].into());
        }
        Self((0..POINTS).map(at).collect())
    }

    fn bits(&self) -> Vec<u64> {
        self.0.iter().map(|p| p.to_bits()).collect()
    }

    /// Whether it is nowhere larger than another.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&*other.0).all(|(own, other)| own <= other)
    }

    /// One step of the grid larger, and nowhere so unlikely that only roundings tell. Counted
    /// failures are taken from a tail, so that of a better look-up it may have more left there.
    pub fn widened(&self) -> Self {
        let at = |i: usize| self.0[i.saturating_sub(1)].max(HARDLY);
        Self((0..POINTS).map(at).collect())
    }

    /// The larger of both everywhere.
    pub fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&*other.0).map(|(own, other)| own.max(*other)).collect())
    }
}

/// lambda of a table on the grid.
#[derive(Clone, Debug)]
struct Passed(Vec<f64>);

/// 2 Re S at z.
fn value(polynomial: &[Complex64], z: Complex64) -> f64 {
    2.0 * polynomial.iter().rev().fold(Complex64::default(), |sum, c| sum * z + c).re
}

/// z_m with an error of `size` in units of numbers in direction `k`.
fn disturbed(modulus: u32, m: usize, size: f64, ratio: f64, k: usize) -> Complex64 {
    let angle = TAU * k as f64 / DIRECTIONS as f64;
    let unit = TAU * size / f64::from(modulus);
    // Exact on the circle: an error of the sum moves z along it.
    let along = m as f64 * TAU / f64::from(modulus) + unit * libm::cos(angle);
    let across = 1.0 + unit * ratio * libm::sin(angle);
    Complex64::new(across * libm::cos(along), across * libm::sin(along))
}

impl Passed {
    /// The largest error of the result for errors of each size, over all numbers and directions.
    fn of(table: &Table, ratio: f64, rounding: f64) -> Self {
        let p = table.modulus();
        let worst = |size: f64| {
            let mut worst = 0f64;
            for (m, &f) in table.values().iter().enumerate() {
                for k in 0..DIRECTIONS {
                    let z = disturbed(p, m, size, ratio, k);
                    worst = worst.max((value(table.polynomial(), z) - f as f64).abs());
                }
            }
            worst
        };
        Self::on_grid(worst, rounding)
    }

    /// The same for the worst of all tables of range 1: errors of those that go up where cardinal
    /// functions are positive, or where they are negative.
    fn worst(modulus: u32, order: u32, ratio: f64, rounding: f64) -> Self {
        let cardinal = |j: u32| {
            let values: Vec<i64> = (0..modulus).map(|m| i64::from(m == j)).collect();
            Table::from_values(&values).and_then(|t| t.order(order)).expect("a small table")
        };
        let cardinals: Vec<Table> = (1..modulus).map(cardinal).collect();
        let worst = |size: f64| {
            let mut worst = 0f64;
            for k in 0..DIRECTIONS {
                let z = disturbed(modulus, 0, size, ratio, k);
                let values = cardinals.iter().map(|c| value(c.polynomial(), z));
                let (mut up, mut down) = (0.0, 0.0);
                values.for_each(|v| if v > 0.0 { up += v } else { down -= v });
                worst = worst.max(up).max(down);
            }
            worst
        };
        Self::on_grid(worst, rounding)
    }

    /// `rounding` is what a result is off by without any error.
    fn on_grid(worst: impl Fn(f64) -> f64, rounding: f64) -> Self {
        let computed: Vec<f64> = (0..=HALF)
            .step_by(COMPUTED)
            .map(|i| BETWEEN * worst(size(i)).max(f64::MIN_POSITIVE))
            .collect();
        let mut largest = 0f64;
        let at = |i: usize| {
            // Above the last point that is still read as the right number nothing is known.
            if i >= HALF {
                return f64::INFINITY;
            }
            let (low, share) = (i / COMPUTED, (i % COMPUTED) as f64 / COMPUTED as f64);
            let [below, above] = [computed[low], computed[low + 1]].map(libm::log2);
            largest = largest.max(libm::exp2(below + (above - below) * share));
            largest + rounding
        };
        Self((0..POINTS).map(at).collect())
    }

    /// The tail of the result of an input's.
    fn pass(&self, input: &[f64], factor: f64) -> Vec<f64> {
        // Both ascend: the last point that is passed on as no more than a size.
        let mut count = 0;
        let at = |i: usize| {
            while count < POINTS && factor * self.0[count] <= size(i) {
                count += 1;
            }
            count.checked_sub(1).map_or(1.0, |point| input[point])
        };
        (0..POINTS).map(at).collect()
    }
}

/// What noise makes of a sum's tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fresh {
    /// Deviation of the worst slot, in units of numbers.
    pub deviation: f64,
    /// What the exponential and what rounded constants make of numbers are off by at most, in the
    /// same units.
    pub bias: f64,
}

impl Fresh {
    fn add(&self, input: &Tail) -> Vec<f64> {
        let exceeds = |x: f64| {
            if x <= 0.0 { 1.0 } else { libm::exp(-0.5 * (x / self.deviation).powi(2)) }
        };
        // exp(-x^2/2) is below what counts as nothing.
        let far = 22.0 * self.deviation;
        let tail = &input.0;
        // Where an error may lie at most, how likely, and how likely it is there or beyond.
        let steps: Vec<(f64, f64, f64)> = (0..POINTS - 1)
            .map(|i| (size(i + 1), tail[i] - tail[i + 1], tail[i]))
            .filter(|(_, mass, _)| *mass > 0.0)
            .collect();
        let at = |k: usize| {
            let room = size(k) - self.bias;
            if tail[0] == 0.0 {
                return exceeds(room);
            }
            let below = (1.0 - tail[0]).max(0.0) * exceeds(room - size(0));
            // What is too far below adds nothing, and nothing that is rounded down.
            let first = steps.partition_point(|(x, ..)| room - x > far);
            // What has no room left exceeds it without noise.
            let last = steps.partition_point(|(x, ..)| *x < room).max(first);
            let near = steps[first..last].iter().map(|(x, mass, _)| mass * exceeds(room - x));
            let beyond = steps.get(last).map_or(tail[POINTS - 1], |(_, _, beyond)| *beyond);
            (below + near.sum::<f64>() + beyond + NOTHING).min(1.0)
        };
        (0..POINTS).map(at).collect()
    }
}

/// What a look-up makes of errors.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// log2 of the probability that any number of the result of each table is wrong.
    pub log2_failure: f64,
    /// Tails of the results.
    pub tails: Vec<Tail>,
}

/// A result beyond which of the grid is a wrong one: numbers are rounded.
fn finish(numbers: usize, mut passed: Vec<f64>) -> (f64, Tail) {
    let wrong = passed[HALF];
    // What is wrong has been counted; the rest goes on.
    passed.iter_mut().for_each(|p| *p = rounded_up((*p - wrong).max(0.0)));
    // A result has an error, however small: only what is exact has none.
    passed[0] = passed[0].max(NOTHING);
    (wrong * numbers as f64, Tail(passed.into()))
}

/// How often a step fails at most, however many precede it: that of a tail which `next` leaves
/// within itself, found from no errors on. None where there is no such tail.
///
/// An error may always be counted as a larger one. So one whose tail lies within this tail may be
/// taken to have just this tail, and then the next result has what `next` makes of it, which lies
/// within it again: however many steps follow, none fails more often. That holds although what has
/// failed is taken from tails, so that smaller tails may leave more in some places.
fn settled(next: impl Fn(&Tail) -> (f64, Tail)) -> Option<f64> {
    let mut tail = Tail::none();
    for _ in 0..ROUNDS {
        let (wrong, after) = next(&tail);
        if wrong >= 1.0 {
            return None;
        }
        if after.is_within(&tail) {
            return Some(wrong);
        }
        tail = tail.or(&after);
        // Probabilities are rounded up, so that tails creep; one a little larger may be at rest.
        let wider = tail.widened();
        let (wrong, after) = next(&wider);
        if after.is_within(&wider) {
            return Some(wrong);
        }
    }
    None
}

/// Failures of the look-ups of one set; what was computed is kept.
#[derive(Debug)]
pub(crate) struct FailureModel {
    set: DiscreteParameters,
    /// By levels of tables: samples of the series take milliseconds.
    noise: Mutex<HashMap<usize, LookupNoise>>,
    passed: Mutex<HashMap<TableKey, Arc<Passed>>>,
    /// Of the worst tables, by modulus and order.
    worst: Mutex<HashMap<(u32, u32), Arc<Passed>>>,
    outcomes: Mutex<HashMap<InputKey, Outcomes>>,
    /// By modulus, order and limit.
    limits: Mutex<HashMap<(u32, u32, u64), u32>>,
}

/// Values and order.
type TableKey = (Vec<i64>, u32);

/// How likely each table is wrong, and the tail of its result.
type Outcomes = HashMap<TableKey, (f64, Tail)>;

/// The input's tail, deviation and bias.
type InputKey = (Vec<u64>, [u64; 2]);

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Inputs whose outcomes are kept: a circuit has few kinds of them.
const KEPT: usize = 1024;

impl FailureModel {
    pub fn new(set: &DiscreteParameters) -> Self {
        Self {
            set: set.clone(),
            noise: Mutex::default(),
            passed: Mutex::default(),
            worst: Mutex::default(),
            outcomes: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// What a look-up of tables of `levels` levels leaves of errors.
    pub fn noise(&self, levels: usize) -> LookupNoise {
        let mut known = locked(&self.noise);
        *known.entry(levels).or_insert_with(|| LookupNoise::new(&self.set, levels))
    }

    /// The noise of a look-up of tables modulo `modulus` of `levels` levels, with that of its
    /// inputs: `deviation` is a mean over slots, in units of numbers, which lie in `range`, but for
    /// a constant modulo `modulus`. Numbers that come as phases have none.
    pub fn fresh(
        &self,
        modulus: u32,
        levels: usize,
        deviation: f64,
        range: Option<(i64, i64)>,
    ) -> (Fresh, f64) {
        let noise = self.noise(levels);
        let constants = Constants { span: noise.constants.0, middle: noise.constants.1 };
        let rounded = range.map_or(0.0, |range| constants.error(range, modulus.into()));
        let own = noise.deviation(modulus).hypot(deviation);
        let worst = self.set.flatness().sqrt();
        let ratio = noise.ratio();
        (Fresh { deviation: worst * own, bias: noise.bias(modulus) + rounded }, ratio)
    }

    fn passed(&self, table: &Table, ratio: f64) -> Arc<Passed> {
        let key = (table.values().to_vec(), table.order_of());
        if let Some(known) = locked(&self.passed).get(&key) {
            return known.clone();
        }
        let rounding = polynomial_rounding(&self.set, table.polynomial().len());
        let made = Arc::new(Passed::of(table, ratio, rounding));
        locked(&self.passed).insert(key, made.clone());
        made
    }

    fn worst(&self, modulus: u32, order: u32, ratio: f64) -> Arc<Passed> {
        if let Some(known) = locked(&self.worst).get(&(modulus, order)) {
            return known.clone();
        }
        let len = (order * modulus + modulus / 2 + 1) as usize;
        let rounding = polynomial_rounding(&self.set, len);
        let made = Arc::new(Passed::worst(modulus, order, ratio, rounding));
        locked(&self.worst).insert((modulus, order), made.clone());
        made
    }

    /// What a look-up of any table of range 1 makes of a sum, at most: log2 of the probability
    /// that it is wrong, and the tail.
    pub fn any_table(
        &self,
        tail: &Tail,
        deviation: f64,
        range: (i64, i64),
        (modulus, order): (u32, u32),
    ) -> (f64, Tail) {
        let levels = crate::table::levels(modulus, order);
        let (fresh, ratio) = self.fresh(modulus, levels, deviation, Some(range));
        let passed = self.worst(modulus, order, ratio).pass(&fresh.add(tail), 1.0);
        let (wrong, tail) = finish(self.set.numbers(), passed);
        (libm::log2(wrong), tail)
    }

    /// What a look-up of `tables` makes of a sum.
    pub fn lookup(
        &self,
        tail: &Tail,
        deviation: f64,
        range: (i64, i64),
        tables: &[Table],
    ) -> Outcome {
        self.counted(tail, deviation, Some(range), tables)
    }

    /// The same of numbers that come as phases, with their errors in units of numbers.
    pub fn phases(&self, tail: &Tail, deviation: f64, tables: &[Table]) -> Outcome {
        self.counted(tail, deviation, None, tables)
    }

    fn counted(
        &self,
        tail: &Tail,
        deviation: f64,
        range: Option<(i64, i64)>,
        tables: &[Table],
    ) -> Outcome {
        let levels = tables.iter().map(Table::levels).max().unwrap_or(0);
        let modulus = tables.first().map_or(2, Table::modulus);
        let (fresh, ratio) = self.fresh(modulus, levels, deviation, range);
        let key = (tail.bits(), [fresh.deviation.to_bits(), fresh.bias.to_bits()]);
        let mut known = locked(&self.outcomes).get(&key).cloned().unwrap_or_default();
        let mut input = None;
        let (mut failure, mut tails, count) = (0f64, Vec::new(), known.len());
        for table in tables {
            let name = (table.values().to_vec(), table.order_of());
            let (wrong, passed) = known.entry(name).or_insert_with(|| {
                let input = input.get_or_insert_with(|| fresh.add(tail));
                finish(self.set.numbers(), self.passed(table, ratio).pass(input, 1.0))
            });
            failure += *wrong;
            tails.push(passed.clone());
        }
        if known.len() > count {
            let mut kept = locked(&self.outcomes);
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.entry(key).or_default().extend(known);
        }
        Outcome { log2_failure: libm::log2(failure), tails }
    }

    /// log2 of the probability that a look-up of the worst table is wrong, in a chain of any
    /// length: each of the result before, whose range times the weights of the next sum is
    /// `reach`. Infinite where errors do not settle.
    pub fn chain(&self, modulus: u32, order: u32, reach: u32) -> f64 {
        let levels = crate::table::levels(modulus, order);
        // What roundings leave of a result, times its weight.
        let (least, by_range) = self.noise(levels).floor;
        let deviation = f64::from(reach) * (least + by_range);
        let range = Some((0, reach.into()));
        let (fresh, ratio) = self.fresh(modulus, levels, deviation, range);
        let passed = self.worst(modulus, order, ratio);
        let next = |tail: &Tail| {
            finish(self.set.numbers(), passed.pass(&fresh.add(tail), f64::from(reach)))
        };
        settled(next).map_or(f64::INFINITY, libm::log2)
    }

    /// The largest reach for which such a chain stays within 2^`limit` a ciphertext; 0 for none.
    pub fn reach(&self, modulus: u32, order: u32, limit: f64) -> u32 {
        let mut known = locked(&self.limits);
        *known.entry((modulus, order, limit.to_bits())).or_insert_with(|| {
            let holds = |reach: u32| self.chain(modulus, order, reach) <= limit;
            let mut reach = 0;
            while reach < 64 && holds(reach + 1) {
                reach += 1;
            }
            reach
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log2 of what a chain of 24 of these tables fails with, each result entering the next sum
    /// with weights that sum to `weight`.
    fn chain_of(set: &DiscreteParameters, values: &[i64], order: u32, weight: f64) -> f64 {
        let table = Table::from_values(values).and_then(|t| t.order(order)).expect("a table");
        let model = FailureModel::new(set);
        let (least, by_range) = model.noise(table.levels()).floor;
        let deviation = weight * (least + by_range);
        let mut tail = Tail::none();
        let mut failure = f64::NEG_INFINITY;
        for _ in 0..24 {
            let sum = Tail::sum([(weight, &tail)]);
            let range = (0, weight as i64);
            let outcome = model.lookup(&sum, deviation, range, std::slice::from_ref(&table));
            failure = failure.max(outcome.log2_failure);
            if outcome.tails[0] == tail {
                break;
            }
            tail = outcome.tails[0].clone();
        }
        failure
    }

    /// What the sets promise holds, and the next larger reach does not.
    #[test]
    fn the_sets_hold_what_they_promise() {
        let mut wrong = Vec::new();
        for (name, rows) in [
            ("DISCRETE_1", &[(2, 1, 3), (4, 1, 1)][..]),
            ("DISCRETE_4", &[(4, 1, 11), (8, 1, 6), (16, 1, 2), (16, 2, 16)][..]),
            ("DISCRETE_4_FINE", &[(16, 2, 49)][..]),
        ] {
            let set = DiscreteParameters::by_name(name).expect("built in");
            let model = FailureModel::new(&set);
            for &(p, order, reach) in rows {
                let at = [reach, reach + 1].map(|g| model.chain(p, order, g));
                let levels = crate::table::levels(p, order);
                let (fresh, ratio) = model.fresh(p, levels, 0.0, Some((0, reach.into())));
                println!(
                    "{name} p {p} order {order}: worst slot 2^{:.2}, bias {:.4}, ratio {ratio:.2}, \
                     reach {reach}: 2^{:.1}, then 2^{:.1}",
                    fresh.deviation.log2(),
                    fresh.bias,
                    at[0],
                    at[1]
                );
                if !(at[0] <= -128.0 && at[1] > -128.0) {
                    wrong.push(format!("{name} p {p} order {order} reach {reach}: {at:?}"));
                }
            }
            // Tables of gates let less through than the worst ones.
            for (gate, values, weight) in [
                ("AND", [0, 0, 1, 0], 2.0),
                ("OR", [0, 1, 1, 0], 2.0),
                ("NAND", [1, 1, 0, 1], 2.0),
                ("NOR", [1, 0, 0, 1], 2.0),
                ("majority", [0, 0, 1, 1], 3.0),
                ("XOR of three", [0, 1, 0, 1], 3.0),
            ] {
                let failure = chain_of(&set, &values, 1, weight);
                println!("{name} {gate}: 2^{failure:.1}");
                // Sums of three bits, in a chain, are too much for DISCRETE_1, but where the table
                // is their majority.
                let refused = (name, gate) == ("DISCRETE_1", "XOR of three");
                if (failure > -128.0) != refused {
                    wrong.push(format!("{name} {gate}: {failure}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// log2 of what functions of four bits, each of any four results before, fail with at most.
    fn chain_of_four(set: &DiscreteParameters, weights: &[f64]) -> f64 {
        let model = FailureModel::new(set);
        let (least, by_range) = model.noise(crate::table::levels(16, 2)).floor;
        let deviation = weights.iter().sum::<f64>() * (least + by_range);
        let next = |tail: &Tail| {
            let sum = Tail::sum(weights.iter().map(|w| (*w, tail)));
            let (log2, after) = model.any_table(&sum, deviation, (0, 15), (16, 2));
            (libm::exp2(log2), after)
        };
        settled(next).map_or(f64::INFINITY, libm::log2)
    }

    /// What docs/discrete.md, "Circuits" says of functions of four bits.
    #[test]
    fn functions_of_four_bits_take_finer_errors() {
        let four = [8.0, 4.0, 2.0, 1.0];
        let found = ["DISCRETE_4", "DISCRETE_4_FINE"].map(|name| {
            chain_of_four(&DiscreteParameters::by_name(name).expect("built in"), &four)
        });
        println!("four bits: 2^{:.1}, with finer errors 2^{:.1}", found[0], found[1]);
        assert!(found[0] > -128.0 && found[1] <= -128.0, "{found:?}");
    }

    #[test]
    fn tails_of_sums_are_bounds() {
        let five = Tail::bounded(0.05);
        assert_eq!((five.beyond(0.049), five.beyond(0.06)), (1.0, 0.0));
        let sum = Tail::sum([(2.0, &five), (-1.0, &five), (3.0, &Tail::none())]);
        assert_eq!((sum.beyond(0.14), sum.beyond(0.16)), (1.0, 0.0));
        let fresh = Fresh { deviation: 0.01, bias: 0.001 };
        let noisy = fresh.add(&Tail::none());
        // exp(-(0.05 - 0.001)^2 / 2 0.01^2) = 2^-17.3 at 0.05.
        let at = point_below(0.0501).expect("on the grid");
        assert!((noisy[at].log2() + 17.3).abs() < 0.4, "{}", noisy[at].log2());
        // Noise on top of an error that is there in any case.
        let more = fresh.add(&five);
        let at = point_below(0.1001).expect("on the grid");
        assert!((more[at].log2() + 17.3).abs() < 0.8, "{}", more[at].log2());
        assert!(more.iter().zip(&noisy).all(|(more, noisy)| more >= noisy));
    }

    /// An error below the grid is one: it adds up in sums, and noise comes on top of it.
    #[test]
    fn the_smallest_errors_count() {
        let least = size(0);
        // A perfect table leaves less than the least size of what is small.
        let passed = (0..POINTS).map(|i| if size(i) < 1e-3 { 1e-100 } else { 0.0 }).collect();
        let (wrong, tail) = finish(32_768, passed);
        assert_eq!(wrong, 0.0);
        for small in [tail, Tail::bounded(least / 3.0)] {
            assert!(small.beyond(0.9 * least) == 1.0 && small.quantile(1e-80) >= least);
            assert!(small.normal_above() > least);
            // 48 of them, each with a weight of 2.
            let sum = Tail::sum((0..48).map(|_| (2.0, &small)));
            assert!(sum.beyond(95.0 * least) == 1.0 && sum.beyond(100.0 * least) < 1e-80);
            let fresh = Fresh { deviation: 4.0 * least, bias: 0.0 };
            let at = point_below(20.01 * least).expect("on the grid");
            let [with, without] = [&small, &Tail::none()].map(|tail| fresh.add(tail)[at]);
            // The noise has a size of the grid less: exp(-19^2 / 2 4^2) for exp(-20^2 / 2 4^2).
            let more = (with / without).ln();
            assert!((1.1..1.4).contains(&more), "{more}");
        }
        let exact = Tail::sum([(5.0, &Tail::none())]);
        assert_eq!((exact.beyond(0.0), exact.normal_above()), (0.0, 0.0));
    }

    /// What is near is added up, what is beyond is a tail: the same as all of it one by one.
    #[test]
    fn noise_is_added_to_every_step() {
        let noisy = Fresh { deviation: 0.004, bias: 0.002 };
        let tail = Tail(noisy.add(&Tail::bounded(0.03)).into());
        let fresh = Fresh { deviation: 0.01, bias: 0.001 };
        let added = fresh.add(&tail);
        for k in (0..POINTS).step_by(97) {
            let room = size(k) - fresh.bias;
            let exceeds = |x: f64| if x <= 0.0 { 1.0 } else { (-0.5 * (x / 0.01).powi(2)).exp() };
            let one = |i: usize| (tail.0[i] - tail.0[i + 1]) * exceeds(room - size(i + 1));
            let all = (0..POINTS - 1).map(one).sum::<f64>()
                + (1.0 - tail.0[0]) * exceeds(room - size(0))
                + tail.0[POINTS - 1];
            assert!((added[k] / all.min(1.0) - 1.0).abs() < 1e-9 || all < 1e-80, "{k}: {all}");
        }
    }

    /// c of lambda = c d^2 is 7 to 9 along the circle for tables that use their range.
    #[test]
    fn tables_let_squares_through() {
        let table = Table::new(16, |m| m).expect("a table");
        for (order, power) in [(1, 2), (2, 3)] {
            let passed = Passed::of(&table.order(order).expect("an order"), 0.7, 0.0);
            let [a, b] = [0.002, 0.004].map(|d| passed.0[point_below(d).expect("on the grid")]);
            let found = (b / a).log2();
            assert!((found - f64::from(power)).abs() < 0.1, "order {order}: {found}");
        }
        let worst = Passed::worst(4, 1, 0.7, 1e-9);
        let gate = Passed::of(&Table::new(4, |m| u32::from(m == 2)).expect("a table"), 0.7, 1e-9);
        assert!(gate.0.iter().zip(&worst.0).all(|(gate, worst)| gate <= worst));
    }
}
