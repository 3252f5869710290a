//! A column tile made ready: checked, its sums in batches, every sum with its slot.

use std::sync::Arc;

use girih_backend::poly::schedule::{ColumnTerm, ColumnTile, Form, Limb};
use girih_ring::{BaseConversion, Formula, RnsBasis};

use super::Prime;
use super::columns::{
    Batch, ColumnLoad, ColumnStore, ColumnSumWork, ColumnWork, ConversionWork, Converted, Place,
    Sources,
};
use super::routine::{Numbering, Preparer};

/// Scratch words of a column task that the second-level cache holds beside what streams through it.
const COLUMN_WORDS: usize = 1 << 18;

/// Columns of a task: 64 to 256 bytes of a row.
const WIDTHS: [usize; 3] = [64, 32, 16];

/// Sums of a batch: as many targets as a conversion computes in one reading of its sources.
const BATCH: usize = 4;

/// A target of a conversion.
struct Target {
    conversion: usize,
    prime: u16,
    /// Canonical.
    factor: u32,
    batch: usize,
    place: Place,
}

/// What is being prepared.
struct Tile<'a> {
    tile: &'a ColumnTile,
    /// Of each slot so far: its prime and where it is.
    slots: Vec<(u16, Place)>,
    started: Vec<bool>,
    targets: Vec<Target>,
    batches: Vec<Batch>,
    /// The first slot of the last batch.
    first: usize,
    /// Places of the last batch: its sums, then what is converted for them.
    local: usize,
    kept: usize,
}

impl Tile<'_> {
    /// Whether a sum or a conversion reads the slot.
    fn is_read(&self, slot: usize) -> bool {
        let scaled = |t: &ColumnTerm| match *t {
            ColumnTerm::Scaled { slot: s, .. } => usize::from(s) == slot,
            _ => false,
        };
        self.tile.sums.iter().any(|sum| sum.terms.iter().any(scaled))
            || self.converted(slot).next().is_some()
    }

    /// Checks the terms of sum `number`, whose prime is `modulus`; the conversions that it is the
    /// first to read.
    fn starts(&mut self, number: usize, modulus: u32) -> Result<Vec<usize>, String> {
        let mut starts = Vec::new();
        for term in &self.tile.sums[number].terms {
            let (ColumnTerm::Scaled { factor, .. } | ColumnTerm::Converted { factor, .. }) = *term;
            if factor >= modulus {
                return Err(format!("factor {factor} is not canonical"));
            }
            let ColumnTerm::Converted { conversion, .. } = *term else { continue };
            let conversion = usize::from(conversion);
            let all = &self.tile.conversions;
            let started = self
                .started
                .get_mut(conversion)
                .ok_or_else(|| format!("conversion {conversion} of {}", all.len()))?;
            if !std::mem::replace(started, true) {
                starts.push(conversion);
                let late = |&&s: &&u16| usize::from(s) >= self.slots.len();
                if let Some(s) = all[conversion].slots.iter().find(late) {
                    return Err(format!("slot {s} is converted before it is filled"));
                }
            }
        }
        Ok(starts)
    }

    /// The conversions of the slot, once for each time that it is a source.
    fn converted(&self, slot: usize) -> impl Iterator<Item = usize> + '_ {
        let sources = self.tile.conversions.iter().enumerate();
        let sources =
            sources.flat_map(|(c, conversion)| conversion.slots.iter().map(move |s| (c, s)));
        sources.filter(move |&(_, &s)| usize::from(s) == slot).map(|(c, _)| c)
    }

    /// The first of the loads that a conversion has for sources, in their order, where nothing else
    /// reads them: their transforms can leave its y.
    fn in_place(&self, conversion: usize) -> Option<usize> {
        let slots = &self.tile.conversions[conversion].slots;
        let first = usize::from(*slots.first()?);
        let scaled = |slot: usize| {
            let terms = self.tile.sums.iter().flat_map(|sum| &sum.terms);
            terms
                .into_iter()
                .any(|t| matches!(*t, ColumnTerm::Scaled { slot: s, .. } if usize::from(s) == slot))
        };
        let alone = |(i, &slot): (usize, &u16)| {
            let slot = usize::from(slot);
            let half =
                |(_, load): &(u16, girih_backend::poly::schedule::Load)| load.form == Form::Half;
            slot == first + i
                && self.tile.loads.get(slot).is_some_and(half)
                && self.converted(slot).count() == 1
                && !scaled(slot)
        };
        slots.iter().enumerate().all(alone).then_some(first)
    }
}

