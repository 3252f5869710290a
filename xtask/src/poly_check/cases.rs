//! Switches between bases, as programs: what is compared and timed.

use super::Failure;
use girih_backend::poly::{
    Basis, Domain, Factor, Program, ProgramBuilder, ResidentShape, RingShape, Term, Value,
};
use girih_ring::{Modulus, is_prime};
use std::collections::HashMap;
use std::sync::Arc;

/// A pair of polynomials.
#[derive(Clone, Copy)]
struct Pair(Value, Value);

/// Records switches over a ring whose last twelve primes are divided away after products.
struct Recorder {
    ring: Arc<RingShape>,
    builder: ProgramBuilder,
    special: Basis,
    keys: HashMap<(usize, u16, usize), Value>,
    shapes: Vec<ResidentShape>,
    inputs: Vec<Basis>,
}

const SPECIAL: usize = 12;
const MAINS: usize = 47;

/// Primes that are 1 modulo 2^17, downwards from `below`.
fn primes_below(below: u64) -> impl Iterator<Item = Modulus> {
    let first = (below - 2) >> 17;
    (1..=first)
        .rev()
        .map(|k| (k << 17) + 1)
        .filter(|&p| is_prime(p))
        .filter_map(|p| Modulus::new(p as u32))
}

/// 47 primes and 12 special ones; narrow ones lie below 2^30, of the others the special ones and
/// each fourth do not.
pub(super) fn ring(narrow: bool) -> Arc<RingShape> {
    let mut low = primes_below(1 << 30);
    let mut high = primes_below(1 << 31);
    let mut take = |is_high: bool| if is_high { high.next() } else { low.next() };
    let primes =
        (0..MAINS + SPECIAL).filter_map(|i| take(!narrow && (i >= MAINS || i % 4 == 3))).collect();
    Arc::new(RingShape::new(16, primes))
}

