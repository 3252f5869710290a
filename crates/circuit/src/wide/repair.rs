//! Where a plan cleans wires: before look-ups that would be wrong too often.

use super::library::{Library, Reading};
use super::plan::{Kind, Lookup, Output, Plan};
use crate::error::{self, Result};
use girih_discrete::{Expected, Forecast, Table};
use std::collections::HashMap;

/// The number of the error of clean wires: the first of the ladder.
pub(super) const CLEAN: u32 = 0;

/// XORs of fewer terms are not divided.
const LEAST_DIVIDED: usize = 6;

/// Counts failures of look-ups; those alike once.
pub(super) struct Counter<'a> {
    forecast: &'a Forecast,
    errors: Vec<Expected>,
    /// By kind and the errors of the operands.
    known: HashMap<(usize, Vec<u32>), (f64, Vec<u32>)>,
}

impl<'a> Counter<'a> {
    pub fn new(forecast: &'a Forecast, ladder: &[Expected]) -> Self {
        Self { forecast, errors: ladder.to_vec(), known: HashMap::new() }
    }

    /// The number of an error, or of a larger one that has one.
    pub fn name(&mut self, error: Expected) -> u32 {
        let place = self.errors.iter().position(|known| error.is_within(known));
        place.unwrap_or_else(|| {
            self.errors.push(error);
            self.errors.len() - 1
        }) as u32
    }

    /// log2 of the failure probability, and errors of the results.
    pub fn lookup(&mut self, number: usize, kind: &Kind, operands: Vec<u32>) -> (f64, Vec<u32>) {
        let key = (number, operands);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let terms: Vec<(i64, &Expected)> = kind
            .weights
            .iter()
            .copied()
            .zip(key.1.iter().map(|&e| &self.errors[e as usize]))
            .collect();
        let (failure, results) = self.forecast.lookup(&terms, &kind.tables);
        let results: Vec<u32> = results.into_iter().map(|error| self.name(error)).collect();
        self.known.insert(key, (failure, results.clone()));
        (failure, results)
    }

    /// What an error exceeds so rarely that it counts.
    fn size(&self, error: u32) -> f64 {
        self.errors[error as usize].size()
    }
}

struct Repair<'a> {
    library: &'a Library,
    limit: f64,
    counter: Counter<'a>,
    plan: Plan,
    /// Where wires of the plan before are now.
    now: Vec<u32>,
    /// Of wires of the new plan: the error, the level at which they are there, the wire that is
    /// the same and clean.
    errors: Vec<u32>,
    ready: Vec<u32>,
    clean: HashMap<u32, u32>,
    /// Kinds of XORs of this module, by terms.
    xors: HashMap<usize, usize>,
}

/// The same circuit in which every look-up keeps within 2^`limit`, and log2 of the probability
/// that any is wrong.
pub(super) fn repaired(plan: &Plan, library: &Library, limit: f64) -> Result<(Plan, f64)> {
    let inputs = plan.inputs as u32;
    let counter = Counter::new(&library.forecast, &library.ladder);
    let mut repair = Repair {
        library,
        limit,
        counter,
        plan: Plan {
            lookups: Vec::new(),
            outputs: Vec::new(),
            wires: plan.inputs,
            depth: 0,
            kinds: plan.kinds.clone(),
            inputs: plan.inputs,
        },
        now: (0..inputs).collect(),
        errors: vec![CLEAN; plan.inputs],
        ready: vec![0; plan.inputs],
        clean: HashMap::new(),
        xors: HashMap::new(),
    };
    repair.now.resize(plan.wires, 0);
    let mut failure = 0f64;
    for lookup in &plan.lookups {
        let operands = lookup.operands.iter().map(|&wire| repair.now[wire as usize]).collect();
        let results = repair.add(lookup.kind, operands, &mut failure)?;
        for (&before, result) in lookup.results.iter().zip(results) {
            repair.now[before as usize] = result;
        }
    }
    let now = &repair.now;
    let output = |output: &Output| match *output {
        Output::Wire { wire, negated } => Output::Wire { wire: now[wire as usize], negated },
        constant => constant,
    };
    repair.plan.outputs = plan.outputs.iter().map(output).collect();
    Ok((repair.plan, failure.log2()))
}