impl Preparer<'_> {
    pub(super) fn columns(
        &mut self,
        tile: &ColumnTile,
        numbering: &mut Numbering,
    ) -> Result<ColumnWork, String> {
        let mut loads = Vec::with_capacity(tile.loads.len());
        let mut ready = Tile {
            tile,
            slots: Vec::with_capacity(tile.loads.len() + tile.sums.len()),
            started: vec![false; tile.conversions.len()],
            targets: Vec::new(),
            batches: Vec::new(),
            first: 0,
            local: 0,
            kept: 0,
        };
        for (number, (prime, load)) in tile.loads.iter().enumerate() {
            let half = load.form == Form::Half;
            if load.form == Form::Evaluations || load.automorphism != 1 {
                return Err(format!("{load:?}: columns load neither evaluations nor their images"));
            }
            self.check_limb(load.from)?;
            let bound = matches!(load.from, Limb::Input { .. });
            if matches!(load.from, Limb::Resident { .. }) || half && bound {
                return Err(format!("{:?} cannot be loaded as {:?}", load.from, load.form));
            }
            let limb = numbering.read(load.from);
            ready.slots.push((*prime, Place::Load(number)));
            let prime = self.prime(*prime)?;
            let factor = prime.ntt.size_inverse();
            loads.push(ColumnLoad { prime, limb, half, factor });
        }
        let primes = tile.loads.iter().map(|l| l.0).chain(tile.sums.iter().map(|s| s.prime));
        let kinds = primes.map(|p| Ok(self.prime(p)?.ntt.fold_unit().is_some()));
        let kinds = kinds.collect::<Result<Vec<bool>, String>>()?;
        let invariant = kinds.first().copied().unwrap_or(false);
        if kinds.iter().any(|&kind| kind != invariant) {
            return Err("primes of both rings".into());
        }
        let (mut local, mut copies) = (0, invariant);
        for number in 0..tile.sums.len() {
            let sum = self.column_sum(&mut ready, number, numbering)?;
            copies |= sum.stores.iter().enumerate().any(|(i, store)| {
                let last = i + 1 == sum.stores.len() && matches!(sum.out, Place::Local(_));
                store.half && !last
            });
            local = local.max(ready.local);
            ready.batches.last_mut().expect("the sum's").sums.push(sum);
        }
        let conversions = self.conversions(&mut ready, &mut loads)?;
        let Tile { batches, kept, .. } = ready;
        let mut work =
            ColumnWork { loads, conversions, batches, kept, local, copies, width: 0, invariant };
        let fits = |&w: &usize| {
            w <= self.layout.row_len && work.scratch_slots() * self.layout.rows * w <= COLUMN_WORDS
        };
        let least = self.layout.row_len.min(WIDTHS[WIDTHS.len() - 1]);
        work.width = WIDTHS.into_iter().find(fits).unwrap_or(least);
        Ok(work)
    }

    /// Sum `number`, checked, in the last batch or a new one.
    fn column_sum(
        &mut self,
        ready: &mut Tile<'_>,
        number: usize,
        numbering: &mut Numbering,
    ) -> Result<ColumnSumWork, String> {
        let tile = ready.tile;
        let (sum, slot) = (&tile.sums[number], ready.slots.len());
        let prime = self.prime(sum.prime)?;
        let modulus = prime.ntt.modulus();
        if sum.terms.is_empty() {
            return Err("a sum without terms".into());
        }
        let starts = ready.starts(number, modulus.value())?;
        // Conversions come before the sums of a batch.
        let waits =
            |&c: &usize| tile.conversions[c].slots.iter().any(|&s| usize::from(s) >= ready.first);
        let full = ready.batches.last().is_none_or(|batch| batch.sums.len() == BATCH);
        if full || starts.iter().any(waits) {
            ready.batches.push(Batch::default());
            (ready.first, ready.local) = (slot, BATCH);
        }
        let batch = ready.batches.len() - 1;
        let in_batch = ready.batches[batch].sums.len();
        let out = if ready.is_read(slot) {
            ready.kept += 1;
            Place::Kept(ready.kept - 1)
        } else {
            Place::Local(in_batch)
        };
        ready.batches[batch].started.extend(starts);
        let (mut terms, mut converted) = (Vec::new(), 0);
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, factor } => match ready.slots.get(usize::from(slot)) {
                    Some(&(of, place)) if of == sum.prime => {
                        terms.push((modulus.shoup(factor), place));
                    }
                    Some((of, _)) => {
                        return Err(format!("slot {slot} of prime {of} in a sum of another"));
                    }
                    None => return Err(format!("slot {slot} is read before it is filled")),
                },
                ColumnTerm::Converted { conversion, factor } => {
                    let place = if sum.terms.len() == 1 {
                        out
                    } else {
                        // What one conversion yields for the sums of a batch lies side by side.
                        converted += BATCH;
                        ready.local = ready.local.max(converted + BATCH);
                        terms.push((modulus.shoup(1), Place::Local(converted + in_batch)));
                        Place::Local(converted + in_batch)
                    };
                    let conversion = conversion.into();
                    let prime = sum.prime;
                    ready.targets.push(Target { conversion, prime, factor, batch, place });
                }
            }
        }
        let mut stores = Vec::with_capacity(sum.stores.len());
        for store in &sum.stores {
            if store.form == Form::Evaluations || store.automorphism != 1 {
                return Err(format!("{store:?}: columns store no evaluations or images"));
            }
            let limb = self.store(store, numbering)?;
            stores.push(ColumnStore { limb, half: store.form == Form::Half });
        }
        ready.slots.push((sum.prime, out));
        Ok(ColumnSumWork { prime, out, terms, stores })
    }

    /// The conversions, and what each batch converts. Loads of conversions in place are given the
    /// factor that leaves the y.
    fn conversions(
        &self,
        ready: &mut Tile<'_>,
        loads: &mut [ColumnLoad],
    ) -> Result<Vec<ConversionWork>, String> {
        let mut scaled = 0;
        let mut conversions = Vec::with_capacity(ready.tile.conversions.len());
        for (number, conversion) in ready.tile.conversions.iter().enumerate() {
            let formula = if conversion.corrected { Formula::Corrected } else { Formula::Plain };
            let mut slots = Vec::with_capacity(conversion.slots.len());
            for &slot in &conversion.slots {
                let known = ready.slots.get(usize::from(slot));
                let &(prime, place) =
                    known.ok_or_else(|| format!("a conversion of slot {slot}"))?;
                slots.push((place, self.prime(prime)?));
            }
            let parts = self.parts(number, &slots, ready)?;
            let sources = match ready.in_place(number) {
                Some(first) if !parts.is_empty() => {
                    for (load, inverse) in
                        loads[first..].iter_mut().zip(parts[0].cofactor_inverses())
                    {
                        load.factor = load.prime.ntt.inverse_factor(inverse.value);
                    }
                    Sources::InPlace(first)
                }
                _ => {
                    let first = scaled;
                    scaled += slots.len();
                    Sources::Scaled { first, slots }
                }
            };
            conversions.push(ConversionWork { formula, sources, parts });
        }
        Ok(conversions)
    }

    /// The targets of a conversion in parts of different primes, and in the batches what is
    /// converted there.
    fn parts(
        &self,
        number: usize,
        sources: &[(Place, Arc<Prime>)],
        ready: &mut Tile<'_>,
    ) -> Result<Vec<BaseConversion>, String> {
        let mut groups: Vec<Vec<&Target>> = Vec::new();
        for target in ready.targets.iter().filter(|target| target.conversion == number) {
            let free =
                groups.iter_mut().find(|group| group.iter().all(|t| t.prime != target.prime));
            match free {
                Some(group) => group.push(target),
                None => groups.push(vec![target]),
            }
        }
        let basis = |primes: Vec<u32>| RnsBasis::new(&primes).map_err(|e| e.to_string());
        let value = |prime: &Prime| prime.ntt.modulus().value();
        let from = basis(sources.iter().map(|(_, prime)| value(prime)).collect())?;
        let mut parts = Vec::with_capacity(groups.len());
        for (part, group) in groups.into_iter().enumerate() {
            let primes = group.iter().map(|t| value(&self.primes[usize::from(t.prime)]));
            let to = basis(primes.collect())?;
            let factors: Vec<u32> = group.iter().map(|t| t.factor).collect();
            let conversion = BaseConversion::new(&from, &to).map_err(|e| e.to_string())?;
            parts.push(conversion.with_factors(&factors).with_simd(self.simd));
            for (target, &Target { batch, place, .. }) in group.into_iter().enumerate() {
                let converted = &mut ready.batches[batch].converted;
                let follows = |c: &&mut Converted| {
                    let (after, len) = (c.targets.end == target, c.targets.len());
                    let next = match c.first {
                        Place::Load(slot) => Place::Load(slot + len),
                        Place::Kept(slot) => Place::Kept(slot + len),
                        Place::Local(slot) => Place::Local(slot + len),
                    };
                    c.conversion == number && c.part == part && after && next == place
                };
                match converted.iter_mut().find(follows) {
                    Some(run) => run.targets.end += 1,
                    None => converted.push(Converted {
                        conversion: number,
                        part,
                        targets: target..target + 1,
                        first: place,
                    }),
                }
            }
        }
        Ok(parts)
    }
}
