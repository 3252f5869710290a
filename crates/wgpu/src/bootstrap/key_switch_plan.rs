//! How the key switch of a plan is laid over workgroups, and its table over memory.

use crate::bootstrap::plan::WgpuPlan;

/// Rows of the key-switching table that a thread asks for before it adds them up.
pub(crate) const KEY_SWITCH_ROWS: usize = 12;
impl WgpuPlan {
    /// 32-bit words of a word that a key switch adds up: modulo Q_ks, or 2^64 on the native torus.
    pub(crate) fn ks_words(&self) -> usize {
        if self.shape.log2_ks_modulus > 32 || self.shape.is_torus() { 2 } else { 1 }
    }

    /// Entries of the key-switching table in 16 bytes.
    pub(crate) fn ks_entries(&self) -> usize {
        match self.shape.log2_ks_modulus {
            _ if self.shape.is_torus() => 2,
            ..=16 => 8,
            17..=32 => 4,
            _ => 2,
        }
    }

    /// 16-byte vectors of one row of the key-switching table.
    pub(crate) fn ks_row_vectors(&self) -> usize {
        self.shape.switched_len().div_ceil(self.ks_entries())
    }

    /// 16-byte vectors of one index of the key-switching table.
    pub(crate) fn ks_block_vectors(&self) -> usize {
        self.shape.key_switching_block_len() / self.shape.switched_len() * self.ks_row_vectors()
    }

    /// (vectors side by side, threads a vector) of a key-switching workgroup.
    pub(crate) fn ks_workgroup(&self) -> (usize, usize) {
        let (vectors, most) = (self.ks_row_vectors(), self.switching_threads);
        let lanes = vectors.div_ceil(vectors.div_ceil(most));
        (lanes, (most / lanes).clamp(1, 8))
    }

    /// Workgroups side by side of a key switch.
    pub(crate) fn key_switch_column_groups(&self) -> usize {
        self.ks_row_vectors().div_ceil(self.ks_workgroup().0)
    }

    /// Parts that the indices of each of `jobs` key switches are divided into, a workgroup each:
    /// until the device is full, or a part is what one round of loads asks for.
    pub(crate) fn key_switch_parts(&self, jobs: usize) -> usize {
        let (round, groups) = if self.shape.is_torus() {
            let tile = self.torus_tile();
            (tile.indices, jobs.div_ceil(tile.ciphertexts) * tile.column_groups(&self.shape))
        } else {
            let round = KEY_SWITCH_ROWS.div_ceil(self.shape.ks_digits()) * self.ks_workgroup().1;
            (round, jobs * self.key_switch_column_groups())
        };
        let filling = self.filling_workgroups / groups.max(1);
        self.key_switch_parts.unwrap_or(filling).clamp(1, self.shape.ks_indices().div_ceil(round))
    }
}
