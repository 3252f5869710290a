//! A recorded operation, ready to run: look-ups by level, without those that nobody reads.

use super::linear::Linear;
use girih_discrete::{Expected, Table};
use std::collections::BTreeMap;

/// What look-ups that run side by side have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    pub weights: Vec<i64>,
    pub constant: i64,
    pub tables: Vec<Table>,
}

#[derive(Clone, Debug)]
pub(super) struct LookUp {
    pub kind: usize,
    pub operands: Vec<u32>,
    /// A wire for each table.
    pub results: Vec<u32>,
    /// What the sum is from and to.
    #[cfg_attr(not(test), expect(dead_code, reason = "what a simulation is held to"))]
    pub bounds: (i64, i64),
    pub level: usize,
}

/// Look-ups that do not depend on each other, by kind, and wires that nothing reads after them.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub kinds: BTreeMap<usize, Vec<usize>>,
    pub last_reads: Vec<u32>,
}

/// A digit of a result.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub sum: Linear,
    /// Whether its errors are those of a clean digit or bit.
    pub clean: bool,
}

#[derive(Debug)]
pub struct Program {
    pub(super) inputs: usize,
    /// What each wire's errors count as.
    pub(super) wires: Vec<Expected>,
    pub(super) lookups: Vec<LookUp>,
    pub(super) kinds: Vec<Kind>,
    pub(super) levels: Vec<Level>,
    pub(super) outputs: Vec<Vec<Output>>,
}

impl Program {
    pub(super) fn new(
        inputs: usize,
        wires: Vec<Expected>,
        lookups: Vec<LookUp>,
        kinds: Vec<Kind>,
        outputs: Vec<Vec<(Linear, bool)>>,
    ) -> Self {
        let output = |(sum, clean)| Output { sum, clean };
        let outputs = outputs.into_iter().map(|o| o.into_iter().map(output).collect()).collect();
        let (inputs, levels) = (inputs, Vec::new());
        let mut program = Self { inputs, wires, lookups, kinds, levels, outputs };
        program.prune();
        program.schedule();
        program
    }

    fn read_by_outputs(&self) -> impl Iterator<Item = u32> {
        self.outputs.iter().flatten().flat_map(|o| o.sum.terms.iter().map(|t| t.1))
    }

    /// Leaves out tables and look-ups that nobody reads.
    fn prune(&mut self) {
        let mut read = vec![false; self.wires.len()];
        self.read_by_outputs().for_each(|wire| read[wire as usize] = true);
        let mut kept: Vec<LookUp> = Vec::with_capacity(self.lookups.len());
        let mut kinds: Vec<Kind> = Vec::new();
        for mut lookup in std::mem::take(&mut self.lookups).into_iter().rev() {
            let used: Vec<bool> = lookup.results.iter().map(|&w| read[w as usize]).collect();
            if !used.contains(&true) {
                continue;
            }
            lookup.operands.iter().for_each(|&wire| read[wire as usize] = true);
            let mut kind = self.kinds[lookup.kind].clone();
            let mut of = used.iter();
            kind.tables.retain(|_| of.next() == Some(&true));
            let mut of = used.iter();
            lookup.results.retain(|_| of.next() == Some(&true));
            lookup.kind = kinds.iter().position(|k| *k == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            kept.push(lookup);
        }
        kept.reverse();
        (self.lookups, self.kinds) = (kept, kinds);
    }

    fn schedule(&mut self) {
        let mut ready = vec![0; self.wires.len()];
        let mut last: Vec<Option<usize>> = vec![None; self.wires.len()];
        for (i, lookup) in self.lookups.iter_mut().enumerate() {
            let level = lookup.operands.iter().map(|&w| ready[w as usize]).max().unwrap_or(0);
            lookup.level = level;
            lookup.results.iter().for_each(|&w| ready[w as usize] = level + 1);
            for &wire in &lookup.operands {
                let last = &mut last[wire as usize];
                *last = Some(last.map_or(level, |last| last.max(level)));
            }
            if self.levels.len() <= level {
                self.levels.resize_with(level + 1, Level::default);
            }
            self.levels[level].kinds.entry(lookup.kind).or_default().push(i);
        }
        let outputs: Vec<u32> = self.read_by_outputs().collect();
        outputs.into_iter().for_each(|wire| last[wire as usize] = None);
        for (wire, last) in last.into_iter().enumerate() {
            if let Some(level) = last {
                self.levels[level].last_reads.push(wire as u32);
            }
        }
    }

    /// Tables of all look-ups.
    pub fn tables(&self) -> usize {
        self.lookups.iter().map(|lookup| lookup.results.len()).sum()
    }

    /// Runs it on plain digits; every sum must be within what it was recorded with.
    #[cfg(test)]
    pub fn simulate(&self, inputs: &[i64]) -> Vec<Vec<i64>> {
        assert_eq!(inputs.len(), self.inputs);
        let mut wires = inputs.to_vec();
        wires.resize(self.wires.len(), 0);
        for lookup in &self.lookups {
            let kind = &self.kinds[lookup.kind];
            let terms = kind.weights.iter().zip(&lookup.operands);
            let sum: i64 = terms.map(|(weight, &wire)| weight * wires[wire as usize]).sum();
            let (low, high) = lookup.bounds;
            let p = i64::from(kind.tables[0].modulus());
            // The constant is known modulo p only.
            let number = low + (sum + kind.constant - low).rem_euclid(p);
            assert!(number <= high, "a sum of {number} where at most {high} was recorded");
            for (&wire, table) in lookup.results.iter().zip(&kind.tables) {
                wires[wire as usize] = table.at(number);
            }
        }
        let output = |o: &Output| {
            let terms = o.sum.terms.iter();
            let sum: i64 = terms.map(|&(weight, wire)| weight * wires[wire as usize]).sum();
            let value = sum + o.sum.constant;
            assert!((o.sum.low..=o.sum.high).contains(&value), "{value} is no digit");
            value
        };
        self.outputs.iter().map(|digits| digits.iter().map(output).collect()).collect()
    }
}
