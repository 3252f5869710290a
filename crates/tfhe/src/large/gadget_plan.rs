//! Which gadget each bootstrapping of an operation takes.
//!
//! A floor takes two bootstrappings, which bear different errors:
//!
//! 1. The first moves a digit into the middle half of a rotation. Its error and the input's
//!    together must stay below beta, or the floor is wrong.
//! 2. The second gives the digit back, whatever the first left in it. Its error goes into the
//!    result. On the way to the next round that error is divided by the digit's range.
//!
//! So the second may often have a coarser gadget.

use super::{LargeOperation, LargeParameters};
use crate::noise::log2_beyond;
use crate::{Error, Result};
use girih_backend::Transform;

/// One floor on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// log2 of the modulus before it.
    pub log2_modulus: u32,
    /// Gadget of the first bootstrapping.
    pub decide: usize,
    /// Gadget of the second.
    pub read: usize,
}

/// All of an operation's gadgets, as positions in [`LargeParameters::sets`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GadgetPlan {
    pub rounds: Vec<Round>,
    /// Of the bootstrapping that reads what is left, where there is one.
    pub last: Option<usize>,
}

impl LargeParameters {
    /// The cheapest gadgets of `operation` from modulus `2^log2_modulus` on, with the gadgets that
    /// `usable` names.
    ///
    /// # Errors
    /// [`Error::MissingKey`] with the key to load, [`Error::Unsupported`] with the modulus that no
    /// gadget is fine enough for, and [`Error::TooNoisy`] for errors that no rounds remove.
    pub(super) fn gadget_plan(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
        transform: Transform,
        usable: &dyn Fn(usize) -> bool,
    ) -> Result<GadgetPlan> {
        if operation == LargeOperation::Floor {
            // Its result is no round's: whatever comes next must be able to read it as it is.
            let gadget = self.gadget_among(log2_modulus, transform, usable)?;
            return Ok(GadgetPlan {
                rounds: vec![Round { log2_modulus, decide: gadget, read: gadget }],
                last: None,
            });
        }
        let rounds = match self.rounds(log2_modulus).as_slice() {
            [] => Vec::new(),
            // The first round is held to inputs that an earlier round has left.
            moduli => Search::new(self, operation, transform, usable).rounds(moduli, None)?.1,
        };
        let last = match operation {
            LargeOperation::Decompose => None,
            _ => Some(self.gadget_among(self.log2_rotation(), transform, usable)?),
        };
        Ok(GadgetPlan { rounds, last })
    }
}

struct Search<'a> {
    parameters: &'a LargeParameters,
    transform: Transform,
    usable: &'a dyn Fn(usize) -> bool,
    sigma_sign: f64,
    /// log2 of the failure probability that one bootstrapping may have.
    limit: f64,
}

/// How much more often a product with a sign may fail than roundings alone make it, log2, where
/// that is above the target.
const LOG2_ABOVE_ROUNDING: f64 = 4.0;

impl<'a> Search<'a> {
    fn new(
        parameters: &'a LargeParameters,
        operation: LargeOperation,
        transform: Transform,
        usable: &'a dyn Fn(usize) -> bool,
    ) -> Self {
        let sigma_sign = parameters.sigma_sign(operation, transform);
        let mut limit = parameters.log2_target();
        if operation == LargeOperation::Relu {
            let rounding = parameters.model(0, transform).sigma_rounding();
            let least =
                log2_beyond(parameters.beta() as f64, sigma_sign.hypot(rounding).hypot(rounding));
            limit = limit.max(least + LOG2_ABOVE_ROUNDING);
        }
        Self { parameters, transform, usable, sigma_sign, limit }
    }

    /// The rounds from `moduli[0]` on that take the fewest digits in all their bootstrappings, and
    /// that number of digits. `sigma` is the deviation of the input's error; without it, that of a
    /// result of the first bootstrapping's own gadget.
    fn rounds(&self, moduli: &[u32], sigma: Option<f64>) -> Result<(usize, Vec<Round>)> {
        let p = self.parameters;
        let Some((&log2_modulus, rest)) = moduli.split_first() else { return Ok((0, Vec::new())) };
        let decide = self.decide(log2_modulus, sigma)?;
        // A gadget finer than the first bootstrapping's gains nothing.
        let candidates = p
            .ladder(self.transform, self.usable)
            .into_iter()
            .filter(|&g| p.digits(g) <= p.digits(decide));
        let (mut best, mut refused) = (None, None);
        for read in candidates {
            match self.after(rest, p.sigma_switched(read, log2_modulus, self.transform)) {
                Ok((cost, rounds)) => {
                    let cost = cost + p.digits(decide) + p.digits(read);
                    // Of equals the later one, which is finer.
                    if best.as_ref().is_none_or(|(least, _)| cost <= *least) {
                        let first = Round { log2_modulus, decide, read };
                        best = Some((cost, std::iter::once(first).chain(rounds).collect()));
                    }
                }
                Err(error) => refused = Some(error),
            }
        }
        best.map_or_else(
            || Err(refused.expect("at least the first bootstrapping's gadget was tried")),
            Ok,
        )
    }

