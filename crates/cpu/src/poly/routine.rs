//! A schedule made ready: checked, its limbs numbered, its constants prepared.
//!
//! The kernels reach limbs without locks. What makes that sound is checked here: no launch writes a
//! limb that it reads, or one twice. (That places of a call do not overlap
//! is checked when it runs.)

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use girih_backend::poly::schedule::{
    Form, Launch, Limb, Load, RowSum, RowTerm, RowTile, Source, Store,
};
use girih_backend::poly::{ResidentShape, Schedule, View};
use girih_backend::{BackendError, Result};
use girih_ring::Automorphism;
use girih_ring::fft::Simd;

use super::Prime;
use super::columns::ColumnWork;
use super::memory::Layout;
use super::pointwise::PointwiseWork;
use super::rows::{RowStore, RowSumWork, RowWork, StoredAutomorphism};
use super::sums::{Moved, Operand, Product, Products, RowLoad};

/// Rows that a row task asks for ahead of time: 256 KiB.
const AHEAD: usize = 64;

/// The tiles of a launch.
pub(super) enum Work {
    Rows(Vec<RowWork>),
    Columns(Vec<ColumnWork>),
    Pointwise(Vec<PointwiseWork>),
}

/// A schedule made ready.
pub(super) struct Routine {
    pub(super) launches: Vec<Work>,
    /// What the limb numbers of the tiles mean.
    pub(super) limbs: Vec<Limb>,
    /// Limbs of the arena.
    pub(super) arena_limbs: usize,
    /// For each value kept, the numbers of its limbs.
    pub(super) kept: Vec<Vec<u32>>,
    /// Scratch words of a task at most.
    pub(super) scratch_words: usize,
}

impl Work {
    /// How many tasks.
    pub(super) fn tasks(&self, layout: Layout) -> usize {
        match self {
            Self::Rows(tiles) => tiles.len() * layout.rows,
            Self::Pointwise(tiles) => tiles.len() * layout.rows,
            Self::Columns(tiles) => tiles.iter().map(|t| layout.row_len / t.width).sum(),
        }
    }

    fn scratch_words(&self, layout: Layout) -> usize {
        let rows = |rows: Option<usize>| rows.unwrap_or(0) * layout.row_len;
        match self {
            Self::Rows(tiles) => rows(tiles.iter().map(RowWork::scratch_rows).max()),
            Self::Pointwise(tiles) => rows(tiles.iter().map(PointwiseWork::scratch_rows).max()),
            Self::Columns(tiles) => {
                let words = |t: &ColumnWork| t.scratch_slots() * layout.rows * t.width;
                tiles.iter().map(words).max().unwrap_or(0)
            }
        }
    }
}

/// What preparing needs to know of the device.
pub(super) struct Preparer<'a> {
    pub(super) layout: Layout,
    pub(super) simd: Simd,
    pub(super) primes: &'a [Arc<Prime>],
    /// Of the schedule's resident polynomials, by slot.
    pub(super) residents: &'a [ResidentShape],
    /// Limbs of the arena.
    pub(super) arena: usize,
    pub(super) automorphisms: &'a mut HashMap<u32, Arc<Automorphism>>,
}

fn refuse(why: String) -> BackendError {
    BackendError::InvalidRequest(why)
}

/// Numbers limbs; and what one launch reads and writes.
#[derive(Default)]
pub(super) struct Numbering {
    numbers: HashMap<Limb, u32>,
    limbs: Vec<Limb>,
    read: HashSet<u32>,
    written: HashSet<u32>,
}

impl Numbering {
    fn number(&mut self, limb: Limb) -> u32 {
        *self.numbers.entry(limb).or_insert_with(|| {
            self.limbs.push(limb);
            self.limbs.len() as u32 - 1
        })
    }

    /// The number of a limb that the launch reads.
    pub(super) fn read(&mut self, limb: Limb) -> u32 {
        let number = self.number(limb);
        self.read.insert(number);
        number
    }
}

