//! Linear transforms of slots with double hoisting, and chains of them (docs/ckks.md, "Linear
//! transforms"; the method is of Bossuat et al. 2021).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use girih_backend::parallel::prelude::*;
use girih_backend::poly::{Term, Value};
use girih_backend::{Preparation, preparing};
use num_complex::Complex64;

use super::error::RecordError;
use super::keys::{Digits, Extended, KeyProduct};
use super::recorder::{KeyKind, Part, Recorded, Recorder};
use crate::Encoder;
use crate::encoder::{Factors, Parts};

/// Where the diagonals of a transform stand: y = sum over k of diag_k times rot(x, stride k), in
/// giant steps of `baby_steps` diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagonalPlan {
    /// The rotation between two diagonals next to each other.
    pub stride: usize,
    /// Diagonals in a giant step: their rotations of the input share one ModUp.
    pub baby_steps: usize,
    /// n: rotations count modulo this, a power of two.
    pub slots: usize,
}

impl DiagonalPlan {
    /// The exponents of the automorphisms whose keys `count` diagonals need, those for which `used`
    /// says so.
    pub fn rotations(&self, count: usize, used: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut rotations = Vec::new();
        for k in (0..count).filter(|&k| used(k)) {
            for step in [k % self.baby_steps, k - k % self.baby_steps] {
                rotations.push(self.stride * step % self.slots);
            }
        }
        rotations.retain(|&r| r != 0);
        rotations.sort_unstable();
        rotations.dedup();
        rotations
    }
}

/// A linear transform ready to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearTransform {
    /// Where its diagonals stand.
    pub plan: DiagonalPlan,
    /// For each k, the integer coefficients of rot(diag_k, -stride baby_steps (k / baby_steps))
    /// encoded at `plaintext_scale`, as [`Recorder::plaintext`] takes them; none where the diagonal
    /// is zero.
    pub plaintexts: Vec<Option<Arc<[i64]>>>,
    /// The scale that the plaintexts are encoded at.
    pub plaintext_scale: f64,
    /// The scale that the result is labelled with.
    pub scale: f64,
}

/// The integer coefficients of X^0, X^(N/2n), .. of a vector of n slots.
pub(crate) fn encode(
    encoder: &Encoder,
    slots: &[Complex64],
    scale: f64,
) -> Result<Arc<[i64]>, RecordError> {
    encode_rotated(encoder, Factors::Complex(slots), 0, scale, &mut Parts::default())
}

/// The same of the vector rotated by so much. Its parts are brought together in `room`, which many
/// vectors share.
fn encode_rotated(
    encoder: &Encoder,
    slots: Factors<'_>,
    by: i64,
    scale: f64,
    room: &mut Parts,
) -> Result<Arc<[i64]>, RecordError> {
    slots.rotate_into(by, room);
    encoder.coefficients_of(room, scale).map_err(|e| RecordError::Encoding(e.to_string()))
}

/// Threads share the diagonals of a transform in about so many parts.
const SHARES: usize = 64;

