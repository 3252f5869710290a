//! A recorded operation, made ready to run: levels of look-ups, and places for their results.

use crate::tfhe::record::{DigitState, Kind, Linear, Margin, Node, Pair, Recorder, Table};
use std::collections::{BTreeMap, HashMap, HashSet};

#[cfg(test)]
use crate::tfhe::{FINE, record::around};

/// Where a digit is while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Input {
        operand: usize,
        digit: usize,
    },
    /// Scratch.
    Slot(u32),
    Output {
        output: usize,
        digit: usize,
    },
}

/// One look-up or sum of every element of the arrays.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub operands: Vec<(Place, i32)>,
    /// In the steps of the table, or whole ones of a sum.
    pub constant: i32,
    /// Which table; none of a sum.
    pub table: Option<usize>,
    pub place: Place,
    /// A second look-up of the sum by the same rotation.
    pub second: Option<Second>,
    /// What the sum may be; of one in fine steps, around the circle.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold programs to it"))]
    pub values: crate::tfhe::record::Values,
    /// How far its error may reach.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold programs to it"))]
    pub margin: Option<Margin>,
}

/// A second result of a look-up: what its table holds so many steps further on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Second {
    pub steps: u32,
    pub constant: i32,
    pub place: Place,
}

/// A list of independent instructions, all look-ups or all sums.
pub(crate) type Step = Vec<Instruction>;

/// An operation as steps.
#[derive(Debug)]
pub(crate) struct Program {
    pub steps: Vec<Step>,
    pub tables: Vec<Table>,
    /// Scratch places of an element.
    pub slots: u32,
    /// What is known of the digits of each result.
    pub outputs: Vec<Vec<DigitState>>,
    /// How many bootstrappings read a sum of each norm with each margin.
    pub norms: BTreeMap<(Margin, u32), usize>,
    pub levels: usize,
}

impl Program {
    pub fn bootstrappings(&self) -> usize {
        self.norms.values().sum()
    }

    /// How many bootstrappings each level has.
    pub fn widths(&self) -> impl Iterator<Item = usize> {
        let of_step = |step: &Step| step.iter().filter(|i| i.table.is_some()).count();
        self.steps.iter().map(of_step).filter(|&width| width > 0)
    }

    /// Makes steps of what was recorded and leads to `outputs`; the rest is left out.
    pub fn new(mut recorder: Recorder, outputs: &[Vec<Linear>]) -> Self {
        let outputs: Vec<Vec<Linear>> = outputs
            .iter()
            .map(|digits| digits.iter().map(|x| recorder.few_terms(x)).collect())
            .collect();
        let states = outputs
            .iter()
            .map(|digits| {
                let state =
                    |x: &Linear| DigitState { values: x.values(), norm: recorder.norm(x).max(1) };
                digits.iter().map(state).collect()
            })
            .collect();
        let nodes = &recorder.nodes;
        let used = used(nodes, &outputs);
        let pairs = pairs(&recorder, &used);
        let depths = match recorder.wants_few_bootstrappings() {
            true => latest(nodes, &used, &pairs),
            false => nodes.iter().map(|node| node.depth).collect(),
        };
        let order = order(nodes, &used, &depths);
        let mut places = Places::new(nodes, &outputs, &order);
        let seconds: HashSet<u32> = pairs.values().map(|pair| pair.0).collect();
        let mut program = Self {
            steps: Vec::with_capacity(order.len() + 1),
            tables: Vec::new(),
            slots: 0,
            outputs: states,
            norms: BTreeMap::new(),
            levels: used.iter().map(|&i| nodes[i as usize].depth).max().unwrap_or(0),
        };
        let mut tables = HashMap::new();
        for (time, step) in order.iter().enumerate() {
            let firsts = step.iter().filter(|node| !seconds.contains(node));
            let instructions = firsts.map(|&node| {
                let pair = pairs.get(&node);
                let (x, table, margin) = match &nodes[node as usize].kind {
                    Kind::LookUp { x, table, margin } => {
                        *program.norms.entry((*margin, recorder.norm(x))).or_insert(0) += 1;
                        let table = pair.map_or(table, |(_, pair)| &pair.table);
                        let new = tables.len();
                        let index = *tables.entry(table.clone()).or_insert(new);
                        if index == new {
                            program.tables.push(table.clone());
                        }
                        (x, Some(index), Some(*margin))
                    }
                    Kind::Sum { x } => (x, None, None),
                    Kind::Input { .. } => unreachable!("inputs are in no step"),
                };
                let second = pair.map(|(second, pair)| Second {
                    steps: pair.steps,
                    constant: pair.constant,
                    place: places.place(*second, time),
                });
                let place = places.place(node, time);
                Instruction { table, margin, second, ..places.of_sum(x, place) }
            });
            let instructions = instructions.collect();
            places.free(time);
            program.steps.push(instructions);
        }
        let last = places.outputs(&outputs);
        if !last.is_empty() {
            program.steps.push(last);
        }
        program.slots = places.slots;
        program
    }

