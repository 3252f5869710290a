//! Polynomials in the Chebyshev basis with exact scales (docs/ckks.md, "Polynomials"; Bossuat et
//! al. 2021).

use std::collections::BTreeMap;
use std::sync::Arc;

use girih_backend::poly::{Term, Value};
use num_bigint::BigInt;

use super::error::RecordError;
use super::linear::integer;
use super::recorder::{Recorded, Recorder};

/// Chebyshev polynomials T_j of a ciphertext: those below 2^m,
/// and the powers of two up to a degree.
#[derive(Clone, Debug)]
pub struct Basis {
    terms: BTreeMap<usize, Recorded>,
    log2_baby: u32,
}

impl Basis {
    /// T_j, if it was made.
    pub fn get(&self, j: usize) -> Option<&Recorded> {
        self.terms.get(&j)
    }

    /// All of them, by index.
    pub fn terms(&self) -> impl Iterator<Item = (usize, &Recorded)> {
        self.terms.iter().map(|(&j, t)| (j, t))
    }

    /// The lowest level of T_1 .. T_degree as far as they were made.
    pub fn lowest(&self) -> usize {
        self.terms.values().map(|t| t.level).min().expect("T_1 is there")
    }

    fn at(&self, j: usize) -> Result<&Recorded, RecordError> {
        self.get(j).ok_or_else(|| RecordError::Shape {
            operation: "polynomial",
            why: format!("T_{j} is not in the basis: make it for this degree"),
        })
    }
}

/// A vector that a polynomial's values are multiplied by, at no level: its factors stand in those
/// of the terms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mask {
    /// Of X^0, X^(N/len), .., at `scale`.
    pub coefficients: Arc<[i64]>,
    pub scale: f64,
}

impl Mask {
    /// The same times `factor`, at the scale 1.
    pub fn times(&self, factor: f64) -> Result<Arc<[i64]>, RecordError> {
        let scaled = factor / self.scale;
        let largest = self.coefficients.iter().fold(0u64, |most, c| most.max(c.unsigned_abs()));
        // What follows in 64 bits with a sign must hold it.
        if (largest as f64 * scaled).abs() < 2f64.powi(62) {
            let one = |&c: &i64| (c as f64 * scaled).round() as i64;
            return Ok(self.coefficients.iter().map(one).collect());
        }
        let why = "cannot be encoded: the factors of a vector must stay below 2^62";
        Err(RecordError::Number { operation: "polynomial", value: factor, why })
    }
}

/// A polynomial of ciphertexts before relinearisation: the part of degree 2, if there is one, and
/// b, a.
struct Unrelinearised {
    tensor: Option<[Value; 3]>,
    linear: Option<[Value; 2]>,
}

/// What was recorded for a node: the degree of its polynomial, and its result.
pub type Node = (usize, Recorded);

impl Recorder {
    /// T_1 = x, T_2, T_4, .. up to `degree`, and the other T_j below 2^`log2_baby` up to `degree`.
    ///
    /// # Errors
    /// When levels run out.
    pub fn chebyshev_basis(
        &mut self,
        x: &Recorded,
        degree: usize,
        log2_baby: u32,
    ) -> Result<Basis, RecordError> {
        let mut basis = Basis { terms: BTreeMap::from([(1, *x)]), log2_baby };
        let powers = (1..usize::BITS).map(|i| 1usize << i).take_while(|&j| j <= degree);
        let babies = (3..1usize << log2_baby).take_while(|&j| j <= degree);
        for j in powers.chain(babies) {
            if !basis.terms.contains_key(&j) {
                let term = self.chebyshev_term(&basis, j)?;
                basis.terms.insert(j, term);
            }
        }
        Ok(basis)
    }

