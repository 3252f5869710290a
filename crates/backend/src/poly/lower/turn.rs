//! Products under automorphisms: phi(sum of d k) as the sum of phi(d) phi(k).
//!
//! A sum that later rows read under an automorphism goes through memory, since that moves words
//! from row to row. Where many such sums multiply the same few limbs by resident ones, it is these
//! few that go through memory instead, and the rows that read the sums form them.

use std::collections::{BTreeMap, BTreeSet};

use super::expand::Demand;
use super::graph::{Conversion, Graph, Id, Node, Ref, Term};
use crate::poly::schedule::Limb;

/// What storing a sum and loading it again cost, in loads: memory takes words half as fast as it
/// gives them, and sums that are too many for a cache leave it and come back.
const STORE_AND_LOAD: f64 = 3.3;
/// What storing a limb costs.
const STORE: f64 = 2.0;

/// The same graph with products under automorphisms where that stores and loads less.
pub(super) fn turn(old: &Graph, demands: &mut [Demand], most_halves: u32) -> Graph {
    let images = worthwhile(old, images(old, demands));
    let mut graph = Graph::new(old.order, most_halves);
    let mut made: Vec<Ref> = Vec::with_capacity(old.nodes.len());
    for (id, node) in (0..).zip(&old.nodes) {
        let prime = old.prime(id);
        let plain = |id: Id| made[id as usize].node;
        // The image of a sum that is formed under its automorphism is that sum.
        let of = |graph: &mut Graph, of: Ref| match images.contains_key(&of.node) {
            true => made[of.node as usize],
            false => graph.automorphism(made[of.node as usize], of.g),
        };
        let new = match node {
            Node::Sum(terms) => {
                let own = images.get(&id).copied();
                let mut term = |t: &Term| {
                    let mut operand = |r: Ref| {
                        let r = of(&mut graph, r);
                        own.map_or(r, |g| graph.automorphism(r, g))
                    };
                    let factor = own.map_or(t.factor, |g| turned_factor(t.factor, g));
                    Term { factor, a: t.a.map(&mut operand), b: t.b.map(&mut operand) }
                };
                let terms = terms.iter().map(&mut term).collect();
                let sum = graph.sum(terms, prime);
                if own.is_some() {
                    graph.turned.insert(sum.node);
                }
                sum
            }
            Node::Forward(of) => graph.forward(plain(*of), prime),
            Node::Inverse(r) => {
                let r = of(&mut graph, *r);
                Ref::plain(graph.inverse(r, prime))
            }
            Node::Combine(terms) => {
                let terms = terms.iter().map(|&(factor, id)| (factor, plain(id))).collect();
                Ref::plain(graph.combine(terms, prime))
            }
            Node::Converted(number) => {
                let Conversion { sources, corrected } = &old.conversions[*number as usize];
                let sources = sources.iter().map(|&id| plain(id)).collect();
                let conversion = Conversion { sources, corrected: *corrected };
                Ref::plain(graph.converted(conversion, prime))
            }
            node @ (Node::Stored(_) | Node::Bound(_)) => Ref::plain(graph.add(node.clone(), prime)),
        };
        made.push(new);
    }
    for demand in demands {
        demand.of = graph.automorphism(made[demand.of.node as usize], demand.of.g);
    }
    graph
}

/// Factors of the words before N/2 and from there on, under X -> X^g: which half a word lies in
/// says its exponent modulo 4.
fn turned_factor(factor: [u32; 2], g: u32) -> [u32; 2] {
    if g % 4 == 1 { factor } else { [factor[1], factor[0]] }
}

/// The sums of products that sums alone read, all under one automorphism, and it; their own
/// operands are under none.
fn images(graph: &Graph, demands: &[Demand]) -> BTreeMap<Id, u32> {
    let mut images = BTreeMap::new();
    let mut refused: BTreeSet<Id> = demands.iter().map(|demand| demand.of.node).collect();
    for node in &graph.nodes {
        match node {
            Node::Sum(terms) => {
                for of in terms.iter().flat_map(Term::refs) {
                    let view = of.g.is_multiple_of(2);
                    if of.g == 1 || view || *images.entry(of.node).or_insert(of.g) != of.g {
                        refused.insert(of.node);
                    }
                }
            }
            Node::Inverse(of) => _ = refused.insert(of.node),
            _ => {}
        }
    }
    let is_formed = |id: Id| {
        let Node::Sum(terms) = graph.node(id) else { return false };
        let is_stored = |r: Ref| matches!(graph.node(r.node), Node::Stored(_));
        let is_plain = |r: Ref| r.g == 1 || (!r.g.is_multiple_of(2) && is_stored(r));
        terms.iter().any(|t| t.b.is_some()) && terms.iter().flat_map(Term::refs).all(is_plain)
    };
    images.retain(|&id, _| !refused.contains(&id) && is_formed(id));
    images
}

/// Those of `images` whose operands cost less. Sums that share operands are formed alike: the one
/// half of a pair in memory would need the other half's operands there too.
fn worthwhile(graph: &Graph, mut images: BTreeMap<Id, u32>) -> BTreeMap<Id, u32> {
    // What a sum reads but for resident limbs, which it reads in any case.
    let operands = |id: Id, g: u32| -> BTreeSet<Ref> {
        let Node::Sum(terms) = graph.node(id) else { return BTreeSet::new() };
        let refs = terms.iter().flat_map(Term::refs);
        let moving =
            refs.filter(|r| !matches!(graph.node(r.node), Node::Stored(Limb::Resident { .. })));
        moving.map(|r| graph.moved(r, g)).collect()
    };
    let mut readers: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for (&id, &g) in &images {
        for node in operands(id, g).iter().map(|r| r.node).collect::<BTreeSet<Id>>() {
            readers.entry(node).or_default().push(id);
        }
    }
    let mut seen: BTreeSet<Id> = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for &first in images.keys() {
        if !seen.insert(first) {
            continue;
        }
        let (mut group, mut loads) = (vec![first], BTreeSet::new());
        let mut next = 0;
        while let Some(&id) = group.get(next) {
            next += 1;
            for r in operands(id, images[&id]) {
                loads.insert(r);
                group.extend(readers[&r.node].iter().filter(|&&other| seen.insert(other)));
            }
        }
        // Of an earlier phase an operand lies in memory already.
        let level = group.iter().map(|&id| graph.level(id)).max().unwrap_or(0);
        let new = loads.iter().map(|r| r.node).filter(|&node| graph.level(node) == level);
        let stores = new.collect::<BTreeSet<Id>>().len();
        let cost = loads.len() as f64 + STORE * stores as f64;
        if cost < STORE_AND_LOAD * group.len() as f64 {
            kept.extend(group);
        }
    }
    images.retain(|id, _| kept.contains(id));
    images
}
