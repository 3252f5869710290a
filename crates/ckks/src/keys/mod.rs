//! Secret, public and evaluation keys.

mod client;
mod evaluation;
mod explicit;
mod kind;
mod masks;
mod public;
mod range;
mod secrets;
mod share;
mod streamed;
mod switching;
#[cfg(test)]
mod tests;
mod within;

pub use client::{ClientKey, Decryption};
pub use evaluation::EvaluationKeys;
pub use explicit::ExplicitKeys;
pub(crate) use kind::sum_steps;
pub use kind::{KeyKind, galois_element, inner_sum_rotations, rotation_of};
pub(crate) use masks::mask_limbs;
pub use public::PublicKey;
pub use range::KeyRange;
pub use secrets::ClientSecrets;
pub use streamed::StreamedKeys;
pub use switching::SwitchingKey;
pub use within::Within;

use crate::{CkksParameters, Error, Result};
use girih_ring::sampler::PublicStream;

/// One half of a switching key's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    /// b, which hides the secret that is switched from.
    Body,
    /// a, the uniform mask.
    Mask,
}

/// Switching keys that can be read limb by limb, so that a device's copy is the only whole one.
pub trait SwitchingKeySource: Sync {
    /// The set they are of.
    fn set(&self) -> &CkksParameters;

    /// The keys there are.
    fn kinds(&self) -> Vec<KeyKind>;

    /// The levels that the key of this kind serves: all, if nothing else is said.
    fn range(&self, kind: KeyKind) -> KeyRange {
        KeyRange::from(kind).within(self.set())
    }

    /// Writes one limb of N canonical residues in evaluation form: row `digit` of the key, `part`,
    /// modulo the prime at `position` of F and P. Limbs may be asked for in any order,
    /// from any thread.
    ///
    /// # Errors
    /// [`Error::MissingKey`] for a key that is not there, and errors that name a digit, position or
    /// buffer that does not fit.
    fn limb(
        &self,
        kind: KeyKind,
        digit: usize,
        part: KeyPart,
        position: usize,
        out: &mut [u32],
    ) -> Result<()>;

    /// The public stream that a limb comes from by [`RandomStream::uniform_below`] its prime, if
    /// there is one: a device may expand it instead of asking for the limb.
    ///
    /// [`RandomStream::uniform_below`]: girih_ring::sampler::RandomStream::uniform_below
    fn stream(
        &self,
        _kind: KeyKind,
        _digit: usize,
        _part: KeyPart,
        _position: usize,
    ) -> Option<PublicStream> {
        None
    }
}

/// The error for a key that is not there: what is needed and what there is, in words of slots.
fn missing(set: &CkksParameters, wanted: KeyKind, held: &[KeyKind]) -> Error {
    let name = |kind: KeyKind| match kind {
        KeyKind::Galois(g) if g as usize == 2 * set.degree() - 1 => "conjugation".to_owned(),
        KeyKind::Galois(g) => match rotation_of(set.degree(), g) {
            Some(steps) => format!("rotation by {steps}"),
            None => kind.to_string(),
        },
        _ => kind.to_string(),
    };
    let mut rotations: Vec<_> = held
        .iter()
        .filter_map(|kind| match kind {
            KeyKind::Galois(g) => rotation_of(set.degree(), *g),
            _ => None,
        })
        .collect();
    rotations.sort_unstable();
    let others = held.iter().filter(|kind| match kind {
        KeyKind::Galois(g) => rotation_of(set.degree(), *g).is_none(),
        _ => true,
    });
    let mut names: Vec<_> = others.map(|kind| name(*kind)).collect();
    if !rotations.is_empty() {
        let list: Vec<_> = rotations.iter().map(ToString::to_string).collect();
        names.push(format!("rotations by {}", list.join(", ")));
    }
    let held = if names.is_empty() { "none".into() } else { names.join(", ") };
    Error::MissingKey { wanted: name(wanted), held }
}

/// Numbers of the random streams of one key or ciphertext.
mod domain {
    /// Of a client key's seed: secret coefficients; index 0 the dense secret, 1 the sparse one.
    pub const SECRETS: u16 = 1;
    /// Of a published seed: masks.
    pub const MASKS: u16 = 2;
    /// Of an error seed: errors.
    pub const ERRORS: u16 = 3;
    /// Of an error seed: the ternary polynomial of an encryption under a public key.
    pub const EPHEMERAL: u16 = 4;
    /// Of an error seed: noise that floods a decryption which is shown to others.
    pub const FLOODING: u16 = 5;
}
