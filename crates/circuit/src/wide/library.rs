//! What one look-up of a set computes of bits, within the failure bound.
//!
//! Where there is room, functions and XORs follow each other without end: there is an error that no
//! wire exceeds, because look-ups of wires within it leave no more. Where there is not
//! (DISCRETE_1), errors of functions of functions grow, and before a look-up would be wrong too
//! often its operands are *cleaned*: looked up once more by themselves modulo 2, which leaves
//! hardly any error. Where that is, is for each plan to say (`repair.rs`).

use crate::error::{Result, unsupported};
use girih_discrete::{DiscreteParameters, Expected, Forecast, Table};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Numbers of terms of XORs that are tried.
const TERMS: [usize; 17] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64];

/// Functions of functions at most that are counted before one is cleaned, and rounds until errors
/// of clean wires are settled.
const IN_A_ROW: usize = 24;

/// So many functions must hold one after the other before a wire is cleaned.
const LEAST_IN_A_ROW: usize = 7;

/// Tables of one modulus and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub modulus: u32,
    pub order: u32,
}

#[derive(Debug)]
pub(crate) struct Library {
    /// Any function of 2, 3, 4 bits, as a table of their sum with weights 1, 2, 4, 8. Where a set
    /// bears no weights but 1 there is none, and gates of two bits are tables of a + b.
    pub any: Vec<Reading>,
    /// Functions of the sum of two bits, each of which may be inverted.
    pub pairs: Reading,
    /// XOR of many bits: a sum modulo 2.
    pub parity: Reading,
    /// So many bits at most.
    pub most_terms: usize,
    /// Errors of clean wires, which inputs may have; of functions of them, of functions of these,
    /// as far as that is allowed.
    pub ladder: Vec<Expected>,
    pub forecast: Forecast,
}

/// The highest order whose tables fit a set.
fn reading(set: &DiscreteParameters, modulus: u32) -> Option<Reading> {
    let identity = Table::new(modulus, |m| m).ok()?;
    let fits = |&order: &u32| {
        identity.order(order).is_ok_and(|table| table.levels() <= set.table_levels())
    };
    (1..=2).rev().find(fits).map(|order| Reading { modulus, order })
}

/// The smallest modulus that sums of a set are read with and which has `values` values.
fn modulus(set: &DiscreteParameters, values: u32) -> Option<u32> {
    (values..=set.modulus()).find(|m| set.modulus().is_multiple_of(*m))
}

/// Values of a table of the sum of two bits.
pub(crate) fn of_pair(at: [bool; 3], modulus: u32) -> Vec<i64> {
    // Sums of two bits never reach 3: a value there like that of 0 keeps polynomials small.
    (0..modulus as usize).map(|sum| i64::from(at[if sum < 3 { sum } else { 0 }])).collect()
}

/// Forms that are tried together.
struct Trial<'a> {
    forecast: &'a Forecast,
    limit: f64,
    any: &'a [Reading],
    pairs: &'a [Table],
    parity: Reading,
}

impl Trial<'_> {
    /// The XOR of `terms` bits.
    fn parity(&self, terms: usize, of: &Expected) -> (f64, Expected) {
        let Reading { modulus, order } = self.parity;
        let (failure, result) = self.forecast.any_table(&vec![(1, of); terms], modulus, order);
        (failure, result.widened())
    }

    /// A bit looked up by itself, as plans do.
    fn cleaned(&self, of: &Expected) -> Option<(f64, Expected)> {
        let Reading { modulus, order } = self.parity;
        let same = Table::new(modulus, |m| m).and_then(|table| table.order(order)).ok()?;
        let (failure, results) = self.forecast.lookup(&[(1, of)], &[same]);
        Some((failure, results.first()?.widened()))
    }

    /// The worst of all functions.
    fn functions(&self, of: &Expected) -> (f64, Expected) {
        let mut worst = (f64::NEG_INFINITY, Expected::exact(0, 1));
        let mut add = |(failure, result): (f64, Expected)| {
            worst = (worst.0.max(failure), worst.1.or(&result.widened()));
        };
        for (bits, form) in (2..).zip(self.any) {
            let weights: Vec<_> = (0..bits).map(|i| (1i64 << i, of)).collect();
            add(self.forecast.any_table(&weights, form.modulus, form.order));
        }
        for table in self.pairs {
            let (failure, mut results) =
                self.forecast.lookup(&[(1, of), (1, of)], std::slice::from_ref(table));
            add((failure, results.remove(0)));
        }
        worst
    }

    /// Functions, and XORs of so many terms.
    fn all(&self, of: &Expected, terms: usize) -> (f64, Expected) {
        let [(a, functions), (b, xors)] = [self.functions(of), self.parity(terms, of)];
        (a.max(b), functions.or(&xors))
    }

    /// The error that no wire exceeds where XORs have so many terms; none if there is no such.
    fn settled(&self, terms: usize) -> Option<Expected> {
        let mut standard = self.forecast.fresh(2);
        for _ in 0..IN_A_ROW {
            let (failure, result) = self.all(&standard, terms);
            // What is looked up by itself is to have no more, however unlikely.
            let (again, cleaned) = self.cleaned(&standard)?;
            if failure.max(again) > self.limit {
                return None;
            }
            let next = standard.or(&result).or(&cleaned);
            if next == standard {
                return Some(standard);
            }
            standard = next;
        }
        None
    }

    /// The longest XORs for which errors settle, and what they settle at.
    fn without_end(&self) -> Option<(usize, Vec<Expected>)> {
        let found = TERMS.into_iter().map_while(|n| Some((n, vec![self.settled(n)?])));
        found.last()
    }

    /// Errors of clean wires, and of functions of them one after the other, `steps` times: such
    /// that cleaning any of them gives no more than the first. None if there are no such.
    fn ladder(&self, terms: usize, steps: usize) -> Option<Vec<Expected>> {
        let mut clean = self.forecast.fresh(2);
        for _ in 0..IN_A_ROW {
            let (mut ladder, mut next) = (vec![clean.clone()], clean.clone());
            for _ in 0..steps {
                let (failure, result) = self.all(ladder.last()?, terms);
                let (again, cleaned) = self.parity(1, &result);
                if failure.max(again) > self.limit {
                    return None;
                }
                next = next.or(&cleaned);
                ladder.push(result);
            }
            if next == clean {
                return Some(ladder);
            }
            clean = next;
        }
        None
    }

    /// The longest XORs with which at least so many functions may follow each other, and errors
    /// of the most that may.
    fn with_cleaning(&self, least: usize) -> Option<(usize, Vec<Expected>)> {
        let terms = TERMS.into_iter().take_while(|&terms| self.ladder(terms, least).is_some());
        let terms = terms.last()?;
        let ladders = (least..IN_A_ROW).map_while(|steps| self.ladder(terms, steps));
        Some((terms, ladders.last()?))
    }
}

