//! Programs: what to compute, as data that is type-checked while it is recorded.

use std::sync::Arc;

use girih_ring::Modulus;

/// The ring of a program: its degree and every prime that its polynomials may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingShape {
    /// log2 of the degree N, from 1 to 17.
    pub log2_degree: u32,
    /// Distinct primes between 2^19 and 2^31, each 1 modulo 2N. A prime is named by its place in
    /// this list.
    pub primes: Vec<Modulus>,
}

impl RingShape {
    /// N, the words of a limb.
    pub fn degree(&self) -> usize {
        1 << self.log2_degree
    }

    /// The basis of all primes whose numbers lie in `range`.
    pub fn basis(&self, range: std::ops::Range<usize>) -> Basis {
        Basis::new(range.map(|i| i as u16))
    }

    /// What multiplying by X^(N/2) does to the evaluations modulo prime `prime`: the word at place
    /// j is multiplied by the first number for j < N/2, by the second above.
    ///
    /// Place j holds the value at psi^(2 brv(j) + 1), and psi^(N/2) to an odd power is i or -i: the
    /// sign is that of the lowest bit of brv(j), which is the highest of j.
    pub fn imaginary_unit(&self, prime: u16) -> [u32; 2] {
        let modulus = self.primes[usize::from(prime)];
        let i = modulus.pow(psi(modulus, self.log2_degree), 1 << (self.log2_degree - 1));
        [i, modulus.neg(i)]
    }
}

/// The root of unity of order 2N that evaluation order is defined by: x^((p - 1) / 2N) for the
/// least x >= 2 for which that has order exactly 2N.
fn psi(modulus: Modulus, log2_degree: u32) -> u32 {
    let p = modulus.value();
    (2..p)
        .map(|x| modulus.pow(x, u64::from(p - 1) >> (log2_degree + 1)))
        .find(|&psi| modulus.pow(psi, 1 << log2_degree) == p - 1)
        .expect("a prime that is 1 modulo 2N has a root of that order")
}

/// A set of primes of a ring, by number, in ascending order: one limb each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Basis(Arc<[u16]>);

impl Basis {
    /// The basis of these primes; order and repetition of `primes` do not matter.
    pub fn new(primes: impl IntoIterator<Item = u16>) -> Self {
        let mut primes: Vec<u16> = primes.into_iter().collect();
        primes.sort_unstable();
        primes.dedup();
        Self(primes.into())
    }

    /// Number of primes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no prime at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The primes, ascending.
    pub fn primes(&self) -> &[u16] {
        &self.0
    }

    /// The place of `prime` in this basis.
    pub fn position(&self, prime: u16) -> Option<usize> {
        self.0.binary_search(&prime).ok()
    }

    /// Whether `prime` belongs to it.
    pub fn contains(&self, prime: u16) -> bool {
        self.position(prime).is_some()
    }

    /// Whether every prime of `other` belongs to it.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|&p| self.contains(p))
    }

    /// The primes of both.
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(other.0.iter()).copied())
    }

    /// The primes that both have.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::new(self.0.iter().copied().filter(|&p| other.contains(p)))
    }

    /// The primes that `other` has not.
    pub fn difference(&self, other: &Self) -> Self {
        Self::new(self.0.iter().copied().filter(|&p| !other.contains(p)))
    }
}

/// How the words of a polynomial are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Word k is the coefficient of X^k.
    Coefficients,
    /// Word j is the value at psi^(2 brv(j) + 1), the order of `girih_ring::NttTable`.
    Evaluations,
}

/// A polynomial that an operation of a [`Program`] yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The number of the operation that yields it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A polynomial that stays on the device, such as a part of a key or an encoded diagonal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResidentShape {
    /// Its primes.
    pub basis: Basis,
    /// It is stored in evaluation order as N / 2^log2_run words a limb, of which each stands for
    /// 2^log2_run equal evaluations side by side: what a polynomial in X^(2^log2_run) looks like. 0
    /// for any other.
    pub log2_run: u32,
}

/// The constant that a [`Term`] is multiplied by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// 1.
    One,
    /// -1.
    MinusOne,
    /// For each prime of the sum's basis, in its order, a residue for the words before N/2 and one
    /// for those from N/2 on. Equal ones are an integer; `[i, -i]` of [`RingShape::imaginary_unit`]
    /// is X^(N/2). In coefficients both must be equal.
    Residues(Arc<[[u32; 2]]>),
}

