//! Both sines as one: the halves of complex slots as real slots of the conjugation-invariant ring
//! (docs/ckks.md, "Bootstrapping"; the ring is of Kim and Song 2018).
//!
//! With X = Y^2 a ciphertext under s(X) is one of the ring of degree 2N under s(Y^2). There it is
//! multiplied by a plaintext that is 1 at a square root of each point and -i at its negative, goes
//! to a secret s'(Y) that conjugation leaves alone, and is added to its conjugate. What results is
//! of the conjugation-invariant ring and has twice the real part of slot k as one slot, twice the
//! imaginary part as the next. On the way back the plaintext is 1 and i, and what is added up is
//! the value at both roots.
//!
//! No polynomial of the ring of degree 2N is ever transformed: digits are raised in the ring that
//! the ciphertext comes from, and read at the points of the other.

use std::f64::consts::PI;
use std::sync::Arc;

use girih_backend::poly::{Basis, Term, Value, View};
use num_complex::Complex64;

use super::super::error::RecordError;
use super::super::keys::Digits;
use super::super::polynomial::Mask;
use super::super::recorder::{
    KeyKind, OddPart, Part, PlainPolynomial, Recorded, Recorder, ResidentRequest,
};
use super::super::transform::{Terms, encode};
use crate::Encoder;

const OPERATION: &str = "a change of rings";

/// log2 of the scale that plaintexts are kept at.
const SCALE: i32 = 60;

/// A plaintext of the ring of degree 2N, c(Y^2) + Y d(Y^2), that takes one value at a square root
/// of each point of the usual ring and another one at its negative.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoValues {
    even: Mask,
    odd: Mask,
    degree: usize,
}

impl TwoValues {
    /// `first` at exp(i pi e / 2N) for the slot at exp(i pi e / N), e = 5^j modulo 2N; `second` at
    /// its negative.
    ///
    /// # Errors
    /// For numbers that are not finite or too large, and a degree that is no power of two or above
    /// that of the encoder.
    pub fn new(
        first: Complex64,
        second: Complex64,
        encoder: &Encoder,
        degree: usize,
    ) -> Result<Self, RecordError> {
        if !degree.is_power_of_two() || !(2..=encoder.degree()).contains(&degree) {
            let most = encoder.degree();
            let why = format!("a degree of {degree}: a power of two up to {most} is needed");
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let scale = 2f64.powi(SCALE);
        let mask = |slots: &[Complex64]| -> Result<Mask, RecordError> {
            Ok(Mask { coefficients: encode(encoder, slots, scale)?, scale })
        };
        let half = (first - second) * 0.5;
        let mut e = 1;
        let odd = (0..degree / 2).map(|_| {
            let root = Complex64::from_polar(1.0, PI * e as f64 / (2 * degree) as f64);
            e = 5 * e % (2 * degree);
            half * root.conj()
        });
        let odd: Vec<Complex64> = odd.collect();
        let even = vec![(first + second) * 0.5; degree / 2];
        Ok(Self { even: mask(&even)?, odd: mask(&odd)?, degree })
    }

    /// The N coefficients of c and of d of the plaintext times `times`, rounded.
    ///
    /// # Errors
    /// For a factor that makes them reach 2^62, or is not finite.
    pub fn coefficients(&self, times: f64) -> Result<[Arc<[i64]>; 2], RecordError> {
        // A constant has few coefficients.
        let n = self.degree;
        let spread = |mask: &Mask| -> Result<Arc<[i64]>, RecordError> {
            let few = mask.times(times)?;
            let mut all = vec![0; n];
            all.iter_mut().step_by(n / few.len()).zip(few.iter()).for_each(|(to, &c)| *to = c);
            Ok(all.into())
        };
        Ok([spread(&self.even)?, spread(&self.odd)?])
    }
}

/// The two views of a way, and the key that it takes.
#[derive(Clone, Copy)]
struct Way {
    kind: KeyKind,
    views: [View; 2],
}

const THERE: Way = Way { kind: KeyKind::ToInvariant, views: [View::Lifted, View::LiftedConjugate] };
const BACK: Way =
    Way { kind: KeyKind::FromInvariant, views: [View::Restricted, View::RestrictedMinus] };

impl Recorder {
    /// Real and imaginary parts of all slots, each doubled, as the slots of one ciphertext of the
    /// conjugation-invariant ring, a level lower, labelled `scale`.
    ///
    /// # Errors
    /// For a chain without that ring, with KLSS, at level 0, for a plaintext of another degree and
    /// a scale that is not positive and finite.
    pub fn enter_invariant(
        &mut self,
        x: &Recorded,
        values: &TwoValues,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        let digits = self.digits(x.a, x.level)?;
        self.in_invariant(|there| there.change_ring(x, &digits, THERE, values, scale))
    }

