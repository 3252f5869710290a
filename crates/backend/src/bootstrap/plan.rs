//! What a caller may fix of a plan: how a device lays the work of one bootstrapping out, decided
//! before launch. Each device plans by itself, since each has kernels of its own; what they share
//! is the request, and the words of a refusal.

use crate::BootstrapShape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Constraints on a plan; everything left open is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Subgroups (warps) that share one polynomial (BOLT's WPP).
    pub subgroups_per_polynomial: Option<usize>,
    /// Ciphertext groups of one workgroup, which share each key load.
    pub groups: Option<usize>,
    /// LWE indices per launch, for drivers that stop long kernels; the accumulator is parked in
    /// memory between launches.
    pub steps_per_launch: Option<usize>,
    /// Choices that only one kind of device knows, under the names it gives them
    /// ([`crate::bootstrap::Loader::alternatives`] lists them, as does its documentation). A name
    /// or value that the device does not know is refused.
    #[serde(default)]
    pub choices: BTreeMap<String, u32>,
}

impl std::fmt::Display for PlanRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers = [
            ("subgroups", self.subgroups_per_polynomial),
            ("groups", self.groups),
            ("steps", self.steps_per_launch),
        ];
        let named =
            numbers.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let all: Vec<String> = named
            .chain(self.choices.iter().map(|(name, value)| format!("{name}={value}")))
            .collect();
        f.write_str(if all.is_empty() { "model" } else { "" })?;
        f.write_str(&all.join(" "))
    }
}

/// A tile of so many ciphertext groups in words, for [`DoesNotFit::Memory`].
pub fn tile_of_groups(shape: &BootstrapShape, groups: usize) -> String {
    format!(
        "the tile (N = {}, k + r = {}, {groups} groups)",
        shape.polynomial_size,
        shape.columns()
    )
}

/// A tile whose polynomials are shared by so many subgroups in words, for [`DoesNotFit::Threads`].
pub fn tile_of_subgroups(shape: &BootstrapShape, subgroups: usize) -> String {
    format!(
        "the tile (N = {}, k + r = {}, {subgroups} subgroups a polynomial)",
        shape.polynomial_size,
        shape.columns()
    )
}
