//! From a sum at the wire level to tables of it.

use super::polynomial::{Evaluator, Terms, powers};
use crate::exponential::exponential;
use crate::{DiscreteParameters, Result, Table};
use girih_ckks::program::{
    Chain, DiagonalPlan, Group, KeyKind, LinearTransform, RecordError, Recorded, Recorder,
    transform_groups,
};
use girih_ckks::{Complex64, Encoder, KeyRange};
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The levels, labels and matrices of a look-up, made once for tables of so many levels.
#[derive(Clone, Debug)]
pub struct LookupPlan {
    /// Slots to coefficients, from the wire level.
    pub to_coefficients: Arc<[LinearTransform]>,
    /// Coefficients to slots, from the level that the modulus is raised to.
    pub to_slots: Vec<LinearTransform>,
    /// The coefficients of the exponential before its squarings.
    pub exponential: Vec<Complex64>,
    set: DiscreteParameters,
    levels: usize,
    raised_scale: f64,
    exponential_scale: f64,
}

/// What stands between the steps from numbers to slots t/K.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// At level 0: numbers in coefficients, in units of Q_0/p.
    pub coefficients: Recorded,
    /// The same under a larger modulus, plus multiples of Q_0.
    pub raised: Recorded,
    /// t/K of the first half of the numbers, and of the second.
    pub halves: [Recorded; 2],
}

/// What stands between the steps of an exponential.
#[derive(Clone, Debug)]
pub struct Exponential {
    /// Chebyshev polynomials of the input.
    pub basis: Terms,
    /// exp(2 pi i t/2^r).
    pub polynomial: Recorded,
    /// After each squaring; the last is z.
    pub squarings: Vec<Recorded>,
}

/// Labels of a chain of transforms: from `first` in equal steps of a power of two, and `last`.
fn labels(first: f64, last: f64, groups: usize) -> Vec<f64> {
    let shift = (libm::log2(last / first) / groups as f64).round_ties_even();
    let mut labels = vec![first];
    for _ in 1..groups {
        labels.push(labels[labels.len() - 1] * libm::exp2(shift));
    }
    labels.push(last);
    labels
}

/// Diagonals of a giant step where there are 256: the rule of CKKS has 32, and 16 take eight key
/// switches less.
const BABIES_OF_256: usize = 16;

/// The matrices to slots, or back.
fn groups(
    slots: usize,
    stages: &[usize],
    to_slots: bool,
) -> std::result::Result<Vec<Group>, RecordError> {
    let mut groups = transform_groups(slots, stages, to_slots)?;
    for group in groups.iter_mut().filter(|group| group.stored.len() == 256) {
        group.baby_steps = BABIES_OF_256;
    }
    Ok(groups)
}

fn steps(group: &Group, slots: usize) -> DiagonalPlan {
    DiagonalPlan { stride: group.stride, baby_steps: group.baby_steps, slots }
}

fn transforms(
    chain: &Chain,
    groups: &[Group],
    top: usize,
    labels: &[f64],
    encoder: &Encoder,
) -> Result<Vec<LinearTransform>> {
    let one = |(i, group): (usize, &Group)| {
        let plan = steps(group, chain.most_slots());
        let (ratio, from, to) = (chain.ratio(top - i), labels[i], labels[i + 1]);
        Ok(LinearTransform::encode(&group.stored, plan, ratio, from, to, encoder)?)
    };
    groups.iter().enumerate().map(one).collect()
}

