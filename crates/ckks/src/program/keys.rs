//! Key products and key switches, by digits or by KLSS (docs/ckks.md, "Keys and key switching").

use girih_backend::poly::{Basis, Domain, Factor, Term, Value};
use num_bigint::{BigInt, BigUint};

use super::error::RecordError;
use super::recorder::{KeyKind, Part, Recorded, Recorder, ResidentRequest};

/// A polynomial over B_l and P, kept as two: many have no limbs modulo P but zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extended {
    /// Over B_l.
    pub low: Value,
    /// Over P; none where all are zero.
    pub high: Option<Value>,
}

/// A key product: two polynomials over B_l and P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyProduct {
    /// The part that stands beside b.
    pub b: Extended,
    /// The part that multiplies the secret.
    pub a: Extended,
}

/// The digits of a polynomial at a level, ready for products with any number of keys.
#[derive(Clone, Debug)]
pub struct Digits {
    level: usize,
    /// The polynomial itself, over B_l.
    of: Value,
    /// Numbers of the digits that each stands for, and the digit: over B_l and P, or over T.
    digits: Vec<(Vec<usize>, Value)>,
    klss: bool,
}

impl Digits {
    /// The numbers of each digit in use: one, or those that it joins.
    pub fn numbers(&self) -> impl Iterator<Item = &[usize]> + '_ {
        self.digits.iter().map(|(numbers, _)| numbers.as_slice())
    }

    /// Each digit over B_l and P (over T where the recorder uses KLSS).
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.digits.iter().map(|(_, value)| *value)
    }
}

impl Recorder {
    /// The digits of `x`, a polynomial over B_level in evaluations: ModUp of each to B_level and P.
    /// Joined digits are raised as one ([`Chain::digits_at`](super::Chain::digits_at)).
    ///
    /// # Errors
    /// When `x` is not over B_level.
    pub fn digits(&mut self, x: Value, level: usize) -> Result<Digits, RecordError> {
        let base = self.chain().level(level)?.clone();
        if self.basis_of(x) != base {
            let why = format!("a polynomial over the base of level {level} is wanted");
            return Err(RecordError::Shape { operation: "digits", why });
        }
        let chain = self.chain().clone();
        let extended = base.union(chain.auxiliary());
        let klss = self.uses_klss();
        let mut digits = Vec::new();
        for digit in chain.digits_at(level)? {
            let limbs = self.limbs(x, &digit.basis)?;
            let coefficients = self.builder().transform(limbs, Domain::Coefficients);
            let value = if klss {
                let builder = self.builder();
                let converted = builder.convert(coefficients, chain.klss().clone(), false)?;
                builder.transform(converted, Domain::Evaluations)
            } else {
                self.raise(limbs, coefficients, &extended)?
            };
            digits.push((digit.numbers.clone(), value));
        }
        Ok(Digits { level, of: x, digits, klss })
    }

