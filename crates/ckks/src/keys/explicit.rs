//! Keys whose masks are given.

use super::switching::limb_start;
use super::{KeyKind, KeyPart, SwitchingKeySource};
use crate::{CkksParameters, Result, wire};

/// Switching keys whose masks are given too, such as those of published vectors.
#[derive(Clone, Debug)]
pub struct ExplicitKeys {
    set: CkksParameters,
    keys: Vec<(KeyKind, [Vec<u32>; 2])>,
}

impl ExplicitKeys {
    /// No keys of `set` yet.
    pub fn new(set: &CkksParameters) -> Self {
        Self { set: set.clone(), keys: Vec::new() }
    }

    /// Adds a key: b and a, each `[digit][limb][N]`; it replaces one of the same kind.
    ///
    /// # Errors
    /// As [`KeyKind::check`]; [`Error::Length`](crate::Error::Length) and
    /// [`Error::Malformed`](crate::Error::Malformed) for limbs that are not those of the set.
    pub fn insert(&mut self, kind: KeyKind, bodies: Vec<u32>, masks: Vec<u32>) -> Result<()> {
        kind.check(&self.set)?;
        let positions = kind.positions(&self.set).repeat(kind.digits(&self.set));
        for part in [&bodies, &masks] {
            wire::check_limbs("switching key", &self.set, positions.iter().copied(), part)?;
        }
        self.keys.retain(|(other, _)| *other != kind);
        self.keys.push((kind, [bodies, masks]));
        Ok(())
    }
}

impl SwitchingKeySource for ExplicitKeys {
    fn set(&self) -> &CkksParameters {
        &self.set
    }

    fn kinds(&self) -> Vec<KeyKind> {
        self.keys.iter().map(|(kind, _)| *kind).collect()
    }

    fn limb(
        &self,
        kind: KeyKind,
        digit: usize,
        part: KeyPart,
        position: usize,
        out: &mut [u32],
    ) -> Result<()> {
        let Some((_, parts)) = self.keys.iter().find(|(other, _)| *other == kind) else {
            return Err(super::missing(&self.set, kind, &self.kinds()));
        };
        let start = limb_start(&self.set, kind.into(), digit, position, out)?;
        let words = &parts[usize::from(part == KeyPart::Mask)];
        out.copy_from_slice(&words[start..start + out.len()]);
        Ok(())
    }
}
