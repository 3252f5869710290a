//! What a set says of its bootstrapping.

use super::LevelKind;

/// The checked bootstrapping data of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingParameters {
    pub(super) message_ratio: u32,
    pub(super) normal: usize,
    pub(super) to_coefficients: usize,
    pub(super) to_slots: usize,
    pub(super) to_slots_shift: i32,
    pub(super) to_slots_shifts: Vec<i32>,
    pub(super) to_slots_stages: Vec<usize>,
    pub(super) first_by_keys: bool,
    pub(super) baby_steps: Vec<(usize, usize)>,
    pub(super) to_coefficients_shift: i32,
    pub(super) eval_mod_scale: f64,
    pub(super) interval: u32,
    pub(super) double_angles: usize,
    pub(super) sparse_weight: usize,
    pub(super) arcsine_levels: usize,
    pub(super) slots_first: bool,
    pub(super) invariant_sine: bool,
}

/// Levels that the modular reduction takes besides its double angles: the shifted argument's
/// square and a polynomial of degree 15.
const POLYNOMIAL_LEVELS: usize = 5;

/// Auxiliary primes of the key from the dense to the sparse secret. No more: its secret is safe
/// only under a small modulus.
pub const SPARSE_AUXILIARY: usize = 2;

impl BootstrappingParameters {
    /// rho, unless a bootstrapping asks for another: `Q_0` is about 2^rho times the largest
    /// coefficient. A larger one lowers the sine's error by two bits and raises
    /// the noise by up to one.
    pub fn message_ratio(&self) -> u32 {
        self.message_ratio
    }

    /// L_eff, the level that a bootstrapping ends at.
    pub fn output_level(&self) -> usize {
        self.normal
    }

    /// The level that ciphertexts are brought to first: 0,
    /// or where slots go to coefficients before.
    pub fn input_level(&self) -> usize {
        if self.slots_first { self.to_coefficients } else { 0 }
    }

    /// The level of the reduced message, corrected if the set does that: where
    /// slots-to-coefficients starts, unless it was done before.
    pub fn reduced_level(&self) -> usize {
        match (self.slots_first, self.arcsine_levels) {
            (false, _) => self.normal + self.to_coefficients,
            // An adjust to the canonical scale takes one.
            (true, 0) => self.normal + 1,
            (true, _) => self.normal + usize::from(self.invariant_sine),
        }
    }

    /// The lowest level of the modular reduction's own scales. With slots-to-coefficients first the
    /// levels of the correction are below it, of normal size; else they belong to it.
    pub fn eval_mod_output_level(&self) -> usize {
        let correction = if self.slots_first { self.arcsine_levels } else { 0 };
        self.reduced_level() + correction
    }

    /// Levels of the polynomial that corrects the sine; 0: none.
    pub fn arcsine_levels(&self) -> usize {
        self.arcsine_levels
    }

    /// Whether slots go to coefficients before the modulus is raised.
    pub fn slots_to_coefficients_first(&self) -> bool {
        self.slots_first
    }

    /// The level that the modular reduction starts at.
    pub fn eval_mod_level(&self) -> usize {
        self.reduced_level() + self.arcsine_levels + POLYNOMIAL_LEVELS + self.double_angles
    }

    /// The top level, that coefficients-to-slots starts at.
    pub fn top_level(&self) -> usize {
        self.to_slots_output_level() + self.to_slots - usize::from(self.first_by_keys)
    }

    /// Number of transforms from coefficients to slots, a level each but for a first one by keys.
    pub fn coefficients_to_slots(&self) -> usize {
        self.to_slots
    }

    /// Number of transforms from slots to coefficients, a level each.
    pub fn slots_to_coefficients(&self) -> usize {
        self.to_coefficients
    }

    /// log2 of the label's factor after each transform to slots but the last.
    pub fn coefficients_to_slots_shifts(&self) -> Vec<i32> {
        if self.to_slots_shifts.is_empty() {
            vec![self.to_slots_shift; self.to_slots - 1]
        } else {
            self.to_slots_shifts.clone()
        }
    }

    /// Whether the first transform to slots is done by keys while the modulus is raised
    /// ([`KeyKind::First`](crate::KeyKind::First)), which takes no level.
    pub fn first_transform_by_keys(&self) -> bool {
        self.first_by_keys
    }

    /// Stages as the set lists them, for all slots; none where they have equal shares.
    pub(crate) fn stages_listed(&self) -> &[usize] {
        &self.to_slots_stages
    }

    /// Pairs of a number of diagonals and the baby steps of a transform of so many; others follow
    /// a fixed rule.
    pub fn baby_steps(&self) -> &[(usize, usize)] {
        &self.baby_steps
    }

    /// log2 of the label's factor after each transform to coefficients but the last.
    pub fn slots_to_coefficients_shift(&self) -> i32 {
        self.to_coefficients_shift
    }

    /// E_out, the scale just under the modular reduction.
    pub fn eval_mod_scale(&self) -> f64 {
        self.eval_mod_scale
    }

    /// K: the argument of the modular reduction lies in `[-K, K]`.
    pub fn interval(&self) -> u32 {
        self.interval
    }

    /// r, double angles after the cosine.
    pub fn double_angles(&self) -> usize {
        self.double_angles
    }

    /// Non-zero coefficients of the sparse secret.
    pub fn sparse_weight(&self) -> usize {
        self.sparse_weight
    }

