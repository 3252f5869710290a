//! Operations as they are recorded: sums of digits, and look-ups of sums.

mod linear;
mod table;
mod values;

pub(crate) use linear::Linear;
pub(crate) use table::Table;
pub use values::Values;

use girih_backend::Combination;
use std::collections::{BTreeMap, HashMap};

/// What a program knows of a digit that it is given, and the next one of a digit that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DigitState {
    /// The values that it may have.
    pub values: Values,
    /// Variance of its error, in units of that of a look-up's result; at least 1.
    pub norm: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A digit that is given, with the values that it may have.
    Input { operand: usize, digit: usize, values: Values },
    /// A look-up of a sum of at most four terms.
    LookUp { x: Linear, table: Table },
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
}

/// What has been computed by terms that are the same.
type Known = (Vec<(u32, i32)>, i32, Option<Table>);

/// Records one operation.
///
/// It keeps every look-up within the budget of noise: terms that have too much are looked up once
/// more, or looked up with their weight in the table.
pub(crate) struct Recorder {
    /// The largest norm (square of the weights) of a sum that is looked up.
    budget: u32,
    pub(crate) nodes: Vec<Node>,
    known: HashMap<Known, u32>,
    /// Whether some sum is beyond the budget whatever is done.
    beyond: bool,
}

impl Recorder {
    pub fn new(budget: u32) -> Self {
        Self { budget, nodes: Vec::new(), known: HashMap::new(), beyond: false }
    }

    pub fn budget(&self) -> u32 {
        self.budget
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
        self.nodes.push(Node { kind, depth: 0, stage: 0, norm, base });
        Linear::node(node, state.values)
    }

    /// A function of a sum by one bootstrapping, or by none where the function is constant there
    /// or the sum is the result already.
    pub fn look_up(&mut self, x: &Linear, f: impl Fn(i32) -> i32) -> Linear {
        let results: Values = x.values.iter().map(&f).collect();
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
            _ => self.bootstrap(x, |v| v),
        }
    }

    fn bootstrap(&mut self, x: &Linear, f: impl Fn(i32) -> i32) -> Linear {
        let x = self.within_budget(x);
        let table = Table::new(x.values, &f);
        let results = x.values.iter().map(f).collect();
        let x = self.few_terms(&x);
        let key = (x.terms.clone(), x.constant, Some(table.clone()));
        let node = self.node(key, Kind::LookUp { x, table });
        Linear::node(node, results)
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
                Node { kind, depth, stage: stage + 1, norm, base }
            }
            _ => Node { kind, depth: depth + 1, stage, norm: 1, base: vec![(node, 1)] },
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

    /// Errors of look-ups are independent. Those of inputs may be the same error, of one
    /// ciphertext that two operands were made of: their deviations are added.
    fn norm_of_base(&self, base: &[(u32, i32)]) -> u32 {
        let (mut squares, mut deviation) = (0, 0.0);
        for &(node, weight) in base {
            match &self.nodes[node as usize] {
                Node { kind: Kind::Input { .. }, norm, .. } => {
                    deviation += f64::from(weight.abs()) * f64::from(*norm).sqrt();
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

    /// The same sum with an error that a look-up may read.
    fn within_budget(&mut self, x: &Linear) -> Linear {
        let mut x = x.clone();
        while self.norm(&x) > self.budget {
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
                Kind::LookUp { x, table } => self.bootstrap(&x, |v| weight * table.result(v)),
                Kind::Input { values, .. } => {
                    if self.nodes[node as usize].norm > self.budget {
                        self.beyond = true;
                        return x;
                    }
                    self.bootstrap(&Linear::node(node, values), |v| weight * v)
                }
            };
            x = x.with_term(node, &better);
        }
        x
    }
}