    /// Runs the program on plain digits, in fine steps, with every sum held to the values that it
    /// was recorded with. Sums that are read in fine steps have errors, as large as margins allow.
    #[cfg(test)]
    pub fn simulate(&self, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
        let mut state = inputs
            .iter()
            .flatten()
            .fold(1u64, |state, &x| state.wrapping_mul(5).wrapping_add(x as u64));
        let mut error = |margin: i32| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // Errors at the margins are what may be wrong.
            let at = (state >> 33) as i32 % (4 * margin);
            (at - 2 * margin).clamp(-margin, margin - 1)
        };
        let mut slots = vec![0; self.slots as usize];
        let mut outputs: Vec<Vec<i32>> = self.outputs.iter().map(|o| vec![0; o.len()]).collect();
        for step in &self.steps {
            let mut run = |i: &Instruction| -> Vec<(Place, i32)> {
                let value = |place: Place| match place {
                    Place::Input { operand, digit } => FINE * inputs[operand][digit],
                    Place::Slot(slot) => slots[slot as usize],
                    Place::Output { output, digit } => outputs[output][digit],
                };
                let table = i.table.map(|table| &self.tables[table]);
                let unit = if table.is_some_and(|t| t.finer > 0) { 1 } else { FINE };
                let x = i.operands.iter().map(|&(place, w)| value(place) * w).sum::<i32>();
                let x = x + i.constant * unit;
                // Sums of sums are checked where they are looked up.
                let Some(table) = table else { return vec![(i.place, x)] };
                assert_eq!(x % unit, 0, "a sum in fine steps is read as one in steps");
                let x = if unit == 1 { around(x) } else { x / unit };
                assert!(i.values.contains(x), "{x} is none of {:?}", i.values);
                let x =
                    x + if unit == 1 { i.margin.map_or(0, |m| error(m.fine_steps())) } else { 0 };
                let second = |second: &Second| {
                    let x = x + second.steps as i32;
                    (second.place, unit * table.result_with(x, second.constant))
                };
                std::iter::once((i.place, unit * table.result(x)))
                    .chain(i.second.as_ref().map(second))
                    .collect()
            };
            let results: Vec<(Place, i32)> = step.iter().flat_map(&mut run).collect();
            for (place, result) in results {
                match place {
                    Place::Slot(slot) => slots[slot as usize] = result,
                    Place::Output { output, digit } => outputs[output][digit] = result,
                    Place::Input { .. } => unreachable!("inputs are not written"),
                }
            }
        }
        for (states, digits) in self.outputs.iter().zip(&mut outputs) {
            for (state, digit) in states.iter().zip(digits) {
                assert_eq!(*digit % FINE, 0, "a digit in fine steps");
                *digit /= FINE;
                assert!(state.values.contains(*digit), "{digit} is none of {:?}", state.values);
            }
        }
        outputs
    }
}

fn terms(node: &Node) -> &[(u32, i32)] {
    match &node.kind {
        Kind::Input { .. } => &[],
        Kind::LookUp { x, .. } | Kind::Sum { x } => x.terms(),
    }
}

/// The look-ups and sums that outputs are made of.
fn used(nodes: &[Node], outputs: &[Vec<Linear>]) -> Vec<u32> {
    let mut is_used = vec![false; nodes.len()];
    for x in outputs.iter().flatten() {
        x.terms().iter().for_each(|&(i, _)| is_used[i as usize] = true);
    }
    // Terms of a node come before it.
    for i in (0..nodes.len()).rev().filter(|&i| !matches!(nodes[i].kind, Kind::Input { .. })) {
        if is_used[i] {
            terms(&nodes[i]).iter().for_each(|&(j, _)| is_used[j as usize] = true);
        }
    }
    let is_step = |&i: &usize| is_used[i] && !matches!(nodes[i].kind, Kind::Input { .. });
    (0..nodes.len()).filter(is_step).map(|i| i as u32).collect()
}

/// Pairs of which both are used, by the first.
fn pairs<'a>(recorder: &'a Recorder, used: &[u32]) -> HashMap<u32, &'a (u32, Pair)> {
    let is_used = |i: u32| used.binary_search(&i).is_ok();
    let pair = |&i: &u32| Some((i, recorder.pair(i).filter(|(second, _)| is_used(*second))?));
    used.iter().filter_map(pair).collect()
}

