//! A schedule as records: limbs numbered, slots given, tiles of every launch one after the other.

use crate::poly::columns::ColumnEncoder;
use crate::poly::kernels::{PolyBuild, PolyKernel};
use crate::poly::rows::RowEncoder;
use crate::poly::tables::Tables;
use crate::poly::{LOG2_DEGREES, log2_row};
use girih_backend::BackendError;
use girih_backend::poly::schedule::{Launch, Limb, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use std::collections::HashMap;

/// A vector of a routine's records.
pub(crate) type Record = [u32; 4];

/// A tile in the records.
pub(crate) struct ReadyTile {
    /// Its first record.
    pub first: u32,
    /// Slots of a thread that it fills at most.
    pub slots: usize,
    /// The numbers of its limbs, ascending.
    pub limbs: Vec<u32>,
    /// Those that it writes, ascending.
    pub written: Vec<u32>,
}

impl ReadyTile {
    /// Whether it writes a limb.
    pub fn writes(&self, limb: u32) -> bool {
        self.written.binary_search(&limb).is_ok()
    }
}

/// A launch ready to be dispatched.
pub(crate) struct ReadyLaunch {
    pub kernel: PolyKernel,
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

/// The limbs of a schedule, numbered as they come; and those that one tile names.
pub(crate) struct Limbs<'a> {
    residents: &'a [ResidentShape],
    arena: usize,
    numbers: HashMap<Limb, u32>,
    all: Vec<Limb>,
    words: Vec<u32>,
    degree: u32,
    of_tile: Vec<u32>,
    written: Vec<u32>,
}

impl Limbs<'_> {
    pub fn begin_tile(&mut self) {
        self.of_tile.clear();
        self.written.clear();
    }

    /// A tile of the limbs named since `begin_tile`.
    pub fn tile(&mut self, first: usize, slots: usize) -> ReadyTile {
        let sorted = |limbs: &mut Vec<u32>| {
            limbs.sort_unstable();
            limbs.dedup();
            limbs.clone()
        };
        let (limbs, written) = (sorted(&mut self.of_tile), sorted(&mut self.written));
        ReadyTile { first: first as u32, slots, limbs, written }
    }

    /// The number of a limb that is read, and log2 of the words that one of its words stands for.
    pub fn read(&mut self, limb: Limb) -> Result<(u32, u32), String> {
        let log2_run = match limb {
            Limb::Arena(number) if number as usize >= self.arena => {
                return Err(format!("limb {number} of an arena of {}", self.arena));
            }
            Limb::Resident { slot, limb: number } => match self.residents.get(slot as usize) {
                Some(shape) if usize::from(number) < shape.basis.len() => shape.log2_run,
                _ => return Err(format!("there is no {limb:?}")),
            },
            _ => 0,
        };
        let number = *self.numbers.entry(limb).or_insert_with(|| {
            self.all.push(limb);
            self.words.push(self.degree >> log2_run);
            self.all.len() as u32 - 1
        });
        self.of_tile.push(number);
        Ok((number, log2_run))
    }

    /// The number of a limb that is written.
    pub fn write(&mut self, limb: Limb) -> Result<u32, String> {
        if matches!(limb, Limb::Input { .. } | Limb::Resident { .. }) {
            return Err(format!("{limb:?} cannot be written"));
        }
        let (number, _) = self.read(limb)?;
        self.written.push(number);
        Ok(number)
    }
}

/// Makes `schedule` ready; `residents` are the shapes of its resident polynomials, by slot.
///
/// # Errors
/// [`BackendError::InvalidRequest`] naming launch and rule, for a schedule that breaks one.
pub(crate) fn ready(
    ring: &RingShape,
    tables: &Tables,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Ready, BackendError> {
    debug_assert!(LOG2_DEGREES.contains(&ring.log2_degree), "the ring was checked");
    let log2_degree = ring.log2_degree;
    let mut limbs = Limbs {
        residents,
        arena: schedule.arena_limbs,
        numbers: HashMap::new(),
        all: Vec::new(),
        words: Vec::new(),
        degree: 1 << log2_degree,
        of_tile: Vec::new(),
        written: Vec::new(),
    };
    let mut records = Vec::new();
    let mut launches = Vec::with_capacity(schedule.launches.len());
    let rows = 1 << (log2_degree - log2_row(log2_degree));
    for (number, launch) in schedule.launches.iter().enumerate() {
        let (kernel, tiles) = match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                let transforms = matches!(launch, Launch::Rows(_));
                let encoder = RowEncoder { tables, log2_degree, transforms };
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                let kernel = if transforms { PolyKernel::Rows } else { PolyKernel::Pointwise };
                (kernel, tiles.collect::<Result<Vec<_>, String>>())
            }
            Launch::Columns(tiles) => {
                let encoder = ColumnEncoder { tables };
                let tiles = tiles.iter().map(|t| encoder.tile(t, &mut limbs, &mut records));
                (PolyKernel::Columns, tiles.collect())
            }
        };
        let tiles = tiles.map_err(|why| {
            BackendError::InvalidRequest(format!("launch {number}, {}: {why}", launch.kernel()))
        })?;
        // A limb has as many rows as it has groups of columns.
        launches.push(ReadyLaunch { kernel, groups: rows, tiles });
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
        let tiles = self.launches.iter().flat_map(|launch| {
            launch.tiles.iter().map(|tile| (launch.kernel, PolyBuild::slots_for(tile.slots)))
        });
        let mut all: Vec<_> = tiles.collect();
        all.sort_unstable_by_key(|&(kernel, slots)| (kernel.name(), slots));
        all.dedup();
        all
    }
}
