//! Moves work between evaluations and coefficients so that a program needs few phases.
//!
//! The transform is linear. So a sum of evaluations and of transforms of coefficients splits into
//! an evaluation part and a coefficient part, `s = e + NTT(c)`, and the parts are added where that
//! is cheapest:
//!
//! - where only the coefficients of s are wanted they are `INTT(e) + c`, formed in the column tile
//!   that yields c: one division may follow another, or a conversion a division, without a row
//!   phase in between;
//! - where a sum takes s with others of the kind, the coefficient parts are added before they are
//!   transformed: one half transform instead of several.

use super::expand::Demand;
use super::graph::{Conversion, Graph, Id, Node, Ref, Term};

/// The same program with fewer phases; nodes that nothing wants are gone.
pub(super) fn simplify(
    raw: &Graph,
    demands: &mut [Demand],
    most_halves: u32,
    moduli: &[girih_ring::Modulus],
) -> Graph {
    let uses = Uses::count(raw, demands);
    let mut pass = Pass {
        raw,
        uses,
        moduli,
        graph: Graph::new(raw.order, most_halves),
        made: vec![Made::Nothing; raw.nodes.len()],
    };
    for id in 0..raw.nodes.len() as Id {
        if pass.uses.all(id) > 0 {
            pass.made[id as usize] = pass.make(id);
        }
    }
    for demand in demands.iter_mut() {
        demand.of = pass.evaluations(demand.of);
    }
    pass.graph
}

/// How often each node is read.
struct Uses {
    /// As an undivided term of a sum, without an automorphism.
    linear: Vec<u32>,
    /// By inverse transforms, without an automorphism.
    inverse: Vec<u32>,
    /// In any other way.
    other: Vec<u32>,
}

impl Uses {
    fn count(raw: &Graph, demands: &[Demand]) -> Self {
        let zeros = || vec![0; raw.nodes.len()];
        let mut uses = Self { linear: zeros(), inverse: zeros(), other: zeros() };
        for demand in demands {
            uses.other[demand.of.node as usize] += 1;
        }
        let mut converted = vec![false; raw.conversions.len()];
        for id in (0..raw.nodes.len()).rev() {
            if uses.all(id as Id) == 0 {
                continue;
            }
            match &raw.nodes[id] {
                Node::Stored(_) | Node::Bound(_) => {}
                Node::Sum(terms) => {
                    for term in terms {
                        match (term.a, term.b) {
                            (Some(Ref { node, g: 1 }), None) => uses.linear[node as usize] += 1,
                            _ => term.refs().for_each(|r| uses.other[r.node as usize] += 1),
                        }
                    }
                }
                Node::Forward(of) => uses.other[*of as usize] += 1,
                Node::Combine(terms) => {
                    terms.iter().for_each(|&(_, id)| uses.other[id as usize] += 1);
                }
                Node::Inverse(of) if of.g == 1 => uses.inverse[of.node as usize] += 1,
                Node::Inverse(of) => uses.other[of.node as usize] += 1,
                Node::Converted(number) => {
                    if !std::mem::replace(&mut converted[*number as usize], true) {
                        let sources = &raw.conversions[*number as usize].sources;
                        sources.iter().for_each(|&id| uses.other[id as usize] += 1);
                    }
                }
            }
        }
        uses
    }

    fn all(&self, id: Id) -> u32 {
        let id = id as usize;
        self.linear[id] + self.inverse[id] + self.other[id]
    }

    /// Whether one sum, and nothing else, takes it as it is.
    fn once(&self, id: Id) -> bool {
        self.all(id) == 1 && self.linear[id as usize] == 1
    }
}

/// A sum, still in two parts: evaluations, and coefficients to be transformed.
type Parts = (Vec<Term>, Vec<(u32, Id)>);

/// What became of a raw node.
#[derive(Clone)]
enum Made {
    Nothing,
    /// A node.
    Whole(Ref),
    /// A sum that one other sum takes, still in parts: evaluations and coefficients.
    Parts(Vec<Term>, Vec<(u32, Id)>),
}