    /// T_j = 2 T_a T_b - T_(a-b), a the highest power of two in j (half of it, for a power of two).
    fn chebyshev_term(&mut self, basis: &Basis, j: usize) -> Result<Recorded, RecordError> {
        let high = 1usize << j.ilog2();
        let (a, b) = if j == high { (j / 2, j / 2) } else { (high, j - high) };
        let (ta, tb) = (*basis.at(a)?, *basis.at(b)?);
        let level = ta.level.min(tb.level);
        if level == 0 {
            let operation = "polynomial";
            return Err(RecordError::OutOfLevels { operation, needed: 1, level });
        }
        let ta = self.drop_to(&ta, level)?;
        let tb = self.drop_to(&tb, level)?;
        let product = self.multiply(&ta, &tb)?;
        let product = self.double(&product)?;
        let product = if a == b {
            self.add_constant(&product, -1.0, 0.0)?
        } else {
            let rest = self.drop_to(basis.at(a - b)?, level)?;
            let k = integer("polynomial", product.scale, product.scale / rest.scale)?;
            let rest = self.multiply_integer(&rest, &k)?;
            self.sub(&product, &Recorded { scale: product.scale, ..rest })?
        };
        self.rescale(&product)
    }

    /// sum over j of `coefficients[j]` T_j, at `level` with exactly `scale`.
    ///
    /// # Errors
    /// Without coefficients, for numbers that are not finite, when the basis was made for a lower
    /// degree or its levels do not reach down to `level`.
    pub fn chebyshev_sum(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        level: usize,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        self.chebyshev_nodes(coefficients, basis, level, scale, &mut Vec::new())
    }

    /// [`Recorder::chebyshev_sum`], and what each node of it yields, in the order of recording.
    ///
    /// # Errors
    /// As [`Recorder::chebyshev_sum`].
    pub fn chebyshev_nodes(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        level: usize,
        scale: f64,
        nodes: &mut Vec<Node>,
    ) -> Result<Recorded, RecordError> {
        self.masked_nodes(coefficients, basis, (level, scale), None, nodes)
    }

    /// [`Recorder::chebyshev_sum`] of a polynomial without a constant, times a vector.
    pub(crate) fn masked_sum(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        (level, scale): (usize, f64),
        mask: &Mask,
    ) -> Result<Recorded, RecordError> {
        self.masked_nodes(coefficients, basis, (level, scale), Some(mask), &mut Vec::new())
    }

    fn masked_nodes(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        (level, scale): (usize, f64),
        mask: Option<&Mask>,
        nodes: &mut Vec<Node>,
    ) -> Result<Recorded, RecordError> {
        let operation = "polynomial";
        if coefficients.is_empty() {
            let why = "it has no coefficient".into();
            return Err(RecordError::Shape { operation, why });
        }
        let chain = self.chain().clone();
        let above = level + 1;
        chain.level(above)?;
        let inner = scale * chain.ratio(above);
        let sum = self.unrelinearised(coefficients, basis, (above, inner), mask, nodes)?;
        let slots = basis.at(1)?.slots;
        let relinearised = match sum.tensor {
            Some(tensor) => Some(self.relinearise(tensor, above, inner, slots)?),
            None => None,
        };
        let [b, a] = match (relinearised, sum.linear) {
            (Some(x), None) => [x.b, x.a],
            (None, Some(linear)) => linear,
            (Some(x), Some([b, a])) => [
                self.sum(vec![Term::plus(b), Term::plus(x.b)])?,
                self.sum(vec![Term::plus(a), Term::plus(x.a)])?,
            ],
            (None, None) => unreachable!("a sum has a part"),
        };
        let result = self.rescale(&Recorded { b, a, level: above, scale: inner, slots })?;
        let result = Recorded { scale, ..result };
        nodes.push((coefficients.len() - 1, result));
        Ok(result)
    }

