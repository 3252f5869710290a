//! Column tiles of one level: the limbs that the same conversions yield share a tile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::graph::{Graph, Id, Node, Ref};
use super::place::Placed;
use crate::poly::schedule::{
    ColumnSum, ColumnTerm, ColumnTile, Conversion, Form, Launch, Load, Store,
};
use crate::poly::{PolyPlan, RingShape};

/// Outputs of a tile below which none is divided for the sake of more tiles.
const LEAST_OUTPUTS: usize = 8;

/// The column launch of `level`, of the nodes that are computed there.
pub(super) fn launch(
    graph: &Graph,
    placed: &Placed,
    plan: &PolyPlan,
    (level, ring): (u32, &RingShape),
    nodes: &[Id],
) -> Launch {
    let phase = Phase { graph, placed, level };
    // Outputs by the conversions that they rest on, so that none is made in two tiles where one has
    // room; those at the end of the longest chains first: what their tiles compute on the way is
    // stored by them.
    // No tile has primes of both rings.
    type Key = (std::cmp::Reverse<usize>, Vec<u32>, bool);
    let mut groups: BTreeMap<Key, Vec<Id>> = BTreeMap::new();
    for &id in nodes.iter().filter(|&&id| phase.stores(id).next().is_some()) {
        let conversions = phase.conversions(id);
        let depth = conversions.iter().map(|&c| phase.depth(c)).max().unwrap_or(0);
        let all = phase.all_conversions(conversions);
        let invariant = ring.is_invariant(graph.prime(id));
        groups.entry((std::cmp::Reverse(depth), all, invariant)).or_default().push(id);
    }
    // What a launch with few groups divides each into, so that there are tiles enough.
    let wanted = plan.least_column_tiles / groups.len().max(1);
    let mut stored = HashSet::new();
    let mut tiles = Vec::new();
    for outputs in groups.into_values() {
        let outputs: Vec<Id> = outputs.into_iter().filter(|id| !stored.contains(id)).collect();
        if outputs.is_empty() {
            continue;
        }
        // Sums that every tile of the group makes on the way to its outputs.
        let inner = phase.tile(&outputs, &mut HashSet::new()).sums.len() - outputs.len();
        let room = plan.most_column_sums.saturating_sub(inner).max(1);
        let parts = outputs.len().div_ceil(room).max(wanted.min(outputs.len() / LEAST_OUTPUTS));
        for part in outputs.chunks(outputs.len().div_ceil(parts)) {
            tiles.push(phase.tile(part, &mut stored));
        }
    }
    Launch::Columns(tiles)
}

struct Phase<'a> {
    graph: &'a Graph,
    placed: &'a Placed,
    level: u32,
}

