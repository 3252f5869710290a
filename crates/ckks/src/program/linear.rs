//! Sums, and products with plaintexts and constants (docs/ckks.md, "Levels and scales").

use std::sync::Arc;

use girih_backend::poly::{Basis, Term, Value};
use num_bigint::BigInt;

use super::error::RecordError;
use super::exact;
use super::recorder::{PlainPolynomial, Recorded, Recorder, ResidentRequest};

impl Recorder {
    fn check_sum(
        &self,
        operation: &'static str,
        x: &Recorded,
        y: &Recorded,
    ) -> Result<(), RecordError> {
        if x.level != y.level {
            let (left, right) = (x.level, y.level);
            return Err(RecordError::Levels { operation, left, right });
        }
        // Also where the quotient is no number.
        let agree = (x.scale / y.scale - 1.0).abs() < 2f64.powi(-40);
        if !agree {
            let (left, right) = (x.scale, y.scale);
            return Err(RecordError::Scales { operation, left, right });
        }
        Ok(())
    }

    fn both(
        &mut self,
        x: &Recorded,
        y: &Recorded,
        second: fn(Value) -> Term,
    ) -> Result<Recorded, RecordError> {
        let b = self.sum(vec![Term::plus(x.b), second(y.b)])?;
        let a = self.sum(vec![Term::plus(x.a), second(y.a)])?;
        Ok(Recorded { b, a, slots: x.slots.max(y.slots), ..*x })
    }

    /// x + y, at x's scale.
    ///
    /// # Errors
    /// Unless the levels are equal and the scales agree to 2^-40.
    pub fn add(&mut self, x: &Recorded, y: &Recorded) -> Result<Recorded, RecordError> {
        self.check_sum("a sum", x, y)?;
        self.both(x, y, Term::plus)
    }

    /// x - y, at x's scale.
    ///
    /// # Errors
    /// Unless the levels are equal and the scales agree to 2^-40.
    pub fn sub(&mut self, x: &Recorded, y: &Recorded) -> Result<Recorded, RecordError> {
        self.check_sum("a difference", x, y)?;
        self.both(x, y, Term::minus)
    }

