//! Decides at which levels each limb is computed, and which limbs go through memory.
//!
//! Consumers decide first. A sum that one phase needs is computed there and nowhere else, even if
//! it could have been known earlier: its operands lie in memory anyway. One that several phases
//! need is stored by the first, or computed again where that reads no more than it would.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::expand::{Demand, Wanted};
use super::graph::{Graph, Id, Node, Ref};
use crate::poly::ResidentShape;
use crate::poly::schedule::{Form, Limb};

/// Sums that are needed this many levels after they could be computed are not stored meanwhile:
/// the two of a column phase in between.
const PATIENCE: u32 = 2;

/// What storing a limb and loading it again cost, in loads: memory takes words half as fast as it
/// gives them.
const STORE_AND_LOAD: f64 = 3.0;

/// A store of a node's words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub level: u32,
    pub to: Limb,
    pub form: Form,
    pub g: u32,
}

/// Where and when everything is computed. Limbs of the arena are numbered without reuse.
#[derive(Debug)]
pub(super) struct Placed {
    /// For each node, the levels at which it is computed, ascending.
    pub computed: Vec<Vec<u32>>,
    /// For each node, its stores.
    pub stores: Vec<Vec<Stored>>,
    pub arena_limbs: u32,
    /// Where the limbs of kept values lie.
    pub kept: Vec<Vec<Limb>>,
}

impl Placed {
    /// Where a tile of `level` finds the words of `of` in `form`: a limb, and the automorphism
    /// that is left to do. Nothing if the tile has to compute them.
    pub fn find(&self, graph: &Graph, of: Ref, form: Form, level: u32) -> Option<(Limb, u32)> {
        match graph.node(of.node) {
            Node::Stored(limb) if form == Form::Evaluations => return Some((*limb, of.g)),
            Node::Bound(limb) if form == Form::Coefficients => return Some((*limb, 1)),
            _ => {}
        }
        let there = || {
            let stores = self.stores[of.node as usize].iter();
            stores.filter(move |s| s.form == form && s.level < level)
        };
        let exact = there().find(|s| s.g == of.g).map(|s| (s.to, 1));
        // Only whole evaluations can still be permuted.
        let plain = || {
            let found = there().find(|s| s.g == 1 && form == Form::Evaluations);
            found.map(|s| (s.to, of.g))
        };
        exact.or_else(plain)
    }
}

#[derive(Clone, Debug, Default)]
struct Needs {
    /// Levels at which others read the node in their tile.
    inside: BTreeSet<u32>,
    /// Exponents of automorphisms under which later rows read its evaluations, and the level of
    /// the first reader.
    turned: BTreeMap<u32, u32>,
    /// Half transforms that columns read: by exponent (1 for columns' own),
    /// the level of the first reader.
    halves: BTreeMap<u32, u32>,
    /// Outputs, with exponents.
    outputs: Vec<(u32, Limb)>,
    /// Kept limbs: exponent, value, limb.
    kept: Vec<(u32, usize, usize)>,
}

/// Places the nodes of `graph`.
pub(super) fn place(
    graph: &Graph,
    demands: &[Demand],
    kept_limbs: &[usize],
    residents: &[ResidentShape],
) -> Placed {
    let count = graph.nodes.len();
    let mut placer = Placer {
        graph,
        needs: vec![Needs::default(); count],
        residents,
        readers: readers(graph),
        pinned: pinned(graph),
        placed: Placed {
            computed: vec![Vec::new(); count],
            stores: vec![Vec::new(); count],
            arena_limbs: 0,
            kept: kept_limbs.iter().map(|&limbs| vec![Limb::Arena(0); limbs]).collect(),
        },
    };
    for demand in demands {
        let needs = &mut placer.needs[demand.of.node as usize];
        match demand.to {
            Wanted::Output(limb) => needs.outputs.push((demand.of.g, limb)),
            Wanted::Kept { place, limb } => needs.kept.push((demand.of.g, place, limb)),
        }
    }
    for id in (0..count as Id).rev() {
        placer.place(id);
    }
    placer.placed
}

/// The sums that read each resident limb, and each limb under an automorphism: these come from
/// memory, whichever tile reads them.
fn readers(graph: &Graph) -> HashMap<Ref, Vec<Id>> {
    let mut readers: HashMap<Ref, Vec<Id>> = HashMap::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        let Node::Sum(terms) = node else { continue };
        for of in terms.iter().flat_map(|t| t.refs()) {
            let is_resident = matches!(graph.node(of.node), Node::Stored(Limb::Resident { .. }));
            if is_resident || of.g != 1 {
                readers.entry(of).or_default().push(id as Id);
            }
        }
    }
    readers
}