impl LinearTransform {
    /// Encodes `diagonals` for an input at `level` with scale `from`; the result is labelled `to`.
    /// Vectors that repeat are encoded with their least period, as polynomials in a power of X.
    ///
    /// # Errors
    /// When a diagonal is not `plan.slots` long (or a period of it), or cannot be encoded.
    pub fn encode<'a, D>(
        diagonals: &'a [Option<D>],
        plan: DiagonalPlan,
        ratio: f64,
        from: f64,
        to: f64,
        encoder: &Encoder,
    ) -> Result<Self, RecordError>
    where
        D: Sync,
        &'a D: Into<Factors<'a>>,
    {
        let plaintext_scale = to * ratio / from;
        let one = |k: usize, diagonal: Factors<'_>, room: &mut Parts| {
            if !diagonal.len().is_power_of_two() || diagonal.len() > plan.slots {
                let why = format!("a diagonal of {} numbers for {}", diagonal.len(), plan.slots);
                return Err(RecordError::Shape { operation: "linear transform", why });
            }
            let right = plan.stride * (k - k % plan.baby_steps);
            let (period, by) = (diagonal.least_period(), -(right as i64));
            encode_rotated(encoder, period, by, plaintext_scale, room)
        };
        let used: Vec<(usize, &D)> =
            diagonals.iter().enumerate().filter_map(|(k, d)| Some((k, d.as_ref()?))).collect();
        // Some at a time, in the same room.
        let some = |used: &[(usize, &'a D)]| {
            let mut room = Parts::default();
            let all = used.iter().map(|&(k, diagonal)| one(k, diagonal.into(), &mut room));
            all.collect::<Result<Vec<_>, _>>()
        };
        let _encoding = preparing(Preparation::Encoding);
        let shares = used.par_chunks((used.len() / SHARES).max(1)).map(some);
        let encoded = shares.collect::<Result<Vec<_>, RecordError>>()?;
        let mut plaintexts = vec![None; diagonals.len()];
        for (&(k, _), coefficients) in used.iter().zip(encoded.into_iter().flatten()) {
            plaintexts[k] = Some(coefficients);
        }
        Ok(Self { plan, plaintexts, plaintext_scale, scale: to })
    }

    /// The rotations whose Galois keys it needs.
    pub fn rotations(&self) -> Vec<usize> {
        self.plan.rotations(self.plaintexts.len(), |k| self.plaintexts[k].is_some())
    }
}

impl LinearTransform {
    /// The rotations whose Galois keys it needs where they are made one after the other: at most
    /// two, by a baby step and by a giant step.
    pub fn few_rotations(&self) -> Vec<usize> {
        let DiagonalPlan { stride, baby_steps, slots } = self.plan;
        let used = |k: &usize| self.plaintexts[*k].is_some();
        let all = || (0..self.plaintexts.len()).filter(used);
        let baby = all().any(|k| k % baby_steps > 0).then_some(stride);
        let giant = all().any(|k| k >= baby_steps).then_some(stride * baby_steps);
        let mut rotations: Vec<usize> =
            baby.into_iter().chain(giant).map(|by| by % slots).filter(|&by| by != 0).collect();
        rotations.sort_unstable();
        rotations.dedup();
        rotations
    }
}

/// What a transform of one limb costs beside the product of one with a diagonal, about.
const TRANSFORM_COST: usize = 4;

impl LinearTransform {
    /// Whether [`Recorder::linear_transform_divided`] is less work at a level of `limbs` primes
    /// beside `auxiliary` ones: it saves both products of each diagonal over P, and takes a ModDown
    /// of two polynomials for each baby step.
    pub fn divides(&self, limbs: usize, auxiliary: usize) -> bool {
        let used = (0..self.plaintexts.len()).filter(|&k| self.plaintexts[k].is_some());
        let mut babies: Vec<usize> = used.clone().map(|k| k % self.plan.baby_steps).collect();
        babies.sort_unstable();
        babies.dedup();
        babies.retain(|&baby| baby != 0);
        used.count() * auxiliary > babies.len() * (limbs + auxiliary) * TRANSFORM_COST
    }
}

/// Slot j of the result is slot j + by.
pub(crate) fn rotate(x: &[Complex64], by: i64) -> Vec<Complex64> {
    let by = by.rem_euclid(x.len() as i64) as usize;
    [&x[by..], &x[..by]].concat()
}

/// Terms of a sum over B_l and over P.
#[derive(Default)]
pub(super) struct Terms {
    pub low: Vec<Term>,
    pub high: Vec<Term>,
}

impl Terms {
    pub fn add(&mut self, x: Extended) {
        self.low.push(Term::plus(x.low));
        self.high.extend(x.high.map(Term::plus));
    }
}

/// Inputs of a matrix of transforms, rotated by baby steps.
struct Rotated {
    plan: DiagonalPlan,
    /// By the number of the input.
    digits: BTreeMap<usize, Digits>,
    /// By the number of the input and the baby step.
    of: BTreeMap<(usize, usize), Recorded>,
}

