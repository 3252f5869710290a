//! Random programs with inputs, for property tests of lowerings and of devices.

use std::sync::Arc;

use girih_ring::Modulus;

use super::{
    Basis, Domain, Factor, HostPolynomials, Program, ProgramBuilder, ResidentShape, RingShape,
    Term, Value, View,
};
use crate::device::SplitMix64;

/// Primes of every kind that kernels treat differently: below 2^26, below 2^30, below 2^31, and
/// the largest. All are 1 modulo 2^17.
const PRIMES: [u32; 12] = [
    37224449, 30539777, 1071513601, 998244353, 485621761, 1209139201, 1081212929, 989986817,
    2147352577, 2146959361, 2146041857, 2130706433,
];

/// A program with all that it needs to run.
#[derive(Clone, Debug)]
pub struct RandomProgram {
    /// The program.
    pub program: Program,
    /// Its resident polynomials.
    pub residents: HostPolynomials,
    /// Its inputs, by slot.
    pub inputs: Vec<Vec<u32>>,
    /// Some of its values, to be kept.
    pub keep: Vec<Value>,
}

/// A stream of numbers that a seed determines (SplitMix64).
#[derive(Clone, Debug)]
pub struct Numbers(SplitMix64);

impl Numbers {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// The next number.
    pub fn word(&mut self) -> u64 {
        self.0.next_word()
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    /// True once in `count` times.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Canonical limbs over `basis`, of `degree` words each; extreme words are frequent.
    pub fn limbs(&mut self, ring: &RingShape, basis: &Basis, degree: usize) -> Vec<u32> {
        let mut words = Vec::with_capacity(basis.len() * degree);
        for &prime in basis.primes() {
            let p = ring.primes[usize::from(prime)].value();
            words.extend((0..degree).map(|_| match self.below(16) {
                0 => 0,
                1 => p - 1,
                _ => (self.word() % u64::from(p)) as u32,
            }));
        }
        words
    }
}

/// The ring that random programs of this degree are made in.
pub fn ring(log2_degree: u32) -> Arc<RingShape> {
    let modulus = |&p| Modulus::new(p).expect("odd and below 2^31");
    Arc::new(RingShape::new(log2_degree, PRIMES.iter().map(modulus).collect()))
}

/// A well-typed program of about `steps` steps, its inputs and resident polynomials, all
/// determined by `seed`. A step is one operation, or several that schemes record together: raising
/// limbs to more primes, dividing by some primes, products with resident polynomials.
pub fn random_program(log2_degree: u32, steps: usize, seed: u64) -> RandomProgram {
    random_program_over(ring(log2_degree), steps, seed)
}

/// The same primes twice, those that are 1 modulo 4N, for programs in both rings.
pub fn both_rings(log2_degree: u32) -> Arc<RingShape> {
    let usual = ring(log2_degree);
    let fits = |p: &&Modulus| (p.value() - 1).is_multiple_of(4 << log2_degree);
    let again: Vec<Modulus> = usual.primes.iter().filter(fits).copied().collect();
    let invariant_from = usual.primes.len();
    Arc::new(RingShape {
        primes: [usual.primes.as_slice(), &again].concat(),
        invariant_from,
        ..*usual
    })
}

/// [`random_program`] over some ring, with views where it has primes of both.
pub fn random_program_over(ring: Arc<RingShape>, steps: usize, seed: u64) -> RandomProgram {
    let mut maker = Maker {
        numbers: Numbers::new(seed),
        builder: ProgramBuilder::new(ring.clone()),
        ring,
        values: Vec::new(),
        inputs: Vec::new(),
        residents: Vec::new(),
    };
    for _ in 0..2 + maker.numbers.below(3) {
        maker.input();
    }
    for _ in 0..steps {
        maker.step();
    }
    for number in 0..1 + maker.numbers.below(4) {
        // The last value first: most of the program leads there.
        let back = if number == 0 { 0 } else { maker.numbers.below(maker.values.len()) };
        let value = maker.values[maker.values.len() - 1 - back];
        maker.builder.output(value);
    }
    let mut keep = Vec::new();
    for _ in 0..maker.numbers.below(4) {
        keep.push(maker.values[maker.numbers.below(maker.values.len())]);
    }
    let residents = HostPolynomials::new(&maker.ring, maker.residents);
    RandomProgram {
        program: maker.builder.finish(),
        residents: residents.expect("made to fit"),
        inputs: maker.inputs,
        keep,
    }
}

struct Maker {
    numbers: Numbers,
    ring: Arc<RingShape>,
    builder: ProgramBuilder,
    values: Vec<Value>,
    inputs: Vec<Vec<u32>>,
    residents: Vec<(ResidentShape, Vec<u32>)>,
}

impl Maker {
    /// One to five primes that lie side by side, all of one of the rings.
    fn basis_of_ring(&mut self, invariant: bool) -> Basis {
        let (from, all) = (self.ring.invariant_from, self.ring.primes.len());
        let (start, len) = if invariant { (from, all - from) } else { (0, from) };
        let count = (1 + self.numbers.below(5)).min(len);
        let first = start + self.numbers.below(len - count + 1);
        self.ring.basis(first..first + count)
    }