/// Whether a node is computed at its own level, or stored in any case: columns want its half
/// transform, or rows its image under an automorphism.
fn pinned(graph: &Graph) -> Vec<bool> {
    let mut pinned = vec![false; graph.nodes.len()];
    for node in &graph.nodes {
        match node {
            Node::Inverse(of) => pinned[of.node as usize] = true,
            Node::Sum(terms) => {
                for of in terms.iter().flat_map(|t| t.refs()).filter(|of| of.g != 1) {
                    pinned[of.node as usize] = true;
                }
            }
            _ => {}
        }
    }
    pinned
}

struct Placer<'a> {
    graph: &'a Graph,
    needs: Vec<Needs>,
    residents: &'a [ResidentShape],
    readers: HashMap<Ref, Vec<Id>>,
    pinned: Vec<bool>,
    placed: Placed,
}

impl Placer<'_> {
    fn place(&mut self, id: Id) {
        let needs = std::mem::take(&mut self.needs[id as usize]);
        let levels = match self.graph.node(id) {
            Node::Stored(_) => self.place_stored(id, &needs),
            Node::Sum(_) | Node::Forward(_) => self.place_evaluations(id, &needs),
            _ => self.place_coefficients(id, &needs),
        };
        for &level in &levels {
            self.read_operands(id, level);
        }
        self.placed.computed[id as usize] = levels.into_iter().collect();
    }

    fn store(&mut self, id: Id, level: u32, form: Form, g: u32, to: Option<Limb>) -> Limb {
        let to = to.unwrap_or_else(|| {
            self.placed.arena_limbs += 1;
            Limb::Arena(self.placed.arena_limbs - 1)
        });
        self.placed.stores[id as usize].push(Stored { level, to, form, g });
        to
    }

    /// Outputs and kept limbs, all stored at `level`.
    fn store_wanted(&mut self, id: Id, level: u32, form: Form, needs: &Needs) {
        for &(g, limb) in &needs.outputs {
            self.store(id, level, form, g, Some(limb));
        }
        for &(g, place, limb) in &needs.kept {
            let of = Ref { node: id, g };
            let to = match self.placed.find(self.graph, of, form, u32::MAX) {
                // Whoever reads kept limbs need not know of runs.
                Some((to, 1)) if !matches!(to, Limb::Resident { .. }) => to,
                _ => self.store(id, level, form, g, None),
            };
            self.placed.kept[place][limb] = to;
        }
    }

    fn place_stored(&mut self, id: Id, needs: &Needs) -> BTreeSet<u32> {
        let mut levels = BTreeSet::new();
        for (&g, &reader) in &needs.halves {
            self.store(id, reader - 1, Form::Half, g, None);
            levels.insert(reader - 1);
        }
        let level = levels.first().copied().unwrap_or(0);
        self.store_wanted(id, level, Form::Evaluations, needs);
        levels.extend(self.placed.stores[id as usize].iter().map(|s| s.level));
        levels
    }

    fn place_evaluations(&mut self, id: Id, needs: &Needs) -> BTreeSet<u32> {
        let own = self.graph.level(id);
        let parted = self.graph.parted[id as usize] && !needs.inside.is_empty();
        let mut levels = needs.inside.clone();
        if !needs.halves.is_empty() || parted {
            levels.insert(own);
        } else if let Some(&reader) = needs.turned.values().min() {
            levels.insert(self.level_before(id, reader));
        }
        for &g in needs.halves.keys() {
            self.store(id, own, Form::Half, g, None);
        }
        let wanted = !needs.outputs.is_empty() || !needs.kept.is_empty();
        let first = levels.first().copied().unwrap_or(own);
        if wanted {
            levels.insert(first);
            self.store_wanted(id, first, Form::Evaluations, needs);
        }
        let later = levels.last().is_some_and(|&last| last > first);
        let only = needs.inside.first().copied().filter(|_| levels.len() == 1 && !wanted);
        let early = only.is_some_and(|level| level > own && self.better_early(id, level));
        let memory = wanted || !needs.turned.is_empty() || parted || early;
        if !memory && (!later || self.cheap(id)) {
            return levels;
        }
        let level = if early { own } else { first };
        // Where one automorphism is all that later rows want, the store does it.
        let plain_later = needs.inside.iter().any(|&l| l > level);
        let missing: Vec<u32> = needs
            .turned
            .keys()
            .copied()
            .filter(|&g| !self.placed.stores[id as usize].iter().any(|s| is_whole(s, g)))
            .collect();
        let has_plain = self.placed.stores[id as usize].iter().any(|s| is_whole(s, 1));
        match missing[..] {
            [g] if !plain_later && !has_plain && !g.is_multiple_of(2) => {
                self.store(id, level, Form::Evaluations, g, None);
            }
            [] if !plain_later => {}
            _ if has_plain => {}
            _ => {
                self.store(id, level, Form::Evaluations, 1, None);
            }
        }
        BTreeSet::from([level])
    }

    /// The level at which a sum is computed that rows of level `reader` read under an automorphism.
    /// Where all of its operands lie in memory at any time, these are the last rows before: its own
    /// level is the one that all others wait for.
    fn level_before(&self, id: Id, reader: u32) -> u32 {
        let own = self.graph.level(id);
        let Node::Sum(terms) = self.graph.node(id) else { return own };
        let mut refs = terms.iter().flat_map(|t| t.refs());
        let is_stored = refs.all(|of| matches!(self.graph.node(of.node), Node::Stored(_)));
        if is_stored { own.max(reader.saturating_sub(PATIENCE)) } else { own }
    }

    /// Whether a sum that only `level` needs is better computed at its own level and stored.
    fn better_early(&self, id: Id, level: u32) -> bool {
        let Node::Sum(terms) = self.graph.node(id) else { return false };
        let own = self.graph.level(id);
        // Sums that it reads are formed at its own level, and nowhere else.
        if terms.iter().flat_map(|t| t.refs()).any(|of| self.graph.turned.contains(&of.node)) {
            return true;
        }
        if self.graph.halves[id as usize] > 1 && level > own + PATIENCE {
            return true;
        }
        // What it reads from memory in any case may be read at its own level anyway.
        let shared = terms.iter().flat_map(|t| t.refs()).filter(|of| {
            self.readers.get(of).is_some_and(|others| {
                others.iter().any(|&other| {
                    other != id && self.pinned[other as usize] && self.graph.level(other) == own
                })
            })
        });
        let spared: f64 = shared.map(|of| self.size(of.node)).sum();
        spared > STORE_AND_LOAD
    }

    /// How much of a limb a resident one is.
    fn size(&self, id: Id) -> f64 {
        match self.graph.node(id) {
            Node::Stored(Limb::Resident { slot, .. }) => {
                1.0 / f64::from(1 << self.residents[*slot as usize].log2_run)
            }
            _ => 1.0,
        }
    }

    /// Whether computing it again reads no more than a store and a load are worth.
    fn cheap(&self, id: Id) -> bool {
        let Node::Sum(terms) = self.graph.node(id) else { return false };
        let product = terms.iter().any(|t| t.b.is_some());
        let easy = |of: Ref| match self.graph.node(of.node) {
            Node::Stored(_) => true,
            _ => of.g == 1 && product,
        };
        terms.len() <= 2 && terms.iter().flat_map(|t| t.refs()).all(easy)
    }

    fn place_coefficients(&mut self, id: Id, needs: &Needs) -> BTreeSet<u32> {
        let own = self.graph.level(id);
        let mut levels = needs.inside.clone();
        if !needs.halves.is_empty() {
            levels.insert(own);
            self.store(id, own, Form::Half, 1, None);
        }
        let first = levels.first().copied().unwrap_or(own);
        let wanted = !needs.outputs.is_empty() || !needs.kept.is_empty();
        if wanted {
            levels.insert(first);
            self.store_wanted(id, first, Form::Coefficients, needs);
        }
        let stored = self.placed.stores[id as usize].iter().any(|s| s.form == Form::Coefficients);
        match self.graph.node(id) {
            // Loads: every tile makes its own.
            Node::Bound(_) | Node::Inverse(_) => levels,
            _ if levels.len() == 1 => levels,
            _ => {
                if !stored {
                    self.store(id, first, Form::Coefficients, 1, None);
                }
                BTreeSet::from([first])
            }
        }
    }

    /// Tells the operands of `id` that a tile of `level` computes it.
    fn read_operands(&mut self, id: Id, level: u32) {
        let graph = self.graph;
        match graph.node(id) {
            Node::Stored(_) | Node::Bound(_) => {}
            Node::Sum(terms) => {
                for of in terms.iter().flat_map(|t| t.refs()) {
                    if matches!(graph.node(of.node), Node::Stored(_)) {
                        continue;
                    }
                    let needs = &mut self.needs[of.node as usize];
                    if of.g == 1 {
                        needs.inside.insert(level);
                    } else {
                        let first = needs.turned.entry(of.g).or_insert(level);
                        *first = level.min(*first);
                    }
                }
            }
            Node::Forward(of) => {
                let first = self.needs[*of as usize].halves.entry(1).or_insert(level);
                *first = level.min(*first);
            }
            Node::Combine(terms) => {
                for &(_, of) in terms {
                    self.needs[of as usize].inside.insert(level);
                }
            }
            Node::Converted(number) => {
                for &of in &graph.conversions[*number as usize].sources {
                    self.needs[of as usize].inside.insert(level);
                }
            }
            Node::Inverse(of) => {
                let first = self.needs[of.node as usize].halves.entry(of.g).or_insert(level);
                *first = level.min(*first);
            }
        }
    }
}

fn is_whole(stored: &Stored, g: u32) -> bool {
    stored.form == Form::Evaluations && stored.g == g
}
