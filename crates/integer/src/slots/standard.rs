//! The errors that digits and bits at rest may have, such that every operation holds.

use super::linear::{Linear, MOST};
use crate::{Error, Result, error};
use girih_discrete::{DiscreteParameters, Expected, Forecast, Table};

/// Errors so small count as large as this, so that which of two smaller ones is larger does not
/// matter. Sums of digits have weights up to 8.
const SMALL: f64 = 1.0 / 4096.0;

/// Rounds until errors are settled.
const ROUNDS: usize = 24;

/// What operations may count on: look-ups of operands with such errors leave no larger ones, so
/// that operations follow each other without end.
pub struct Standard {
    pub forecast: Forecast,
    pub limit: f64,
    /// Moduli of sums, and the highest order of tables of each.
    readings: Vec<(u32, u32)>,
    /// Of digits that come of sums modulo 8.
    digit: Expected,
    /// Of digits with the result of one look-up modulo 16 added to them.
    rest: Expected,
    bit: Expected,
}

impl std::fmt::Debug for Standard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Standard({:?}, {:?}, {:?})", self.digit, self.rest, self.bit)
    }
}

impl Standard {
    pub fn new(forecast: &Forecast, limit: f64) -> Result<Self> {
        let set = forecast.set();
        let levels = |order, modulus| girih_discrete::table_levels(modulus, order);
        let highest = |modulus: u32| {
            let fits = |order: &u32| levels(*order, modulus) <= set.table_levels();
            set.modulus().is_multiple_of(modulus).then(|| (1..=2).rev().find(fits)).flatten()
        };
        let reading = |modulus| highest(modulus).map(|order| (modulus, order));
        let readings: Vec<(u32, u32)> = [2, 4, 8, 16].into_iter().filter_map(reading).collect();
        if readings.len() < 4 {
            let why = "digits take sums modulo 2, 4, 8 and 16; take DISCRETE_4";
            return error::unsupported(set, why);
        }
        let [digit, rest, bit] = [MOST, MOST, 1].map(|high| Expected::at_most(SMALL, 0, high));
        let mut own = Self { forecast: forecast.clone(), limit, readings, digit, rest, bit };
        for _ in 0..ROUNDS {
            let next = own.next()?;
            let same = [(&next.0, &own.digit), (&next.1, &own.rest), (&next.2, &own.bit)]
                .iter()
                .all(|(next, own)| next == own);
            if same {
                return Ok(own);
            }
            (own.digit, own.rest, own.bit) = next;
        }
        let why = format!(
            "errors of sums of digits do not settle within failures of 2^{limit:.1}; take \
             DISCRETE_4"
        );
        error::unsupported(set, why)
    }

    /// Errors of a digit, a digit at rest and a bit after one operation more.
    fn next(&self) -> Result<(Expected, Expected, Expected)> {
        let Self { digit, rest, bit, .. } = self;
        // A sum of two digits and a carry, and a digit by itself.
        let sum = self.tables(7, &[|m| m % 4, |m| m / 4])?;
        let sum = self.counted(&[(1, rest), (1, rest), (1, bit)], &sum)?;
        let again = self.counted(&[(1, rest)], &self.tables(3, &[|m| m, |m| m / 2, |m| m % 2])?)?;
        let digits = digit.or(&sum[0]).or(&again[0]);
        // Functions of two bits and of three.
        let two = self.tables(3, &[|m| m & m >> 1, |m| (m | m >> 1) & 1])?;
        let two = self.counted(&[(2, bit), (1, bit)], &two)?;
        let three = self.tables(7, &[|m| 0xca >> m & 1, |m| 0x1d >> m & 1])?;
        let three = self.counted(&[(4, bit), (2, bit), (1, bit)], &three)?;
        let bits = [&sum[1], &again[1], &again[2]].into_iter().chain(&two).chain(&three);
        let bits = bits.fold(bit.clone(), |all, x| all.or(x));
        // Logic of two digits; a choice: another digit where a bit is set.
        let logic = self.tables(15, &[|m| m >> 2 & m & 3, |m| m >> 2 | m & 3, |m| m >> 2 ^ m & 3]);
        let logic = self.counted(&[(4, digit), (1, digit)], &logic?)?;
        let choice = self.tables(15, &[|m| if m >= 8 { m - 11 } else { 0 }])?;
        let choice = self.counted(&[(8, bit), (1, rest), (-1, digit)], &choice)?;
        let chosen = Expected::of_sum(&[(1, digit), (1, &choice[0])]).with_range(0, MOST);
        let at_rest = logic.iter().fold(rest.or(&digits).or(&chosen), |all, x| all.or(x));
        Ok((digits, at_rest, bits))
    }

    fn tables(&self, high: i64, functions: &[fn(i64) -> i64]) -> Result<Vec<Table>> {
        let Some((modulus, order)) = self.reading(high) else {
            let why = format!("no look-up reads a sum from 0 to {high}");
            return error::unsupported(self.set(), why);
        };
        let one = |f: &fn(i64) -> i64| {
            let values: Vec<i64> = (0..i64::from(modulus)).map(f).collect();
            Ok(Table::from_values(&values)?.order(order)?)
        };
        functions.iter().map(one).collect()
    }

    fn counted(&self, terms: &[(i64, &Expected)], tables: &[Table]) -> Result<Vec<Expected>> {
        let (log2_failure, results) = self.forecast.lookup(terms, tables);
        if log2_failure > self.limit {
            let what = format!("digits of integers, modulo {},", tables[0].modulus());
            return Err(self.failure(what, log2_failure));
        }
        Ok(results.iter().map(Expected::widened).collect())
    }

    /// The table that looks a digit or a bit up by itself.
    pub fn identity(&self, high: i64) -> Result<Table> {
        Ok(self.tables(high, &[|m| m])?.remove(0))
    }

    /// The modulus and the order of look-ups of sums of so many values and one.
    pub fn reading(&self, span: i64) -> Option<(u32, u32)> {
        self.readings.iter().copied().find(|(modulus, _)| span < i64::from(*modulus))
    }

    /// The set that look-ups are counted for.
    pub fn set(&self) -> &DiscreteParameters {
        self.forecast.set()
    }

    /// What a clean digit or bit may be off by.
    pub fn clean(&self, high: i64) -> &Expected {
        if high > 1 { &self.digit } else { &self.bit }
    }

    /// What a digit or bit between operations may be off by.
    pub fn rest(&self, high: i64) -> &Expected {
        if high > 1 { &self.rest } else { &self.bit }
    }

    pub(super) fn refusal(&self, sum: &Linear, modulus: u32, log2_failure: f64) -> Error {
        let weights: Vec<i64> = sum.terms.iter().map(|t| t.0).collect();
        let what = format!("a sum of digits with weights {weights:?}, read modulo {modulus},");
        self.failure(what, log2_failure)
    }

    fn failure(&self, what: String, log2_failure: f64) -> Error {
        Error::Discrete(girih_discrete::Error::Failure {
            what,
            log2_failure,
            limit: self.limit,
            advice: "take DISCRETE_4".into(),
        })
    }
}
