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
    pub(super) to_coefficients_first: bool,
}

/// Levels that the modular reduction takes besides its double angles: the shifted argument's
/// square and a polynomial of degree 15.
const POLYNOMIAL_LEVELS: usize = 5;

/// Auxiliary primes of the key from the dense to the sparse secret. No more: its secret is safe
/// only under a small modulus.
pub const SPARSE_AUXILIARY: usize = 2;

impl BootstrappingParameters {
    /// rho, unless a bootstrapping asks for another: `Q_0` is about 2^rho times the largest
    /// coefficient. A larger one lowers the sine's error by two bits and raises the noise by up to
    /// one.
    pub fn message_ratio(&self) -> u32 {
        self.message_ratio
    }

    /// L_eff, the level that a bootstrapping ends at.
    pub fn output_level(&self) -> usize {
        self.normal
    }

    /// The level just under the modular reduction: slots-to-coefficients starts there, or, where
    /// that comes first, a level adjust to the level below.
    pub fn eval_mod_output_level(&self) -> usize {
        self.normal + if self.to_coefficients_first { 1 } else { self.to_coefficients }
    }

    /// The level that the modular reduction starts at.
    pub fn eval_mod_level(&self) -> usize {
        self.eval_mod_output_level() + POLYNOMIAL_LEVELS + self.double_angles + self.arcsine_levels
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

    /// Levels for the arcsine that corrects the sine: 0 (none), 2 (degree 3) or 3 (degree 5).
    pub fn arcsine_levels(&self) -> usize {
        self.arcsine_levels
    }

    /// Whether slots-to-coefficients comes first, on the lowest levels: a bootstrapping then starts
    /// at level [`BootstrappingParameters::slots_to_coefficients`], and every vector is the sine's
    /// worst case.
    pub fn slots_to_coefficients_first(&self) -> bool {
        self.to_coefficients_first
    }

    /// The level that a bootstrapping starts at.
    pub fn input_level(&self) -> usize {
        if self.to_coefficients_first { self.to_coefficients } else { 0 }
    }

    /// Non-zero coefficients of the sparse secret.
    pub fn sparse_weight(&self) -> usize {
        self.sparse_weight
    }

    /// What `level` is for; `level` is at most the top one.
    pub fn kind(&self, level: usize) -> LevelKind {
        match level {
            l if l <= self.normal => LevelKind::Normal,
            l if l <= self.eval_mod_output_level() && !self.to_coefficients_first => {
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
                "{} slots are too few: at least {} are needed",
                1u64 << total,
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
