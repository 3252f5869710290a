//! `poly_columns`: inverse columns of what is half transformed, sums and base conversions, forward
//! columns of what is to be half transformed; all on some columns of limbs modulo several primes.
//! In the conjugation-invariant ring columns go in pairs, and are folded before the forward
//! transform and unfolded after the inverse one.
//!
//! What only one sum reads is computed a few sums at a time, shortly before it is transformed and
//! stored, so that it stays in the first-level cache.
#![allow(unsafe_code)] // Columns of limbs that other tasks share; see `memory`.

use std::ops::Range;
use std::sync::Arc;

use girih_ring::limb::{Ahead, Area, ProductTerm};
use girih_ring::{BaseConversion, ColumnPairs, Formula, Shoup};

use super::Prime;
use super::memory::{Layout, Memory};

/// A tile. `prepare_columns` makes it.
pub(super) struct ColumnWork {
    pub(super) loads: Vec<ColumnLoad>,
    pub(super) conversions: Vec<ConversionWork>,
    pub(super) batches: Vec<Batch>,
    /// Sums that a later sum or conversion reads.
    pub(super) kept: usize,
    /// Slots of a batch at most.
    pub(super) local: usize,
    /// Whether what is kept has to be copied before it is transformed.
    pub(super) copies: bool,
    /// Columns of a task.
    pub(super) width: usize,
    /// Whether its primes are of the conjugation-invariant ring, where columns go in pairs.
    pub(super) invariant: bool,
}

pub(super) struct ColumnLoad {
    pub(super) prime: Arc<Prime>,
    pub(super) limb: u32,
    pub(super) half: bool,
    /// Of the inverse transform, where it is half transformed: N^-1, times what a conversion in
    /// place asks for.
    pub(super) factor: Shoup,
}

/// A conversion to all targets that sums of the tile want.
pub(super) struct ConversionWork {
    pub(super) formula: Formula,
    pub(super) sources: Sources,
    /// Targets of different primes each.
    pub(super) parts: Vec<BaseConversion>,
}

/// Where the y of a conversion are.
pub(super) enum Sources {
    /// Loads from this one on that nothing else reads: their transforms leave the y.
    InPlace(usize),
    /// Beside what they are computed from.
    Scaled { first: usize, slots: Vec<(Place, Arc<Prime>)> },
}

/// A slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Load(usize),
    /// A sum that is read later.
    Kept(usize),
    /// Until the batch ends: sums, then what is converted for those that have other terms, too.
    Local(usize),
}

/// Some sums that do not wait for each other's conversions.
#[derive(Default)]
pub(super) struct Batch {
    /// Conversions whose y and u are computed now.
    pub(super) started: Vec<usize>,
    pub(super) converted: Vec<Converted>,
    pub(super) sums: Vec<ColumnSumWork>,
}

/// Targets of a conversion that lie side by side, from `first` on.
pub(super) struct Converted {
    pub(super) conversion: usize,
    pub(super) part: usize,
    pub(super) targets: Range<usize>,
    pub(super) first: Place,
}

pub(super) struct ColumnSumWork {
    pub(super) prime: Arc<Prime>,
    /// Kept or local.
    pub(super) out: Place,
    /// None where a conversion fills the slot by itself.
    pub(super) terms: Vec<(Shoup, Place)>,
    pub(super) stores: Vec<ColumnStore>,
}

pub(super) struct ColumnStore {
    pub(super) limb: u32,
    pub(super) half: bool,
}

/// The slots of a task.
struct Slots<'s> {
    tile_len: usize,
    loads: &'s mut [u32],
    kept: &'s mut [u32],
    local: &'s mut [u32],
    /// y of all conversions that are not in place.
    y: &'s mut [u32],
    /// u of all conversions.
    u: &'s mut [u32],
}

impl ColumnWork {
    fn scaled(&self) -> usize {
        let scaled = |c: &ConversionWork| match &c.sources {
            Sources::InPlace(_) => 0,
            Sources::Scaled { slots, .. } => slots.len(),
        };
        self.conversions.iter().map(scaled).sum()
    }

    /// Slots of scratch memory that a task takes.
    pub(super) fn scratch_slots(&self) -> usize {
        let (loads, conversions) = (self.loads.len(), self.conversions.len());
        loads + self.kept + self.local + self.scaled() + conversions + usize::from(self.copies)
    }

