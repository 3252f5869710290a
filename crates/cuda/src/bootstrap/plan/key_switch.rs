//! How the key switch behind a rotation is cut into blocks.

use crate::bootstrap::layout::{ks_sum_bytes, ks_word_bytes};
use girih_backend::{BootstrapShape, DeviceLimits};

/// Threads of a block of `key_switch_tiled`.
pub(crate) const KEY_SWITCH_TILE_THREADS: usize = 512;
/// Columns of a tile: four words for each lane of a warp.
const KEY_SWITCH_TILE_COLUMNS: usize = 128;
/// Indices whose digits `key_switch_tiled` takes apart at once.
const KEY_SWITCH_TILE_CHUNK: usize = 8;
/// Largest base whose rows a tile of ciphertexts shares by default: all of a digit's rows are read
/// for each tile.
const KEY_SWITCH_TILE_BASE: usize = 64;

/// What of the key switch is fixed when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySwitchPlan {
    /// Threads of a block of `key_switch`, on the torus of `round_torus`.
    pub threads: usize,
    /// Stages of `key_switch_tiled` in shared memory at once (0: never launched).
    pub stages: usize,
    /// Digits whose rows make one stage.
    pub stage_pairs: usize,
    /// Ciphertexts from which `key_switch_tiled` is launched.
    pub tiled_from: usize,
}

impl KeySwitchPlan {
    /// The plan of `shape` within `limits`.
    pub(crate) fn new(shape: &BootstrapShape, limits: &DeviceLimits) -> Self {
        let (stages, stage_pairs) = stages(shape, limits);
        Self { threads: threads(shape), stages, stage_pairs, tiled_from: tiled_from(shape) }
    }

    /// Bytes of shared memory of `key_switch_tiled`; 0 where it is never launched.
    pub(crate) fn tile_bytes(&self, shape: &BootstrapShape) -> usize {
        if self.stages == 0 { 0 } else { tile_bytes(shape, self.stages * self.stage_pairs) }
    }
}

/// Threads of a block of the key switch, on the torus of its rounding: four words each.
fn threads(shape: &BootstrapShape) -> usize {
    let most = if shape.is_torus() { 256 } else { 384 };
    shape.switched_len().div_ceil(4).next_multiple_of(32).clamp(64, most)
}

/// Ciphertexts of one tile of `key_switch_tiled`: `OWN` for each warp.
fn tile_ciphertexts(shape: &BootstrapShape) -> usize {
    KEY_SWITCH_TILE_THREADS / 32 * if ks_word_bytes(shape) == 5 { 8 } else { 16 }
}

/// Tiles of `key_switch_tiled` for so many ciphertexts: the last columns of a row share tiles of
/// more of them where half or a quarter of the lanes of a warp holds these (`LAST_LANES`).
fn tiles(shape: &BootstrapShape, jobs: usize) -> usize {
    let (whole, last) = (
        shape.switched_len() / KEY_SWITCH_TILE_COLUMNS,
        shape.switched_len() % KEY_SWITCH_TILE_COLUMNS,
    );
    let tile = tile_ciphertexts(shape);
    let of_last = match last {
        0 => 0,
        _ if last <= KEY_SWITCH_TILE_COLUMNS / 4 => jobs.div_ceil(4 * tile),
        _ if last <= KEY_SWITCH_TILE_COLUMNS / 2 => jobs.div_ceil(2 * tile),
        _ => jobs.div_ceil(tile),
    };
    jobs.div_ceil(tile) * whole + of_last
}

/// Bytes of shared memory of `key_switch_tiled` that holds the rows of so many digits.
fn tile_bytes(shape: &BootstrapShape, pairs: usize) -> usize {
    let digits = KEY_SWITCH_TILE_CHUNK * shape.ks_digits() * tile_ciphertexts(shape) * 4;
    pairs * shape.ks_base() * KEY_SWITCH_TILE_COLUMNS * ks_word_bytes(shape) + digits
}

/// Stages of `key_switch_tiled` and digits a stage: three or four of two digits, which are added in
/// fewer instructions, else three or more of one. No stage where fewer fit, and none on the torus,
/// which has a key switch of its own.
fn stages(shape: &BootstrapShape, limits: &DeviceLimits) -> (usize, usize) {
    if shape.is_torus() {
        return (0, 1);
    }
    let fits = |&(stages, pairs): &(usize, usize)| {
        tile_bytes(shape, stages * pairs) <= limits.workgroup_memory_bytes
    };
    [(4, 2), (3, 2), (5, 1), (4, 1), (3, 1)].into_iter().find(fits).unwrap_or((0, 1))
}

/// Least ciphertexts that go by tiles: a tile costs the same however few it has.
fn tiled_from(shape: &BootstrapShape) -> usize {
    if shape.ks_base() > KEY_SWITCH_TILE_BASE { usize::MAX } else { tile_ciphertexts(shape) / 2 }
}

/// How one key switch of some ciphertexts is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySwitchLaunch {
    /// `key_switch_tiled` instead of `key_switch`.
    pub tiled: bool,
    /// Blocks among which the indices of a ciphertext, or of a tile, are divided.
    pub parts: usize,
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
    /// Bytes of the sums that its blocks add up in memory; 0 where none share any.
    pub sums_bytes: usize,
}

impl KeySwitchLaunch {
    /// Of `jobs` ciphertexts on a device of so many multiprocessors.
    pub fn new(
        shape: &BootstrapShape,
        plan: &KeySwitchPlan,
        multiprocessors: usize,
        jobs: usize,
    ) -> Self {
        let sums_bytes = jobs * shape.ciphertext_len() * ks_sum_bytes(shape);
        if plan.stages > 0 && jobs >= plan.tiled_from {
            let tiles = tiles(shape, jobs);
            let waves = |blocks: usize| blocks.div_ceil(multiprocessors);
            let parts = (1..=8).min_by_key(|&p| waves(tiles * p) * 840 / p + 4 * p).unwrap_or(1);
            return Self {
                tiled: true,
                parts,
                blocks: tiles * parts,
                threads: KEY_SWITCH_TILE_THREADS,
                shared_bytes: plan.tile_bytes(shape),
                sums_bytes,
            };
        }
        // Four blocks a multiprocessor, each with at least two rounds of rows.
        let most = shape.ks_indices() * shape.ks_digits() / 32;
        let parts = (4 * multiprocessors / jobs.max(1)).clamp(1, most.max(1));
        Self {
            tiled: false,
            parts,
            blocks: jobs * parts,
            threads: plan.threads,
            shared_bytes: 0,
            sums_bytes: if parts > 1 { sums_bytes } else { 0 },
        }
    }
}