    /// U of section 9.
    fn unrelinearised(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        (level, scale): (usize, f64),
        mask: Option<&Mask>,
        nodes: &mut Vec<Node>,
    ) -> Result<Unrelinearised, RecordError> {
        let degree = coefficients.len() - 1;
        let deep = (1..=degree)
            .take_while(|_| degree < 1 << basis.log2_baby)
            .map(|j| basis.at(j).map(|t| t.level >= level))
            .collect::<Result<Vec<_>, _>>()?;
        if degree < 1 << basis.log2_baby && deep.iter().all(|&reaches| reaches) {
            let linear = self.leaf(coefficients, basis, (level, scale), mask)?;
            return Ok(Unrelinearised { tensor: None, linear: Some(linear) });
        }
        if degree < 2 {
            return Err(RecordError::OutOfLevels {
                operation: "polynomial",
                needed: level,
                level: basis.at(1)?.level,
            });
        }
        let split = 1usize << degree.ilog2();
        let mut quotient = vec![coefficients[split]];
        quotient.extend(coefficients[split + 1..].iter().map(|c| 2.0 * c));
        let mut rest = coefficients[..split].to_vec();
        for j in 1..=degree - split {
            rest[split - j] -= coefficients[split + j];
        }
        let giant = *basis.at(split)?;
        if giant.level < level {
            return Err(RecordError::OutOfLevels {
                operation: "polynomial",
                needed: level,
                level: giant.level,
            });
        }
        let giant = self.drop_to(&giant, level)?;
        let at = (level, scale / giant.scale);
        let quotient = self.masked_nodes(&quotient, basis, at, mask, nodes)?;
        let product = self.tensor(&quotient, &giant)?;
        let rest = self.unrelinearised(&rest, basis, (level, scale), mask, nodes)?;
        let tensor = match rest.tensor {
            None => product,
            Some(more) => {
                let mut sum = product;
                for (part, more) in sum.iter_mut().zip(more) {
                    *part = self.sum(vec![Term::plus(*part), Term::plus(more)])?;
                }
                sum
            }
        };
        Ok(Unrelinearised { tensor: Some(tensor), linear: rest.linear })
    }

    /// A sum of few T_j times integers, plus a constant; or times a vector, without one.
    fn leaf(
        &mut self,
        coefficients: &[f64],
        basis: &Basis,
        (level, scale): (usize, f64),
        mask: Option<&Mask>,
    ) -> Result<[Value; 2], RecordError> {
        let operation = "polynomial";
        if mask.is_some() && coefficients[0] != 0.0 {
            let why = "a polynomial times a vector cannot have a constant".into();
            return Err(RecordError::Shape { operation, why });
        }
        let chain = self.chain().clone();
        let base = chain.level(level)?;
        let (mut b, mut a) = (Vec::new(), Vec::new());
        for (j, &c) in coefficients.iter().enumerate().skip(1) {
            if c == 0.0 {
                continue;
            }
            let term = self.drop_to(&basis.at(j)?.clone(), level)?;
            let factor = c * scale / term.scale;
            if let Some(mask) = mask {
                let factor = self.plaintext(mask.times(factor)?, level)?;
                b.push(Term::product(term.b, factor));
                a.push(Term::product(term.a, factor));
                continue;
            }
            let factor = chain.integer(base, &integer(operation, c, factor)?);
            b.push(Term::scaled(factor.clone(), term.b));
            a.push(Term::scaled(factor, term.a));
        }
        if b.is_empty() {
            // A constant polynomial: b needs a polynomial beside its constant, and a is zero.
            let term = self.drop_to(&basis.at(1)?.clone(), level)?;
            let zero = chain.integer(base, &BigInt::ZERO);
            b.push(Term::scaled(zero.clone(), term.b));
            a.push(Term::scaled(zero, term.a));
        }
        let c = coefficients[0];
        if mask.is_some() {
            return Ok([self.sum(b)?, self.sum(a)?]);
        }
        b.push(Term::constant(chain.integer(base, &integer(operation, c, c * scale)?)));
        Ok([self.sum(b)?, self.sum(a)?])
    }
}
