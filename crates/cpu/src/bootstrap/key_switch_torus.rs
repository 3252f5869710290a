//! Kernel `key_switch` on the native torus: digits times rows, modulo 2^64.

use girih_backend::{BackendError, BootstrapShape, KeySource, Progress};
use girih_ring::gadget::closest_representative_digits;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The key-switching key, ready for use: `[i < kN][digit][n + r]`.
pub(crate) struct TorusKeySwitcher {
    shape: BootstrapShape,
    rows: Vec<u64>,
}

impl TorusKeySwitcher {
    /// Pulls the whole key.
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self, BackendError> {
        let shape = keys.shape().clone();
        let block = shape.key_switching_block_len();
        let total = shape.ks_indices() * block;
        let mut rows = Vec::new();
        rows.try_reserve_exact(total).map_err(|_| BackendError::OutOfMemory {
            device: "cpu".into(),
            bytes: (total * size_of::<u64>()) as u64,
            what: "the key-switching key".into(),
        })?;
        rows.resize(total, 0);
        let done = AtomicUsize::new(0);
        rows.par_chunks_exact_mut(block).enumerate().for_each(|(index, out)| {
            keys.key_switching_block(index, out);
            progress.report(
                "expanding the key-switching key",
                done.fetch_add(1, Ordering::Relaxed) + 1,
                shape.ks_indices(),
            );
        });
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
