//! Batches of ciphertexts on the host.

mod linear;
mod noise;
mod plaintext;
mod seeded;
mod uniform;

pub(crate) use noise::check_variance;
pub(crate) use plaintext::{BITS, check_plaintext, check_room, common_plaintext};

pub use noise::Decryption;
pub(crate) use noise::largest_variance;
pub use seeded::SeededCiphertexts;

use crate::keys::domain;
use crate::wire::CIPHERTEXTS;
use crate::{ClientKey, KeyId, ParameterSet, Result, error};
use girih_backend::BootstrapShape;
use girih_backend::parallel::prelude::*;
use girih_ring::constant_time::{switch_from_power, switch_to_power};
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{Counts, MaskSeed, Mismatch};
use zeroize::Zeroizing;

/// Largest log2 of a ciphertext's modulus: what the contract of devices stores.
const MAX_LOG2_MODULUS: u32 = 30;

/// Smallest: as of q.
const MIN_LOG2_MODULUS: u32 = 3;

/// A batch of CM-LWE ciphertexts: n mask words and r bodies each, modulo one power of two.
///
/// The batch holds `len()` ciphertexts and `messages() = len() r` messages. Gates and look-up
/// tables work modulo q of the set; large-precision functions start from a larger modulus and pass
/// through smaller ones. On the native torus masks have kN words, words are modulo 2^64, and each
/// takes two of 32 bits, the low half first.
///
/// A batch names the client key that it is under, and what is computed from it does, too: batches
/// under two keys are refused where they meet. Constants and words that were made elsewhere name
/// none and go with any key.
///
/// A batch also carries the variance of its errors, by the noise model, which every operation adds
/// to ([`LweCiphertexts::variance`]): what would fail too often is refused before it runs. And it
/// carries how many messages fill the circle ([`LweCiphertexts::plaintext_modulus`]), so that a
/// table of messages of another width is refused.
#[derive(Clone, PartialEq)]
pub struct LweCiphertexts {
    set: ParameterSet,
    key: Option<KeyId>,
    log2_modulus: u32,
    /// Of the error of any message, in units of the modulus.
    variance: f64,
    plaintext_modulus: Option<u64>,
    words: Vec<u32>,
}

impl std::fmt::Debug for LweCiphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "LweCiphertexts({}, {} ciphertexts modulo 2^{})",
            self.set,
            self.len(),
            self.log2_modulus
        )
    }
}

impl LweCiphertexts {
    /// Takes words that were made elsewhere: `[ciphertext][n masks, r bodies]`, each below q
    /// (native torus: halves of words). Their errors are taken for those of bootstrapped
    /// ciphertexts; [`LweCiphertexts::with_variance`] says otherwise.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an empty batch, a length that is not a whole number of
    /// ciphertexts, or a word that is not below q.
    pub fn from_words(set: &ParameterSet, words: Vec<u32>) -> Result<Self> {
        Self::from_words_at(set, set.shape().log2_stored_modulus(), words)
    }

    /// The same modulo `2^log2_modulus`.
    ///
    /// # Errors
    /// As [`LweCiphertexts::from_words`], and for a modulus that the set's ciphertexts cannot have.
    pub fn from_words_at(set: &ParameterSet, log2_modulus: u32, words: Vec<u32>) -> Result<Self> {
        let what = "ciphertexts";
        if let Err(why) = check_log2_modulus(set, log2_modulus) {
            return error::malformed(what, why.to_string());
        }
        let len = set.shape().ciphertext_len();
        if words.is_empty() {
            return error::malformed(what, "the batch is empty");
        }
        if !words.len().is_multiple_of(len) {
            return error::malformed(
                what,
                format!("{} words are no whole number of ciphertexts of {len}", words.len()),
            );
        }
        if let Some(index) = first_above(&words, log2_modulus) {
            let (c, w) = (index / len, index % len);
            let name =
                if log2_modulus == set.shape().log2_lwe_modulus { "q" } else { "their modulus" };
            return error::malformed(
                what,
                format!(
                    "word {w} of ciphertext {c} is {}, {name} is {}",
                    words[index],
                    1u64 << log2_modulus
                ),
            );
        }
        let variance = noise::bootstrapped(set, log2_modulus);
        let set = set.clone();
        Ok(Self { set, key: None, log2_modulus, variance, plaintext_modulus: None, words })
    }

