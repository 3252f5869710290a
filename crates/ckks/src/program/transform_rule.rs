//! How the transforms of a bootstrapping are divided.

use super::error::RecordError;
use crate::params::bootstrapping::to_slots_stages;

/// How many transforms there are, the stages of each, and how their diagonals are divided into
/// steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransformRule<'a> {
    /// Transforms.
    pub groups: usize,
    /// The stages of each where all slots are in use; none: equal shares.
    pub stages: &'a [usize],
    /// Whether the first is done by keys.
    pub first_by_keys: bool,
    /// Pairs of a number of diagonals and its baby steps; others follow a fixed rule.
    pub baby_steps: &'a [(usize, usize)],
}

impl TransformRule<'_> {
    /// So many transforms, and fixed rules for the rest.
    pub fn of(groups: usize) -> Self {
        Self { groups, ..Self::default() }
    }

    /// The stages of each transform to slots of n slots, of `most` that there could be.
    pub(super) fn stages_of(&self, n: usize, most: usize) -> Vec<usize> {
        let [n, most] = [n, most].map(|slots| slots.ilog2() as usize);
        to_slots_stages(self.stages, (self.groups, self.first_by_keys), most, n)
    }

    pub(super) fn check(&self, n: usize, most: usize) -> Result<(), RecordError> {
        if n.is_power_of_two() && most.is_power_of_two() && n <= most && self.groups > 0 {
            return Ok(());
        }
        let why = format!(
            "{} transforms of {n} slots of {most}: one at least is needed, of a power of two",
            self.groups
        );
        Err(RecordError::Shape { operation: "bootstrapping", why })
    }
}
