//! Covering a graph with functions that a look-up computes: as few look-ups as possible.
//!
//! As in covering with bootstrappings (`optimise/cover.rs`): cuts, area flow, then exact local
//! area. Two things differ. XORs of many bits are one look-up of a sum modulo 2, so chains and
//! trees of them are taken apart. And functions of the same bits share a look-up, so a cut costs
//! less where another function of its leaves is computed already, and small ones, which will share
//! with others, cost less than large ones. Levels do not matter: many instances fill a device.

use super::library::Library;
use crate::optimise::{Cut, Graph, Literal, Node, VARIABLES};
use std::collections::HashMap;

/// Cuts kept for a node.
const KEPT: usize = 12;

/// Rounds by flow, and of exact area.
const ROUNDS: usize = 3;

/// Most look-ups that a node may have to itself where its cuts are compared exactly.
const MOST_EXACT: usize = 200;

/// What one more table of a sum costs, in look-ups.
const TABLE: f32 = 0.05;

/// A way to compute a node.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// A function of few nodes.
    Table(Cut),
    /// The XOR of nodes, in rising order, or its inverse.
    Parity { leaves: Vec<u32>, inverted: bool },
}

impl Choice {
    /// The XOR of two as a sum modulo 2, where sums have no weights.
    fn parity_of_two(&mut self) {
        if let Self::Table(cut) = self
            && let inverted = cut.table & 1 == 1
            && matches!(cut.table & 15, 0b0110 | 0b1001)
        {
            *self = Self::Parity { leaves: cut.leaves().to_vec(), inverted };
        }
    }

    pub fn leaves(&self) -> &[u32] {
        match self {
            Self::Table(cut) => cut.leaves(),
            Self::Parity { leaves, .. } => leaves,
        }
    }
}

pub(super) struct Map<'a> {
    graph: &'a Graph,
    library: &'a Library,
    choices: Vec<Vec<Choice>>,
    chosen: Vec<usize>,
    same_as: Vec<Literal>,
    /// Look-ups for a node, shared between its readers.
    flow: Vec<f32>,
    readers: Vec<u32>,
    /// Chosen tables that read these leaves.
    tables: HashMap<Vec<u32>, u32>,
}

/// What is in one of two sorted lists but not in both.
fn difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut i, mut j, mut all) = (0, 0, Vec::with_capacity(a.len() + b.len()));
    loop {
        match (a.get(i), b.get(j)) {
            (None, None) => return all,
            (Some(x), Some(y)) if x == y => (i, j) = (i + 1, j + 1),
            (Some(x), y) if y.is_none_or(|y| x < y) => {
                all.push(*x);
                i += 1;
            }
            (_, y) => {
                all.extend(y);
                j += 1;
            }
        }
    }
}

/// Whether a function is the XOR of its leaves, or the inverse.
fn is_linear(cut: &Cut) -> bool {
    let xor = VARIABLES[..cut.leaves().len()].iter().fold(0, |xor, variable| xor ^ variable);
    cut.table == xor || cut.table == !xor
}

impl<'a> Map<'a> {
    pub fn new(graph: &'a Graph, library: &'a Library) -> Self {
        let len = graph.nodes.len();
        let mut map = Self {
            graph,
            library,
            choices: Vec::with_capacity(len),
            chosen: vec![0; len],
            same_as: (0..len as u32).map(|n| Literal::new(n, false)).collect(),
            flow: vec![0.0; len],
            readers: graph.readers(),
            tables: HashMap::new(),
        };
        (0..len).for_each(|node| map.enumerate(node));
        for _ in 0..ROUNDS {
            map.count();
            (0..len).for_each(|node| {
                map.grow(node);
                map.choose(node);
            });
        }
        map.count();
        for _ in 0..ROUNDS {
            (0..len).for_each(|node| map.choose_exactly(node));
            map.count();
        }
        map
    }

    /// What a literal of the graph stands for.
    pub fn resolve(&self, literal: Literal) -> Literal {
        self.same_as[literal.node() as usize].not_if(literal.inverted())
    }

    /// Nodes that are computed, operands first.
    pub fn cells(&self) -> impl Iterator<Item = (u32, &Choice)> {
        let used = (0..self.graph.nodes.len()).filter(|&n| self.readers[n] > 0);
        used.filter_map(|n| Some((n as u32, self.choice(n)?)))
    }

    fn choice(&self, node: usize) -> Option<&Choice> {
        self.choices[node].get(self.chosen[node])
    }

    /// Look-ups that a choice takes, sharing counted in.
    fn price(&self, choice: &Choice) -> f32 {
        match choice {
            Choice::Parity { .. } => 1.0,
            Choice::Table(_) if self.library.any.is_empty() => 1.0,
            Choice::Table(cut) => match cut.leaves().len() {
                0..=2 => 0.55,
                3 => 0.8,
                _ => 1.0,
            },
        }
    }

    /// The same beside the tables that are chosen now.
    fn price_beside(&self, choice: &Choice) -> f32 {
        match choice {
            Choice::Table(cut) if self.tables.get(cut.leaves()).is_some_and(|n| *n > 0) => TABLE,
            _ => self.price(choice),
        }
    }

