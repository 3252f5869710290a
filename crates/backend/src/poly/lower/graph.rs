//! The graph of limbs: what a program computes, prime by prime, with the row or column phase in
//! which each limb can first be known.

use std::collections::{BTreeSet, HashMap};

use crate::poly::schedule::Limb;

/// Number of a node.
pub(super) type Id = u32;

/// The evaluations of a node under X -> X^g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Ref {
    pub node: Id,
    pub g: u32,
}

impl Ref {
    pub fn plain(node: Id) -> Self {
        Self { node, g: 1 }
    }
}

/// `factor * a * b` in evaluations; the factors are those of the two halves of a limb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Term {
    pub factor: [u32; 2],
    pub a: Option<Ref>,
    pub b: Option<Ref>,
}

impl Term {
    pub fn refs(&self) -> impl Iterator<Item = Ref> + use<> {
        self.a.into_iter().chain(self.b)
    }
}

/// One limb. The first three are evaluations, the others coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// Bound by the call or resident, in evaluations.
    Stored(Limb),
    /// A sum of products.
    Sum(Vec<Term>),
    /// The transform of coefficients.
    Forward(Id),
    /// Bound by the call, in coefficients.
    Bound(Limb),
    /// A linear combination of coefficients.
    Combine(Vec<(u32, Id)>),
    /// The inverse transform of evaluations.
    Inverse(Ref),
    /// What a conversion yields modulo the node's prime.
    Converted(u32),
}

/// A base conversion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Conversion {
    pub sources: Vec<Id>,
    pub corrected: bool,
}

/// Nodes in an order in which each reads earlier ones only; equal nodes are one.
///
/// *Levels* number the phases: rows are even, columns odd. The level of a node is the first phase
/// at which its words can be in a tile.
#[derive(Debug)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
    pub primes: Vec<u16>,
    pub levels: Vec<u32>,
    /// How many half transforms a row tile needs at most to form the node.
    pub halves: Vec<u32>,
    /// Evaluations that go through memory lest a tile need too many half transforms.
    pub parted: Vec<bool>,
    /// Sums that are formed under an automorphism (`turn`).
    pub turned: BTreeSet<Id>,
    pub conversions: Vec<Conversion>,
    /// 2N, the modulus of automorphisms' exponents.
    pub order: u32,
    /// Most half transforms of a sum.
    pub most_halves: u32,
    known: HashMap<(Node, u16), Id>,
    known_conversions: HashMap<Conversion, u32>,
}

