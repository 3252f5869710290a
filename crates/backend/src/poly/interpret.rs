//! A program run operation by operation: the oracle of every lowering and of every device.
//!
//! Each operation is computed as its definition says, on whole limbs, one after the other. Nothing
//! here is shared with `lower` or with schedules.

use std::sync::Arc;

use girih_ring::{Modulus, NttTable, bit_reverse};

use super::{
    Basis, Domain, Factor, Op, Program, ResidentShape, ResidentSource, RingShape, Term, Value,
    check,
};
use crate::{BackendError, Result};

/// What a program yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreted {
    /// For each output slot the polynomial, limb after limb in the order of its basis.
    pub outputs: Vec<Vec<u32>>,
    /// For each value that was asked for, in that order, the polynomial in its own domain.
    pub kept: Vec<Vec<u32>>,
}

/// Runs `program` on the host. `inputs` are polynomials by slot, limb after limb in the order of
/// their bases; `keep` are values to be handed out beside the outputs.
///
/// # Errors
/// When inputs or resident polynomials are not what the program reads,
/// or have words that are not canonical.
pub fn interpret(
    program: &Program,
    residents: &dyn ResidentSource,
    inputs: &[Vec<u32>],
    keep: &[Value],
) -> Result<Interpreted> {
    check::ring(program.ring())?;
    check::residents(program.residents(), residents)?;
    if inputs.len() != program.inputs().len() {
        return Err(BackendError::InvalidRequest(format!(
            "{} inputs for a program of {}",
            inputs.len(),
            program.inputs().len()
        )));
    }
    for (slot, (words, of)) in inputs.iter().zip(program.inputs()).enumerate() {
        check::words(program.ring(), of, words, &format!("input {slot}"))?;
    }
    check::keep(program, keep)?;
    let mut run = Run {
        program,
        residents,
        inputs,
        tables: vec![None; program.ring().primes.len()],
        values: vec![Vec::new(); program.ops().len()],
    };
    let last = last_uses(program);
    let mut outputs = vec![Vec::new(); program.outputs().len()];
    let mut kept = vec![Vec::new(); keep.len()];
    for (at, op) in program.ops().iter().enumerate() {
        run.values[at] = run.evaluate(at, op)?;
        if let Op::Output(value, slot) = op {
            outputs[usize::from(*slot)] = run.words(*value)?;
        }
        for (words, _) in kept.iter_mut().zip(keep).filter(|(_, v)| v.index() == at) {
            *words = run.words(keep_value(program, at))?;
        }
        for value in operands(op).into_iter().chain([keep_value(program, at)]) {
            if last[value.index()] <= at {
                run.values[value.index()] = Vec::new();
            }
        }
    }
    Ok(Interpreted { outputs, kept })
}

fn keep_value(program: &Program, at: usize) -> Value {
    program.value(at).expect("an operation of the program")
}

/// The values that an operation reads.
fn operands(op: &Op) -> Vec<Value> {
    match op {
        Op::Input(_) | Op::Resident(_) => Vec::new(),
        Op::Transform(of, _)
        | Op::Convert { of, .. }
        | Op::Limbs(of, _)
        | Op::Automorphism(of, _)
        | Op::View { of, .. }
        | Op::Output(of, _) => vec![*of],
        Op::Join(parts) => parts.clone(),
        Op::Sum(terms) => terms.iter().flat_map(|t| t.a.into_iter().chain(t.b)).collect(),
    }
}

/// For each value, the last operation that reads it, or its own.
fn last_uses(program: &Program) -> Vec<usize> {
    let mut last: Vec<usize> = (0..program.ops().len()).collect();
    for (at, op) in program.ops().iter().enumerate() {
        for value in operands(op) {
            last[value.index()] = at;
        }
    }
    last
}

/// A limb of a value. Resident ones are fetched where they are read: all of them at once may not
/// fit the host.
#[derive(Clone)]
enum Held {
    Words(Arc<Vec<u32>>),
    Resident { slot: u32, limb: usize },
}

