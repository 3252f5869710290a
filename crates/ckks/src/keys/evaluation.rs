//! The public keys of one user, compact.

use super::switching::SwitchingKey;
use super::{KeyKind, KeyPart, KeyRange, SwitchingKeySource};
use crate::{CkksParameters, Error, Result, error, wire};
use girih_ring::sampler::PublicStream;
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};
use girih_rlwe::{KeyId, MaskSeed, SetId};
use std::collections::BTreeMap;

/// Switching keys of one client key, by what they are for: what a device loads.
///
/// Half of each key is stored; the masks are expanded from seeds, limb by limb, whenever they are
/// asked for.
pub struct EvaluationKeys {
    set: CkksParameters,
    set_id: SetId,
    id: KeyId,
    keys: BTreeMap<KeyKind, SwitchingKey>,
}

impl std::fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EvaluationKeys({}, {} keys, {} bytes)", self.set, self.keys.len(), self.bytes())
    }
}

impl EvaluationKeys {
    /// Keys of one client by what they are for.
    pub(super) fn of(
        set: &CkksParameters,
        id: KeyId,
        keys: BTreeMap<KeyKind, SwitchingKey>,
    ) -> Self {
        Self { set: set.clone(), set_id: SetId::of(set), id, keys }
    }

    /// Takes over the keys of `other`, which must be of the same client key; of a kind that is in
    /// both, the one for more levels is kept, this one where both serve as many.
    ///
    /// # Errors
    /// [`Error::WrongSet`], [`Error::WrongKey`].
    pub fn extend(&mut self, other: Self) -> Result<()> {
        let what = "evaluation keys";
        if other.set != self.set {
            let (expected, found) = (self.set.to_string(), other.set.to_string());
            return Err(Error::WrongSet { what, expected, found });
        }
        if other.id != self.id {
            let (expected, found) = (format!("{:.8}", self.id), format!("{:.8}", other.id));
            return Err(Error::WrongKey { what, expected, found });
        }
        for (kind, key) in other.keys {
            let more = |held: &SwitchingKey| key.range().level > held.range().level;
            if self.keys.get(&kind).is_none_or(more) {
                self.keys.insert(kind, key);
            }
        }
        Ok(())
    }

    /// Name of the client key that they were made from.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Whether there is a key of this kind.
    pub fn contains(&self, kind: KeyKind) -> bool {
        self.keys.contains_key(&kind)
    }

    /// The key of this kind.
    ///
    /// # Errors
    /// [`Error::MissingKey`] with what was wanted and the keys there are.
    pub fn require(&self, kind: KeyKind) -> Result<&SwitchingKey> {
        self.keys.get(&kind).ok_or_else(|| super::missing(&self.set, kind, &self.kinds()))
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        self.keys.values().map(SwitchingKey::bytes).sum()
    }

    /// The keys as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`] if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bodies: Vec<_> = self.keys.values().map(|key| wire::bytes_of(key.bodies())).collect();
        let payload: Vec<_> = self
            .keys
            .values()
            .zip(&bodies)
            .map(|(key, bodies)| (key.kind().number(), key.seed().as_bytes(), Bytes(bodies)))
            .collect();
        // A number, a seed and a length each.
        let room = self.bytes() + 64 * self.keys.len();
        Ok(encode(wire::EVALUATION_KEYS, &self.set, Some(self.id), room, &payload)?)
    }

    /// Reads and checks what [`EvaluationKeys::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming what is wrong: truncated, damaged, another version, keys that
    /// the set cannot have, a wrong length, a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::EVALUATION_KEYS, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`EvaluationKeys::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &CkksParameters, bytes: &[u8]) -> Result<Self> {
        // One key for each rotation, for the conjugation, three more, those of first transforms of
        // any number of slots, and three between both rings, two of them with twice as many rows.
        let first = set.bootstrapping().filter(|b| b.first_transform_by_keys()).map_or(0, |b| {
            let log2 = set.slots().ilog2();
            (0..=log2).map(|few| 1usize << b.log2_first_keys(log2, few)).sum()
        });
        let invariant = set.invariant_weight().map_or(0, |_| 5);
        let most =
            (set.slots() + 3 + first + invariant) * (4 * KeyKind::Multiplication.words(set) + 64);
        Self::read(open_for(wire::EVALUATION_KEYS, set, most, bytes)?)
    }

    fn read(opened: Opened<'_, CkksParameters>) -> Result<Self> {
        let what = "evaluation keys";
        let id = opened.named_key()?;
        let (set, list): (_, Vec<KeyPayload<'_>>) = opened.payload()?;
        let mut keys = BTreeMap::new();
        for (number, seed, bytes) in list {
            let Some(kind) = KeyKind::of_number(number) else {
                return error::malformed(what, format!("there is no key number {number}"));
            };
            if let Err(why) = kind.check(&set) {
                return error::malformed(what, why.to_string());
            }
            // A key read twice would hide the other one.
            if keys.last_key_value().is_some_and(|(last, _)| *last >= kind) {
                return error::malformed(what, format!("{kind} is not in its place"));
            }
            // A key for fewer levels is shorter, which says what it is for.
            let words = bytes.len() / 4;
            let Some(range) = KeyRange::of_words(kind, &set, words) else {
                let (most, found) = (4 * kind.words(&set), bytes.len());
                let why =
                    format!("{found} bytes of {kind}, which has {most}, or those of fewer levels");
                return error::malformed(what, why);
            };
            let positions = range.positions(&set).repeat(range.digits(&set).len());
            let bodies = wire::limbs(what, &set, positions.into_iter(), bytes)?;
            let seed = MaskSeed::from_bytes(seed);
            keys.insert(kind, SwitchingKey::from_parts(range, seed, bodies));
        }
        Ok(Self { set_id: SetId::of(&set), set, id, keys })
    }
}

/// The number of a key's kind, the seed of its masks, and the bytes of its bodies.
type KeyPayload<'a> = (u64, [u8; 32], &'a [u8]);

impl SwitchingKeySource for EvaluationKeys {
    fn set(&self) -> &CkksParameters {
        &self.set
    }

    fn kinds(&self) -> Vec<KeyKind> {
        self.keys.keys().copied().collect()
    }

    fn range(&self, kind: KeyKind) -> KeyRange {
        match self.keys.get(&kind) {
            Some(key) => key.range(),
            None => KeyRange::from(kind).within(&self.set),
        }
    }

    fn limb(
        &self,
        kind: KeyKind,
        digit: usize,
        part: KeyPart,
        position: usize,
        out: &mut [u32],
    ) -> Result<()> {
        self.require(kind)?.limb(&self.set, &self.set_id, (digit, part, position), out)
    }

    fn stream(
        &self,
        kind: KeyKind,
        digit: usize,
        part: KeyPart,
        position: usize,
    ) -> Option<PublicStream> {
        let key = self.keys.get(&kind).filter(|_| part == KeyPart::Mask)?;
        Some(key.mask_stream(&self.set_id, digit, position))
    }
}