    /// The slot of a load, of columns in pairs.
    ///
    /// # Safety
    /// No task of the launch writes the limb.
    unsafe fn load_pairs(
        &self,
        (layout, group): (Layout, usize),
        memory: &Memory<'_>,
        load: &ColumnLoad,
        tile: &mut [u32],
    ) {
        let pairs = self.pairs(layout);
        for (r, row) in tile.chunks_exact_mut(self.width).enumerate() {
            for (column, slot, len) in pairs.runs(group) {
                // SAFETY: as the caller promises.
                let from = unsafe { memory.words(load.limb, r * layout.row_len + column, len) };
                row[slot..slot + len].copy_from_slice(from);
            }
        }
        if load.half {
            load.prime.ntt.inverse_column_tile(tile, self.width, load.factor);
            load.prime.ntt.unfold_columns(group, tile);
        }
    }

    /// Columns in pairs on their way to memory.
    ///
    /// # Safety
    /// No other task of the launch reads or writes these columns of the limb.
    unsafe fn store_pairs(
        &self,
        (layout, group): (Layout, usize),
        (memory, limb): (&Memory<'_>, u32),
        tile: &[u32],
    ) {
        let pairs = self.pairs(layout);
        for (r, row) in tile.chunks_exact(self.width).enumerate() {
            for (column, slot, len) in pairs.runs(group) {
                // SAFETY: as the caller promises.
                let to = unsafe { memory.words_mut(limb, r * layout.row_len + column, len) };
                to.copy_from_slice(&row[slot..slot + len]);
            }
        }
    }

    fn pairs(&self, layout: Layout) -> ColumnPairs {
        let pairs = ColumnPairs::new(layout.rows, layout.row_len, self.width);
        pairs.expect("widths are powers of two up to a row")
    }

    /// Task `group`: the columns from `group * width` on; or those of `ColumnPairs`.
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
        let first = group * width;
        let area = |limb| memory.columns_area(limb, layout, first, width);
        let (loads, scratch) = scratch.split_at_mut(self.loads.len() * tile_len);
        let (kept, scratch) = scratch.split_at_mut(self.kept * tile_len);
        let (y, scratch) = scratch.split_at_mut(self.scaled() * tile_len);
        let (u, scratch) = scratch.split_at_mut(self.conversions.len() * tile_len);
        let (local, other) = scratch.split_at_mut(self.local * tile_len);
        let mut slots = Slots { tile_len, loads, kept, local, y, u };

        // A row of a tile is alone on its page, where no prefetcher looks ahead: what is loaded or
        // stored next comes while this tile is transformed.
        let mut stores = self.batches.iter().flat_map(|batch| &batch.sums).skip(1);
        for (number, load) in self.loads.iter().enumerate() {
            let tile = &mut slots.loads[number * tile_len..][..tile_len];
            if self.invariant {
                // SAFETY: what is loaded is not written in this launch.
                unsafe { self.load_pairs((layout, group), memory, load, tile) };
                continue;
            }
            // SAFETY: what is loaded is not written in this launch.
            let from = unsafe { memory.columns(load.limb, layout, first, width) };
            let next = self.loads.get(number + 1).map(|next| [area(next.limb)]);
            let next = next.as_ref().map_or(&[][..], |next| next);
            if load.half {
                let ahead = &mut Ahead::over(next, tile_len);
                load.prime.ntt.inverse_columns_from(from, tile, load.factor, ahead);
            } else {
                from.copy_to(tile);
            }
        }
        for batch in &self.batches {
            for &conversion in &batch.started {
                self.conversions[conversion].start(conversion, &mut slots);
            }
            for converted in &batch.converted {
                self.conversions[converted.conversion].convert(converted, &mut slots);
            }
            for sum in &batch.sums {
                let out = slots.sum(sum);
                let next: Option<Area> =
                    stores.next().and_then(|next| next.stores.first()).map(|next| area(next.limb));
                let next = next.as_slice();
                let local = matches!(sum.out, Place::Local(_));
                for (number, store) in sum.stores.iter().enumerate() {
                    if self.invariant {
                        let (ntt, other) = (&sum.prime.ntt, &mut other[..tile_len]);
                        other.copy_from_slice(out);
                        if store.half {
                            ntt.fold_columns(group, other);
                            ntt.forward_column_tile(other, width);
                        }
                        // SAFETY: these columns of a limb that is stored belong to this task.
                        unsafe { self.store_pairs((layout, group), (memory, store.limb), other) };
                        continue;
                    }
                    // SAFETY: these columns of a limb that is stored belong to this task.
                    let mut to = unsafe { memory.columns_mut(store.limb, layout, first, width) };
                    let ahead = &mut Ahead::over(next, tile_len);
                    match (store.half, local && number + 1 == sum.stores.len()) {
                        (false, _) => to.copy_from(out),
                        (true, true) => sum.prime.ntt.forward_columns_to(out, to, ahead),
                        (true, false) => {
                            let other = &mut other[..tile_len];
                            other.copy_from_slice(out);
                            sum.prime.ntt.forward_columns_to(other, to, ahead);
                        }
                    }
                }
            }
        }
    }
}

