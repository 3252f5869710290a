//! Each operation a launch of its own (a transform two, one a half), everything through memory.

use crate::poly::schedule::{
    ColumnSum, ColumnTerm, ColumnTile, Conversion, Form, Launch, Limb, Load, RowSum, RowTerm,
    RowTile, Schedule, Source, Store,
};
use crate::poly::{Domain, Factor, Op, Program, Term, Value};

use super::arena;

/// The schedule of `program`, nothing fused.
pub(super) fn schedule(program: &Program, keep: &[Value]) -> Schedule {
    let mut maker = Maker { program, values: Vec::new(), launches: Vec::new(), arena_limbs: 0 };
    for (at, op) in program.ops().iter().enumerate() {
        let limbs = maker.operation(at, op);
        maker.values.push(limbs);
    }
    let kept = keep.iter().map(|&v| (v, maker.kept(v))).collect();
    let mut schedule = Schedule { launches: maker.launches, arena_limbs: 0, kept };
    schedule.launches.retain(|launch| match launch {
        Launch::Rows(tiles) | Launch::Pointwise(tiles) => !tiles.is_empty(),
        Launch::Columns(tiles) => !tiles.is_empty(),
    });
    arena::assign(&mut schedule);
    schedule
}

struct Maker<'a> {
    program: &'a Program,
    /// Where the limbs of each value lie, in the form of its domain.
    values: Vec<Vec<Limb>>,
    launches: Vec<Launch>,
    arena_limbs: u32,
}

fn stream(from: Limb, automorphism: u32) -> Option<Source> {
    Some(Source::Stream(Load { from, form: Form::Evaluations, automorphism }))
}

fn load(from: Limb, form: Form) -> Load {
    Load { from, form, automorphism: 1 }
}

fn store(to: Limb, form: Form) -> Vec<Store> {
    vec![Store { to, form, automorphism: 1 }]
}

/// `x` as it is.
fn copy_row(prime: u16, loads: Vec<Load>, x: Option<Source>, to: Limb, form: Form) -> RowTile {
    let terms = vec![RowTerm { factor: [1; 2], a: x, b: None }];
    RowTile { prime, loads, sums: vec![RowSum { terms, stores: store(to, form) }] }
}

/// The only load as it is.
fn copy_column(prime: u16, from: Load, to: Limb, form: Form) -> ColumnTile {
    let terms = vec![ColumnTerm::Scaled { factor: 1, slot: 0 }];
    let sums = vec![ColumnSum { prime, terms, stores: store(to, form) }];
    ColumnTile { loads: vec![(prime, from)], conversions: Vec::new(), sums }
}

