//! Operations as they are recorded: sums of digits, and look-ups of sums.

mod linear;
mod table;
mod values;
mod wide;

pub(crate) use linear::Linear;
pub(crate) use table::{Pair, Table};
pub use values::Values;
pub(crate) use wide::Wide;
#[cfg(test)]
pub(crate) use wide::around;

use crate::tfhe::FINE;
use girih_backend::Combination;
use std::collections::{BTreeMap, HashMap};
use table::places;

/// What a program knows of a digit that it is given, and the next one of a digit that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DigitState {
    /// The values that it may have.
    pub values: Values,
    /// Variance of its error, in units of that of a look-up's result; at least 1.
    pub norm: u32,
}

/// What a recording is to be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aim {
    /// Few bootstrappings one after another: for few elements, which do not fill a device.
    FewLevels,
    /// Few bootstrappings in all: for arrays that fill a device with every one of them.
    FewBootstrappings,
}

impl Aim {
    /// Both.
    pub const ALL: [Self; 2] = [Self::FewLevels, Self::FewBootstrappings];
}

/// How far the error of a sum may reach before another result is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Margin {
    /// Half a step: sums of digits.
    Half,
    /// A step: sums in fine steps, of which multiples are read.
    Whole,
}

impl Margin {
    pub fn fine_steps(self) -> i32 {
        match self {
            Self::Half => FINE / 2,
            Self::Whole => FINE,
        }
    }
}

/// The largest norms (sums of squared weights) of sums that are looked up, by their margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budgets {
    pub half: u32,
    pub whole: u32,
}

/// What decides how operations are recorded, beside what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub budgets: Budgets,
    /// Whether a rotation may have two results, as on the native torus.
    pub pairs: bool,
    pub aim: Aim,
}

/// How many bootstrappings a level is worth, where there are few elements: large devices make about
/// so many at once.
const LEVEL: usize = 128;

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A digit that is given, with the values that it may have.
    Input { operand: usize, digit: usize, values: Values },
    /// A look-up of a sum of at most four terms.
    LookUp { x: Linear, table: Table, margin: Margin },
    /// A sum of at most four terms, stored as it is.
    Sum { x: Linear },
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    /// Look-ups one after another up to this one.
    pub depth: usize,
    /// Sums one after another up to this one.
    pub stage: usize,
    /// Of an input; 1 of a look-up.
    norm: u32,
    /// Inputs and look-ups that it is a sum of.
    base: Vec<(u32, i32)>,
    /// The look-up that it shares a rotation with.
    partner: Option<u32>,
}

/// One of several ways to the same results.
pub(crate) type Way<'a> = dyn Fn(&mut Recorder) -> Vec<Linear> + 'a;

/// What has been computed by terms that are the same.
type Known = (Vec<(u32, i32)>, i32, Option<Table>);

/// Records one operation.
///
/// It keeps every look-up within the budget of noise: terms that have too much are looked up once
/// more, or looked up with their weight in the table. Two look-ups of one sum share a rotation
/// where a table has room for both.
#[derive(Clone)]
pub(crate) struct Recorder {
    rules: Rules,
    pub(crate) nodes: Vec<Node>,
    known: HashMap<Known, u32>,
    /// Look-ups by their terms.
    look_ups: HashMap<Vec<(u32, i32)>, Vec<u32>>,
    /// Look-ups that share a rotation, by the first of them.
    pairs: HashMap<u32, (u32, Pair)>,
    /// Whether some sum is beyond the budget whatever is done.
    beyond: bool,
}

impl Recorder {
    pub fn new(rules: Rules) -> Self {
        let (known, look_ups, pairs) = Default::default();
        Self { rules, nodes: Vec::new(), known, look_ups, pairs, beyond: false }
    }

    pub fn budget(&self) -> u32 {
        self.rules.budgets.half
    }

    /// Whether many levels are as good as few where they take fewer bootstrappings.
    pub fn wants_few_bootstrappings(&self) -> bool {
        self.rules.aim == Aim::FewBootstrappings
    }

    /// The look-up that shares the rotation of this one, and how, if this is the first of a pair.
    pub fn pair(&self, first: u32) -> Option<&(u32, Pair)> {
        self.pairs.get(&first)
    }

