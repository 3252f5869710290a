//! Names of client keys.

use super::domain;
use crate::{Result, error, wire};
use girih_ring::sampler::SecretSeed;
use zeroize::Zeroizing;

/// The name of a client key: 16 bytes that its evaluation keys and every ciphertext under it carry, so that those of two keys are
/// not mixed up unnoticed.
///
/// It is public, says nothing about the secrets, and two keys have one name with a probability of 2^-128. A key that is drawn from a
/// seed takes its name from a stream of that seed which nothing else reads; a key of given secrets takes a hash of them. It is a
/// name, not a proof: whoever makes ciphertexts can write any name on them.
///
/// As text it is 32 hexadecimal digits; a precision takes the first of them (`{id:.8}`), as error messages do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub(crate) [u8; 16]);

impl KeyId {
    pub(super) fn of_seed(seed: &SecretSeed) -> Self {
        let words = seed.stream(domain::NAME, 0).next_seed();
        Self(std::array::from_fn(|i| words[i]))
    }

    pub(super) fn of_secrets(lwe: &[i8], glwe: &[i8]) -> Self {
        let bytes = Zeroizing::new(lwe.iter().chain(glwe).map(|&s| s as u8).collect::<Vec<_>>());
        Self(wire::digest(blake3::Hasher::new_derive_key("girih 2026-11-21 name of a client key of given secrets"), &bytes))
    }

    /// The key that everything is under which names one, if anything does: constants name none and go with any.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for two keys.
    pub(crate) fn common(ids: impl IntoIterator<Item = Option<Self>>) -> Result<Option<Self>> {
        let mut ids = ids.into_iter().flatten();
        let Some(first) = ids.next() else { return Ok(None) };
        match ids.find(|id| *id != first) {
            Some(other) => error::mismatch(format!(
                "ciphertexts under client key {first:.8} and under client key {other:.8}: what is combined must be under one key, \
                 or constants"
            )),
            None => Ok(Some(first)),
        }
    }
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyId({self})")
    }
}
