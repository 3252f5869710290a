//! The recorder, ciphertexts as it sees them, and what must be resident when its program runs.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use girih_backend::poly::{
    Basis, Domain, Factor, Program, ProgramBuilder, ResidentShape, RingShape, Term, Value, View,
};

use girih_ring::{Modulus, NttTable, bit_reverse};

use super::chain::Chain;
use super::error::RecordError;

pub use crate::keys::KeyKind;

/// One of the two polynomials of a key's digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// b = -a s + e + ..
    B,
    /// The mask a.
    A,
}

/// An encoded plaintext: integer coefficients of a polynomial in X^(2^log2_run).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainPolynomial {
    /// The coefficients of X^0, X^(2^log2_run), ..: N / 2^log2_run of them,
    /// each below 2^62 in magnitude.
    pub coefficients: Arc<[i64]>,
    /// log2 of the step between exponents. The evaluations are runs of 2^log2_run equal words.
    pub log2_run: u32,
    /// The primes that it is wanted for.
    pub basis: Basis,
    /// Where it is a polynomial of the ring of degree 2N, c(Y^2) + Y d(Y^2) with X = Y^2: d, and
    /// the points at which it is wanted. N coefficients each, and no runs.
    pub odd: Option<OddPart>,
}

/// The odd part of a [`PlainPolynomial`] of the ring of degree 2N.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddPart {
    /// Its N coefficients.
    pub coefficients: Arc<[i64]>,
    /// At which points it is wanted.
    pub view: View,
}

/// About so many coefficients are hashed.
const HASHED: usize = 256;

impl Hash for PlainPolynomial {
    /// Of coefficients some are enough: those of vectors that differ somewhere differ nearly
    /// everywhere.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let step = (self.coefficients.len() / HASHED).max(1);
        self.coefficients.iter().step_by(step).for_each(|&c| state.write_i64(c));
        (self.coefficients.len(), self.log2_run).hash(state);
        self.odd.as_ref().map(|odd| odd.view).hash(state);
        self.basis.hash(state);
    }
}

impl PlainPolynomial {
    /// Writes the words that a resident polynomial of this shape has modulo one prime: N /
    /// 2^log2_run evaluations, each of which stands for a run of equal ones. `out` has as many
    /// words as there are coefficients.
    ///
    /// # Panics
    /// For a polynomial of the ring of degree 2N: [`PlainPolynomial::limb_of`] knows its points.
    pub fn limb(&self, modulus: Modulus, out: &mut [u32]) {
        assert!(self.odd.is_none(), "the ring says at which points");
        self.even(modulus, out);
    }

    /// The same modulo prime number `prime` of a ring.
    pub fn limb_of(&self, ring: &RingShape, prime: u16, out: &mut [u32]) {
        let modulus = ring.primes[usize::from(prime)];
        self.even(modulus, out);
        let Some(OddPart { coefficients, view }) = &self.odd else { return };
        let mut odd = vec![0; out.len()];
        let (log2_run, basis) = (self.log2_run, self.basis.clone());
        let of = Self { coefficients: coefficients.clone(), log2_run, basis, odd: None };
        of.even(modulus, &mut odd);
        let even = out.to_vec();
        join_halves(ring, prime, *view, [&even, &odd], out);
    }

    fn even(&self, modulus: Modulus, out: &mut [u32]) {
        for (word, &coefficient) in out.iter_mut().zip(self.coefficients.iter()) {
            *word = modulus.reduce_signed(coefficient);
        }
        // In Y = X^(2^log2_run) these are the evaluations of a smaller ring: its root of unity is
        // the power of ours, as both come from the least non-residue.
        match NttTable::new(modulus, out.len()) {
            Some(table) => table.forward(out),
            None => evaluate_naively(modulus, out),
        }
    }
}

