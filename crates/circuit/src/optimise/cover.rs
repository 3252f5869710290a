//! Covering a graph with bootstrappings: least depth first, then as few as possible at that depth.
//!
//! Technology mapping as it is done for look-up tables of FPGAs: priority cuts and area flow
//! (Mishchenko, Cho, Chatterjee, Brayton, ICCAD 2007), then exact local area. The cells are not all
//! functions of four bits but the [`Form`]s that the noise budget admits, so a full adder written
//! in five gates becomes two bootstrappings.

use super::cut::Cut;
use super::form::Form;
use super::graph::{Graph, Literal, Node};

/// Cuts kept for a node: more find little and cost time.
const KEPT: usize = 10;

/// Rounds of exact area recovery; a third finds nothing on any circuit of this crate.
const EXACT_ROUNDS: usize = 2;

/// Most bootstrappings that a node may have to itself where its cuts are compared exactly: what a
/// comparison walks over is bounded, and all of them together grow with the circuit, not with its
/// square.
const MOST_EXACT: usize = 256;

pub(crate) struct Cover<'a> {
    graph: &'a Graph,
    /// Largest variance of a form that may be used.
    budget: u32,
    cuts: Vec<Vec<Cut>>,
    /// What a node turned out to be equal to: itself, or an earlier node.
    same_as: Vec<Literal>,
    /// Index of the chosen cut of each node.
    choice: Vec<usize>,
    /// Level at which a node is ready: 0 for inputs.
    arrival: Vec<u32>,
    /// Latest level that does not deepen the circuit; of nodes out of use, anything.
    required: Vec<u32>,
    /// Bootstrappings for a node, shared between its readers.
    flow: Vec<f32>,
    /// Readers under the present choice.
    readers: Vec<u32>,
}

impl<'a> Cover<'a> {
    /// The best cover found. `budget` is at least 2, so AND and XOR of two always have a form.
    pub fn new(graph: &'a Graph, budget: u32) -> Self {
        let len = graph.nodes.len();
        let mut cover = Self {
            graph,
            budget,
            cuts: Vec::with_capacity(len),
            same_as: (0..len as u32).map(|n| Literal::new(n, false)).collect(),
            choice: vec![0; len],
            arrival: vec![0; len],
            required: vec![u32::MAX; len],
            flow: vec![0.0; len],
            readers: graph.readers(),
        };
        (0..len).for_each(|node| cover.enumerate(node));
        cover.count();
        (0..len).for_each(|node| {
            cover.choose(node, |c, cut| (c.flow_of(cut), c.arrival_of(cut) as f32))
        });
        cover.count();
        for _ in 0..EXACT_ROUNDS {
            (0..len).for_each(|node| cover.choose_exactly(node));
            cover.count();
        }
        cover
    }

    /// What a literal of the graph stands for.
    pub fn resolve(&self, literal: Literal) -> Literal {
        self.same_as[literal.node() as usize].not_if(literal.inverted())
    }

    /// Nodes that are bootstrapped, operands first: the node, its operands and its form.
    pub fn chosen(&self) -> impl Iterator<Item = (u32, &[u32], Form)> {
        let used = (0..self.graph.nodes.len()).filter(|&n| self.readers[n] > 0);
        used.filter_map(|n| {
            let cut = self.cut(n)?;
            Some((n as u32, cut.leaves(), cut.form?))
        })
    }

    /// The chosen cut of a node that is not an input.
    fn cut(&self, node: usize) -> Option<&Cut> {
        self.cuts[node].get(self.choice[node])
    }

    fn admits(&self, cut: &Cut) -> bool {
        cut.form.is_some_and(|form| form.variance() <= self.budget)
    }

    fn arrival_of(&self, cut: &Cut) -> u32 {
        1 + cut.leaves().iter().map(|&l| self.arrival[l as usize]).max().unwrap_or(0)
    }

    fn flow_of(&self, cut: &Cut) -> f32 {
        1.0 + cut
            .leaves()
            .iter()
            .map(|&l| self.flow[l as usize] / self.readers[l as usize].max(1) as f32)
            .sum::<f32>()
    }

    /// Finds the cuts of a node and chooses the one that is ready first.
    fn enumerate(&mut self, node: usize) {
        let (a, b, is_and) = match self.graph.nodes[node] {
            Node::And(a, b) => (a, b, true),
            Node::Xor(a, b) => (Literal::new(a, false), Literal::new(b, false), false),
            Node::False | Node::Input(_) => return self.cuts.push(Vec::new()),
        };
        let operation = |x: u16, y: u16| if is_and { x & y } else { x ^ y };
        let [a, b] = [a, b].map(|literal| self.views(self.resolve(literal)));
        let mut found: Vec<Cut> = Vec::new();
        for cut in a.iter().flat_map(|a| b.iter().filter_map(move |b| a.join(b, operation))) {
            if let [] | [_] = cut.leaves() {
                return self.replace(node, &cut);
            }
            if !found.contains(&cut) {
                found.push(cut);
            }
        }
        // The views of a literal end with the node itself: the last join is the plain gate, which
        // always has a form.
        let plain = found.pop().into_iter();
        found.sort_by(|x, y| {
            self.arrival_of(x)
                .cmp(&self.arrival_of(y))
                .then(self.flow_of(x).total_cmp(&self.flow_of(y)))
        });
        found.truncate(KEPT);
        self.cuts.push(found.into_iter().chain(plain).collect());
        self.choose(node, |c, cut| (c.arrival_of(cut) as f32, c.flow_of(cut)));
    }

