//! A schedule as records: limbs numbered, slots given, tiles of every launch one after the other.

use crate::poly::column_records::ColumnEncoder;
use crate::poly::kernels::{PolyBuild, PolyKernel};
use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::row_records::{RowEncoder, has_views};
use crate::poly::tables::Primes;
use crate::poly::{LOG2_DEGREES, log2_row};
use girih_backend::poly::schedule::{ColumnTile, Launch, Limb, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use girih_backend::{BackendError, Result};

/// A launch ready to be dispatched.
pub(crate) struct ReadyLaunch {
    pub kernel: PolyKernel,
    /// Whether its kernel is built for the conjugation-invariant ring.
    pub invariant: bool,
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
        let mut invariant = Vec::new();
        let (kernel, tiles) = match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                let transforms = matches!(launch, Launch::Rows(_));
                let encoder = RowEncoder { primes, log2_degree, transforms };
                // Kernels that know views know all else as well: they run the whole launch.
                invariant = vec![tiles.iter().any(has_views); tiles.len()];
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                let kernel = if transforms { PolyKernel::Rows } else { PolyKernel::Pointwise };
                (kernel, tiles.collect::<Result<Vec<_>, String>>())
            }
            Launch::Columns(tiles) => {
                let encoder = ColumnEncoder { primes };
                let is_invariant =
                    |tile: &ColumnTile| tile.sums.iter().any(|s| ring.is_invariant(s.prime));
                invariant.extend(tiles.iter().map(is_invariant));
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                (PolyKernel::Columns, tiles.collect())
            }
        };
        let tiles = tiles.map_err(|why| {
            BackendError::InvalidRequest(format!("launch {number}, {}: {why}", launch.kernel()))
        })?;
        let (ours, others): (Vec<_>, Vec<_>) =
            invariant.into_iter().zip(tiles).partition(|&(invariant, _)| !invariant);
        for (invariant, tiles) in [(false, ours), (true, others)] {
            let tiles: Vec<ReadyTile> = tiles.into_iter().map(|(_, tile)| tile).collect();
            if tiles.is_empty() {
                continue;
            }
            let slots = build.slots_for(tiles.iter().map(|tile| tile.slots).max().unwrap_or(0));
            // A limb has as many rows as it has groups of columns.
            launches.push(ReadyLaunch { kernel, invariant, slots, groups: rows, tiles });
        }
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
    /// Every kernel that it needs, whether for the conjugation-invariant ring, and its slots.
    pub fn builds(&self) -> Vec<(PolyKernel, bool, usize)> {
        let build = |l: &ReadyLaunch| (l.kernel, l.invariant, l.slots);
        let mut all: Vec<_> = self.launches.iter().map(build).collect();
        all.sort_unstable_by_key(|&(kernel, invariant, slots)| (kernel.name(), invariant, slots));
        all.dedup();
        all
    }
}