    /// The same, of the ring of a basis.
    fn basis_beside(&mut self, other: &Basis) -> Basis {
        let invariant = self.is_invariant(other);
        self.basis_of_ring(invariant)
    }

    fn is_invariant(&self, basis: &Basis) -> bool {
        self.ring.is_invariant(basis.primes()[0])
    }

    fn input(&mut self) {
        let invariant = self.ring.has_invariant() && self.numbers.once_in(2);
        let basis = self.basis_of_ring(invariant);
        let domain =
            if self.numbers.once_in(4) { Domain::Coefficients } else { Domain::Evaluations };
        self.inputs.push(self.numbers.limbs(&self.ring, &basis, self.ring.degree()));
        self.values.push(self.builder.input(basis, domain).expect("primes of the ring"));
    }

    fn resident(&mut self, basis: Basis) -> Value {
        let log2_run = match self.numbers.once_in(3) {
            true => self.numbers.below(self.ring.log2_degree as usize + 1) as u32,
            false => 0,
        };
        let words = self.numbers.limbs(&self.ring, &basis, self.ring.degree() >> log2_run);
        let shape = ResidentShape { basis, log2_run };
        self.residents.push((shape.clone(), words));
        self.builder.resident(shape).expect("primes of the ring")
    }

    /// A value, the latest most often.
    fn any(&mut self) -> Value {
        let back = self.numbers.below(self.values.len()).min(self.numbers.below(8));
        self.values[self.values.len() - 1 - back]
    }

    fn any_evaluations(&mut self) -> Value {
        let value = self.any();
        self.builder.transform(value, Domain::Evaluations)
    }

    fn any_coefficients(&mut self) -> Value {
        let value = self.any();
        self.builder.transform(value, Domain::Coefficients)
    }

    fn basis_of(&self, value: Value) -> Basis {
        self.builder.basis(value).clone()
    }

    /// `value` on `basis`, with zeros (its product with 0) or other limbs where it lacks some.
    fn onto(&mut self, value: Value, basis: &Basis) -> Value {
        let domain = self.builder.type_of(value).domain;
        let have = self.basis_of(value);
        let (common, lacking) = (have.intersection(basis), basis.difference(&have));
        let mut parts = Vec::new();
        if !common.is_empty() {
            parts.push(self.builder.limbs(value, common).expect("limbs that it has"));
        }
        if !lacking.is_empty() {
            let other = match domain {
                Domain::Evaluations => self.resident(lacking),
                Domain::Coefficients => {
                    self.builder.convert(value, lacking, true).expect("coefficients")
                }
            };
            parts.push(other);
        }
        self.builder.join(&parts).expect("limbs of different primes")
    }

