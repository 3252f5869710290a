//! Compressed results: made, sent, read.

use super::form::{BitReader, BitWriter, Form, Rounding, Wanted};
use super::merge::{Merged, Merger};
use crate::ciphertext::{BITS, check_plaintext, check_variance, padded_modulus};
use crate::noise::log2_misread;
use crate::wire::COMPRESSED_RESULTS;
use crate::{ClientKey, KeyId, LweCiphertexts, NoiseModel, ParameterSet, Result, error};
use girih_backend::Transform;
use girih_backend::parallel::prelude::*;
use girih_ring::constant_time::switch_from_power;
use girih_rlwe::Mismatch;
use girih_rlwe::wire::{self, Bytes, Opened};
use std::borrow::Cow;

const WHAT: &str = "compressed results";

/// A batch of results in few bytes, to be sent to whoever decrypts them.
///
/// Each group of up to N ciphertexts has one mask (or each ciphertext its own, where there is no
/// key to merge them), and all words have as few bits as reading the messages within the bound on
/// failures takes: 2.4 bytes a message of four bits in groups of 2,048 with TFHERS_2_2, in the
/// place of 16,392. Errors, and the probability that a message is misread, are tracked as
/// everywhere ([`CompressedResults::log2_failure`]).
///
/// [`ServerKey::compress`](crate::ServerKey::compress) and [`LweCiphertexts::compress`] make it,
/// [`ClientKey::decrypt_compressed`] reads it.
#[derive(Clone, PartialEq)]
pub struct CompressedResults {
    set: ParameterSet,
    key: Option<KeyId>,
    /// Messages that fill the circle.
    modulus: u64,
    /// In squares of the circle.
    variance: f64,
    form: Form,
    /// Ciphertexts.
    len: usize,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for CompressedResults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CompressedResults({}, {} ciphertexts in {} bytes)",
            self.set,
            self.len,
            self.bytes.len()
        )
    }
}

/// How messages of a batch are read: times `2^log2_scale` they are of `modulus` that fill the
/// circle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    modulus: u64,
    log2_scale: u32,
}

impl Reading {
    /// Messages of `modulus` that fill the circle.
    pub fn whole(modulus: u64, log2_modulus: u32) -> Result<Self> {
        let most = 1u64 << log2_modulus.min(32);
        if !(2..=most).contains(&modulus) {
            let what = "the plaintext modulus of compressed results";
            return error::mismatch(Mismatch::range(what, modulus, [2, most]));
        }
        Ok(Self { modulus, log2_scale: 0 })
    }

    /// Bits of gates, which are 0 and 1 of four: doubled they are all there is.
    pub fn bits() -> Self {
        Self { modulus: 2, log2_scale: 1 }
    }

    /// Messages of so many bits under one of padding: doubled they fill the circle.
    pub fn messages(set: &ParameterSet, bits: u32) -> Result<Self> {
        let padded = padded_modulus(set, bits)?;
        Ok(Self { modulus: padded / 2, ..Self::bits() })
    }

    /// Refuses messages that are known to be of another width than `bits` bits.
    pub fn check_messages(plaintext: Option<u64>, bits: u32) -> Result<()> {
        let wanted = 2u64.checked_shl(bits).unwrap_or(0);
        check_plaintext(plaintext, wanted, &format!("compression of messages of {bits} bits"))
    }

    fn scale(self) -> u64 {
        1 << self.log2_scale
    }
}

/// What is compressed: `len` stored ciphertexts, and where their words come from.
pub(crate) struct Source<'a> {
    pub set: &'a ParameterSet,
    pub key: Option<KeyId>,
    pub log2_modulus: u32,
    /// In units of the modulus.
    pub variance: f64,
    pub len: usize,
    /// The 32-bit words of a range of ciphertexts.
    #[allow(clippy::type_complexity, reason = "named here alone")]
    pub words: &'a dyn Fn(std::ops::Range<usize>) -> Result<Cow<'a, [u32]>>,
}

/// The most ciphertexts whose words are asked for at once.
const CHUNK: usize = 4096;

