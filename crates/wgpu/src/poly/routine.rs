//! A schedule as records: limbs numbered, slots given, tiles of every launch one after the other.

use crate::poly::column_records::ColumnEncoder;
use crate::poly::kernels::{PolyBuild, PolyKernel};
use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::row_records::RowEncoder;
use crate::poly::tables::Primes;
use crate::poly::{LOG2_DEGREES, log2_row};
use girih_backend::poly::schedule::{Launch, Limb, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use girih_backend::{BackendError, Result};

/// A launch ready to be dispatched.
pub(crate) struct ReadyLaunch {
    pub kernel: PolyKernel,
    /// Slots of a thread that its kernel is built with: one build for all tiles, since dispatches
    /// one after the other leave more of a GPU idle than slots cost that some do not need.
    pub slots: usize,
    /// Workgroups of a tile.
    pub groups: u32,
    pub tiles: Vec<ReadyTile>,
}

/// A schedule made ready.
pub(crate) struct Ready {
    pub records: Vec<Record>,
    pub launches: Vec<ReadyLaunch>,
    /// What the numbers of limbs mean.
    pub limbs: Vec<Limb>,
    /// The words of each.
    pub limb_words: Vec<u32>,
    pub arena_limbs: usize,
    /// The limbs that are kept, those of the first value first.
    pub kept: Vec<u32>,
}

/// Makes `schedule` ready for builds like `build`; `residents` are the shapes of its resident
/// polynomials, by slot.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming launch and rule, for a schedule that breaks one.
pub(crate) fn ready(
    ring: &RingShape,
    build: &PolyBuild,
    primes: &Primes,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Ready> {
    debug_assert!(LOG2_DEGREES.contains(&ring.log2_degree), "the ring was checked");
    let log2_degree = ring.log2_degree;
    let mut limbs = Limbs::new(ring.degree(), schedule.arena_limbs, residents);
    let mut records = Vec::new();
    let mut launches = Vec::with_capacity(schedule.launches.len());
    let rows = 1 << (log2_degree - log2_row(log2_degree));
    for (number, launch) in schedule.launches.iter().enumerate() {
        let (kernel, tiles) = match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                let transforms = matches!(launch, Launch::Rows(_));
                let encoder = RowEncoder { primes, log2_degree, transforms };
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                let kernel = if transforms { PolyKernel::Rows } else { PolyKernel::Pointwise };
                (kernel, tiles.collect::<Result<Vec<_>, String>>())
            }
            Launch::Columns(tiles) => {
                let encoder = ColumnEncoder { primes };
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                (PolyKernel::Columns, tiles.collect())
            }
        };
        let tiles = tiles.map_err(|why| {
            BackendError::InvalidRequest(format!("launch {number}, {}: {why}", launch.kernel()))
        })?;
        let slots = build.slots_for(tiles.iter().map(|tile| tile.slots).max().unwrap_or(0));
        // A limb has as many rows as it has groups of columns.
        launches.push(ReadyLaunch { kernel, slots, groups: rows, tiles });
    }
    let mut kept = Vec::new();
    for (value, of) in &schedule.kept {
        for &limb in of {
            let (number, _) = limbs.read(limb).map_err(|why| {
                BackendError::InvalidRequest(format!("kept value {}: {why}", value.index()))
            })?;
            kept.push(number);
        }
    }
    Ok(Ready {
        records,
        launches,
        limbs: limbs.all,
        limb_words: limbs.words,
        arena_limbs: schedule.arena_limbs,
        kept,
    })
}

impl Ready {
    /// The slots of every kernel that it needs.
    pub fn builds(&self) -> Vec<(PolyKernel, usize)> {
        let mut all: Vec<_> = self.launches.iter().map(|l| (l.kernel, l.slots)).collect();
        all.sort_unstable_by_key(|&(kernel, slots)| (kernel.name(), slots));
        all.dedup();
        all
    }
}
