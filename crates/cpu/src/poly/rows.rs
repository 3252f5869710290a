//! `poly_rows`: forward rows of what is half transformed, sums of products, inverse rows of what is
//! to be half transformed; all on one row of the limbs modulo one prime.
#![allow(unsafe_code)] // Rows of limbs that other tasks share; see `memory`.

use std::sync::Arc;

use girih_ring::Automorphism;
use girih_ring::limb::{Ahead, Area};

use super::Prime;
use super::memory::{Layout, Memory, Scratch};
use super::sums::{Products, RowLoad};

/// A tile.
pub(super) struct RowWork {
    pub(super) prime: Arc<Prime>,
    pub(super) loads: Vec<RowLoad>,
    pub(super) sums: Vec<RowSumWork>,
    /// Rows that a task asks for ahead of time at most.
    pub(super) most_ahead: usize,
}

/// A sum and where it goes.
pub(super) struct RowSumWork {
    pub(super) products: Products,
    pub(super) stores: Vec<RowStore>,
    /// Its one store is without an automorphism and no later sum reads it, so that it is computed
    /// in its place.
    pub(super) in_place: bool,
}

pub(super) struct RowStore {
    pub(super) limb: u32,
    pub(super) half: bool,
    pub(super) automorphism: Option<StoredAutomorphism>,
}

/// X -> X^g and its inverse, which says where a row goes.
pub(super) struct StoredAutomorphism {
    pub(super) forward: Arc<Automorphism>,
    pub(super) inverse: Arc<Automorphism>,
}

impl RowWork {
    /// Rows of scratch memory that a task takes.
    pub(super) fn scratch_rows(&self) -> usize {
        let loads: usize = self.loads.iter().map(RowLoad::scratch_rows).sum();
        let sum = |s: &RowSumWork| s.products.scratch_rows() + usize::from(!s.in_place);
        loads + self.sums.iter().map(sum).sum::<usize>()
    }

    /// What a task reads or writes, in the order in which it does; then what the next one reads
    /// first.
    fn areas(&self, layout: Layout, r: usize, memory: &Memory<'_>) -> Vec<Area> {
        let streams = self.sums.iter().flat_map(|sum| sum.products.streams());
        let area = |load: &RowLoad| load.area(layout, r, memory);
        let row = |store: &RowStore| memory.area(store.limb, r * layout.row_len, layout.row_len);
        let in_place = self.sums.iter().filter(|sum| sum.in_place);
        let loads = self.loads.iter().skip(1).map(area);
        let stores = in_place.flat_map(|sum| &sum.stores).map(row);
        let mut areas: Vec<Area> = loads.chain(streams.map(area)).chain(stores).collect();
        areas.truncate(self.most_ahead);
        let streams = self.sums.iter().flat_map(|sum| sum.products.streams());
        if let Some(load) = self.loads.iter().chain(streams).next()
            && r + 1 < layout.rows
        {
            areas.push(load.area(layout, r + 1, memory));
        }
        areas
    }

    /// Task `r`: row `r` of the tile.
    ///
    /// # Safety
    /// The tasks of the launch write no word that another one writes, and no limb that one reads.
    pub(super) unsafe fn poly_rows(
        &self,
        layout: Layout,
        r: usize,
        memory: &Memory<'_>,
        scratch: &mut [u32],
    ) {
        let Layout { rows, row_len } = layout;
        let prime = &*self.prime;
        let mut scratch = Scratch::new(scratch);
        let mut slots: Vec<&[u32]> = Vec::with_capacity(self.loads.len() + self.sums.len());
        let areas = self.areas(layout, r, memory);
        let transforms = self.loads.len().max(self.sums.len()).max(1);
        let mut ahead = Ahead::over(&areas, transforms * row_len);
        for load in &self.loads {
            // SAFETY: what is loaded is not written in this launch.
            slots.push(unsafe { load.fetch(layout, prime, r, memory, &mut scratch, &mut ahead) });
        }
        for RowSumWork { products, stores, in_place } in &self.sums {
            // SAFETY: row `to` of a limb that is stored belongs to this task: an automorphism maps
            // different rows onto different ones.
            let target = |limb, to: usize| unsafe { memory.words_mut(limb, to * row_len, row_len) };
            if *in_place {
                let store = &stores[0];
                let out = target(store.limb, r);
                slots.push(&[]);
                if let (Some(load), true) = (products.copied(), store.half) {
                    // SAFETY: what is streamed is not written in this launch.
                    let words = unsafe { memory.words(load.limb, r * row_len, row_len) };
                    prime.ntt.inverse_row_from(r, words, out, &mut ahead);
                    continue;
                }
                // SAFETY: what is streamed is not written in this launch.
                unsafe { products.sum(layout, prime, r, &slots, memory, &mut scratch, out) };
                if store.half {
                    prime.ntt.inverse_row(r, out);
                }
                continue;
            }
            let out = scratch.take(row_len);
            // SAFETY: as above.
            unsafe { products.sum(layout, prime, r, &slots, memory, &mut scratch, out) };
            for store in stores {
                let to = match &store.automorphism {
                    Some(g) => g.inverse.source_row(rows, r).0,
                    None => r,
                };
                let row = target(store.limb, to);
                match &store.automorphism {
                    Some(g) => g.forward.apply_row(rows, to, out, row),
                    None => row.copy_from_slice(out),
                }
                if store.half {
                    prime.ntt.inverse_row(to, row);
                }
            }
            slots.push(out);
        }
    }
}