    /// The same ciphertexts, said to be under the client key `key`: for words that were made
    /// elsewhere by whoever knows. It is a name, not a proof.
    #[must_use]
    pub fn with_key(self, key: KeyId) -> Self {
        self.under(Some(key))
    }

    /// The same ciphertexts, known to be under `key`.
    pub(crate) fn under(self, key: Option<KeyId>) -> Self {
        Self { key, ..self }
    }

    /// The same ciphertexts by the name of another set of these secrets.
    pub(crate) fn named(&self, set: &ParameterSet) -> Result<Self> {
        Ok(Self::from_words_at(set, self.log2_modulus, self.words.clone())?
            .under(self.key)
            .noisy(self.variance)
            .encoding(self.plaintext_modulus))
    }

    /// Ciphertexts of known messages, without mask or secret: `m q / modulus` in each body.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn trivial(set: &ParameterSet, messages: &[u64], modulus: u64) -> Result<Self> {
        Self::trivial_at(set, messages, modulus, set.shape().log2_stored_modulus())
    }

    /// The same modulo `2^log2_modulus`: `m 2^log2_modulus / modulus` in each body.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_at`].
    pub fn trivial_at(
        set: &ParameterSet,
        messages: &[u64],
        modulus: u64,
        log2_modulus: u32,
    ) -> Result<Self> {
        check_log2_modulus(set, log2_modulus)?;
        check_messages(set, messages, modulus, log2_modulus)?;
        let shape = set.shape();
        let mut words = vec![0; messages.len() / shape.packing * shape.ciphertext_len()];
        let width = width(shape);
        for (ciphertext, messages) in
            words.chunks_exact_mut(shape.ciphertext_len()).zip(messages.chunks_exact(shape.packing))
        {
            for (body, &m) in
                ciphertext[shape.stored_mask_len() * width..].chunks_exact_mut(width).zip(messages)
            {
                put(body, encode(m, modulus, log2_modulus));
            }
        }
        let variance = noise::encoding(modulus);
        let (set, plaintext_modulus) = (set.clone(), Some(modulus));
        Ok(Self { set, key: None, log2_modulus, variance, plaintext_modulus, words })
    }

    /// Constant bits for gates.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn trivial_bits(set: &ParameterSet, bits: &[bool]) -> Result<Self> {
        Self::trivial(set, &bits.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), 4)
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that they are under;
    /// none for constants and words that were made elsewhere.
    pub fn key_id(&self) -> Option<KeyId> {
        self.key
    }

    /// log2 of the modulus.
    pub fn log2_modulus(&self) -> u32 {
        self.log2_modulus
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.words.len() / self.set.shape().ciphertext_len()
    }

    /// Whether there is none; a checked batch never is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of messages: r for each ciphertext.
    pub fn messages(&self) -> usize {
        self.len() * self.set.packing()
    }

    /// The words: `[ciphertext][n masks, r bodies]`.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// One batch after the other; all are taken to have the errors of the one with the largest.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no batches, or batches that differ in set, key, modulus or width of
    /// messages.
    pub fn concatenate(batches: &[&Self]) -> Result<Self> {
        let Some(first) = batches.first() else {
            return error::mismatch(Mismatch::empty("batches to concatenate"));
        };
        if let Some(other) =
            batches.iter().find(|b| (&b.set, b.log2_modulus) != (&first.set, first.log2_modulus))
        {
            let rule = "set and modulus must be the same";
            return error::mismatch(Mismatch::unlike(
                format!("{first:?}"),
                format!("{other:?}"),
                rule,
            ));
        }
        let words = batches.iter().flat_map(|b| b.words.iter().copied()).collect();
        Ok(Self {
            set: first.set.clone(),
            key: KeyId::common(batches.iter().map(|b| b.key))?,
            log2_modulus: first.log2_modulus,
            variance: batches.iter().fold(0.0, |most, b| most.max(b.variance)),
            plaintext_modulus: common_plaintext(batches.iter().map(|b| b.plaintext_modulus))?,
            words,
        })
    }

    /// The ciphertexts of `range`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an empty range, or one that ends beyond the batch.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Result<Self> {
        let len = self.set.shape().ciphertext_len();
        match self.words.get(range.start.saturating_mul(len)..range.end.saturating_mul(len)) {
            Some(words) if !words.is_empty() => {
                Ok(self.with_words(self.log2_modulus, words.to_vec()))
            }
            _ => {
                let len = self.len() as u64;
                let (place, found, least, most) = match range.start as u64 {
                    start if start < len => ("end", range.end as u64, start + 1, len),
                    start => ("start", start, 0, len.saturating_sub(1)),
                };
                let what = format!("the {place} of ciphertexts {range:?} of a batch of {len}");
                error::mismatch(Mismatch::range(what, found, [least, most]))
            }
        }
    }

    /// Other words of the same set and key, with the same errors.
    fn with_words(&self, log2_modulus: u32, words: Vec<u32>) -> Self {
        let (set, key, variance) = (self.set.clone(), self.key, self.variance);
        let plaintext_modulus = self.plaintext_modulus;
        Self { set, key, log2_modulus, variance, plaintext_modulus, words }
    }

    /// Refuses ciphertexts under another client key; `why` says why they must be under `key`.
    pub(crate) fn check_key(&self, key: KeyId, why: &'static str) -> Result<()> {
        match self.key {
            Some(own) if own != key => error::wrong_key("ciphertexts", [own, key], why),
            _ => Ok(()),
        }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.log2_modulus)
    }

    /// The batch as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // Whole bytes, whatever the word is: the length depends on the shape alone.
        let (each, width) = (word_bytes(self.log2_modulus), width(self.set.shape()));
        let mut bytes = Vec::with_capacity(self.words.len() / width * each);
        for word in self.words.chunks_exact(width) {
            bytes.extend(&get(word).to_le_bytes()[..each]);
        }
        let payload = (self.log2_modulus, self.variance, self.plaintext_modulus, Bytes(&bytes));
        Ok(wire::encode(CIPHERTEXTS, &self.set, self.key, bytes.len(), &payload)?)
    }

    /// Reads and checks what [`LweCiphertexts::to_bytes`] wrote. What they say of their errors is
    /// as much to be trusted as whoever sent them.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming what is wrong: truncated, damaged, another version, a wrong
    /// length, a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open(CIPHERTEXTS, bytes)?)
    }

    /// The same for ciphertexts of `set` and no other: whatever else these bytes may hold is
    /// refused before it is looked at.
    ///
    /// # Errors
    /// As [`LweCiphertexts::from_bytes`], and for ciphertexts of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        // As many as there are: each is there in the bytes.
        Self::read(wire::open_for(CIPHERTEXTS, set, usize::MAX, bytes)?)
    }

    fn read(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        let key = opened.key;
        let what = "ciphertexts";
        let (set, payload): (_, (_, f64, Option<u64>, &[u8])) = opened.payload()?;
        let (log2_modulus, variance, plaintext_modulus, bytes) = payload;
        if let Err(why) = check_log2_modulus(&set, log2_modulus) {
            return error::malformed(what, why.to_string());
        }
        let (each, width) = (word_bytes(log2_modulus), width(set.shape()));
        if !bytes.len().is_multiple_of(each) {
            let why = format!("{} bytes are no whole number of words of {each}", bytes.len());
            return error::malformed(what, why);
        }
        let mut words = vec![0; bytes.len() / each * width];
        for (word, bytes) in words.chunks_exact_mut(width).zip(bytes.chunks_exact(each)) {
            let mut whole = [0; 8];
            whole[..each].copy_from_slice(bytes);
            put(word, u64::from_le_bytes(whole));
        }
        Self::from_words_at(&set, log2_modulus, words)?
            .under(key)
            .with_variance(variance)?
            .with_plaintext_modulus(plaintext_modulus)
            .or_else(|error| error::malformed(what, error.to_string()))
    }

    pub(crate) fn encrypt(
        client: &ClientKey,
        messages: &[u64],
        modulus: u64,
        log2_modulus: u32,
    ) -> Result<(Self, MaskSeed)> {
        let set = client.set();
        let mut batch = Self::trivial_at(set, messages, modulus, log2_modulus)?;
        let (shape, width) = (set.shape(), width(set.shape()));
        let mask = batch.mask();
        let plain =
            Zeroizing::new(messages.iter().flat_map(|m| m.to_le_bytes()).collect::<Vec<_>>());
        let fresh = client
            .entropy
            .fresh("ciphertexts", &[&plain, &modulus.to_le_bytes(), &log2_modulus.to_le_bytes()])?;
        draw_masks(set, &fresh.masks, log2_modulus, &mut batch.words);
        batch.words.par_chunks_exact_mut(shape.ciphertext_len()).enumerate().for_each(
            |(index, ciphertext)| {
                let mut errors = fresh.errors.stream(domain::ENCRYPTION, index as u64);
                let (masks, bodies) = ciphertext.split_at_mut(shape.stored_mask_len() * width);
                for (slot, body) in bodies.chunks_exact_mut(width).enumerate() {
                    let phase = get(body).wrapping_add(client.stored_error(&mut errors) as u64);
                    put(
                        body,
                        phase.wrapping_add(inner_product(masks, width, client.stored_secret(slot)))
                            & mask,
                    );
                }
            },
        );
        let variance = batch.variance + noise::fresh(set);
        Ok((batch.under(Some(client.key_id())).noisy(variance), fresh.masks))
    }

    pub(crate) fn phases(&self, client: &ClientKey) -> Result<Vec<u64>> {
        if client.set() != &self.set {
            return error::wrong_set("ciphertexts", &self.set, client.set());
        }
        self.check_key(client.key_id(), "a client key decrypts what is under it and nothing else")?;
        let (shape, width, mask) = (self.set.shape(), width(self.set.shape()), self.mask());
        let phases = |ciphertext: &[u32]| {
            let (masks, bodies) = ciphertext.split_at(shape.stored_mask_len() * width);
            let phase = |(slot, body)| {
                get(body).wrapping_sub(inner_product(masks, width, client.stored_secret(slot)))
                    & mask
            };
            bodies.chunks_exact(width).enumerate().map(phase).collect::<Vec<_>>()
        };
        Ok(self.words.par_chunks_exact(shape.ciphertext_len()).flat_map_iter(phases).collect())
    }

    pub(crate) fn decrypt(&self, client: &ClientKey, modulus: u64) -> Result<Vec<u64>> {
        check_modulus(modulus, self.log2_modulus)?;
        Ok(self
            .phases(client)?
            .into_iter()
            .map(|phase| decode(phase, modulus, self.log2_modulus))
            .collect())
    }
}

