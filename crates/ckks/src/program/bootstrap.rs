//! Bootstrapping, from level 0 to L_eff (ckks.md section 8; sparse-secret encapsulation is of Bossuat et al. 2022).

use girih_backend::poly::{Domain, Factor, Term, Value};
use num_bigint::BigInt;

use super::chain::{BootstrappingShape, Chain};
use super::dft::{Complex, Group, coefficients_to_slots, slots_to_coefficients};
use super::error::RecordError;
use super::exact;
use super::keys::{Extended, KeyProduct};
use super::recorder::{KeyKind, Part, Recorded, Recorder, ResidentRequest};
use super::transform::{DiagonalPlan, Encode, LinearTransform};

/// How the sine is evaluated on both halves of the coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Two sines side by side, for any number of slots.
    Pair,
    /// One sine of both halves in one ciphertext, for up to N/4 slots.
    Packed,
}

/// The matrices, labels and constants of a bootstrapping, made once.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingPlan {
    slots: usize,
    variant: Variant,
    message_ratio: u32,
    factor: BigInt,
    to_slots: Vec<LinearTransform>,
    to_coefficients: Vec<LinearTransform>,
    raised_scale: f64,
    joined_scale: f64,
}

const OPERATION: &str = "bootstrapping";

fn shape_of(chain: &Chain) -> Result<&BootstrappingShape, RecordError> {
    chain.shape().bootstrapping.as_ref().ok_or_else(|| RecordError::Shape {
        operation: OPERATION,
        why: "the parameter set has no levels for it: take one that does".into(),
    })
}

/// Labels of a chain of transforms: first, then `shift` more each time, and last.
fn labels(first: f64, shift: i32, groups: usize, last: f64) -> Vec<f64> {
    let mut labels = vec![first];
    for _ in 1..groups {
        labels.push(labels[labels.len() - 1] * 2f64.powi(shift));
    }
    labels.push(last);
    labels
}

/// Encodes the transforms of `groups` from level `top` down.
fn transforms(
    chain: &Chain,
    groups: &[Group],
    slots: usize,
    top: usize,
    labels: &[f64],
    encode: &Encode<'_>,
) -> Result<Vec<LinearTransform>, RecordError> {
    let one = |(i, group): (usize, &Group)| {
        let plan = DiagonalPlan { stride: group.stride, baby_steps: group.baby_steps, slots };
        let ratio = chain.ratio(top - i);
        LinearTransform::encode(&group.stored, plan, ratio, labels[i], labels[i + 1], encode)
    };
    groups.iter().enumerate().map(one).collect()
}

/// (d, f d), n numbers each: one vector of 2n.
fn beside(diagonal: &[Complex], n: usize, f: Complex) -> Vec<Complex> {
    let at = |j: usize| diagonal[j % diagonal.len()];
    (0..n).map(at).chain((0..n).map(|j| f * at(j))).collect()
}

/// Lets the last transform to slots put real parts into slots 0..n and imaginary parts (times i) into n..2n, once
/// its result is added to its conjugate.
fn pack(group: &mut Group, n: usize) {
    let minus_i = Complex { re: 0.0, im: -1.0 };
    for diagonal in group.stored.iter_mut().flatten() {
        *diagonal = beside(diagonal, n, minus_i);
    }
}

/// Undoes [`pack`]: the first transform to coefficients acts on y + i rot(y, n), repeated.
fn unpack(group: &mut Group, n: usize) {
    let one = Complex { re: 1.0, im: 0.0 };
    let i = Complex { re: 0.0, im: 1.0 };
    let shift = n / group.stride;
    let mut stored = vec![None; shift.max(group.stored.len()) + group.stored.len()];
    for (k, diagonal) in group.stored.iter().enumerate() {
        let Some(diagonal) = diagonal else { continue };
        let rotated = |first: Complex, second: Complex| -> Vec<Complex> {
            let factor = |j: usize| {
                if (j + group.stride * k) % (2 * n) < n { first } else { second }
            };
            (0..2 * n).map(|j| diagonal[j % diagonal.len()] * factor(j)).collect()
        };
        add(&mut stored[k], rotated(one, i));
        add(&mut stored[(k + shift) % (2 * shift)], rotated(i, one));
    }
    while stored.last().is_some_and(Option::is_none) {
        stored.pop();
    }
    group.stored = stored;
}

fn add(to: &mut Option<Vec<Complex>>, more: Vec<Complex>) {
    *to = Some(match to.take() {
        Some(there) => there.into_iter().zip(more).map(|(x, y)| x + y).collect(),
        None => more,
    });
}