struct Run<'a> {
    program: &'a Program,
    residents: &'a dyn ResidentSource,
    inputs: &'a [Vec<u32>],
    /// By prime, made when first needed.
    tables: Vec<Option<Arc<NttTable>>>,
    values: Vec<Vec<Held>>,
}

impl Run<'_> {
    fn ring(&self) -> &RingShape {
        self.program.ring()
    }

    fn basis(&self, value: Value) -> &Basis {
        &self.program.type_of(value).basis
    }

    fn evaluate(&mut self, at: usize, op: &Op) -> Result<Vec<Held>> {
        let degree = self.ring().degree();
        Ok(match op {
            Op::Input(slot) => self.inputs[usize::from(*slot)]
                .chunks_exact(degree)
                .map(|limb| Held::Words(Arc::new(limb.to_vec())))
                .collect(),
            Op::Resident(slot) => (0..self.program.residents()[*slot as usize].basis.len())
                .map(|limb| Held::Resident { slot: *slot, limb })
                .collect(),
            Op::Output(of, _) => self.values[of.index()].clone(),
            Op::Limbs(of, basis) => basis
                .primes()
                .iter()
                .map(|&p| self.values[of.index()][place(self.basis(*of), p)].clone())
                .collect(),
            Op::Join(parts) => {
                let of = |p: u16| parts.iter().find(|&&v| self.basis(v).contains(p));
                self.program.types()[at]
                    .basis
                    .primes()
                    .iter()
                    .map(|&p| {
                        let part = *of(p).expect("the basis of a join is that of its parts");
                        self.values[part.index()][place(self.basis(part), p)].clone()
                    })
                    .collect()
            }
            Op::Transform(of, to) => {
                let primes = self.basis(*of).primes().to_vec();
                let mut out = Vec::with_capacity(primes.len());
                for (i, prime) in primes.into_iter().enumerate() {
                    let mut words = self.limb(*of, i)?.as_ref().clone();
                    let table = self.table(prime);
                    let invariant = self.ring().is_invariant(prime);
                    match to {
                        Domain::Evaluations if invariant => forward_invariant(&table, &mut words),
                        Domain::Coefficients if invariant => inverse_invariant(&table, &mut words),
                        Domain::Evaluations => table.forward(&mut words),
                        Domain::Coefficients => table.inverse(&mut words),
                    }
                    out.push(Held::Words(Arc::new(words)));
                }
                out
            }
            Op::Convert { of, to, corrected } => {
                let from: Vec<Modulus> = self.moduli(self.basis(*of));
                let limbs =
                    (0..from.len()).map(|i| self.limb(*of, i)).collect::<Result<Vec<_>, _>>()?;
                convert(&from, &limbs, &self.moduli(to), *corrected)
                    .into_iter()
                    .map(|limb| Held::Words(Arc::new(limb)))
                    .collect()
            }
            Op::Sum(terms) => {
                let basis = self.program.types()[at].basis.clone();
                (0..basis.len())
                    .map(|i| self.sum(terms, i, basis.primes()[i]))
                    .collect::<Result<_, _>>()?
            }
            Op::Automorphism(of, _) | Op::View { of, .. } => {
                let log2_degree = self.ring().log2_degree;
                let from = match op {
                    Op::View { view, .. } => {
                        (0..1 << log2_degree).map(|j| view.source(log2_degree, j)).collect()
                    }
                    Op::Automorphism(_, g) => gather(log2_degree, *g),
                    _ => unreachable!("one of both"),
                };
                (0..self.basis(*of).len())
                    .map(|i| {
                        let words = self.limb(*of, i)?;
                        let out = from.iter().map(|&j| words[j]).collect();
                        Ok(Held::Words(Arc::new(out)))
                    })
                    .collect::<Result<_>>()?
            }
        })
    }

    fn sum(&self, terms: &[Term], limb: usize, prime: u16) -> Result<Held> {
        let modulus = self.ring().primes[usize::from(prime)];
        let degree = self.ring().degree();
        let mut out = vec![0; degree];
        for term in terms {
            let factor = match &term.factor {
                Factor::One => [1; 2],
                Factor::MinusOne => [modulus.value() - 1; 2],
                Factor::Residues(residues) => residues[limb],
            };
            let a = term.a.map(|a| self.limb(a, limb)).transpose()?;
            let b = term.b.map(|b| self.limb(b, limb)).transpose()?;
            for (k, word) in out.iter_mut().enumerate() {
                let mut product = factor[usize::from(2 * k >= degree)];
                if let Some(a) = &a {
                    product = modulus.mul(product, a[k]);
                }
                if let Some(b) = &b {
                    product = modulus.mul(product, b[k]);
                }
                *word = modulus.add(*word, product);
            }
        }
        Ok(Held::Words(Arc::new(out)))
    }

    fn limb(&self, value: Value, limb: usize) -> Result<Arc<Vec<u32>>> {
        match &self.values[value.index()][limb] {
            Held::Words(words) => Ok(words.clone()),
            Held::Resident { slot, limb } => {
                let shape = &self.program.residents()[*slot as usize];
                let words = resident_limb(self.ring(), shape, self.residents, *slot, *limb)?;
                Ok(Arc::new(words))
            }
        }
    }

    fn words(&self, value: Value) -> Result<Vec<u32>> {
        let limbs = self.basis(value).len();
        let mut words = Vec::with_capacity(limbs * self.ring().degree());
        for limb in 0..limbs {
            words.extend_from_slice(&self.limb(value, limb)?);
        }
        Ok(words)
    }

    fn moduli(&self, basis: &Basis) -> Vec<Modulus> {
        basis.primes().iter().map(|&p| self.ring().primes[usize::from(p)]).collect()
    }

    fn table(&mut self, prime: u16) -> Arc<NttTable> {
        let ring = self.program.ring();
        self.tables[usize::from(prime)]
            .get_or_insert_with(|| {
                let table = NttTable::new(ring.primes[usize::from(prime)], ring.degree());
                Arc::new(table.expect("the ring was checked"))
            })
            .clone()
    }
}