impl Maker<'_> {
    fn operation(&mut self, at: usize, op: &Op) -> Vec<Limb> {
        let program = self.program;
        let of = &program.types()[at];
        let primes = of.basis.primes();
        let count = 0..primes.len() as u16;
        match op {
            Op::Input(slot) => count.map(|limb| Limb::Input { slot: *slot, limb }).collect(),
            Op::Resident(slot) => count.map(|limb| Limb::Resident { slot: *slot, limb }).collect(),
            Op::Limbs(of, _) => primes.iter().map(|&p| self.limb(*of, p)).collect(),
            Op::Join(parts) => {
                let part = |p| parts.iter().find(|&&v| program.type_of(v).basis.contains(p));
                primes.iter().map(|&p| self.limb(*part(p).expect("a part of each"), p)).collect()
            }
            Op::Output(value, slot) => {
                let to: Vec<Limb> = count.map(|limb| Limb::Output { slot: *slot, limb }).collect();
                let pairs = primes.iter().zip(&to);
                match of.domain {
                    Domain::Evaluations => {
                        let copy = |(&p, &to): (&u16, &Limb)| {
                            let x = stream(self.limb(*value, p), 1);
                            copy_row(p, Vec::new(), x, to, Form::Evaluations)
                        };
                        self.launches.push(Launch::Pointwise(pairs.map(copy).collect()));
                    }
                    Domain::Coefficients => {
                        let copy = |(&p, &to): (&u16, &Limb)| {
                            let from = load(self.limb(*value, p), Form::Coefficients);
                            copy_column(p, from, to, Form::Coefficients)
                        };
                        self.launches.push(Launch::Columns(pairs.map(copy).collect()));
                    }
                }
                to
            }
            Op::Automorphism(value, g) => {
                let to = self.allocate(primes.len());
                let tile = |(&p, &to): (&u16, &Limb)| {
                    let x = stream(self.limb(*value, p), *g);
                    copy_row(p, Vec::new(), x, to, Form::Evaluations)
                };
                let tiles = primes.iter().zip(&to).map(tile).collect();
                self.launches.push(Launch::Pointwise(tiles));
                to
            }
            Op::View { of: value, view, .. } => {
                let to = self.allocate(primes.len());
                let sources = self.values[value.index()].iter();
                let tile = |((&p, &to), &from): ((&u16, &Limb), &Limb)| {
                    copy_row(p, Vec::new(), stream(from, view.code()), to, Form::Evaluations)
                };
                let tiles = primes.iter().zip(&to).zip(sources).map(tile).collect();
                self.launches.push(Launch::Pointwise(tiles));
                to
            }
            Op::Transform(value, domain) => self.transform(*value, *domain, primes),
            Op::Convert { of, corrected, .. } => {
                let to = self.allocate(primes.len());
                let from = program.type_of(*of).basis.primes();
                let conversion =
                    Conversion { slots: (0..from.len() as u16).collect(), corrected: *corrected };
                let sum = |(&prime, &to): (&u16, &Limb)| ColumnSum {
                    prime,
                    terms: vec![ColumnTerm::Converted { factor: 1, conversion: 0 }],
                    stores: store(to, Form::Coefficients),
                };
                let sources = from.iter().zip(&self.values[of.index()]);
                let tile = ColumnTile {
                    loads: sources.map(|(&p, &l)| (p, load(l, Form::Coefficients))).collect(),
                    conversions: vec![conversion],
                    sums: primes.iter().zip(&to).map(sum).collect(),
                };
                if !primes.is_empty() {
                    self.launches.push(Launch::Columns(vec![tile]));
                }
                to
            }
            Op::Sum(terms) => self.sum(terms, of.domain, primes),
        }
    }

    /// Where a value lies; resident ones are copied.
    fn kept(&mut self, value: Value) -> Vec<Limb> {
        let limbs = self.values[value.index()].clone();
        if !limbs.iter().any(|l| matches!(l, Limb::Resident { .. })) {
            return limbs;
        }
        let to = self.allocate(limbs.len());
        let primes = self.program.type_of(value).basis.primes();
        let copy = |((&p, &from), &to): ((&u16, &Limb), &Limb)| {
            copy_row(p, Vec::new(), stream(from, 1), to, Form::Evaluations)
        };
        let tiles = primes.iter().zip(&limbs).zip(&to).map(copy).collect();
        self.launches.push(Launch::Pointwise(tiles));
        to
    }

    fn transform(&mut self, value: Value, domain: Domain, primes: &[u16]) -> Vec<Limb> {
        let (half, to) = (self.allocate(primes.len()), self.allocate(primes.len()));
        let limbs = || primes.iter().zip(&half).zip(&to);
        let (rows, columns) = match domain {
            Domain::Evaluations => (
                limbs()
                    .map(|((&p, &half), &to)| {
                        let loads = vec![load(half, Form::Half)];
                        copy_row(p, loads, Some(Source::Slot(0)), to, Form::Evaluations)
                    })
                    .collect(),
                limbs()
                    .map(|((&p, &half), _)| {
                        let from = load(self.limb(value, p), Form::Coefficients);
                        copy_column(p, from, half, Form::Half)
                    })
                    .collect(),
            ),
            Domain::Coefficients => (
                limbs()
                    .map(|((&p, &half), _)| {
                        let x = stream(self.limb(value, p), 1);
                        copy_row(p, Vec::new(), x, half, Form::Half)
                    })
                    .collect(),
                limbs()
                    .map(|((&p, &half), &to)| {
                        copy_column(p, load(half, Form::Half), to, Form::Coefficients)
                    })
                    .collect(),
            ),
        };
        let launches = [Launch::Rows(rows), Launch::Columns(columns)];
        match domain {
            Domain::Evaluations => self.launches.extend(launches.into_iter().rev()),
            Domain::Coefficients => self.launches.extend(launches),
        }
        to
    }

    fn sum(&mut self, terms: &[Term], domain: Domain, primes: &[u16]) -> Vec<Limb> {
        let to = self.allocate(primes.len());
        let limbs = || primes.iter().zip(&to).enumerate();
        let launch = match domain {
            Domain::Evaluations => Launch::Pointwise(
                limbs()
                    .map(|(i, (&prime, &to))| {
                        let operand =
                            |v: Option<Value>| v.and_then(|v| stream(self.limb(v, prime), 1));
                        let term = |t: &Term| RowTerm {
                            factor: self.factor(&t.factor, i, prime),
                            a: operand(t.a),
                            b: operand(t.b),
                        };
                        let terms = terms.iter().map(term).collect();
                        let sum = RowSum { terms, stores: store(to, Form::Evaluations) };
                        RowTile { prime, loads: Vec::new(), sums: vec![sum] }
                    })
                    .collect(),
            ),
            Domain::Coefficients => Launch::Columns(
                limbs()
                    .map(|(i, (&prime, &to))| {
                        let operands = terms.iter().filter_map(|t| t.a);
                        let loads = operands
                            .map(|v| (prime, load(self.limb(v, prime), Form::Coefficients)))
                            .collect();
                        let scaled = |(slot, t): (usize, &Term)| ColumnTerm::Scaled {
                            factor: self.factor(&t.factor, i, prime)[0],
                            slot: slot as u16,
                        };
                        let terms = terms.iter().enumerate().map(scaled).collect();
                        let stores = store(to, Form::Coefficients);
                        let sums = vec![ColumnSum { prime, terms, stores }];
                        ColumnTile { loads, conversions: Vec::new(), sums }
                    })
                    .collect(),
            ),
        };
        self.launches.push(launch);
        to
    }

    fn factor(&self, factor: &Factor, limb: usize, prime: u16) -> [u32; 2] {
        match factor {
            Factor::One => [1; 2],
            Factor::MinusOne => [self.program.ring().primes[usize::from(prime)].value() - 1; 2],
            Factor::Residues(residues) => residues[limb],
        }
    }

    fn limb(&self, value: Value, prime: u16) -> Limb {
        let basis = &self.program.type_of(value).basis;
        let place = basis.position(prime);
        self.values[value.index()][place.expect("types were checked when recorded")]
    }

    fn allocate(&mut self, limbs: usize) -> Vec<Limb> {
        let first = self.arena_limbs;
        self.arena_limbs += limbs as u32;
        (first..self.arena_limbs).map(Limb::Arena).collect()
    }
}
