//! Bodies of the bootstrapping key.

use super::{ClientKey, domain, packed::PackedWords};
use girih_backend::{BootstrapShape, KeyModulus, SecretKind};
use girih_ring::constant_time::equal_mask;
use girih_ring::sampler::RandomStream;
use girih_ring::{NttTable, Rns, largest_ntt_prime_pair};
use girih_rlwe::{MaskStreams, SecretStreams};
use zeroize::Zeroizing;

/// Draws the k masks of one CM-GLWE row, `[k][N]`, from the stream of its step.
///
/// A stream serves the rows of one step in the order `[GGSW][level][row]`: part of the wire format.
pub(super) fn draw_row_masks(shape: &BootstrapShape, stream: &mut RandomStream, out: &mut [u64]) {
    match shape.key_modulus_value() {
        Some(modulus) => stream.fill_below(modulus, out),
        None => stream.fill_bits(64, out),
    }
}

/// The largest word of the key: M - 1.
pub(super) fn largest_word(shape: &BootstrapShape) -> u64 {
    shape.key_modulus_value().map_or(u64::MAX, |modulus| modulus - 1)
}

/// The mask stream of step `index`.
pub(super) fn mask_stream(masks: &MaskStreams, index: usize) -> RandomStream {
    masks.stream(domain::BOOTSTRAPPING, index as u64)
}

/// Words of bodies of one step: `[GGSW][level][row K][r][N]`.
pub(super) fn bodies_len(shape: &BootstrapShape) -> usize {
    shape.ggsw_per_step() * shape.levels() * shape.columns() * shape.packing * shape.polynomial_size
}

/// One prime word with its transform and the transformed secrets.
struct Word {
    table: NttTable,
    /// `[r][k][N]`, transformed, in Montgomery form.
    secrets: Zeroizing<Vec<u32>>,
}

/// Bits of a limb of a mask on the native torus: products of limbs with a secret stay below `k N
/// 2^32 <= 2^47`, far inside [`LIMB_PRIMES_BITS`], so they come out of two prime words as integers.
const LIMB_BITS: u32 = 32;

/// log2 of the product of the two primes that carry limbs.
const LIMB_PRIMES_BITS: u32 = 60;

/// Makes the bodies of any step; shared by all threads.
pub(super) struct Generator<'a> {
    client: &'a ClientKey,
    /// The words that products are computed in: those of M, or two primes for the limbs of the
    /// native torus.
    rns: Rns,
    words: Vec<Word>,
    masks: MaskStreams,
    errors: &'a SecretStreams,
}

/// Buffers of one thread.
struct Scratch {
    /// `[k][N]` modulo M.
    masks: Vec<u64>,
    /// `[limb][word][k][N]`, transformed; one limb, or two on the native torus.
    transformed: Vec<u32>,
    /// `[word][N]`: one limb of one body.
    products: Zeroizing<Vec<u32>>,
    /// `[N]`: one body modulo M.
    body: Zeroizing<Vec<u64>>,
}

impl<'a> Generator<'a> {
    /// `None` if there are no primes for the set: not for any checked set.
    pub fn new(
        client: &'a ClientKey,
        masks: MaskStreams,
        errors: &'a SecretStreams,
    ) -> Option<Self> {
        let shape = client.set().shape();
        let rns = match &shape.key_modulus {
            KeyModulus::Words(primes) => Rns::new(primes)?,
            KeyModulus::Torus64 => Rns::new(&largest_ntt_prime_pair(
                LIMB_PRIMES_BITS,
                2 * shape.polynomial_size as u32,
            )?)?,
        };
        let words = rns
            .words()
            .iter()
            .map(|&modulus| {
                let table = NttTable::new(modulus, shape.polynomial_size)?;
                let mut secrets =
                    Zeroizing::new(Vec::with_capacity(shape.packing * shape.ks_indices()));
                for slot in 0..shape.packing {
                    secrets.extend(
                        client
                            .glwe_secret(slot)
                            .iter()
                            .map(|&s| modulus.reduce_small(i32::from(s))),
                    );
                }
                for polynomial in secrets.chunks_exact_mut(shape.polynomial_size) {
                    table.forward(polynomial);
                    polynomial.iter_mut().for_each(|x| *x = modulus.to_montgomery(*x));
                }
                Some(Word { table, secrets })
            })
            .collect::<Option<_>>()?;
        Some(Self { client, rns, words, masks, errors })
    }

    /// Fills the packed bodies of step `index`.
    pub fn block(&self, index: usize, out: &mut [u8]) {
        let shape = self.client.set().shape();
        let (size, k, largest) = (shape.polynomial_size, shape.glwe_dimension, largest_word(shape));
        let limbs = if shape.is_torus() { 2 } else { 1 };
        let mut scratch = Scratch {
            masks: vec![0; k * size],
            transformed: vec![0; limbs * self.words.len() * k * size],
            products: Zeroizing::new(vec![0; self.words.len() * size]),
            body: Zeroizing::new(vec![0; size]),
        };
        let mut masks = mask_stream(&self.masks, index);
        let mut errors = self.errors.stream(domain::BOOTSTRAPPING, index as u64);
        let weights = shape.gadget_weights();
        let mut written = 0;
        for ggsw in 0..shape.ggsw_per_step() {
            for &weight in &weights {
                for row in 0..shape.columns() {
                    draw_row_masks(shape, &mut masks, &mut scratch.masks);
                    self.transform_masks(&mut scratch);
                    for slot in 0..shape.packing {
                        let bit = self.encrypted_bit(slot, index, ggsw);
                        self.body(slot, &mut scratch);
                        self.add_errors(&mut errors, &mut scratch.body);
                        self.add_payload(row, slot, (bit * weight) as i64, &mut scratch.body);
                        PackedWords::write(largest, out, written, &scratch.body);
                        written += size;
                    }
                }
            }
        }
    }

