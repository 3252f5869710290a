//! Keys that are made while a device loads them.

use super::switching::{self, Recipe, Scratch, SecretLimb, SwitchingKey};
use super::{ClientKey, EvaluationKeys, KeyKind, KeyPart, KeyRange, SwitchingKeySource};
use crate::program::{Chain, ChainShape, FirstFactor};
use crate::{CkksParameters, Error, Result};
use girih_backend::parallel::prelude::*;
use girih_backend::{Preparation, Progress, Units, preparing};
use girih_ring::sampler::PublicStream;
use girih_rlwe::{KeyId, SetId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use zeroize::Zeroizing;

/// The switching keys of a client that computes on its own machine: each limb is made when a device
/// asks for it, on the threads that load, so that the host never holds them all.
///
/// They are the words of [`EvaluationKeys::generate`], which are what to send to others.
/// [`ServerKey::load_streamed`](crate::server::ServerKey::load_streamed) loads them.
///
/// ```
/// use girih_ckks::{CkksParameters, ClientKey, KeyKind, StreamedKeys};
/// # fn main() -> girih_ckks::Result<()> {
/// let client = ClientKey::generate(&CkksParameters::by_name("INSECURE_CKKS_D40_N10")?)?;
/// let keys = StreamedKeys::new(&client, [KeyKind::Multiplication])?;
/// assert_eq!(keys.key_id(), client.key_id());
/// # Ok(())
/// # }
/// ```
pub struct StreamedKeys<'a> {
    client: &'a ClientKey,
    set_id: SetId,
    keys: BTreeMap<KeyKind, StreamedKey<'a>>,
}

/// A key whose randomness is drawn.
struct StreamedKey<'a> {
    recipe: Recipe<'a>,
    positions: Vec<usize>,
    /// By digit, from the key's first one on.
    errors: Vec<OnceLock<Zeroizing<Vec<i8>>>>,
    /// What its limbs share, from the first that is made to the last.
    making: Mutex<Making<'a>>,
}

#[derive(Default)]
struct Making<'a> {
    targets: Option<Targets<'a>>,
    made: usize,
}

/// What the limbs of one prime share, by place in the key's positions, made when first needed.
type Targets<'a> = Arc<[OnceLock<SecretLimb<'a>>]>;

fn empty<T, C: FromIterator<OnceLock<T>>>(len: usize) -> C {
    std::iter::repeat_with(OnceLock::new).take(len).collect()
}

impl<'a> StreamedKey<'a> {
    // What is made is whole before it is put there: a panic elsewhere leaves nothing half done.
    fn making(&self) -> MutexGuard<'_, Making<'a>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What limbs share, made anew where all were made before.
    fn targets(&self) -> Targets<'a> {
        let new = || empty::<_, Arc<[_]>>(self.positions.len());
        self.making().targets.get_or_insert_with(new).clone()
    }

    /// The errors of a row, by its place among the key's.
    fn errors(&self, row: usize, digit: usize) -> &[i8] {
        self.errors[row].get_or_init(|| self.recipe.errors(digit))
    }

    /// A limb is made: with the last of `limbs` goes what they share.
    fn made(&self, limbs: usize) {
        let mut making = self.making();
        making.made += 1;
        if making.made >= limbs {
            *making = Making::default();
        }
    }
}

impl std::fmt::Debug for StreamedKeys<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StreamedKeys({}, {} keys)", self.client.set(), self.keys.len())
    }
}

impl<'a> StreamedKeys<'a> {
    /// Draws the seeds of keys of `kinds` under `client`: for all levels, or for those up to one
    /// where [`KeyKind::up_to`] says so. Kinds that stand there twice count once, for the higher
    /// level.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind that the set cannot have, [`Error::Entropy`].
    pub fn new(
        client: &'a ClientKey,
        kinds: impl IntoIterator<Item = impl Into<KeyRange>>,
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
        let first = first_factors(client, wanted.keys())?;
        let (host, secrets) = (client.host(), client.secret_limbs());
        let draw = |(kind, range): (KeyKind, KeyRange)| {
            let positions = range.positions(set);
            let what = (range, diagonal_of(set, kind, &first)?);
            let number = kind.number().to_le_bytes();
            let fresh = client.entropy().fresh("a switching key", &[&number])?;
            let recipe = Recipe::new(host, secrets, what, &positions, fresh)?;
            let errors = empty(range.digits(set).len());
            Ok((kind, StreamedKey { recipe, positions, errors, making: Mutex::default() }))
        };
        let keys = wanted.into_iter().map(draw).collect::<Result<_>>()?;
        Ok(Self { client, set_id: SetId::of(set), keys })
    }