/// What a set bears: without cleaning, with it.
pub(crate) type Libraries = Arc<[Arc<Library>]>;

impl Library {
    /// The libraries of a set, which are kept: what is best depends on the circuit.
    pub fn of(set: &DiscreteParameters, limit: f64) -> Result<Libraries> {
        type Known = HashMap<(String, u64), (DiscreteParameters, Libraries)>;
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        let name = (set.to_string(), limit.to_bits());
        {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, all)) = known.get(&name).filter(|(own, _)| own == set) {
                return Ok(all.clone());
            }
        }
        let made: Libraries = Self::all(set, limit)?.into_iter().map(Arc::new).collect();
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name, (set.clone(), made.clone()));
        Ok(made)
    }

    fn all(set: &DiscreteParameters, limit: f64) -> Result<Vec<Self>> {
        let forecast = Forecast::new(set);
        let known = |values| modulus(set, values).and_then(|modulus| reading(set, modulus));
        let (Some(parity), Some(pairs)) = (known(2).filter(|p| p.modulus == 2), known(3)) else {
            let why = "sums must be read modulo 2, and modulo 3 or more, which takes an even \
                       modulus of 4 or more";
            return unsupported(set, why);
        };
        // Each of two bits but XOR and its inverse.
        let tables = [1u32, 3, 4, 6].into_iter().map(|k| {
            let at = [0, 1, 2].map(|sum| k >> sum & 1 == 1);
            Table::from_values(&of_pair(at, pairs.modulus)).and_then(|t| t.order(pairs.order))
        });
        let tables: Vec<Table> = tables.collect::<girih_discrete::Result<_>>()?;
        let forms: Vec<Reading> = [4, 8, 16].into_iter().map_while(known).collect();
        let trial = |any, pairs| Trial { forecast: &forecast, limit, any, pairs, parity };
        let tried = (1..=forms.len()).rev().map(|bits| (&forms[..bits], &[][..]));
        let mut all = Vec::new();
        let mut add = |any: &[Reading], (most_terms, ladder)| {
            let (any, forecast) = (any.to_vec(), forecast.clone());
            all.push(Self { any, pairs, parity, most_terms, ladder, forecast });
        };
        let all_forms = tried.chain([(&[][..], &tables[..])]);
        let endless = |(any, pairs)| Some((any, trial(any, pairs).without_end()?));
        if let Some((any, found)) = all_forms.into_iter().find_map(endless) {
            add(any, found);
        } else if let Some(found) = trial(&[], &tables).with_cleaning(LEAST_IN_A_ROW) {
            add(&[], found);
        }
        if all.is_empty() {
            let why = format!(
                "gates of two bits would be wrong with a probability above 2^{limit:.1} a \
                 ciphertext; take DISCRETE_1 or DISCRETE_4"
            );
            return unsupported(set, why);
        }
        Ok(all)
    }

    /// Most bits that a table reads.
    pub fn most_leaves(&self) -> usize {
        self.any.len().max(1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_bear_what_was_counted() {
        for (name, wanted) in [
            ("DISCRETE_1", &[(0, 3, 8)][..]),
            ("DISCRETE_4", &[(2, 64, 1)]),
            ("DISCRETE_4_FINE", &[(3, 64, 1)]),
        ] {
            let set = DiscreteParameters::by_name(name).expect("built in");
            let all = Library::of(&set, -128.0).expect("it has gates");
            let of = |l: &Arc<Library>| (l.any.len(), l.most_terms, l.ladder.len());
            let found: Vec<_> = all.iter().map(of).collect();
            assert_eq!(found, wanted, "{name}");
        }
    }
}
