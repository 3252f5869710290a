//! Fresh ciphertexts as they travel: bodies, and the seed of the masks.

use super::{
    LweCiphertexts, check_log2_modulus, check_modulus, check_variance, draw_masks, get, put, width,
};
use crate::keys::packed::PackedWords;
use crate::wire::SEEDED_CIPHERTEXTS;
use crate::{ClientKey, KeyId, ParameterSet, Result, error};
use girih_backend::BootstrapShape;
use girih_backend::parallel::prelude::*;
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{MaskSeed, SetId};

/// A batch of fresh ciphertexts without their masks, which are uniform and public: 32 bytes of seed
/// stand for all of them. A message takes as many whole bytes as the modulus has, 2 with most sets
/// and 8 on the native torus, where a whole ciphertext of TFHERS_2_2 takes 16,392.
///
/// A client makes it ([`ClientKey::encrypt_seeded`]); whoever computes expands it
/// ([`SeededCiphertexts::expand`]). It is as secure as the ciphertexts: the seed says nothing of
/// secrets or errors.
#[derive(Clone)]
pub struct SeededCiphertexts {
    set: ParameterSet,
    key: KeyId,
    log2_modulus: u32,
    variance: f64,
    plaintext_modulus: u64,
    seed: MaskSeed,
    /// `[ciphertext][r]`.
    bodies: PackedWords,
}

impl std::fmt::Debug for SeededCiphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SeededCiphertexts({}, {} ciphertexts modulo 2^{})",
            self.set,
            self.len(),
            self.log2_modulus
        )
    }
}

/// The largest word modulo `2^log2_modulus`.
fn largest(log2_modulus: u32) -> u64 {
    u64::MAX >> (64 - log2_modulus)
}

fn body_halves(shape: &BootstrapShape) -> usize {
    shape.packing * width(shape)
}

impl SeededCiphertexts {
    pub(crate) fn encrypt(
        client: &ClientKey,
        messages: &[u64],
        modulus: u64,
        log2_modulus: u32,
    ) -> Result<Self> {
        let (batch, seed) = LweCiphertexts::encrypt(client, messages, modulus, log2_modulus)?;
        let set = client.set();
        let (len, halves) = (set.shape().ciphertext_len(), body_halves(set.shape()));
        let bodies: Vec<u64> = batch
            .words()
            .chunks_exact(len)
            .flat_map(|c| c[len - halves..].chunks_exact(width(set.shape())).map(get))
            .collect();
        let largest = largest(log2_modulus);
        let too_much = |bytes| error::out_of_memory("ciphertexts", bytes);
        let mut packed = PackedWords::zeroed(largest, bodies.len()).or_else(too_much)?;
        packed.fill_blocks(bodies.len(), |_, block| {
            PackedWords::write(largest, block, 0, &bodies);
        });
        Ok(Self {
            set: set.clone(),
            key: client.key_id(),
            log2_modulus,
            variance: batch.variance(),
            plaintext_modulus: modulus,
            seed,
            bodies: packed,
        })
    }

    /// The whole ciphertexts.
    pub fn expand(&self) -> LweCiphertexts {
        let shape = self.set.shape();
        let mut words = vec![0; self.len() * shape.ciphertext_len()];
        draw_masks(&self.set, &self.seed, self.log2_modulus, &mut words);
        let (len, halves) = (shape.ciphertext_len(), body_halves(shape));
        words.par_chunks_exact_mut(len).enumerate().for_each(|(c, ciphertext)| {
            let bodies = ciphertext[len - halves..].chunks_exact_mut(width(shape));
            for (slot, body) in bodies.enumerate() {
                put(body, self.bodies.get(c * shape.packing + slot));
            }
        });
        LweCiphertexts {
            set: self.set.clone(),
            key: Some(self.key),
            log2_modulus: self.log2_modulus,
            variance: self.variance,
            plaintext_modulus: Some(self.plaintext_modulus),
            words,
        }
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that they are under.
    pub fn key_id(&self) -> KeyId {
        self.key
    }

    /// log2 of the modulus.
    pub fn log2_modulus(&self) -> u32 {
        self.log2_modulus
    }

    /// How many messages fill the circle: see [`LweCiphertexts::plaintext_modulus`].
    pub fn plaintext_modulus(&self) -> u64 {
        self.plaintext_modulus
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.bodies.len() / self.set.packing()
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.bodies.len() == 0
    }

    /// Number of messages: r for each ciphertext.
    pub fn messages(&self) -> usize {
        self.bodies.len()
    }

    /// The batch as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bodies = self.bodies.as_bytes();
        let (seed, plaintext) = (self.seed.as_bytes(), self.plaintext_modulus);
        let payload = (self.log2_modulus, self.variance, plaintext, seed, Bytes(bodies));
        let room = bodies.len();
        Ok(wire::encode(SEEDED_CIPHERTEXTS, &self.set, Some(self.key), room, &payload)?)
    }

