//! Plans for one ciphertext on several blocks: small batches, and rings too large for one block.

use crate::bootstrap::plan::{
    CudaPlan, Geometry, key_switch_stages, key_switch_threads, key_switch_tiled_from, packs,
    refuse_unsupported,
};
use girih_backend::bootstrap::{tile_of_groups, tile_of_subgroups};
use girih_backend::{
    BackendError, BootstrapShape, DeviceLimits, DoesNotFit, PlanRequest, Transform,
};

/// Blocks of a cluster on every device that has clusters.
pub(crate) const MAX_CLUSTER: usize = 8;
/// What a part of a polynomial must have for the bank swizzles of `spread_fft.cuh`
/// and `spread_ntt.cuh`.
const LEAST_PART: usize = 16;
/// More threads would leave too few registers for the accumulators and the key.
const MAX_THREADS: usize = 512;

/// The choice of [`PlanRequest::choices`] that fixes how many blocks share a ciphertext for every
/// batch: a power of two, or 0 for whole ciphertexts a block. Left open, each batch goes the way
/// that is faster by measurement.
pub const SPREAD: &str = "spread";
/// The choice that fixes how many values a thread holds in a pass where blocks share a ciphertext:
/// 2, 4, 8 or 16. Left open, 8 on one block or two and 4 on more.
pub const SPREAD_ITEMS: &str = "spread_items";

/// What `request` chooses under `name`.
pub(crate) fn choice(request: &PlanRequest, name: &str) -> Option<usize> {
    request.choices.get(name).map(|&value| value as usize)
}

/// What `request` chooses as [`SPREAD_ITEMS`].
pub(crate) fn spread_items(
    device: &str,
    request: &PlanRequest,
) -> Result<Option<usize>, BackendError> {
    match choice(request, SPREAD_ITEMS) {
        Some(items) if ![2, 4, 8, 16].contains(&items) => Err(BackendError::Unsupported {
            device: device.into(),
            what: format!("a plan with {SPREAD_ITEMS} = {items}"),
            why: "a thread holds 2, 4, 8 or 16 values in a pass".into(),
        }),
        chosen => Ok(chosen),
    }
}

/// One ciphertext on the blocks of a cluster, in the terms of `cuda/bootstrap/spread.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadPlan {
    /// Blocks that share one ciphertext.
    pub blocks: usize,
    /// Values that a thread holds in a pass of the transform.
    pub items: usize,
    /// Key entries that a thread has in flight.
    pub key_ring: usize,
}

impl CudaPlan {
    /// Plans `shape` with one ciphertext on several blocks; `cluster` is what the device allows in
    /// a cluster (1: no clusters).
    ///
    /// # Errors
    /// As [`CudaPlan::new`].
    pub fn spread(
        device: &str,
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        cluster: usize,
        request: &PlanRequest,
    ) -> Result<Self, BackendError> {
        shape.validate()?;
        refuse_unsupported(device, shape, transform, request)?;
        let fits = |reason: DoesNotFit| BackendError::DoesNotFit { device: device.into(), reason };
        let unsupported = |blocks: usize, why: String| BackendError::Unsupported {
            device: device.into(),
            what: format!("a ciphertext over {blocks} blocks"),
            why,
        };
        let geometry = Geometry::new(shape, transform);
        let most = (geometry.points / LEAST_PART).min(cluster);
        let items = spread_items(device, request)?;
        let packed = packs(shape, transform, request);
        let mut plan = match choice(request, SPREAD) {
            Some(blocks) if !blocks.is_power_of_two() || blocks > most => Err(unsupported(
                blocks,
                format!(
                    "{transform} of N = {} goes over a power of two up to {most}",
                    shape.polynomial_size
                ),
            )),
            Some(blocks) => {
                Self::over(shape, transform, limits, blocks, items, packed).map_err(fits)
            }
            None => {
                // The most: an H200 ran all sets faster on eight blocks than on four.
                let none = Err(DoesNotFit::Transform {
                    transform,
                    why: "the ring is too small to be spread".into(),
                });
                let over =
                    |blocks: &usize| Self::over(shape, transform, limits, *blocks, items, packed);
                let largest_first = [8, 4, 2, 1].iter().filter(|&&b| b <= most);
                largest_first
                    .map(over)
                    .fold(none, |best, plan| if best.is_ok() { best } else { plan })
                    .map_err(fits)
            }
        }?;
        for (name, &value) in request
            .choices
            .iter()
            .filter(|(name, _)| ![SPREAD, SPREAD_ITEMS].contains(&name.as_str()))
        {
            if !["tiled", "packed"].contains(&name.as_str()) {
                return Err(BackendError::Unsupported {
                    device: device.into(),
                    what: format!("a ciphertext over blocks with {name} = {value}"),
                    why: "this choice belongs to whole ciphertexts a block; ask for spread = 0 as \
                          well"
                        .into(),
                });
            }
            plan.choose(device, shape, name, value as usize)?;
        }
        Ok(plan)
    }

    fn over(
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        blocks: usize,
        items: Option<usize>,
        packed: bool,
    ) -> Result<Self, DoesNotFit> {
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
        let threads = products
            .max(if orbits > 256 { 0 } else { orbits })
            .clamp(128, MAX_THREADS)
            .next_multiple_of(step);
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
        let (stages, stage_pairs) = key_switch_stages(shape, limits);
        Ok(Self {
            transform,
            groups: 1,
            threads,
            blocks_per_multiprocessor: 1,
            shared_bytes: needed,
            key_switch_threads: key_switch_threads(shape),
            key_switch_stages: stages,
            key_switch_stage_pairs: stage_pairs,
            key_switch_tiled_from: key_switch_tiled_from(shape),
            multiprocessors: limits.multiprocessors,
            pace: 1,
            prefetch_steps: 4,
            prefetch_blocks: 1,
            key_ring: 0,
            packed,
            gaps: false,
            defer_cosines: false,
            join_levels: false,
            tail: false,
            spread: Some(SpreadPlan {
                blocks,
                items,
                key_ring: key_ring(shape, transform, blocks, threads, packed),
            }),
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

/// Key entries in flight: as many as registers allow beside accumulators and a pass, and a divisor
/// of those of a step.
fn key_ring(
    shape: &BootstrapShape,
    transform: Transform,
    blocks: usize,
    threads: usize,
    packed: bool,
) -> usize {
    let geometry = &Geometry::new(shape, transform);
    let part = geometry.points / blocks;
    let (items, entries, coefficients, working) = match transform {
        Transform::Fft => (
            shape.columns() * part,
            shape.levels() * shape.columns() * shape.ggsw_per_step(),
            2 * blocks,
            80,
        ),
        Transform::Ntt => {
            let quad = geometry.tail.min(4);
            let chunks = (shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail)
                .div_ceil(4);
            (
                geometry.words * shape.columns() * part / quad,
                chunks / (geometry.tail / quad),
                blocks,
                80,
            )
        }
    };
    let turn = items.div_ceil(threads) * entries;
    // ORBIT_ROUNDS of cuda/bootstrap/spread.cuh.
    let orbits = shape.columns() * part / blocks;
    let accumulators = orbits.div_ceil(threads) * coefficients * geometry.held_bytes / 4;
    let registers = (65_536 / threads).min(255);
    let most = (registers.saturating_sub(accumulators + working) / 4).clamp(2, 24);
    (1..=most).rev().find(|r| turn.is_multiple_of(*r) && !(packed && r % 2 == 1)).unwrap_or(1)
}
