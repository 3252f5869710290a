//! From functions to look-ups: which share a sum, and what they are made of.

use super::library::{Library, Reading, of_pair};
use super::map::{Choice, Map};
use super::merge::{Group, merged};
use crate::error::Result;
use crate::optimise::{Graph, Literal, Node};
use girih_discrete::Table;
use std::collections::HashMap;

/// Tables of one sum at most.
const MOST_TABLES: usize = 32;

/// What look-ups have in common that a device can do side by side.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub weights: Vec<i64>,
    pub constant: i64,
    pub tables: Vec<Table>,
}

/// One sum, looked up. Wires are counted from the inputs on.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub kind: usize,
    pub operands: Vec<u32>,
    /// One for each table.
    pub results: Vec<u32>,
    pub level: u32,
}

/// Where an output bit is in the end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Output {
    Constant(bool),
    Wire { wire: u32, negated: bool },
}

/// A circuit as look-ups, operands first.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub inputs: usize,
    pub wires: usize,
    pub kinds: Vec<Kind>,
    pub lookups: Vec<Lookup>,
    pub outputs: Vec<Output>,
    pub depth: u32,
}

/// Values, order, weights, constant.
type KindKey = (Vec<Vec<i64>>, u32, Vec<i64>, i64);

/// A function to be computed.
struct Cell<'a> {
    node: u32,
    choice: &'a Choice,
}

impl Plan {
    /// Look-ups as early as they can be, and as late; how errors grow is not looked at.
    pub fn both(graph: &Graph, library: &Library, inputs: usize) -> Result<[Self; 2]> {
        let map = Map::new(graph, library);
        let of = |late| Self::at(graph, &map, library, inputs, late);
        Ok([of(false)?, of(true)?])
    }

    fn at(
        graph: &Graph,
        map: &Map<'_>,
        library: &Library,
        inputs: usize,
        late: bool,
    ) -> Result<Self> {
        let outputs: Vec<Literal> = graph.outputs.iter().map(|&o| map.resolve(o)).collect();
        let cells: Vec<Cell<'_>> =
            map.cells().map(|(node, choice)| Cell { node, choice }).collect();
        let levels = levels(graph, &cells, late);
        let mut plan = Writer::new(graph, library, inputs);
        let depth = levels.iter().copied().max().unwrap_or(0);
        let mut by_level: Vec<Vec<&Cell<'_>>> = vec![Vec::new(); depth as usize + 1];
        for (cell, &level) in cells.iter().zip(&levels) {
            by_level[level as usize].push(cell);
        }
        for (level, cells) in (0..).zip(&by_level) {
            plan.level(cells, level)?;
        }
        Ok(plan.finish(&outputs))
    }
}

/// The level of each cell: as early as it can be, or as late.
fn levels(graph: &Graph, cells: &[Cell<'_>], late: bool) -> Vec<u32> {
    let mut ready = vec![0; graph.nodes.len()];
    let mut starts = Vec::with_capacity(cells.len());
    for cell in cells {
        let start = cell.choice.leaves().iter().map(|&l| ready[l as usize]).max().unwrap_or(0);
        ready[cell.node as usize] = start + 1;
        starts.push(start);
    }
    if late {
        let depth = ready.iter().copied().max().unwrap_or(0);
        let mut due = vec![depth; graph.nodes.len()];
        for (cell, start) in cells.iter().zip(&mut starts).rev() {
            *start = due[cell.node as usize] - 1;
            for &leaf in cell.choice.leaves() {
                due[leaf as usize] = due[leaf as usize].min(*start);
            }
        }
    }
    starts
}

struct Writer<'a> {
    library: &'a Library,
    /// Where each node is.
    wires: Vec<Option<u32>>,
    known: HashMap<KindKey, usize>,
    plan: Plan,
}

impl<'a> Writer<'a> {
    fn new(graph: &Graph, library: &'a Library, inputs: usize) -> Self {
        let wire = |node: &Node| match *node {
            Node::Input(index) => Some(index),
            _ => None,
        };
        let plan = Plan {
            inputs,
            wires: inputs,
            kinds: Vec::new(),
            lookups: Vec::new(),
            outputs: Vec::new(),
            depth: 0,
        };
        let wires = graph.nodes.iter().map(wire).collect();
        Self { library, wires, known: HashMap::new(), plan }
    }

    fn finish(mut self, outputs: &[Literal]) -> Plan {
        let output = |o: &Literal| match self.wires[o.node() as usize] {
            Some(wire) => Output::Wire { wire, negated: o.inverted() },
            // Only node 0 is nowhere: false, or true where it is inverted.
            None => Output::Constant(o.inverted()),
        };
        self.plan.outputs = outputs.iter().map(output).collect();
        self.plan
    }

    fn kind(&mut self, key: KindKey) -> Result<usize> {
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let (values, order, weights, constant) = &key;
        let table = |values: &Vec<i64>| Table::from_values(values).and_then(|t| t.order(*order));
        let tables = values.iter().map(table).collect::<girih_discrete::Result<_>>()?;
        self.plan.kinds.push(Kind { weights: weights.clone(), constant: *constant, tables });
        self.known.insert(key, self.plan.kinds.len() - 1);
        Ok(self.plan.kinds.len() - 1)
    }

