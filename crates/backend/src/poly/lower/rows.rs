//! Row tiles of one level: what shares slots or reads the same limbs shares a tile, as far as the
//! plan allows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::graph::{Graph, Id, Node, Ref};
use super::place::Placed;
use crate::poly::PolyPlan;
use crate::poly::schedule::{Form, Launch, Limb, Load, RowSum, RowTerm, RowTile, Source, Store};

/// Reads of the same evaluations from which on a tile keeps them in a slot.
const SLOT_READS: usize = 3;

/// The row launch of `level`, of the nodes that are computed there.
pub(super) fn launch(
    graph: &Graph,
    placed: &Placed,
    plan: &PolyPlan,
    level: u32,
    nodes: &[Id],
) -> Launch {
    let mut primes: BTreeMap<u16, Vec<Id>> = BTreeMap::new();
    for &id in nodes {
        primes.entry(graph.prime(id)).or_default().push(id);
    }
    let mut tiles = Vec::new();
    let phase = Phase { graph, placed, level, most: plan.most_row_slots.max(2) };
    // A sum that two tiles hold is stored by the first.
    let mut stored = HashSet::new();
    for (prime, nodes) in primes {
        for group in phase.groups(&nodes) {
            tiles.push(phase.tile(prime, &group, &mut stored));
        }
    }
    let half = |tile: &RowTile| {
        tile.loads.iter().any(|l| l.form == Form::Half)
            || tile
                .sums
                .iter()
                .flat_map(|s| &s.stores)
                .any(|s| s.form == Form::Half || s.automorphism != 1)
    };
    if tiles.iter().any(half) { Launch::Rows(tiles) } else { Launch::Pointwise(tiles) }
}

/// Where an operand comes from.
enum Operand {
    Inside(Id),
    Memory(Load),
}

struct Phase<'a> {
    graph: &'a Graph,
    placed: &'a Placed,
    level: u32,
    most: usize,
}