impl BootstrappingPlan {
    /// Plans a bootstrapping of ciphertexts with `slots` slots. `message_ratio` is rho: Q_0 is about 2^rho times
    /// the largest coefficient of a message. One more takes two bits from the error of the sine, which is largest
    /// for vectors of equal slots (7 correct bits at rho = 5, 13 at 8, 17 at 10), and adds up to one bit of noise.
    /// `encode` makes integer coefficients of slots and a scale.
    ///
    /// # Errors
    /// When the set has no bootstrapping, the ratio is below 5 or leaves no factor for the message, or the number
    /// of slots does not fit the variant.
    pub fn new(
        chain: &Chain,
        slots: usize,
        message_ratio: u32,
        variant: Variant,
        encode: &(dyn Fn(&[Complex], f64) -> Result<Vec<i64>, RecordError> + Sync),
    ) -> Result<Self, RecordError> {
        let shape = shape_of(chain)?;
        let wrong = |why: String| Err(RecordError::Shape { operation: OPERATION, why });
        let most = match variant {
            Variant::Pair => chain.most_slots(),
            Variant::Packed => chain.most_slots() / 2,
        };
        if !slots.is_power_of_two() || slots > most {
            return wrong(format!("{slots} slots: the number must be a power of two up to {most}"));
        }
        if !(5..64).contains(&message_ratio) {
            return wrong(format!(
                "a message ratio of 2^{message_ratio}: the sine is fitted for 2^5 or more"
            ));
        }
        if shape.stc_first && variant == Variant::Packed {
            return wrong("packing needs slots-to-coefficients after the sine".into());
        }
        let q0 = chain.product(chain.level(0)?);
        let one = num_bigint::BigUint::from(1u32);
        let s0 = chain.scale(0).expect("level 0 has a scale");
        let factor = exact::round_ratio(2f64.powi(-(message_ratio as i32)), &q0, &one, s0);
        if factor.bits() == 0 {
            return wrong(format!(
                "a message ratio of 2^{message_ratio} exceeds what Q_0 has above the scale 2^{}",
                s0.log2()
            ));
        }
        let repeats = (chain.most_slots() / slots) as u64;
        let raised_scale = exact::nearest(&(&*q0 * u64::from(shape.interval) * repeats));
        let sine = chain.sine_scale(shape.sine_input()).expect("a level of EvalMod");
        let mut groups = coefficients_to_slots(slots, shape.cts_groups)?;
        let mut back = slots_to_coefficients(slots, shape.stc_groups)?;
        let mut period = slots;
        if variant == Variant::Packed {
            period = 2 * slots;
            pack(groups.last_mut().expect("a group"), slots);
            unpack(back.first_mut().expect("a group"), slots);
        }
        let n = groups.len();
        let to = labels(raised_scale, shape.cts_shift, n, sine / 2.0);
        let mut to_slots = transforms(chain, &groups[..n - 1], slots, shape.top(), &to, encode)?;
        let last = &groups[n - 1..];
        let at = shape.top() + 1 - n;
        to_slots.extend(transforms(chain, last, period, at, &to[n - 1..], encode)?);

        let q0 = exact::nearest(&q0);
        let joined_scale = shape.sine_scale * (exact::nearest(&factor) * s0) / q0;
        let (top, first, last) = if shape.stc_first {
            let from = shape.stc_groups;
            (from, chain.scale(from), chain.scale(0))
        } else {
            (shape.out(), Some(joined_scale), chain.scale(shape.effective_level))
        };
        let from = labels(
            first.expect("a normal level"),
            shape.stc_shift,
            back.len(),
            last.expect("a normal level"),
        );
        let mut to_coefficients = transforms(chain, &back[..1], period, top, &from, encode)?;
        to_coefficients.extend(transforms(chain, &back[1..], slots, top - 1, &from[1..], encode)?);
        let factor = factor.into();
        Ok(Self {
            slots,
            variant,
            message_ratio,
            factor,
            to_slots,
            to_coefficients,
            raised_scale,
            joined_scale,
        })
    }

    /// n, the slots of the ciphertexts that it is for.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How the sine is evaluated.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// rho.
    pub fn message_ratio(&self) -> u32 {
        self.message_ratio
    }

    /// k0, the integer that messages are multiplied by before the modulus is raised.
    pub fn factor(&self) -> &BigInt {
        &self.factor
    }

    /// The transforms from coefficients to slots.
    pub fn to_slots(&self) -> &[LinearTransform] {
        &self.to_slots
    }

    /// The transforms from slots to coefficients.
    pub fn to_coefficients(&self) -> &[LinearTransform] {
        &self.to_coefficients
    }

