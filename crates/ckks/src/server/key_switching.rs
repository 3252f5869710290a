//! How key products are computed: a plan, whose results are the same words.

use std::path::Path;
use std::sync::Arc;

use crate::program::{Chain, ChainShape};
use crate::{CkksParameters, Result};
use girih_backend::poly::RingShape;
use girih_backend::{Backend, Progress, TunedPlan, TunedPlans};
use serde::{Deserialize, Serialize};

/// How key products are computed. Keys, results and errors do not depend on it, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySwitching {
    /// Digit by digit over the primes of a level and P (Han and Ki 2020).
    #[default]
    Hybrid,
    /// Over a further basis T, in which products of a digit and a group of the key's primes are
    /// integers (Kim, Lee, Seo and Song 2023; as a dataflow, Athena): fewer transforms where there
    /// are many digits, from eight on, for about twice the key words on the device.
    Klss {
        /// Primes in a group, gamma: from 1 to those of the full modulus. More of them make fewer
        /// groups and a larger T.
        group: usize,
    },
}

impl std::fmt::Display for KeySwitching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hybrid => write!(f, "hybrid"),
            Self::Klss { group } => write!(f, "KLSS, groups of {group}"),
        }
    }
}

/// What a measured choice is stored under: all that the cost of a key switch depends on.
#[derive(Serialize)]
struct Measured {
    key_switching: RingShape,
    digits: Vec<usize>,
}

impl Measured {
    fn of(set: &CkksParameters) -> Result<Self> {
        let chain = Chain::new(ChainShape::from(set))?;
        Ok(Self { key_switching: (**chain.ring()).clone(), digits: chain.shape().digits.clone() })
    }
}

impl KeySwitching {
    /// KLSS with groups of twice as many primes as a digit has, at most 12: longer groups enlarge T
    /// by as much as they save.
    pub fn klss(set: &CkksParameters) -> Self {
        let chain = set.chain();
        Self::Klss { group: (2 * chain.auxiliary_len()).min(12).min(chain.full_len()) }
    }

    /// The ring in which `set` computes with this plan: what an engine is opened for.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for groups that the set cannot have.
    pub fn ring(self, set: &CkksParameters) -> Result<Arc<RingShape>> {
        Ok(self.chain(set, set.joins_digits())?.ring().clone())
    }

    pub(super) fn chain(self, set: &CkksParameters, join_digits: bool) -> Result<Arc<Chain>> {
        let shape = ChainShape { join_digits, ..ChainShape::from(set) };
        let shape = match self {
            Self::Hybrid => shape,
            Self::Klss { group } => shape.with_klss(group)?,
        };
        Ok(Chain::new(shape)?)
    }

    /// Notes that this is the fastest way for `set` on the device whose
    /// [identity](Backend::identity) is `device`, with `per_s` units of work a second: later loads
    /// there take it.
    ///
    /// # Errors
    /// None for a set that was checked.
    pub fn note(
        self,
        plans: &mut TunedPlans,
        device: &str,
        set: &CkksParameters,
        per_s: f64,
    ) -> Result<()> {
        plans.put(TunedPlan::new(device, &Measured::of(set)?, &self, per_s)?);
        Ok(())
    }

    /// What [`KeySwitching::note`] noted, in the plans that were read from `path`.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) naming the file where the note has another form.
    pub fn noted(
        plans: &TunedPlans,
        path: &Path,
        device: &str,
        set: &CkksParameters,
    ) -> Result<Option<Self>> {
        let best = plans.best(device, &Measured::of(set)?, None);
        Ok(best.map(|plan| plan.options_as(path)).transpose()?)
    }

    /// What was measured to be fastest for `set` on `device`; hybrid where nothing was, and where
    /// the set does both sines in one.
    pub(super) fn fastest(
        device: &dyn Backend,
        set: &CkksParameters,
        progress: &dyn Progress,
    ) -> Result<Self> {
        // Keys of the conjugation-invariant ring have no form for KLSS.
        if set.invariant_weight().is_some() {
            return Ok(Self::Hybrid);
        }
        let Some((plans, path)) = TunedPlans::stored(progress)? else { return Ok(Self::Hybrid) };
        Ok(Self::noted(&plans, &path, &device.identity(), set)?.unwrap_or_default())
    }
}

/// The refusal of an engine that was opened for another ring.
pub(super) fn other_ring(set: &CkksParameters, switching: KeySwitching) -> crate::Error {
    crate::Error::Shape {
        operation: "loading evaluation keys".into(),
        rule: format!(
            "the engine was opened for another ring than that of {set} with key switching \
             {switching}; `KeySwitching::ring` names it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noted_choice_is_found_for_its_set_and_device_alone() {
        let set = CkksParameters::by_name("CKKS_N14_D40").unwrap();
        let other = CkksParameters::by_name("INSECURE_CKKS_D40_N10").unwrap();
        let mut plans = TunedPlans::default();
        let path = Path::new("plans.json");
        let klss = KeySwitching::klss(&set);
        assert_eq!(klss, KeySwitching::Klss { group: 9 });
        KeySwitching::Hybrid.note(&mut plans, "a GPU", &set, 1.0).unwrap();
        klss.note(&mut plans, "a GPU", &set, 2.0).unwrap();
        let found = |device: &str, set| KeySwitching::noted(&plans, path, device, set).unwrap();
        assert_eq!(plans.plans.len(), 1);
        assert_eq!(found("a GPU", &set), Some(klss));
        assert_eq!(found("another", &set), None);
        assert_eq!(found("a GPU", &other), None);
    }
}