fn place(basis: &Basis, prime: u16) -> usize {
    basis.position(prime).expect("types were checked when the program was recorded")
}

/// All N words of a limb of a resident polynomial, runs written out.
pub(crate) fn resident_limb(
    ring: &RingShape,
    shape: &ResidentShape,
    source: &dyn ResidentSource,
    slot: u32,
    limb: usize,
) -> Result<Vec<u32>> {
    let mut words = vec![0; ring.degree() >> shape.log2_run];
    source.limb(slot as usize, limb, &mut words);
    let what = format!("{}: number {slot}", source.what());
    check::canonical(ring, shape.basis.primes()[limb], &words, &what)?;
    Ok(words.iter().flat_map(|&w| std::iter::repeat_n(w, 1 << shape.log2_run)).collect())
}

/// Where X -> X^g takes each evaluation from: place j holds the value at psi^(2 brv(j) + 1), and
/// of a(X^g) that is the value of a at that power times g.
fn gather(log2_degree: u32, g: u32) -> Vec<usize> {
    let n = 1usize << log2_degree;
    let from = |j| {
        let exponent = g as usize * (2 * bit_reverse(j, log2_degree) + 1) % (2 * n);
        bit_reverse((exponent - 1) / 2, log2_degree)
    };
    (0..n).map(from).collect()
}

/// psi of order 4N, whose square is that of the table: x^((p - 1) / 4N) for the same x.
fn root_of_psi(table: &NttTable) -> u32 {
    let (m, n) = (table.modulus(), table.size() as u32);
    let exponent = u64::from((m.value() - 1) / (4 * n));
    let root = (2..m.value()).map(|x| m.pow(x, exponent));
    let mut root = root.skip_while(|&y| m.pow(y, 2 * u64::from(n)) != m.value() - 1);
    root.next().expect("the ring was checked")
}