impl Graph {
    pub fn new(order: u32, most_halves: u32) -> Self {
        Self {
            nodes: Vec::new(),
            primes: Vec::new(),
            levels: Vec::new(),
            halves: Vec::new(),
            parted: Vec::new(),
            turned: BTreeSet::new(),
            conversions: Vec::new(),
            order,
            most_halves,
            known: HashMap::new(),
            known_conversions: HashMap::new(),
        }
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn prime(&self, id: Id) -> u16 {
        self.primes[id as usize]
    }

    pub fn level(&self, id: Id) -> u32 {
        self.levels[id as usize]
    }

    /// X -> X^g of `of`, or a view of it ([`schedule`](crate::poly::schedule)). Only a sum's term
    /// may be a view, alone or in a product, and a view is of a limb as it lies in memory.
    pub fn automorphism(&mut self, of: Ref, g: u32) -> Ref {
        if g == 1 || of.g == 1 {
            return Ref { node: of.node, g: if g == 1 { of.g } else { g } };
        }
        if g.is_multiple_of(2) || of.g.is_multiple_of(2) {
            let whole = Node::Sum(vec![Term { factor: [1; 2], a: Some(of), b: None }]);
            return Ref { node: self.add(whole, self.prime(of.node)), g };
        }
        self.moved(of, g)
    }

    /// X -> X^g of what is under an automorphism, and no view.
    pub fn moved(&self, of: Ref, g: u32) -> Ref {
        let product = u64::from(of.g) * u64::from(g) % u64::from(self.order);
        Ref { node: of.node, g: product as u32 }
    }

    /// The first row level at which `of` can be an operand.
    pub fn operand_level(&self, of: Ref) -> u32 {
        match self.node(of.node) {
            Node::Stored(_) => 0,
            // Through memory: a store, and a load in a later row phase.
            _ if of.g != 1 || self.parted[of.node as usize] => self.level(of.node) + 2,
            _ => self.level(of.node),
        }
    }

    /// The transform of coefficients.
    pub fn forward(&mut self, of: Id, prime: u16) -> Ref {
        match *self.node(of) {
            Node::Inverse(evaluations) => evaluations,
            _ => Ref::plain(self.add(Node::Forward(of), prime)),
        }
    }

    /// The inverse transform of evaluations.
    pub fn inverse(&mut self, of: Ref, prime: u16) -> Id {
        match *self.node(of.node) {
            Node::Forward(coefficients) if of.g == 1 => coefficients,
            _ => self.add(Node::Inverse(of), prime),
        }
    }

    /// The sum of `terms`; a single one that is a node itself is that node.
    pub fn sum(&mut self, terms: Vec<Term>, prime: u16) -> Ref {
        if let [Term { factor: [1, 1], a: Some(a), b: None }] = terms[..]
            && !a.g.is_multiple_of(2)
        {
            return a;
        }
        // Too many half transforms for one tile: the costliest operands go through memory.
        loop {
            let cost = |r: Ref| if self.in_tile(r) { self.halves[r.node as usize] } else { 0 };
            let mut operands: Vec<Ref> = terms.iter().flat_map(Term::refs).collect();
            operands.sort_unstable();
            operands.dedup();
            let all = operands.iter().fold(0, |all: u32, &r| all.saturating_add(cost(r)));
            if all <= self.most_halves {
                break;
            }
            let Some(&most) = operands.iter().max_by_key(|&&r| cost(r)) else { break };
            self.parted[most.node as usize] = true;
        }
        Ref::plain(self.add(Node::Sum(terms), prime))
    }

    /// Whether `of` can be an operand in the tile that computes its node.
    fn in_tile(&self, of: Ref) -> bool {
        of.g == 1 && !self.parted[of.node as usize]
    }

    /// A linear combination of coefficients.
    pub fn combine(&mut self, terms: Vec<(u32, Id)>, prime: u16) -> Id {
        match terms[..] {
            [(1, id)] => id,
            _ => self.add(Node::Combine(terms), prime),
        }
    }

    /// One limb of a conversion.
    pub fn converted(&mut self, conversion: Conversion, prime: u16) -> Id {
        let next = self.conversions.len() as u32;
        let number = *self.known_conversions.entry(conversion.clone()).or_insert(next);
        if number == next {
            self.conversions.push(conversion);
        }
        self.add(Node::Converted(number), prime)
    }

    pub fn add(&mut self, node: Node, prime: u16) -> Id {
        if let Some(&id) = self.known.get(&(node.clone(), prime)) {
            return id;
        }
        let (level, halves) = match &node {
            Node::Stored(_) => (0, 0),
            Node::Bound(_) => (1, 0),
            Node::Sum(terms) => {
                let operands = || terms.iter().flat_map(Term::refs);
                let level = operands().map(|r| self.operand_level(r)).max().unwrap_or(0);
                let inside = operands().filter(|&r| self.in_tile(r));
                let halves = inside.map(|r| self.halves[r.node as usize]);
                (level, halves.fold(0, u32::saturating_add))
            }
            Node::Forward(of) => (self.level(*of) + 1, 1),
            Node::Combine(terms) => {
                (terms.iter().map(|&(_, id)| self.level(id)).max().unwrap_or(1), 0)
            }
            Node::Inverse(of) => (self.level(of.node) + 1, 0),
            Node::Converted(number) => {
                let sources = &self.conversions[*number as usize].sources;
                (sources.iter().map(|&id| self.level(id)).max().unwrap_or(1), 0)
            }
        };
        let id = self.nodes.len() as Id;
        self.known.insert((node.clone(), prime), id);
        self.nodes.push(node);
        self.primes.push(prime);
        self.levels.push(level);
        self.halves.push(halves);
        self.parted.push(false);
        id
    }
}