/// Compresses a batch, with `merger` many ciphertexts to a mask where that takes fewer bytes.
///
/// # Errors
/// [`Error::TooNoisy`](crate::Error::TooNoisy) if messages could not be read within the bound, and
/// those of the source.
pub(crate) fn compress(
    source: &Source<'_>,
    reading: Reading,
    merger: Option<&Merger>,
    log2_bound: f64,
) -> Result<CompressedResults> {
    let Source { set, log2_modulus, .. } = *source;
    let (form, variance) = Wanted {
        set,
        count: source.len,
        log2_modulus,
        variance: source.variance * 4f64.powi(reading.log2_scale as i32 - log2_modulus as i32),
        modulus: reading.modulus,
        merge: merger.map(Merger::noise),
        log2_bound,
    }
    .form()?;
    let shape = set.shape();
    let (len, packing, mask_len) = (shape.ciphertext_len(), shape.packing, shape.stored_mask_len());
    let largest = u64::MAX >> (64 - log2_modulus);
    let mut bytes = vec![0; form.bytes(set, source.len).unwrap_or(0)];
    let group_bytes = form.group_bytes(set, form.group()).unwrap_or(0).max(1);
    let chunk = form.group() * CHUNK.div_ceil(form.group());
    let out = bytes.chunks_mut(group_bytes * (chunk / form.group()));
    for (first, out) in (0..source.len).step_by(chunk).zip(out) {
        let words = (source.words)(first..source.len.min(first + chunk))?;
        let word = |ciphertext: &[u32], i: usize| {
            let value = if shape.is_torus() {
                u64::from(ciphertext[2 * i]) | u64::from(ciphertext[2 * i + 1]) << 32
            } else {
                u64::from(ciphertext[i])
            };
            value.wrapping_mul(reading.scale()) & largest
        };
        let groups = words.par_chunks(form.group() * len).zip(out.par_chunks_mut(group_bytes));
        groups.for_each(|(group, out)| {
            let mut out = BitWriter::new(out);
            match (form.log2_group, merger) {
                (Some(levels), Some(merger)) => {
                    let count = group.len() / len;
                    let of = |c: usize, i: usize| word(&group[c * len..][..len], i);
                    let Merged { masks, bodies } = merger.merge(count, levels, log2_modulus, &of);
                    let size = shape.polynomial_size;
                    // Message c of slot j stands at c N / 2^levels of body j.
                    let body =
                        |i: usize| bodies[i % packing * size + ((i / packing * size) >> levels)];
                    let bodies: Vec<u64> = (0..count * packing).map(body).collect();
                    let rounding = Rounding::new(set, form, Some(merger.modulus()));
                    rounding.write(&masks, size, packing, &bodies, &mut out);
                }
                _ => {
                    // Leading bits of a word of 64.
                    let all: Vec<u64> = (0..mask_len + packing)
                        .map(|i| word(group, i) << (64 - log2_modulus))
                        .collect();
                    let (masks, bodies) = all.split_at(mask_len);
                    let rounding = Rounding::new(set, form, None);
                    rounding.write(masks, mask_len, packing, bodies, &mut out);
                }
            }
            out.finish();
        });
    }
    Ok(CompressedResults {
        set: set.clone(),
        key: source.key,
        modulus: reading.modulus,
        variance,
        form,
        len: source.len,
        bytes,
    })
}

impl LweCiphertexts {
    fn compress_as(&self, reading: Reading) -> Result<CompressedResults> {
        let set = self.set();
        let len = set.shape().ciphertext_len();
        let source = Source {
            set,
            key: self.key_id(),
            log2_modulus: self.log2_modulus(),
            variance: self.variance(),
            len: self.len(),
            words: &|range| Ok(Cow::Borrowed(&self.words()[range.start * len..range.end * len])),
        };
        let bound = NoiseModel::with_transform(set, Transform::Fft).default_bound();
        compress(&source, reading, None, bound)
    }