impl Slots<'_> {
    fn get(&self, place: Place) -> &[u32] {
        let (words, slot) = match place {
            Place::Load(slot) => (&*self.loads, slot),
            Place::Kept(slot) => (&*self.kept, slot),
            Place::Local(slot) => (&*self.local, slot),
        };
        &words[slot * self.tile_len..][..self.tile_len]
    }

    /// The slot of a sum, computed.
    fn sum(&mut self, sum: &ColumnSumWork) -> &mut [u32] {
        let len = self.tile_len;
        let (region, other, slot) = match sum.out {
            Place::Kept(slot) => (&mut *self.kept, &*self.local, slot),
            Place::Local(slot) | Place::Load(slot) => (&mut *self.local, &*self.kept, slot),
        };
        let loads = &*self.loads;
        let (before, out) = region.split_at_mut(slot * len);
        let (out, after) = out.split_at_mut(len);
        if !sum.terms.is_empty() {
            // All but the slot itself.
            let (before, after) = (&*before, &*after);
            let beside = |at: usize| match at < slot {
                true => &before[at * len..][..len],
                false => &after[(at - slot - 1) * len..][..len],
            };
            let term = |&(factor, place): &(Shoup, Place)| {
                let a = match (place, sum.out) {
                    (Place::Load(at), _) => &loads[at * len..][..len],
                    (Place::Kept(at), Place::Kept(_)) => beside(at),
                    (Place::Local(at), Place::Local(_)) => beside(at),
                    (Place::Kept(at) | Place::Local(at), _) => &other[at * len..][..len],
                };
                ProductTerm { factor, a, b: None }
            };
            let terms: Vec<ProductTerm> = sum.terms.iter().map(term).collect();
            sum.prime.kernels.sum_of_products(0, &terms, out);
        }
        out
    }
}

impl ConversionWork {
    /// The y and the u of conversion `number`.
    fn start(&self, number: usize, slots: &mut Slots<'_>) {
        let len = slots.tile_len;
        let Some(conversion) = self.parts.first() else { return };
        if let Sources::Scaled { first, slots: sources } = &self.sources {
            let factors = conversion.cofactor_inverses();
            for (i, ((place, prime), &factor)) in sources.iter().zip(factors).enumerate() {
                let mut y = std::mem::take(&mut slots.y);
                prime.kernels.scale(factor, slots.get(*place), &mut y[(first + i) * len..][..len]);
                slots.y = std::mem::take(&mut y);
            }
        }
        let y = self.y(slots.loads, slots.y, len, conversion);
        conversion.overflow(self.formula, y, &mut slots.u[number * len..][..len]);
    }

    fn y<'s>(
        &self,
        loads: &'s [u32],
        y: &'s [u32],
        len: usize,
        conversion: &BaseConversion,
    ) -> &'s [u32] {
        let sources = conversion.from_basis().len();
        match self.sources {
            Sources::InPlace(first) => &loads[first * len..][..sources * len],
            Sources::Scaled { first, .. } => &y[first * len..][..sources * len],
        }
    }

    fn convert(&self, converted: &Converted, slots: &mut Slots<'_>) {
        let Converted { conversion: number, part, targets, first } = converted;
        let (len, conversion) = (slots.tile_len, &self.parts[*part]);
        let y = self.y(slots.loads, slots.y, len, conversion);
        let u = &slots.u[number * len..][..len];
        let (region, first) = match *first {
            Place::Kept(slot) => (&mut *slots.kept, slot),
            Place::Local(slot) | Place::Load(slot) => (&mut *slots.local, slot),
        };
        let out = &mut region[first * len..][..targets.len() * len];
        conversion.targets(targets.clone(), y, u, out);
    }
}