/// The transform of the conjugation-invariant ring by that of the usual one: with g_0 = f_0 and g_j
/// = f_j - i f_(N-j), the value at psi^(4 brv(j) + 1) of the sum of g_j Y^j is the value at
/// (psi^2)^(2 brv(j) + 1) of the sum of g_j psi^-j X^j.
fn forward_invariant(table: &NttTable, words: &mut [u32]) {
    let (m, n) = (table.modulus(), table.size());
    let psi = root_of_psi(table);
    let (i, back) = (m.pow(psi, n as u64), m.inverse(psi));
    let f = words.to_vec();
    for (j, word) in words.iter_mut().enumerate().skip(1) {
        *word = m.mul(m.sub(f[j], m.mul(i, f[n - j])), m.pow(back, j as u64));
    }
    table.forward(words);
}

/// Undoes it: f_j = (g_j + i g_(N-j)) / 2.
fn inverse_invariant(table: &NttTable, words: &mut [u32]) {
    let (m, n) = (table.modulus(), table.size());
    let psi = root_of_psi(table);
    let (i, half) = (m.pow(psi, n as u64), m.inverse(2));
    table.inverse(words);
    let g: Vec<u32> = words.iter().zip(0..).map(|(&w, j)| m.mul(w, m.pow(psi, j))).collect();
    for (j, word) in words.iter_mut().enumerate().skip(1) {
        *word = m.mul(half, m.add(g[j], m.mul(i, g[n - j])));
    }
}

/// Base conversion of coefficients x from primes d_i, of product D: with y_i = x_i (D/d_i)^-1 mod
/// d_i, the sum of y_i D/d_i less u D. Plain: u counts the y_i above (d_i - 1)/2, which centres
/// every summand. Corrected: u rounds the sum of y_i/d_i, by integers w_i = floor(2^51/d_i):
/// u = (sum floor(y_i w_i / 2^32) + 2^18) >> 19, which centres the result.
fn convert(
    from: &[Modulus],
    limbs: &[Arc<Vec<u32>>],
    to: &[Modulus],
    corrected: bool,
) -> Vec<Vec<u32>> {
    // D/d_i modulo `modulus`; over all i, D.
    let product = |modulus: Modulus, without: usize| {
        let factors = from.iter().enumerate().filter(|(i, _)| *i != without);
        factors.fold(1, |p, (_, d)| modulus.mul(p, d.value() % modulus.value()))
    };
    let degree = limbs[0].len();
    let mut u = vec![0u64; degree];
    let mut y: Vec<Vec<u32>> = Vec::with_capacity(from.len());
    for (i, (&d, limb)) in from.iter().zip(limbs).enumerate() {
        let inverse = d.inverse(product(d, i));
        let w = (1u64 << 51) / u64::from(d.value());
        let scaled: Vec<u32> = limb.iter().map(|&x| d.mul(x, inverse)).collect();
        for (u, &y) in u.iter_mut().zip(&scaled) {
            *u += match corrected {
                true => (u64::from(y) * w) >> 32,
                false => u64::from(y > (d.value() - 1) / 2),
            };
        }
        y.push(scaled);
    }
    if corrected {
        u.iter_mut().for_each(|u| *u = (*u + (1 << 18)) >> 19);
    }
    let target = |&e: &Modulus| {
        let whole = product(e, from.len());
        let mut out: Vec<u32> = u.iter().map(|&u| e.neg(e.mul(e.reduce(u), whole))).collect();
        for (i, y) in y.iter().enumerate() {
            let factor = u64::from(product(e, i));
            for (out, &y) in out.iter_mut().zip(y) {
                *out = e.reduce(u64::from(y) * factor + u64::from(*out));
            }
        }
        out
    };
    to.iter().map(target).collect()
}

#[cfg(test)]
mod tests;