    /// The batch with every word rounded to the bits that reading its messages takes, of which
    /// `modulus` fill the circle; no key is needed. Each ciphertext keeps a mask of its own:
    /// [`ServerKey::compress`](crate::ServerKey::compress) takes far fewer bytes for more than a
    /// few of them.
    ///
    /// # Errors
    /// [`Error::TooNoisy`](crate::Error::TooNoisy) if messages would be misread more often than
    /// the set is held to ([`NoiseModel::default_bound`]), and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus below 2, above 2^32 or above that
    /// of the ciphertexts.
    pub fn compress(&self, modulus: u64) -> Result<CompressedResults> {
        self.compress_as(Reading::whole(modulus, self.log2_modulus())?)
    }

    /// The same of bits of gates, which are read as 0 or 1 whatever they are: that a message was no
    /// bit is not seen any more.
    ///
    /// # Errors
    /// As [`LweCiphertexts::compress`].
    pub fn compress_bits(&self) -> Result<CompressedResults> {
        check_plaintext(self.plaintext_modulus(), BITS, "compression of bits")?;
        self.compress_as(Reading::bits())
    }

    /// The same of messages of `bits` bits under one of padding, which is left out: a message above
    /// is read modulo 2^bits.
    ///
    /// # Errors
    /// As [`LweCiphertexts::compress`].
    pub fn compress_messages(&self, bits: u32) -> Result<CompressedResults> {
        let reading = Reading::messages(self.set(), bits)?;
        Reading::check_messages(self.plaintext_modulus(), bits)?;
        self.compress_as(reading)
    }
}

impl CompressedResults {
    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that decrypts; none for constants.
    pub fn key_id(&self) -> Option<KeyId> {
        self.key
    }

    /// How many messages fill the circle: they are read modulo this. 2 for bits, 2^b for messages
    /// of b bits.
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of messages: r for each ciphertext.
    pub fn messages(&self) -> usize {
        self.len * self.set.packing()
    }

    /// Bytes of masks and bodies; [`CompressedResults::to_bytes`] adds the parameter set and some
    /// more, half a kilobyte in all.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// log2 of the ciphertexts that share a mask; none where each has its own.
    pub fn log2_group(&self) -> Option<u32> {
        self.form.log2_group
    }

    /// Bits of a mask word and of a body.
    pub fn word_bits(&self) -> [u32; 2] {
        [self.form.mask_bits, self.form.body_bits]
    }

    /// log2 of the probability that a message is misread, by the noise model.
    pub fn log2_failure(&self) -> f64 {
        log2_misread(self.modulus as f64, 0, self.variance)
    }

    /// Variance of the errors of messages, in squares of the step between two messages.
    pub fn variance(&self) -> f64 {
        self.variance * (self.modulus as f64).powi(2)
    }

    /// The groups: bytes, and ciphertexts of each.
    fn groups(&self) -> impl IndexedParallelIterator<Item = (&[u8], usize)> {
        let group = self.form.group();
        let bytes = self.form.group_bytes(&self.set, group).unwrap_or(0).max(1);
        let len = self.len;
        self.bytes
            .par_chunks(bytes)
            .enumerate()
            .map(move |(i, bytes)| (bytes, group.min(len - i * group)))
    }

    /// Phases of all messages modulo `2^mask_bits`.
    fn phases(&self, client: &ClientKey) -> Result<Vec<u64>> {
        if client.set() != &self.set {
            return error::wrong_set("compressed results", &self.set, client.set());
        }
        if let Some(key) = self.key.filter(|&key| key != client.key_id()) {
            let rule = "a client key decrypts what is under it and nothing else";
            return error::wrong_key("compressed results", [key, client.key_id()], rule);
        }
        let secrets: Vec<Vec<u32>> = (0..self.set.packing())
            .map(|slot| {
                let secret = match self.form.log2_group {
                    Some(_) => client.glwe_secret(slot),
                    None => client.stored_secret(slot),
                };
                secret.iter().map(|&s| i32::from(s) as u32).collect()
            })
            .collect();
        let secrets = zeroize::Zeroizing::new(secrets);
        Ok(self
            .groups()
            .flat_map_iter(|(bytes, count)| self.read(&secrets, bytes, count))
            .collect())
    }