    /// The keys that it needs.
    pub fn keys(&self, chain: &Chain) -> Vec<KeyKind> {
        let mut keys =
            vec![KeyKind::Multiplication, KeyKind::DenseToSparse, KeyKind::SparseToDense];
        let transforms = self.to_slots.iter().chain(&self.to_coefficients);
        let mut exponents: Vec<u32> = transforms
            .flat_map(|t| t.rotations())
            .chain((0..).map(|i| self.slots << i).take_while(|&by| by < chain.most_slots()))
            .map(|by| chain.rotation(by as i64))
            .chain([chain.conjugation()])
            .collect();
        exponents.sort_unstable();
        exponents.dedup();
        keys.extend(exponents.into_iter().map(KeyKind::Galois));
        keys
    }
}

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
    /// Steps 1 to 4: a ciphertext of level 0 becomes one of the top level that holds it plus a multiple of Q_0.
    ///
    /// # Errors
    /// When it does not stand at level 0 with the canonical scale, or the chain has no bootstrapping.
    pub fn raise_modulus(
        &mut self,
        x: &Recorded,
        factor: &BigInt,
        scale: f64,
    ) -> Result<RaiseSteps, RecordError> {
        let chain = self.chain().clone();
        shape_of(&chain)?;
        let wanted = chain.scale(0).expect("level 0 has a scale");
        if x.level != 0 {
            let why = "the modulus is raised from level 0: adjust the ciphertext first".into();
            return Err(RecordError::Level { operation: OPERATION, level: x.level, why });
        }
        if x.scale != wanted {
            let (left, right) = (x.scale, wanted);
            return Err(RecordError::Scales { operation: OPERATION, left, right });
        }
        let bottom = chain.level(0)?;
        let prepared = self.multiply_integer(x, factor)?;

        let few = chain.sparse_auxiliary().expect("the chain bootstraps");
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

        let top = chain.top();
        let base = chain.level(top)?;
        let mut lift = |x: Value, to: &girih_backend::poly::Basis| -> Result<Value, RecordError> {
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

    /// (P b + a b_key, a a_key) with the sparse-to-dense key: a is far below P, so it is a digit by itself.
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

    /// Bootstrapping, whole: up to L_eff at its canonical scale. Coefficients of the message must be at most the
    /// canonical scale S_0; slots of magnitude up to 1 are. The error is stated at [`BootstrappingPlan::new`].
    ///
    /// # Errors
    /// When the plan is for another number of slots, or the ciphertext cannot be adjusted to where it starts.
    pub fn bootstrap(
        &mut self,
        x: &Recorded,
        plan: &BootstrappingPlan,
    ) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let shape = shape_of(&chain)?;
        if x.slots != plan.slots {
            let why = format!("a ciphertext of {} slots in a plan for {}", x.slots, plan.slots);
            return Err(RecordError::Shape { operation: OPERATION, why });
        }
        let start = if shape.stc_first { shape.stc_groups } else { 0 };
        let mut x = *x;
        if x.level > start {
            x = self.adjust(&x, start)?;
        }
        if shape.stc_first {
            if x.level < start {
                let operation = OPERATION;
                return Err(RecordError::OutOfLevels { operation, needed: start, level: x.level });
            }
            x = self.transform_chain(&x, &plan.to_coefficients)?;
        }
        let raised = self.raise_modulus(&x, &plan.factor, plan.raised_scale)?.result;
        let raised = self.sub_sum(&raised)?;
        let coefficients = self.transform_chain(&raised, &plan.to_slots)?;
        let joined = self.sine(&coefficients, plan)?;
        let joined = Recorded { scale: plan.joined_scale, ..joined };
        if shape.stc_first {
            return self.adjust(&joined, shape.effective_level);
        }
        self.transform_chain(&joined, &plan.to_coefficients)
    }

    /// Steps 6 to 8: the sine of real and imaginary parts, and both in one again (still side by side, if packed).
    fn sine(&mut self, x: &Recorded, plan: &BootstrappingPlan) -> Result<Recorded, RecordError> {
        let scale = self.chain().sine_scale(x.level).expect("EvalMod starts here");
        let conjugate = self.conjugate(x)?;
        let re = self.add(x, &conjugate)?;
        let re = self.eval_mod(&Recorded { scale, ..re })?.result;
        if plan.variant == Variant::Packed {
            return Ok(re);
        }
        let im = self.sub(&conjugate, x)?;
        let im = self.multiply_i(&im)?;
        let im = self.eval_mod(&Recorded { scale, ..im })?.result;
        let im = self.multiply_i(&im)?;
        self.add(&re, &im)
    }
}
