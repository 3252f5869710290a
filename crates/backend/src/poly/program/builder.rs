//! Programs as they are recorded: every operation's types are checked.

use std::sync::Arc;

use super::{
    Basis, Domain, Factor, Op, Program, ProgramError, ResidentShape, RingShape, Term, Value,
    ValueType, View,
};

/// Records a [`Program`], checking each operation's types. Equal operations are recorded once.
#[derive(Debug)]
pub struct ProgramBuilder {
    program: Program,
    seen: std::collections::HashMap<Op, Value>,
}

impl ProgramBuilder {
    /// An empty program over `ring`.
    pub fn new(ring: Arc<RingShape>) -> Self {
        let program = Program {
            ring,
            ops: Vec::new(),
            types: Vec::new(),
            residents: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        Self { program, seen: Default::default() }
    }

    /// The ring that it works in.
    pub fn ring(&self) -> &Arc<RingShape> {
        &self.program.ring
    }

    /// What `value` is.
    pub fn type_of(&self, value: Value) -> &ValueType {
        self.program.type_of(value)
    }

    /// The basis of `value`.
    pub fn basis(&self, value: Value) -> &Basis {
        &self.type_of(value).basis
    }

    /// Declares the next input; slots count from 0.
    ///
    /// # Errors
    /// For a prime that the ring does not have, and primes of both rings.
    pub fn input(&mut self, basis: Basis, domain: Domain) -> Result<Value, ProgramError> {
        self.known("input", &basis)?;
        let slot = self.program.inputs.len() as u16;
        let of = ValueType { basis, domain };
        self.program.inputs.push(of.clone());
        Ok(self.push(Op::Input(slot), of))
    }

    /// Declares the next resident polynomial, in evaluations; slots count from 0.
    ///
    /// # Errors
    /// For a prime that the ring does not have, or runs longer than a limb.
    pub fn resident(&mut self, shape: ResidentShape) -> Result<Value, ProgramError> {
        self.known("resident", &shape.basis)?;
        if shape.log2_run > self.program.ring.log2_degree {
            return Err(self.error(
                "resident",
                format!(
                    "runs of 2^{} words in limbs of 2^{}",
                    shape.log2_run, self.program.ring.log2_degree
                ),
            ));
        }
        let slot = self.program.residents.len() as u32;
        let of = ValueType { basis: shape.basis.clone(), domain: Domain::Evaluations };
        self.program.residents.push(shape);
        Ok(self.push(Op::Resident(slot), of))
    }

    /// `value` in `domain`; itself where it is there already.
    pub fn transform(&mut self, value: Value, domain: Domain) -> Value {
        let of = self.type_of(value).clone();
        if of.domain == domain {
            value
        } else {
            self.push(Op::Transform(value, domain), ValueType { domain, ..of })
        }
    }

    /// Base conversion of `of` to the primes `to`.
    ///
    /// # Errors
    /// When `of` is not in coefficients, has no prime, or `to` has an unknown one.
    pub fn convert(
        &mut self,
        of: Value,
        to: Basis,
        corrected: bool,
    ) -> Result<Value, ProgramError> {
        self.known("convert", &to)?;
        let from = self.type_of(of);
        if self.is_invariant(&from.basis) != self.is_invariant(&to) && !to.is_empty() {
            return Err(self.error("convert", "from one ring to primes of the other".into()));
        }
        if from.domain != Domain::Coefficients || from.basis.is_empty() {
            return Err(self.error("convert", "needs coefficients over at least one prime".into()));
        }
        Ok(self.push(
            Op::Convert { of, to: to.clone(), corrected },
            ValueType { basis: to, domain: Domain::Coefficients },
        ))
    }

    /// The limbs of `value` whose primes are in `basis`.
    ///
    /// # Errors
    /// When `value` lacks one of them.
    pub fn limbs(&mut self, value: Value, basis: Basis) -> Result<Value, ProgramError> {
        let of = self.type_of(value).clone();
        if of.basis == basis {
            return Ok(value);
        }
        if !of.basis.contains_all(&basis) {
            let lacking = basis.difference(&of.basis);
            return Err(self.error(
                "limbs",
                format!("value {} has no limb modulo primes {:?}", value.0, lacking.primes()),
            ));
        }
        Ok(self.push(Op::Limbs(value, basis.clone()), ValueType { basis, domain: of.domain }))
    }

    /// The limbs of all `parts` as one polynomial. Parts without limbs are left out.
    ///
    /// # Errors
    /// When a prime occurs twice, domains differ, or no part has a limb.
    pub fn join(&mut self, parts: &[Value]) -> Result<Value, ProgramError> {
        let parts: Vec<Value> =
            parts.iter().copied().filter(|&v| !self.basis(v).is_empty()).collect();
        let Some(&first) = parts.first() else {
            return Err(self.error("join", "no part has a limb".into()));
        };
        if parts.len() == 1 {
            return Ok(first);
        }
        let domain = self.type_of(first).domain;
        let mut basis = Basis::new([]);
        for &part in &parts {
            let of = self.type_of(part);
            if of.domain != domain {
                return Err(self.error("join", "parts in coefficients and in evaluations".into()));
            }
            if self.is_invariant(&of.basis) != self.is_invariant(self.basis(first)) {
                return Err(self.error("join", "parts of both rings".into()));
            }
            let both = basis.intersection(&of.basis);
            if !both.is_empty() {
                return Err(self.error("join", format!("primes {:?} occur twice", both.primes())));
            }
            basis = basis.union(&of.basis);
        }
        Ok(self.push(Op::Join(parts), ValueType { basis, domain }))
    }

    /// The sum of `terms` over `basis`, which all operands must have exactly.
    ///
    /// # Errors
    /// Without terms; when operands differ in basis or domain; for products, constants or unequal
    /// halves in coefficients; for residues that are not canonical or not one pair a prime.
    pub fn sum(&mut self, terms: Vec<Term>) -> Result<Value, ProgramError> {
        let Some(of) = terms.iter().find_map(|t| t.a).map(|a| self.type_of(a).clone()) else {
            return Err(self.error("sum", "needs at least one term with a polynomial".into()));
        };
        for term in &terms {
            for &operand in term.a.iter().chain(&term.b) {
                let other = self.type_of(operand);
                if *other != of {
                    return Err(self.error(
                        "sum",
                        format!(
                            "operands over {:?} in {:?} and over {:?} in {:?}",
                            of.basis.primes(),
                            of.domain,
                            other.basis.primes(),
                            other.domain
                        ),
                    ));
                }
            }
            if term.a.is_none() && term.b.is_some() {
                return Err(self.error("sum", "a second operand without a first".into()));
            }
            if of.domain == Domain::Coefficients && (term.a.is_none() || term.b.is_some()) {
                return Err(self.error("sum", "products and constants only in evaluations".into()));
            }
            self.check_factor(&term.factor, &of)?;
        }
        Ok(self.push(Op::Sum(terms), of))
    }

    /// X -> X^g of `value`; itself for g = 1.
    ///
    /// # Errors
    /// When `value` is not in evaluations, or g is even or not below 2N.
    pub fn automorphism(&mut self, value: Value, g: u32) -> Result<Value, ProgramError> {
        let of = self.type_of(value).clone();
        if of.domain != Domain::Evaluations {
            return Err(self.error("automorphism", "needs evaluations".into()));
        }
        if self.is_invariant(&of.basis) {
            return Err(self.error(
                "automorphism",
                "X -> X^g of a polynomial of the conjugation-invariant ring".into(),
            ));
        }
        if g.is_multiple_of(2) || u64::from(g) >= 2 << self.program.ring.log2_degree {
            return Err(self.error(
                "automorphism",
                format!("X -> X^{g}: the exponent must be odd and below 2N"),
            ));
        }
        Ok(if g == 1 { value } else { self.push(Op::Automorphism(value, g), of) })
    }

    /// `value`, which is in evaluations, seen from the other ring, over the primes `to` there.
    ///
    /// # Errors
    /// When it is not in evaluations, or `to` are not the same primes in the other ring.
    pub fn view(&mut self, value: Value, view: View, to: Basis) -> Result<Value, ProgramError> {
        self.known("view", &to)?;
        let from = self.type_of(value).clone();
        if from.domain != Domain::Evaluations {
            return Err(self.error("view", "needs evaluations".into()));
        }
        if self.is_invariant(&to) != view.lifts() || self.is_invariant(&from.basis) == view.lifts()
        {
            return Err(self.error("view", format!("{view:?} does not lead between these rings")));
        }
        let primes = &self.program.ring.primes;
        let of = |basis: &Basis| -> Vec<u32> {
            basis.primes().iter().map(|&p| primes[usize::from(p)].value()).collect()
        };
        let (have, wanted) = (of(&from.basis), of(&to));
        if have != wanted {
            return Err(self.error("view", format!("primes {have:?} as {wanted:?}")));
        }
        let of = ValueType { basis: to.clone(), domain: Domain::Evaluations };
        Ok(self.push(Op::View { of: value, view, to }, of))
    }

    /// Declares the next output; slots count from 0.
    pub fn output(&mut self, value: Value) -> Value {
        let slot = self.program.outputs.len() as u16;
        self.program.outputs.push(value);
        let of = self.type_of(value).clone();
        self.push(Op::Output(value, slot), of)
    }

    /// The program.
    pub fn finish(self) -> Program {
        self.program
    }

    fn check_factor(&self, factor: &Factor, of: &ValueType) -> Result<(), ProgramError> {
        let Factor::Residues(residues) = factor else { return Ok(()) };
        if residues.len() != of.basis.len() {
            return Err(self.error(
                "sum",
                format!("{} factors for {} primes", residues.len(), of.basis.len()),
            ));
        }
        for (&pair, &prime) in residues.iter().zip(of.basis.primes()) {
            let p = self.program.ring.primes[usize::from(prime)].value();
            if pair.iter().any(|&r| r >= p) {
                return Err(
                    self.error("sum", format!("factor {pair:?} is not canonical modulo {p}"))
                );
            }
            if of.domain == Domain::Coefficients && pair[0] != pair[1] {
                return Err(self.error("sum", "halves that differ only in evaluations".into()));
            }
        }
        Ok(())
    }

    fn known(&self, op: &'static str, basis: &Basis) -> Result<(), ProgramError> {
        match basis.primes().last() {
            Some(&last) if usize::from(last) >= self.program.ring.primes.len() => Err(self.error(
                op,
                format!("prime {last} of a ring of {}", self.program.ring.primes.len()),
            )),
            last => match basis.primes().first() {
                Some(&first) if last.is_some_and(|&last| self.differ(first, last)) => {
                    Err(self.error(op, "primes of both rings in one basis".into()))
                }
                _ => Ok(()),
            },
        }
    }

    /// Whether two primes are of different rings.
    fn differ(&self, a: u16, b: u16) -> bool {
        self.program.ring.is_invariant(a) != self.program.ring.is_invariant(b)
    }

    /// Whether a basis is of the conjugation-invariant ring.
    fn is_invariant(&self, basis: &Basis) -> bool {
        basis.primes().first().is_some_and(|&p| self.program.ring.is_invariant(p))
    }

    fn error(&self, op: &'static str, why: String) -> ProgramError {
        ProgramError { at: self.program.ops.len(), op, why }
    }

    fn push(&mut self, op: Op, of: ValueType) -> Value {
        if let Some(&value) = self.seen.get(&op) {
            return value;
        }
        let value = Value(self.program.ops.len() as u32);
        self.seen.insert(op.clone(), value);
        self.program.ops.push(op);
        self.program.types.push(of);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::random::both_rings;

    #[test]
    fn operations_of_other_types_are_refused() {
        let ring = both_rings(4);
        let (from, count) = (ring.invariant_from as u16, ring.primes.len() as u16);
        let there = Basis::new([from]);
        let value = ring.primes[usize::from(from)];
        let place = ring.primes.iter().position(|&p| p == value).unwrap() as u16;
        let (here, other) = (Basis::new([place]), Basis::new([(place + 1) % from]));
        let (both, beyond) = (Basis::new([place, from]), Basis::new([count]));
        let (evaluations, coefficients) = (Domain::Evaluations, Domain::Coefficients);
        let mut b = ProgramBuilder::new(ring.clone());
        let [x, y, z] = [&here, &there, &other].map(|of| b.input(of.clone(), evaluations).unwrap());
        let [c, d] = [&here, &there].map(|of| b.input(of.clone(), coefficients).unwrap());
        let nothing = b.limbs(c, Basis::new([])).unwrap();
        let shape = |log2_run| ResidentShape { basis: here.clone(), log2_run };
        assert!(b.resident(shape(4)).is_ok());
        let residues = |pair: [u32; 2]| Factor::Residues([pair].into());
        let p = value.value();
        let scaled = |pair, a| vec![Term::scaled(residues(pair), a)];
        let second = vec![Term::plus(x), Term { factor: Factor::One, a: None, b: Some(x) }];
        let two = Factor::Residues([[1; 2]; 2].into());
        for (made, words) in [
            (b.input(beyond.clone(), evaluations), format!("prime {count} of a ring of {count}")),
            (b.input(both.clone(), evaluations), "primes of both rings in one basis".into()),
            (b.resident(shape(5)), "runs of 2^5 words in limbs of 2^4".into()),
            (b.convert(c, there.clone(), true), "from one ring to primes of the other".into()),
            (b.convert(d, here.clone(), true), "from one ring to primes of the other".into()),
            (b.convert(x, other.clone(), true), "needs coefficients over".into()),
            (b.convert(nothing, other.clone(), true), "needs coefficients over".into()),
            (b.limbs(x, other.clone()), "has no limb modulo primes".into()),
            (b.join(&[]), "no part has a limb".into()),
            (b.join(&[x, c]), "parts in coefficients and in evaluations".into()),
            (b.join(&[x, y]), "parts of both rings".into()),
            (b.join(&[x, x]), "occur twice".into()),
            (b.sum(Vec::new()), "at least one term".into()),
            (b.sum(vec![Term::plus(x), Term::plus(z)]), "operands over".into()),
            (b.sum(second), "a second operand without a first".into()),
            (b.sum(vec![Term::product(c, c)]), "products and constants only in".into()),
            (
                b.sum(vec![Term::plus(c), Term::constant(Factor::One)]),
                "products and constants only in".into(),
            ),
            (b.sum(vec![Term::scaled(two, x)]), "2 factors for 1 primes".into()),
            (b.sum(scaled([0, p], x)), "is not canonical modulo".into()),
            (b.sum(scaled([0, 1], c)), "halves that differ only in evaluations".into()),
            (b.automorphism(c, 3), "needs evaluations".into()),
            (b.automorphism(y, 3), "of the conjugation-invariant ring".into()),
            (b.automorphism(x, 4), "must be odd and below 2N".into()),
            (b.automorphism(x, 33), "must be odd and below 2N".into()),
            (b.view(c, View::Lifted, there.clone()), "needs evaluations".into()),
            (b.view(x, View::Restricted, there.clone()), "does not lead between".into()),
            (b.view(y, View::Lifted, there.clone()), "does not lead between".into()),
            (b.view(x, View::Lifted, other.clone()), "does not lead between".into()),
            (b.view(z, View::Lifted, there.clone()), format!("as [{p}]")),
        ] {
            let refused = made.expect_err("must be refused").to_string();
            assert!(refused.contains(&words), "{words}: {refused}");
        }
        // Nothing is recorded where nothing is to be done.
        assert_eq!(b.limbs(x, here.clone()).unwrap(), x);
        assert_eq!(b.join(&[nothing, x]).unwrap(), x);
        assert_eq!(b.automorphism(x, 1).unwrap(), x);
        // What the rules allow.
        let allowed = [
            b.convert(d, Basis::new([]), true),
            b.convert(c, other.clone(), false),
            b.join(&[x, nothing, z]),
            b.sum(scaled([0, p - 1], x)),
            b.sum(scaled([1, 1], c)),
            b.automorphism(x, 31),
            b.view(x, View::LiftedConjugate, there),
            b.view(y, View::RestrictedMinus, here),
        ];
        assert!(allowed.iter().all(Result::is_ok), "{allowed:?}");
    }
}