/// c + y d at the points y of a view, of the evaluations of c and d in the usual ring.
pub(crate) fn join_halves(
    ring: &RingShape,
    prime: u16,
    view: View,
    [even, odd]: [&[u32]; 2],
    out: &mut [u32],
) {
    let modulus = ring.primes[usize::from(prime)];
    let points = ring.points(prime, view);
    for (j, (word, &y)) in out.iter_mut().zip(&points).enumerate() {
        // The place of y^2.
        let at = if view.lifts() { view.source(ring.log2_degree, j) } else { j };
        *word = modulus.add(even[at], modulus.mul(y, odd[at]));
    }
}

/// The transform of sizes below those of a table.
fn evaluate_naively(modulus: Modulus, words: &mut [u32]) {
    let size = words.len();
    let p = modulus.value();
    let order = 2 * size as u32;
    let root = (2..p)
        .map(|x| modulus.pow(x, u64::from((p - 1) / order)))
        .find(|&root| modulus.pow(root, size as u64) == p - 1)
        .expect("a prime that is 1 modulo 2N has a root of that order");
    let log2 = size.ilog2();
    let at = |j: usize| {
        let point = modulus.pow(root, 2 * bit_reverse(j, log2) as u64 + 1);
        words.iter().rev().fold(0, |sum, &c| modulus.add(modulus.mul(sum, point), c))
    };
    let values: Vec<u32> = (0..size).map(at).collect();
    words.copy_from_slice(&values);
}

/// A polynomial that must lie on the device when a program runs, in evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResidentRequest {
    /// A polynomial of a switching key, over all its primes: F and P, but B_0 and the first
    /// auxiliary primes for [`KeyKind::DenseToSparse`], the level that the modulus is raised to and
    /// these for [`KeyKind::First`].
    Key {
        /// Which key.
        kind: KeyKind,
        /// The digit's number.
        digit: usize,
        /// Which of its polynomials.
        part: Part,
    },
    /// The sum of several polynomials of a switching key, over the primes at which it is read.
    JoinedKey {
        /// Which key.
        kind: KeyKind,
        /// The digits' numbers, ascending.
        digits: Vec<usize>,
        /// Which of their polynomials.
        part: Part,
        /// The primes: the sum is taken limb by limb.
        basis: Basis,
    },
    /// The centred lift of a group's residues of a switching key to the basis
    /// T (docs/ckks.md, "Keys and key switching").
    Klss {
        /// Which key.
        kind: KeyKind,
        /// The digit's number.
        digit: usize,
        /// Which of its polynomials.
        part: Part,
        /// The number of the group.
        group: usize,
    },
    /// An encoded plaintext.
    Plain(PlainPolynomial),
    /// A plaintext that is written anew before each run, in the form of an encoded one.
    Changing {
        /// Tells it from others of the program.
        number: usize,
        /// As of [`PlainPolynomial`].
        log2_run: u32,
        /// The primes that it is wanted for.
        basis: Basis,
    },
}

impl ResidentRequest {
    /// The plaintext that is asked for, if it is one that is known.
    pub fn plain(&self) -> Option<&PlainPolynomial> {
        match self {
            Self::Plain(polynomial) => Some(polynomial),
            _ => None,
        }
    }

    /// The polynomials that it is the sum of; none where it is no sum.
    pub fn summands(&self) -> Vec<Self> {
        let Self::JoinedKey { kind, digits, part, .. } = self else { return Vec::new() };
        let (kind, part) = (*kind, *part);
        digits.iter().map(|&digit| Self::Key { kind, digit, part }).collect()
    }
}

/// A ciphertext of a program that is being recorded: b + a s = m + e.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// b, over B_level in evaluations.
    pub b: Value,
    /// a.
    pub a: Value,
    /// Its level.
    pub level: usize,
    /// Slots hold the message times this.
    pub scale: f64,
    /// Slots in use, a power of two up to N/2; the message repeats with this period.
    pub slots: usize,
}