    fn flow_of(&self, choice: &Choice) -> f32 {
        let share = |&l: &u32| self.flow[l as usize] / self.readers[l as usize].max(1) as f32;
        self.price(choice) + choice.leaves().iter().map(share).sum::<f32>()
    }

    fn enumerate(&mut self, node: usize) {
        let (a, b, is_and) = match self.graph.nodes[node] {
            Node::And(a, b) => (a, b, true),
            Node::Xor(a, b) => (Literal::new(a, false), Literal::new(b, false), false),
            Node::False | Node::Input(_) => return self.choices.push(Vec::new()),
        };
        let operation = |x: u16, y: u16| if is_and { x & y } else { x ^ y };
        let [a, b] = [a, b].map(|literal| self.resolve(literal));
        let (of_a, of_b) = (self.views(a), self.views(b));
        let most = self.library.most_leaves();
        let mut found: Vec<Cut> = Vec::new();
        for cut in of_a.iter().flat_map(|a| of_b.iter().filter_map(move |b| a.join(b, operation))) {
            if let [] | [_] = cut.leaves() {
                return self.replace(node, &cut);
            }
            if cut.leaves().len() <= most && !found.contains(&cut) {
                found.push(cut);
            }
        }
        // The views of a literal end with the node itself: the last join is the plain gate.
        let plain = found.pop();
        let mut choices: Vec<Choice> = found.into_iter().map(Choice::Table).collect();
        choices.sort_by(|x, y| self.flow_of(x).total_cmp(&self.flow_of(y)));
        choices.truncate(KEPT);
        choices.extend(plain.map(Choice::Table));
        if self.library.any.is_empty() {
            choices.iter_mut().for_each(Choice::parity_of_two);
        }
        if !is_and {
            let xors = self.xors(a, b);
            // What is left of long XORs may be one node, which no function of four shows.
            if let Some((few, inverted)) = xors.iter().find(|(leaves, _)| leaves.len() < 2) {
                let leaf = few.first().copied().unwrap_or(0);
                self.same_as[node] = Literal::new(leaf, *inverted);
                return self.choices.push(Vec::new());
            }
            let fits = |(leaves, _): &(Vec<u32>, bool)| leaves.len() <= self.library.most_terms;
            let parity = |(leaves, inverted)| Choice::Parity { leaves, inverted };
            choices.extend(xors.into_iter().filter(fits).map(parity));
        }
        self.choices.push(choices);
        self.choose(node);
    }

    /// XORs of many, and whether they are inverted: the longest last, it is what others take apart.
    fn xors(&self, a: Literal, b: Literal) -> Vec<(Vec<u32>, bool)> {
        let one = |of: Literal| (vec![of.node()], of.inverted());
        // What a function of few bits computes stays whole: taken apart it would be more terms, and
        // no fewer look-ups.
        let is_function = |choice: &Choice| matches!(choice, Choice::Table(cut) if !is_linear(cut));
        let whole = |of: Literal| {
            let choices = &self.choices[of.node() as usize];
            match choices.last() {
                Some(Choice::Parity { leaves, inverted }) if !choices.iter().any(is_function) => {
                    (leaves.clone(), of.inverted() != *inverted)
                }
                _ => one(of),
            }
        };
        let pairs =
            [(one(a), one(b)), (whole(a), one(b)), (one(a), whole(b)), (whole(a), whole(b))];
        let mut all: Vec<(Vec<u32>, bool)> = pairs
            .into_iter()
            .map(|((a, not_a), (b, not_b))| (difference(&a, &b), not_a != not_b))
            .collect();
        all.sort_by_key(|(leaves, _)| leaves.len());
        all.dedup();
        all
    }

    /// Adds the XOR of a node in which others are taken apart where that saves look-ups under the
    /// present choice: those that few read.
    fn grow(&mut self, node: usize) {
        let Node::Xor(a, b) = self.graph.nodes[node] else { return };
        if self.choices[node].is_empty() || self.choices[node].len() > 2 * KEPT {
            return;
        }
        let [a, b] = [a, b].map(|of| self.resolve(Literal::new(of, false)));
        let mut leaves = difference(&[a.node()], &[b.node()]);
        let mut inverted = a.inverted() != b.inverted();
        let share = |&leaf: &u32| {
            let leaf = leaf as usize;
            self.flow[leaf] / self.readers[leaf].max(1) as f32
        };
        loop {
            let apart = |leaf: &u32| {
                let choice = self.choice(*leaf as usize)?;
                let Choice::Parity { leaves: of, inverted } = choice else { return None };
                let own = of.iter().map(share).sum::<f32>();
                let gain = share(leaf) - own;
                let fits = leaves.len() + of.len() - 1 <= self.library.most_terms;
                (fits && gain > 1e-3).then_some((gain, *leaf, of, *inverted))
            };
            let best = leaves.iter().filter_map(apart).max_by(|x, y| x.0.total_cmp(&y.0));
            let Some((_, leaf, of, turned)) = best else { break };
            leaves = difference(&difference(&leaves, &[leaf]), of);
            inverted ^= turned;
        }
        let known = |choice: &Choice| matches!(choice, Choice::Parity { leaves: own, .. } if *own == leaves);
        if leaves.len() >= 2 && !self.choices[node].iter().any(known) {
            self.choices[node].push(Choice::Parity { leaves, inverted });
        }
    }

