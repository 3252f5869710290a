//! What is serialized.

use crate::{DiscreteParameters, Result};
use girih_rlwe::KeyId;
use girih_rlwe::wire::{Bytes, Kind, LONGEST_SET, SMALL, encode};
use serde::Serialize;

pub(crate) const CLIENT_KEY: Kind = Kind::new(1, "client key for numbers");
pub(crate) const PUBLIC_KEY: Kind = Kind::new(2, "public key for numbers");
pub(crate) const EVALUATION_KEYS: Kind = Kind::new(3, "evaluation keys for numbers");
pub(crate) const NUMBERS: Kind = Kind::new(4, "encrypted numbers");
pub(crate) const SEEDED: Kind = Kind::new(5, "seeded numbers");

/// Ciphertexts under one key: what is said of all of them, then the bytes of each.
///
/// # Errors
/// If they cannot be serialized.
pub(crate) fn ciphertexts(
    kind: Kind,
    set: &DiscreteParameters,
    key: KeyId,
    head: impl Serialize,
    parts: impl Iterator<Item = girih_ckks::Result<Vec<u8>>>,
) -> Result<Vec<u8>> {
    let parts = parts.collect::<girih_ckks::Result<Vec<_>>>()?;
    let room = parts.iter().map(|part| part.len() + 8).sum();
    let parts: Vec<Bytes<'_>> = parts.iter().map(|part| Bytes(part)).collect();
    Ok(encode(kind, set, Some(key), room, &(head, parts))?)
}

/// Bytes at most of a ciphertext of so many polynomials.
pub(crate) fn most_bytes(set: &DiscreteParameters, polynomials: usize) -> usize {
    4 * polynomials * (set.wire_level() + 1) * set.numbers() + LONGEST_SET + 2 * SMALL
}