    /// Whether both sines of complex slots are one, in the conjugation-invariant ring
    /// ([`KeyKind::ToInvariant`](crate::KeyKind::ToInvariant)).
    pub fn invariant_sine(&self) -> bool {
        self.invariant_sine
    }

    /// The level that coefficients-to-slots ends at: that of the modular reduction, or one above it
    /// where both sines are one.
    pub fn to_slots_output_level(&self) -> usize {
        self.eval_mod_level() + usize::from(self.invariant_sine)
    }

    /// What `level` is for; `level` is at most the top one.
    pub fn kind(&self, level: usize) -> LevelKind {
        match level {
            l if l <= self.normal => LevelKind::Normal,
            l if l <= self.eval_mod_output_level() && !self.slots_first => {
                LevelKind::SlotsToCoefficients
            }
            l if l <= self.eval_mod_level() => LevelKind::EvalMod,
            _ => LevelKind::CoefficientsToSlots,
        }
    }

    /// Butterfly stages of each coefficients-to-slots transform for n = 2^`log2_slots` slots
    /// of 2^`log2_most` = N/2, in the order of application.
    ///
    /// Unless the set lists them, each takes `floor(log2 n / groups)`; what remains goes one each
    /// to groups 1, 3, 4, .. and last to 2, counted from 1. A listed number is for all slots; fewer
    /// take equal shares. Where the first transform is done by keys, fewer slots take fewer
    /// transforms: the first has a stage more than for all slots, if there are so many, and what is
    /// left goes to as few others as have no more stages than theirs for all slots, in equal
    /// shares. At least one is left, as it brings the scale to that of the modular reduction.
    pub fn coefficients_to_slots_stages(&self, log2_most: u32, log2_slots: u32) -> Vec<usize> {
        let (most, slots) = (log2_most as usize, log2_slots.min(log2_most) as usize);
        to_slots_stages(&self.to_slots_stages, (self.to_slots, self.first_by_keys), most, slots)
    }

    /// The level that the modulus is raised to for n = 2^`log2_slots` slots of 2^`log2_most` = N/2:
    /// the top one, or below it where so few slots take fewer transforms.
    pub fn raised_level(&self, log2_most: u32, log2_slots: u32) -> usize {
        let transforms = self.coefficients_to_slots_stages(log2_most, log2_slots).len();
        self.to_slots_output_level() + transforms - usize::from(self.first_by_keys)
    }

    /// log2 of the number of keys of a first transform of n = 2^`log2_slots` slots of
    /// 2^`log2_most` = N/2, where keys do it.
    pub(crate) fn log2_first_keys(&self, log2_most: u32, log2_slots: u32) -> usize {
        let all = self.coefficients_to_slots_stages(log2_most, log2_most)[0];
        all + usize::from(log2_slots < log2_most)
    }

    /// Butterfly stages of each slots-to-coefficients transform for n = 2^`log2_slots` slots, in
    /// the order of application; what remains after an equal share goes one each to groups 1, 2, ..
    pub fn slots_to_coefficients_stages(&self, log2_slots: u32) -> Vec<usize> {
        shares(log2_slots as usize, &(0..self.to_coefficients).collect::<Vec<_>>())
    }
}

/// Equal shares, and what remains to the first groups of `order`. Where there are fewer stages than
/// groups, some groups have none.
pub(crate) fn shares(stages: usize, order: &[usize]) -> Vec<usize> {
    let groups = order.len();
    let mut shares = vec![stages / groups; groups];
    for &group in &order[..stages % groups] {
        shares[group] += 1;
    }
    shares
}

/// The stages of the transforms to slots: `listed` for all 2^`log2_most` slots, or none listed;
/// `groups` transforms, the first by keys or not.
pub(crate) fn to_slots_stages(
    listed: &[usize],
    (groups, by_keys): (usize, bool),
    log2_most: usize,
    log2_slots: usize,
) -> Vec<usize> {
    let equal = |stages: usize| {
        let mut order: Vec<_> = (0..groups).filter(|&i| i != 1).collect();
        order.extend((groups > 1).then_some(1));
        shares(stages, &order)
    };
    let full = if listed.is_empty() { equal(log2_most) } else { listed.to_vec() };
    match full.split_first() {
        _ if log2_slots == log2_most => full,
        Some((&first, rest)) if by_keys => {
            // A key of the first transform has one digit and needs no decomposition, so that one
            // stage more is cheaper there than in another transform, and each transform that is
            // left out spares a level.
            let kept = log2_slots.min(first + 1);
            let left = log2_slots - kept;
            let most = rest.iter().copied().max().unwrap_or(1).max(1);
            let others = left.div_ceil(most).clamp(1, rest.len());
            [vec![kept], shares(left, &(0..others).collect::<Vec<_>>())].concat()
        }
        _ => equal(log2_slots),
    }
}

/// Diagonals of a giant step, by the number of diagonals: as listed, or by the rule of all others.
pub(crate) fn baby_steps(count: usize, listed: &[(usize, usize)]) -> usize {
    match listed.iter().find(|(diagonals, _)| *diagonals == count) {
        Some(&(_, steps)) => steps,
        None => match count {
            0..=4 => count.max(1),
            15 | 16 => 4,
            31 | 32 | 63 | 64 => 8,
            _ => 1 << (count.ilog2() + 1).div_ceil(2),
        },
    }
}
