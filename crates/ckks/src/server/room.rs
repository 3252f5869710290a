//! Whether slots fit where they are.

use super::tracked::Tracked;
use crate::{CkksParameters, Error, Result};

/// A bound that the slots of one ciphertext of a recording must keep.
pub(super) struct Room {
    /// Whose.
    of: usize,
    operation: &'static str,
    most: f64,
    kind: Kind,
}

enum Kind {
    /// What a level holds.
    Level(usize),
    /// What a function was made for. It is what the caller says of the slots; it is refused only
    /// where the caller has said otherwise of the very same slots.
    Function,
    /// What a bootstrapping takes.
    Bootstrapping,
}

impl Room {
    /// The room at a level, for what an operation made.
    pub fn at(set: &CkksParameters, operation: &'static str, of: usize, at: (usize, f64)) -> Self {
        let (level, scale) = at;
        Self { of, operation, most: set.room(level, scale), kind: Kind::Level(level) }
    }

    /// What a function is for.
    pub fn function(operation: &'static str, of: usize, most: f64) -> Self {
        // The ends of an interval are numbers that were computed, too.
        let most = most * (1.0 + 2f64.powi(-20));
        Self { of, operation, most, kind: Kind::Function }
    }

    /// What a bootstrapping takes.
    pub fn bootstrapping(of: usize, most: f64) -> Self {
        Self { of, operation: "a bootstrapping", most, kind: Kind::Bootstrapping }
    }

    /// Refuses what does not fit.
    pub fn check(&self, known: &[Tracked]) -> Result<()> {
        let known = &known[self.of];
        let fits = match self.kind {
            Kind::Function => !known.is_stated() || known.magnitude() <= self.most,
            // Terms of sums may cancel: what they are bounded by is no reason to refuse them.
            Kind::Level(_) if !known.may_reach() => true,
            Kind::Level(_) | Kind::Bootstrapping => known.magnitude() + known.reach() < self.most,
        };
        if fits {
            return Ok(());
        }
        let declare = "if slots are smaller, declare it (`with_magnitude`)";
        let rule = match self.kind {
            Kind::Level(level) => format!(
                "at level {level} and this scale there is room below {:.4e} and what is above \
                 wraps around: {declare}; else scale them down, rescale or adjust first, or \
                 compute at a higher level (bootstrap)",
                self.most
            ),
            Kind::Function => format!(
                "it is made for slots up to {:.6}: {declare}; else take a larger range",
                self.most
            ),
            Kind::Bootstrapping => format!(
                "the modular reduction takes slots below {:.4}, and is made for 1: {declare}; \
                 else scale them down first, or take a larger message ratio",
                self.most
            ),
        };
        Err(Error::Room { operation: self.operation.into(), reach: known.magnitude(), rule })
    }
}
