//! `poly_columns`: inverse columns of what is half transformed, sums and base conversions, forward
//! columns of what is to be half transformed; all on some columns of limbs modulo several primes.
#![allow(unsafe_code)] // Columns of limbs that other tasks share; see `memory`.

use std::ops::Range;
use std::sync::Arc;

use girih_ring::fft::prefetch;
use girih_ring::limb::ProductTerm;
use girih_ring::{BaseConversion, Formula, Shoup};

use super::Prime;
use super::memory::Memory;
use super::sums::Layout;

/// A tile. Slots are loads, then sums; *extra* slots hold what is converted for sums that have
/// other terms, too.
pub(super) struct ColumnWork {
    pub(super) loads: Vec<ColumnLoad>,
    pub(super) conversions: Vec<ConversionWork>,
    pub(super) sums: Vec<ColumnSumWork>,
    pub(super) extra: usize,
    /// Columns of a task.
    pub(super) width: usize,
}

pub(super) struct ColumnLoad {
    pub(super) prime: Arc<Prime>,
    pub(super) limb: u32,
    pub(super) half: bool,
}

/// A conversion to all targets that sums of the tile want.
pub(super) struct ConversionWork {
    pub(super) formula: Formula,
    pub(super) sources: Vec<(usize, Arc<Prime>)>,
    pub(super) parts: Vec<Part>,
}

/// Targets of different primes, with the places of what is converted: runs of slots.
pub(super) struct Part {
    pub(super) conversion: BaseConversion,
    pub(super) runs: Vec<(Range<usize>, Place)>,
}

/// The first slot of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Slot(usize),
    Extra(usize),
}

pub(super) struct ColumnSumWork {
    pub(super) prime: Arc<Prime>,
    /// Conversions that this sum is the first to read.
    pub(super) conversions: Vec<usize>,
    /// None where a conversion fills the slot by itself.
    pub(super) terms: Vec<(Shoup, Place)>,
    pub(super) stores: Vec<ColumnStore>,
    /// Whether a later sum or conversion reads the slot.
    pub(super) read_later: bool,
}

pub(super) struct ColumnStore {
    pub(super) limb: u32,
    pub(super) half: bool,
}

impl ColumnWork {
    fn sources(&self) -> usize {
        self.conversions.iter().map(|c| c.sources.len()).max().unwrap_or(0)
    }

    /// Slots of scratch memory that a task takes: also the y of a conversion, its u, and one
    /// for what is stored.
    pub(super) fn scratch_slots(&self) -> usize {
        self.loads.len() + self.sums.len() + self.extra + self.sources() + 2
    }

    /// Task `group`: the columns from `group * width` on.
    ///
    /// # Safety
    /// The tasks of the launch write no word that another one writes, and no limb that one reads.
    pub(super) unsafe fn poly_columns(
        &self,
        layout: Layout,
        group: usize,
        memory: &Memory<'_>,
        scratch: &mut [u32],
    ) {
        let (width, tile_len) = (self.width, layout.rows * self.width);
        let (slots, scratch) =
            scratch.split_at_mut((self.loads.len() + self.sums.len()) * tile_len);
        let (extra, scratch) = scratch.split_at_mut(self.extra * tile_len);
        let (y, scratch) = scratch.split_at_mut(self.sources() * tile_len);
        let (u, scratch) = scratch.split_at_mut(tile_len);
        let other = &mut scratch[..tile_len];
        let row = |r: usize| r * layout.row_len + group * width;

        for (number, tile) in slots.chunks_exact_mut(tile_len).take(self.loads.len()).enumerate() {
            let load = &self.loads[number];
            for (r, words) in tile.chunks_exact_mut(width).enumerate() {
                // SAFETY: what is loaded is not written in this launch.
                copy(unsafe { memory.words(load.limb, row(r), width) }, words);
            }
            // A row of a tile is alone on its page, where no prefetcher looks ahead: the next tile
            // comes while this one is transformed.
            if let Some(next) = self.loads.get(number + 1) {
                for r in 0..layout.rows {
                    // SAFETY: as above.
                    prefetch(unsafe { memory.words(next.limb, row(r), width) });
                }
            }
            if load.half {
                let ntt = &load.prime.ntt;
                ntt.inverse_column_tile(tile, width, ntt.size_inverse());
            }
        }
        for (number, sum) in self.sums.iter().enumerate() {
            let slot = self.loads.len() + number;
            let (before, after) = slots.split_at_mut(slot * tile_len);
            for store in &sum.stores {
                for r in 0..layout.rows {
                    // SAFETY: these columns of a limb that is stored belong to this task.
                    prefetch(unsafe { memory.words_mut(store.limb, row(r), width) });
                }
            }
            for &conversion in &sum.conversions {
                self.conversions[conversion].convert(before, after, extra, y, u);
            }
            let (out, _) = after.split_at_mut(tile_len);
            if !sum.terms.is_empty() {
                let terms: Vec<ProductTerm> = sum
                    .terms
                    .iter()
                    .map(|&(factor, place)| {
                        let (words, slot) = match place {
                            Place::Slot(slot) => (&*before, slot),
                            Place::Extra(slot) => (&*extra, slot),
                        };
                        ProductTerm { factor, a: &words[slot * tile_len..][..tile_len], b: None }
                    })
                    .collect();
                sum.prime.kernels.sum_of_products(0, &terms, out);
            }
            for (number, store) in sum.stores.iter().enumerate() {
                let last = number + 1 == sum.stores.len() && !sum.read_later;
                let tile = match (store.half, last) {
                    (false, _) => &mut *out,
                    (true, true) => {
                        sum.prime.ntt.forward_column_tile(out, width);
                        &mut *out
                    }
                    (true, false) => {
                        other.copy_from_slice(out);
                        sum.prime.ntt.forward_column_tile(other, width);
                        &mut *other
                    }
                };
                for (r, words) in tile.chunks_exact(width).enumerate() {
                    // SAFETY: these columns of a limb that is stored belong to this task.
                    copy(words, unsafe { memory.words_mut(store.limb, row(r), width) });
                }
            }
        }
    }
}

/// A row of a tile: too short for what a call of the system's copy costs.
#[inline(always)]
fn copy(from: &[u32], to: &mut [u32]) {
    let ((from, ends), (to, rest)) = (from.as_chunks::<16>(), to.as_chunks_mut::<16>());
    for (from, to) in from.iter().zip(to) {
        *to = *from;
    }
    rest.copy_from_slice(ends);
}

impl ConversionWork {
    /// All targets: `before` are the slots filled so far, `after` those from then on.
    fn convert(
        &self,
        before: &[u32],
        after: &mut [u32],
        extra: &mut [u32],
        y: &mut [u32],
        u: &mut [u32],
    ) {
        let tile_len = u.len();
        let y = &mut y[..self.sources.len() * tile_len];
        let Some(first) = self.parts.first() else { return };
        let factors = first.conversion.cofactor_inverses();
        let sources = self.sources.iter().zip(factors).zip(y.chunks_exact_mut(tile_len));
        for (((slot, prime), &factor), y) in sources {
            prime.kernels.scale(factor, &before[slot * tile_len..][..tile_len], y);
        }
        first.conversion.overflow(self.formula, y, u);
        for Part { conversion, runs } in &self.parts {
            for (targets, place) in runs {
                let (region, first) = match *place {
                    Place::Slot(slot) => (&mut *after, slot - before.len() / tile_len),
                    Place::Extra(slot) => (&mut *extra, slot),
                };
                let out = &mut region[first * tile_len..][..targets.len() * tile_len];
                conversion.targets(targets.clone(), y, u, out);
            }
        }
    }
}