/// One summand of [`Op::Sum`]: `factor * a * b`, where a missing operand is the constant polynomial
/// 1 (in evaluations: the factor is added to every word).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The constant.
    pub factor: Factor,
    /// The first polynomial.
    pub a: Option<Value>,
    /// The second, only beside a first and only in evaluations.
    pub b: Option<Value>,
}

impl Term {
    /// a.
    pub fn plus(a: Value) -> Self {
        Self { factor: Factor::One, a: Some(a), b: None }
    }

    /// -a.
    pub fn minus(a: Value) -> Self {
        Self { factor: Factor::MinusOne, a: Some(a), b: None }
    }

    /// a b.
    pub fn product(a: Value, b: Value) -> Self {
        Self { factor: Factor::One, a: Some(a), b: Some(b) }
    }

    /// factor a.
    pub fn scaled(factor: Factor, a: Value) -> Self {
        Self { factor, a: Some(a), b: None }
    }

    /// factor a b.
    pub fn scaled_product(factor: Factor, a: Value, b: Value) -> Self {
        Self { factor, a: Some(a), b: Some(b) }
    }

    /// The constant itself.
    pub fn constant(factor: Factor) -> Self {
        Self { factor, a: None, b: None }
    }
}

/// One operation. Each has one meaning, on polynomials; none knows a buffer, a level or a digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The polynomial that a call binds to input `slot`.
    Input(u16),
    /// The resident polynomial that a routine binds to `slot`, its shape in [`Program::residents`].
    Resident(u32),
    /// The same polynomial in another domain.
    Transform(Value, Domain),
    /// Base conversion of coefficients (`girih_ring::BaseConversion`): to the primes `to`, by the
    /// corrected formula or the plain one.
    Convert {
        /// What is converted, in coefficients.
        of: Value,
        /// The primes of the result.
        to: Basis,
        /// Which formula.
        corrected: bool,
    },
    /// Some limbs of a polynomial.
    Limbs(Value, Basis),
    /// Limbs of several polynomials side by side; no prime occurs twice.
    Join(Vec<Value>),
    /// The sum of terms, all over one basis. At least one term.
    Sum(Vec<Term>),
    /// X -> X^g of a polynomial in evaluations, g odd and below 2N.
    Automorphism(Value, u32),
    /// Writes a polynomial where a call binds output `slot`; yields it, too.
    Output(Value, u16),
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// Its primes.
    pub basis: Basis,
    /// How its words are read.
    pub domain: Domain,
}

/// Why an operation could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {at} ({op}): {why}")]
pub struct ProgramError {
    /// The number that the operation would have had.
    pub at: usize,
    /// Its name.
    pub op: &'static str,
    /// What does not fit.
    pub why: String,
}

/// A recorded, type-checked program.
#[derive(Clone, Debug)]
pub struct Program {
    ring: Arc<RingShape>,
    ops: Vec<Op>,
    types: Vec<ValueType>,
    residents: Vec<ResidentShape>,
    inputs: Vec<ValueType>,
    outputs: Vec<Value>,
}

impl Program {
    /// The ring that it works in.
    pub fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    /// The operations; each uses only earlier ones.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// What each operation yields.
    pub fn types(&self) -> &[ValueType] {
        &self.types
    }

    /// What `value` is.
    pub fn type_of(&self, value: Value) -> &ValueType {
        &self.types[value.index()]
    }

    /// The resident polynomials that it reads, by slot.
    pub fn residents(&self) -> &[ResidentShape] {
        &self.residents
    }

    /// The polynomials that a call must bind, by slot.
    pub fn inputs(&self) -> &[ValueType] {
        &self.inputs
    }

    /// The values that a call gets, by slot.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// Value number `index`.
    pub fn value(&self, index: usize) -> Option<Value> {
        (index < self.ops.len()).then_some(Value(index as u32))
    }
}

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
    /// For a prime that the ring does not have.
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
        if g.is_multiple_of(2) || u64::from(g) >= 2 << self.program.ring.log2_degree {
            return Err(self.error(
                "automorphism",
                format!("X -> X^{g}: the exponent must be odd and below 2N"),
            ));
        }
        Ok(if g == 1 { value } else { self.push(Op::Automorphism(value, g), of) })
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
            _ => Ok(()),
        }
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
