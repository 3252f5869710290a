//! Polynomials with complex coefficients and exact scales, in Chebyshev polynomials or in powers of
//! a ciphertext.
//!
//! The recursion is that of polynomials of CKKS (Bossuat et al. 2021): p = q T + r with T the
//! highest power of two in the basis; sums of products are relinearised once. Every constant is
//! rounded once from one expression in f64, so that all who record it record the same integers.

use girih_backend::poly::{Factor, Term, Value};
use girih_ckks::Complex64;
use girih_ckks::program::{RecordError, Recorded, Recorder};
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Lists of fewer than 2^2 coefficients are sums of the basis.
const BABIES: usize = 4;

const OPERATION: &str = "a look-up's polynomial";

/// T_j or z^j, by j.
pub type Terms = BTreeMap<usize, Recorded>;

/// A polynomial before relinearisation.
struct Sum {
    tensor: Option<[Value; 3]>,
    linear: Option<[Value; 2]>,
}

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

fn trim(list: &mut Vec<Complex64>) {
    while list.len() > 1 && list[list.len() - 1] == ZERO {
        list.pop();
    }
}

/// Cuts a list at the highest power of two: p = q T_g + r.
fn split(c: &[Complex64], chebyshev: bool) -> (usize, Vec<Complex64>, Vec<Complex64>) {
    let degree = c.len() - 1;
    let g = 1usize << degree.ilog2();
    let mut q = c[g..].to_vec();
    let mut r = c[..g].to_vec();
    if chebyshev {
        q[1..].iter_mut().for_each(|v| *v *= 2.0);
        for j in 1..=degree - g {
            r[g - j] -= c[g + j];
        }
    }
    trim(&mut r);
    trim(&mut q);
    (g, q, r)
}

/// The integer nearest to an f64 value.
fn nearest(value: f64) -> Result<BigInt, RecordError> {
    let rounded = value.round_ties_even();
    if rounded.abs() < 2f64.powi(120) {
        return Ok(BigInt::from(rounded as i128));
    }
    Err(RecordError::Number { operation: OPERATION, value, why: "is too large for a constant" })
}

/// Records polynomials over one basis.
pub struct Evaluator<'a> {
    /// What it records in.
    pub recorder: &'a mut Recorder,
    /// T_j or z^j, by j.
    pub terms: &'a Terms,
    /// Whether coefficients are those of Chebyshev polynomials.
    pub chebyshev: bool,
}