impl Repair<'_> {
    fn count(&mut self, kind: usize, operands: &[u32]) -> (f64, Vec<u32>) {
        let mut errors: Vec<u32> = operands.iter().map(|&w| self.errors[w as usize]).collect();
        let of = &self.plan.kinds[kind];
        if of.weights.iter().all(|weight| *weight == 1) {
            errors.sort_unstable();
        }
        self.counter.lookup(kind, of, errors)
    }

    /// Adds a look-up, and before it what it needs; returns where its results are.
    fn add(&mut self, kind: usize, mut operands: Vec<u32>, all: &mut f64) -> Result<Vec<u32>> {
        loop {
            let (failure, errors) = self.count(kind, &operands);
            if failure <= self.limit && self.can_be_cleaned(&errors)? {
                *all += failure.exp2();
                return Ok(self.push(kind, operands, &errors));
            }
            let of = &self.plan.kinds[kind];
            let is_xor = of.tables.len() == 1 && of.tables[0].modulus() == 2;
            if is_xor && operands.len() >= LEAST_DIVIDED {
                operands = self.divided(&operands, all)?;
                let inverted = of_parity(&self.plan.kinds[kind]);
                let kind = self.xor(operands.len(), inverted)?;
                return self.add(kind, operands, all);
            }
            let weights = self.plan.kinds[kind].weights.clone();
            let share = |i: usize| {
                let error = self.errors[operands[i] as usize];
                weights[i].unsigned_abs() as f64 * self.counter.size(error)
            };
            let worst = (0..operands.len())
                .filter(|&i| self.errors[operands[i] as usize] != CLEAN)
                .max_by(|&a, &b| share(a).total_cmp(&share(b)));
            let Some(worst) = worst else {
                let what = format!("a sum with weights {weights:?} of clean bits");
                let advice = "take a set with more room";
                return error::failure(what, failure, self.limit, advice);
            };
            let dirty = operands[worst];
            let cleaned = match self.clean.get(&dirty) {
                Some(&known) => known,
                None => {
                    let kind = self.xor(1, false)?;
                    let cleaned = self.cleaned(kind, dirty, all)?;
                    self.clean.insert(dirty, cleaned);
                    cleaned
                }
            };
            operands.iter_mut().filter(|w| **w == dirty).for_each(|w| *w = cleaned);
        }
    }

    /// Whether what look-ups leave of each error is as little as is counted on.
    fn can_be_cleaned(&mut self, errors: &[u32]) -> Result<bool> {
        let kind = self.xor(1, false)?;
        Ok(errors.iter().all(|&error| {
            let (failure, cleaned) = self.counter.lookup(kind, &self.plan.kinds[kind], vec![error]);
            failure <= self.limit && cleaned == [CLEAN]
        }))
    }

    fn cleaned(&mut self, kind: usize, wire: u32, all: &mut f64) -> Result<u32> {
        let (failure, errors) = self.count(kind, &[wire]);
        if failure > self.limit {
            let what = "a bit, to remove its errors,".into();
            return error::failure(what, failure, self.limit, "take a set with more room");
        }
        *all += failure.exp2();
        Ok(self.push(kind, vec![wire], &errors)[0])
    }

    /// Both halves of a long XOR.
    fn divided(&mut self, operands: &[u32], all: &mut f64) -> Result<Vec<u32>> {
        let halves = operands.chunks(operands.len().div_ceil(2));
        halves
            .map(|half| {
                let kind = self.xor(half.len(), false)?;
                Ok(self.add(kind, half.to_vec(), all)?[0])
            })
            .collect()
    }

    fn xor(&mut self, terms: usize, inverted: bool) -> Result<usize> {
        let key = 2 * terms + usize::from(inverted);
        if let Some(&known) = self.xors.get(&key) {
            return Ok(known);
        }
        let Reading { order, .. } = self.library.parity;
        let values = [0, 1].map(|v| v ^ i64::from(inverted));
        let table = Table::from_values(&values).and_then(|t| t.order(order))?;
        let own = |kind: &Kind| kind.weights == vec![1; terms] && kind.tables == [table.clone()];
        let kind = self.plan.kinds.iter().position(own).unwrap_or_else(|| {
            let (weights, tables) = (vec![1; terms], vec![table.clone()]);
            self.plan.kinds.push(Kind { weights, constant: 0, tables });
            self.plan.kinds.len() - 1
        });
        self.xors.insert(key, kind);
        Ok(kind)
    }

    fn push(&mut self, kind: usize, operands: Vec<u32>, errors: &[u32]) -> Vec<u32> {
        let level = operands.iter().map(|&wire| self.ready[wire as usize]).max().unwrap_or(0);
        let first = self.plan.wires as u32;
        let results: Vec<u32> = (first..).take(errors.len()).collect();
        self.errors.extend(errors);
        self.ready.extend(vec![level + 1; errors.len()]);
        self.plan.wires += errors.len();
        self.plan.depth = self.plan.depth.max(level + 1);
        self.plan.lookups.push(Lookup { kind, operands, results: results.clone(), level });
        results
    }
}

/// Whether an XOR is inverted.
fn of_parity(kind: &Kind) -> bool {
    kind.tables[0].at(0) == 1
}
