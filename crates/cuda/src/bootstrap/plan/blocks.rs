//! Plans of one ciphertext on several blocks: small batches, and rings too large for one block.

use crate::bootstrap::layout::Geometry;
use crate::bootstrap::plan::key_switch::KeySwitchPlan;
use crate::bootstrap::plan::knobs::{SPREAD, SPREAD_ITEMS, choice, is_of_both_splits};
use crate::bootstrap::plan::registers::spread_key_ring;
use crate::bootstrap::plan::{CudaPlan, Planner, Split};
use girih_backend::bootstrap::{tile_of_groups, tile_of_subgroups};
use girih_backend::{BootstrapShape, DoesNotFit, PlanRequest, Result, Transform};

/// What a part of a polynomial must have for the bank swizzles of `spread_fft.cuh`
/// and `spread_ntt.cuh`.
const LEAST_PART: usize = 16;
/// More threads would leave too few registers for the accumulators and the key.
const MAX_THREADS: usize = 512;
/// LWE indices by which the key is asked into L2 ahead of use.
const PREFETCH_STEPS: usize = 4;

impl Planner<'_> {
    /// Plans one ciphertext on several blocks.
    ///
    /// # Errors
    /// As [`Planner::whole`].
    pub fn over_blocks(&self, request: &PlanRequest) -> Result<CudaPlan> {
        let Self { shape, transform, cluster, .. } = *self;
        self.check(request)?;
        let unsupported =
            |what: String, why: String| self.unsupported(format!("a ciphertext over {what}"), why);
        let geometry = Geometry::new(shape, transform);
        let most = (geometry.points / LEAST_PART).min(cluster);
        let items = choice(request, SPREAD_ITEMS);
        let packed = self.packs(request);
        let mut plan = match choice(request, SPREAD) {
            Some(blocks) if !blocks.is_power_of_two() || blocks > most => Err(unsupported(
                format!("{blocks} blocks"),
                format!(
                    "{transform} of N = {} goes over a power of two up to {most}",
                    shape.polynomial_size
                ),
            )),
            Some(blocks) => {
                self.over(blocks, items, packed).map_err(|reason| self.does_not_fit(reason))
            }
            None => {
                // The most: an H200 ran all sets faster on eight blocks than on four.
                let none = Err(DoesNotFit::Transform {
                    transform,
                    why: "the ring is too small to be spread".into(),
                });
                let over = |&blocks: &usize| self.over(blocks, items, packed);
                let largest_first = [8, 4, 2, 1].iter().filter(|&&b| b <= most);
                largest_first
                    .map(over)
                    .fold(none, |best, plan| if best.is_ok() { best } else { plan })
                    .map_err(|reason| self.does_not_fit(reason))
            }
        }?;
        for (name, &value) in request
            .choices
            .iter()
            .filter(|(name, _)| ![SPREAD, SPREAD_ITEMS].contains(&name.as_str()))
        {
            if !is_of_both_splits(name) {
                return Err(unsupported(
                    format!("blocks with {name} = {value}"),
                    "this choice belongs to whole ciphertexts a block; ask for spread = 0 as well"
                        .into(),
                ));
            }
            self.choose_for_both(&mut plan, name, value as usize)?;
        }
        Ok(plan)
    }

    fn over(
        &self,
        blocks: usize,
        items: Option<usize>,
        packed: bool,
    ) -> Result<CudaPlan, DoesNotFit> {
        let Self { shape, transform, limits, .. } = *self;
        let geometry = Geometry::new(shape, transform);
        let part = geometry.points / blocks;
        // What an H200 ran fastest: a warp then holds the larger parts of two blocks whole, and
        // needs no barrier of the block.
        let items = items.unwrap_or(if blocks <= 2 { 8 } else { 4 });
        let products = shape.columns() * part;
        // Whole teams of every kind; enough threads for the products, and for whole warps of each
        // level of the orbits' digits where those are few (above 256 they would
        // take registers from keys).
        let step = (part / items).max(geometry.team).max(32);
        let orbits = shape.levels() * (products / blocks).next_multiple_of(32);
        // Of 256 products half as many threads are no slower, and a multiprocessor has room for
        // twice the blocks. Pairs of indices need all of them, and fewer registers each. Groups of
        // four were slower with half.
        let is_of_pairs = shape.grouping == 2;
        let halved = blocks > 2 && products == 256 && matches!(shape.grouping, 1 | 3);
        let threads = (if halved { products / 2 } else { products })
            .max(if orbits > 256 { 0 } else { orbits })
            .clamp(128, MAX_THREADS)
            .next_multiple_of(step);
        let resident = if is_of_pairs && threads == 256 { 2 } else { 1 };
        let needed = shared_bytes(shape, transform, &geometry, blocks);
        if needed > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                tile: tile_of_groups(shape, 1),
                needed,
                available: limits.workgroup_memory_bytes,
            });
        }
        if threads > limits.workgroup_threads {
            return Err(DoesNotFit::Threads {
                tile: tile_of_subgroups(shape, step / limits.subgroup_threads),
                needed: threads,
                available: limits.workgroup_threads,
            });
        }
        Ok(CudaPlan {
            transform,
            split: Split::Blocks(blocks),
            threads,
            blocks_per_multiprocessor: resident,
            shared_bytes: needed,
            key_ring: spread_key_ring(shape, transform, blocks, [threads, resident], packed),
            packed,
            prefetch_steps: PREFETCH_STEPS,
            key_switch: KeySwitchPlan::new(shape, limits),
            multiprocessors: limits.multiprocessors,
            pace: 1,
            gaps: false,
            defer_cosines: false,
            join_levels: false,
            spread_items: items,
        })
    }
}

/// Bytes of `SpreadTile` (cuda/bootstrap/blind_rotate_spread.cu).
fn shared_bytes(
    shape: &BootstrapShape,
    transform: Transform,
    geometry: &Geometry,
    blocks: usize,
) -> usize {
    let part = geometry.points / blocks;
    // Products, digits, and what the owner of orbits is sent.
    let parts = shape.levels() + 2;
    let values = parts * shape.columns() * part;
    let (values, roots) = match transform {
        Transform::Ntt => (values * 4 * geometry.words, geometry.words * 2 * part * 8),
        Transform::Fft => (values * 16, part * 16),
    };
    let inboxes = 2 * 8;
    (values + roots + inboxes + 2 * shape.switched_len()).next_multiple_of(16)
}