/// Draws the masks of a batch of ciphertexts from their seed.
fn draw_masks(set: &ParameterSet, seed: &MaskSeed, log2_modulus: u32, words: &mut [u32]) {
    let (shape, uniform) = (set.shape(), seeded::mask_streams(set, seed));
    let masks = shape.stored_mask_len() * width(shape);
    let mask = (u64::MAX >> (64 - log2_modulus)) as u32;
    words.par_chunks_exact_mut(shape.ciphertext_len()).enumerate().for_each(|(index, words)| {
        let mut stream = uniform.stream(domain::ENCRYPTION, index as u64);
        // Halves in turn: a whole word is two draws.
        words[..masks].iter_mut().for_each(|a| *a = stream.next_u32() & mask);
    });
}

/// 32-bit words of one word of a ciphertext.
fn width(shape: &BootstrapShape) -> usize {
    if shape.is_torus() { 2 } else { 1 }
}

/// Bytes of a serialized word.
fn word_bytes(log2_modulus: u32) -> usize {
    log2_modulus.div_ceil(8) as usize
}

/// A word of one or two halves.
fn get(halves: &[u32]) -> u64 {
    halves.iter().rev().fold(0, |word, &half| word << 32 | u64::from(half))
}

fn put(halves: &mut [u32], word: u64) {
    halves.iter_mut().enumerate().for_each(|(i, half)| *half = (word >> (32 * i)) as u32);
}