    /// Whether every look-up is within the budget.
    pub fn is_within_budget(&self) -> bool {
        !self.beyond
    }

    /// A digit of an operand; one that has a single value is a constant.
    pub fn input(&mut self, operand: usize, digit: usize, state: DigitState) -> Linear {
        if state.values.is_one() {
            return Linear::constant(state.values.least());
        }
        let node = self.nodes.len() as u32;
        let kind = Kind::Input { operand, digit, values: state.values };
        let (norm, base) = (state.norm, vec![(node, 1)]);
        self.nodes.push(Node { kind, depth: 0, stage: 0, norm, base, partner: None });
        Linear::node(node, state.values)
    }

    /// A function of a sum by one bootstrapping, or by none where the function is constant there
    /// or the sum is the result already.
    pub fn look_up(&mut self, x: &Linear, f: impl Fn(i32) -> i32) -> Linear {
        self.looked_up(x, &f)
    }

    /// The same, once for all functions: a page waits for the bytes of each copy.
    pub(super) fn looked_up(&mut self, x: &Linear, f: &dyn Fn(i32) -> i32) -> Linear {
        let results: Values = x.values.iter().map(f).collect();
        if results.is_one() {
            return Linear::constant(results.least());
        }
        let moved = f(x.values.least()) - x.values.least();
        if let [(node, 1)] = x.terms[..]
            && self.nodes[node as usize].norm == 1
            && x.values.iter().all(|v| f(v) - v == moved)
        {
            return x.plus_constant(moved);
        }
        self.bootstrap(x, f)
    }

    /// The same value with the error of a look-up.
    pub fn refresh(&mut self, x: &Linear) -> Linear {
        match self.norm(x) {
            0 | 1 => x.clone(),
            _ => self.bootstrap(x, &|v| v),
        }
    }

    fn bootstrap(&mut self, x: &Linear, f: &dyn Fn(i32) -> i32) -> Linear {
        let x = self.within_budget(x);
        let results: Values = x.values.iter().map(f).collect();
        let x = self.few_terms(&x);
        if let Some(known) = self.found(&x, f) {
            return Linear { values: results, ..known };
        }
        let table = Table::new(x.values, f);
        let key = (x.terms.clone(), x.constant, Some(table.clone()));
        let before = self.nodes.len();
        let node = self.node(key, Kind::LookUp { x, table, margin: Margin::Half });
        if self.nodes.len() > before {
            self.join(node);
        }
        Linear::node(node, results)
    }

    /// The function as a look-up of the same terms that there is, or its negative, and a constant.
    fn found(&self, x: &Linear, f: &dyn Fn(i32) -> i32) -> Option<Linear> {
        let is = |node: u32, sign: i32| {
            let Kind::LookUp { x: other, table, .. } = &self.nodes[node as usize].kind else {
                return None;
            };
            let moved = other.constant - x.constant;
            let rest = |v: i32| f(v) - sign * table.result(v + moved);
            let constant = rest(x.values.least());
            let same = x.values.iter().all(|v| other.values.contains(v + moved))
                && x.values.iter().all(|v| rest(v) == constant);
            same.then(|| Linear { terms: vec![(node, sign)], constant, values: x.values })
        };
        let known = self.look_ups.get(&x.terms)?;
        known.iter().find_map(|&node| is(node, 1).or_else(|| is(node, -1)))
    }

    /// Lets a new look-up share the rotation of one of the same terms that has room for it.
    fn join(&mut self, node: u32) {
        let Kind::LookUp { x, .. } = &self.nodes[node as usize].kind else { return };
        let others = self.look_ups.entry(x.terms.clone()).or_default();
        let alone = others.iter().copied().filter(|&i| self.nodes[i as usize].partner.is_none());
        let alone: Vec<u32> = if self.rules.pairs { alone.collect() } else { Vec::new() };
        others.push(node);
        for other in alone {
            for [first, second] in [[other, node], [node, other]] {
                let Some(pair) = self.as_pair(first, second) else { continue };
                self.pairs.insert(first, (second, pair));
                self.nodes[first as usize].partner = Some(second);
                self.nodes[second as usize].partner = Some(first);
                return;
            }
        }
    }

