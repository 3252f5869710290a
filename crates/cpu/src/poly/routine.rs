//! A schedule made ready: checked, its limbs numbered, its constants prepared.
//!
//! The kernels reach limbs without locks. What makes that sound is checked here: no launch writes a
//! limb that it reads, or one twice. (That places of a call do not overlap
//! is checked when it runs.)

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use girih_backend::BackendError;
use girih_backend::poly::schedule::{
    ColumnTerm, ColumnTile, Form, Launch, Limb, Load, RowSum, RowTerm, RowTile, Source, Store,
};
use girih_backend::poly::{ResidentShape, Schedule};
use girih_ring::fft::Simd;
use girih_ring::{Automorphism, BaseConversion, Formula, RnsBasis};

use super::Prime;
use super::columns::{
    ColumnLoad, ColumnStore, ColumnSumWork, ColumnWork, ConversionWork, Part, Place,
};
use super::pointwise::PointwiseWork;
use super::rows::{RowStore, RowSumWork, RowWork, StoredAutomorphism};
use super::sums::{Layout, Operand, Product, Products, RowLoad};

/// Scratch words of a column task that the second-level cache holds beside what streams through it.
const COLUMN_WORDS: usize = 1 << 18;

/// Rows that a row task asks for ahead of time: 256 KiB.
const STREAMS: usize = 64;

/// Columns of a task: 64 to 256 bytes of a row.
const WIDTHS: [usize; 3] = [64, 32, 16];

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
    pub(super) automorphisms: &'a mut HashMap<u32, Arc<Automorphism>>,
}

fn refuse(why: String) -> BackendError {
    BackendError::InvalidRequest(why)
}

/// Numbers limbs; and what one launch reads and writes.
#[derive(Default)]
struct Numbering {
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
}

