//! What is made once for a bootstrapping: matrices, labels, constants.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_complex::Complex64;

use super::super::chain::Chain;
use super::super::dft::{Group, coefficients_to_slots, slots_to_coefficients};
use super::super::error::RecordError;
use super::super::exact;
use super::super::polynomial::Mask;
use super::super::recorder::KeyKind;
use super::super::transform::{DiagonalPlan, LinearTransform, encode};
use super::OPERATION;
use super::first::{FirstFactor, first_shift};
use super::invariant::TwoValues;
use super::shape::{raised_scale, shape_of};
use crate::Encoder;
use crate::keys::sum_steps;

/// How the sine is evaluated on both halves of the coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Two sines side by side, for any number of slots.
    Pair,
    /// One sine of both halves in one ciphertext, for up to N/4 slots. With slots-to-coefficients
    /// first they are brought back by the factors of the arcsine and one rotation.
    Packed,
    /// One sine of the real half, for slots that are real; imaginary parts are left out, noise or
    /// not.
    Real,
    /// Both sines as one of the conjugation-invariant ring, for sets with primes of it and any
    /// number of slots.
    Invariant,
}

/// The matrices, labels and constants of a bootstrapping, made once.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingPlan {
    slots: usize,
    variant: Variant,
    message_ratio: u32,
    factor: BigInt,
    first: Option<FirstFactor>,
    to_slots: Vec<LinearTransform>,
    to_coefficients: Vec<LinearTransform>,
    pub(super) raised_scale: f64,
    pub(super) joined_scale: f64,
    pub(super) phases: Option<Phases>,
    /// What undoes [`pack`] where slots-to-coefficients comes first: (1, i), n numbers each.
    pub(super) unpacking: Option<Mask>,
    /// The plaintexts of the way to the conjugation-invariant ring and back.
    pub(super) rings: Option<[TwoValues; 2]>,
    few_keys: bool,
}

/// log2 of the scale that (1, i) is kept at; coefficients are below that of 2.
const UNPACKING_SCALE: i32 = 60;

/// Public numbers of magnitude 1 that slots are multiplied by before; encoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phases {
    pub coefficients: Arc<[i64]>,
    pub scale: f64,
}

