//! From operations on polynomials to a graph of limbs. Views (limbs, joins) and automorphisms
//! become references; a transform there and back is none.

use super::graph::{Conversion, Graph, Id, Node, Ref, Term};
use crate::poly::schedule::Limb;
use crate::poly::{Basis, Domain, Factor, Op, Program, Value};

/// What somebody wants of the graph: a limb of an output or of a kept value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Evaluations, or coefficients (then with g = 1).
    pub of: Ref,
    pub to: Wanted,
}

/// Why a limb is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// For an output, this limb of which.
    Output(Limb),
    /// As limb `limb` of the value at place `place` of those to be kept.
    Kept { place: usize, limb: usize },
}

/// The limbs of a program, and what of them is wanted.
pub(super) fn expand(program: &Program, keep: &[Value]) -> (Graph, Vec<Demand>) {
    let ring = program.ring();
    let mut graph = Graph::new(2 << ring.log2_degree, u32::MAX);
    let mut values: Vec<Vec<Ref>> = Vec::with_capacity(program.ops().len());
    let mut demands = Vec::new();
    for (at, op) in program.ops().iter().enumerate() {
        let of = &program.types()[at];
        let limbs = expand_op(program, &mut graph, &values, op, of.basis.primes());
        if let Op::Output(_, slot) = *op {
            demands.extend(limbs.iter().enumerate().map(|(limb, &of)| Demand {
                of,
                to: Wanted::Output(Limb::Output { slot, limb: limb as u16 }),
            }));
        }
        for (place, _) in keep.iter().enumerate().filter(|(_, v)| v.index() == at) {
            let kept = |(limb, &of)| Demand { of, to: Wanted::Kept { place, limb } };
            demands.extend(limbs.iter().enumerate().map(kept));
        }
        values.push(limbs);
    }
    (graph, demands)
}

fn expand_op(
    program: &Program,
    graph: &mut Graph,
    values: &[Vec<Ref>],
    op: &Op,
    primes: &[u16],
) -> Vec<Ref> {
    let limb = |value: &Value, prime: u16| -> Ref {
        values[value.index()][position(&program.type_of(*value).basis, prime)]
    };
    let numbered = || primes.iter().enumerate().map(|(i, &p)| (i as u16, p));
    match op {
        Op::Input(slot) => {
            let bound = |limb| Limb::Input { slot: *slot, limb };
            match program.inputs()[usize::from(*slot)].domain {
                Domain::Evaluations => numbered()
                    .map(|(i, p)| Ref::plain(graph.add(Node::Stored(bound(i)), p)))
                    .collect(),
                Domain::Coefficients => numbered()
                    .map(|(i, p)| Ref::plain(graph.add(Node::Bound(bound(i)), p)))
                    .collect(),
            }
        }
        Op::Resident(slot) => numbered()
            .map(|(limb, p)| {
                Ref::plain(graph.add(Node::Stored(Limb::Resident { slot: *slot, limb }), p))
            })
            .collect(),
        Op::Output(of, _) | Op::Limbs(of, _) => primes.iter().map(|&p| limb(of, p)).collect(),
        Op::Join(parts) => primes
            .iter()
            .map(|&p| {
                let part = parts.iter().find(|v| program.type_of(**v).basis.contains(p));
                limb(part.expect("the basis of a join is that of its parts"), p)
            })
            .collect(),
        Op::Automorphism(of, g) => {
            primes.iter().map(|&p| graph.automorphism(limb(of, p), *g)).collect()
        }
        Op::View { of, view, .. } => {
            let from = program.type_of(*of).basis.primes();
            let mut limbs = Vec::with_capacity(primes.len());
            for (&source, &p) in from.iter().zip(primes) {
                let a = Some(graph.automorphism(limb(of, source), view.code()));
                let seen = Node::Sum(vec![Term { factor: [1; 2], a, b: None }]);
                limbs.push(Ref::plain(graph.add(seen, p)));
            }
            limbs
        }
        Op::Transform(of, Domain::Evaluations) => {
            primes.iter().map(|&p| graph.forward(limb(of, p).node, p)).collect()
        }
        Op::Transform(of, Domain::Coefficients) => {
            primes.iter().map(|&p| Ref::plain(graph.inverse(limb(of, p), p))).collect()
        }
        Op::Convert { of, corrected, .. } => {
            let sources: Vec<Id> = values[of.index()].iter().map(|r| r.node).collect();
            let conversion = Conversion { sources, corrected: *corrected };
            primes.iter().map(|&p| Ref::plain(graph.converted(conversion.clone(), p))).collect()
        }
        Op::Sum(terms) => expand_sum(program, graph, &limb, terms, primes),
    }
}

fn expand_sum(
    program: &Program,
    graph: &mut Graph,
    limb: &dyn Fn(&Value, u16) -> Ref,
    terms: &[crate::poly::Term],
    primes: &[u16],
) -> Vec<Ref> {
    let factor = |factor: &Factor, i: u16, p: u16| match factor {
        Factor::One => [1; 2],
        Factor::MinusOne => [program.ring().primes[usize::from(p)].value() - 1; 2],
        Factor::Residues(residues) => residues[usize::from(i)],
    };
    let coefficients = terms
        .iter()
        .find_map(|t| t.a)
        .is_some_and(|a| program.type_of(a).domain == Domain::Coefficients);
    let mut sums = Vec::with_capacity(primes.len());
    for (i, &p) in (0..).zip(primes) {
        sums.push(if coefficients {
            let scaled = |t: &crate::poly::Term| {
                let a = t.a.expect("coefficients have no constant terms");
                (factor(&t.factor, i, p)[0], limb(&a, p).node)
            };
            Ref::plain(graph.combine(terms.iter().map(scaled).collect(), p))
        } else {
            let term = |t: &crate::poly::Term| Term {
                factor: factor(&t.factor, i, p),
                a: t.a.map(|a| limb(&a, p)),
                b: t.b.map(|b| limb(&b, p)),
            };
            graph.sum(terms.iter().map(term).collect(), p)
        });
    }
    sums
}

fn position(basis: &Basis, prime: u16) -> usize {
    basis.position(prime).expect("types were checked when the program was recorded")
}
