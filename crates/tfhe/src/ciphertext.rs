//! Batches of ciphertexts on the host.

use crate::wire::{self, Kind};
use crate::{ClientKey, Error, ParameterSet, Result, error};
use girih_ring::sampler::SecretSeed;
use girih_ring::switch::{mod_switch, mod_switch_pow2};
use rayon::prelude::*;

/// Stream domain of fresh ciphertexts, one stream for each ciphertext of a batch.
const ENCRYPTION: u16 = 4;

/// Largest log2 of a ciphertext's modulus: what the contract of devices stores.
const MAX_LOG2_MODULUS: u32 = 30;

/// Smallest: as of q.
const MIN_LOG2_MODULUS: u32 = 3;

/// A batch of CM-LWE ciphertexts: n mask words and r bodies each, modulo one power of two.
///
/// The batch holds `len()` ciphertexts and `messages() = len() r` messages. Gates and look-up tables work modulo q of the
/// set; large-precision functions start from a larger modulus and pass through smaller ones.
#[derive(Clone, PartialEq)]
pub struct LweCiphertexts {
    set: ParameterSet,
    log2_modulus: u32,
    words: Vec<u32>,
}

impl std::fmt::Debug for LweCiphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweCiphertexts({}, {} ciphertexts modulo 2^{})", self.set, self.len(), self.log2_modulus)
    }
}

impl LweCiphertexts {
    /// Takes words that were made elsewhere: `[ciphertext][n masks, r bodies]`, each below q.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an empty batch, a length that is not a whole number of
    /// ciphertexts, or a word that is not below q.
    pub fn from_words(set: &ParameterSet, words: Vec<u32>) -> Result<Self> {
        Self::from_words_at(set, set.shape().log2_lwe_modulus, words)
    }

    /// The same modulo `2^log2_modulus`.
    ///
    /// # Errors
    /// As [`LweCiphertexts::from_words`], and for a modulus that the set's ciphertexts cannot have.
    pub fn from_words_at(set: &ParameterSet, log2_modulus: u32, words: Vec<u32>) -> Result<Self> {
        let what = "ciphertexts";
        if let Err(why) = check_log2_modulus(set, log2_modulus) {
            return error::malformed(what, why);
        }
        let len = set.shape().ciphertext_len();
        if words.is_empty() {
            return error::malformed(what, "the batch is empty");
        }
        if !words.len().is_multiple_of(len) {
            return error::malformed(what, format!("{} words are no whole number of ciphertexts of n + r = {len}", words.len()));
        }
        if let Some(index) = words.iter().position(|&w| w >> log2_modulus != 0) {
            let (c, w) = (index / len, index % len);
            let name = if log2_modulus == set.shape().log2_lwe_modulus { "q" } else { "their modulus" };
            return error::malformed(what, format!("word {w} of ciphertext {c} is {}, {name} is {}", words[index], 1u64 << log2_modulus));
        }
        Ok(Self { set: set.clone(), log2_modulus, words })
    }

