//! Steps 1 to 4: from modulus Q_0 to the top, under a sparse secret on the way.

use girih_backend::poly::{Basis, Domain, Factor, Term, Value};
use num_bigint::BigInt;

use super::super::error::RecordError;
use super::super::keys::{Extended, KeyProduct};
use super::super::recorder::{KeyKind, Part, Recorded, Recorder, ResidentRequest};
use super::OPERATION;
use super::plan::shape_of;

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
        let chain = self.chain().clone();
        shape_of(&chain)?;
        let wanted = chain.scale(0).expect("level 0 has a scale");
        if x.level == 0 && x.scale != wanted {
            let (left, right) = (x.scale, wanted);
            return Err(RecordError::Scales { operation: OPERATION, left, right });
        }
        self.raise_modulus_to(x, factor, chain.top(), scale)
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
        let chain = self.chain().clone();
        if x.level != 0 {
            let why = "the modulus is raised from level 0: adjust the ciphertext first".into();
            return Err(RecordError::Level { operation: OPERATION, level: x.level, why });
        }
        let Some(few) = chain.sparse_auxiliary() else {
            let why = "the parameter set has no sparse secret: take one that does".into();
            return Err(RecordError::Shape { operation: OPERATION, why });
        };
        let bottom = chain.level(0)?;
        let prepared = self.multiply_integer(x, factor)?;
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
        let sparse = Recorded { b, a, ..prepared };

        let base = chain.level(top)?;
        let mut lift = |x: Value, to: &Basis| -> Result<Value, RecordError> {
            let rest = to.difference(bottom);
            let builder = self.builder();
            let coefficients = builder.transform(x, Domain::Coefficients);
            let converted = builder.convert(coefficients, rest, true)?;
            let converted = builder.transform(converted, Domain::Evaluations);
            // A prime of B_0 gets its own residue back, so these limbs are copied.
            if base.contains_all(bottom) {
                Ok(builder.join(&[x, converted])?)
            } else {
                let kept = to.intersection(bottom);
                let kept = builder.limbs(x, kept)?;
                Ok(builder.join(&[kept, converted])?)
            }
        };
        let raised_b = lift(sparse.b, base)?;
        let raised_a = lift(sparse.a, &base.union(chain.auxiliary()))?;
        let raised_a = Extended {
            low: self.limbs(raised_a, base)?,
            high: Some(self.limbs(raised_a, chain.auxiliary())?),
        };
        let product = self.dense_product(raised_b, raised_a)?;
        let (b, a) = (self.mod_down(product.b)?, self.mod_down(product.a)?);
        let result = Recorded { b, a, level: top, scale, slots: x.slots };
        Ok(RaiseSteps { prepared, sparse, raised_b, raised_a, result })
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