/// A finished program and what must be resident for it, by resident slot.
#[derive(Clone, Debug)]
pub struct RecordedProgram {
    /// The program. Each input and output ciphertext is two polynomials, b and a.
    pub program: Program,
    /// The polynomials of its resident slots, in order.
    pub residents: Vec<ResidentRequest>,
}

/// Records operations of the scheme as one program of polynomial operations.
#[derive(Debug)]
pub struct Recorder {
    chain: Arc<Chain>,
    builder: ProgramBuilder,
    residents: Vec<ResidentRequest>,
    known: HashMap<ResidentRequest, Value>,
    klss: bool,
    sums_keys: bool,
    key_levels: Arc<HashMap<KeyKind, usize>>,
}

impl Recorder {
    /// An empty program over `chain`.
    pub fn new(chain: Arc<Chain>) -> Self {
        let builder = ProgramBuilder::new(chain.ring().clone());
        Self {
            chain,
            builder,
            residents: Vec::new(),
            known: HashMap::new(),
            klss: false,
            sums_keys: true,
            key_levels: Arc::default(),
        }
    }

    /// Lets key products go by KLSS from here on, or by digits: results are the same.
    ///
    /// # Errors
    /// When the chain has no basis T, or it is too small for its digits.
    pub fn use_klss(&mut self, klss: bool) -> Result<(), RecordError> {
        if klss {
            super::klss::check(&self.chain)?;
        }
        self.klss = klss;
        Ok(())
    }

    /// Lets joined digits be multiplied by sums of a key's rows, which are resident polynomials of
    /// their own, or by each of the rows: results are the same. Sums take memory, and are read
    /// instead of all rows; KLSS has none. It begins with sums.
    pub fn use_key_sums(&mut self, sums: bool) {
        self.sums_keys = sums;
    }

    /// Whether joined digits are multiplied by sums of a key's rows.
    pub(crate) fn sums_keys(&self) -> bool {
        self.sums_keys
    }

    /// Counts with keys that serve levels up to these alone; others serve all.
    pub fn limit_keys(&mut self, levels: Arc<HashMap<KeyKind, usize>>) {
        self.key_levels = levels;
    }

    /// The highest level that the key of this kind serves.
    pub(crate) fn key_level(&self, kind: KeyKind) -> usize {
        self.key_levels.get(&kind).copied().unwrap_or(self.chain.top())
    }

    /// The chain over whose primes a key is: its own ring's.
    pub(crate) fn chain_of(&self, kind: KeyKind) -> &Arc<Chain> {
        match self.chain.in_invariant() {
            Some(chain) if kind.is_invariant() => chain,
            _ => &self.chain,
        }
    }