/// The keys that look-ups of a set take, each for the levels at which one uses it.
///
/// # Errors
/// None for a checked set.
pub fn key_ranges(set: &DiscreteParameters) -> Result<Vec<KeyRange>> {
    let (ckks, levels) = (set.ckks(), set.table_levels());
    let (start, top) = (set.exponential_level(levels), set.raised_level(levels));
    let mut held: BTreeMap<KeyKind, usize> = [
        (KeyKind::Multiplication, start),
        (KeyKind::DenseToSparse, top),
        (KeyKind::SparseToDense, top),
        (KeyKind::conjugation(ckks), start),
    ]
    .into();
    let ways = [(set.to_slots(), true, top), (set.to_coefficients(), false, set.wire_level())];
    for (stages, to_slots, top) in ways {
        for (i, group) in groups(ckks.slots(), stages, to_slots)?.iter().enumerate() {
            let used = |k: usize| group.stored[k].is_some();
            let rotations = steps(group, ckks.slots()).rotations(group.stored.len(), used);
            let kinds = rotations.into_iter().map(|by| KeyKind::rotation(ckks, by as i64));
            for kind in kinds.flatten() {
                let most = held.entry(kind).or_insert(top - i);
                *most = (*most).max(top - i);
            }
        }
    }
    Ok(held.into_iter().map(|(kind, level)| kind.up_to(level)).collect())
}

/// Sums of magnitudes are so much of the norm times sqrt(n) at most: sqrt(2/pi) is 0.80.
pub(crate) const MAGNITUDES: f64 = 0.9;

/// What the rounding of each map adds to a number, a row of a matrix times all numbers
/// (`noise::Constants`): the row's norm times sqrt(n) in units of the map's encoding, and n.
pub(crate) fn rounded_rows(set: &DiscreteParameters) -> Vec<(f64, f64)> {
    let numbers = set.numbers() as f64;
    let (mut done, count) = (0, set.to_coefficients().len());
    let one = |(i, own): (usize, &usize)| {
        done += own;
        let slots = libm::exp2(done as f64);
        match i + 1 == count {
            true => (numbers / 12f64.sqrt(), numbers),
            false => (std::f64::consts::SQRT_2 * slots, numbers.min(6.0 * slots)),
        }
    };
    set.to_coefficients().iter().enumerate().map(one).collect()
}

/// What a map's rounded diagonals make of numbers in units of its encoding.
pub(crate) fn weights_of_rounding(set: &DiscreteParameters) -> Vec<f64> {
    rounded_rows(set).into_iter().map(|(norm, _)| MAGNITUDES * norm).collect()
}

/// The rounding of the last map leaves so many times what that of the first does, and more, where
/// labels do not have equal steps.
const UNEVEN: f64 = 16.0;

/// Labels of the transforms from slots to coefficients, where numbers modulo `modulus` fill Q_0.
///
/// The scales that the maps are encoded at have one product. In small rings steps are equal; in
/// large ones the last map has more of it, such that all leave as much of their rounding.
pub(crate) fn coefficient_labels(set: &DiscreteParameters, modulus: u32) -> Vec<f64> {
    let (first, last) = (set.scale(), set.turn() / f64::from(modulus));
    let weights = weights_of_rounding(set);
    let groups = weights.len();
    if weights[groups - 1] < UNEVEN * weights[0] {
        return labels(first, last, groups);
    }
    let weights: Vec<f64> = weights.into_iter().map(libm::log2).collect();
    let even = (libm::log2(last / first) - weights.iter().sum::<f64>()) / groups as f64;
    let mut labels = vec![first];
    for weight in &weights[..groups - 1] {
        labels.push(labels[labels.len() - 1] * libm::exp2((even + weight).round_ties_even()));
    }
    labels.push(last);
    labels
}

/// Rotations by amounts of slots for which the keys of a set serve at the level of wires: those to
/// slots, which are used above it.
///
/// # Errors
/// None for a checked set.
pub fn rotations(set: &DiscreteParameters) -> Result<Vec<usize>> {
    let slots = set.ckks().slots();
    let mut all = BTreeSet::new();
    for group in groups(slots, set.to_slots(), true)? {
        let used = |k: usize| group.stored[k].is_some();
        all.extend(steps(&group, slots).rotations(group.stored.len(), used));
    }
    Ok(all.into_iter().collect())
}

