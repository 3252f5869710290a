//! The public keys of one user, compact.

use super::packed::PackedWords;
use super::{ClientKey, CompressionKey, KeyId, bootstrapping, key_switching};
use crate::wire::EVALUATION_KEYS;
use crate::{ParameterSet, Result, error};
use girih_backend::{
    BackendError, BootstrapShape, KeySource, Preparation, Progress, Units, preparing,
};
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{MaskSeed, MaskStreams, SetId};

/// Bootstrapping and key-switching key, public: what a device loads.
///
/// Only bodies are stored; every mask is expanded from one 32-byte seed whenever a block is asked
/// for, from any thread. So the key of STD128 takes 30 MB instead of 160, and a device's copy is
/// the only whole one.
///
/// They may have a compression key beside ([`EvaluationKeys::with_compression`]).
pub struct EvaluationKeys {
    set: ParameterSet,
    id: KeyId,
    seed: MaskSeed,
    /// What the seed stands for.
    masks: MaskStreams,
    /// `[step][GGSW][level][row K][r][N]` modulo M.
    bootstrapping: PackedWords,
    /// `[i < kN][digit][value 1..B_ks][r]` modulo Q_ks.
    key_switching: PackedWords,
    compression: Option<CompressionKey>,
}

impl std::fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EvaluationKeys({}, {} bytes)", self.set, self.bytes())
    }
}

/// Largest words and lengths of both bodies.
struct Layout {
    bootstrapping_largest: u64,
    bootstrapping_len: usize,
    key_switching_largest: u64,
    key_switching_len: usize,
}

impl Layout {
    fn new(shape: &BootstrapShape) -> Self {
        Self {
            bootstrapping_largest: bootstrapping::largest_word(shape),
            bootstrapping_len: shape.steps() * bootstrapping::bodies_len(shape),
            key_switching_largest: key_switching::largest_word(shape),
            key_switching_len: shape.ks_indices() * key_switching::bodies_len(shape),
        }
    }

    /// Bytes of both.
    fn bytes(&self) -> usize {
        PackedWords::width(self.bootstrapping_largest) * self.bootstrapping_len
            + PackedWords::width(self.key_switching_largest) * self.key_switching_len
    }
}

impl EvaluationKeys {
    /// Makes the public keys of `client`, on all threads.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy), and [`BackendError::OutOfMemory`] where this
    /// machine cannot hold them.
    pub fn generate(client: &ClientKey, progress: &dyn Progress) -> Result<Self> {
        let _making = preparing(Preparation::Keys);
        let set = client.set();
        let layout = Layout::new(set.shape());
        let room = |what: &str, largest, len| {
            let refuse = |bytes| BackendError::OutOfMemory {
                device: "this machine".into(),
                bytes,
                what: format!("the {what} of {set}"),
            };
            PackedWords::zeroed(largest, len).map_err(refuse)
        };
        // Both before the work on either.
        let mut bootstrapping =
            room("bootstrapping key", layout.bootstrapping_largest, layout.bootstrapping_len)?;
        let mut key_switching =
            room("key-switching key", layout.key_switching_largest, layout.key_switching_len)?;
        let fresh = client.entropy.fresh("evaluation keys", &[])?;
        let (seed, masks, errors) =
            (fresh.masks, fresh.masks.streams(client.entropy.set()), fresh.errors);
        let Some(generator) = bootstrapping::Generator::new(client, masks, &errors) else {
            return Err(set.unsupported("its modulus has no number-theoretic transform"));
        };
        fill(
            &mut bootstrapping,
            set.shape().steps(),
            "bootstrapping key",
            progress,
            |index, block| generator.block(index, block),
        );
        let generator = key_switching::Generator::new(client, masks, &errors);
        fill(
            &mut key_switching,
            set.shape().ks_indices(),
            "key-switching key",
            progress,
            |index, block| generator.block(index, block),
        );
        Ok(Self {
            set: set.clone(),
            id: client.key_id(),
            seed,
            masks,
            bootstrapping,
            key_switching,
            compression: None,
        })
    }

    /// The same keys with a compression key of `client`, by which servers send results in few
    /// bytes ([`ServerKey::compress`](crate::ServerKey::compress)): 0.3 MB with TFHERS_2_2.
    ///
    /// It switches between images of the ring's secret under automorphisms, with the dimension and
    /// the ratio of modulus to errors of the bootstrapping key, so that the set's estimates of
    /// security hold for it.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for another client's, and as [`EvaluationKeys::generate`].
    pub fn with_compression(self, client: &ClientKey) -> Result<Self> {
        let what = "a compression key";
        if client.set() != &self.set {
            return error::wrong_set(what, client.set(), &self.set);
        }
        if client.key_id() != self.id {
            let rule = "it must be of one client key with the keys that it is added to";
            return error::wrong_key(what, [client.key_id(), self.id], rule);
        }
        Ok(Self { compression: Some(CompressionKey::generate(client)?), ..self })
    }

    /// The compression key, if there is one.
    pub(crate) fn compression(&self) -> Option<&CompressionKey> {
        self.compression.as_ref()
    }

    /// Bytes of the compression key, 0 without.
    pub fn compression_bytes(&self) -> usize {
        self.compression.as_ref().map_or(0, CompressionKey::bytes)
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that they were made from.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        self.bootstrapping.as_bytes().len()
            + self.key_switching.as_bytes().len()
            + self.compression_bytes()
    }

    #[cfg(test)]
    pub(super) fn mask_streams(&self) -> &MaskStreams {
        &self.masks
    }