    /// The way back: slots x and y that stand for one complex slot become x + i y, a level lower,
    /// labelled `scale`.
    ///
    /// # Errors
    /// As [`Recorder::enter_invariant`].
    pub fn leave_invariant(
        &mut self,
        x: &Recorded,
        values: &TwoValues,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        let digits = self.in_invariant(|there| there.digits(x.a, x.level))?;
        self.change_ring(x, &digits, BACK, values, scale)
    }

    /// Products with the key and with the plaintext at both points, added up and divided once, by P
    /// and the level's prime. This recorder is of the ring that the result is of.
    fn change_ring(
        &mut self,
        x: &Recorded,
        digits: &Digits,
        way: Way,
        values: &TwoValues,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        let operation = OPERATION;
        if x.level == 0 {
            return Err(RecordError::OutOfLevels { operation, needed: 1, level: 0 });
        }
        let n = self.chain().degree();
        if values.degree != n {
            let why = format!("a plaintext for degree {} in a ring of {n}", values.degree);
            return Err(RecordError::Shape { operation, why });
        }
        if !(scale > 0.0 && scale.is_finite()) {
            let why = "is no scale: scales are positive and finite";
            return Err(RecordError::Number { operation, value: scale, why });
        }
        if self.uses_klss() {
            let why = "its keys have no form for KLSS: take the usual key switching".into();
            return Err(RecordError::Shape { operation, why });
        }
        let chain = self.chain().clone();
        let base = chain.level(x.level)?.clone();
        let auxiliary = chain.auxiliary().clone();
        let whole = base.union(&auxiliary);
        let times = scale * chain.ratio(x.level) / x.scale;
        let p = self.auxiliary_product(&base);
        let (mut b, mut a) = (Terms::default(), Terms::default());
        for (half, view) in way.views.into_iter().enumerate() {
            let plain = self.two_values(values, times, view, &whole)?;
            let plain = [self.limbs(plain, &base)?, self.limbs(plain, &auxiliary)?];
            let seen = self.builder().view(x.b, view, base.clone())?;
            let mut sums = [Terms::default(), Terms::default()];
            sums[0].low.push(Term::scaled(p.clone(), seen));
            for (numbers, digit) in digits.numbers().zip(digits.values()) {
                let digit = self.builder().view(digit, view, whole.clone())?;
                let digit = [self.limbs(digit, &base)?, self.limbs(digit, &auxiliary)?];
                for (part, terms) in [Part::B, Part::A].into_iter().zip(&mut sums) {
                    for key in self.key_rows(way.kind, (numbers, half), part)? {
                        terms.low.push(Term::product(digit[0], self.limbs(key, &base)?));
                        terms.high.push(Term::product(digit[1], self.limbs(key, &auxiliary)?));
                    }
                }
            }
            for (terms, sum) in [&mut b, &mut a].into_iter().zip(sums) {
                let (low, high) = (self.sum(sum.low)?, self.sum(sum.high)?);
                terms.low.push(Term::product(low, plain[0]));
                terms.high.push(Term::product(high, plain[1]));
            }
        }
        let lower = chain.level(x.level - 1)?;
        let mut divide = |terms: Terms| -> Result<Value, RecordError> {
            let (low, high) = (self.sum(terms.low)?, self.sum(terms.high)?);
            let sum = self.builder().join(&[low, high])?;
            self.divide_round(sum, lower)
        };
        let (b, a) = (divide(b)?, divide(a)?);
        Ok(Recorded { b, a, level: x.level - 1, scale, ..*x })
    }

    /// The plaintext times `times` at the points of a view.
    fn two_values(
        &mut self,
        values: &TwoValues,
        times: f64,
        view: View,
        basis: &Basis,
    ) -> Result<Value, RecordError> {
        let [coefficients, odd] = values.coefficients(times)?;
        let odd = Some(OddPart { coefficients: odd, view });
        let plain = PlainPolynomial { coefficients, log2_run: 0, basis: basis.clone(), odd };
        self.resident(ResidentRequest::Plain(plain))
    }
}