    /// The key product of what `digits` are of with the key `kind`, plus P times `addend` (over
    /// B_l) on the side of b: all over B_l and P, not yet divided by P.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn key_product(
        &mut self,
        digits: &Digits,
        kind: KeyKind,
        addend: Option<Value>,
    ) -> Result<KeyProduct, RecordError> {
        let addend = match addend {
            Some(value) => {
                let base = self.basis_of(value);
                vec![Term::scaled(self.auxiliary_product(&base), value)]
            }
            None => Vec::new(),
        };
        let b = self.key_product_part(digits, kind, Part::B, addend, Vec::new())?;
        let a = self.key_product_part(digits, kind, Part::A, Vec::new(), Vec::new())?;
        Ok(KeyProduct { b, a })
    }

    /// One half of a key product, plus terms over B_l and over P.
    pub(crate) fn key_product_part(
        &mut self,
        digits: &Digits,
        kind: KeyKind,
        part: Part,
        mut low: Vec<Term>,
        mut high: Vec<Term>,
    ) -> Result<Extended, RecordError> {
        let most = self.key_level(kind);
        if digits.level > most {
            let (operation, level) = ("a product with a key", digits.level);
            let why = format!("{kind} was made for levels up to {most}: make it for this one");
            return Err(RecordError::Level { operation, level, why });
        }
        let base = self.basis_of(digits.of);
        let auxiliary = self.chain().auxiliary().clone();
        if digits.klss {
            let product = self.klss_product(digits, kind, part, &base.union(&auxiliary))?;
            low.push(Term::plus(self.limbs(product, &base)?));
            high.push(Term::plus(self.limbs(product, &auxiliary)?));
            return Ok(Extended { low: self.sum(low)?, high: Some(self.sum(high)?) });
        }
        for (numbers, value) in &digits.digits {
            for key in self.key_rows(kind, (numbers, 0), part)? {
                for (basis, terms) in [(&base, &mut low), (&auxiliary, &mut high)] {
                    terms.push(Term::product(self.limbs(*value, basis)?, self.limbs(key, basis)?));
                }
            }
        }
        Ok(Extended { low: self.sum(low)?, high: Some(self.sum(high)?) })
    }

    /// What a digit that stands for `numbers` is multiplied by, one product each: the row of the
    /// key, or the sum of several, or these themselves. Of a key with several rows a digit, row
    /// `row` of each.
    pub(super) fn key_rows(
        &mut self,
        kind: KeyKind,
        (numbers, row): (&[usize], usize),
        part: Part,
    ) -> Result<Vec<Value>, RecordError> {
        let rows = kind.rows_of_a_digit();
        let digits: Vec<usize> = numbers.iter().map(|&digit| rows * digit + row).collect();
        if digits.len() == 1 || !self.sums_keys() {
            let row = |&digit| self.resident(ResidentRequest::Key { kind, digit, part });
            return digits.iter().map(row).collect();
        }
        let basis = self.chain().sum_basis(numbers, self.key_level(kind));
        Ok(vec![self.resident(ResidentRequest::JoinedKey { kind, digits, part, basis })?])
    }

    /// A half of a key product over `wanted` by way of T: sums over T for each group, brought back.
    fn klss_product(
        &mut self,
        digits: &Digits,
        kind: KeyKind,
        part: Part,
        wanted: &Basis,
    ) -> Result<Value, RecordError> {
        let chain = self.chain().clone();
        let mut parts = Vec::new();
        for (group, primes) in chain.groups().iter().enumerate() {
            let back = primes.intersection(wanted);
            if back.is_empty() {
                continue;
            }
            let mut terms = Vec::new();
            for (numbers, value) in &digits.digits {
                for &digit in numbers {
                    let request = ResidentRequest::Klss { kind, digit, part, group };
                    terms.push(Term::product(*value, self.resident(request)?));
                }
            }
            let sum = self.sum(terms)?;
            let builder = self.builder();
            let sum = builder.transform(sum, Domain::Coefficients);
            let converted = builder.convert(sum, back, true)?;
            parts.push(builder.transform(converted, Domain::Evaluations));
        }
        Ok(self.builder().join(&parts)?)
    }

    /// The KLSS form of a polynomial of a switching key over F and P, a group after the other: the
    /// centred lift of the group's residues to T.
    ///
    /// # Errors
    /// When `x` is not over F and P.
    pub fn klss_lift(&mut self, x: Value) -> Result<Vec<Value>, RecordError> {
        let chain = self.chain().clone();
        let lift = |group: &Basis| {
            let limbs = self.limbs(x, group)?;
            let builder = self.builder();
            let coefficients = builder.transform(limbs, Domain::Coefficients);
            let lifted = builder.convert(coefficients, chain.klss().clone(), true)?;
            Ok(builder.transform(lifted, Domain::Evaluations))
        };
        chain.groups().iter().map(lift).collect()
    }

    /// P modulo each prime of `basis`.
    pub(crate) fn auxiliary_product(&self, basis: &Basis) -> Factor {
        let chain = self.chain();
        let p = chain.product(chain.auxiliary());
        chain.integer(basis, &BigInt::from((*p).clone()))
    }

    /// A polynomial over B_l and P as one value. `zeros` is any polynomial over P: its zeroth
    /// multiple stands in for limbs that are zero.
    pub(crate) fn whole(&mut self, x: Extended, zeros: Value) -> Result<Value, RecordError> {
        let high = match x.high {
            Some(high) => high,
            None => {
                let basis = self.basis_of(zeros);
                let zero = self.chain().integer(&basis, &BigInt::ZERO);
                self.scaled(zero, zeros)?
            }
        };
        Ok(self.builder().join(&[x.low, high])?)
    }

    /// ModDown: a polynomial over B_l and P divided by P and rounded, over B_l.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn mod_down(&mut self, x: Extended) -> Result<Value, RecordError> {
        let base = self.basis_of(x.low);
        match x.high {
            Some(high) => {
                let whole = self.builder().join(&[x.low, high])?;
                self.divide_round(whole, &base)
            }
            // P divides it, and the quotient is exact: the conversion of zeros is zero.
            None => {
                let p = self.chain().product(self.chain().auxiliary());
                let inverse = self.chain().fraction(&base, &BigUint::from(1u32), &p, false);
                self.scaled(inverse, x.low)
            }
        }
    }

    /// KeySwitch: the key product of `x` over B_level with a key, divided by P.
    ///
    /// # Errors
    /// When `x` is not over B_level.
    pub fn key_switch(
        &mut self,
        x: Value,
        level: usize,
        kind: KeyKind,
    ) -> Result<(Value, Value), RecordError> {
        let digits = self.digits(x, level)?;
        let product = self.key_product(&digits, kind, None)?;
        Ok((self.mod_down(product.b)?, self.mod_down(product.a)?))
    }

    /// Relinearisation of d0 + d1 s + d2 s^2 at `level`.
    ///
    /// # Errors
    /// When the parts are not over B_level.
    pub fn relinearise(
        &mut self,
        [d0, d1, d2]: [Value; 3],
        level: usize,
        scale: f64,
        slots: usize,
    ) -> Result<Recorded, RecordError> {
        let kind = match self.chain().is_invariant() {
            true => KeyKind::InvariantMultiplication,
            false => KeyKind::Multiplication,
        };
        let (b, a) = self.key_switch(d2, level, kind)?;
        let b = self.sum(vec![Term::plus(d0), Term::plus(b)])?;
        let a = self.sum(vec![Term::plus(d1), Term::plus(a)])?;
        Ok(Recorded { b, a, level, scale, slots })
    }
}

impl Digits {
    /// The level that they belong to.
    pub fn level(&self) -> usize {
        self.level
    }
}
