//! The public keys of one user, compact.

use super::switching::{self, SecretLimbs, SwitchingKey};
use super::{ClientKey, KeyKind, KeyPart, KeyRange, SwitchingKeySource};
use crate::program::{Chain, ChainShape, FirstFactor};
use crate::{CkksParameters, Error, Result, error, wire};
use girih_backend::{Preparation, Progress, preparing};
use girih_ring::sampler::PublicStream;
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};
use girih_rlwe::{Fresh, KeyId, MaskSeed, SetId};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// Makes the keys of `kinds` under `client`, limb by limb on all threads: for all levels, or
    /// for those up to one where [`KeyKind::up_to`] says so. Kinds that stand there twice are made
    /// once, for the higher level.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind that the set cannot have, [`Error::Entropy`], and
    /// [`Error::Backend`] where this machine has no room for them.
    pub fn generate(
        client: &ClientKey,
        kinds: impl IntoIterator<Item = impl Into<KeyRange>>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let _making = preparing(Preparation::Keys);
        let set = client.set();
        let mut wanted: BTreeMap<KeyKind, KeyRange> = BTreeMap::new();
        for range in kinds {
            let range = range.into().within(set);
            range.kind.check(set)?;
            let held = wanted.entry(range.kind).or_insert(range);
            held.level = held.level.max(range.level);
        }
        let limbs = |range: &KeyRange| range.words(set) / set.degree();
        let (total, done) = (wanted.values().map(limbs).sum(), AtomicUsize::new(0));
        let report = |count: usize| {
            let done = done.fetch_add(count, Ordering::Relaxed) + count;
            progress.report("evaluation keys", done, total);
        };
        let secrets: &SecretLimbs = client.secret_limbs();
        let first = first_factors(client, wanted.keys())?;
        let draw = |(kind, range): (KeyKind, KeyRange)| {
            let number = kind.number().to_le_bytes();
            Ok((kind, range, client.entropy().fresh("a switching key", &[&number])?))
        };
        let drawn = wanted.into_iter().map(draw).collect::<Result<Vec<_>>>()?;
        // Keys side by side: one alone has threads idle while its few errors are drawn.
        let make = |(kind, range, fresh): (KeyKind, KeyRange, Fresh)| {
            let positions = range.positions(set);
            let diagonal = diagonal_of(set, kind, &first)?;
            let what = (range, &diagonal[..]);
            let key =
                SwitchingKey::generate(client.host(), what, &positions, secrets, &fresh, &report)?;
            Ok((kind, key))
        };
        let keys = drawn.into_par_iter().map(make).collect::<Result<BTreeMap<_, _>>>()?;
        Ok(Self { set: set.clone(), set_id: SetId::of(set), id: client.key_id(), keys })
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
        // One key for each rotation, for the conjugation, three more, and those of first transforms
        // of any number of slots.
        let first = set.bootstrapping().filter(|b| b.first_transform_by_keys()).map_or(0, |b| {
            let log2 = set.slots().ilog2();
            (1 + log2 as usize) << b.coefficients_to_slots_stages(log2, log2)[0]
        });
        let most = (set.slots() + 3 + first) * (4 * KeyKind::Multiplication.words(set) + 64);
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

/// The first transforms, by log2 of their slots, whose keys are among `kinds`.
fn first_factors<'a>(
    client: &ClientKey,
    kinds: impl Iterator<Item = &'a KeyKind>,
) -> Result<BTreeMap<u8, FirstFactor>> {
    let mut found = BTreeMap::new();
    for kind in kinds {
        let &KeyKind::First { log2_slots, .. } = kind else { continue };
        if let Entry::Vacant(place) = found.entry(log2_slots) {
            let chain = Chain::new(ChainShape::from(client.set()))?;
            let encoder = client.host().encoder();
            place.insert(FirstFactor::new(&chain, 1 << log2_slots, encoder)?);
        }
    }
    Ok(found)
}

/// The coefficients of the diagonal of a key of a first transform; none of other keys.
fn diagonal_of(
    set: &CkksParameters,
    kind: KeyKind,
    first: &BTreeMap<u8, FirstFactor>,
) -> Result<Vec<i64>> {
    let KeyKind::First { log2_slots, g } = kind else { return Ok(Vec::new()) };
    let rows = first[&log2_slots].rows();
    match rows.iter().find(|row| row.g == g) {
        Some(row) => Ok(switching::diagonal(set, row)),
        None => Err(Error::Unsupported {
            set: set.name().into(),
            why: format!(
                "{kind} belongs to no row: the exponents are {:?}",
                rows.iter().map(|row| row.g).collect::<Vec<_>>()
            ),
        }),
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
