//! Programs: what to compute, as data that is type-checked while it is recorded.

use std::sync::Arc;

mod builder;
mod ring;

pub use builder::ProgramBuilder;
pub use ring::{Basis, RingShape};

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
