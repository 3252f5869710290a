//! `poly_pointwise`: sums of products on one row of the limbs modulo one prime, without transforms.
#![allow(unsafe_code)] // Rows of limbs that other tasks share; see `memory`.

use std::sync::Arc;

use girih_ring::limb::Ahead;

use super::Prime;
use super::memory::{Layout, Memory, Scratch};
use super::sums::{Products, RowLoad};

/// A tile.
pub(super) struct PointwiseWork {
    pub(super) prime: Arc<Prime>,
    pub(super) loads: Vec<RowLoad>,
    pub(super) sums: Vec<(Products, Vec<u32>)>,
}

impl PointwiseWork {
    /// Rows of scratch memory that a task takes.
    pub(super) fn scratch_rows(&self) -> usize {
        let loads: usize = self.loads.iter().map(RowLoad::scratch_rows).sum();
        let sum = |(products, _): &(Products, Vec<u32>)| products.scratch_rows() + 1;
        loads + self.sums.iter().map(sum).sum::<usize>()
    }

    /// Task `r`: row `r` of the tile.
    ///
    /// # Safety
    /// The tasks of the launch write no word that another one writes, and no limb that one reads.
    pub(super) unsafe fn poly_pointwise(
        &self,
        layout: Layout,
        r: usize,
        memory: &Memory<'_>,
        scratch: &mut [u32],
    ) {
        let (prime, row_len) = (&*self.prime, layout.row_len);
        let mut scratch = Scratch::new(scratch);
        let mut slots: Vec<&[u32]> = Vec::with_capacity(self.loads.len() + self.sums.len());
        for load in &self.loads {
            // SAFETY: what is loaded is not written in this launch.
            slots.push(unsafe {
                load.fetch(layout, prime, r, memory, &mut scratch, &mut Ahead::none())
            });
        }
        for (products, stores) in &self.sums {
            let out = scratch.take(row_len);
            // SAFETY: what is streamed is not written in this launch.
            unsafe { products.sum(layout, prime, r, &slots, memory, &mut scratch, out) };
            for &limb in stores {
                // SAFETY: row r of a limb that is stored belongs to this task.
                let row = unsafe { memory.words_mut(limb, r * row_len, row_len) };
                row.copy_from_slice(out);
            }
            slots.push(out);
        }
    }
}
