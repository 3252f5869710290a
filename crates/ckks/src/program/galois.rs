//! Rotations and conjugation, alone and hoisted, and sums over slots (docs/ckks.md,
//! "Keys and key switching").

use girih_backend::poly::{Term, Value};

use super::error::RecordError;
use super::keys::{Digits, Extended, KeyProduct};
use super::recorder::{KeyKind, Part, Recorded, Recorder};
use super::transform::Terms;

impl Recorder {
    /// The digits of a ciphertext's a, for any number of [`Recorder::galois_hoisted`].
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn hoist(&mut self, x: &Recorded) -> Result<Digits, RecordError> {
        self.digits(x.a, x.level)
    }

    /// phi_g of (kb + P b, ka), the key product of a under the Galois key of g: over B_l and P,
    /// without ModDown.
    pub(crate) fn galois_extended(
        &mut self,
        x: &Recorded,
        digits: &Digits,
        g: u32,
    ) -> Result<KeyProduct, RecordError> {
        if g == 1 {
            let p = self.auxiliary_product(self.chain().clone().level(x.level)?);
            let mut times_p = |v: Value| -> Result<Extended, RecordError> {
                Ok(Extended { low: self.scaled(p.clone(), v)?, high: None })
            };
            return Ok(KeyProduct { b: times_p(x.b)?, a: times_p(x.a)? });
        }
        let product = self.key_product(digits, KeyKind::Galois(g), Some(x.b))?;
        self.automorphism_of_product(product, g)
    }

    pub(crate) fn automorphism_of_product(
        &mut self,
        product: KeyProduct,
        g: u32,
    ) -> Result<KeyProduct, RecordError> {
        let mut move_part = |part: Extended| -> Result<Extended, RecordError> {
            let low = self.builder().automorphism(part.low, g)?;
            let high = part.high.map(|high| self.builder().automorphism(high, g)).transpose()?;
            Ok(Extended { low, high })
        };
        Ok(KeyProduct { b: move_part(product.b)?, a: move_part(product.a)? })
    }

    /// X -> X^g of a ciphertext, from digits of [`Recorder::hoist`] of the same ciphertext.
    ///
    /// # Errors
    /// For a g that is even or not below 2N.
    pub fn galois_hoisted(
        &mut self,
        x: &Recorded,
        digits: &Digits,
        g: u32,
    ) -> Result<Recorded, RecordError> {
        if g == 1 {
            return Ok(*x);
        }
        let product = self.galois_extended(x, digits, g)?;
        let (b, a) = (self.mod_down(product.b)?, self.mod_down(product.a)?);
        Ok(Recorded { b, a, ..*x })
    }

    /// X -> X^g of a ciphertext; itself, without a key, for g = 1.
    ///
    /// # Errors
    /// For a g that is even or not below 2N.
    pub fn galois(&mut self, x: &Recorded, g: u32) -> Result<Recorded, RecordError> {
        if g == 1 {
            return Ok(*x);
        }
        let digits = self.hoist(x)?;
        self.galois_hoisted(x, &digits, g)
    }

    /// Rotation left by `by`: slot j of the result is slot j + by. Amounts count modulo the slots
    /// in use, so a sparse ciphertext needs keys for these only.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn rotate(&mut self, x: &Recorded, by: i64) -> Result<Recorded, RecordError> {
        let g = self.rotation_of(x.slots, by);
        self.galois(x, g)
    }

    /// The exponent of a rotation by `by` of ciphertexts with `slots` slots.
    pub fn rotation_of(&self, slots: usize, by: i64) -> u32 {
        self.chain().rotation(by.rem_euclid(slots as i64))
    }

    /// Every slot's complex conjugate.
    ///
    /// # Errors
    /// None for what this recorder made.
    pub fn conjugate(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        let g = self.chain().conjugation();
        self.galois(x, g)
    }

    /// A ciphertext plus what the automorphisms X -> X^g make of it, g in `exponents`: one ModUp
    /// and one ModDown for all.
    ///
    /// # Errors
    /// For a g that is even or not below 2N.
    pub fn galois_sum(&mut self, x: &Recorded, exponents: &[u32]) -> Result<Recorded, RecordError> {
        self.galois_sums(x, &[exponents.to_vec()])
    }

    /// A ciphertext to which step after step is added what the automorphisms X -> X^g of the step
    /// make of it. Each step has one ModUp and one ModDown of a; b is divided by P once, behind the
    /// last.
    ///
    /// # Errors
    /// For a g that is even or not below 2N.
    pub fn galois_sums(
        &mut self,
        x: &Recorded,
        steps: &[Vec<u32>],
    ) -> Result<Recorded, RecordError> {
        let p = self.auxiliary_product(self.chain().clone().level(x.level)?);
        let mut a = x.a;
        // P b, and what was added to it.
        let mut b = Extended { low: self.scaled(p.clone(), x.b)?, high: None };
        for exponents in steps {
            let digits = self.digits(a, x.level)?;
            let (mut of_b, mut of_a) = (Terms::default(), Terms::default());
            of_b.add(b);
            of_a.low.push(Term::scaled(p.clone(), a));
            for &g in exponents {
                if g == 1 {
                    of_b.add(b);
                    of_a.low.push(Term::scaled(p.clone(), a));
                    continue;
                }
                let mut own = Terms::default();
                own.add(b);
                let kind = KeyKind::Galois(g);
                let product = KeyProduct {
                    b: self.key_product_part(&digits, kind, Part::B, own.low, own.high)?,
                    a: self.key_product_part(&digits, kind, Part::A, Vec::new(), Vec::new())?,
                };
                let product = self.automorphism_of_product(product, g)?;
                of_b.add(product.b);
                of_a.add(product.a);
            }
            b = self.extended(of_b)?;
            let sum = self.extended(of_a)?;
            a = self.mod_down(sum)?;
        }
        Ok(Recorded { b: self.mod_down(b)?, a, ..*x })
    }

    /// Each slot j becomes the sum of slots j, j + stride, .., j + (width - 1) stride; `width` a
    /// power of two. A negative stride spreads instead.
    ///
    /// # Errors
    /// For a width that is no power of two.
    pub fn inner_sum(
        &mut self,
        x: &Recorded,
        width: usize,
        stride: i64,
    ) -> Result<Recorded, RecordError> {
        if !width.is_power_of_two() || width > x.slots {
            let why = format!("a width of {width}: it must be a power of two up to {}", x.slots);
            return Err(RecordError::Shape { operation: "inner sum", why });
        }
        let mut x = *x;
        for i in 0..width.ilog2() {
            let rotated = self.rotate(&x, stride << i)?;
            x = self.add(&x, &rotated)?;
        }
        Ok(x)
    }

    /// A ciphertext plus what X -> X^g makes of it.
    pub(crate) fn plus_galois(&mut self, x: &Recorded, g: u32) -> Result<Recorded, RecordError> {
        let moved = self.galois(x, g)?;
        let b = self.sum(vec![Term::plus(x.b), Term::plus(moved.b)])?;
        let a = self.sum(vec![Term::plus(x.a), Term::plus(moved.a)])?;
        Ok(Recorded { b, a, ..*x })
    }
}
