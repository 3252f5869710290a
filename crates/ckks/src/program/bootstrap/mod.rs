//! Bootstrapping, from level 0 to L_eff (docs/ckks.md, "Bootstrapping"; sparse-secret
//! encapsulation is of Bossuat et al. 2022).

mod first;
mod invariant;
mod plan;
mod raise;
mod shape;

pub use first::{FirstFactor, FirstRow};
pub use invariant::TwoValues;
pub use plan::{BootstrappingPlan, Variant};
pub use raise::{FirstFactorSteps, RaiseSteps};

use num_bigint::BigInt;

use super::error::RecordError;
use super::recorder::{Recorded, Recorder};
use shape::shape_of;

const OPERATION: &str = "bootstrapping";
const HALF: &str = "a half-bootstrapping";

impl Recorder {
    /// Bootstrapping, whole: up to L_eff at its canonical scale. Coefficients of the message must
    /// be at most the canonical scale S_0; slots of magnitude up to 1 are. The error is stated at
    /// [`BootstrappingPlan::new`].
    ///
    /// # Errors
    /// When the plan is for another number of slots, or the ciphertext cannot be adjusted to where
    /// it starts.
    pub fn bootstrap(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let coefficients = self.coefficients(x, plan)?;
        let joined = self.sine(&coefficients, plan)?;
        self.finished(&joined, plan)
    }