impl Recorder {
    /// A linear transform by baby steps and giant steps; result one level lower, divided once.
    ///
    /// # Errors
    /// At level 0, or when the transform has no diagonal.
    pub fn linear_transform(
        &mut self,
        x: &Recorded,
        transform: &LinearTransform,
    ) -> Result<Recorded, RecordError> {
        let operation = "linear transform";
        if x.level == 0 {
            return Err(RecordError::OutOfLevels { operation, needed: 1, level: 0 });
        }
        let chain = self.chain().clone();
        let extended = chain.level(x.level)?.union(chain.auxiliary());
        let plan = transform.plan;
        let mut giants: BTreeMap<usize, Vec<(usize, Value)>> = BTreeMap::new();
        for (k, plaintext) in transform.plaintexts.iter().enumerate() {
            if let Some(coefficients) = plaintext {
                let value = self.plaintext_over(coefficients.clone(), extended.clone())?;
                let steps = giants.entry(k / plan.baby_steps).or_default();
                steps.push((k % plan.baby_steps, value));
            }
        }
        let Some(&(_, zeros)) = giants.values().flatten().next() else {
            let why = "it has no diagonal: the result would be zero".into();
            return Err(RecordError::Shape { operation, why });
        };
        let digits = self.hoist(x)?;
        let (mut b, mut a) = (Terms::default(), Terms::default());
        for (giant, steps) in giants {
            let u = self.baby_steps(x, &digits, &plan, &steps)?;
            let by = plan.stride * plan.baby_steps * giant;
            let g = self.rotation_of(plan.slots, by as i64);
            let u = if g == 1 { u } else { self.giant_step(u, x.level, g)? };
            b.add(u.b);
            a.add(u.a);
        }
        let zeros = self.limbs(zeros, chain.auxiliary())?;
        let lower = chain.level(x.level - 1)?;
        let mut divide = |terms: Terms| -> Result<Value, RecordError> {
            let sums = self.extended(terms)?;
            let whole = self.whole(sums, zeros)?;
            self.divide_round(whole, lower)
        };
        let (b, a) = (divide(b)?, divide(a)?);
        Ok(Recorded { b, a, level: x.level - 1, scale: transform.scale, ..*x })
    }

    /// u = the sum over baby steps of a diagonal times the rotated input, over B_l and P.
    fn baby_steps(
        &mut self,
        x: &Recorded,
        digits: &Digits,
        plan: &DiagonalPlan,
        steps: &[(usize, Value)],
    ) -> Result<KeyProduct, RecordError> {
        let chain = self.chain().clone();
        let base = chain.level(x.level)?;
        let p = self.auxiliary_product(base);
        let (mut b, mut a) = (Terms::default(), Terms::default());
        for &(baby, plaintext) in steps {
            let low = self.limbs(plaintext, base)?;
            let g = self.rotation_of(plan.slots, (plan.stride * baby) as i64);
            if g == 1 {
                b.low.push(Term::scaled_product(p.clone(), x.b, low));
                a.low.push(Term::scaled_product(p.clone(), x.a, low));
                continue;
            }
            let t = self.galois_extended(x, digits, g)?;
            let high = self.limbs(plaintext, chain.auxiliary())?;
            for (terms, part) in [(&mut b, t.b), (&mut a, t.a)] {
                terms.low.push(Term::product(part.low, low));
                terms.high.extend(part.high.map(|part| Term::product(part, high)));
            }
        }
        Ok(KeyProduct { b: self.extended(b)?, a: self.extended(a)? })
    }

    /// The sums of terms over B_l and over P.
    pub(super) fn extended(&mut self, terms: Terms) -> Result<Extended, RecordError> {
        let low = self.sum(terms.low)?;
        let high = if terms.high.is_empty() { None } else { Some(self.sum(terms.high)?) };
        Ok(Extended { low, high })
    }