    /// Reads and checks what [`SeededCiphertexts::to_bytes`] wrote. [`SeededCiphertexts::expand`]
    /// takes [`ParameterSet`]'s whole ciphertexts of memory for each of [`SeededCiphertexts::len`]:
    /// whoever takes batches from strangers looks at that first.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged,
    /// another version, a wrong length, a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open(SEEDED_CIPHERTEXTS, bytes)?)
    }

    /// The same for ciphertexts of `set` and no other: whatever else these bytes may hold is
    /// refused before it is looked at.
    ///
    /// # Errors
    /// As [`SeededCiphertexts::from_bytes`], and for ciphertexts of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        // As many as there are: each is there in the bytes.
        Self::read(wire::open_for(SEEDED_CIPHERTEXTS, set, usize::MAX, bytes)?)
    }

    fn read(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        let what = "seeded ciphertexts";
        let key = opened.named_key()?;
        type Payload<'a> = (u32, f64, u64, [u8; 32], &'a [u8]);
        let (set, payload): (_, Payload<'_>) = opened.payload()?;
        let (log2_modulus, variance, plaintext_modulus, seed, bodies) = payload;
        if let Err(why) = check_log2_modulus(&set, log2_modulus) {
            return error::malformed(what, why.to_string());
        }
        check_variance(what, variance)?;
        if let Err(error) = check_modulus(plaintext_modulus, log2_modulus) {
            return error::malformed(what, error.to_string());
        }
        let largest = largest(log2_modulus);
        let len = bodies.len() / PackedWords::width(largest);
        if len == 0 || !len.is_multiple_of(set.packing()) {
            return error::malformed(
                what,
                format!("{len} bodies are no whole number of ciphertexts of {}", set.packing()),
            );
        }
        let bodies = match PackedWords::checked(largest, len, bodies) {
            Ok(bodies) => bodies,
            Err(why) => return error::malformed(what, why),
        };
        let seed = MaskSeed::from_bytes(seed);
        Ok(Self { set, key, log2_modulus, variance, plaintext_modulus, seed, bodies })
    }
}

/// Streams of the masks that a seed stands for.
pub(super) fn mask_streams(set: &ParameterSet, seed: &MaskSeed) -> girih_rlwe::MaskStreams {
    seed.streams(&SetId::of(set))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn seeds_expand_to_what_was_encrypted() {
        for (set, bytes_each) in [("INSECURE_TOY_R4", 2), ("INSECURE_INTEGERS", 8)] {
            let set = ParameterSet::by_name(set).expect("built in");
            let client = || ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a toy");
            let messages = [1, 0, 3, 2, 2, 2, 0, 1];
            let seeded = client().encrypt_seeded(&messages, 8).expect("below 8");
            // The same client, having made nothing yet, makes the same batch.
            let whole = client().encrypt(&messages, 8).expect("below 8");
            assert_eq!(seeded.expand(), whole, "{set}");
            assert_eq!((seeded.messages(), seeded.len()), (8, whole.len()));
            assert_eq!((whole.messages(), whole.is_empty(), seeded.is_empty()), (8, false, false));
            assert_eq!(seeded.log2_modulus(), whole.log2_modulus());
            let empty = whole.slice(1..1).expect_err("no ciphertext").to_string();
            assert!(empty.contains("ciphertexts 1..1"), "{empty}");
            let bytes = seeded.to_bytes().expect("small");
            let empty = client().encrypt_seeded(&messages[..4], 8).expect("below 8");
            let less = empty.to_bytes().expect("small").len();
            assert_eq!(bytes.len() - less, 4 * bytes_each, "{set}");
            let read = SeededCiphertexts::from_bytes_for(&set, &bytes).expect("what was written");
            assert_eq!(read.expand(), whole, "{set}");
            assert_eq!(client().decrypt(&read.expand(), 8).expect("its key"), messages);
            for length in [0, 20, bytes.len() - 40, bytes.len() - 1] {
                let error = SeededCiphertexts::from_bytes(&bytes[..length]).expect_err("cut short");
                assert!(matches!(error, Error::Malformed { .. }), "{error}");
            }
        }
    }
    /// What another program may write, its checksum right.
    #[test]
    fn bodies_of_no_whole_number_of_ciphertexts_are_refused() {
        let set = ParameterSet::by_name("INSECURE_TOY_R4").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a toy");
        let read = |bodies: &[u8]| {
            let payload = (9u32, 0.0f64, 8u64, [1u8; 32], bodies);
            let key = Some(client.key_id());
            let bytes = wire::encode(SEEDED_CIPHERTEXTS, &set, key, 100, &payload).expect("small");
            SeededCiphertexts::from_bytes(&bytes)
        };
        assert_eq!(read(&[0; 16]).expect("eight bodies of two bytes").len(), 2);
        for (bytes, count) in [(0, "0 bodies"), (2, "1 bodies"), (10, "5 bodies")] {
            let error = read(&vec![0; bytes]).expect_err(count).to_string();
            assert!(error.contains(count) && error.contains("ciphertexts of 4"), "{error}");
        }
    }
}