    /// The first of three parts of a bootstrapping, up to where real and imaginary parts of the
    /// coefficients, each doubled, are ciphertexts of their own:
    /// [`Recorder::bootstrapped_half`] takes each on its own, and [`Recorder::bootstrapped`] both
    /// together. The result is that of [`Recorder::bootstrap`] bit for bit.
    ///
    /// # Errors
    /// As [`Recorder::bootstrap`]; for a plan of one sine.
    pub fn bootstrap_halves(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<[Recorded; 2], RecordError> {
        if plan.variant() != Variant::Pair {
            let why = "it has no two sines".into();
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let x = self.coefficients(x, plan)?;
        let conjugate = self.conjugate(&x)?;
        let re = self.add(&x, &conjugate)?;
        let im = self.sub(&conjugate, &x)?;
        Ok([re, self.multiply_i(&im)?])
    }

    /// The second part: the sine of one half.
    ///
    /// # Errors
    /// For a chain without a bootstrapping.
    pub fn bootstrapped_half(
        &mut self,
        half: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        self.part(half, plan)
    }

    /// The third part: both halves in one again, and the way back to slots where it comes last.
    ///
    /// # Errors
    /// For a chain without a bootstrapping.
    pub fn bootstrapped(
        &mut self,
        [re, im]: [&Recorded; 2],
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let im = self.multiply_i(im)?;
        let joined = self.add(re, &im)?;
        self.finished(&joined, plan)
    }

    /// Steps up to coefficients-to-slots, which leaves coefficients in slots.
    fn coefficients(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = shape_of(&chain)?;
        if x.slots != plan.slots() {
            let why = format!("a ciphertext of {} slots in a plan for {}", x.slots, plan.slots());
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let mut x = self.bring_to(x, plan.start(&chain))?;
        if let Some(phases) = &plan.phases {
            let value = self.plaintext(phases.coefficients.clone(), x.level)?;
            let product = self.multiply_plaintext(&x, value, phases.scale)?;
            x = self.rescale(&product)?;
            x.scale = chain.scale(0).expect("level 0 has a scale");
        }
        if shape.stc_first {
            x = self.transform_chain(&x, plan.to_coefficients(), plan.few_keys())?;
        }
        let raised = self.raised(&x, plan.factor(), plan)?;
        let x = self.transform_chain(&raised, plan.to_slots(), plan.few_keys())?;
        match plan.variant() {
            Variant::Invariant => Ok(x),
            _ => self.at_sine(&x),
        }
    }

    /// Where the sine begins: the level above serves the way to the conjugation-invariant ring.
    fn at_sine(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        let level = shape_of(&self.chain().clone())?.sine_input();
        if x.level == level { Ok(*x) } else { self.drop_to(x, level) }
    }

    /// Times `factor`, at the level that the transforms to slots begin at, and with what repeats
    /// added up (SubSum): before these transforms, or after the first where keys do that.
    fn raised(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let mut raised = match plan.first() {
            Some(first) => self.raise_by_first_factor(x, factor, first)?.result,
            None => self.raise_modulus(x, factor, plan.raised_scale)?.result,
        };
        let chain = self.chain().clone();
        let exponents = |rotations: &Vec<usize>| -> Vec<u32> {
            rotations.iter().map(|&by| chain.rotation(by as i64)).collect()
        };
        let sums: Vec<Vec<u32>> = plan.sums(&chain).iter().map(exponents).collect();
        // Nothing is left to divide where nothing was added.
        if plan.first().is_some() && !plan.few_keys() && !sums.is_empty() {
            return self.galois_sums(&raised, &sums);
        }
        for g in sums.into_iter().flatten() {
            raised = self.plus_galois(&raised, g)?;
        }
        Ok(raised)
    }

    /// What comes after the sine.
    fn finished(
        &mut self,
        joined: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = shape_of(&chain)?;
        if shape.stc_first {
            let y = match &plan.unpacking {
                _ if shape.arcsine_levels > 0 => *joined,
                None => {
                    let joined = Recorded { scale: plan.joined_scale, ..*joined };
                    return self.adjust(&joined, shape.effective_level);
                }
                Some(unpacking) => {
                    let to = chain.scale(shape.effective_level).expect("a normal level");
                    let scale = to * chain.ratio(joined.level) / plan.joined_scale;
                    let value = self.plaintext(unpacking.times(scale)?, joined.level)?;
                    let joined = Recorded { scale: plan.joined_scale, ..*joined };
                    let product = self.multiply_plaintext(&joined, value, scale)?;
                    Recorded { scale: to, ..self.rescale(&product)? }
                }
            };
            // (u, i v) and its halves exchanged: u + i v twice.
            let y = match &plan.unpacking {
                Some(_) => self.plus_galois(&y, chain.rotation(plan.slots() as i64))?,
                None => y,
            };
            // The level above serves the way back from the conjugation-invariant ring.
            return match y.level > shape.effective_level {
                true => self.adjust(&y, shape.effective_level),
                false => Ok(y),
            };
        }
        let joined = Recorded { scale: plan.joined_scale, ..*joined };
        let y = self.transform_chain(&joined, plan.to_coefficients(), plan.few_keys())?;
        if plan.variant() != Variant::Real {
            return Ok(y);
        }
        let conjugate = self.conjugate(&y)?;
        self.add(&y, &conjugate)
    }

    /// The first half of a bootstrapping (Cho et al. 2021 call it half-bootstrapping): from
    /// coefficients at level 0 to slots at L_eff, without the way back to coefficients. Slot j of
    /// the result is sin(2 pi m / Q_0), m the coefficient at exponent bitrev(j) N / 2n, for the
    /// first n of the 2n coefficients in use; the others are ignored.
    ///
    /// The sine holds for every m: what stands at Q_0 / 4 comes out as 1, and small errors of it
    /// count by their squares.
    ///
    /// # Errors
    /// As [`Recorder::bootstrap`]; for a plan that packs both halves, and for a chain that
    /// corrects its sine by an arcsine right away.
    pub fn half_bootstrap(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = shape_of(&chain)?;
        let wrong = |why: String| Err(RecordError::Shape { operation: HALF, why });
        if x.slots != plan.slots() || plan.variant() != Variant::Pair {
            return wrong(format!("a ciphertext of {} slots in a plan of another kind", x.slots));
        }
        if shape.arcsine_levels > 0 && !shape.stc_first {
            return wrong("the set turns its sine into an arcsine: take one that does not".into());
        }
        let raised = self.raised(x, &BigInt::from(1), plan)?;
        let coefficients = self.transform_chain(&raised, plan.to_slots(), plan.few_keys())?;
        let coefficients = self.at_sine(&coefficients)?;
        let conjugate = self.conjugate(&coefficients)?;
        let real = self.add(&coefficients, &conjugate)?;
        let scale = chain.sine_scale(real.level).expect("EvalMod starts here");
        let sine = self.eval_mod(&Recorded { scale, ..real })?.result;
        let scale = shape.sine_scale / (2.0 * std::f64::consts::PI);
        self.adjust(&Recorded { scale, ..sine }, shape.effective_level)
    }

    /// A ciphertext at `level` with its canonical scale: adjusted if it stands above.
    fn bring_to(&mut self, x: &Recorded, level: usize) -> Result<Recorded, RecordError> {
        let operation = OPERATION;
        if x.level > level {
            return self.adjust(x, level);
        }
        if x.level < level {
            return Err(RecordError::OutOfLevels { operation, needed: level, level: x.level });
        }
        let right = self.chain().scale(level).expect("a normal level");
        if x.scale != right {
            return Err(RecordError::Scales { operation, left: x.scale, right });
        }
        Ok(*x)
    }

    /// Steps 6 to 8: the sine of real and imaginary parts, and both in one again (still side by
    /// side, if packed).
    fn sine(&mut self, x: &Recorded, plan: &BootstrappingPlan) -> Result<Recorded, RecordError> {
        if let Some([there, back]) = &plan.rings {
            let chain = self.chain().clone();
            let shape = shape_of(&chain)?;
            let scale = chain.sine_scale(shape.sine_input()).expect("EvalMod starts here");
            let both = self.enter_invariant(x, there, scale / 2.0)?;
            let y = self.in_invariant(|there| there.part(&both, plan))?;
            let scale = chain.scale(y.level - 1).expect("a normal level");
            return self.leave_invariant(&y, back, scale);
        }
        let conjugate = self.conjugate(x)?;
        let re = self.add(x, &conjugate)?;
        let re = self.part(&re, plan)?;
        if plan.variant() != Variant::Pair {
            return Ok(re);
        }
        let im = self.sub(&conjugate, x)?;
        let im = self.multiply_i(&im)?;
        let im = self.part(&im, plan)?;
        let im = self.multiply_i(&im)?;
        self.add(&re, &im)
    }

    /// The sine of one part, which is doubled. With slots-to-coefficients first it is a message by
    /// then: corrected as one, at the canonical scale.
    fn part(&mut self, x: &Recorded, plan: &BootstrappingPlan) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = shape_of(&chain)?;
        let scale = chain.sine_scale(x.level).expect("EvalMod starts here");
        let y = self.eval_mod(&Recorded { scale, ..*x })?.result;
        if !shape.stc_first || shape.arcsine_levels == 0 {
            return Ok(y);
        }
        let f = plan.joined_scale / shape.sine_scale;
        let canonical = chain.scale(shape.out()).expect("a normal level");
        let y = Recorded { scale: plan.joined_scale, ..y };
        self.correct_sine(&y, f, canonical, plan.unpacking.as_ref())
    }

    /// Bootstrapping of a ciphertext whose slots are real: the noise of their imaginary parts is
    /// removed. By a plan for real slots that takes one sine; by others the scale is twice the
    /// canonical one.
    ///
    /// # Errors
    /// As [`Recorder::bootstrap`].
    pub fn bootstrap_real(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let y = self.bootstrap(x, plan)?;
        if plan.variant() == Variant::Real {
            return Ok(y);
        }
        self.real_part(&y)
    }

    /// The real parts of all slots, at twice the scale.
    ///
    /// # Errors
    /// As conjugations.
    pub fn real_part(&mut self, y: &Recorded) -> Result<Recorded, RecordError> {
        let conjugate = self.conjugate(y)?;
        let sum = self.add(y, &conjugate)?;
        Ok(Recorded { scale: 2.0 * y.scale, ..sum })
    }

    /// Two ciphertexts of real slots by one bootstrapping, as u + i v. Scales are twice the
    /// canonical one.
    ///
    /// # Errors
    /// As [`Recorder::bootstrap`].
    pub fn bootstrap_real_pair(
        &mut self,
        [u, v]: [&Recorded; 2],
        plan: &BootstrappingPlan,
    ) -> Result<[Recorded; 2], RecordError> {
        if plan.variant() == Variant::Real {
            let why = "two ciphertexts as one are complex: take a plan for complex slots".into();
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let start = plan.start(&self.chain().clone());
        let (u, v) = (self.bring_to(u, start)?, self.bring_to(v, start)?);
        let v = self.multiply_i(&v)?;
        let both = self.add(&u, &v)?;
        let y = self.bootstrap(&both, plan)?;
        let conjugate = self.conjugate(&y)?;
        let u = self.add(&y, &conjugate)?;
        let v = self.sub(&conjugate, &y)?;
        let v = self.multiply_i(&v)?;
        let scale = 2.0 * y.scale;
        Ok([Recorded { scale, ..u }, Recorded { scale, ..v }])
    }

    /// Two bootstrappings in a row, the second of what the first got wrong, times 2^`gain` (Bae et
    /// al. 2022): the error of the sine is gone, for vectors of equal slots, too. The result stands
    /// at L_eff - 1. The first error times 2^`gain` must be at most 1: a gain of 14 serves random
    /// slots at rho = 8, 8 any slots.
    ///
    /// # Errors
    /// As [`Recorder::bootstrap`]; for a gain above 40.
    pub fn bootstrap_twice(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
        gain: u32,
    ) -> Result<Recorded, RecordError> {
        if gain > 40 {
            let why = format!("a gain of 2^{gain}: errors are not that small, 40 is the most");
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let start = plan.start(&self.chain().clone());
        let x = self.bring_to(x, start)?;
        let first = self.bootstrap(&x, plan)?;
        let back = self.adjust(&first, start)?;
        let rest = self.sub(&x, &back)?;
        let rest = self.multiply_integer(&rest, &(BigInt::from(1) << gain))?;
        let second = self.bootstrap(&rest, plan)?;
        let second = Recorded { scale: second.scale * 2f64.powi(gain as i32), ..second };
        let below = first.level - 1;
        let first = self.adjust(&first, below)?;
        let second = self.adjust(&second, below)?;
        self.add(&first, &second)
    }
}