    fn factor(&mut self, basis: &Basis, domain: Domain) -> Factor {
        let kind = self.numbers.below(6);
        let mut pair = |&prime: &u16| {
            let p = self.ring.primes[usize::from(prime)].value();
            let mut word = || (self.numbers.word() % u64::from(p)) as u32;
            match kind {
                2 if domain == Domain::Evaluations => self.ring.imaginary_unit(prime),
                3 if domain == Domain::Evaluations => [word(), word()],
                _ => [word(); 2],
            }
        };
        match kind {
            0 => Factor::One,
            1 => Factor::MinusOne,
            _ => Factor::Residues(basis.primes().iter().map(&mut pair).collect()),
        }
    }

    fn step(&mut self) {
        let value = match self.numbers.below(12) {
            0 => {
                self.input();
                return;
            }
            1 | 2 => self.sum(),
            3 => {
                let domain = match self.numbers.below(2) {
                    0 => Domain::Coefficients,
                    _ => Domain::Evaluations,
                };
                let value = self.any();
                self.builder.transform(value, domain)
            }
            4 => {
                let of = self.any_coefficients();
                let from = self.basis_of(of);
                let to = self.basis_beside(&from);
                let corrected = self.numbers.once_in(2);
                self.builder.convert(of, to, corrected).expect("coefficients")
            }
            5 => {
                let value = self.any();
                let have = self.basis_of(value);
                let common = have.intersection(&self.basis_beside(&have));
                if common.is_empty() {
                    return;
                }
                self.builder.limbs(value, common).expect("limbs that it has")
            }
            6 => {
                let value = self.any();
                let have = self.basis_of(value);
                let basis = self.basis_beside(&have);
                self.onto(value, &basis)
            }
            7 => {
                let value = self.any_evaluations();
                self.moved(value)
            }
            8 | 9 => self.divide(),
            10 => self.raised_product(),
            _ => self.tensor(),
        };
        self.values.push(value);
    }

    fn sum(&mut self) -> Value {
        let first = self.any();
        let of = self.builder.type_of(first).clone();
        let mut terms = Vec::new();
        for number in 0..1 + self.numbers.below(4) {
            let a = if number == 0 { first } else { self.fitting(&of.basis, of.domain) };
            let factor = self.factor(&of.basis, of.domain);
            let mut term = Term::scaled(factor, a);
            if of.domain == Domain::Evaluations {
                match self.numbers.below(4) {
                    0 => term.b = Some(self.fitting(&of.basis, of.domain)),
                    1 if number > 0 => term.a = None,
                    _ => {}
                }
            }
            terms.push(term);
        }
        self.builder.sum(terms).expect("operands of one type")
    }

    /// Some value on `basis`.
    fn fitting(&mut self, basis: &Basis, domain: Domain) -> Value {
        let mut value = self.any();
        if self.is_invariant(&self.basis_of(value)) != self.is_invariant(basis) {
            value = self
                .values
                .iter()
                .copied()
                .rev()
                .find(|&other| self.is_invariant(&self.basis_of(other)) == self.is_invariant(basis))
                .expect("what this is to fit");
        }
        let value = self.builder.transform(value, domain);
        self.onto(value, basis)
    }

    /// Evaluations under some automorphism, or seen from the other ring where there is one.
    fn moved(&mut self, value: Value) -> Value {
        let basis = self.basis_of(value);
        let value_of = |p: &u16| self.ring.primes[usize::from(*p)];
        let invariant = self.is_invariant(&basis);
        let there = |p: &u16| {
            let other =
                |&q: &u16| self.ring.is_invariant(q) != invariant && value_of(&q) == value_of(p);
            (0..self.ring.primes.len() as u16).find(other)
        };
        let pairs: Vec<(u16, u16)> =
            basis.primes().iter().filter_map(|p| Some((*p, there(p)?))).collect();
        if !pairs.is_empty() && (invariant || self.numbers.once_in(2)) {
            let minus = self.numbers.once_in(2);
            let view = View::ALL[2 * usize::from(invariant) + usize::from(minus)];
            let from = Basis::new(pairs.iter().map(|&(p, _)| p));
            let own = self.builder.limbs(value, from).expect("its own limbs");
            let to = Basis::new(pairs.iter().map(|&(_, q)| q));
            return self.builder.view(own, view, to).expect("the same primes");
        }
        if invariant {
            return value;
        }
        let g = 2 * self.numbers.below(self.ring.degree()) as u32 + 1;
        self.builder.automorphism(value, g).expect("evaluations, an odd exponent")
    }

