//! Bodies of the key-switching table; on the native torus, of the key-switching key.

use super::{ClientKey, domain, packed::PackedWords};
use girih_backend::BootstrapShape;
use girih_ring::constant_time::{equal_mask, signed_sum};
use girih_ring::sampler::RandomStream;
use girih_rlwe::{MaskStreams, SecretStreams};
use zeroize::Zeroizing;

/// log2 of the modulus of the entries: log2 Q_ks, or 64 on the native torus.
fn log2_modulus(shape: &BootstrapShape) -> u32 {
    if shape.is_torus() { 64 } else { shape.log2_ks_modulus }
}

/// The largest word of an entry.
pub(super) fn largest_word(shape: &BootstrapShape) -> u64 {
    u64::MAX >> (64 - log2_modulus(shape))
}

/// Draws the mask of one entry, n words, from the stream of its index.
///
/// A stream serves the entries of one index in the order `[digit][value 1..B_ks]` (native torus:
/// `[digit]`): part of the wire format.
pub(super) fn draw_mask(shape: &BootstrapShape, stream: &mut RandomStream, out: &mut [u64]) {
    stream.fill_bits(log2_modulus(shape), out);
}

/// What entries of one index carry, in the order of [`draw_mask`]: `v B_ks^digit` for digit and
/// value `v = 1..B_ks`, or, on the native torus, the weights `2^(64 - b (digit + 1))`.
fn weights(shape: &BootstrapShape) -> Vec<u64> {
    let (digits, log2_base) = (shape.ks_digits() as u32, shape.log2_ks_base);
    if shape.is_torus() {
        return (1..=digits).map(|digit| 1 << (64 - log2_base * digit)).collect();
    }
    (0..digits)
        .flat_map(|digit| {
            (1..shape.ks_base() as u64).map(move |value| value << (digit * log2_base))
        })
        .collect()
}

/// The mask stream of index `index` below kN.
pub(super) fn mask_stream(masks: &MaskStreams, index: usize) -> RandomStream {
    masks.stream(domain::KEY_SWITCHING, index as u64)
}

/// Words of bodies of one index: `[digit][value 1..B_ks][r]`, value 0 is zero and not stored;
/// native torus: `[digit][r]`.
pub(super) fn bodies_len(shape: &BootstrapShape) -> usize {
    let values = if shape.is_torus() { 1 } else { shape.ks_base() - 1 };
    shape.ks_digits() * values * shape.packing
}

/// Makes the bodies of any index; shared by all threads.
pub(super) struct Generator<'a> {
    client: &'a ClientKey,
    /// For each slot, all ones where the LWE secret is 1, then all ones where it is -1:
    /// `[r][2][n]`.
    selectors: Zeroizing<Vec<u64>>,
    masks: MaskStreams,
    errors: &'a SecretStreams,
}

impl<'a> Generator<'a> {
    pub fn new(client: &'a ClientKey, masks: MaskStreams, errors: &'a SecretStreams) -> Self {
        let mut selectors = Zeroizing::new(Vec::new());
        for slot in 0..client.set().packing() {
            for wanted in [1, -1] {
                selectors
                    .extend(client.lwe_secret(slot).iter().map(|&s| equal_mask(s.into(), wanted)));
            }
        }
        Self { client, selectors, masks, errors }
    }

    /// Fills the packed bodies of `index`: `<a, s_j> + e + w s'_{j,index}` for each weight w.
    pub fn block(&self, index: usize, out: &mut [u8]) {
        let shape = self.client.set().shape();
        let (n, packing, largest) = (shape.lwe_dimension, shape.packing, largest_word(shape));
        let mut masks = mask_stream(&self.masks, index);
        let mut errors = self.errors.stream(domain::KEY_SWITCHING, index as u64);
        let (mut mask, mut bodies) = (vec![0; n], Zeroizing::new(vec![0; packing]));
        for (entry, weight) in weights(shape).into_iter().enumerate() {
            draw_mask(shape, &mut masks, &mut mask);
            for (slot, body) in bodies.iter_mut().enumerate() {
                let (ones, minus_ones) = self.selectors[slot * 2 * n..][..2 * n].split_at(n);
                let product = signed_sum(&mask, ones, minus_ones);
                // Modulo 2^64, which every modulus of entries divides.
                let payload =
                    weight.wrapping_mul(i64::from(self.client.glwe_secret(slot)[index]) as u64);
                let error = self.client.lwe_error(&mut errors) as u64;
                *body = product.wrapping_add(payload).wrapping_add(error) & largest;
            }
            PackedWords::write(largest, out, entry * packing, &bodies);
        }
    }
}