impl LookupPlan {
    /// The matrices from slots to coefficients, where a number m becomes m/`modulus` of a turn.
    /// All look-ups of a set share those of its own modulus.
    ///
    /// # Errors
    /// None for a chain of the set.
    pub fn to_coefficients(
        set: &DiscreteParameters,
        modulus: u32,
        chain: &Chain,
        encoder: &Encoder,
    ) -> Result<Arc<[LinearTransform]>> {
        let groups = groups(chain.most_slots(), set.to_coefficients(), false)?;
        let labels = coefficient_labels(set, modulus);
        Ok(transforms(chain, &groups, set.wire_level(), &labels, encoder)?.into())
    }

    /// The plan for tables of `levels` levels.
    ///
    /// # Errors
    /// [`Error::Levels`](crate::Error::Levels) for more levels than the set has for tables.
    pub fn new(
        set: &DiscreteParameters,
        chain: &Chain,
        to_coefficients: Arc<[LinearTransform]>,
        levels: usize,
        encoder: &Encoder,
    ) -> Result<Self> {
        if levels > set.table_levels() {
            return Err(crate::Error::Levels {
                what: "these tables".into(),
                needed: levels,
                set: set.to_string(),
                found: set.table_levels(),
            });
        }
        let scale = |level| chain.scale(level).expect("levels above wires have a scale");
        let exponential_scale = scale(set.exponential_level(levels));
        let raised_scale = set.interval() * set.turn();
        let groups = groups(chain.most_slots(), set.to_slots(), true)?;
        let labels = labels(raised_scale, exponential_scale / 2.0, groups.len());
        let top = set.raised_level(levels);
        Ok(Self {
            to_coefficients,
            to_slots: transforms(chain, &groups, top, &labels, encoder)?,
            exponential: exponential(set.interval(), set.squarings(), set.degree()),
            set: set.clone(),
            levels,
            raised_scale,
            exponential_scale,
        })
    }