    /// A literal as functions of earlier nodes, the node itself last.
    fn views(&self, literal: Literal) -> Vec<Cut> {
        let node = literal.node();
        let itself = if node == 0 { Cut::zero() } else { Cut::of_node(node) };
        self.cuts[node as usize]
            .iter()
            .copied()
            .chain([itself])
            .map(|cut| cut.not_if(literal.inverted()))
            .collect()
    }

    /// A node that depends on one earlier node or none: nothing will read it.
    fn replace(&mut self, node: usize, cut: &Cut) {
        self.same_as[node] = match cut.leaves() {
            [leaf] => Literal::new(*leaf, cut.table & 1 == 1),
            _ => Literal::new(0, cut.table & 1 == 1),
        };
        self.cuts.push(Vec::new());
    }

    /// Chooses the admitted cut of least cost that is not too late.
    fn choose(&mut self, node: usize, cost: impl Fn(&Self, &Cut) -> (f32, f32)) {
        let fits = |(_, cut): &(usize, &Cut)| {
            self.admits(cut) && self.arrival_of(cut) <= self.required[node]
        };
        let costs = self.cuts[node]
            .iter()
            .enumerate()
            .filter(fits)
            .map(|(index, cut)| (cost(self, cut), index));
        if let Some((_, best)) =
            costs.min_by(|(x, _), (y, _)| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)))
        {
            self.choice[node] = best;
        }
        self.update(node);
    }

    fn update(&mut self, node: usize) {
        if let Some(&cut) = self.cut(node) {
            self.arrival[node] = self.arrival_of(&cut);
            self.flow[node] = self.flow_of(&cut);
        }
    }

    /// Chooses the cut that adds fewest bootstrappings to the cover as it is now; a node on which
    /// more than [`MOST_EXACT`] depend alone keeps the one that it has.
    fn choose_exactly(&mut self, node: usize) {
        let Some(&present) = self.cut(node).filter(|_| self.readers[node] > 0) else {
            return self.update(node);
        };
        let Some(area) = self.release(&present, MOST_EXACT) else { return self.update(node) };
        let arrival = self.arrival_of(&present);
        let mut best = if arrival <= self.required[node] {
            (area, arrival, self.choice[node])
        } else {
            (2 * MOST_EXACT, u32::MAX, self.choice[node])
        };
        for index in 0..self.cuts[node].len() {
            let cut = self.cuts[node][index];
            let arrival = self.arrival_of(&cut);
            if self.admits(&cut)
                && arrival <= self.required[node]
                && let Some(area) = self.claim(&cut, best.0)
            {
                self.release(&cut, area);
                best = best.min((area, arrival, index));
            }
        }
        self.choice[node] = best.2;
        let chosen = self.cuts[node][best.2];
        self.claim(&chosen, usize::MAX);
        self.update(node);
    }

    /// Adds a reader to each leaf; returns how many nodes that brings into use.
    fn claim(&mut self, cut: &Cut, most: usize) -> Option<usize> {
        self.walk(cut, most, 1, 1)
    }

    /// Takes a reader from each leaf; returns how many nodes that puts out of use.
    fn release(&mut self, cut: &Cut, most: usize) -> Option<usize> {
        self.walk(cut, most, u32::MAX, 0)
    }

    /// Adds `change` to the readers of all leaves, and of the leaves of those bootstrapped nodes
    /// that have `turned` readers then; returns how many these are. If they are more than `most`,
    /// nothing is changed.
    fn walk(&mut self, cut: &Cut, most: usize, change: u32, turned: u32) -> Option<usize> {
        let (mut changed, mut walked) = (0, cut.leaves().to_vec());
        let mut next = 0;
        while let Some(&leaf) = walked.get(next) {
            let leaf = leaf as usize;
            next += 1;
            self.readers[leaf] = self.readers[leaf].wrapping_add(change);
            if self.readers[leaf] == turned
                && let Some(cut) = self.cuts[leaf].get(self.choice[leaf])
            {
                changed += 1;
                walked.extend(cut.leaves());
            }
            if changed > most {
                for &leaf in &walked[..next] {
                    let readers = &mut self.readers[leaf as usize];
                    *readers = readers.wrapping_sub(change);
                }
                return None;
            }
        }
        Some(changed)
    }

    /// Counts readers under the present choice and finds how late each node may be.
    fn count(&mut self) {
        self.readers.fill(0);
        self.required.fill(u32::MAX);
        let outputs: Vec<usize> =
            self.graph.outputs.iter().map(|&o| self.resolve(o).node() as usize).collect();
        let depth = outputs.iter().map(|&o| self.arrival[o]).max().unwrap_or(0);
        for output in outputs {
            self.readers[output] += 1;
            self.required[output] = depth;
        }
        for node in
            (0..self.graph.nodes.len()).rev().filter(|&n| self.cuts[n].len() > self.choice[n])
        {
            if self.readers[node] == 0 {
                continue;
            }
            let cut = self.cuts[node][self.choice[node]];
            for &leaf in cut.leaves() {
                let leaf = leaf as usize;
                self.readers[leaf] += 1;
                self.required[leaf] = self.required[leaf].min(self.required[node] - 1);
            }
        }
    }
}