    fn as_pair(&self, first: u32, second: u32) -> Option<Pair> {
        let at = |node: u32, constant: i32| match &self.nodes[node as usize].kind {
            Kind::LookUp { x, table, .. } => {
                Some(places(x.values, constant - x.constant, |v| table.result(v)))
            }
            _ => None,
        };
        let Kind::LookUp { x, .. } = &self.nodes[first as usize].kind else { return None };
        Pair::new(&at(first, x.constant)?, &at(second, x.constant)?)
    }

    /// A sum as one stored ciphertext, for sums that are read many times.
    pub fn sum(&mut self, x: &Linear) -> Linear {
        match x.terms[..] {
            [] | [_] => x.clone(),
            _ => {
                let (values, x) = (x.values, self.few_terms(x));
                Linear::node(self.sum_node(&x.terms, x.constant), values)
            }
        }
    }

    fn sum_node(&mut self, terms: &[(u32, i32)], constant: i32) -> u32 {
        // What values it takes is for whoever reads it to say.
        let x = Linear { terms: terms.to_vec(), constant, values: Values::one(0) };
        self.node((x.terms.clone(), constant, None), Kind::Sum { x })
    }

    fn node(&mut self, key: Known, kind: Kind) -> u32 {
        if let Some(&node) = self.known.get(&key) {
            return node;
        }
        let node = self.nodes.len() as u32;
        let of = |f: fn(&Node) -> usize| {
            key.0.iter().map(|&(i, _)| f(&self.nodes[i as usize])).max().unwrap_or(0)
        };
        let (depth, stage) = (of(|n| n.depth), of(|n| n.stage));
        self.nodes.push(match &kind {
            Kind::Sum { .. } => {
                let base = self.base(&key.0);
                let norm = self.norm_of_base(&base);
                Node { kind, depth, stage: stage + 1, norm, base, partner: None }
            }
            _ => {
                let base = vec![(node, 1)];
                Node { kind, depth: depth + 1, stage, norm: 1, base, partner: None }
            }
        });
        self.known.insert(key, node);
        node
    }

    /// The same sum of at most four terms.
    pub fn few_terms(&mut self, x: &Linear) -> Linear {
        let mut terms = x.terms.clone();
        while terms.len() > Combination::MAX_OPERANDS {
            let groups: Vec<Vec<(u32, i32)>> =
                terms.chunks(Combination::MAX_OPERANDS).map(<[_]>::to_vec).collect();
            terms = groups
                .iter()
                .map(|group| match group[..] {
                    [term] => term,
                    _ => (self.sum_node(group, 0), 1),
                })
                .collect();
            terms.sort_unstable();
        }
        Linear { terms, ..x.clone() }
    }

    /// Inputs and look-ups of a sum, with their weights.
    fn base(&self, terms: &[(u32, i32)]) -> Vec<(u32, i32)> {
        let mut base = BTreeMap::new();
        for &(node, weight) in terms {
            for &(i, w) in &self.nodes[node as usize].base {
                *base.entry(i).or_insert(0) += w * weight;
            }
        }
        base.into_iter().filter(|&(_, w)| w != 0).collect()
    }

    /// Errors of rotations are independent. Those of inputs may be the same error, of one
    /// ciphertext that two operands were made of, and two results of one rotation may have errors
    /// that agree: their deviations are added.
    fn norm_of_base(&self, base: &[(u32, i32)]) -> u32 {
        let (mut squares, mut deviation) = (0, 0.0);
        let weight_of = |node: u32| {
            let index = base.binary_search_by_key(&node, |&(i, _)| i);
            index.map_or(0, |index| base[index].1.abs())
        };
        for &(node, weight) in base {
            match &self.nodes[node as usize] {
                Node { kind: Kind::Input { .. }, norm, .. } => {
                    deviation += f64::from(weight.abs()) * f64::from(*norm).sqrt();
                }
                // Both of a pair are counted where the first of them is.
                Node { partner: Some(other), .. } if weight_of(*other) > 0 => {
                    let both = weight.abs() + weight_of(*other);
                    squares += if *other > node { (both * both) as u32 } else { 0 };
                }
                _ => squares += (weight * weight) as u32,
            }
        }
        squares + (deviation * deviation - 1e-9).ceil().max(0.0) as u32
    }