    /// round(x / S), or nearly, on other primes: S are some of its own.
    fn divide(&mut self) -> Value {
        let x = self.any_evaluations();
        let basis = self.basis_of(x);
        let dropped = 1 + self.numbers.below(basis.len());
        let first = self.numbers.below(basis.len() - dropped + 1);
        let dropped = Basis::new(basis.primes()[first..first + dropped].iter().copied());
        let kept = basis.difference(&dropped);
        let x_dropped = self.builder.limbs(x, dropped.clone()).expect("its own limbs");
        let scaled = {
            let factor = self.factor(&dropped, Domain::Coefficients);
            self.builder.sum(vec![Term::scaled(factor, x_dropped)]).expect("one term")
        };
        let scaled = self.builder.transform(scaled, Domain::Coefficients);
        let to = if kept.is_empty() { self.basis_beside(&basis) } else { kept.clone() };
        let corrected = !self.numbers.once_in(4);
        let rest = self.builder.convert(scaled, to.clone(), corrected).expect("coefficients");
        let rest = self.builder.transform(rest, Domain::Evaluations);
        let factor = self.factor(&to, Domain::Evaluations);
        let mut terms = vec![Term::scaled(factor, rest)];
        if !kept.is_empty() {
            let x = self.builder.limbs(x, kept).expect("its own limbs");
            let factor = self.factor(&to, Domain::Coefficients);
            terms.push(Term::scaled(factor, x));
        }
        self.builder.sum(terms).expect("operands on one basis")
    }

    /// Groups of limbs raised to more primes, each times a resident polynomial, all added; twice.
    fn raised_product(&mut self) -> Value {
        let x = self.any_evaluations();
        let basis = self.basis_of(x);
        let whole = basis.union(&self.basis_beside(&basis));
        let length = 1 + self.numbers.below(3);
        let mut raised = Vec::new();
        for group in basis.primes().chunks(length) {
            let group = Basis::new(group.iter().copied());
            let own = self.builder.limbs(x, group.clone()).expect("its own limbs");
            let others = whole.difference(&group);
            if others.is_empty() {
                raised.push(own);
                continue;
            }
            let coefficients = self.builder.transform(own, Domain::Coefficients);
            let lifted = self.builder.convert(coefficients, others, false).expect("coefficients");
            let lifted = self.builder.transform(lifted, Domain::Evaluations);
            raised.push(self.builder.join(&[own, lifted]).expect("different primes"));
        }
        for _ in 0..2 {
            let mut terms = Vec::new();
            for &digit in &raised {
                let key = self.resident(whole.clone());
                terms.push(Term::product(digit, key));
            }
            let sum = self.builder.sum(terms).expect("operands on one basis");
            self.values.push(sum);
        }
        let sum = self.any_evaluations();
        self.moved(sum)
    }

    /// The three products of two pairs.
    fn tensor(&mut self) -> Value {
        let x = self.any_evaluations();
        let basis = self.basis_of(x);
        let [y, z] = [(), ()].map(|()| self.fitting(&basis, Domain::Evaluations));
        for terms in [vec![Term::product(x, y)], vec![Term::product(x, z), Term::product(y, z)]] {
            let sum = self.builder.sum(terms).expect("operands on one basis");
            self.values.push(sum);
        }
        self.builder.sum(vec![Term::product(z, y)]).expect("operands on one basis")
    }
}