impl Preparer<'_> {
    pub(super) fn prepare(mut self, schedule: &Schedule) -> Result<Routine, BackendError> {
        let mut numbering = Numbering::default();
        let mut launches = Vec::with_capacity(schedule.launches.len());
        for (number, launch) in schedule.launches.iter().enumerate() {
            numbering.read.clear();
            numbering.written.clear();
            let work = self.launch(launch, schedule.arena_limbs, &mut numbering);
            launches.push(
                work.map_err(|why| refuse(format!("launch {number}, {}: {why}", launch.kernel())))?,
            );
        }
        let mut kept = Vec::with_capacity(schedule.kept.len());
        for (value, limbs) in &schedule.kept {
            let mut numbers = Vec::with_capacity(limbs.len());
            for &limb in limbs {
                self.check_limb(limb, schedule.arena_limbs)
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

    fn launch(
        &mut self,
        launch: &Launch,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<Work, String> {
        let work = match launch {
            Launch::Rows(tiles) => {
                let tiles = tiles.iter().map(|tile| self.rows(tile, arena, numbering));
                Work::Rows(tiles.collect::<Result<_, _>>()?)
            }
            Launch::Pointwise(tiles) => {
                let tiles = tiles.iter().map(|tile| self.pointwise(tile, arena, numbering));
                Work::Pointwise(tiles.collect::<Result<_, _>>()?)
            }
            Launch::Columns(tiles) => {
                let tiles = tiles.iter().map(|tile| self.columns(tile, arena, numbering));
                Work::Columns(tiles.collect::<Result<_, _>>()?)
            }
        };
        match numbering.written.intersection(&numbering.read).next() {
            Some(&limb) => Err(format!("{:?} is read and written", numbering.limbs[limb as usize])),
            None => Ok(work),
        }
    }

    fn rows(
        &mut self,
        tile: &RowTile,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<RowWork, String> {
        let prime = self.prime(tile.prime)?;
        let loads = self.loads(tile, arena, numbering)?;
        let mut sums = Vec::with_capacity(tile.sums.len());
        for (number, sum) in tile.sums.iter().enumerate() {
            let products = self.products(tile, number, &prime, arena, numbering)?;
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
                let limb = self.store(store, arena, numbering)?;
                stores.push(RowStore { limb, half: store.form == Form::Half, automorphism });
            }
            let slot = tile.loads.len() + number;
            let read_later = tile.sums[number + 1..].iter().any(|sum| reads(sum, slot));
            let in_place = !read_later && stores.len() == 1 && stores[0].automorphism.is_none();
            sums.push(RowSumWork { products, stores, in_place });
        }
        let streams = sums.iter().flat_map(|sum| sum.products.streams());
        let streams = streams.take(STREAMS).collect();
        Ok(RowWork { prime, loads, sums, streams })
    }

    fn pointwise(
        &mut self,
        tile: &RowTile,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<PointwiseWork, String> {
        let prime = self.prime(tile.prime)?;
        let loads = self.loads(tile, arena, numbering)?;
        let mut sums = Vec::with_capacity(tile.sums.len());
        for (number, sum) in tile.sums.iter().enumerate() {
            let products = self.products(tile, number, &prime, arena, numbering)?;
            let mut stores = Vec::with_capacity(sum.stores.len());
            for store in &sum.stores {
                if store.form != Form::Evaluations || store.automorphism != 1 {
                    return Err(format!("{store:?}: words are stored as they are"));
                }
                stores.push(self.store(store, arena, numbering)?);
            }
            sums.push((products, stores));
        }
        if loads.iter().any(|load| load.half) {
            return Err("a load that is half transformed".into());
        }
        Ok(PointwiseWork { prime, loads, sums })
    }

    fn loads(
        &mut self,
        tile: &RowTile,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<Vec<RowLoad>, String> {
        tile.loads.iter().map(|load| self.row_load(load, arena, numbering)).collect()
    }

    fn row_load(
        &mut self,
        load: &Load,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<RowLoad, String> {
        let half = load.form == Form::Half;
        if load.form == Form::Coefficients {
            return Err("rows cannot load coefficients".into());
        }
        if half && load.automorphism != 1 {
            return Err("an automorphism of what is half transformed".into());
        }
        let log2_run = self.check_limb(load.from, arena)?;
        if half && matches!(load.from, Limb::Resident { .. } | Limb::Input { .. }) {
            return Err(format!("{:?} is never half transformed", load.from));
        }
        let automorphism = match load.automorphism {
            1 => None,
            g => Some(self.automorphism(g)?),
        };
        let limb = numbering.number(load.from);
        numbering.read.insert(limb);
        Ok(RowLoad { limb, log2_run, half, automorphism })
    }

    fn store(
        &mut self,
        store: &Store,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<u32, String> {
        self.check_limb(store.to, arena)?;
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
        arena: usize,
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
                Source::Stream(load) => self.row_load(load, arena, numbering).map(Operand::Stream),
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

    fn columns(
        &mut self,
        tile: &ColumnTile,
        arena: usize,
        numbering: &mut Numbering,
    ) -> Result<ColumnWork, String> {
        let mut loads = Vec::with_capacity(tile.loads.len());
        // The prime of each slot.
        let mut primes = Vec::with_capacity(tile.loads.len() + tile.sums.len());
        for (prime, load) in &tile.loads {
            let half = load.form == Form::Half;
            if load.form == Form::Evaluations || load.automorphism != 1 {
                return Err(format!("{load:?}: columns load neither evaluations nor their images"));
            }
            self.check_limb(load.from, arena)?;
            let bound = matches!(load.from, Limb::Input { .. });
            if matches!(load.from, Limb::Resident { .. }) || half && bound {
                return Err(format!("{:?} cannot be loaded as {:?}", load.from, load.form));
            }
            let limb = numbering.number(load.from);
            numbering.read.insert(limb);
            loads.push(ColumnLoad { prime: self.prime(*prime)?, limb, half });
            primes.push(*prime);
        }
        let mut sums = Vec::with_capacity(tile.sums.len());
        let mut started = vec![false; tile.conversions.len()];
        let mut extra = 0;
        // For each conversion its targets: prime, factor, place.
        let mut targets = vec![Vec::new(); tile.conversions.len()];
        for (number, sum) in tile.sums.iter().enumerate() {
            let slot = loads.len() + number;
            let prime = self.prime(sum.prime)?;
            let modulus = prime.ntt.modulus();
            if sum.terms.is_empty() {
                return Err("a sum without terms".into());
            }
            let (mut terms, mut conversions) = (Vec::new(), Vec::new());
            for term in &sum.terms {
                let (ColumnTerm::Scaled { factor, .. } | ColumnTerm::Converted { factor, .. }) =
                    *term;
                if factor >= modulus.value() {
                    return Err(format!("factor {factor} is not canonical"));
                }
                match *term {
                    ColumnTerm::Scaled { slot, .. } => match primes.get(usize::from(slot)) {
                        Some(&of) if of == sum.prime => {
                            terms.push((modulus.shoup(factor), Place::Slot(slot.into())));
                        }
                        Some(of) => {
                            return Err(format!("slot {slot} of prime {of} in a sum of another"));
                        }
                        None => return Err(format!("slot {slot} is read before it is filled")),
                    },
                    ColumnTerm::Converted { conversion, .. } => {
                        let conversion = usize::from(conversion);
                        let started = started.get_mut(conversion);
                        let started = started.ok_or_else(|| {
                            format!("conversion {conversion} of {}", tile.conversions.len())
                        })?;
                        if !*started {
                            *started = true;
                            conversions.push(conversion);
                            let late = |&&s: &&u16| usize::from(s) >= slot;
                            if let Some(s) = tile.conversions[conversion].slots.iter().find(late) {
                                return Err(format!("slot {s} is converted before it is filled"));
                            }
                        }
                        let place = if sum.terms.len() == 1 {
                            Place::Slot(slot)
                        } else {
                            extra += 1;
                            terms.push((modulus.shoup(1), Place::Extra(extra - 1)));
                            Place::Extra(extra - 1)
                        };
                        targets[conversion].push((sum.prime, factor, place));
                    }
                }
            }
            let mut stores = Vec::with_capacity(sum.stores.len());
            for store in &sum.stores {
                if store.form == Form::Evaluations || store.automorphism != 1 {
                    return Err(format!("{store:?}: columns store no evaluations or images"));
                }
                let limb = self.store(store, arena, numbering)?;
                stores.push(ColumnStore { limb, half: store.form == Form::Half });
            }
            let scaled = |t: &ColumnTerm| match *t {
                ColumnTerm::Scaled { slot: s, .. } => usize::from(s) == slot,
                _ => false,
            };
            let read_later = tile.sums[number + 1..].iter().any(|s| s.terms.iter().any(scaled))
                || tile.conversions.iter().any(|c| c.slots.iter().any(|&s| usize::from(s) == slot));
            sums.push(ColumnSumWork { prime, conversions, terms, stores, read_later });
            primes.push(sum.prime);
        }
        let mut conversions = Vec::with_capacity(tile.conversions.len());
        for (conversion, targets) in tile.conversions.iter().zip(targets) {
            let formula = if conversion.corrected { Formula::Corrected } else { Formula::Plain };
            let mut sources = Vec::with_capacity(conversion.slots.len());
            for &slot in &conversion.slots {
                let prime = primes.get(usize::from(slot));
                let prime = prime.ok_or_else(|| format!("a conversion of slot {slot}"))?;
                sources.push((usize::from(slot), self.prime(*prime)?));
            }
            let parts = self.parts(&sources, targets)?;
            conversions.push(ConversionWork { formula, sources, parts });
        }
        let mut work = ColumnWork { loads, conversions, sums, extra, width: 0 };
        let fits = |&w: &usize| {
            w <= self.layout.row_len && work.scratch_slots() * self.layout.rows * w <= COLUMN_WORDS
        };
        let least = self.layout.row_len.min(WIDTHS[WIDTHS.len() - 1]);
        work.width = WIDTHS.into_iter().find(fits).unwrap_or(least);
        Ok(work)
    }

    /// Conversions to `targets` (prime, factor, place), each to different primes.
    fn parts(
        &self,
        sources: &[(usize, Arc<Prime>)],
        targets: Vec<(u16, u32, Place)>,
    ) -> Result<Vec<Part>, String> {
        let mut groups: Vec<Vec<(u16, u32, Place)>> = Vec::new();
        for target in targets {
            let free = groups.iter_mut().find(|group| group.iter().all(|t| t.0 != target.0));
            match free {
                Some(group) => group.push(target),
                None => groups.push(vec![target]),
            }
        }
        let basis = |primes: Vec<u32>| RnsBasis::new(&primes).map_err(|e| e.to_string());
        let value = |prime: &Prime| prime.ntt.modulus().value();
        let from = basis(sources.iter().map(|(_, prime)| value(prime)).collect())?;
        let mut parts = Vec::with_capacity(groups.len());
        for group in groups {
            let to = basis(group.iter().map(|t| value(&self.primes[usize::from(t.0)])).collect())?;
            let factors: Vec<u32> = group.iter().map(|t| t.1).collect();
            let conversion = BaseConversion::new(&from, &to).map_err(|e| e.to_string())?;
            let conversion = conversion.with_factors(&factors).with_simd(self.simd);
            let mut runs: Vec<(std::ops::Range<usize>, Place)> = Vec::new();
            for (number, &(_, _, place)) in group.iter().enumerate() {
                let next = runs.last().map(|(run, first)| match *first {
                    Place::Slot(slot) => Place::Slot(slot + run.len()),
                    Place::Extra(slot) => Place::Extra(slot + run.len()),
                });
                match runs.last_mut() {
                    Some((run, _)) if next == Some(place) => run.end += 1,
                    _ => runs.push((number..number + 1, place)),
                }
            }
            parts.push(Part { conversion, runs });
        }
        Ok(parts)
    }

    fn prime(&self, prime: u16) -> Result<Arc<Prime>, String> {
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
    fn check_limb(&self, limb: Limb, arena: usize) -> Result<u32, String> {
        match limb {
            Limb::Arena(number) if number as usize >= arena => {
                Err(format!("limb {number} of an arena of {arena}"))
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