    /// A literal as functions of earlier nodes, the node itself last.
    fn views(&self, literal: Literal) -> Vec<Cut> {
        let node = literal.node();
        let itself = if node == 0 { Cut::zero() } else { Cut::of_node(node) };
        let cuts = self.choices[node as usize].iter().filter_map(|choice| match choice {
            Choice::Table(cut) => Some(*cut),
            Choice::Parity { .. } => None,
        });
        cuts.chain([itself]).map(|cut| cut.not_if(literal.inverted())).collect()
    }

    /// A node that depends on one earlier node or none: nothing will read it.
    fn replace(&mut self, node: usize, cut: &Cut) {
        self.same_as[node] = match cut.leaves() {
            [leaf] => Literal::new(*leaf, cut.table & 1 == 1),
            _ => Literal::new(0, cut.table & 1 == 1),
        };
        self.choices.push(Vec::new());
    }

    fn choose(&mut self, node: usize) {
        let costs = self.choices[node].iter().map(|choice| self.flow_of(choice)).enumerate();
        if let Some((best, flow)) = costs.min_by(|x, y| x.1.total_cmp(&y.1)) {
            (self.chosen[node], self.flow[node]) = (best, flow);
        }
    }

    /// Takes the choice that adds fewest look-ups to the cover as it is now.
    fn choose_exactly(&mut self, node: usize) {
        if self.readers[node] == 0 || self.choices[node].len() < 2 {
            return;
        }
        let present = self.choices[node][self.chosen[node]].clone();
        let Some(area) = self.release(&present, MOST_EXACT as f32) else { return };
        let mut best = (area, self.chosen[node]);
        for index in 0..self.choices[node].len() {
            let choice = self.choices[node][index].clone();
            if let Some(area) = self.claim(&choice, best.0) {
                self.release(&choice, f32::INFINITY);
                if area + 1e-4 < best.0 {
                    best = (area, index);
                }
            }
        }
        self.chosen[node] = best.1;
        let chosen = self.choices[node][best.1].clone();
        self.claim(&chosen, f32::INFINITY);
    }

    /// Brings a choice into use; returns what that costs, unless it is more than `most`: then
    /// nothing changes.
    fn claim(&mut self, choice: &Choice, most: f32) -> Option<f32> {
        self.walk(choice, most, true)
    }

    /// Puts a choice out of use; returns what that saves.
    fn release(&mut self, choice: &Choice, most: f32) -> Option<f32> {
        self.walk(choice, most, false)
    }

    fn walk(&mut self, choice: &Choice, most: f32, claims: bool) -> Option<f32> {
        let mut cost = self.turn(choice, claims);
        let mut walked = vec![choice.clone()];
        let mut next = 0;
        while next < walked.len() && cost <= most {
            for leaf in walked[next].leaves().to_vec() {
                let leaf = leaf as usize;
                let change = if claims { 1 } else { u32::MAX };
                self.readers[leaf] = self.readers[leaf].wrapping_add(change);
                if self.readers[leaf] == u32::from(claims)
                    && let Some(choice) = self.choice(leaf).cloned()
                {
                    cost += self.turn(&choice, claims);
                    walked.push(choice);
                }
            }
            next += 1;
        }
        if cost <= most {
            return Some(cost);
        }
        for choice in &walked[..next] {
            for &leaf in choice.leaves() {
                let change = if claims { u32::MAX } else { 1 };
                let readers = &mut self.readers[leaf as usize];
                *readers = readers.wrapping_add(change);
            }
        }
        for choice in walked.iter().rev() {
            self.turn(choice, !claims);
        }
        None
    }

    /// Notes that a choice comes into use or goes out of it; returns what it costs beside those
    /// that are in use.
    fn turn(&mut self, choice: &Choice, claims: bool) -> f32 {
        if let Choice::Table(cut) = choice {
            let used = self.tables.entry(cut.leaves().to_vec()).or_default();
            if claims {
                let price = self.price_beside(choice);
                if let Some(used) = self.tables.get_mut(cut.leaves()) {
                    *used += 1;
                }
                return price;
            }
            *used = used.saturating_sub(1);
        }
        self.price_beside(choice)
    }

    /// Counts readers and tables under the present choice.
    fn count(&mut self) {
        self.readers.fill(0);
        self.tables.clear();
        for &output in &self.graph.outputs {
            let node = self.resolve(output).node() as usize;
            self.readers[node] += 1;
        }
        for node in (0..self.graph.nodes.len()).rev() {
            if self.readers[node] == 0 {
                continue;
            }
            let Some(choice) = self.choices[node].get(self.chosen[node]) else { continue };
            for &leaf in choice.leaves() {
                self.readers[leaf as usize] += 1;
            }
            if let Choice::Table(cut) = choice {
                *self.tables.entry(cut.leaves().to_vec()).or_default() += 1;
            }
        }
    }
}