    /// Ciphertexts of known messages, without mask or secret: `m q / modulus` in each body.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn trivial(set: &ParameterSet, messages: &[u64], modulus: u64) -> Result<Self> {
        Self::trivial_at(set, messages, modulus, set.shape().log2_lwe_modulus)
    }

    /// The same modulo `2^log2_modulus`: `m 2^log2_modulus / modulus` in each body.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_at`].
    pub fn trivial_at(set: &ParameterSet, messages: &[u64], modulus: u64, log2_modulus: u32) -> Result<Self> {
        check_log2_modulus(set, log2_modulus).map_err(Error::Mismatch)?;
        check_messages(set, messages, modulus, log2_modulus)?;
        let shape = set.shape();
        let mut words = vec![0; messages.len() / shape.packing * shape.ciphertext_len()];
        for (ciphertext, messages) in words.chunks_exact_mut(shape.ciphertext_len()).zip(messages.chunks_exact(shape.packing)) {
            for (body, &m) in ciphertext[shape.lwe_dimension..].iter_mut().zip(messages) {
                *body = mod_switch(m, modulus, 1 << log2_modulus) as u32;
            }
        }
        Ok(Self { set: set.clone(), log2_modulus, words })
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

    /// NOT of every bit, without bootstrapping and without new noise: a quarter of the modulus less c.
    #[must_use]
    pub fn not(&self) -> Self {
        let quarter = 1 << (self.log2_modulus - 2);
        self.combine(&[(self, -1)], quarter)
    }

    /// `sum weight_i c_i + constant`, ciphertext by ciphertext, without bootstrapping: the constant is a phase, in units of
    /// one, and errors grow with the weights.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no terms, or batches that differ in set, modulus or length.
    pub fn weighted_sum(terms: &[(&Self, i64)], constant: i64) -> Result<Self> {
        let Some((first, _)) = terms.first() else { return error::mismatch("a weighted sum of no ciphertexts") };
        terms.iter().try_for_each(|(c, _)| first.check_alike(c))?;
        Ok(first.combine(terms, constant))
    }

    /// One batch after the other.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no batches, or batches that differ in set or modulus.
    pub fn concatenate(batches: &[&Self]) -> Result<Self> {
        let Some(first) = batches.first() else { return error::mismatch("there must be at least one batch") };
        if let Some(other) = batches.iter().find(|b| (&b.set, b.log2_modulus) != (&first.set, first.log2_modulus)) {
            return error::mismatch(format!("{first:?} and {other:?}: set and modulus must be the same"));
        }
        let words = batches.iter().flat_map(|b| b.words.iter().copied()).collect();
        Ok(Self { set: first.set.clone(), log2_modulus: first.log2_modulus, words })
    }

    /// The ciphertexts of `range`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an empty range, or one that ends beyond the batch.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Result<Self> {
        let len = self.set.shape().ciphertext_len();
        match self.words.get(range.start.saturating_mul(len)..range.end.saturating_mul(len)) {
            Some(words) if !words.is_empty() => Ok(Self { set: self.set.clone(), log2_modulus: self.log2_modulus, words: words.to_vec() }),
            _ => error::mismatch(format!("ciphertexts {range:?} of a batch of {}", self.len())),
        }
    }

    /// Refuses a batch of another set, modulus or length.
    pub(crate) fn check_alike(&self, other: &Self) -> Result<()> {
        if (&self.set, self.log2_modulus, self.words.len()) != (&other.set, other.log2_modulus, other.words.len()) {
            return error::mismatch(format!("{self:?} and {other:?}: set, number and modulus must be the same"));
        }
        Ok(())
    }

    /// [`LweCiphertexts::weighted_sum`] of batches that are known to be alike.
    fn combine(&self, terms: &[(&Self, i64)], constant: i64) -> Self {
        let (shape, mask) = (self.set.shape(), self.mask());
        let mut words = vec![0u32; self.words.len()];
        for (batch, weight) in terms {
            // Modulo 2^32, which every power-of-two modulus divides.
            words.iter_mut().zip(&batch.words).for_each(|(sum, &w)| *sum = sum.wrapping_add(w.wrapping_mul(*weight as u32)));
        }
        for ciphertext in words.chunks_exact_mut(shape.ciphertext_len()) {
            ciphertext[shape.lwe_dimension..].iter_mut().for_each(|b| *b = b.wrapping_add(constant as u32));
            ciphertext.iter_mut().for_each(|w| *w &= mask);
        }
        Self { set: self.set.clone(), log2_modulus: self.log2_modulus, words }
    }

    /// The same messages modulo the smaller `2^log2_modulus`, every word rounded: adds the rounding error of n + 1 words.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless the modulus is from 8 to that of these ciphertexts.
    pub fn rescale(&self, log2_modulus: u32) -> Result<Self> {
        self.check_smaller(log2_modulus)?;
        let words = self.words.iter().map(|&w| mod_switch_pow2(u64::from(w), self.log2_modulus, log2_modulus) as u32).collect();
        Ok(Self { set: self.set.clone(), log2_modulus, words })
    }

    /// The lowest part of every message: phases modulo `2^log2_modulus`, exactly.
    ///
    /// # Errors
    /// As [`LweCiphertexts::rescale`].
    pub fn reduce(&self, log2_modulus: u32) -> Result<Self> {
        self.check_smaller(log2_modulus)?;
        let words = self.words.iter().map(|&w| w & ((1 << log2_modulus) - 1)).collect();
        Ok(Self { set: self.set.clone(), log2_modulus, words })
    }

    fn check_smaller(&self, log2_modulus: u32) -> Result<()> {
        if !(MIN_LOG2_MODULUS..=self.log2_modulus).contains(&log2_modulus) {
            return error::mismatch(format!("modulus 2^{log2_modulus} must be from 8 to theirs, 2^{}", self.log2_modulus));
        }
        Ok(())
    }

    fn mask(&self) -> u32 {
        (1 << self.log2_modulus) - 1
    }

    /// The batch as bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a native-torus set.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::encode(Kind::Ciphertexts, &self.set, &(self.log2_modulus, &self.words))
    }

    /// Reads and checks what [`LweCiphertexts::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (set, (log2_modulus, words)) = wire::decode(Kind::Ciphertexts, bytes)?;
        Self::from_words_at(&set, log2_modulus, words)
    }

    pub(crate) fn encrypt(client: &ClientKey, messages: &[u64], modulus: u64, log2_modulus: u32, seed: &SecretSeed) -> Result<Self> {
        let set = client.set();
        let mut batch = Self::trivial_at(set, messages, modulus, log2_modulus)?;
        let (shape, mask) = (set.shape(), batch.mask());
        batch.words.par_chunks_exact_mut(shape.ciphertext_len()).enumerate().for_each(|(index, ciphertext)| {
            let mut stream = seed.stream(ENCRYPTION, index as u64);
            let (masks, bodies) = ciphertext.split_at_mut(shape.lwe_dimension);
            masks.iter_mut().for_each(|a| *a = stream.next_u32() & mask);
            for (slot, body) in bodies.iter_mut().enumerate() {
                let error = client.error(&mut stream) as u32;
                *body = body.wrapping_add(inner_product(masks, client.lwe_secret(slot))).wrapping_add(error) & mask;
            }
        });
        Ok(batch)
    }

    pub(crate) fn phases(&self, client: &ClientKey) -> Result<Vec<u64>> {
        if client.set() != &self.set {
            return error::mismatch(format!("ciphertexts of {} and a key of {}", self.set, client.set()));
        }
        let (shape, mask) = (self.set.shape(), self.mask());
        let phases = |ciphertext: &[u32]| {
            let (masks, bodies) = ciphertext.split_at(shape.lwe_dimension);
            let phase = |(slot, body): (usize, &u32)| body.wrapping_sub(inner_product(masks, client.lwe_secret(slot))) & mask;
            bodies.iter().enumerate().map(|b| u64::from(phase(b))).collect::<Vec<_>>()
        };
        Ok(self.words.par_chunks_exact(shape.ciphertext_len()).flat_map_iter(phases).collect())
    }

    pub(crate) fn decrypt(&self, client: &ClientKey, modulus: u64) -> Result<Vec<u64>> {
        check_modulus(modulus, self.log2_modulus)?;
        Ok(self.phases(client)?.into_iter().map(|phase| mod_switch(phase, 1 << self.log2_modulus, modulus)).collect())
    }
}

