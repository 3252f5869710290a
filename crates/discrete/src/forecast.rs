//! What will be known of numbers before there are any: programs of look-ups, planned without keys.

use crate::failure::{FailureModel, Outcome, Tail};
use crate::numbers::encoding;
use crate::{DiscreteParameters, Table};
use girih_ckks::NoiseModel;
use std::sync::Arc;

/// What is known of numbers that a program will have: their range, and their errors.
#[derive(Clone, PartialEq)]
pub struct Expected {
    pub(crate) deviation: f64,
    pub(crate) tail: Tail,
    /// The least and the largest number.
    pub(crate) range: (i64, i64),
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let exceeded = self.tail.quantile((-128f64).exp2());
        write!(f, "Expected({:.2e}, {exceeded:.2e} with 2^-128)", self.deviation)
    }
}

impl Expected {
    /// Of numbers from `low` to `high` without errors.
    pub fn exact(low: i64, high: i64) -> Self {
        Self { deviation: 0.0, tail: Tail::none(), range: (low, high) }
    }

    /// Of numbers from `low` to `high` whose errors never exceed `size`.
    pub fn at_most(size: f64, low: i64, high: i64) -> Self {
        Self { deviation: 0.0, tail: Tail::bounded(size), range: (low, high) }
    }

    /// Whether numbers lie in another's range, and errors are nowhere larger.
    pub fn is_within(&self, other: &Self) -> bool {
        other.range.0 <= self.range.0
            && self.range.1 <= other.range.1
            && self.deviation <= other.deviation
            && self.tail.is_within(&other.tail)
    }

    /// The least and the largest number that there may be.
    pub fn range(&self) -> (i64, i64) {
        self.range
    }

    /// The same errors of numbers from `low` to `high`.
    #[must_use]
    pub fn with_range(self, low: i64, high: i64) -> Self {
        Self { range: (low, high), ..self }
    }

    /// A little larger: a bound that other orders of roundings keep, too.
    #[must_use]
    pub fn widened(&self) -> Self {
        Self { tail: self.tail.widened(), ..self.clone() }
    }

    /// What errors exceed with 2^-100 only: one number to compare them by.
    pub fn size(&self) -> f64 {
        self.tail.quantile((-100f64).exp2())
    }

    /// Of a weighted sum, however its terms depend on each other.
    pub fn of_sum(terms: &[(i64, &Self)]) -> Self {
        // Terms may be one and the same: deviations add up as they are.
        let deviation = terms.iter().map(|(w, x)| w.unsigned_abs() as f64 * x.deviation).sum();
        let tail = Tail::sum(terms.iter().map(|(w, x)| (*w as f64, &x.tail)));
        Self { deviation, tail, range: range_of_sum(terms.iter().map(|(w, x)| (*w, x.range))) }
    }

    /// The larger of both, everywhere, and both ranges.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            deviation: self.deviation.max(other.deviation),
            tail: self.tail.or(&other.tail),
            range: (self.range.0.min(other.range.0), self.range.1.max(other.range.1)),
        }
    }
}

/// The range of a sum of numbers times weights.
pub(crate) fn range_of_sum(terms: impl Iterator<Item = (i64, (i64, i64))>) -> (i64, i64) {
    terms.fold((0, 0), |(low, high): (i64, i64), (weight, (least, largest))| {
        let ends = [least, largest].map(|end| weight.saturating_mul(end));
        (low.saturating_add(ends[0].min(ends[1])), high.saturating_add(ends[0].max(ends[1])))
    })
}

/// How likely look-ups of a set are wrong, and what errors they leave: what
/// [`ServerKey`](crate::ServerKey) counts with, without keys and before anything runs. Cheap to
/// clone; what was computed is shared.
#[derive(Clone)]
pub struct Forecast {
    set: DiscreteParameters,
    failure: Arc<FailureModel>,
}

impl std::fmt::Debug for Forecast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Forecast({})", self.set)
    }
}

impl Forecast {
    /// Of a set.
    pub fn new(set: &DiscreteParameters) -> Self {
        Self { set: set.clone(), failure: Arc::new(FailureModel::new(set)) }
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    pub(crate) fn failure(&self) -> &FailureModel {
        &self.failure
    }

    fn looked_up(&self, tail: Tail, levels: usize, range: (i64, i64)) -> Expected {
        let floor = self.failure.noise(levels).floor;
        let deviation = floor.0 + floor.1 * (range.1 - range.0) as f64;
        Expected { deviation, tail, range }
    }

    /// Of fresh numbers below `below`, encrypted under the secret key.
    pub fn fresh(&self, below: u32) -> Expected {
        let model = NoiseModel::new(self.set.ckks());
        Expected {
            deviation: model.deviation(model.fresh(), self.set.scale()),
            tail: Tail::bounded(encoding(&self.set)),
            range: (0, i64::from(below) - 1),
        }
    }

    /// Tables of one modulus of a weighted sum: log2 of the probability that any number of a
    /// ciphertext is wrong, and what is known of each result.
    pub fn lookup(&self, terms: &[(i64, &Expected)], tables: &[Table]) -> (f64, Vec<Expected>) {
        let sum = Expected::of_sum(terms);
        let found = self.failure.lookup(&sum.tail, sum.deviation, sum.range, tables);
        self.outcome(found, tables)
    }

    fn outcome(&self, outcome: Outcome, tables: &[Table]) -> (f64, Vec<Expected>) {
        let levels = tables.iter().map(Table::levels).max().unwrap_or(0);
        let one = |(tail, table): (Tail, &Table)| self.looked_up(tail, levels, table.range());
        (outcome.log2_failure, outcome.tails.into_iter().zip(tables).map(one).collect())
    }

    /// Tables of one modulus of phases ([`Phases`](crate::Phases)) with normal errors of
    /// `deviation` turns, on top of what is `bound` at most: as [`Forecast::lookup`].
    pub fn phases(&self, deviation: f64, bound: f64, tables: &[Table]) -> (f64, Vec<Expected>) {
        self.outcome(self.of_phases(deviation, bound, tables), tables)
    }

    pub(crate) fn of_phases(&self, deviation: f64, bound: f64, tables: &[Table]) -> Outcome {
        let step = tables.first().map_or(2.0, |table| f64::from(table.modulus()));
        // Errors of coefficients are alike in all; what is counted is that of the worst slot.
        let mean = deviation * step / self.set.flatness().sqrt();
        self.failure.phases(&Tail::bounded(bound * step), mean, tables)
    }

    /// The same of one table whose values are 0 and 1, whichever they are: the worst of all.
    pub fn any_table(
        &self,
        terms: &[(i64, &Expected)],
        modulus: u32,
        order: u32,
    ) -> (f64, Expected) {
        let sum = Expected::of_sum(terms);
        let (failure, tail) =
            self.failure.any_table(&sum.tail, sum.deviation, sum.range, (modulus, order));
        (failure, self.looked_up(tail, crate::table::levels(modulus, order), (0, 1)))
    }
}
