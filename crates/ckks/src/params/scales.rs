//! Canonical scales: one IEEE operation after the other, so that everyone computes the same f64.

use super::ModulusChain;
use std::ops::RangeInclusive;

/// How close a scale must be to a canonical one, relatively, to become it after a rescale.
const SNAP: f64 = 1.0 / (1u64 << 44) as f64;

/// How close the scales of two summands must be, relatively.
pub(super) const AGREEMENT: f64 = 1.0 / (1u64 << 40) as f64;

/// What a level is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Free for computations; level 0 and up to L_eff.
    Normal,
    /// From slots to coefficients.
    SlotsToCoefficients,
    /// The modular reduction.
    EvalMod,
    /// From coefficients to slots.
    CoefficientsToSlots,
}

/// The canonical scales of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scales {
    /// The lowest level with a canonical scale.
    first: usize,
    /// S_l from there on, normal and slots-to-coefficients levels.
    canonical: Vec<f64>,
    /// The level that `eval_mod` starts at, and E_l from there on.
    eval_mod: Option<(usize, Vec<f64>)>,
}

/// `x, sqrt(x pp_{from+1}), ..` up to level `to`.
fn recurrence(chain: &ModulusChain, x: f64, from: usize, to: usize) -> Vec<f64> {
    let mut scales = vec![x];
    for level in from + 1..=to {
        scales.push((scales[scales.len() - 1] * chain.ratio(level)).sqrt());
    }
    scales
}

impl Scales {
    /// S_l over `levels`, `scale` at the lowest, and E_l from `(out, E_out, top)`.
    pub fn new(
        chain: &ModulusChain,
        scale: f64,
        levels: RangeInclusive<usize>,
        eval_mod: Option<(usize, f64, usize)>,
    ) -> Self {
        Self {
            first: *levels.start(),
            canonical: recurrence(chain, scale, *levels.start(), *levels.end()),
            eval_mod: eval_mod.map(|(out, scale, top)| (out, recurrence(chain, scale, out, top))),
        }
    }

    /// S_l.
    pub fn canonical(&self, level: usize) -> Option<f64> {
        self.canonical.get(level.checked_sub(self.first)?).copied()
    }

    /// E_l.
    pub fn eval_mod(&self, level: usize) -> Option<f64> {
        let (out, scales) = self.eval_mod.as_ref()?;
        scales.get(level.checked_sub(*out)?).copied()
    }

    /// The scale at `level` after a division that left `computed`.
    pub fn settled(&self, level: usize, computed: f64) -> f64 {
        let near = |s: &f64| (computed - s).abs() < SNAP * s;
        let candidates = [self.canonical(level), self.eval_mod(level)];
        candidates.into_iter().flatten().find(near).unwrap_or(computed)
    }
}