    /// phi_g(u_b + kb', ka'), (kb', ka') the key product of ModDown(u_a), not brought down.
    fn giant_step(
        &mut self,
        u: KeyProduct,
        level: usize,
        g: u32,
    ) -> Result<KeyProduct, RecordError> {
        let down = self.mod_down(u.a)?;
        let digits = self.digits(down, level)?;
        let kind = KeyKind::Galois(g);
        let mut addend = Terms::default();
        addend.add(u.b);
        let b = self.key_product_part(&digits, kind, Part::B, addend.low, addend.high)?;
        let a = self.key_product_part(&digits, kind, Part::A, Vec::new(), Vec::new())?;
        self.automorphism_of_product(KeyProduct { b, a }, g)
    }

    /// [`Recorder::linear_transform`] with two rotation keys at most (minimum key switching, Kim et
    /// al. 2022, ARK): every baby step is a rotation of the one before, and giant steps go by
    /// Horner's rule. No decomposition is shared and every rotation is divided by P, so it takes
    /// more work, and words differ by roundings.
    ///
    /// # Errors
    /// As [`Recorder::linear_transform`].
    pub fn linear_transform_by_few(
        &mut self,
        x: &Recorded,
        transform: &LinearTransform,
    ) -> Result<Recorded, RecordError> {
        let operation = "linear transform";
        if x.level == 0 {
            return Err(RecordError::OutOfLevels { operation, needed: 1, level: 0 });
        }
        let chain = self.chain().clone();
        let base = chain.level(x.level)?.clone();
        let plan = transform.plan;
        let used = |k: usize| transform.plaintexts.get(k).and_then(Option::as_ref);
        let babies = (0..transform.plaintexts.len()).filter(|&k| used(k).is_some());
        let Some(most) = babies.map(|k| k % plan.baby_steps).max() else {
            let why = "it has no diagonal: the result would be zero".into();
            return Err(RecordError::Shape { operation, why });
        };
        let step = self.rotation_of(plan.slots, plan.stride as i64);
        let mut rotated = vec![*x];
        for baby in 0..most {
            let next = self.galois(&rotated[baby], step)?;
            rotated.push(next);
        }
        let step = self.rotation_of(plan.slots, (plan.stride * plan.baby_steps) as i64);
        let mut sum: Option<Recorded> = None;
        for giant in (0..transform.plaintexts.len().div_ceil(plan.baby_steps)).rev() {
            let (mut b, mut a) = (Vec::new(), Vec::new());
            if let Some(sum) = sum {
                let moved = self.galois(&sum, step)?;
                b.push(Term::plus(moved.b));
                a.push(Term::plus(moved.a));
            }
            for (baby, x) in rotated.iter().enumerate() {
                let Some(coefficients) = used(giant * plan.baby_steps + baby) else { continue };
                let value = self.plaintext_over(coefficients.clone(), base.clone())?;
                b.push(Term::product(x.b, value));
                a.push(Term::product(x.a, value));
            }
            if !b.is_empty() {
                sum = Some(Recorded { b: self.sum(b)?, a: self.sum(a)?, ..*x });
            }
        }
        let sum = sum.expect("there is a diagonal");
        let lower = chain.level(x.level - 1)?;
        let (b, a) = (self.divide_round(sum.b, lower)?, self.divide_round(sum.a, lower)?);
        Ok(Recorded { b, a, level: x.level - 1, scale: transform.scale, ..*x })
    }

    /// [`Recorder::linear_transform`] whose rotated inputs are divided by P before they are
    /// multiplied (hoisting once, Halevi and Shoup 2018): a ModDown a baby step, and diagonals over
    /// B_l alone. It is less work, and takes less memory for diagonals, where these are many times
    /// as many as baby steps and B_l has fewer primes than P: see [`LinearTransform::divides`].
    /// Words differ by roundings.
    ///
    /// # Errors
    /// As [`Recorder::linear_transform`].
    pub fn linear_transform_divided(
        &mut self,
        x: &Recorded,
        transform: &LinearTransform,
    ) -> Result<Recorded, RecordError> {
        Ok(self.linear_transforms(&[*x], &[&[Some(transform)]])?.remove(0))
    }