    /// The keys as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let own = (
            self.seed.as_bytes(),
            Bytes(self.bootstrapping.as_bytes()),
            Bytes(self.key_switching.as_bytes()),
        );
        let (set, id, room) = (&self.set, Some(self.id), self.bytes());
        let Some(compression) = &self.compression else {
            return Ok(wire::encode(EVALUATION_KEYS, set, id, room, &own)?);
        };
        let (log2_base, digits, seed, bodies) = compression.parts();
        let payload = (own, (log2_base, digits, seed, Bytes(bodies)));
        Ok(wire::encode(EVALUATION_KEYS, set, id, room, &payload)?)
    }

    /// Reads what [`EvaluationKeys::to_bytes`] wrote and checks every word of it.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged,
    /// another version, a wrong length, a word out of range, or a set whose keys a device would
    /// have to expand to more than [`EvaluationKeys::LARGEST_EXPANSION`]
    /// ([`EvaluationKeys::from_bytes_for`] takes any set).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let opened: Opened<'_, ParameterSet> = wire::open(EVALUATION_KEYS, bytes)?;
        let (expanded, most) = (Self::expanded_bytes(&opened.set), Self::LARGEST_EXPANSION);
        if expanded > most {
            let set = &opened.set;
            let why = format!(
                "keys of {set} expand to {expanded} bytes, {most} are the most where the set is \
                 not known beforehand"
            );
            return error::malformed("evaluation keys", why);
        }
        Self::read(opened)
    }

    /// The same for keys of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`EvaluationKeys::from_bytes`], and for keys of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open_for(EVALUATION_KEYS, set, Self::most_bytes(set), bytes)?)
    }

    /// Bytes of keys with all their masks, beyond which [`EvaluationKeys::from_bytes`] refuses a
    /// set that a stranger chose: 64 GiB, more than any published set takes.
    pub const LARGEST_EXPANSION: u64 = 64 << 30;

    /// Bytes of all large parts of serialized keys of `set` at most, with a compression key; beside
    /// them there are less than 64 KiB.
    pub fn most_bytes(set: &ParameterSet) -> usize {
        Layout::new(set.shape()).bytes() + CompressionKey::most_bytes(set)
    }

    /// Bytes that the keys of `set` take with all their masks, 8 a word.
    pub fn expanded_bytes(set: &ParameterSet) -> u64 {
        let shape = set.shape();
        let words = shape.steps() * shape.bootstrapping_block_len()
            + shape.ks_indices() * shape.key_switching_block_len();
        8 * words as u64
    }

    fn read(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        let (id, layout) = (opened.named_key()?, Layout::new(opened.set.shape()));
        opened.check_payload(Self::most_bytes(&opened.set))?;
        type Own<'a> = ([u8; 32], &'a [u8], &'a [u8]);
        let (set, (seed, bootstrapping, key_switching), compression) =
            opened.payload_and_more::<Own<'_>, _>("the compression key's")?;
        let check = |name: &str, largest, len, bytes: &[u8]| match PackedWords::checked(
            largest, len, bytes,
        ) {
            Ok(words) => Ok(words),
            Err(why) => error::malformed("evaluation keys", format!("{name} of {set}: {why}")),
        };
        let bootstrapping = check(
            "bootstrapping key",
            layout.bootstrapping_largest,
            layout.bootstrapping_len,
            bootstrapping,
        )?;
        let key_switching = check(
            "key-switching key",
            layout.key_switching_largest,
            layout.key_switching_len,
            key_switching,
        )?;
        let compression = compression.map(|parts| CompressionKey::read(&set, parts)).transpose()?;
        let seed = MaskSeed::from_bytes(seed);
        Ok(Self {
            compression,
            id,
            seed,
            masks: seed.streams(&SetId::of(&set)),
            bootstrapping,
            key_switching,
            set,
        })
    }
}

/// Fills `count` equal blocks in parallel and reports how many are done.
fn fill(
    words: &mut PackedWords,
    count: usize,
    what: &str,
    progress: &dyn Progress,
    block: impl Fn(usize, &mut [u8]) + Sync + Send,
) {
    let blocks = Units::new(progress, what, count);
    let per_block = words.len() / count;
    words.fill_blocks(per_block, |index, bytes| {
        // A report that unwinds ends the work: threads begin no other block.
        if !blocks.is_over() {
            block(index, bytes);
            blocks.done();
        }
    });
}

impl KeySource for EvaluationKeys {
    fn shape(&self) -> &BootstrapShape {
        self.set.shape()
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let shape = self.set.shape();
        let (masks_len, bodies_len) = (shape.ks_indices(), shape.packing * shape.polynomial_size);
        let mut stream = bootstrapping::mask_stream(&self.masks, index);
        let mut first = index * bootstrapping::bodies_len(shape);
        for row in out.chunks_exact_mut(masks_len + bodies_len) {
            let (masks, bodies) = row.split_at_mut(masks_len);
            bootstrapping::draw_row_masks(shape, &mut stream, masks);
            self.bootstrapping.read(first, bodies);
            first += bodies_len;
        }
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        let shape = self.set.shape();
        let mut stream = key_switching::mask_stream(&self.masks, index);
        let mut first = index * key_switching::bodies_len(shape);
        let len = shape.switched_len();
        // A table begins with value 0, which is nowhere stored; the rows of the native torus are
        // all stored.
        let (per_digit, zeros) =
            if shape.is_torus() { (len, 0) } else { (shape.ks_base() * len, len) };
        for digit in out.chunks_exact_mut(per_digit) {
            let (zero, entries) = digit.split_at_mut(zeros);
            zero.fill(0);
            for entry in entries.chunks_exact_mut(len) {
                let (mask, bodies) = entry.split_at_mut(shape.lwe_dimension);
                key_switching::draw_mask(shape, &mut stream, mask);
                self.key_switching.read(first, bodies);
                first += shape.packing;
            }
        }
    }
}