impl Phase<'_> {
    fn stores(&self, id: Id) -> impl Iterator<Item = Store> {
        let stores = self.placed.stores[id as usize].iter().filter(|s| s.level == self.level);
        stores.map(|s| Store { to: s.to, form: s.form, automorphism: 1 })
    }

    /// The load that fills a slot with the coefficients of `id`, if no sum has to.
    fn load(&self, id: Id) -> Option<Load> {
        let find = |of, form| {
            let (from, _) = self.placed.find(self.graph, of, form, self.level)?;
            Some(Load { from, form, automorphism: 1 })
        };
        match self.graph.node(id) {
            Node::Inverse(of) => {
                find(Ref::plain(id), Form::Coefficients).or_else(|| find(*of, Form::Half))
            }
            _ => find(Ref::plain(id), Form::Coefficients),
        }
    }

    /// The conversions that a node reads itself, ascending.
    fn conversions(&self, id: Id) -> Vec<u32> {
        let direct = |id: Id| match self.graph.node(id) {
            Node::Converted(number) if self.load(id).is_none() => Some(*number),
            _ => None,
        };
        let mut conversions: Vec<u32> = match self.graph.node(id) {
            Node::Combine(terms) => terms.iter().filter_map(|&(_, id)| direct(id)).collect(),
            _ => direct(id).into_iter().collect(),
        };
        conversions.sort_unstable();
        conversions.dedup();
        conversions
    }

    /// These conversions and those that their sources read, ascending.
    fn all_conversions(&self, mut conversions: Vec<u32>) -> Vec<u32> {
        let mut all = BTreeSet::new();
        while let Some(number) = conversions.pop() {
            if all.insert(number) {
                let sources = &self.graph.conversions[number as usize].sources;
                let sums = sources.iter().filter(|&&id| self.load(id).is_none());
                conversions.extend(sums.flat_map(|&id| self.conversions(id)));
            }
        }
        all.into_iter().collect()
    }

    /// How many conversions follow one another up to this one.
    fn depth(&self, conversion: u32) -> usize {
        let sources = &self.graph.conversions[conversion as usize].sources;
        let before = |&id: &Id| match self.load(id) {
            Some(_) => 0,
            None => self.conversions(id).iter().map(|&c| self.depth(c)).max().unwrap_or(0),
        };
        1 + sources.iter().map(before).max().unwrap_or(0)
    }

    /// A tile that computes `outputs`, with all stores of this level that nobody did before.
    fn tile(&self, outputs: &[Id], stored: &mut HashSet<Id>) -> ColumnTile {
        let mut cone = Cone { phase: self, ..Cone::new(self) };
        for &id in outputs {
            cone.visit_sum(id);
        }
        let Cone { loads, sums, conversions, .. } = cone;
        let slots: HashMap<Id, u16> = loads
            .iter()
            .map(|&(id, _)| id)
            .chain(sums.iter().copied())
            .enumerate()
            .map(|(slot, id)| (id, slot as u16))
            .collect();
        // An output that is a load besides (coefficients for a call) has both slots: sums read
        // the load.
        let loaded: HashMap<Id, u16> =
            loads.iter().enumerate().map(|(slot, &(id, _))| (id, slot as u16)).collect();
        let slot = |id: &Id| *loaded.get(id).unwrap_or(&slots[id]);
        let number: HashMap<u32, u16> =
            conversions.iter().enumerate().map(|(i, &c)| (c, i as u16)).collect();
        let term = |factor: u32, id: Id| match self.graph.node(id) {
            Node::Converted(c) if !loaded.contains_key(&id) => {
                ColumnTerm::Converted { factor, conversion: number[c] }
            }
            _ => ColumnTerm::Scaled { factor, slot: slot(&id) },
        };
        let sum = |&id: &Id| {
            let terms = match self.graph.node(id) {
                Node::Combine(terms) if !loaded.contains_key(&id) => {
                    terms.iter().map(|&(factor, id)| term(factor, id)).collect()
                }
                _ => vec![term(1, id)],
            };
            let stores = if stored.insert(id) { self.stores(id).collect() } else { Vec::new() };
            ColumnSum { prime: self.graph.prime(id), terms, stores }
        };
        ColumnTile {
            loads: loads.iter().map(|&(id, load)| (self.graph.prime(id), load)).collect(),
            sums: sums.iter().map(sum).collect(),
            conversions: conversions
                .iter()
                .map(|&c| {
                    let conversion = &self.graph.conversions[c as usize];
                    Conversion {
                        slots: conversion.sources.iter().map(slot).collect(),
                        corrected: conversion.corrected,
                    }
                })
                .collect(),
        }
    }
}

/// What a tile holds, in an order in which everything reads earlier things.
struct Cone<'a> {
    phase: &'a Phase<'a>,
    loads: Vec<(Id, Load)>,
    sums: Vec<Id>,
    conversions: Vec<u32>,
    seen_loads: HashSet<Id>,
    seen_sums: HashSet<Id>,
    seen_conversions: HashSet<u32>,
}

impl<'a> Cone<'a> {
    fn new(phase: &'a Phase<'a>) -> Self {
        Self {
            phase,
            loads: Vec::new(),
            sums: Vec::new(),
            conversions: Vec::new(),
            seen_loads: HashSet::new(),
            seen_sums: HashSet::new(),
            seen_conversions: HashSet::new(),
        }
    }

    /// Makes `id` a slot: a load where it can be, a sum otherwise.
    fn visit(&mut self, id: Id) {
        match self.phase.load(id) {
            Some(load) => {
                if self.seen_loads.insert(id) {
                    self.loads.push((id, load));
                }
            }
            None => self.visit_sum(id),
        }
    }

    /// Makes `id` a sum, even one of a single load.
    fn visit_sum(&mut self, id: Id) {
        if self.seen_sums.contains(&id) {
            return;
        }
        if self.phase.load(id).is_some() {
            self.visit(id);
        } else {
            match self.phase.graph.node(id) {
                Node::Combine(terms) => {
                    for &(_, id) in terms {
                        match self.phase.graph.node(id) {
                            Node::Converted(c) if self.phase.load(id).is_none() => {
                                self.visit_conversion(*c);
                            }
                            _ => self.visit(id),
                        }
                    }
                }
                Node::Converted(c) => self.visit_conversion(*c),
                _ => unreachable!("columns store what columns load"),
            }
        }
        self.seen_sums.insert(id);
        self.sums.push(id);
    }

    fn visit_conversion(&mut self, number: u32) {
        if self.seen_conversions.insert(number) {
            let graph = self.phase.graph;
            for &id in &graph.conversions[number as usize].sources {
                self.visit(id);
            }
            self.conversions.push(number);
        }
    }
}