    /// The gadget of a floor's first bootstrapping.
    fn decide(&self, log2_modulus: u32, sigma: Option<f64>) -> Result<usize> {
        let (p, transform) = (self.parameters, self.transform);
        let seen = |g| {
            sigma
                .unwrap_or_else(|| p.sigma_switched(g, log2_modulus, transform))
                .hypot(self.sigma_sign)
        };
        let good = |g| p.log2_misread(seen(g), g, log2_modulus, transform) <= self.limit;
        p.chosen(&format!("results modulo 2^{log2_modulus}"), transform, self.usable, good)
    }

    /// What follows a round that leaves errors of deviation `sigma`:
    /// more rounds, or a last reading.
    fn after(&self, rest: &[u32], sigma: f64) -> Result<(usize, Vec<Round>)> {
        let p = self.parameters;
        if rest.is_empty() {
            let log2_failure = log2_beyond(p.beta() as f64, sigma.hypot(self.sigma_sign));
            if log2_failure > self.limit {
                let what = format!("a reading of errors of deviation {sigma:.1} within beta");
                return Err(Error::TooNoisy { what, log2_failure, log2_bound: self.limit });
            }
        }
        self.rounds(rest, Some(sigma))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LargeOperation::{Floor, Relu, Sign};

    /// Rounds as (modulus, first, second).
    fn rounds(
        p: &LargeParameters,
        operation: LargeOperation,
        log2_modulus: u32,
    ) -> Vec<(u32, &str, &str)> {
        let plan =
            p.gadget_plan(operation, log2_modulus, Transform::Fft, &|_| true).expect("in range");
        let name = |g: usize| p.sets()[g].name();
        plan.rounds.iter().map(|r| (r.log2_modulus, name(r.decide), name(r.read))).collect()
    }

    #[test]
    fn the_second_bootstrapping_of_a_round_may_be_coarser() {
        let p = LargeParameters::default();
        let shorter = [(20, "G4_2X15", "G4_1X23"), (16, "G4_1X23", "G4_1X23")];
        assert_eq!(rounds(&p, Sign, 20), shorter);
        assert_eq!(rounds(&p, Sign, 24), [&[(24, "G4_2X15", "G4_2X15")][..], &shorter].concat());
        // Its result is all there is of a floor.
        assert_eq!(rounds(&p, Floor, 20), [(20, "G4_2X15", "G4_2X15")]);
        assert_eq!(rounds(&p, Relu, 24)[0], (24, "G4_3X12", "G4_2X15"));
        // Of two ways with as many digits the one that reads finer, so that the next round need not
        // decide finer.
        let last = [(24, "G4_2X15", "G4_2X15"), shorter[0], shorter[1]];
        assert_eq!(rounds(&p, Sign, 28), [&[(28, "G4_4X9", "G4_3X12")][..], &last].concat());
        let loose = p.with_target(-47.0).expect("below 0");
        let short = [(20, "G4_2X15", "G4_2X15"), (16, "G4_1X23", "G4_1X23")];
        assert_eq!(rounds(&loose, Relu, 20), short);
    }

    /// So that tests on every device change keys within a function, and within a floor.
    #[test]
    fn the_toy_changes_gadgets_too() {
        let p = LargeParameters::insecure();
        for transform in [Transform::Ntt, Transform::Fft] {
            assert!(p.gadgets(&[Sign], 22, transform).expect("in range").len() >= 2, "{transform}");
            let plan = p.gadget_plan(Sign, 22, transform, &|_| true).expect("in range");
            assert!(plan.rounds.iter().any(|r| r.decide != r.read), "{transform}: {plan:?}");
        }
    }

    #[test]
    fn what_is_not_loaded_is_not_used() {
        let p = LargeParameters::default();
        // G4_2X15 and G4_4X9.
        let plan =
            p.gadget_plan(Sign, 24, Transform::Fft, &|g| g == 3 || g == 6).expect("fine enough");
        assert!(plan.rounds.iter().all(|r| r.decide == 3 && r.read == 3) && plan.last == Some(3));
        let message = p
            .gadget_plan(Sign, 24, Transform::Fft, &|g| g == 1)
            .expect_err("too coarse")
            .to_string();
        assert!(message.contains("2^24") && message.contains("the key of G4_2X15"), "{message}");
    }
}
