//! Look-ups of sums: checked, counted, run.

use super::recordings::Kind;
use super::{ServerKey, Sum, Wires};
use crate::failure::Outcome;
use crate::{Error, Expected, Result, Table, error};
use girih_ckks::server::Ciphertexts;
use girih_rlwe::{Counts, Mismatch};

/// Tables of one sum, checked.
pub(super) struct Tables {
    pub all: Vec<Table>,
    pub modulus: u32,
    pub levels: usize,
}

impl Tables {
    /// How recordings know them.
    pub fn kinds(&self) -> Vec<(Vec<i64>, u32)> {
        self.all.iter().map(|t| (t.values().to_vec(), t.order_of())).collect()
    }
}

impl ServerKey {
    /// Several tables of one number each: f(m) for every number m of the batch, which is read
    /// modulo the tables' modulus. The tables share all but a few key switches. What comes out has
    /// errors that do not depend on how many look-ups came before.
    ///
    /// # Errors
    /// As [`ServerKey::lookup_sum`].
    pub fn lookup(&self, x: &Wires, tables: &[&Table]) -> Result<Vec<Wires>> {
        self.lookup_sum(&[(1, x)], 0, tables)
    }

    /// The same of a weighted sum plus a constant, which is recorded with the look-up.
    ///
    /// # Errors
    /// As [`ServerKey::sum`]; [`Error::Mismatch`] without tables and for tables of several moduli,
    /// [`Error::Table`] for a modulus that the set has not, [`Error::Levels`] for more levels than
    /// it has for tables; [`Error::Failure`] for what would be wrong too often.
    pub fn lookup_sum(
        &self,
        terms: &[(i64, &Wires)],
        constant: i64,
        tables: &[&Table],
    ) -> Result<Vec<Wires>> {
        let (weights, wires): (Vec<i64>, Vec<&Wires>) =
            terms.iter().filter(|(weight, _)| *weight != 0).copied().unzip();
        Ok(self.lookup_each(&weights, constant, &[wires], tables)?.remove(0))
    }

    /// Look-ups of several sums which have weights, constant and tables in common, and wires of
    /// their own: a device does them side by side, as it does the ciphertexts of a batch.
    ///
    /// # Errors
    /// As [`ServerKey::lookup_sum`], and [`Error::Mismatch`] for a sum of another number of terms
    /// than there are weights.
    pub fn lookup_each(
        &self,
        weights: &[i64],
        constant: i64,
        sums: &[Vec<&Wires>],
        tables: &[&Table],
    ) -> Result<Vec<Vec<Wires>>> {
        let tables = self.check_tables(tables)?;
        self.check_modulus(tables.modulus)?;
        let mut checked: Vec<(Sum, Outcome)> = Vec::with_capacity(sums.len());
        for wires in sums {
            if wires.len() != weights.len() {
                let what = format!("terms of a sum with {} weights", weights.len());
                return error::count(what, wires.len(), Counts::Exactly(weights.len()));
            }
            let terms: Vec<(i64, &Wires)> =
                weights.iter().copied().zip(wires.iter().copied()).collect();
            let sum = self.weighted(&terms, constant)?;
            let outcome = self.count(&sum, &tables.all)?;
            checked.push((sum, outcome));
        }
        let Some((first, _)) = checked.first() else {
            return error::mismatch(Mismatch::empty("sums to look up"));
        };
        // The set reads sums modulo p: a table modulo p' reads them times p/p'.
        let factor = i64::from(self.set.modulus() / tables.modulus);
        let kind = Kind {
            weights: first.weights.iter().map(|w| w * factor).collect(),
            constant: constant.rem_euclid(i64::from(tables.modulus)) * factor,
            tables: tables.kinds(),
            ..Kind::default()
        };
        let recording = self.recording(kind, &tables.all)?;
        let used = |(wires, (sum, _)): (&Vec<_>, &(Sum, _))| {
            debug_assert_eq!(sum.weights.len(), weights.iter().filter(|w| **w != 0).count());
            let terms: Vec<_> = weights.iter().copied().zip(wires.iter().copied()).collect();
            Self::used(&terms)
        };
        let runs: Vec<_> = sums.iter().zip(&checked).map(used).collect();
        let results = recording.run_each(&runs)?;
        let wires = |(ciphertexts, (sum, outcome)): (Vec<_>, (Sum, Outcome))| {
            self.looked_up(ciphertexts, sum.numbers, &tables, outcome)
        };
        Ok(results.into_iter().zip(checked).map(wires).collect())
    }

    /// Results with what is known of them.
    pub(super) fn looked_up(
        &self,
        ciphertexts: Vec<Ciphertexts>,
        numbers: usize,
        tables: &Tables,
        outcome: Outcome,
    ) -> Vec<Wires> {
        let floor = self.forecast.failure().noise(tables.levels).floor;
        let one = |((ciphertexts, table), tail): ((_, &Table), _)| {
            let (low, high) = table.range();
            let deviation = floor.0 + floor.1 * (high - low) as f64;
            let set = self.set.clone();
            Wires { ciphertexts, set, numbers, range: (low, high), deviation, tail }
        };
        ciphertexts.into_iter().zip(&tables.all).zip(outcome.tails).map(one).collect()
    }

    pub(super) fn check_tables(&self, tables: &[&Table]) -> Result<Tables> {
        let Some(first) = tables.first() else {
            return error::mismatch(Mismatch::empty("tables of a look-up"));
        };
        let modulus = first.modulus();
        if let Some(other) = tables.iter().find(|t| t.modulus() != modulus) {
            let [first, second] = [modulus, other.modulus()].map(|m| format!("a table modulo {m}"));
            let rule = "tables of one sum read it modulo one number";
            return error::mismatch(Mismatch::unlike(first, second, rule));
        }
        let levels = tables.iter().map(|t| t.levels()).max().unwrap_or(0);
        if levels > self.set.table_levels() {
            let order = tables.iter().map(|t| t.order_of()).max().unwrap_or(1);
            return self.too_deep(modulus, order, levels);
        }
        Ok(Tables { all: tables.iter().map(|&t| t.clone()).collect(), modulus, levels })
    }

    /// What a look-up makes of errors, if that is allowed.
    fn count(&self, sum: &Sum, tables: &[Table]) -> Result<Outcome> {
        let Expected { deviation, tail, range } = &sum.terms;
        let outcome = self.forecast.failure().lookup(tail, *deviation, *range, tables);
        let limit = self.failure_limit();
        if outcome.log2_failure > limit {
            return Err(self.refusal(sum, tables, outcome.log2_failure, limit));
        }
        Ok(outcome)
    }

    fn refusal(&self, sum: &Sum, tables: &[Table], log2_failure: f64, limit: f64) -> Error {
        let modulus = tables[0].modulus();
        let orders =
            (1..=2).filter(|&o| crate::table::levels(modulus, o) <= self.set.table_levels());
        let reaches: Vec<String> = orders
            .map(|order| {
                let reach = self.forecast.failure().reach(modulus, order, limit);
                format!("{reach} from tables of order {order}")
            })
            .collect();
        Error::Failure {
            what: format!("a sum with weights {:?}, read modulo {modulus},", sum.weights),
            log2_failure,
            limit,
            advice: format!(
                "the ranges of its terms times their weights may sum to {}; take smaller weights, \
                 tables of a smaller range or of a higher order before the sum, or a set for \
                 larger numbers",
                reaches.join(", or to ")
            ),
        }
    }
}