    /// What GGSW ciphertext `ggsw` of step `index` encrypts in a slot. Ternary: whether the secret
    /// is 1 (C0) or -1 (C1); binary: whether exactly the secrets of its set are 1. No branch
    /// depends on a secret.
    fn encrypted_bit(&self, slot: usize, index: usize, ggsw: usize) -> u64 {
        let shape = self.client.set().shape();
        let secrets = &self.client.lwe_secret(slot)[index * shape.grouping..][..shape.grouping];
        match shape.secret {
            SecretKind::Ternary => {
                equal_mask(secrets[0].into(), if ggsw == 0 { 1 } else { -1 }) & 1
            }
            SecretKind::Binary => {
                let set = ggsw + 1;
                let agrees =
                    |(i, &s): (usize, &i8)| equal_mask(s.into(), (set >> i & 1) as i64) & 1;
                secrets.iter().enumerate().map(agrees).product()
            }
        }
    }

    fn transform_masks(&self, scratch: &mut Scratch) {
        let size = scratch.body.len();
        let (torus, words) = (self.client.set().shape().is_torus(), self.words.len());
        for (which, transformed) in
            scratch.transformed.chunks_exact_mut(scratch.masks.len()).enumerate()
        {
            let (limb, word) = (which / words, &self.words[which % words]);
            let modulus = word.table.modulus();
            for (x, &mask) in transformed.iter_mut().zip(&scratch.masks) {
                *x = modulus.reduce(if torus {
                    mask >> (LIMB_BITS * limb as u32) & u64::from(u32::MAX)
                } else {
                    mask
                });
            }
            transformed
                .chunks_exact_mut(size)
                .for_each(|polynomial| word.table.forward(polynomial));
        }
    }

    /// `sum_p a_p S_{slot,p}` modulo M.
    fn body(&self, slot: usize, scratch: &mut Scratch) {
        let torus = self.client.set().shape().is_torus();
        let per_limb = self.words.len() * scratch.masks.len();
        for (limb, transformed) in scratch.transformed.chunks_exact(per_limb).enumerate() {
            self.multiply(slot, transformed, &mut scratch.products);
            let (first, second) = scratch.products.split_at(scratch.body.len());
            for (i, x) in scratch.body.iter_mut().enumerate() {
                let product = self.rns.compose(first[i], second.get(i).copied().unwrap_or(0));
                *x = match (torus, limb) {
                    (false, _) => product,
                    (true, 0) => self.rns.centre(product) as u64,
                    (true, _) => x.wrapping_add((self.rns.centre(product) as u64) << LIMB_BITS),
                };
            }
        }
    }

    /// One limb of masks, `[word][k][N]`, times the secrets of a slot: `[word][N]`.
    fn multiply(&self, slot: usize, transformed: &[u32], products: &mut [u32]) {
        let all = transformed.len() / self.words.len();
        let size = products.len() / self.words.len();
        for ((word, masks), product) in self
            .words
            .iter()
            .zip(transformed.chunks_exact(all))
            .zip(products.chunks_exact_mut(size))
        {
            let modulus = word.table.modulus();
            product.fill(0);
            for (mask, secret) in
                masks.chunks_exact(size).zip(word.secrets[slot * all..][..all].chunks_exact(size))
            {
                for ((sum, &a), &s) in product.iter_mut().zip(mask).zip(secret) {
                    *sum = modulus.add(*sum, modulus.mul_montgomery(a, s));
                }
            }
            word.table.inverse(product);
        }
    }

    fn add_errors(&self, errors: &mut RandomStream, body: &mut [u64]) {
        for x in body {
            *x = self.add(*x, self.client.glwe_error(errors));
        }
    }

    /// Row p < k carries `-S_{j,p} m_j g` in body j; row k + j carries `m_j g` in body j alone.
    /// `scaled` is `m_j g`.
    fn add_payload(&self, row: usize, slot: usize, scaled: i64, body: &mut [u64]) {
        let k = self.client.set().shape().glwe_dimension;
        if row < k {
            let secret = &self.client.glwe_secret(slot)[row * body.len()..][..body.len()];
            for (x, &s) in body.iter_mut().zip(secret) {
                *x = self.add(*x, (-i64::from(s)).wrapping_mul(scaled));
            }
        } else if row == k + slot {
            body[0] = self.add(body[0], scaled);
        }
    }

    /// `x + y mod M` for `x < M < 2^61` and `|y| < M`, or modulo 2^64, without branches on either.
    fn add(&self, x: u64, y: i64) -> u64 {
        if self.client.set().shape().is_torus() {
            return x.wrapping_add(y as u64);
        }
        let modulus = self.rns.value() as i64;
        // In (-M, 2M); both corrections are masks of a sign.
        let sum = x as i64 + y;
        let sum = sum + (modulus & (sum >> 63));
        let over = sum - modulus;
        (over + (modulus & (over >> 63))) as u64
    }
}