    /// Phases of one group.
    fn read(&self, secrets: &[Vec<u32>], bytes: &[u8], count: usize) -> Vec<u64> {
        let Form { log2_group, mask_bits, body_bits } = self.form;
        let mut reader = BitReader::new(bytes);
        let masks: Vec<u32> =
            (0..self.form.mask_len(&self.set)).map(|_| reader.next(mask_bits)).collect();
        let size = self.set.shape().polynomial_size;
        let inner = |a: &[u32], s: &[u32]| {
            let product = |sum: u32, (a, s): (&u32, &u32)| sum.wrapping_add(a.wrapping_mul(*s));
            a.iter().zip(s).fold(0, product)
        };
        // Of each polynomial a, a_(N-1), .., a_0, -a_(N-1), .., -a_0: coefficient i of a s is the
        // inner product of s with what begins at N - 1 - i.
        let turned: Vec<u32> = match log2_group {
            None => Vec::new(),
            Some(_) => masks
                .chunks_exact(size)
                .flat_map(|a| {
                    let down = || a.iter().rev().copied();
                    down().chain(down().map(u32::wrapping_neg))
                })
                .collect(),
        };
        let product = |c: usize, secret: &[u32]| match log2_group {
            None => inner(&masks, secret),
            Some(levels) => {
                let from = size - 1 - ((c * size) >> levels);
                let windows = turned.chunks_exact(2 * size).map(|turned| &turned[from..]);
                windows
                    .zip(secret.chunks_exact(size))
                    .fold(0, |sum: u32, (a, s)| sum.wrapping_add(inner(&a[..size], s)))
            }
        };
        let mut phases = Vec::with_capacity(count * secrets.len());
        for c in 0..count {
            for secret in secrets {
                let body = u64::from(reader.next(body_bits)) << (mask_bits - body_bits);
                let phase = body.wrapping_sub(u64::from(product(c, secret)));
                phases.push(phase & ((1 << mask_bits) - 1));
            }
        }
        phases
    }

    pub(crate) fn decrypt(&self, client: &ClientKey) -> Result<Vec<u64>> {
        let phases = zeroize::Zeroizing::new(self.phases(client)?);
        let message = |&phase: &u64| switch_from_power(phase, self.form.mask_bits, self.modulus);
        Ok(phases.iter().map(message).collect())
    }

    pub(crate) fn errors(&self, client: &ClientKey) -> Result<Vec<f64>> {
        let circle = 2f64.powi(self.form.mask_bits as i32);
        let error = |phase: u64| {
            let steps = phase as f64 / circle * self.modulus as f64;
            steps - steps.round()
        };
        Ok(self.phases(client)?.into_iter().map(error).collect())
    }

