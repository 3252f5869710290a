//! Operations on digits as they are recorded: sums are free, look-ups are counted.

use super::linear::Linear;
use super::program::{Kind, LookUp, Program};
use super::standard::Standard;
use crate::{Result, error};
use girih_discrete::{Expected, Table};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A function of what a sum is.
pub(super) type Function<'a> = &'a dyn Fn(i64) -> i64;

/// Writes down look-ups, and counts what each leaves of errors: none is recorded that would be
/// wrong too often.
pub(super) struct Recorder {
    standard: Arc<Standard>,
    inputs: usize,
    /// Different errors, and which of them each wire has.
    errors: Vec<Expected>,
    wires: Vec<usize>,
    lookups: Vec<LookUp>,
    kinds: Vec<Kind>,
    /// Errors of results by kind and errors of operands: a program has few.
    counted: HashMap<(usize, Vec<usize>), Vec<usize>>,
}

impl Recorder {
    pub fn new(standard: Arc<Standard>) -> Self {
        let (errors, wires, lookups, kinds, counted) = Default::default();
        Self { standard, inputs: 0, errors, wires, lookups, kinds, counted }
    }

    /// The number of errors, which are kept once.
    fn name(&mut self, errors: Expected) -> usize {
        self.errors.iter().position(|known| *known == errors).unwrap_or_else(|| {
            self.errors.push(errors);
            self.errors.len() - 1
        })
    }

    fn add(&mut self, errors: usize, low: i64, high: i64) -> Linear {
        self.wires.push(errors);
        Linear::wire(self.wires.len() as u32 - 1, low, high)
    }

    /// A wire that is there before the program runs. They come before all look-ups.
    pub fn input(&mut self, expected: Expected, high: i64) -> Linear {
        self.inputs += 1;
        let errors = self.name(expected.with_range(0, high));
        self.add(errors, 0, high)
    }

    fn terms(&self, sum: &Linear) -> Vec<(i64, &Expected)> {
        let errors = |wire: u32| &self.errors[self.wires[wire as usize]];
        sum.terms.iter().map(|&(weight, wire)| (weight, errors(wire))).collect()
    }

    /// Whether the errors of a sum are within others.
    fn is_within(&self, sum: &Linear, most: &Expected) -> bool {
        let (low, high) = most.range();
        Expected::of_sum(&self.terms(sum)).with_range(low, high).is_within(most)
    }

    /// Whether it has the errors of a clean digit or bit at most.
    pub fn is_clean(&self, x: &Linear) -> bool {
        self.is_within(x, self.standard.clean(x.high))
    }

    /// Functions of a sum, by one look-up.
    pub fn look_up(&mut self, sum: &Linear, functions: &[Function<'_>]) -> Result<Vec<Linear>> {
        if let Some(value) = sum.value() {
            return Ok(functions.iter().map(|f| Linear::constant(f(value))).collect());
        }
        let (low, high) = (sum.low, sum.high);
        let Some((modulus, order)) = self.standard.reading(high - low) else {
            let set = self.standard.set();
            return error::unsupported(set, format!("no look-up reads a sum from {low} to {high}"));
        };
        let ends = |f: Function<'_>| {
            let values = (low..=high).map(f);
            values.fold((i64::MAX, i64::MIN), |(a, b), v| (a.min(v), b.max(v)))
        };
        let bounds: Vec<(i64, i64)> = functions.iter().map(|f| ends(*f)).collect();
        let mut tables = Vec::new();
        for (f, _) in functions.iter().zip(&bounds).filter(|(_, (low, high))| low != high) {
            tables.push(table(modulus, order, low, high, *f)?);
        }
        if tables.is_empty() {
            return Ok(bounds.into_iter().map(|(value, _)| Linear::constant(value)).collect());
        }
        // One order of terms, so that equal look-ups run side by side.
        let mut terms = sum.terms.clone();
        terms.sort_unstable_by_key(|&(weight, wire)| (weight, self.wires[wire as usize], wire));
        let sorted = Linear { terms, ..sum.clone() };
        let (weights, operands): (_, Vec<u32>) = sorted.terms.iter().copied().unzip();
        let constant = sum.constant.rem_euclid(i64::from(modulus));
        let kind = Kind { weights, constant, tables };
        let kind = self.kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        let mut left = self.count(kind, &sorted, modulus)?.into_iter();
        let mut made = Vec::new();
        let mut one = |(low, high): (i64, i64)| {
            if low == high {
                return Linear::constant(low);
            }
            let wire = self.add(left.next().expect("a result for each table"), low, high);
            made.push(wire.terms[0].1);
            wire
        };
        let wires: Vec<Linear> = bounds.into_iter().map(&mut one).collect();
        self.lookups.push(LookUp { kind, operands, results: made, bounds: (low, high), level: 0 });
        Ok(wires)
    }

