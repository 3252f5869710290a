//! Kernel `key_switch` on the native torus: digits times rows, modulo 2^64.

use crate::bootstrap::key_switch::expand;
use girih_backend::{BootstrapShape, KeySource, Progress, Result};
use girih_ring::gadget::closest_representative_digits;

/// The key-switching key, ready for use: `[i < kN][digit][n + r]`.
pub(crate) struct TorusKeySwitcher {
    shape: BootstrapShape,
    rows: Vec<u64>,
}

impl TorusKeySwitcher {
    /// Pulls the whole key.
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self> {
        let shape = keys.shape().clone();
        let block = shape.key_switching_block_len();
        let fill = |index, out: &mut [u64]| keys.key_switching_block(index, out);
        let rows = expand(shape.ks_indices(), block, progress, fill)?;
        Ok(Self { shape, rows })
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.rows[..])
    }

    /// Switches `[ciphertext][kN + r]` to `[ciphertext][n + r]` modulo 2^64: `(0, b') - sum digit *
    /// row` over balanced digits of the closest representative.
    ///
    /// The loop over the key is outermost, so that a row of it serves every ciphertext while it is
    /// in cache.
    pub(crate) fn key_switch(&self, input: &[u64], output: &mut [u64]) {
        let shape = &self.shape;
        let (len, extracted, indices) =
            (shape.switched_len(), shape.extracted_len(), shape.ks_indices());
        for (out, ciphertext) in output.chunks_exact_mut(len).zip(input.chunks_exact(extracted)) {
            out.fill(0);
            out[shape.lwe_dimension..].copy_from_slice(&ciphertext[indices..]);
        }
        let mut digits = vec![0; shape.ks_digits()];
        for (index, rows) in self.rows.chunks_exact(shape.key_switching_block_len()).enumerate() {
            for (out, ciphertext) in output.chunks_exact_mut(len).zip(input.chunks_exact(extracted))
            {
                closest_representative_digits(ciphertext[index], shape.log2_ks_base, &mut digits);
                for (row, &digit) in rows.chunks_exact(len).zip(&digits) {
                    let digit = i64::from(digit) as u64;
                    for (o, &w) in out.iter_mut().zip(row) {
                        *o = o.wrapping_sub(digit.wrapping_mul(w));
                    }
                }
            }
        }
    }
}
