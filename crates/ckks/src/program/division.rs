//! ModUp, and the one rounded division that rescale, ModDown and level adjust share
//! (docs/ckks.md, "Keys and key switching").

use girih_backend::poly::{Basis, Domain, Term, Value};
use num_bigint::{BigInt, BigUint};

use super::error::RecordError;
use super::recorder::Recorder;

impl Recorder {
    /// ModUp: a polynomial `x` in evaluations to the primes `to`, which include its own. Its limbs
    /// are copied; the others come from the plain conversion.
    ///
    /// # Errors
    /// When `to` lacks a prime of `x`.
    pub fn mod_up(&mut self, x: Value, to: &Basis) -> Result<Value, RecordError> {
        let coefficients = self.builder().transform(x, Domain::Coefficients);
        self.raise(x, coefficients, to)
    }

    /// ModUp of `x`, whose coefficients are at hand.
    pub(crate) fn raise(
        &mut self,
        x: Value,
        coefficients: Value,
        to: &Basis,
    ) -> Result<Value, RecordError> {
        let from = self.basis_of(x);
        let rest = to.difference(&from);
        if rest.is_empty() {
            return Ok(x);
        }
        let builder = self.builder();
        let converted = builder.convert(coefficients, rest, false)?;
        let converted = builder.transform(converted, Domain::Evaluations);
        Ok(builder.join(&[x, converted])?)
    }

    /// DivideRound: `round(A x / S)` over the primes `to`, S the product of the primes that only
    /// `x` has and A of those that only `to` has. `x` is in evaluations, and so is the result.
    ///
    /// # Errors
    /// When `x` has no prime that `to` lacks: then there is nothing to divide by.
    pub fn divide_round(&mut self, x: Value, to: &Basis) -> Result<Value, RecordError> {
        let from = self.basis_of(x);
        let (dropped, added) = (from.difference(to), to.difference(&from));
        let stay = to.intersection(&from);
        if dropped.is_empty() {
            let why = "no prime is dropped, so there is nothing to divide by".into();
            return Err(RecordError::Shape { operation: "division", why });
        }
        let chain = self.chain().clone();
        let (s, a) = (chain.product(&dropped), chain.product(&added));
        let low = self.limbs(x, &dropped)?;
        let low = self.scaled(chain.integer(&dropped, &BigInt::from((*a).clone())), low)?;
        let low = self.builder().transform(low, Domain::Coefficients);
        let r = self.builder().convert(low, to.clone(), true)?;
        let r = self.builder().transform(r, Domain::Evaluations);
        let one = BigUint::from(1u32);
        let mut parts = Vec::new();
        if !stay.is_empty() {
            let high = self.limbs(x, &stay)?;
            let r = self.limbs(r, &stay)?;
            parts.push(self.sum(vec![
                Term::scaled(chain.fraction(&stay, &a, &s, false), high),
                Term::scaled(chain.fraction(&stay, &one, &s, true), r),
            ])?);
        }
        if !added.is_empty() {
            let r = self.limbs(r, &added)?;
            parts.push(self.scaled(chain.fraction(&added, &one, &s, true), r)?);
        }
        Ok(self.builder().join(&parts)?)
    }
}
