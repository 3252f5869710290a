//! Whether slots fit where they are.

use super::tracked::Tracked;
use crate::error::shown;
use crate::{CkksParameters, Error};

/// A bound that the slots of one ciphertext of a recording must keep.
pub(super) struct Room {
    operation: &'static str,
    most: f64,
    kind: Kind,
}

/// What becomes of a ciphertext that has a bound to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It keeps it.
    Fits,
    /// By its slots it does, and by the bounds of its errors it may not: nothing is known of it.
    Unknown,
    /// It may leave it.
    Refused,
}

enum Kind {
    /// What a level holds.
    Level(usize),
    /// What a function was made for. The range is the caller's word for slots that were computed;
    /// it is refused where the caller has said otherwise of the very same slots.
    Function,
    /// What a bootstrapping takes. Whether its estimate holds for any slots: then it is a bound
    /// beyond that too, though one of no use, and only what the caller has said is refused.
    Bootstrapping(bool),
}

impl Room {
    /// The room at a level and scale, for what an operation made.
    pub fn at(set: &CkksParameters, operation: &'static str, (level, scale): (usize, f64)) -> Self {
        Self { operation, most: set.room(level, scale), kind: Kind::Level(level) }
    }

    /// What a function is for.
    pub fn function(operation: &'static str, most: f64) -> Self {
        // The ends of an interval are numbers that were computed, too.
        let most = most * (1.0 + 2f64.powi(-20));
        Self { operation, most, kind: Kind::Function }
    }

    /// What a bootstrapping takes.
    pub fn bootstrapping(most: f64, any: bool) -> Self {
        Self { operation: "a bootstrapping", most, kind: Kind::Bootstrapping(any) }
    }

    /// Whether slots of which this is known fit.
    pub fn verdict(&self, known: &Tracked) -> Verdict {
        let (slots, errors) = (known.magnitude(), known.reach());
        let (room, stated) = (slots < self.most, known.is_stated());
        let leave = slots + errors >= self.most;
        match self.kind {
            Kind::Function if stated && slots > self.most => Verdict::Refused,
            Kind::Function if errors > self.most => Verdict::Unknown,
            Kind::Bootstrapping(true) if stated && !room => Verdict::Refused,
            Kind::Function | Kind::Bootstrapping(true) => Verdict::Fits,
            Kind::Level(_) | Kind::Bootstrapping(false) if !room => Verdict::Refused,
            // Where errors alone are that large they say nothing, and are seldom so large.
            Kind::Level(_) | Kind::Bootstrapping(false) if leave && errors > slots => {
                Verdict::Unknown
            }
            Kind::Level(_) | Kind::Bootstrapping(false) if leave => Verdict::Refused,
            Kind::Level(_) | Kind::Bootstrapping(false) => Verdict::Fits,
        }
    }

    /// Why slots of which this is known do not fit.
    pub fn refusal(&self, known: &Tracked) -> Error {
        let most = shown(self.most);
        let declare = "if slots are smaller, declare it (`with_magnitude`)";
        let rule = match self.kind {
            Kind::Level(level) => format!(
                "at level {level} and this scale there is room below {most}, and what is above \
                 wraps around: {declare}; else scale them down, rescale or adjust first, or \
                 compute at a higher level (bootstrap)"
            ),
            Kind::Function => {
                format!("it is made for slots up to {most}: {declare}; else take a larger range")
            }
            Kind::Bootstrapping(_) => format!(
                "the modular reduction takes slots below {most}, and is made for 1: {declare}; \
                 else scale them down first, or take a larger message ratio"
            ),
        };
        let (slots, errors) = (known.magnitude(), known.reach());
        let within = slots < self.most && errors > 0.0;
        let reach = if within { slots + errors } else { slots };
        Error::Room { operation: self.operation.into(), reach, rule }
    }
}
