//! Programs: what to compute, as data that is type-checked while it is recorded.

use std::sync::Arc;

mod builder;
mod ring;

pub use builder::ProgramBuilder;
pub use ring::{Basis, RingShape};

/// How the words of a polynomial are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Word k is the coefficient of X^k, or of Y^k + Y^-k.
    Coefficients,
    /// Word j is the value at psi^(2 brv(j) + 1), the order of `girih_ring::NttTable`; in the
    /// conjugation-invariant ring that at psi^(4 brv(j) + 1), psi of order 4N.
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

/// How evaluations of one ring are read as evaluations of the other, X being Y^2.
///
/// Word j of the conjugation-invariant ring stands for two points, y_j = psi^(4 brv(j) + 1) and 1 /
/// y_j. Words 2k and 2k + 1 have the same square: y_2k = -y_(2k+1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// From the usual ring to the conjugation-invariant one: word j is the value at y_j^2, which
    /// is word j/2 (rounded down).
    Lifted,
    /// The same at y_j^-2: word N - 1 - j/2.
    LiftedConjugate,
    /// From the conjugation-invariant ring to the usual one: word j is the value at a square root
    /// of the point of place j, which is word 2j for j < N/2 and word 2 (N - 1 - j) from there on.
    Restricted,
    /// The same at minus that root: the word after.
    RestrictedMinus,
}

impl View {
    /// Whether it leads to the conjugation-invariant ring.
    pub fn lifts(self) -> bool {
        matches!(self, Self::Lifted | Self::LiftedConjugate)
    }

    /// All four.
    pub const ALL: [Self; 4] =
        [Self::Lifted, Self::LiftedConjugate, Self::Restricted, Self::RestrictedMinus];

    /// Its code among exponents of automorphisms, which are odd.
    pub const fn code(self) -> u32 {
        match self {
            Self::Lifted => 0,
            Self::LiftedConjugate => 2,
            Self::Restricted => 4,
            Self::RestrictedMinus => 6,
        }
    }

    /// The view of a code; none of an exponent.
    pub fn of_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.code() == code)
    }

    /// The word of 2^`log2_degree` that word j is.
    pub fn source(self, log2_degree: u32, j: usize) -> usize {
        let n = 1usize << log2_degree;
        let pair = if 2 * j < n { 2 * j } else { 2 * (n - 1 - j) };
        match self {
            Self::Lifted => j / 2,
            Self::LiftedConjugate => n - 1 - j / 2,
            Self::Restricted => pair,
            Self::RestrictedMinus => pair + 1,
        }
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
    /// A polynomial in evaluations seen from the other ring, over the same primes there.
    View {
        /// What is seen.
        of: Value,
        /// How.
        view: View,
        /// The primes of the result: in order those of `of`, in the other ring.
        to: Basis,
    },
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