    /// Levels of the tables that it is for.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// sum over i of `weights[i]` times ciphertext i, plus `constant` in both halves.
    ///
    /// # Errors
    /// None for ciphertexts of the wire level.
    pub fn sum(
        recorder: &mut Recorder,
        terms: &[(i64, Recorded)],
        constant: i64,
    ) -> std::result::Result<Recorded, RecordError> {
        let mut sum: Option<Recorded> = None;
        for (weight, x) in terms {
            let term = match weight {
                1 => *x,
                _ => recorder.multiply_integer(x, &BigInt::from(*weight))?,
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => recorder.add(&sum, &term)?,
            });
        }
        let sum = sum.ok_or_else(|| RecordError::Shape {
            operation: "a sum",
            why: "it has no terms".into(),
        })?;
        match constant {
            0 => Ok(sum),
            c => recorder.add_constant(&sum, c as f64, c as f64),
        }
    }

    /// From a sum at the wire level to slots t/K: t = m/p + a small error + an integer.
    ///
    /// # Errors
    /// When the ciphertext does not stand at the wire level.
    pub fn slots(
        &self,
        recorder: &mut Recorder,
        x: &Recorded,
    ) -> std::result::Result<Slots, RecordError> {
        if x.level != self.set.wire_level() {
            let why = format!("numbers stand at {}", self.set.wire_level());
            return Err(RecordError::Level { operation: "a look-up", level: x.level, why });
        }
        let coefficients = recorder.transform_chain(x, &self.to_coefficients, false)?;
        self.slots_of(recorder, &coefficients)
    }

    /// The same from coefficients at level 0, m/p of a turn each.
    ///
    /// # Errors
    /// When the ciphertext does not stand at level 0.
    pub fn slots_of(
        &self,
        recorder: &mut Recorder,
        coefficients: &Recorded,
    ) -> std::result::Result<Slots, RecordError> {
        let coefficients = *coefficients;
        let (one, top) = (BigInt::from(1), self.set.raised_level(self.levels));
        let raised = recorder.raise_modulus_to(&coefficients, &one, top, self.raised_scale)?.result;
        let both = recorder.transform_chain(&raised, &self.to_slots, false)?;
        let conjugate = recorder.conjugate(&both)?;
        let re = recorder.add(&both, &conjugate)?;
        let im = recorder.sub(&conjugate, &both)?;
        let im = recorder.multiply_i(&im)?;
        let halves = [re, im].map(|half| Recorded { scale: self.exponential_scale, ..half });
        Ok(Slots { coefficients, raised, halves })
    }

    /// exp(2 pi i t) of slots t/K at the level where the exponential starts.
    ///
    /// # Errors
    /// When levels run out.
    pub fn exponential(
        &self,
        recorder: &mut Recorder,
        x: &Recorded,
    ) -> std::result::Result<Exponential, RecordError> {
        let degree = self.exponential.len() - 1;
        let basis = recorder.chebyshev_basis(x, degree, 2)?;
        let terms: Terms = basis.terms().map(|(j, t)| (j, *t)).collect();
        let level = self.set.wire_level() + self.levels + self.set.squarings();
        let scale = recorder.chain().scale(level).expect("levels above wires have a scale");
        let mut evaluator = Evaluator { recorder, terms: &terms, chebyshev: true };
        let polynomial = evaluator.evaluate(&self.exponential, level, scale)?;
        let mut squarings = Vec::new();
        let mut y = polynomial;
        for _ in 0..self.set.squarings() {
            let square = recorder.square(&y)?;
            y = recorder.rescale(&square)?;
            squarings.push(y);
        }
        Ok(Exponential { basis: terms, polynomial, squarings })
    }

    /// S of each table, of one half, at the wire level.
    ///
    /// # Errors
    /// When levels run out.
    pub fn tables(
        &self,
        recorder: &mut Recorder,
        z: &Recorded,
        tables: &[Table],
    ) -> std::result::Result<Vec<Recorded>, RecordError> {
        let polynomials: Vec<&[Complex64]> = tables.iter().map(Table::polynomial).collect();
        let (level, scale) = (self.set.wire_level(), self.set.scale());
        let terms = powers(recorder, z, &polynomials, level)?;
        let mut evaluator = Evaluator { recorder, terms: &terms, chebyshev: false };
        polynomials.iter().map(|c| evaluator.evaluate(c, level, scale)).collect()
    }

    /// Both halves in one ciphertext: (S + i S') + conj(S - i S').
    ///
    /// # Errors
    /// None for halves of one level.
    pub fn join(
        recorder: &mut Recorder,
        [re, im]: [&Recorded; 2],
    ) -> std::result::Result<Recorded, RecordError> {
        let im = recorder.multiply_i(im)?;
        let sum = recorder.add(re, &im)?;
        let difference = recorder.sub(re, &im)?;
        let conjugate = recorder.conjugate(&difference)?;
        recorder.add(&sum, &conjugate)
    }

    /// The whole look-up of several tables on one sum.
    ///
    /// # Errors
    /// As the steps.
    pub fn lookup(
        &self,
        recorder: &mut Recorder,
        x: &Recorded,
        tables: &[Table],
    ) -> std::result::Result<Vec<Recorded>, RecordError> {
        let halves = self.slots(recorder, x)?.halves;
        self.tables_of(recorder, &halves, tables)
    }

    /// The same from coefficients at level 0, which are m/p' of a turn for tables modulo p'.
    ///
    /// # Errors
    /// As the steps.
    pub fn lookup_phases(
        &self,
        recorder: &mut Recorder,
        x: &Recorded,
        tables: &[Table],
    ) -> std::result::Result<Vec<Recorded>, RecordError> {
        let halves = self.slots_of(recorder, x)?.halves;
        self.tables_of(recorder, &halves, tables)
    }

    fn tables_of(
        &self,
        recorder: &mut Recorder,
        halves: &[Recorded; 2],
        tables: &[Table],
    ) -> std::result::Result<Vec<Recorded>, RecordError> {
        let mut parts = Vec::with_capacity(2);
        for half in halves {
            let z = self.exponential(recorder, half)?;
            let z = z.squarings.last().copied().unwrap_or(z.polynomial);
            parts.push(self.tables(recorder, &z, tables)?);
        }
        parts[0].iter().zip(&parts[1]).map(|(re, im)| Self::join(recorder, [re, im])).collect()
    }
}