struct Pass<'a> {
    raw: &'a Graph,
    uses: Uses,
    moduli: &'a [girih_ring::Modulus],
    graph: Graph,
    made: Vec<Made>,
}

impl Pass<'_> {
    fn make(&mut self, id: Id) -> Made {
        let prime = self.raw.prime(id);
        let raw = self.raw;
        let plain = |id| Made::Whole(Ref::plain(id));
        match raw.node(id) {
            Node::Sum(terms) => self.make_sum(id, terms, prime),
            Node::Forward(of) => {
                let of = self.coefficients(*of);
                if self.uses.once(id) {
                    return Made::Parts(Vec::new(), vec![(1, of)]);
                }
                Made::Whole(self.graph.forward(of, prime))
            }
            Node::Inverse(of) => {
                let of = self.evaluations(*of);
                plain(self.graph.inverse(of, prime))
            }
            Node::Combine(terms) => {
                let terms = terms.iter().map(|&(f, id)| (f, self.coefficients(id))).collect();
                plain(self.graph.combine(terms, prime))
            }
            Node::Converted(number) => {
                let Conversion { sources, corrected } = &raw.conversions[*number as usize];
                let sources = sources.iter().map(|&id| self.coefficients(id)).collect();
                let conversion = Conversion { sources, corrected: *corrected };
                plain(self.graph.converted(conversion, prime))
            }
            node @ (Node::Stored(_) | Node::Bound(_)) => plain(self.graph.add(node.clone(), prime)),
        }
    }

    fn make_sum(&mut self, id: Id, terms: &[Term], prime: u16) -> Made {
        // Coefficients are added before their transform only if they come from one column phase:
        // earlier ones would have to be kept or made again.
        let last = terms.iter().filter_map(|t| self.column_level(t)).max();
        let mut evaluations: Vec<Term> = Vec::with_capacity(terms.len());
        let mut coefficients: Vec<(u32, Id)> = Vec::new();
        let mut nested = Vec::new();
        for term in terms {
            let level = self.column_level(term);
            if let (Some(from), true) = (self.parts(term), level == last || level.is_none()) {
                let (e, c) = std::mem::replace(&mut self.made[from as usize], Made::Nothing)
                    .into_parts()
                    .expect("a sum in parts");
                for (factor, of) in c {
                    let factor = self.modulus(prime).mul(factor, term.factor[0]);
                    self.add_coefficients(&mut coefficients, factor, of, prime);
                }
                nested.push((term.factor, e));
            } else {
                let a = term.a.map(|a| self.evaluations(a));
                let b = term.b.map(|b| self.evaluations(b));
                evaluations.push(Term { factor: term.factor, a, b });
            }
        }
        let level = self.sum_level(evaluations.iter());
        for (factor, e) in nested {
            self.splice(&mut evaluations, factor, e, level, prime);
        }
        if coefficients.is_empty() {
            return match self.uses.once(id) {
                true => Made::Parts(evaluations, coefficients),
                false => Made::Whole(self.graph.sum(evaluations, prime)),
            };
        }
        let column = coefficients.iter().map(|&(_, c)| self.graph.level(c)).max().unwrap_or(1);
        let inverse = self.uses.inverse[id as usize] > 0;
        if inverse && (evaluations.is_empty() || self.sum_level(evaluations.iter()) < column) {
            if !evaluations.is_empty() {
                let (factor, of) = match evaluations[..] {
                    [Term { factor: [f, h], a: Some(a), b: None }]
                        if f == h && !a.g.is_multiple_of(2) =>
                    {
                        (f, a)
                    }
                    _ => (1, self.graph.sum(evaluations, prime)),
                };
                let of = self.graph.inverse(of, prime);
                self.add_coefficients(&mut coefficients, factor, of, prime);
            }
            let whole = self.graph.combine(coefficients, prime);
            return Made::Whole(self.graph.forward(whole, prime));
        }
        match self.uses.once(id) {
            true => Made::Parts(evaluations, coefficients),
            false => Made::Whole(self.close(evaluations, coefficients, prime)),
        }
    }

    /// The number of the raw node whose parts `term` can take over.
    fn parts(&self, term: &Term) -> Option<Id> {
        let (Some(Ref { node, g: 1 }), None) = (term.a, term.b) else { return None };
        match &self.made[node as usize] {
            // Factors of coefficients are numbers: X^(N/2) moves them.
            Made::Parts(_, c) if c.is_empty() || term.factor[0] == term.factor[1] => Some(node),
            _ => None,
        }
    }

    /// The column level of the coefficients that `term` brings along.
    fn column_level(&self, term: &Term) -> Option<u32> {
        match &self.made[self.parts(term)? as usize] {
            Made::Parts(_, c) => c.iter().map(|&(_, c)| self.graph.level(c)).max(),
            _ => None,
        }
    }

    fn sum_level<'t>(&self, terms: impl Iterator<Item = &'t Term>) -> u32 {
        terms.flat_map(Term::refs).map(|r| self.graph.operand_level(r)).max().unwrap_or(0)
    }

    /// Adds `factor` times the sum of `inner` to `terms`: term by term where that costs no
    /// products, as an operand otherwise.
    fn splice(
        &mut self,
        terms: &mut Vec<Term>,
        factor: [u32; 2],
        inner: Vec<Term>,
        level: u32,
        prime: u16,
    ) {
        if inner.is_empty() {
            return;
        }
        let products = inner.iter().filter(|t| t.b.is_some()).count();
        // Where it is early, `place` decides whether it is better computed and stored early.
        let early = products > 2 && self.sum_level(inner.iter()) < level;
        if (factor != [1, 1] && products > 1) || early {
            let a = Some(self.graph.sum(inner, prime));
            terms.push(Term { factor, a, b: None });
            return;
        }
        let modulus = self.modulus(prime);
        terms.extend(
            inner
                .into_iter()
                .map(|t| Term { factor: [0, 1].map(|h| modulus.mul(t.factor[h], factor[h])), ..t }),
        );
    }

    fn add_coefficients(&self, to: &mut Vec<(u32, Id)>, factor: u32, of: Id, prime: u16) {
        match to.iter_mut().find(|(_, id)| *id == of) {
            Some((sum, _)) => *sum = self.modulus(prime).add(*sum, factor),
            None => to.push((factor, of)),
        }
    }

    /// The evaluations of a sum in parts.
    fn close(&mut self, mut terms: Vec<Term>, coefficients: Vec<(u32, Id)>, prime: u16) -> Ref {
        let (factor, of) = match coefficients[..] {
            [] => return self.graph.sum(terms, prime),
            [(factor, of)] => (factor, of),
            _ => (1, self.graph.combine(coefficients, prime)),
        };
        let a = Some(self.graph.forward(of, prime));
        terms.push(Term { factor: [factor; 2], a, b: None });
        self.graph.sum(terms, prime)
    }

    fn evaluations(&mut self, of: Ref) -> Ref {
        let prime = self.raw.prime(of.node);
        let whole = match std::mem::replace(&mut self.made[of.node as usize], Made::Nothing) {
            Made::Whole(whole) => whole,
            Made::Parts(e, c) => self.close(e, c, prime),
            Made::Nothing => unreachable!("operands come first, and parts are taken once"),
        };
        self.made[of.node as usize] = Made::Whole(whole);
        self.graph.automorphism(whole, of.g)
    }

    fn coefficients(&mut self, of: Id) -> Id {
        match self.made[of as usize] {
            Made::Whole(whole) => whole.node,
            _ => unreachable!("coefficients are made whole, operands first"),
        }
    }

    fn modulus(&self, prime: u16) -> girih_ring::Modulus {
        self.moduli[usize::from(prime)]
    }
}

impl Made {
    fn into_parts(self) -> Option<Parts> {
        match self {
            Self::Parts(e, c) => Some((e, c)),
            _ => None,
        }
    }
}
