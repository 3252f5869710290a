//! Bodies of the key-switching table.

use super::{ClientKey, domain, packed::PackedWords};
use girih_backend::BootstrapShape;
use girih_ring::sampler::{MaskSeed, RandomStream, SecretSeed};
use zeroize::Zeroizing;

/// Draws the mask of one entry, n words modulo Q_ks, from the stream of its index.
///
/// A stream serves the entries of one index in the order `[digit][value 1..B_ks]`: part of the wire format.
pub(super) fn draw_mask(shape: &BootstrapShape, stream: &mut RandomStream, out: &mut [u64]) {
    stream.fill_bits(shape.log2_ks_modulus, out);
}

/// The mask stream of index `index` below kN.
pub(super) fn mask_stream(seed: &MaskSeed, index: usize) -> RandomStream {
    seed.stream(domain::KEY_SWITCHING, index as u64)
}

/// Words of bodies of one index: `[digit][value 1..B_ks][r]`; value 0 is zero and not stored.
pub(super) fn bodies_len(shape: &BootstrapShape) -> usize {
    shape.ks_digits() * (shape.ks_base() - 1) * shape.packing
}

/// Makes the bodies of any index; shared by all threads.
pub(super) struct Generator<'a> {
    client: &'a ClientKey,
    /// For each slot, all ones where the LWE secret is 1, then all ones where it is -1: `[r][2][n]`.
    selectors: Zeroizing<Vec<u64>>,
    masks: MaskSeed,
    errors: &'a SecretSeed,
}

impl<'a> Generator<'a> {
    pub fn new(client: &'a ClientKey, masks: MaskSeed, errors: &'a SecretSeed) -> Self {
        let mut selectors = Zeroizing::new(Vec::new());
        for slot in 0..client.set().packing() {
            for wanted in [1, -1] {
                selectors.extend(client.lwe_secret(slot).iter().map(|&s| u64::from(s == wanted).wrapping_neg()));
            }
        }
        Self { client, selectors, masks, errors }
    }

    /// Fills the packed bodies of `index`: `<a, s_j> + e + v B_ks^digit s'_{j,index}` modulo Q_ks.
    pub fn block(&self, index: usize, out: &mut [u8]) {
        let shape = self.client.set().shape();
        let (n, packing, modulus) = (shape.lwe_dimension, shape.packing, 1u64 << shape.log2_ks_modulus);
        let mut masks = mask_stream(&self.masks, index);
        let mut errors = self.errors.stream(domain::KEY_SWITCHING, index as u64);
        let (mut mask, mut bodies) = (vec![0; n], Zeroizing::new(vec![0; packing]));
        let mut written = 0;
        for digit in 0..shape.ks_digits() {
            for value in 1..shape.ks_base() as u64 {
                draw_mask(shape, &mut masks, &mut mask);
                for (slot, body) in bodies.iter_mut().enumerate() {
                    let (ones, minus_ones) = self.selectors[slot * 2 * n..][..2 * n].split_at(n);
                    let product = mask
                        .iter()
                        .zip(ones)
                        .zip(minus_ones)
                        .fold(0u64, |sum, ((&a, &plus), &minus)| sum.wrapping_add(a & plus).wrapping_sub(a & minus));
                    let secret = i64::from(self.client.glwe_secret(slot)[index]) as u64;
                    // Modulo 2^64, which Q_ks divides.
                    let payload = (value << (digit as u32 * shape.log2_ks_base)).wrapping_mul(secret);
                    let error = self.client.error(&mut errors) as u64;
                    *body = product.wrapping_add(payload).wrapping_add(error) & (modulus - 1);
                }
                PackedWords::write(modulus, out, written, &bodies);
                written += packing;
            }
        }
    }
}
