//! The noise model.

/// Deviations of one parameter set.
pub struct NoiseModel;