impl Recorder {
    fn new(ring: &Arc<RingShape>) -> Self {
        Self {
            ring: ring.clone(),
            builder: ProgramBuilder::new(ring.clone()),
            special: ring.basis(MAINS..MAINS + SPECIAL),
            keys: HashMap::new(),
            shapes: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn modulus(&self, prime: u16) -> Modulus {
        self.ring.primes[usize::from(prime)]
    }

    fn basis(&self, value: Value) -> Basis {
        self.builder.basis(value).clone()
    }

    fn pair(&mut self, limbs: usize) -> Result<Pair, Failure> {
        let basis = self.ring.basis(0..limbs);
        let mut one = || {
            self.inputs.push(basis.clone());
            self.builder.input(basis.clone(), Domain::Evaluations)
        };
        Ok(Pair(one()?, one()?))
    }

    fn product_of(&self, primes: &Basis, modulus: Modulus) -> u32 {
        primes
            .primes()
            .iter()
            .fold(1, |product, &p| modulus.mul(product, self.modulus(p).value() % modulus.value()))
    }

    fn number(&self, basis: &Basis, number: impl Fn(Modulus) -> u32) -> Factor {
        Factor::Residues(basis.primes().iter().map(|&p| [number(self.modulus(p)); 2]).collect())
    }

    fn key(&mut self, key: usize, first: u16, part: usize, basis: Basis) -> Result<Value, Failure> {
        let of = (key, first, part);
        let value = match self.keys.get(&of) {
            Some(&known) => known,
            None => {
                let shape =
                    ResidentShape { basis: self.ring.basis(0..MAINS + SPECIAL), log2_run: 0 };
                self.shapes.push(shape.clone());
                let value = self.builder.resident(shape)?;
                self.keys.insert(of, value);
                value
            }
        };
        Ok(self.builder.limbs(value, basis)?)
    }

    fn raise(&mut self, x: Value) -> Result<Vec<(u16, Value)>, Failure> {
        let basis = self.basis(x);
        let whole = basis.union(&self.special);
        let digits: Vec<Basis> = basis
            .primes()
            .chunks(SPECIAL)
            .map(|primes| Basis::new(primes.iter().copied()))
            .collect();
        let mut raised = Vec::new();
        for digit in digits {
            let own = self.builder.limbs(x, digit.clone())?;
            let coefficients = self.builder.transform(own, Domain::Coefficients);
            let lifted = self.builder.convert(coefficients, whole.difference(&digit), false)?;
            let lifted = self.builder.transform(lifted, Domain::Evaluations);
            raised.push((digit.primes()[0], self.builder.join(&[own, lifted])?));
        }
        Ok(raised)
    }

    fn key_product(&mut self, digits: &[(u16, Value)], key: usize) -> Result<Pair, Failure> {
        let mut parts = Vec::new();
        for part in 0..2 {
            let mut terms = Vec::new();
            for &(first, digit) in digits {
                let key = self.key(key, first, part, self.basis(digit))?;
                terms.push(Term::product(digit, key));
            }
            parts.push(self.builder.sum(terms)?);
        }
        Ok(Pair(parts[0], parts[1]))
    }

    /// round(x / S) on the primes of `to`, S those that x has besides.
    fn divide(&mut self, x: Value, to: &Basis) -> Result<Value, Failure> {
        let dropped = self.basis(x).difference(to);
        let rest = self.builder.limbs(x, dropped.clone())?;
        let rest = self.builder.transform(rest, Domain::Coefficients);
        let rest = self.builder.convert(rest, to.clone(), true)?;
        let rest = self.builder.transform(rest, Domain::Evaluations);
        let kept = self.builder.limbs(x, to.clone())?;
        let inverse = |m: Modulus| m.inverse(self.product_of(&dropped, m));
        let plus = self.number(to, inverse);
        let minus = self.number(to, |m| m.neg(inverse(m)));
        Ok(self.builder.sum(vec![Term::scaled(plus, kept), Term::scaled(minus, rest)])?)
    }

    fn add_lifted(&mut self, x: Value, y: Value) -> Result<Value, Failure> {
        let basis = self.basis(y);
        let special = self.special.clone();
        let p = self.number(&basis, |m| self.product_of(&special, m));
        let low = self.builder.limbs(x, basis)?;
        let low = self.builder.sum(vec![Term::plus(low), Term::scaled(p, y)])?;
        let high = self.builder.limbs(x, special)?;
        Ok(self.builder.join(&[low, high])?)
    }

    fn divide_pair(&mut self, x: Pair, to: &Basis) -> Result<Pair, Failure> {
        Ok(Pair(self.divide(x.0, to)?, self.divide(x.1, to)?))
    }

    fn rotate(&mut self, x: Pair, key: usize, g: u32) -> Result<Pair, Failure> {
        let digits = self.raise(x.1)?;
        let Pair(kb, ka) = self.key_product(&digits, key)?;
        let kb = self.add_lifted(kb, x.0)?;
        let turned = Pair(self.builder.automorphism(kb, g)?, self.builder.automorphism(ka, g)?);
        let to = self.basis(x.0);
        self.divide_pair(turned, &to)
    }

    fn multiply(&mut self, x: Pair, y: Pair, drop: usize) -> Result<Pair, Failure> {
        let mut sum = |terms| self.builder.sum(terms);
        let d0 = sum(vec![Term::product(x.0, y.0)])?;
        let d1 = sum(vec![Term::product(x.0, y.1), Term::product(x.1, y.0)])?;
        let d2 = sum(vec![Term::product(x.1, y.1)])?;
        let digits = self.raise(d2)?;
        let Pair(kb, ka) = self.key_product(&digits, 0)?;
        let whole = Pair(self.add_lifted(kb, d0)?, self.add_lifted(ka, d1)?);
        let basis = self.basis(x.0);
        let to = self.ring.basis(0..basis.len() - drop);
        self.divide_pair(whole, &to)
    }

    fn finish(mut self, result: Pair) -> (Program, Vec<ResidentShape>, Vec<Basis>) {
        self.builder.output(result.0);
        self.builder.output(result.1);
        (self.builder.finish(), self.shapes, self.inputs)
    }
}

/// A program of a name.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) residents: Vec<ResidentShape>,
    pub(super) inputs: Vec<Basis>,
}

pub(super) fn cases(ring: &Arc<RingShape>, limbs: &[usize]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    let mut case = |name: String, recorded: (Program, Vec<ResidentShape>, Vec<Basis>)| {
        let (program, residents, inputs) = recorded;
        cases.push(Case { name, program, residents, inputs });
    };
    for &limbs in limbs {
        let mut r = Recorder::new(ring);
        let x = r.pair(limbs)?;
        let y = r.rotate(x, 1, 5)?;
        case(format!("rotation, {limbs} limbs"), r.finish(y));
        let mut r = Recorder::new(ring);
        let (x, y) = (r.pair(limbs)?, r.pair(limbs)?);
        let z = r.multiply(x, y, 2)?;
        case(format!("product and division by two limbs, {limbs} limbs"), r.finish(z));
        let mut r = Recorder::new(ring);
        let x = r.pair(limbs)?;
        let z = r.divide_pair(x, &ring.basis(0..limbs - 2))?;
        case(format!("division by two limbs, {limbs} limbs"), r.finish(z));
    }
    Ok(cases)
}