    /// A matrix of linear transforms: each row sums the transforms of all inputs, and gives one
    /// result. Baby steps of an input serve all rows, giant steps of a row all inputs; rotated
    /// inputs are divided by P, as in [`Recorder::linear_transform_divided`].
    ///
    /// # Errors
    /// As [`Recorder::linear_transform`], and for inputs of several levels, rows of another length
    /// than there are inputs, and transforms of several plans.
    pub fn linear_transforms(
        &mut self,
        inputs: &[Recorded],
        rows: &[&[Option<&LinearTransform>]],
    ) -> Result<Vec<Recorded>, RecordError> {
        let operation = "linear transform";
        let shape = |why: &str| RecordError::Shape { operation, why: why.into() };
        let all = || rows.iter().flat_map(|row| row.iter().flatten());
        let (Some(x), Some(first)) = (inputs.first(), all().next()) else {
            return Err(shape("it has no input or no transform"));
        };
        if inputs.iter().any(|other| other.level != x.level || other.slots != x.slots) {
            return Err(shape("its inputs have several levels or numbers of slots"));
        }
        if rows.iter().any(|row| row.len() != inputs.len()) {
            return Err(shape("a row has another number of transforms than there are inputs"));
        }
        if all().any(|other| other.plan != first.plan || other.scale != first.scale) {
            return Err(shape("its transforms have several plans or scales"));
        }
        if x.level == 0 {
            return Err(RecordError::OutOfLevels { operation, needed: 1, level: 0 });
        }
        let mut rotated =
            Rotated { plan: first.plan, digits: BTreeMap::new(), of: BTreeMap::new() };
        rows.iter().map(|row| self.row_of_transforms(inputs, row, &mut rotated)).collect()
    }

    /// One row of [`Recorder::linear_transforms`].
    fn row_of_transforms(
        &mut self,
        inputs: &[Recorded],
        row: &[Option<&LinearTransform>],
        rotated: &mut Rotated,
    ) -> Result<Recorded, RecordError> {
        let (x, plan) = (inputs[0], rotated.plan);
        let base = self.chain().clone().level(x.level)?.clone();
        let mut giants: BTreeMap<usize, [Vec<Term>; 2]> = BTreeMap::new();
        let mut scale = None;
        for (number, transform) in row.iter().enumerate() {
            let Some(transform) = transform else { continue };
            scale = Some(transform.scale);
            for (k, plaintext) in transform.plaintexts.iter().enumerate() {
                let Some(coefficients) = plaintext else { continue };
                let (giant, baby) = (k / plan.baby_steps, k % plan.baby_steps);
                let input = self.baby_step(inputs, number, baby, rotated)?;
                let diagonal = self.plaintext_over(coefficients.clone(), base.clone())?;
                let [b, a] = giants.entry(giant).or_default();
                b.push(Term::product(input.b, diagonal));
                a.push(Term::product(input.a, diagonal));
            }
        }
        let Some(scale) = scale.filter(|_| !giants.is_empty()) else {
            let (operation, why) =
                ("linear transform", "it has no diagonal: the result would be zero");
            return Err(RecordError::Shape { operation, why: why.into() });
        };
        let [b, a] = self.giant_steps(&x, giants, &plan)?;
        Ok(Recorded { b, a, level: x.level - 1, scale, ..x })
    }