impl Phase<'_> {
    fn operand(&self, of: Ref) -> Operand {
        match self.placed.find(self.graph, of, Form::Evaluations, self.level) {
            Some((from, automorphism)) => {
                Operand::Memory(Load { from, form: Form::Evaluations, automorphism })
            }
            None => Operand::Inside(of.node),
        }
    }

    fn refs(&self, id: Id) -> Vec<Ref> {
        match self.graph.node(id) {
            Node::Sum(terms) => terms.iter().flat_map(|t| t.refs()).collect(),
            _ => Vec::new(),
        }
    }

    /// Half transforms of a node: its load, or its stores.
    fn transforms(&self, id: Id) -> usize {
        let stores = self.placed.stores[id as usize].iter();
        let halves = stores.filter(|s| s.level == self.level && s.form == Form::Half).count();
        halves + usize::from(matches!(self.graph.node(id), Node::Forward(_)))
    }

    fn stores(&self, id: Id) -> Vec<Store> {
        let stores = self.placed.stores[id as usize].iter().filter(|s| s.level == self.level);
        stores.map(|s| Store { to: s.to, form: s.form, automorphism: s.g }).collect()
    }

    /// Divides the nodes of one prime among tiles.
    fn groups(&self, nodes: &[Id]) -> Vec<Vec<Id>> {
        let place: HashMap<Id, usize> = nodes.iter().enumerate().map(|(i, &id)| (id, i)).collect();
        let mut union = Union::new(nodes.iter().map(|&id| self.transforms(id)).collect());
        let mut shared: BTreeMap<Limb, Vec<usize>> = BTreeMap::new();
        for (i, &id) in nodes.iter().enumerate() {
            for of in self.refs(id) {
                match self.operand(of) {
                    Operand::Inside(node) => union.join(i, place[&node]),
                    Operand::Memory(load) => shared.entry(load.from).or_default().push(i),
                }
            }
        }
        // Resident polynomials first: they come from further away.
        let mut shared: Vec<_> =
            shared.into_iter().filter(|(_, readers)| readers.len() > 1).collect();
        shared.sort_by_key(|(limb, _)| !matches!(limb, Limb::Resident { .. }));
        for (_, readers) in shared {
            for pair in readers.windows(2) {
                union.join_below(pair[0], pair[1], self.most);
            }
        }
        let mut groups: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
        for (i, &id) in nodes.iter().enumerate() {
            groups.entry(union.root(i)).or_default().push(id);
        }
        let mut fitting = Vec::new();
        for group in groups.into_values() {
            if group.iter().map(|&id| self.transforms(id)).sum::<usize>() <= self.most {
                fitting.push(group);
            } else {
                fitting.extend(self.split(&group));
            }
        }
        fitting
    }

    /// Divides a group that needs too many half transforms; what both parts need is in both.
    fn split(&self, group: &[Id]) -> Vec<Vec<Id>> {
        let mut parts = Vec::new();
        let mut part: BTreeSet<Id> = BTreeSet::new();
        let cost = |part: &BTreeSet<Id>, root: &[Id]| {
            let new = root.iter().filter(|id| !part.contains(id));
            part.iter().chain(new).map(|&id| self.transforms(id)).sum::<usize>()
        };
        for &root in group.iter().filter(|&&id| !self.stores(id).is_empty()) {
            let mut cone = vec![root];
            let mut next = 0;
            while next < cone.len() {
                for of in self.refs(cone[next]) {
                    if let Operand::Inside(node) = self.operand(of)
                        && !cone.contains(&node)
                    {
                        cone.push(node);
                    }
                }
                next += 1;
            }
            if !part.is_empty() && cost(&part, &cone) > self.most {
                parts.push(std::mem::take(&mut part).into_iter().collect());
            }
            part.extend(cone);
        }
        parts.push(part.into_iter().collect());
        parts
    }

    fn tile(&self, prime: u16, nodes: &[Id], stored: &mut HashSet<Id>) -> RowTile {
        let mut slots: HashMap<Id, u16> = HashMap::new();
        let mut tile = RowTile { prime, loads: Vec::new(), sums: Vec::new() };
        for &id in nodes {
            if let Node::Forward(of) = *self.graph.node(id) {
                let (from, _) = self
                    .placed
                    .find(self.graph, Ref::plain(of), Form::Half, self.level)
                    .expect("columns stored what rows transform");
                slots.insert(id, tile.loads.len() as u16);
                tile.loads.push(Load { from, form: Form::Half, automorphism: 1 });
            }
        }
        let mut reads: BTreeMap<(Limb, u32), (usize, Load)> = BTreeMap::new();
        for &id in nodes {
            for of in self.refs(id) {
                if let Operand::Memory(load) = self.operand(of) {
                    reads.entry((load.from, load.automorphism)).or_insert((0, load)).0 += 1;
                }
            }
        }
        let mut loaded: HashMap<Load, u16> = HashMap::new();
        let often = reads.into_values().filter(|&(count, _)| count >= SLOT_READS);
        for (_, load) in often.take(2 * self.most) {
            loaded.insert(load, tile.loads.len() as u16);
            tile.loads.push(load);
        }
        let source = |slots: &HashMap<Id, u16>, of: Ref| match self.operand(of) {
            Operand::Inside(node) => Source::Slot(slots[&node]),
            Operand::Memory(load) => match loaded.get(&load) {
                Some(&slot) => Source::Slot(slot),
                None => Source::Stream(load),
            },
        };
        for &id in nodes {
            let stores = if stored.insert(id) { self.stores(id) } else { Vec::new() };
            let terms = match self.graph.node(id) {
                Node::Sum(terms) => {
                    let mut terms: Vec<RowTerm> = terms
                        .iter()
                        .map(|t| {
                            let a = t.a.map(|a| source(&slots, a));
                            let b = t.b.map(|b| source(&slots, b));
                            let swap = operand_kind(b) < operand_kind(a);
                            let (a, b) = if swap { (b, a) } else { (a, b) };
                            RowTerm { factor: t.factor, a, b }
                        })
                        .collect();
                    terms.sort_by_key(kind);
                    terms
                }
                _ if stores.is_empty() => continue,
                Node::Stored(from) => {
                    let load = Load { from: *from, form: Form::Evaluations, automorphism: 1 };
                    vec![RowTerm { factor: [1; 2], a: Some(Source::Stream(load)), b: None }]
                }
                _ => {
                    let a = Some(Source::Slot(slots[&id]));
                    vec![RowTerm { factor: [1; 2], a, b: None }]
                }
            };
            let slot = (tile.loads.len() + tile.sums.len()) as u16;
            if matches!(self.graph.node(id), Node::Sum(_)) {
                slots.insert(id, slot);
            }
            tile.sums.push(RowSum { terms, stores });
        }
        tile
    }
}

/// What a kernel's text depends on, of a term. Terms are sorted by it, so that sums which differ in
/// the order of their terms alone are of one shape: a kernel is built for each.
fn kind(term: &RowTerm) -> impl Ord + use<> {
    let factor = match term.factor {
        [1, 1] => 0,
        [low, high] if low == high => 1,
        _ => 2,
    };
    (operand_kind(term.a), operand_kind(term.b), factor)
}

fn operand_kind(source: Option<Source>) -> (u8, u16) {
    match source {
        Some(Source::Slot(slot)) => (0, slot),
        Some(Source::Stream(load)) => (1, u16::from(load.automorphism != 1)),
        None => (2, 0),
    }
}

/// Disjoint sets with the half transforms of each.
struct Union {
    parents: Vec<usize>,
    transforms: Vec<usize>,
}

impl Union {
    fn new(transforms: Vec<usize>) -> Self {
        Self { parents: (0..transforms.len()).collect(), transforms }
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parents[i] != i {
            self.parents[i] = self.parents[self.parents[i]];
            i = self.parents[i];
        }
        i
    }

    fn join(&mut self, a: usize, b: usize) {
        self.join_below(a, b, usize::MAX);
    }

    fn join_below(&mut self, a: usize, b: usize, most: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let all = self.transforms[a] + self.transforms[b];
        if a != b && all <= most {
            // The lower number stays the root: groups keep the order of their first nodes.
            let (low, high) = (a.min(b), a.max(b));
            self.parents[high] = low;
            self.transforms[low] = all;
        }
    }
}