impl Preparer<'_> {
    pub(super) fn prepare(mut self, schedule: &Schedule) -> Result<Routine> {
        let mut numbering = Numbering::default();
        let mut launches = Vec::with_capacity(schedule.launches.len());
        for (number, launch) in schedule.launches.iter().enumerate() {
            numbering.read.clear();
            numbering.written.clear();
            let work = self.launch(launch, &mut numbering);
            launches.push(
                work.map_err(|why| refuse(format!("launch {number}, {}: {why}", launch.kernel())))?,
            );
        }
        let mut kept = Vec::with_capacity(schedule.kept.len());
        for (value, limbs) in &schedule.kept {
            let mut numbers = Vec::with_capacity(limbs.len());
            for &limb in limbs {
                self.check_limb(limb)
                    .map_err(|why| refuse(format!("kept value {}: {why}", value.index())))?;
                numbers.push(numbering.number(limb));
            }
            kept.push(numbers);
        }
        let scratch = launches.iter().map(|work| work.scratch_words(self.layout)).max();
        Ok(Routine {
            scratch_words: scratch.unwrap_or(0),
            launches,
            limbs: numbering.limbs,
            arena_limbs: schedule.arena_limbs,
            kept,
        })
    }

    fn launch(&mut self, launch: &Launch, numbering: &mut Numbering) -> Result<Work, String> {
        let work = match launch {
            Launch::Rows(tiles) => {
                let tiles = tiles.iter().map(|tile| self.rows(tile, numbering));
                Work::Rows(tiles.collect::<Result<_, _>>()?)
            }
            Launch::Pointwise(tiles) => {
                let tiles = tiles.iter().map(|tile| self.pointwise(tile, numbering));
                Work::Pointwise(tiles.collect::<Result<_, _>>()?)
            }
            Launch::Columns(tiles) => {
                let tiles = tiles.iter().map(|tile| self.columns(tile, numbering));
                Work::Columns(tiles.collect::<Result<_, _>>()?)
            }
        };
        match numbering.written.intersection(&numbering.read).next() {
            Some(&limb) => Err(format!("{:?} is read and written", numbering.limbs[limb as usize])),
            None => Ok(work),
        }
    }

    fn rows(&mut self, tile: &RowTile, numbering: &mut Numbering) -> Result<RowWork, String> {
        let prime = self.prime(tile.prime)?;
        let loads = self.loads(tile, numbering)?;
        let mut sums = Vec::with_capacity(tile.sums.len());
        for (number, sum) in tile.sums.iter().enumerate() {
            let products = self.products(tile, number, &prime, numbering)?;
            let mut stores = Vec::with_capacity(sum.stores.len());
            for store in &sum.stores {
                if store.form == Form::Coefficients {
                    return Err("rows cannot store coefficients".into());
                }
                let automorphism = match store.automorphism {
                    1 => None,
                    g => {
                        let forward = self.automorphism(g)?;
                        let inverse = self.automorphism(forward.inverse().exponent() as u32)?;
                        Some(StoredAutomorphism { forward, inverse })
                    }
                };
                let limb = self.store(store, numbering)?;
                stores.push(RowStore { limb, half: store.form == Form::Half, automorphism });
            }
            let slot = tile.loads.len() + number;
            let read_later = tile.sums[number + 1..].iter().any(|sum| reads(sum, slot));
            let in_place = !read_later && stores.len() == 1 && stores[0].automorphism.is_none();
            sums.push(RowSumWork { products, stores, in_place });
        }
        Ok(RowWork { prime, loads, sums, most_ahead: AHEAD })
    }

    fn pointwise(
        &mut self,
        tile: &RowTile,
        numbering: &mut Numbering,
    ) -> Result<PointwiseWork, String> {
        let prime = self.prime(tile.prime)?;
        let loads = self.loads(tile, numbering)?;
        let mut sums = Vec::with_capacity(tile.sums.len());
        for (number, sum) in tile.sums.iter().enumerate() {
            let products = self.products(tile, number, &prime, numbering)?;
            let mut stores = Vec::with_capacity(sum.stores.len());
            for store in &sum.stores {
                if store.form != Form::Evaluations || store.automorphism != 1 {
                    return Err(format!("{store:?}: words are stored as they are"));
                }
                stores.push(self.store(store, numbering)?);
            }
            sums.push((products, stores));
        }
        if loads.iter().any(|load| load.half) {
            return Err("a load that is half transformed".into());
        }
        Ok(PointwiseWork { prime, loads, sums })
    }

    fn loads(&mut self, tile: &RowTile, numbering: &mut Numbering) -> Result<Vec<RowLoad>, String> {
        tile.loads.iter().map(|load| self.row_load(load, numbering)).collect()
    }

    fn row_load(&mut self, load: &Load, numbering: &mut Numbering) -> Result<RowLoad, String> {
        let half = load.form == Form::Half;
        if load.form == Form::Coefficients {
            return Err("rows cannot load coefficients".into());
        }
        if half && load.automorphism != 1 {
            return Err("an automorphism of what is half transformed".into());
        }
        let log2_run = self.check_limb(load.from)?;
        if half && matches!(load.from, Limb::Resident { .. } | Limb::Input { .. }) {
            return Err(format!("{:?} is never half transformed", load.from));
        }
        let moved = match (load.automorphism, View::of_code(load.automorphism)) {
            (1, _) => Moved::Nothing,
            (_, Some(view)) => Moved::View(view),
            (g, None) => Moved::Automorphism(self.automorphism(g)?),
        };
        let limb = numbering.read(load.from);
        Ok(RowLoad { limb, log2_run, half, moved })
    }

    pub(super) fn store(
        &mut self,
        store: &Store,
        numbering: &mut Numbering,
    ) -> Result<u32, String> {
        self.check_limb(store.to)?;
        if matches!(store.to, Limb::Input { .. } | Limb::Resident { .. }) {
            return Err(format!("{:?} cannot be written", store.to));
        }
        let limb = numbering.number(store.to);
        match numbering.written.insert(limb) {
            true => Ok(limb),
            false => Err(format!("{:?} is written twice", store.to)),
        }
    }

    /// The products of sum `number` of a tile.
    fn products(
        &mut self,
        tile: &RowTile,
        number: usize,
        prime: &Prime,
        numbering: &mut Numbering,
    ) -> Result<Products, String> {
        let modulus = prime.ntt.modulus();
        let slots = tile.loads.len() + number;
        let mut out = Products { constant: [0; 2], products: Vec::new(), halves_differ: false };
        for RowTerm { factor, a, b } in &tile.sums[number].terms {
            if factor.iter().any(|&f| f >= modulus.value()) {
                return Err(format!("factor {factor:?} is not canonical"));
            }
            out.halves_differ |= factor[0] != factor[1];
            let mut operand = |source: &Source| match source {
                Source::Slot(slot) if usize::from(*slot) < slots => {
                    Ok(Operand::Slot(usize::from(*slot)))
                }
                Source::Slot(slot) => Err(format!("slot {slot} is read before it is filled")),
                Source::Stream(load) if load.form != Form::Evaluations => {
                    Err("only evaluations can be streamed".to_owned())
                }
                Source::Stream(load) => self.row_load(load, numbering).map(Operand::Stream),
            };
            match (a, b) {
                (None, None) => {
                    for (constant, &f) in out.constant.iter_mut().zip(factor) {
                        *constant = modulus.add(*constant, f);
                    }
                }
                (None, Some(_)) => return Err("a second operand without a first".into()),
                (Some(a), b) => {
                    let a = operand(a)?;
                    let b = b.as_ref().map(&mut operand).transpose()?;
                    let factor = factor.map(|f| modulus.shoup(f));
                    out.products.push(Product { factor, a, b });
                }
            }
        }
        Ok(out)
    }

    pub(super) fn prime(&self, prime: u16) -> Result<Arc<Prime>, String> {
        let known = self.primes.get(usize::from(prime)).cloned();
        known.ok_or_else(|| format!("prime {prime} of a ring of {}", self.primes.len()))
    }

    fn automorphism(&mut self, g: u32) -> Result<Arc<Automorphism>, String> {
        if let Some(known) = self.automorphisms.get(&g) {
            return Ok(known.clone());
        }
        let size = self.layout.rows * self.layout.row_len;
        let new = Automorphism::new(size, g as usize).map_err(|e| e.to_string())?;
        let new = Arc::new(new.with_simd(self.simd));
        self.automorphisms.insert(g, new.clone());
        Ok(new)
    }

    /// Whether the limb is in range as far as the schedule says; log2 of the words that one of its
    /// words stands for.
    pub(super) fn check_limb(&self, limb: Limb) -> Result<u32, String> {
        match limb {
            Limb::Arena(number) if number as usize >= self.arena => {
                Err(format!("limb {number} of an arena of {}", self.arena))
            }
            Limb::Resident { slot, limb: number } => match self.residents.get(slot as usize) {
                Some(shape) if usize::from(number) < shape.basis.len() => Ok(shape.log2_run),
                _ => Err(format!("there is no {limb:?}")),
            },
            _ => Ok(0),
        }
    }
}

/// Whether a sum reads a slot.
fn reads(sum: &RowSum, slot: usize) -> bool {
    let reads = |source: &Option<Source>| match source {
        Some(Source::Slot(s)) => usize::from(*s) == slot,
        _ => false,
    };
    sum.terms.iter().any(|term| reads(&term.a) || reads(&term.b))
}