    /// An input rotated by a baby step, which is done once.
    fn baby_step(
        &mut self,
        inputs: &[Recorded],
        number: usize,
        baby: usize,
        rotated: &mut Rotated,
    ) -> Result<Recorded, RecordError> {
        let plan = rotated.plan;
        let g = self.rotation_of(plan.slots, (plan.stride * baby) as i64);
        if g == 1 {
            return Ok(inputs[number]);
        }
        if let Some(input) = rotated.of.get(&(number, baby)) {
            return Ok(*input);
        }
        let digits = match rotated.digits.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.hoist(&inputs[number])?),
        };
        let input = self.galois_hoisted(&inputs[number], digits, g)?;
        rotated.of.insert((number, baby), input);
        Ok(input)
    }

    /// The sum of giant steps over B_l and P, divided once, by P and the level's prime.
    fn giant_steps(
        &mut self,
        x: &Recorded,
        giants: BTreeMap<usize, [Vec<Term>; 2]>,
        plan: &DiagonalPlan,
    ) -> Result<[Value; 2], RecordError> {
        let chain = self.chain().clone();
        let (mut own, mut moved) = (None, [Terms::default(), Terms::default()]);
        for (giant, [b, a]) in giants {
            let (b, a) = (self.sum(b)?, self.sum(a)?);
            let by = plan.stride * plan.baby_steps * giant;
            let g = self.rotation_of(plan.slots, by as i64);
            if g == 1 {
                own = Some([b, a]);
                continue;
            }
            let digits = self.digits(a, x.level)?;
            let product = self.key_product(&digits, KeyKind::Galois(g), Some(b))?;
            let product = self.automorphism_of_product(product, g)?;
            moved[0].add(product.b);
            moved[1].add(product.a);
        }
        let lower = chain.level(x.level - 1)?;
        let p = self.auxiliary_product(chain.level(x.level)?);
        let mut part = |terms: Terms, own: Option<Value>| match own {
            Some(own) if terms.high.is_empty() => self.divide_round(own, lower),
            own => {
                let Terms { mut low, high } = terms;
                low.extend(own.map(|own| Term::scaled(p.clone(), own)));
                let (low, high) = (self.sum(low)?, self.sum(high)?);
                let whole = self.builder().join(&[low, high])?;
                self.divide_round(whole, lower)
            }
        };
        let [of_b, of_a] = moved;
        Ok([part(of_b, own.map(|own| own[0]))?, part(of_a, own.map(|own| own[1]))?])
    }

    /// Transforms one after the other, a level each, their rotations hoisted or, by `few` keys,
    /// not.
    ///
    /// # Errors
    /// As [`Recorder::linear_transform`].
    pub fn transform_chain(
        &mut self,
        x: &Recorded,
        transforms: &[LinearTransform],
        few: bool,
    ) -> Result<Recorded, RecordError> {
        transforms.iter().try_fold(*x, |x, transform| match few {
            false => self.linear_transform(&x, transform),
            true => self.linear_transform_by_few(&x, transform),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rotated by their giant steps, however they are shared among threads.
    #[test]
    fn diagonals_stand_where_they_were() {
        let (encoder, scale) = (Encoder::new(9).expect("in range"), 2f64.powi(30));
        let plan = DiagonalPlan { stride: 1, baby_steps: 4, slots: 256 };
        let entry = |k: usize, j: usize| Complex64::new((k * j % 7) as f64, j as f64 / 8.0);
        let diagonal = |k: usize| (0..256).map(|j| entry(k, j)).collect::<Vec<_>>();
        let diagonals: Vec<Option<Vec<Complex64>>> =
            (0..256).map(|k| (k % 3 > 0).then(|| diagonal(k))).collect();
        let made = LinearTransform::encode(&diagonals, plan, 1.0, 1.0, scale, &encoder);
        let made = made.expect("they encode").plaintexts;
        assert!(diagonals.iter().flatten().count() >= 2 * SHARES);
        for (k, diagonal) in diagonals.iter().enumerate() {
            let rotated = diagonal.as_ref().map(|d| rotate(d, -((k - k % 4) as i64)));
            let wanted = rotated.map(|d| encode(&encoder, &d, scale).expect("it encodes"));
            assert_eq!(made[k], wanted);
        }
    }

    /// Where diagonals are many for each baby step, and the level has few primes.
    #[test]
    fn rotations_are_divided_first_where_that_saves_work() {
        let transform = |count: usize, baby_steps: usize| LinearTransform {
            plan: DiagonalPlan { stride: 1, baby_steps, slots: 1 << 12 },
            plaintexts: vec![Some(vec![0; 2].into()); count],
            plaintext_scale: 1.0,
            scale: 1.0,
        };
        assert!(transform(900, 60).divides(3, 11));
        assert!(transform(144, 16).divides(3, 11));
        assert!(!transform(144, 16).divides(35, 11));
        assert!(!transform(16, 8).divides(3, 11));
        // Nothing is rotated before the diagonals: there is nothing to divide.
        assert!(transform(4, 1).divides(3, 11));
    }
}