/// The last level at which each node is in time for all that read it: few results wait at once.
/// Two of one rotation are at the same.
fn latest(nodes: &[Node], used: &[u32], pairs: &HashMap<u32, &(u32, Pair)>) -> Vec<usize> {
    let levels = used.iter().map(|&i| nodes[i as usize].depth).max().unwrap_or(0);
    let mut depths = vec![levels; nodes.len()];
    let partners: HashMap<u32, u32> = pairs
        .iter()
        .flat_map(|(&first, &&(second, _))| [(first, second), (second, first)])
        .collect();
    for &i in used.iter().rev() {
        if let Some(&partner) = partners.get(&i) {
            let both = depths[i as usize].min(depths[partner as usize]);
            (depths[i as usize], depths[partner as usize]) = (both, both);
            // Whoever reads the other is known once it has been met, too.
            if partner < i {
                continue;
            }
        }
        let depth = depths[i as usize];
        let before =
            if matches!(nodes[i as usize].kind, Kind::Sum { .. }) { depth } else { depth - 1 };
        for &(j, _) in terms(&nodes[i as usize]) {
            depths[j as usize] = depths[j as usize].min(before);
        }
    }
    depths
}

/// Look-ups of each depth, then sums of the same, those that read others later.
fn order(nodes: &[Node], used: &[u32], depths: &[usize]) -> Vec<Vec<u32>> {
    let mut steps: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for &i in used {
        let node = &nodes[i as usize];
        let stage = if matches!(node.kind, Kind::Sum { .. }) { node.stage } else { 0 };
        steps.entry((depths[i as usize], stage)).or_default().push(i);
    }
    steps.into_values().collect()
}

/// Places by lifetime: one is free again after the step that reads it last.
struct Places {
    of: HashMap<u32, Place>,
    /// Step after which nobody reads a node.
    last: HashMap<u32, usize>,
    /// Slots to be free after each step.
    ends: Vec<Vec<u32>>,
    free: Vec<u32>,
    slots: u32,
}

impl Places {
    fn new(nodes: &[Node], outputs: &[Vec<Linear>], order: &[Vec<u32>]) -> Self {
        let mut of = HashMap::new();
        for (i, node) in nodes.iter().enumerate() {
            if let Kind::Input { operand, digit, .. } = node.kind {
                of.insert(i as u32, Place::Input { operand, digit });
            }
        }
        let mut last = HashMap::new();
        for (time, step) in order.iter().enumerate() {
            for &node in step {
                terms(&nodes[node as usize]).iter().for_each(|&(i, _)| {
                    last.insert(i, time);
                });
            }
        }
        // What is an output as it is goes to its place at once, and stays there.
        for (output, digits) in outputs.iter().enumerate() {
            for (digit, x) in digits.iter().enumerate() {
                if let ([(node, 1)], 0) = (x.terms(), x.constant_term()) {
                    of.entry(*node).or_insert(Place::Output { output, digit });
                }
            }
        }
        for x in outputs.iter().flatten() {
            x.terms().iter().for_each(|&(i, _)| {
                last.insert(i, order.len());
            });
        }
        Self { of, last, ends: vec![Vec::new(); order.len() + 1], free: Vec::new(), slots: 0 }
    }

    /// The place of a node that is written now.
    fn place(&mut self, node: u32, time: usize) -> Place {
        if let Some(&place) = self.of.get(&node) {
            return place;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.ends[self.last[&node].max(time)].push(slot);
        self.of.insert(node, Place::Slot(slot));
        Place::Slot(slot)
    }

    fn of_sum(&self, x: &Linear, place: Place) -> Instruction {
        let operands = x.terms().iter().map(|&(i, w)| (self.of[&i], w)).collect();
        let (constant, values) = (x.constant_term(), x.values());
        Instruction { operands, constant, table: None, place, second: None, values, margin: None }
    }

    fn free(&mut self, time: usize) {
        let ended = std::mem::take(&mut self.ends[time]);
        self.free.extend(ended);
    }

    /// What is left to do for outputs: sums, constants, copies.
    fn outputs(&self, outputs: &[Vec<Linear>]) -> Vec<Instruction> {
        let mut left = Vec::new();
        for (output, digits) in outputs.iter().enumerate() {
            for (digit, x) in digits.iter().enumerate() {
                let place = Place::Output { output, digit };
                let is_there = matches!((x.terms(), x.constant_term()), ([(node, 1)], 0)
                    if self.of[node] == place);
                if !is_there {
                    left.push(self.of_sum(x, place));
                }
            }
        }
        left
    }
}