impl Evaluator<'_> {
    fn at(&self, j: usize) -> Result<Recorded, RecordError> {
        let why = || format!("power {j} was not made");
        self.terms
            .get(&j)
            .copied()
            .ok_or_else(|| RecordError::Shape { operation: OPERATION, why: why() })
    }

    /// (re + i im) with each part times `scale` / `over`, as a factor over the base of `level`.
    fn factor(
        &self,
        v: Complex64,
        scale: f64,
        over: f64,
        level: usize,
    ) -> Result<Factor, RecordError> {
        let (re, im) = (nearest(v.re * scale / over)?, nearest(v.im * scale / over)?);
        let chain = self.recorder.chain();
        Ok(chain.gaussian(chain.level(level)?, &re, &im))
    }

    /// sum over j of `c[j]` times the basis, at `level` with exactly `scale`.
    ///
    /// # Errors
    /// When the basis does not reach down to `level`, or a constant is out of range.
    pub fn evaluate(
        &mut self,
        c: &[Complex64],
        level: usize,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        let above = level + 1;
        let chain = self.recorder.chain().clone();
        chain.level(above)?;
        let inner = scale * chain.ratio(above);
        let sum = self.unrelinearised(c, above, inner)?;
        let slots = self.at(1)?.slots;
        let relinearised = match sum.tensor {
            Some(tensor) => Some(self.recorder.relinearise(tensor, above, inner, slots)?),
            None => None,
        };
        let [b, a] = match (relinearised, sum.linear) {
            (Some(x), None) => [x.b, x.a],
            (None, Some(linear)) => linear,
            (Some(x), Some([b, a])) => [
                self.recorder.builder().sum(vec![Term::plus(b), Term::plus(x.b)])?,
                self.recorder.builder().sum(vec![Term::plus(a), Term::plus(x.a)])?,
            ],
            (None, None) => unreachable!("a sum has a part"),
        };
        let sum = Recorded { b, a, level: above, scale: inner, slots };
        Ok(Recorded { scale, ..self.recorder.rescale(&sum)? })
    }

    fn unrelinearised(
        &mut self,
        c: &[Complex64],
        level: usize,
        scale: f64,
    ) -> Result<Sum, RecordError> {
        let reaches = |j: usize| self.terms.get(&j).is_some_and(|t| t.level >= level);
        if c.len() <= BABIES && (1..c.len()).all(|j| c[j] == ZERO || reaches(j)) {
            return Ok(Sum { tensor: None, linear: Some(self.leaf(c, None, level, scale)?) });
        }
        if c.len() < 3 {
            let (needed, level) = (level, self.at(1)?.level);
            return Err(RecordError::OutOfLevels { operation: OPERATION, needed, level });
        }
        let (g, q, r) = split(c, self.chebyshev);
        let giant = self.at(g)?;
        if giant.level < level {
            let (needed, level) = (level, giant.level);
            return Err(RecordError::OutOfLevels { operation: OPERATION, needed, level });
        }
        let giant = self.recorder.drop_to(&giant, level)?;
        if q.len() == 1 && !self.chebyshev {
            // A lone power is a term of the sum, no product.
            let rest = self.unrelinearised(&r, level, scale)?;
            let one = self.leaf(&[ZERO], Some((q[0], giant)), level, scale)?;
            let linear = match rest.linear {
                None => one,
                Some([b, a]) => {
                    let builder = self.recorder.builder();
                    [
                        builder.sum(vec![Term::plus(b), Term::plus(one[0])])?,
                        builder.sum(vec![Term::plus(a), Term::plus(one[1])])?,
                    ]
                }
            };
            return Ok(Sum { tensor: rest.tensor, linear: Some(linear) });
        }
        let quotient = self.evaluate(&q, level, scale / giant.scale)?;
        let product = self.recorder.tensor(&quotient, &giant)?;
        let rest = self.unrelinearised(&r, level, scale)?;
        let tensor = match rest.tensor {
            None => product,
            Some(more) => {
                let mut sum = product;
                for (part, more) in sum.iter_mut().zip(more) {
                    let terms = vec![Term::plus(*part), Term::plus(more)];
                    *part = self.recorder.builder().sum(terms)?;
                }
                sum
            }
        };
        Ok(Sum { tensor: Some(tensor), linear: rest.linear })
    }

    /// A sum of few of the basis times integers, and of one more ciphertext at that level, plus a
    /// constant.
    fn leaf(
        &mut self,
        c: &[Complex64],
        extra: Option<(Complex64, Recorded)>,
        level: usize,
        scale: f64,
    ) -> Result<[Value; 2], RecordError> {
        let (mut b, mut a) = (Vec::new(), Vec::new());
        let mut summands: Vec<(Complex64, Recorded)> = extra.into_iter().collect();
        for (j, &v) in c.iter().enumerate().skip(1) {
            if v != ZERO {
                let term = self.at(j)?;
                summands.push((v, self.recorder.drop_to(&term, level)?));
            }
        }
        if summands.is_empty() {
            // A constant: b needs a polynomial beside it, and a is zero.
            let term = self.at(1)?;
            summands.push((ZERO, self.recorder.drop_to(&term, level)?));
        }
        for (v, term) in summands {
            let factor = self.factor(v, scale, term.scale, level)?;
            b.push(Term::scaled(factor.clone(), term.b));
            a.push(Term::scaled(factor, term.a));
        }
        if c[0] != ZERO {
            b.push(Term::constant(self.factor(c[0], scale, 1.0, level)?));
        }
        let builder = self.recorder.builder();
        Ok([builder.sum(b)?, builder.sum(a)?])
    }
}

/// Whether a list of coefficients, evaluated at `level` + 1, reads z^3 from a z that stands at
/// `top`: where z^3 would stand too low, such a list is cut at z^2.
fn reads_cube(c: &[Complex64], above: usize, top: usize) -> bool {
    let mut c = c.to_vec();
    trim(&mut c);
    if c.len() <= BABIES {
        return c.len() == 4 && top >= above + 2;
    }
    let (_, q, r) = split(&c, false);
    let quotient = q.len() > 1 && reads_cube(&q, above + 1, top);
    quotient || reads_cube(&r, above, top)
}

/// z, z^2, z^4, .. up to the largest degree of `polynomials`, which are evaluated at `level`, and
/// z^3 where one of them reads it.
///
/// # Errors
/// When levels run out.
pub fn powers(
    recorder: &mut Recorder,
    z: &Recorded,
    polynomials: &[&[Complex64]],
    level: usize,
) -> Result<Terms, RecordError> {
    let degree = polynomials.iter().map(|c| c.len() - 1).max().unwrap_or(0);
    let mut terms = Terms::from([(1, *z)]);
    let mut power = *z;
    let mut j = 2;
    while j <= degree {
        let square = recorder.square(&power)?;
        power = recorder.rescale(&square)?;
        terms.insert(j, power);
        j *= 2;
    }
    if polynomials.iter().any(|c| reads_cube(c, level + 1, z.level)) {
        let square = terms[&2];
        let low = recorder.drop_to(z, square.level)?;
        let cube = recorder.multiply(&square, &low)?;
        terms.insert(3, recorder.rescale(&cube)?);
    }
    Ok(terms)
}