    /// Variance of the error of a sum, in units of that of a look-up's result.
    pub fn norm(&self, x: &Linear) -> u32 {
        self.norm_of_base(&self.base(&x.terms))
    }

    /// Look-ups one after another up to a sum.
    pub fn depth(&self, x: &Linear) -> usize {
        x.terms.iter().map(|&(i, _)| self.nodes[i as usize].depth).max().unwrap_or(0)
    }

    /// The levels and the bootstrappings that results take.
    fn cost(&self, results: &[Linear]) -> (usize, usize) {
        let mut is_used = vec![false; self.nodes.len()];
        let mut left: Vec<u32> = results.iter().flat_map(|x| &x.terms).map(|&(i, _)| i).collect();
        let (mut levels, mut look_ups, mut pairs) = (0, 0, 0);
        while let Some(i) = left.pop() {
            if std::mem::replace(&mut is_used[i as usize], true) {
                continue;
            }
            let node = &self.nodes[i as usize];
            levels = levels.max(node.depth);
            if let Kind::LookUp { x, .. } | Kind::Sum { x } = &node.kind {
                left.extend(x.terms.iter().map(|&(j, _)| j));
            }
            look_ups += usize::from(matches!(node.kind, Kind::LookUp { .. }));
            pairs += usize::from(node.partner.is_some_and(|other| is_used[other as usize]));
        }
        (levels, look_ups - pairs)
    }

    /// Records the way that takes fewer levels, or fewer bootstrappings, as is aimed at; the first
    /// of those that are alike, and one within the budget if there is any.
    pub fn best(&mut self, ways: &[&Way]) -> Vec<Linear> {
        let recorded = ways.iter().map(|way| {
            let mut recorder = self.clone();
            let results = way(&mut recorder);
            (recorder, results)
        });
        let cost = |(recorder, results): &(Self, Vec<Linear>)| {
            let (levels, bootstrappings) = recorder.cost(results);
            let beyond = recorder.beyond;
            match self.wants_few_bootstrappings() {
                true => (beyond, bootstrappings, levels),
                false => (beyond, LEVEL * levels + bootstrappings, levels),
            }
        };
        let (recorder, results) = recorded.min_by_key(cost).expect("one way at least");
        *self = recorder;
        results
    }

    /// The same sum with an error that a look-up may read.
    fn within_budget(&mut self, x: &Linear) -> Linear {
        let mut x = x.clone();
        while self.norm(&x) > self.rules.budgets.half {
            let share = |&(node, weight): &(u32, i32)| {
                let node = &self.nodes[node as usize];
                let share = node.norm * (weight * weight) as u32;
                // A look-up with weight 1 is as good as it gets.
                (share > 1 || !matches!(node.kind, Kind::LookUp { .. })).then_some(share)
            };
            let worst = x.terms.iter().filter_map(|t| Some((share(t)?, *t))).max();
            let Some((_, (node, weight))) = worst else {
                self.beyond = true;
                return x;
            };
            let better = match self.nodes[node as usize].kind.clone() {
                Kind::Sum { x } => Linear {
                    terms: x.terms.iter().map(|&(i, w)| (i, w * weight)).collect(),
                    constant: x.constant * weight,
                    ..x
                },
                // The weight into its own table: no further level.
                Kind::LookUp { x, table, margin } if table.finer > 0 => {
                    match self.times(&x, &table, margin, weight) {
                        Some(better) => better,
                        None => {
                            self.beyond = true;
                            return x;
                        }
                    }
                }
                Kind::LookUp { x, table, .. } => self.bootstrap(&x, &|v| weight * table.result(v)),
                Kind::Input { values, .. } => {
                    if self.nodes[node as usize].norm > self.rules.budgets.half {
                        self.beyond = true;
                        return x;
                    }
                    self.bootstrap(&Linear::node(node, values), &|v| weight * v)
                }
            };
            x = x.with_term(node, &better);
        }
        x
    }
}