/// `<a, s>` modulo 2^32, which every power-of-two modulus divides.
fn inner_product(masks: &[u32], secret: &[i8]) -> u32 {
    masks.iter().zip(secret).fold(0, |sum: u32, (&a, &s)| sum.wrapping_add(a.wrapping_mul(i32::from(s) as u32)))
}

/// The plaintext modulus of messages of `bits` bits under one bit of padding, if q has room for them.
pub(crate) fn padded_modulus(set: &ParameterSet, bits: u32) -> Result<u64> {
    // A message of p values needs steps of q/2p and boundaries half a step away.
    let most = set.shape().log2_lwe_modulus - 2;
    if !(1..=most).contains(&bits) {
        return error::mismatch(format!("messages of {bits} bits: {set} has room for 1 to {most}"));
    }
    Ok(2 << bits)
}

/// Refuses a ciphertext modulus out of range: a bit and its error need 8, devices store 30 bits, and above Q_ks the set's
/// security would no longer be what it is judged to be.
fn check_log2_modulus(set: &ParameterSet, log2_modulus: u32) -> std::result::Result<(), String> {
    let most = MAX_LOG2_MODULUS.min(set.shape().log2_ks_modulus);
    if !(MIN_LOG2_MODULUS..=most).contains(&log2_modulus) {
        return Err(format!("modulus 2^{log2_modulus} must be from 2^{MIN_LOG2_MODULUS} to 2^{most} for {set}"));
    }
    Ok(())
}

fn check_modulus(modulus: u64, log2_modulus: u32) -> Result<()> {
    if !(2..=1 << log2_modulus).contains(&modulus) {
        return error::mismatch(format!("plaintext modulus {modulus} must be from 2 to that of the ciphertexts, {}", 1u64 << log2_modulus));
    }
    Ok(())
}

fn check_messages(set: &ParameterSet, messages: &[u64], modulus: u64, log2_modulus: u32) -> Result<()> {
    check_modulus(modulus, log2_modulus)?;
    let packing = set.packing();
    if messages.is_empty() {
        return error::mismatch("the batch is empty");
    }
    if !messages.len().is_multiple_of(packing) {
        return error::mismatch(format!("a batch of {} messages is no multiple of r = {packing}", messages.len()));
    }
    if let Some(index) = messages.iter().position(|&m| m >= modulus) {
        return error::mismatch(format!("message {index} is {}, which is not below {modulus}", messages[index]));
    }
    Ok(())
}
