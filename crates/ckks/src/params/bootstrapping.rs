//! What a set says of its bootstrapping.

use super::LevelKind;
use crate::{Error, Result};

/// The checked bootstrapping data of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingParameters {
    pub(super) message_ratio: u32,
    pub(super) normal: usize,
    pub(super) to_coefficients: usize,
    pub(super) to_slots: usize,
    pub(super) to_slots_shift: i32,
    pub(super) to_coefficients_shift: i32,
    pub(super) eval_mod_scale: f64,
    pub(super) interval: u32,
    pub(super) double_angles: usize,
    pub(super) sparse_weight: usize,
    pub(super) arcsine_levels: usize,
    pub(super) slots_first: bool,
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
            (true, _) => self.normal,
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
        self.eval_mod_level() + self.to_slots
    }

    /// Number of transforms from coefficients to slots, a level each.
    pub fn coefficients_to_slots(&self) -> usize {
        self.to_slots
    }

    /// Number of transforms from slots to coefficients, a level each.
    pub fn slots_to_coefficients(&self) -> usize {
        self.to_coefficients
    }

    /// log2 of the label's factor after each transform to slots but the last.
    pub fn coefficients_to_slots_shift(&self) -> i32 {
        self.to_slots_shift
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

    /// Butterfly stages of each coefficients-to-slots transform for n = 2^`log2_slots` slots, in
    /// the order of application.
    ///
    /// Each takes `floor(log2 n / groups)`; what remains goes one each to groups 1, 3, 4, .. and
    /// last to 2, counted from 1.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a transform would have no stage.
    pub fn coefficients_to_slots_stages(&self, log2_slots: u32) -> Result<Vec<usize>> {
        let mut order: Vec<_> = (0..self.to_slots).filter(|&i| i != 1).collect();
        order.extend((self.to_slots > 1).then_some(1));
        stages(log2_slots, &order)
    }

    /// Butterfly stages of each slots-to-coefficients transform for n = 2^`log2_slots` slots, in
    /// the order of application; what remains after an equal share goes one each to groups 1, 2, ..
    ///
    /// # Errors
    /// [`Error::Unsupported`] where a transform would have no stage.
    pub fn slots_to_coefficients_stages(&self, log2_slots: u32) -> Result<Vec<usize>> {
        stages(log2_slots, &(0..self.to_coefficients).collect::<Vec<_>>())
    }
}

/// Equal shares, and what remains to the first groups of `order`.
fn stages(log2_slots: u32, order: &[usize]) -> Result<Vec<usize>> {
    let (total, groups) = (log2_slots as usize, order.len());
    if total < groups {
        return Err(Error::Unsupported {
            set: "bootstrapping".into(),
            why: format!(
                "{} slots are too few: at least {} are needed, and a vector repeats: \
                 with_slots({}) says so",
                1u64 << total,
                1 << groups,
                1 << groups
            ),
        });
    }
    let mut stages = vec![total / groups; groups];
    for &group in &order[..total % groups] {
        stages[group] += 1;
    }
    Ok(stages)
}
