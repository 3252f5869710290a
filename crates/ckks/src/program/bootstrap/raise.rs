//! Steps 1 to 4: from modulus Q_0 to the top, under a sparse secret on the way.

use girih_backend::poly::{Basis, Domain, Factor, Term, Value};
use num_bigint::BigInt;

use super::super::error::RecordError;
use super::super::keys::{Extended, KeyProduct};
use super::super::recorder::{KeyKind, Part, Recorded, Recorder, ResidentRequest};
use super::OPERATION;
use super::first::FirstFactor;
use super::shape::shape_of;

/// What stands between the steps of raising the modulus.
#[derive(Clone, Copy, Debug)]
pub struct RaiseSteps {
    /// Times k0.
    pub prepared: Recorded,
    /// Under the sparse secret.
    pub sparse: Recorded,
    /// b over B_top.
    pub raised_b: Value,
    /// a over B_top.
    pub raised_a: Extended,
    /// Under the dense secret, at the top level.
    pub result: Recorded,
}

/// What stands between the steps of raising the modulus with the first transform by keys.
#[derive(Clone, Copy, Debug)]
pub struct FirstFactorSteps {
    /// Times k0.
    pub prepared: Recorded,
    /// Under the sparse secret.
    pub sparse: Recorded,
    /// b over the primes of [`FirstFactor::lift`].
    pub lifted_b: Value,
    /// a over the primes of the level raised to, and the first auxiliary ones.
    pub lifted_a: Value,
    /// The sum over rows of phi(M b), an integer polynomial, over the primes of b.
    pub integer: Value,
    /// What is divided: b and a over the primes of that level and the first auxiliary ones.
    pub product: [Value; 2],
    /// Under the dense secret, at the level raised to.
    pub result: Recorded,
}

impl Recorder {
    /// Steps 1 to 4: a ciphertext of level 0 becomes one of the top level that holds it plus a
    /// multiple of Q_0.
    ///
    /// # Errors
    /// When it does not stand at level 0 with the canonical scale,
    /// or the chain has no bootstrapping.
    pub fn raise_modulus(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
        scale: f64,
    ) -> Result<RaiseSteps, RecordError> {
        let top = self.chain().top();
        let sparse = self.sparse(x, factor)?;
        self.raised_to_dense(x, sparse, top, scale)
    }

    /// The same up to any level, from a ciphertext of level 0 with whatever scale, over any chain
    /// with a sparse secret.
    ///
    /// # Errors
    /// When it does not stand at level 0, there is no level `top`, or the chain has no sparse
    /// secret.
    pub fn raise_modulus_to(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
        top: usize,
        scale: f64,
    ) -> Result<RaiseSteps, RecordError> {
        let sparse = self.under_sparse(x, factor)?;
        self.raised_to_dense(x, sparse, top, scale)
    }

    /// Steps 3 and 4, of what steps 1 and 2 left.
    fn raised_to_dense(
        &mut self,
        x: &Recorded,
        (prepared, sparse): (Recorded, Recorded),
        top: usize,
        scale: f64,
    ) -> Result<RaiseSteps, RecordError> {
        let chain = self.chain().clone();
        let base = chain.level(top)?;
        let raised_b = self.lift(sparse.b, base)?;
        let raised_a = self.lift(sparse.a, &base.union(chain.auxiliary()))?;
        let raised_a = Extended {
            low: self.limbs(raised_a, base)?,
            high: Some(self.limbs(raised_a, chain.auxiliary())?),
        };
        let product = self.dense_product(raised_b, raised_a)?;
        let (b, a) = (self.mod_down(product.b)?, self.mod_down(product.a)?);
        let result = Recorded { b, a, level: top, scale, slots: x.slots };
        Ok(RaiseSteps { prepared, sparse, raised_b, raised_a, result })
    }

    /// Steps 1 and 2: times `factor`, and under the sparse secret.
    fn sparse(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
    ) -> Result<(Recorded, Recorded), RecordError> {
        let chain = self.chain().clone();
        shape_of(&chain)?;
        let wanted = chain.scale(0).expect("level 0 has a scale");
        if x.level == 0 && x.scale != wanted {
            let (left, right) = (x.scale, wanted);
            return Err(RecordError::Scales { operation: OPERATION, left, right });
        }
        self.under_sparse(x, factor)
    }

    /// The same over any chain with a sparse secret, whatever the scale.
    fn under_sparse(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
    ) -> Result<(Recorded, Recorded), RecordError> {
        let chain = self.chain().clone();
        if x.level != 0 {
            let why = "the modulus is raised from level 0: adjust the ciphertext first".into();
            return Err(RecordError::Level { operation: OPERATION, level: x.level, why });
        }
        let Some(few) = chain.sparse_auxiliary() else {
            let why = "the parameter set has no sparse secret: take one that does".into();
            return Err(RecordError::Shape { operation: OPERATION, why });
        };
        let prepared = self.multiply_integer(x, factor)?;
        let bottom = chain.level(0)?;
        let both = bottom.union(&few);
        let raised = self.mod_up(prepared.a, &both)?;
        let mut down = |part: Part| -> Result<Value, RecordError> {
            let kind = KeyKind::DenseToSparse;
            let key = self.resident(ResidentRequest::Key { kind, digit: 0, part })?;
            let product = self.sum(vec![Term::product(raised, key)])?;
            self.divide_round(product, bottom)
        };
        let (kb, a) = (down(Part::B)?, down(Part::A)?);
        let b = self.sum(vec![Term::plus(prepared.b), Term::plus(kb)])?;
        Ok((prepared, Recorded { b, a, ..prepared }))
    }

