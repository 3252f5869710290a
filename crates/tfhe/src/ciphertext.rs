//! Batches of ciphertexts on the host.

use crate::wire::{self, Kind};
use crate::{ClientKey, ParameterSet, Result, error};
use girih_ring::sampler::SecretSeed;
use girih_ring::switch::mod_switch;
use rayon::prelude::*;

/// Stream domain of fresh ciphertexts, one stream for each ciphertext of a batch.
const ENCRYPTION: u16 = 4;

/// A batch of CM-LWE ciphertexts: n mask words and r bodies each, modulo q.
///
/// The batch holds `len()` ciphertexts and `messages() = len() r` messages.
#[derive(Clone, PartialEq)]
pub struct LweCiphertexts {
    set: ParameterSet,
    words: Vec<u32>,
}

impl std::fmt::Debug for LweCiphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweCiphertexts({}, {} ciphertexts)", self.set, self.len())
    }
}

impl LweCiphertexts {
    /// Takes words that were made elsewhere: `[ciphertext][n masks, r bodies]`, each below q.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for an empty batch, a length that is not a whole number of
    /// ciphertexts, or a word that is not below q.
    pub fn from_words(set: &ParameterSet, words: Vec<u32>) -> Result<Self> {
        let what = "ciphertexts";
        let len = set.shape().ciphertext_len();
        if words.is_empty() {
            return error::malformed(what, "the batch is empty");
        }
        if !words.len().is_multiple_of(len) {
            return error::malformed(what, format!("{} words are no whole number of ciphertexts of n + r = {len}", words.len()));
        }
        if let Some(index) = words.iter().position(|&w| u64::from(w) >= set.lwe_modulus()) {
            let (c, w) = (index / len, index % len);
            return error::malformed(what, format!("word {w} of ciphertext {c} is {}, q is {}", words[index], set.lwe_modulus()));
        }
        Ok(Self { set: set.clone(), words })
    }

    /// Ciphertexts of known messages, without mask or secret: `m q / modulus` in each body.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn trivial(set: &ParameterSet, messages: &[u64], modulus: u64) -> Result<Self> {
        check_messages(set, messages, modulus)?;
        let shape = set.shape();
        let mut words = vec![0; messages.len() / shape.packing * shape.ciphertext_len()];
        for (ciphertext, messages) in words.chunks_exact_mut(shape.ciphertext_len()).zip(messages.chunks_exact(shape.packing)) {
            for (body, &m) in ciphertext[shape.lwe_dimension..].iter_mut().zip(messages) {
                *body = encode(set, m, modulus);
            }
        }
        Ok(Self { set: set.clone(), words })
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

    /// NOT of every bit, without bootstrapping and without new noise: `q/4 - c`.
    #[must_use]
    pub fn not(&self) -> Self {
        let (shape, mask) = (self.set.shape(), (self.set.lwe_modulus() - 1) as u32);
        let quarter = 1 << (shape.log2_lwe_modulus - 2);
        let mut words = self.words.clone();
        for ciphertext in words.chunks_exact_mut(shape.ciphertext_len()) {
            let (masks, bodies) = ciphertext.split_at_mut(shape.lwe_dimension);
            masks.iter_mut().for_each(|a| *a = a.wrapping_neg() & mask);
            bodies.iter_mut().for_each(|b| *b = b.wrapping_neg().wrapping_add(quarter) & mask);
        }
        Self { set: self.set.clone(), words }
    }

    /// The batch as bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a native-torus set.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::encode(Kind::Ciphertexts, &self.set, &self.words)
    }

    /// Reads and checks what [`LweCiphertexts::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (set, words) = wire::decode(Kind::Ciphertexts, bytes)?;
        Self::from_words(&set, words)
    }

    pub(crate) fn encrypt(client: &ClientKey, messages: &[u64], modulus: u64, seed: &SecretSeed) -> Result<Self> {
        let set = client.set();
        let mut batch = Self::trivial(set, messages, modulus)?;
        let (shape, mask) = (set.shape(), (set.lwe_modulus() - 1) as u32);
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
        let (shape, mask) = (self.set.shape(), (self.set.lwe_modulus() - 1) as u32);
        let phases = |ciphertext: &[u32]| {
            let (masks, bodies) = ciphertext.split_at(shape.lwe_dimension);
            let phase = |(slot, body): (usize, &u32)| body.wrapping_sub(inner_product(masks, client.lwe_secret(slot))) & mask;
            bodies.iter().enumerate().map(|b| u64::from(phase(b))).collect::<Vec<_>>()
        };
        Ok(self.words.par_chunks_exact(shape.ciphertext_len()).flat_map_iter(phases).collect())
    }

    pub(crate) fn decrypt(&self, client: &ClientKey, modulus: u64) -> Result<Vec<u64>> {
        check_modulus(&self.set, modulus)?;
        Ok(self.phases(client)?.into_iter().map(|phase| mod_switch(phase, self.set.lwe_modulus(), modulus)).collect())
    }
}

/// `<a, s>` modulo 2^32, which every power-of-two modulus divides.
fn inner_product(masks: &[u32], secret: &[i8]) -> u32 {
    masks.iter().zip(secret).fold(0, |sum: u32, (&a, &s)| sum.wrapping_add(a.wrapping_mul(i32::from(s) as u32)))
}

/// `round(m q / modulus)`.
fn encode(set: &ParameterSet, message: u64, modulus: u64) -> u32 {
    mod_switch(message, modulus, set.lwe_modulus()) as u32
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

fn check_modulus(set: &ParameterSet, modulus: u64) -> Result<()> {
    if !(2..=set.lwe_modulus()).contains(&modulus) {
        return error::mismatch(format!("plaintext modulus {modulus} must be from 2 to q = {}", set.lwe_modulus()));
    }
    Ok(())
}

fn check_messages(set: &ParameterSet, messages: &[u64], modulus: u64) -> Result<()> {
    check_modulus(set, modulus)?;
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