    /// What `f` records, in the conjugation-invariant ring.
    ///
    /// # Errors
    /// For a chain that is not there.
    pub fn in_invariant<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, RecordError>,
    ) -> Result<T, RecordError> {
        let there = self.chain.in_invariant().cloned().ok_or_else(|| RecordError::Shape {
            operation: "the conjugation-invariant ring",
            why: "the set has no primes of it: take one with `invariant_sine`".into(),
        })?;
        let usual = std::mem::replace(&mut self.chain, there);
        let result = f(self);
        self.chain = usual;
        result
    }

    /// Whether key products go by KLSS.
    pub fn uses_klss(&self) -> bool {
        self.klss
    }

    /// Its chain.
    pub fn chain(&self) -> &Arc<Chain> {
        &self.chain
    }

    /// The program so far, for polynomial operations that this crate has no name for.
    pub fn builder(&mut self) -> &mut ProgramBuilder {
        &mut self.builder
    }

    /// Declares the next input ciphertext: two input slots, b and a.
    ///
    /// # Errors
    /// For a level that there is not, a scale that is not positive and finite, or an impossible
    /// number of slots.
    pub fn input(
        &mut self,
        level: usize,
        scale: f64,
        slots: usize,
    ) -> Result<Recorded, RecordError> {
        let basis = self.chain.level(level)?.clone();
        if !(scale > 0.0 && scale.is_finite()) {
            let why = "is no scale: scales are positive and finite";
            return Err(RecordError::Number { operation: "input", value: scale, why });
        }
        let most = self.chain.most_slots();
        if !slots.is_power_of_two() || slots > most {
            let why = format!("{slots} slots: the number must be a power of two up to {most}");
            return Err(RecordError::Shape { operation: "input", why });
        }
        let b = self.builder.input(basis.clone(), Domain::Evaluations)?;
        let a = self.builder.input(basis, Domain::Evaluations)?;
        Ok(Recorded { b, a, level, scale, slots })
    }

    /// Declares the next output ciphertext: two output slots, b and a.
    pub fn output(&mut self, x: &Recorded) {
        self.builder.output(x.b);
        self.builder.output(x.a);
    }

    /// The program and what must be resident for it.
    pub fn finish(self) -> RecordedProgram {
        RecordedProgram { program: self.builder.finish(), residents: self.residents }
    }

    /// The value of a resident polynomial; asked for twice, it is one.
    pub(crate) fn resident(&mut self, request: ResidentRequest) -> Result<Value, RecordError> {
        if let Some(&value) = self.known.get(&request) {
            return Ok(value);
        }
        let (basis, log2_run) = match &request {
            ResidentRequest::Key { kind: KeyKind::DenseToSparse, .. } => {
                let few = self.chain.sparse_auxiliary().unwrap_or_else(|| Basis::new([]));
                (self.chain.level(0)?.union(&few), 0)
            }
            ResidentRequest::Key { kind: KeyKind::First { log2_slots, .. }, .. } => {
                (self.chain.first_key_basis(1 << log2_slots)?, 0)
            }
            ResidentRequest::Key { kind, .. } => {
                (self.chain_of(*kind).key_basis_up_to(self.key_level(*kind)), 0)
            }
            ResidentRequest::JoinedKey { basis, .. } => (basis.clone(), 0),
            ResidentRequest::Klss { .. } => (self.chain.klss().clone(), 0),
            ResidentRequest::Plain(plain) => (plain.basis.clone(), plain.log2_run),
            ResidentRequest::Changing { log2_run, basis, .. } => (basis.clone(), *log2_run),
        };
        let value = self.builder.resident(ResidentShape { basis, log2_run })?;
        self.residents.push(request.clone());
        self.known.insert(request, value);
        Ok(value)
    }

    pub(crate) fn sum(&mut self, terms: Vec<Term>) -> Result<Value, RecordError> {
        Ok(self.builder.sum(terms)?)
    }

    pub(crate) fn limbs(&mut self, x: Value, basis: &Basis) -> Result<Value, RecordError> {
        Ok(self.builder.limbs(x, basis.clone())?)
    }

    pub(crate) fn scaled(&mut self, factor: Factor, x: Value) -> Result<Value, RecordError> {
        if factor == Factor::One { Ok(x) } else { self.sum(vec![Term::scaled(factor, x)]) }
    }

    pub(crate) fn basis_of(&self, x: Value) -> Basis {
        self.builder.basis(x).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where what differs is not hashed.
    #[test]
    fn polynomials_are_told_apart_by_all_coefficients() {
        let of = |place: usize| {
            let mut coefficients = vec![3; 16 * HASHED];
            coefficients[place] = 5;
            let (coefficients, basis) = (coefficients.into(), Basis::new([0, 1]));
            PlainPolynomial { coefficients, log2_run: 1, basis, odd: None }
        };
        let mut known = HashMap::new();
        for place in [0, 1, 2, 16, 17] {
            assert_eq!(known.insert(of(place), place), None);
        }
        for place in [0, 1, 2, 16, 17] {
            assert_eq!(known.get(&of(place)), Some(&place));
        }
        assert_eq!(known.get(&of(3)), None);
    }
}