/// Labels of a chain of transforms: first, then each shift more, and last.
fn labels(first: f64, shifts: &[i32], last: f64) -> Vec<f64> {
    let mut labels = vec![first];
    for &shift in shifts {
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
    encoder: &Encoder,
) -> Result<Vec<LinearTransform>, RecordError> {
    let one = |(i, group): (usize, &Group)| {
        let plan = DiagonalPlan { stride: group.stride, baby_steps: group.baby_steps, slots };
        let ratio = chain.ratio(top - i);
        LinearTransform::encode(&group.stored, plan, ratio, labels[i], labels[i + 1], encoder)
    };
    groups.iter().enumerate().map(one).collect()
}

/// (d, f d), n numbers each: one vector of 2n.
fn beside(diagonal: &[Complex64], n: usize, f: Complex64) -> Vec<Complex64> {
    let at = |j: usize| diagonal[j % diagonal.len()];
    (0..n).map(at).chain((0..n).map(|j| f * at(j))).collect()
}

/// Lets the last transform to slots put real parts into slots 0..n and imaginary parts (times i)
/// into n..2n, once its result is added to its conjugate.
fn pack(group: &mut Group, n: usize) {
    let minus_i = Complex64::new(0.0, -1.0);
    for diagonal in group.stored.iter_mut().flatten() {
        *diagonal = beside(diagonal, n, minus_i);
    }
}

/// Undoes [`pack`]: the first transform to coefficients acts on y + i rot(y, n), repeated.
fn unpack(group: &mut Group, n: usize) {
    let one = Complex64::new(1.0, 0.0);
    let i = Complex64::new(0.0, 1.0);
    let shift = n / group.stride;
    let mut stored = vec![None; shift.max(group.stored.len()) + group.stored.len()];
    for (k, diagonal) in group.stored.iter().enumerate() {
        let Some(diagonal) = diagonal else { continue };
        let rotated = |first: Complex64, second: Complex64| -> Vec<Complex64> {
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
    // Both halves of the identity are baby steps.
    group.baby_steps = group.baby_steps.max(2);
    group.stored = stored;
}

/// Halves what the first transform to coefficients' slots makes of slot 0. Of n real slots,
/// coefficient 2n - k is minus coefficient k: with y the polynomial of the lower n of them, the
/// vector is y and its conjugate, in which coefficient 0 would stand twice.
fn halve_first(group: &mut Group, n: usize) {
    for (k, diagonal) in group.stored.iter_mut().enumerate() {
        let Some(diagonal) = diagonal else { continue };
        *diagonal = (0..n).map(|j| diagonal[j % diagonal.len()]).collect();
        let meets = (n - group.stride * k % n) % n;
        diagonal[meets] *= 0.5;
    }
}

/// Diagonals at low levels up to which a transform of few slots takes no giant step: its three
/// launches take longer than the keys of twice as many baby steps, which have one digit there.
const MOST_BABY_STEPS: usize = 16;

fn without_giant_steps(group: &mut Group) {
    let count = group.stored.len();
    if count <= MOST_BABY_STEPS {
        group.baby_steps = count.next_power_of_two();
    }
}

fn add(to: &mut Option<Vec<Complex64>>, more: Vec<Complex64>) {
    *to = Some(match to.take() {
        Some(there) => there.into_iter().zip(more).map(|(x, y)| x + y).collect(),
        None => more,
    });
}

impl BootstrappingPlan {
    /// Plans a bootstrapping of ciphertexts with `slots` slots. `message_ratio` is rho: Q_0 is
    /// about 2^rho times the largest coefficient of a message. One more takes two bits from the
    /// error of the sine, which is largest for vectors of equal slots (7 correct bits at rho = 5,
    /// 13 at 8, 17 at 10), and adds up to one bit of noise.
    ///
    /// # Errors
    /// When the set has no bootstrapping, the ratio is below 5 or leaves no factor for the message,
    /// or the number of slots does not fit the variant.
    pub fn new(
        chain: &Chain,
        slots: usize,
        message_ratio: u32,
        variant: Variant,
        encoder: &Encoder,
    ) -> Result<Self, RecordError> {
        Self::build(chain, slots, message_ratio, variant, None, encoder)
    }

    /// [`BootstrappingPlan::new`] for vectors that may have equal slots: each slot is multiplied by
    /// its entry of `phases` before, which takes a level (ciphertexts come at level 1 or above),
    /// and divided by it in the last transform. With public random phases of magnitude 1 no vector
    /// that was chosen before them is worse than a random one.
    ///
    /// # Errors
    /// As [`BootstrappingPlan::new`], and when there is not one phase of magnitude 1 for each slot.
    pub fn with_phases(
        chain: &Chain,
        slots: usize,
        message_ratio: u32,
        variant: Variant,
        phases: &[Complex64],
        encoder: &Encoder,
    ) -> Result<Self, RecordError> {
        Self::build(chain, slots, message_ratio, variant, Some(phases), encoder)
    }

    fn build(
        chain: &Chain,
        slots: usize,
        message_ratio: u32,
        variant: Variant,
        phases: Option<&[Complex64]>,
        encoder: &Encoder,
    ) -> Result<Self, RecordError> {
        let shape = shape_of(chain)?;
        let wrong = |why: String| Err(RecordError::Shape { operation: OPERATION, why });
        let most = match variant {
            Variant::Pair | Variant::Real | Variant::Invariant => chain.most_slots(),
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
        if let Some(phases) = phases {
            if phases.len() != slots || phases.iter().any(|u| (u.norm() - 1.0).abs() > 1e-9) {
                let count = phases.len();
                return wrong(format!("{count} phases: {slots} of magnitude 1 are needed"));
            }
            if variant == Variant::Real {
                return wrong("phases make real slots complex".into());
            }
            if shape.stc_first {
                return wrong("phases need slots-to-coefficients after the sine".into());
            }
        }
        let mut rings = None;
        if variant == Variant::Invariant {
            if !shape.invariant_sine {
                return wrong("the set has no primes of the conjugation-invariant ring".into());
            }
            let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
            let values = |second| TwoValues::new(one, second, encoder, chain.degree());
            rings = Some([values(-i)?, values(i)?]);
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
        let raised_scale = raised_scale(chain, slots)?;
        let sine = chain.sine_scale(shape.sine_input()).expect("a level of EvalMod");
        let mut groups = coefficients_to_slots(slots, chain.most_slots(), shape.to_slots())?;
        let mut back = slots_to_coefficients(slots, shape.to_coefficients())?;
        if shape.stc_first && slots < chain.most_slots() {
            back.iter_mut().for_each(without_giant_steps);
        }
        let (mut period, mut unpacking) = (slots, None);
        if variant == Variant::Packed {
            period = 2 * slots;
            pack(groups.last_mut().expect("a group"), slots);
            if shape.stc_first {
                let vector = beside(&[Complex64::new(1.0, 0.0)], slots, Complex64::i());
                let scale = 2f64.powi(UNPACKING_SCALE);
                unpacking = Some(Mask { coefficients: encode(encoder, &vector, scale)?, scale });
            } else {
                unpack(back.first_mut().expect("a group"), slots);
            }
        }
        // Of the first transform to coefficients, which unpacks where it comes last.
        let back_period = if unpacking.is_some() { slots } else { period };
        if variant == Variant::Real && !shape.stc_first {
            halve_first(back.first_mut().expect("a group"), slots);
        }
        if let Some(phases) = phases {
            for diagonal in back.last_mut().expect("a group").stored.iter_mut().flatten() {
                let entry = |(j, u): (usize, &Complex64)| diagonal[j % diagonal.len()] * u.conj();
                *diagonal = phases.iter().enumerate().map(entry).collect();
            }
        }
        let mut shifts = shape.cts_shifts.clone();
        let mut first = None;
        if shape.first_by_keys {
            first = Some(FirstFactor::new(chain, slots, encoder)?);
            groups.remove(0);
            shifts[0] = first_shift(chain, slots)?;
        }
        let n = groups.len();
        // Few slots may take fewer transforms than the set has levels for.
        shifts.truncate(n - 1 + usize::from(first.is_some()));
        let to = labels(raised_scale, &shifts, sine / 2.0);
        let to = &to[usize::from(first.is_some())..];
        let raised = shape.raised_level(chain.most_slots(), slots);
        let mut to_slots = transforms(chain, &groups[..n - 1], slots, raised, to, encoder)?;
        let last = &groups[n - 1..];
        let at = raised + 1 - n;
        to_slots.extend(transforms(chain, last, period, at, &to[n - 1..], encoder)?);

        let q0 = exact::nearest(&q0);
        let joined_scale = shape.sine_scale * (exact::nearest(&factor) * s0) / q0;
        let (top, start, end) = if shape.stc_first {
            let from = shape.stc_groups;
            (from, chain.scale(from), chain.scale(0))
        } else {
            (shape.out(), Some(joined_scale), chain.scale(shape.effective_level))
        };
        let from = labels(
            start.expect("a normal level"),
            &vec![shape.stc_shift; back.len() - 1],
            end.expect("a normal level"),
        );
        let mut to_coefficients = transforms(chain, &back[..1], back_period, top, &from, encoder)?;
        to_coefficients.extend(transforms(chain, &back[1..], slots, top - 1, &from[1..], encoder)?);
        let phases = phases.map(|phases| -> Result<Phases, RecordError> {
            let from = chain.scale(1).expect("levels above 0 are normal");
            let scale = s0 * chain.ratio(1) / from;
            Ok(Phases { coefficients: encode(encoder, phases, scale)?, scale })
        });
        let phases = phases.transpose()?;
        let factor = factor.into();
        Ok(Self {
            slots,
            variant,
            message_ratio,
            factor,
            first,
            to_slots,
            to_coefficients,
            raised_scale,
            joined_scale,
            phases,
            unpacking,
            rings,
            few_keys: false,
        })
    }

    /// The same with two rotation keys a transform, or one, for more work
    /// ([`Recorder::linear_transform_by_few`](super::super::Recorder::linear_transform_by_few)).
    #[must_use]
    pub fn with_few_keys(self) -> Self {
        Self { few_keys: true, ..self }
    }

    /// Whether transforms rotate by few keys.
    pub fn few_keys(&self) -> bool {
        self.few_keys
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

    /// The first transform from coefficients to slots, where keys do it.
    pub fn first(&self) -> Option<&FirstFactor> {
        self.first.as_ref()
    }

    /// The transforms from coefficients to slots, but a first one by keys.
    pub fn to_slots(&self) -> &[LinearTransform] {
        &self.to_slots
    }

    /// The transforms from slots to coefficients.
    pub fn to_coefficients(&self) -> &[LinearTransform] {
        &self.to_coefficients
    }

    /// The level that the modulus is raised to.
    pub fn raised_level(&self, chain: &Chain) -> usize {
        let shape = chain.shape().bootstrapping.as_ref();
        shape.map_or(chain.top(), |shape| shape.raised_level(chain.most_slots(), self.slots))
    }

    /// The rotations of what was raised that are added to it, one list after the other, until it
    /// repeats as its slots do: SubSum. Where the first transform is done by keys, and keys are not
    /// to be few, three rotations at a time share a decomposition.
    pub(super) fn sums(&self, chain: &Chain) -> Vec<Vec<usize>> {
        let period = chain.most_slots() / self.first.as_ref().map_or(1, FirstFactor::traced);
        let at_once = if self.first.is_some() && !self.few_keys { 4 } else { 2 };
        let times = |step: Vec<usize>| step.into_iter().map(|by| by * self.slots).collect();
        sum_steps(period / self.slots, at_once).into_iter().map(times).collect()
    }

    /// The level that ciphertexts are brought to first: 0, or more where something comes before the
    /// modulus is raised.
    pub fn start(&self, chain: &Chain) -> usize {
        match &chain.shape().bootstrapping {
            Some(shape) if shape.stc_first => shape.stc_groups,
            _ => usize::from(self.phases.is_some()),
        }
    }

    /// The keys that it needs, each with the highest level at which it uses it.
    pub fn key_levels(&self, chain: &Chain) -> Vec<(KeyKind, usize)> {
        let Some(shape) = &chain.shape().bootstrapping else { return Vec::new() };
        let (raised, sine) = (self.raised_level(chain), shape.sine_input());
        let mut levels: BTreeMap<KeyKind, usize> = [
            (KeyKind::Multiplication, sine),
            (KeyKind::DenseToSparse, raised),
            (KeyKind::Galois(chain.conjugation()), shape.to_slots_output()),
        ]
        .into();
        match &self.first {
            Some(first) => levels.extend(first.kinds().map(|kind| (kind, raised))),
            None => _ = levels.insert(KeyKind::SparseToDense, raised),
        }
        let back = if shape.stc_first { shape.stc_groups } else { shape.out() };
        let transforms = self.to_slots.iter().enumerate().map(|(i, t)| (raised - i, t));
        let transforms = transforms
            .chain(self.to_coefficients.iter().enumerate().map(|(i, t)| (back - i, t)))
            .flat_map(|(level, t)| {
                let rotations = if self.few_keys { t.few_rotations() } else { t.rotations() };
                rotations.into_iter().map(move |by| (by, level))
            });
        let repeats = self.sums(chain).into_iter().flatten();
        for (by, level) in transforms.chain(repeats.map(|by| (by, raised))) {
            let held = levels.entry(KeyKind::Galois(chain.rotation(by as i64))).or_insert(level);
            *held = level.max(*held);
        }
        if self.unpacking.is_some() {
            let kind = KeyKind::Galois(chain.rotation(self.slots as i64));
            let held = levels.entry(kind).or_insert(shape.out());
            *held = shape.out().max(*held);
        }
        if self.variant == Variant::Invariant {
            levels.remove(&KeyKind::Multiplication);
            levels.remove(&KeyKind::Galois(chain.conjugation()));
            levels.insert(KeyKind::InvariantMultiplication, sine);
            levels.insert(KeyKind::ToInvariant, shape.to_slots_output());
            levels.insert(KeyKind::FromInvariant, shape.out());
        }
        levels.into_iter().collect()
    }

    /// The keys that [`Recorder::half_bootstrap`](super::super::Recorder::half_bootstrap) needs,
    /// each with the highest level at which it uses it.
    pub fn half_key_levels(&self, chain: &Chain) -> Vec<(KeyKind, usize)> {
        Self { to_coefficients: Vec::new(), ..self.clone() }.key_levels(chain)
    }

    /// The keys that it needs.
    pub fn keys(&self, chain: &Chain) -> Vec<KeyKind> {
        self.key_levels(chain).into_iter().map(|(kind, _)| kind).collect()
    }
}