    /// Errors of what a look-up gives.
    fn count(&mut self, kind: usize, sum: &Linear, modulus: u32) -> Result<Vec<usize>> {
        let of = sum.terms.iter().map(|&(_, wire)| self.wires[wire as usize]).collect();
        if let Some(known) = self.counted.get(&(kind, of)) {
            return Ok(known.clone());
        }
        let (log2_failure, results) =
            self.standard.forecast.lookup(&self.terms(sum), &self.kinds[kind].tables);
        if log2_failure > self.standard.limit {
            return Err(self.standard.refusal(sum, modulus, log2_failure));
        }
        let names: Vec<usize> = results.iter().map(|x| self.name(x.widened())).collect();
        let of = sum.terms.iter().map(|&(_, wire)| self.wires[wire as usize]).collect();
        self.counted.insert((kind, of), names.clone());
        Ok(names)
    }

    /// One function of a sum.
    pub fn one(&mut self, sum: &Linear, f: impl Fn(i64) -> i64) -> Result<Linear> {
        Ok(self.look_up(sum, &[&f])?.remove(0))
    }

    /// The same number with the errors of a clean digit or bit.
    pub fn clean(&mut self, x: &Linear) -> Result<Linear> {
        if self.is_clean(x) { Ok(x.clone()) } else { self.one(x, |v| v) }
    }

    /// The same of all.
    pub fn cleaned(&mut self, all: &[Linear]) -> Result<Vec<Linear>> {
        all.iter().map(|x| self.clean(x)).collect()
    }

    /// The program of what was recorded, with these results.
    pub fn finish(mut self, outputs: Vec<Vec<Linear>>) -> Result<Program> {
        let mut finished = Vec::with_capacity(outputs.len());
        for digits in outputs {
            let mut all = Vec::with_capacity(digits.len());
            for x in digits {
                let rests = self.is_within(&x, self.standard.rest(x.high));
                let x = if rests { x } else { self.clean(&x)? };
                let clean = self.is_clean(&x);
                if !clean && !self.is_within(&x, self.standard.rest(x.high)) {
                    let terms = x.terms.len();
                    let why = format!("errors of a digit of {terms} terms do not settle");
                    return error::unsupported(self.standard.set(), why);
                }
                all.push((x, clean));
            }
            finished.push(all);
        }
        let errors = self.wires.iter().map(|&errors| self.errors[errors].clone()).collect();
        Ok(Program::new(self.inputs, errors, self.lookups, self.kinds, finished))
    }
}

/// The table of a function of numbers from `low` to `high`. Where no such number is, it goes on as
/// at the nearer end, which keeps its polynomial small.
fn table(modulus: u32, order: u32, low: i64, high: i64, f: Function<'_>) -> Result<Table> {
    let p = i64::from(modulus);
    let mut values = BTreeMap::new();
    for step in 0..p {
        let number = low + step;
        let beyond = number - high;
        let at = if beyond <= 0 {
            number
        } else if 2 * beyond <= p - (high - low) {
            high
        } else {
            low
        };
        values.insert(number.rem_euclid(p), f(at));
    }
    let values: Vec<i64> = values.into_values().collect();
    Ok(Table::from_values(&values)?.order(order)?)
}