/// `round(m 2^log2 / modulus)` modulo `2^log2`.
fn encode(message: u64, modulus: u64, log2: u32) -> u64 {
    switch_to_power(message, modulus, log2)
}

/// `round(modulus phase / 2^log2)` modulo the plaintext modulus.
fn decode(phase: u64, modulus: u64, log2: u32) -> u64 {
    switch_from_power(phase, log2, modulus)
}

/// `<a, s>` modulo 2^64, which every power-of-two modulus divides.
fn inner_product(masks: &[u32], width: usize, secret: &[i8]) -> u64 {
    masks
        .chunks_exact(width)
        .zip(secret)
        .fold(0, |sum: u64, (a, &s)| sum.wrapping_add(get(a).wrapping_mul(i64::from(s) as u64)))
}

/// The plaintext modulus of messages of `bits` bits under one bit of padding,
/// if q has room for them.
pub(crate) fn padded_modulus(set: &ParameterSet, bits: u32) -> Result<u64> {
    // A message of p values needs steps of q/2p and boundaries half a step away.
    let most = set.shape().log2_lwe_modulus - 2;
    if !(1..=most).contains(&bits) {
        let what = format!("the number of bits of messages of {set}");
        return error::mismatch(Mismatch::range(what, bits, [1, most]));
    }
    Ok(2 << bits)
}

