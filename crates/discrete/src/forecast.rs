//! What will be known of numbers before there are any: programs of look-ups, planned without keys.

use crate::failure::{FailureModel, Outcome, Tail};
use crate::{DiscreteParameters, Table};
use std::sync::Arc;

/// What is known of the errors of numbers that a program will have.
#[derive(Clone, PartialEq)]
pub struct Expected {
    pub(crate) deviation: f64,
    pub(crate) tail: Tail,
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let exceeded = self.tail.quantile((-128f64).exp2());
        write!(f, "Expected({:.2e}, {exceeded:.2e} with 2^-128)", self.deviation)
    }
}

impl Expected {
    /// Of numbers without errors.
    pub fn exact() -> Self {
        Self { deviation: 0.0, tail: Tail::none() }
    }

    /// Of numbers whose errors never exceed `size`.
    pub fn at_most(size: f64) -> Self {
        Self { deviation: 0.0, tail: Tail::bounded(size) }
    }

    /// Whether errors are nowhere larger than another's.
    pub fn is_within(&self, other: &Self) -> bool {
        self.deviation <= other.deviation && self.tail.is_within(&other.tail)
    }

    /// A little larger: a bound that other orders of roundings keep, too.
    #[must_use]
    pub fn widened(&self) -> Self {
        Self { deviation: self.deviation, tail: self.tail.widened() }
    }

    /// What errors exceed with 2^-100 only: one number to compare them by.
    pub fn size(&self) -> f64 {
        self.tail.quantile((-100f64).exp2())
    }

    /// Of a weighted sum, however its terms depend on each other.
    pub fn of_sum(terms: &[(i64, &Self)]) -> Self {
        let (deviation, tail) = Forecast::sum(terms);
        Self { deviation, tail }
    }

    /// The larger of both, everywhere.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let deviation = self.deviation.max(other.deviation);
        Self { deviation, tail: self.tail.or(&other.tail) }
    }
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

    fn sum(terms: &[(i64, &Expected)]) -> (f64, Tail) {
        // Terms may be one and the same: deviations add up as they are.
        let deviation = terms.iter().map(|(w, x)| w.unsigned_abs() as f64 * x.deviation).sum();
        (deviation, Tail::sum(terms.iter().map(|(w, x)| (*w as f64, &x.tail))))
    }

    fn looked_up(&self, tail: Tail, levels: usize, range: f64) -> Expected {
        let floor = self.failure.noise(levels).floor;
        Expected { deviation: floor.0 + floor.1 * range, tail }
    }

    /// Tables of one modulus of a weighted sum: log2 of the probability that any number of a
    /// ciphertext is wrong, and what is known of each result.
    pub fn lookup(&self, terms: &[(i64, &Expected)], tables: &[Table]) -> (f64, Vec<Expected>) {
        let (deviation, tail) = Self::sum(terms);
        self.outcome(self.failure.lookup(&tail, deviation, tables), tables)
    }

    fn outcome(&self, outcome: Outcome, tables: &[Table]) -> (f64, Vec<Expected>) {
        let levels = tables.iter().map(Table::levels).max().unwrap_or(0);
        let one = |(tail, table): (Tail, &Table)| {
            let (low, high) = table.range();
            self.looked_up(tail, levels, (high - low) as f64)
        };
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
        self.failure.lookup(&Tail::bounded(bound * step), mean, tables)
    }

    /// The same of one table whose values are 0 and 1, whichever they are: the worst of all.
    pub fn any_table(
        &self,
        terms: &[(i64, &Expected)],
        modulus: u32,
        order: u32,
    ) -> (f64, Expected) {
        let (deviation, tail) = Self::sum(terms);
        let (failure, tail) = self.failure.any_table(&tail, deviation, modulus, order);
        (failure, self.looked_up(tail, crate::table::levels(modulus, order), 1.0))
    }
}
