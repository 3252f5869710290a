//! Level adjust: from any level and scale to the canonical scale of a lower level.

use super::{CkksParameters, exact};
use crate::{Error, Result};
use num_bigint::BigUint;

/// The numbers of one level adjust.
///
/// Forget the limbs of the base of `from` that are not in `kept`, multiply by `constant`, then
/// divide from `kept` to the base of `to`; the scale becomes S_to.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelAdjust {
    /// Level before.
    pub from: usize,
    /// Level after.
    pub to: usize,
    /// Positions whose limbs the division starts from, ascending.
    pub kept: Vec<usize>,
    /// c, at least half of S_to; usually below 2^61, and reduced modulo each prime when used.
    pub constant: BigUint,
    /// The scale afterwards, S_to.
    pub scale: f64,
}

impl CkksParameters {
    /// How a ciphertext of level `from` and `scale` is brought to the canonical scale of the lower
    /// level `to`. The constant is computed from exact rationals.
    ///
    /// # Errors
    /// [`Error::Level`] unless `to < from` and `to` has a canonical scale, [`Error::Scale`] unless
    /// `scale` is finite and positive.
    pub fn level_adjust(&self, from: usize, scale: f64, to: usize) -> Result<LevelAdjust> {
        let chain = self.chain();
        self.check_level("level adjust", from)?;
        let refuse = |rule: String| {
            Err(Error::Level { operation: format!("level adjust to {to}"), level: from, rule })
        };
        if to >= from {
            return refuse("it only goes to lower levels".into());
        }
        let Some(target) = self.scale(to) else {
            return refuse(format!("level {to} has no canonical scale"));
        };
        if !(scale.is_finite() && scale >= f64::MIN_POSITIVE) {
            let rule = format!("scale {scale} must be a finite, positive number");
            return Err(Error::Scale { operation: "level adjust".into(), rule });
        }
        let (dropped, added) = chain.exchanged(from, to);
        // Mains by ascending index, then terminals by ascending index: these descend in position.
        let (terminals, mains): (Vec<_>, Vec<_>) =
            dropped.into_iter().partition(|&position| position < chain.terminal_len());
        let candidates = mains.into_iter().chain(terminals.into_iter().rev());
        let (target_top, target_bottom) = exact::fraction(target);
        let (scale_top, scale_bottom) = exact::fraction(scale);
        // c = RNE(target prod(U) / prod(A) / scale); U grows until c >= target / 2.
        let mut top = target_top.clone() * scale_bottom;
        let bottom = target_bottom.clone() * scale_top * chain.product(added);
        let is_enough = |c: &BigUint| (c << 1u32) * &target_bottom >= target_top;
        let mut constant = exact::rounded(&top, &bottom);
        let base = chain.base(to);
        let mut kept: Vec<_> = chain.base(from).filter(|i| base.contains(i)).collect();
        for position in candidates {
            if is_enough(&constant) {
                break;
            }
            kept.push(position);
            top *= chain.prime(position);
            constant = exact::rounded(&top, &bottom);
        }
        kept.sort_unstable();
        Ok(LevelAdjust { from, to, kept, constant, scale: target })
    }
}