    /// Adds a look-up; returns where its results are.
    fn add(&mut self, key: KindKey, operands: Vec<u32>, level: u32) -> Result<Vec<u32>> {
        let kind = self.kind(key)?;
        let first = self.plan.wires as u32;
        let results: Vec<u32> = (first..).take(self.plan.kinds[kind].tables.len()).collect();
        self.plan.wires += results.len();
        self.plan.depth = self.plan.depth.max(level + 1);
        self.plan.lookups.push(Lookup { kind, operands, results: results.clone(), level });
        Ok(results)
    }

    fn operands(&self, leaves: &[u32]) -> Vec<u32> {
        let wire =
            |&leaf: &u32| self.wires[leaf as usize].expect("operands come before their readers");
        leaves.iter().map(wire).collect()
    }

    fn level(&mut self, cells: &[&Cell<'_>], level: u32) -> Result<()> {
        let mut tables: Vec<(u32, &[u32], u16)> = Vec::new();
        for cell in cells {
            match cell.choice {
                Choice::Table(cut) => tables.push((cell.node, cut.leaves(), cut.table)),
                Choice::Parity { leaves, inverted } => {
                    self.parity(cell, leaves, *inverted, level)?;
                }
            }
        }
        if self.library.any.is_empty() {
            return self.pairs(&tables, level);
        }
        for group in merged(&tables, self.library.most_leaves()) {
            self.group(&group, level)?;
        }
        Ok(())
    }

    fn parity(
        &mut self,
        cell: &Cell<'_>,
        leaves: &[u32],
        inverted: bool,
        level: u32,
    ) -> Result<()> {
        let Reading { order, .. } = self.library.parity;
        let values = [0, 1].map(|v| v ^ i64::from(inverted)).to_vec();
        let key = (vec![values], order, vec![1; leaves.len()], 0);
        let operands = self.operands(leaves);
        let result = self.add(key, operands, level)?;
        self.wires[cell.node as usize] = result.first().copied();
        Ok(())
    }

    /// Functions of two bits as tables of a + b, or of a + 1 - b.
    fn pairs(&mut self, cells: &[(u32, &[u32], u16)], level: u32) -> Result<()> {
        type Sums<'l> = HashMap<(&'l [u32], bool), Vec<(Vec<i64>, u32)>>;
        let Reading { modulus, order } = self.library.pairs;
        let mut sums: Sums<'_> = HashMap::new();
        let mut in_order = Vec::new();
        for &(node, leaves, table) in cells {
            let at = |a: u16, b: u16| table >> (a | b << 1) & 1 == 1;
            // Of an odd number of four values, one pair in the middle is equal.
            let negated = at(0, 1) != at(1, 0);
            let values = if negated {
                of_pair([at(0, 1), at(0, 0), at(1, 0)], modulus)
            } else {
                of_pair([at(0, 0), at(0, 1), at(1, 1)], modulus)
            };
            let own = sums.entry((leaves, negated)).or_insert_with(|| {
                in_order.push((leaves, negated));
                Vec::new()
            });
            own.push((values, node));
        }
        for (leaves, negated) in in_order {
            let mut tables = sums.remove(&(leaves, negated)).unwrap_or_default();
            tables.sort();
            let (values, nodes): (Vec<_>, Vec<_>) = tables.into_iter().unzip();
            let weights = vec![1, if negated { -1 } else { 1 }];
            let operands = self.operands(leaves);
            let results =
                self.add((values, order, weights, i64::from(negated)), operands, level)?;
            nodes.iter().zip(results).for_each(|(&n, wire)| self.wires[n as usize] = Some(wire));
        }
        Ok(())
    }

    /// Functions of the same few bits, whose order is the one that makes the same tables of as many
    /// groups as can be.
    fn group(&mut self, group: &Group, level: u32) -> Result<()> {
        let bits = group.leaves.len();
        let Reading { modulus, order } = self.library.any[bits.max(2) - 2];
        for functions in group.functions.chunks(MOST_TABLES) {
            let arranged = |places: &Vec<usize>| {
                let mut tables: Vec<(Vec<i64>, u32)> = functions
                    .iter()
                    .map(|&(node, table)| (values(table, places, modulus), node))
                    .collect();
                tables.sort();
                tables
            };
            let names = |tables: &[(Vec<i64>, u32)]| -> Vec<Vec<i64>> {
                tables.iter().map(|(values, _)| values.clone()).collect()
            };
            let least = permutations(bits)
                .into_iter()
                .map(|places| (arranged(&places), places))
                .min_by_key(|(tables, _)| names(tables));
            let Some((tables, places)) = least else { continue };
            let leaves: Vec<u32> = places.iter().map(|&place| group.leaves[place]).collect();
            let weights = (0..bits).map(|bit| 1i64 << bit).collect();
            let operands = self.operands(&leaves);
            let results = self.add((names(&tables), order, weights, 0), operands, level)?;
            let nodes = tables.iter().map(|(_, node)| *node);
            nodes.zip(results).for_each(|(node, wire)| self.wires[node as usize] = Some(wire));
        }
        Ok(())
    }
}

/// Values of a table at sums in which leaf `places[i]` has weight 2^i.
fn values(table: u16, places: &[usize], modulus: u32) -> Vec<i64> {
    let at = |sum: u32| {
        let sum = if sum >> places.len() == 0 { sum } else { 0 };
        let bits = (0..).zip(places).map(|(bit, &place)| (sum >> bit & 1) << place);
        i64::from(table >> bits.sum::<u32>() & 1)
    };
    (0..modulus).map(at).collect()
}

/// All orders of `count` things.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = |own: &Vec<usize>| {
            let own = own.clone();
            (0..=own.len()).map(move |at| {
                let mut own = own.clone();
                own.insert(at, next);
                own
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