    /// -x.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn negate(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        self.multiply_integer(x, &BigInt::from(-1))
    }

    /// k x, at x's scale.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn multiply_integer(&mut self, x: &Recorded, k: &BigInt) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let factor = chain.integer(chain.level(x.level)?, k);
        let (b, a) = (self.scaled(factor.clone(), x.b)?, self.scaled(factor, x.a)?);
        Ok(Recorded { b, a, ..*x })
    }

    /// x + x.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn double(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        self.multiply_integer(x, &BigInt::from(2))
    }

    /// i x in every slot, exactly: X^(N/2) times x.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn multiply_i(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let factor = chain.gaussian(chain.level(x.level)?, &BigInt::ZERO, &BigInt::from(1));
        let (b, a) = (self.scaled(factor.clone(), x.b)?, self.scaled(factor, x.a)?);
        Ok(Recorded { b, a, ..*x })
    }

    /// x + (re + i im) in every slot: RNE(v scale) added to b.
    ///
    /// # Errors
    /// For numbers that are not finite.
    pub fn add_constant(
        &mut self,
        x: &Recorded,
        re: f64,
        im: f64,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let re = integer("a constant", re, re * x.scale)?;
        let im = integer("a constant", im, im * x.scale)?;
        let factor = chain.gaussian(chain.level(x.level)?, &re, &im);
        let b = self.sum(vec![Term::plus(x.b), Term::constant(factor)])?;
        Ok(Recorded { b, ..*x })
    }

    /// (re + i im) x at the chosen `scale`: times RNE(v scale / x.scale).
    ///
    /// # Errors
    /// For numbers that are not finite, or a scale that is not positive.
    pub fn multiply_constant(
        &mut self,
        x: &Recorded,
        re: f64,
        im: f64,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        if scale.is_nan() || scale <= 0.0 {
            let why = "is no scale: scales are positive and finite";
            return Err(RecordError::Number { operation: "a constant", value: scale, why });
        }
        let chain = self.chain().clone();
        let re = integer("a constant", re, re * scale / x.scale)?;
        let im = integer("a constant", im, im * scale / x.scale)?;
        let factor = chain.gaussian(chain.level(x.level)?, &re, &im);
        let (b, a) = (self.scaled(factor.clone(), x.b)?, self.scaled(factor, x.a)?);
        Ok(Recorded { b, a, scale, ..*x })
    }

    /// A plaintext over the base of `level`: integer coefficients of X^0, X^(N/len), .., whose
    /// number `len` is a power of two up to N.
    ///
    /// # Errors
    /// For an impossible number of coefficients.
    pub fn plaintext(
        &mut self,
        coefficients: Arc<[i64]>,
        level: usize,
    ) -> Result<Value, RecordError> {
        let basis = self.chain().level(level)?.clone();
        self.plaintext_over(coefficients, basis)
    }

    pub(crate) fn plaintext_over(
        &mut self,
        coefficients: Arc<[i64]>,
        basis: Basis,
    ) -> Result<Value, RecordError> {
        let log2_run = self.log2_run(coefficients.len())?;
        self.resident(ResidentRequest::Plain(PlainPolynomial {
            coefficients,
            log2_run,
            basis,
            odd: None,
        }))
    }

    /// The same of `len` coefficients that are known only when the program runs. Plaintexts of one
    /// `number` are one, of one length and level.
    ///
    /// # Errors
    /// As [`Recorder::plaintext`].
    pub fn changing_plaintext(
        &mut self,
        number: usize,
        len: usize,
        level: usize,
    ) -> Result<Value, RecordError> {
        let (log2_run, basis) = (self.log2_run(len)?, self.chain().level(level)?.clone());
        self.resident(ResidentRequest::Changing { number, log2_run, basis })
    }

    /// log2 of the step between the exponents of `len` coefficients.
    fn log2_run(&self, len: usize) -> Result<u32, RecordError> {
        let n = self.chain().degree();
        if !len.is_power_of_two() || len > n {
            let why = format!("{len} coefficients: the number must be a power of two up to {n}");
            return Err(RecordError::Shape { operation: "a plaintext", why });
        }
        Ok((n / len).ilog2())
    }

    /// x times a plaintext of [`Recorder::plaintext`] encoded at `scale`; not rescaled.
    ///
    /// # Errors
    /// When the plaintext belongs to another level.
    pub fn multiply_plaintext(
        &mut self,
        x: &Recorded,
        plaintext: Value,
        scale: f64,
    ) -> Result<Recorded, RecordError> {
        let b = self.sum(vec![Term::product(x.b, plaintext)])?;
        let a = self.sum(vec![Term::product(x.a, plaintext)])?;
        Ok(Recorded { b, a, scale: x.scale * scale, ..*x })
    }

    /// x plus a plaintext of [`Recorder::plaintext`] encoded at x's scale.
    ///
    /// # Errors
    /// When the plaintext belongs to another level.
    pub fn add_plaintext(
        &mut self,
        x: &Recorded,
        plaintext: Value,
    ) -> Result<Recorded, RecordError> {
        let b = self.sum(vec![Term::plus(x.b), Term::plus(plaintext)])?;
        Ok(Recorded { b, ..*x })
    }
}

/// The integer nearest to `scaled`, which came from `value`.
pub(crate) fn integer(
    operation: &'static str,
    value: f64,
    scaled: f64,
) -> Result<BigInt, RecordError> {
    if !scaled.is_finite() {
        let why = "cannot be encoded: numbers must be finite, times the scale, too";
        return Err(RecordError::Number { operation, value, why });
    }
    Ok(exact::round(scaled))
}