    /// A polynomial with small coefficients, over `to`: by the corrected conversion, which gives
    /// a prime that it has already its own residue back, so these limbs are copied.
    fn lift(&mut self, x: Value, to: &Basis) -> Result<Value, RecordError> {
        let from = self.basis_of(x);
        let builder = self.builder();
        let coefficients = builder.transform(x, Domain::Coefficients);
        let converted = builder.convert(coefficients, to.difference(&from), true)?;
        let converted = builder.transform(converted, Domain::Evaluations);
        let kept = to.intersection(&from);
        if kept.is_empty() {
            return Ok(converted);
        }
        let kept = builder.limbs(x, kept)?;
        Ok(builder.join(&[kept, converted])?)
    }

    /// Steps 1 to 4, up to [`FirstFactor::level`], and the first transform to slots, by its keys:
    /// it takes no level. Under
    /// the sparse secret, with b + a s = m + Q_0 I, each row of `first` has M times this moved by
    /// its automorphism: M b as an integer polynomial, which needs primes enough to hold the sum
    /// of all rows and no more, M a s as the product of a with the row's key. Both are summed
    /// before the one division.
    ///
    /// # Errors
    /// As [`Recorder::raise_modulus`], and for a chain whose first transform takes a level.
    pub fn raise_by_first_factor(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
        first: &FirstFactor,
    ) -> Result<FirstFactorSteps, RecordError> {
        let chain = self.chain().clone();
        if x.slots != first.slots() {
            let why = format!("{} slots in a first transform of {}", x.slots, first.slots());
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let (prepared, sparse) = self.sparse(x, factor)?;
        let few = chain.sparse_auxiliary().expect("the chain bootstraps");
        let raised = chain.level(first.level())?;
        let all = raised.union(&few);
        let lifted_b = self.lift(sparse.b, first.lift())?;
        let lifted_a = self.lift(sparse.a, &all)?;
        let mut terms = Vec::new();
        for row in first.rows() {
            let plaintext = self.plaintext_over(row.plaintext.clone(), first.lift().clone())?;
            let builder = self.builder();
            let b = builder.automorphism(lifted_b, row.g)?;
            terms.push(Term::product(b, builder.automorphism(plaintext, row.g)?));
        }
        let integer = self.sum(terms)?;
        let lifted = self.lift(integer, &all)?;
        let (mut b, mut a) = (vec![Term::plus(lifted)], Vec::new());
        for (kind, row) in first.kinds().zip(first.rows()) {
            // phi(a key) as phi(a) phi(key): no product is stored before the sum.
            let moved = self.builder().automorphism(lifted_a, row.g)?;
            for (part, terms) in [(Part::B, &mut b), (Part::A, &mut a)] {
                let key = self.resident(ResidentRequest::Key { kind, digit: 0, part })?;
                let key = self.builder().automorphism(key, row.g)?;
                terms.push(Term::product(moved, key));
            }
        }
        let product = [self.sum(b)?, self.sum(a)?];
        let [b, a] = product.map(|part| self.divide_round(part, raised));
        let (b, a, level) = (b?, a?, first.level());
        let result = Recorded { b, a, level, scale: first.scale(), slots: x.slots };
        Ok(FirstFactorSteps { prepared, sparse, lifted_b, lifted_a, integer, product, result })
    }

    /// (P b + a b_key, a a_key) with the sparse-to-dense key: a is far below P,
    /// so it is a digit by itself.
    fn dense_product(&mut self, b: Value, a: Extended) -> Result<KeyProduct, RecordError> {
        let chain = self.chain().clone();
        let base = self.basis_of(b);
        let p: Factor = self.auxiliary_product(&base);
        let high = a.high.expect("raised to P");
        let mut part = |part: Part, mut low: Vec<Term>| -> Result<Extended, RecordError> {
            let kind = KeyKind::SparseToDense;
            let key = self.resident(ResidentRequest::Key { kind, digit: 0, part })?;
            let (key_low, key_high) =
                (self.limbs(key, &base)?, self.limbs(key, chain.auxiliary())?);
            low.push(Term::product(a.low, key_low));
            let high = self.sum(vec![Term::product(high, key_high)])?;
            Ok(Extended { low: self.sum(low)?, high: Some(high) })
        };
        let b = part(Part::B, vec![Term::scaled(p, b)])?;
        let a = part(Part::A, Vec::new())?;
        Ok(KeyProduct { b, a })
    }
}