    /// Name of the client key that they are of.
    pub fn key_id(&self) -> KeyId {
        self.client.key_id()
    }

    /// All of them, made side by side on all threads. `progress` hears of limbs.
    ///
    /// # Errors
    /// [`Error::Backend`] where this machine has no room for them.
    pub fn whole(&self, progress: &dyn Progress) -> Result<EvaluationKeys> {
        let _making = preparing(Preparation::Keys);
        let set = self.client.set();
        let limbs = |key: &StreamedKey<'_>| key.recipe.range().words(set) / set.degree();
        let total = self.keys.values().map(limbs).sum();
        let limbs = Units::new(progress, "evaluation keys", total);
        // Keys side by side: one alone has threads idle while its few errors are drawn.
        let make = |(&kind, key): (&KeyKind, &StreamedKey<'_>)| {
            Ok((kind, SwitchingKey::generate(&key.recipe, &key.positions, &limbs)?))
        };
        let keys = self.keys.par_iter().map(make).collect::<Result<BTreeMap<_, _>>>()?;
        Ok(EvaluationKeys::of(set, self.key_id(), keys))
    }

    /// Draws all errors on all threads: few words, which threads that make limbs of one row would
    /// wait for.
    pub(crate) fn draw_errors(&self) {
        let set = self.client.set();
        self.keys.par_iter().for_each(|(_, key)| {
            key.recipe.range().digits(set).into_par_iter().enumerate().for_each(|(row, digit)| {
                key.errors(row, digit);
            });
        });
    }

    fn require(&self, kind: KeyKind) -> Result<&StreamedKey<'a>> {
        let missing = || super::missing(self.client.set(), kind, &self.kinds());
        self.keys.get(&kind).ok_or_else(missing)
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
        StreamedKeys::new(client, kinds)?.whole(progress)
    }
}

impl SwitchingKeySource for StreamedKeys<'_> {
    fn set(&self) -> &CkksParameters {
        self.client.set()
    }

    fn kinds(&self) -> Vec<KeyKind> {
        self.keys.keys().copied().collect()
    }

    fn range(&self, kind: KeyKind) -> KeyRange {
        match self.keys.get(&kind) {
            Some(key) => key.recipe.range(),
            None => KeyRange::from(kind).within(self.set()),
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
        let (key, set) = (self.require(kind)?, self.set());
        let range = key.recipe.range();
        let index = switching::limb_start(set, range, digit, position, out)? / set.degree();
        if part == KeyPart::Mask {
            let id = (kind, digit, position);
            let stream = switching::mask_stream(key.recipe.seed(), &self.set_id, id);
            switching::expand(&stream, set, position, out);
            return Ok(());
        }
        let (row, place) = (index / key.positions.len(), index % key.positions.len());
        let digits = range.digits(set).len();
        let targets = key.targets();
        let target = targets[place].get_or_init(|| key.recipe.target(position));
        let mut scratch = Scratch::new(set.degree());
        let errors = key.errors(row, digit);
        key.recipe.body((digit, position), errors, target, &mut scratch, out);
        key.made(digits * key.positions.len());
        Ok(())
    }

    fn stream(
        &self,
        kind: KeyKind,
        digit: usize,
        part: KeyPart,
        position: usize,
    ) -> Option<PublicStream> {
        let key = self.keys.get(&kind).filter(|_| part == KeyPart::Mask)?;
        let id = (kind, digit, position);
        Some(switching::mask_stream(key.recipe.seed(), &self.set_id, id))
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