    /// The ciphertexts again, to be computed on, with the error of their rounding: of messages
    /// modulo [`CompressedResults::modulus`], which fill the circle. Look-ups need padding, so what
    /// is to be looked up again is compressed by [`LweCiphertexts::compress`] or
    /// [`ServerKey::compress`](crate::ServerKey::compress) with twice its modulus.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for results that were merged with a set of
    /// prime words: they are under the ring's secret, and stored ciphertexts under the LWE secret.
    pub fn decompress(&self) -> Result<LweCiphertexts> {
        let shape = self.set.shape();
        if self.form.log2_group.is_some() && !shape.is_torus() {
            return Err(self.set.unsupported(
                "merged results are under the ring's secret and cannot be made ciphertexts under \
                 the LWE secret again; compress them each for itself (LweCiphertexts::compress)",
            ));
        }
        let Form { log2_group, mask_bits, body_bits } = self.form;
        let log2_modulus = shape.log2_stored_modulus().max(mask_bits);
        let width = if shape.is_torus() { 2 } else { 1 };
        let (size, packing) = (shape.polynomial_size, shape.packing);
        let place = |i: usize| (i / size, i % size);
        let expand = |(bytes, count): (&[u8], usize)| {
            let mut reader = BitReader::new(bytes);
            let mask_len = self.form.mask_len(&self.set);
            let masks: Vec<u64> = (0..mask_len)
                .map(|_| u64::from(reader.next(mask_bits)) << (log2_modulus - mask_bits))
                .collect();
            let mut words = Vec::with_capacity(count * shape.ciphertext_len());
            let mut push = |word: u64| {
                words.extend((0..width).map(|half| (word >> (32 * half)) as u32));
            };
            for c in 0..count {
                for i in 0..mask_len {
                    let Some(levels) = log2_group else {
                        push(masks[i]);
                        continue;
                    };
                    // Coefficient at of a s: s_j times a_(at - j), X^N being -1.
                    let ((p, j), at) = (place(i), (c * size) >> levels);
                    push(match at.checked_sub(j) {
                        Some(below) => masks[p * size + below],
                        None => masks[p * size + size + at - j].wrapping_neg(),
                    });
                }
                for _ in 0..packing {
                    push(u64::from(reader.next(body_bits)) << (log2_modulus - body_bits));
                }
            }
            words
        };
        let words: Vec<u32> = self.groups().flat_map_iter(expand).collect();
        let variance = self.variance * 4f64.powi(log2_modulus as i32);
        LweCiphertexts::from_words_at(&self.set, log2_modulus, words)?
            .under(self.key)
            .encoding(Some(self.modulus))
            .with_variance(variance)
    }

    /// The results as bytes, which end with a checksum: it finds accidents on the way, and is no
    /// authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Form { log2_group, mask_bits, body_bits } = self.form;
        let form = (log2_group, mask_bits, body_bits);
        let payload = (self.modulus, self.variance, form, self.len as u64, Bytes(&self.bytes));
        let room = self.bytes.len();
        Ok(wire::encode(COMPRESSED_RESULTS, &self.set, self.key, room, &payload)?)
    }

    /// Reads and checks what [`CompressedResults::to_bytes`] wrote. What they say of their errors
    /// is as much to be trusted as whoever sent them.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged,
    /// another version, a wrong length, a number out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_opened(wire::open(COMPRESSED_RESULTS, bytes)?)
    }

    /// The same for results of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`CompressedResults::from_bytes`], and for results of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        // As many as there are: each is there in the bytes.
        Self::from_opened(wire::open_for(COMPRESSED_RESULTS, set, usize::MAX, bytes)?)
    }

    #[allow(clippy::type_complexity, reason = "the payload, named once")]
    fn from_opened(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        let key = opened.key;
        let (set, (modulus, variance, form, len, bytes)): (
            _,
            (u64, f64, (Option<u32>, u32, u32), u64, &[u8]),
        ) = opened.payload()?;
        let (log2_group, mask_bits, body_bits) = form;
        let form = Form { log2_group, mask_bits, body_bits };
        if let Err(why) = form.check(&set) {
            return error::malformed(WHAT, why);
        }
        if !(2..=1 << mask_bits).contains(&modulus) {
            return error::malformed(
                WHAT,
                format!("messages modulo {modulus}: from 2 to that of the masks, 2^{mask_bits}"),
            );
        }
        check_variance(WHAT, variance)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let wanted = form.bytes(&set, len).filter(|_| len > 0);
        if wanted != Some(bytes.len()) {
            return error::malformed(
                WHAT,
                format!("{} bytes of {len} ciphertexts in {form:?}", bytes.len()),
            );
        }
        let results = Self { set, key, modulus, variance, form, len, bytes: bytes.to_vec() };
        // One form for one thing: what pads a group is 0.
        let words = (results.form.mask_len(&results.set), results.set.packing());
        let padded = results.groups().any(|(bytes, count)| {
            let used = words.0 * mask_bits as usize + count * words.1 * body_bits as usize;
            !used.is_multiple_of(8) && bytes[used / 8] >> (used % 8) != 0
        });
        if padded {
            return error::malformed(WHAT, "the bits between groups must be 0");
        }
        Ok(results)
    }
}