/// Refuses a ciphertext modulus out of range: a bit and its error need 8, devices store 30 bits,
/// and above Q_ks the set's security would no longer be what it is judged to be.
fn check_log2_modulus(set: &ParameterSet, log2_modulus: u32) -> std::result::Result<(), Mismatch> {
    let within = |least, most| {
        let what = format!("ciphertexts of {set}");
        match (least..=most).contains(&log2_modulus) {
            true => Ok(()),
            false => Err(Mismatch::modulus(what, log2_modulus, [least, most])),
        }
    };
    if set.shape().is_torus() {
        return within(64, 64);
    }
    within(MIN_LOG2_MODULUS, MAX_LOG2_MODULUS.min(set.shape().log2_ks_modulus))
}

/// Index of the first word that is not below `2^log2_modulus`.
///
/// Looks at bits that are set anywhere in a block before it looks at words: a batch may be hundreds
/// of megabytes, and word by word their check took an eighth of its time.
fn first_above(words: &[u32], log2_modulus: u32) -> Option<usize> {
    const BLOCK: usize = 1 << 14;
    let above = |word: u32| u64::from(word) >> log2_modulus != 0;
    if log2_modulus >= 32 {
        return None;
    }
    let block = words
        .par_chunks(BLOCK)
        .position_first(|block| above(block.iter().fold(0, |bits, word| bits | word)))?;
    let first = block * BLOCK;
    words[first..].iter().position(|&word| above(word)).map(|index| first + index)
}

fn check_modulus(modulus: u64, log2_modulus: u32) -> Result<()> {
    // Of the native torus half is enough: no message needs all 64 bits.
    let most = 1u64 << log2_modulus.min(63);
    if !(2..=most).contains(&modulus) {
        return error::mismatch(Mismatch::range("the plaintext modulus", modulus, [2, most]));
    }
    Ok(())
}

fn check_messages(
    set: &ParameterSet,
    messages: &[u64],
    modulus: u64,
    log2_modulus: u32,
) -> Result<()> {
    check_modulus(modulus, log2_modulus)?;
    let packing = set.packing();
    if messages.is_empty() {
        return error::mismatch(Mismatch::empty("messages to encrypt"));
    }
    if !messages.len().is_multiple_of(packing) {
        let what = format!("messages for ciphertexts of r = {packing} each");
        let allowed = Counts::MultipleOf(packing);
        return error::mismatch(Mismatch::count(what, messages.len(), allowed));
    }
    // Messages may be secret: the error says neither which it is nor what it is.
    if messages.iter().any(|&m| m >= modulus) {
        let into = format!("the plaintext modulus {modulus}");
        return error::mismatch(Mismatch::value("message", into, [0, modulus - 1]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_above_a_modulus_is_found_wherever_it_stands() {
        let words = vec![511; 100_000];
        assert_eq!(first_above(&words, 9), None);
        assert_eq!(first_above(&words, 8), Some(0));
        for at in [0, 1, (1 << 14) - 1, 1 << 14, 70_000, 99_999] {
            let mut words = words.clone();
            words[at] = 512;
            words[99_999] = 1 << 31;
            assert_eq!(first_above(&words, 9), Some(at));
            assert_eq!(
                (first_above(&words, 31), first_above(&words, 32), first_above(&words, 64)),
                (Some(99_999), None, None)
            );
        }
    }
}
