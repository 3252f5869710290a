//! What a tile of columns computes, as places and phases.
//!
//! A place holds one limb's tile in a block's memory. Loads fill places; then each phase prepares
//! the conversions whose sources are there, and computes outputs. The formulas of
//! `girih_ring::BaseConversion` are linear in the scaled sources y_i and the correction u, so a sum
//! of conversions and slots is one row of a matrix over places: sum_i y_i (D / d_i) - u D + sum
//! factor * slot.

use crate::poly::limbs::{Place, Places};
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::{ColumnTerm, ColumnTile, Form};
use girih_ring::Modulus;
use std::collections::BTreeMap;

/// Places from here on hold corrections, which take other room.
pub(crate) const CORRECTIONS: u32 = 1 << 16;

/// A load, and the place that it fills.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLoad {
    pub prime: u16,
    pub from: Place,
    pub coefficients: bool,
    pub place: u32,
    /// What its coefficients are multiplied by; not counting N^-1.
    pub constant: u32,
}

/// A source of a conversion.
#[derive(Clone, Debug)]
pub(crate) struct PreparedSource {
    pub prime: u16,
    pub place: u32,
    /// Where it goes times which constant; `None` if it is scaled already.
    pub scaled: Option<(u32, u32)>,
}

/// A conversion, before outputs read it.
#[derive(Clone, Debug)]
pub(crate) struct PreparedConversion {
    pub corrected: bool,
    pub correction: u32,
    pub sources: Vec<PreparedSource>,
}

/// One row of a matrix, and where its result goes.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub prime: u16,
    /// Places, ascending, with their constants.
    pub sources: Vec<(u32, u32)>,
    pub kept: Option<u32>,
    pub store: Option<(Place, Form)>,
}

impl Output {
    /// Whether it is transformed forward.
    pub fn is_half(&self) -> bool {
        matches!(self.store, Some((_, Form::Half)))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub conversions: Vec<PreparedConversion>,
    pub outputs: Vec<Output>,
}

/// A tile, planned.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnPlan {
    pub loads: Vec<PlacedLoad>,
    pub phases: Vec<Phase>,
    /// Places that it needs.
    pub places: u32,
    /// Corrections that it holds at once; they are numbered from [`CORRECTIONS`] on.
    pub corrections: u32,
}

fn refused(why: impl Into<String>) -> BackendError {
    BackendError::InvalidRequest(format!("a schedule that kernels cannot run: {}", why.into()))
}

/// Hands out places.
#[derive(Default)]
struct Allocator {
    free: Vec<u32>,
    count: u32,
}

impl Allocator {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// What is known of a tile's slots and conversions before places are handed out.
struct Analysis {
    /// Prime of each slot.
    primes: Vec<u16>,
    /// The phase in which each sum is computed.
    sum_phase: Vec<usize>,
    /// The phase at whose beginning each conversion is prepared; `None` if nothing reads it.
    conversion_phase: Vec<Option<usize>>,
    /// The last phase that reads each conversion.
    conversion_end: Vec<usize>,
    /// Conversions that read each slot, and sums that read it.
    converted_by: Vec<Vec<usize>>,
    summed_by: Vec<Vec<usize>>,
}

fn analyse(tile: &ColumnTile) -> Result<Analysis, BackendError> {
    let loads = tile.loads.len();
    let slots = loads + tile.sums.len();
    let mut a = Analysis {
        primes: tile
            .loads
            .iter()
            .map(|&(p, _)| p)
            .chain(tile.sums.iter().map(|s| s.prime))
            .collect(),
        sum_phase: Vec::new(),
        conversion_phase: vec![None; tile.conversions.len()],
        conversion_end: vec![0; tile.conversions.len()],
        converted_by: vec![Vec::new(); slots],
        summed_by: vec![Vec::new(); slots],
    };
    for (number, sum) in tile.sums.iter().enumerate() {
        let ready = |phases: &[usize], slot: u16| -> Result<usize, BackendError> {
            match usize::from(slot) {
                slot if slot < loads => Ok(0),
                slot if slot < loads + number => Ok(phases[slot - loads] + 1),
                slot => Err(refused(format!("a sum of columns reads slot {slot} too early"))),
            }
        };
        let mut phase = 0;
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, .. } => {
                    phase = phase.max(ready(&a.sum_phase, slot)?);
                    a.summed_by[usize::from(slot)].push(number);
                }
                ColumnTerm::Converted { conversion, .. } => {
                    let c = usize::from(conversion);
                    let of = tile
                        .conversions
                        .get(c)
                        .ok_or_else(|| refused(format!("conversion {c} is missing")))?;
                    if a.conversion_phase[c].is_none() {
                        let mut first = 0;
                        for &slot in &of.slots {
                            first = first.max(ready(&a.sum_phase, slot)?);
                            a.converted_by[usize::from(slot)].push(c);
                        }
                        a.conversion_phase[c] = Some(first);
                    }
                    phase = phase.max(a.conversion_phase[c].unwrap_or(0));
                }
            }
        }
        for term in &sum.terms {
            if let ColumnTerm::Converted { conversion, .. } = term {
                let end = &mut a.conversion_end[usize::from(*conversion)];
                *end = phase.max(*end);
            }
        }
        a.sum_phase.push(phase);
    }
    Ok(a)
}

impl Analysis {
    /// The one conversion that a slot exists for: it is then stored scaled.
    fn folded(&self, slot: usize) -> Option<usize> {
        match (&self.converted_by[slot][..], self.summed_by[slot].is_empty()) {
            (&[c], true) => Some(c),
            _ => None,
        }
    }

    /// The last phase that reads a slot's place.
    fn last_read(&self, slot: usize) -> usize {
        let sums = self.summed_by[slot].iter().map(|&s| self.sum_phase[s]);
        let folded = self.folded(slot);
        let conversions = self.converted_by[slot].iter().map(|&c| match folded {
            Some(_) => self.conversion_end[c],
            None => self.conversion_phase[c].unwrap_or(0),
        });
        sums.chain(conversions).max().unwrap_or(0)
    }
}

/// (D / d_i)^-1 mod d_i for source `i`.
fn scaling(ring: &RingShape, primes: &[u16], i: usize) -> u32 {
    let modulus = |p: u16| ring.primes[usize::from(p)];
    let d = modulus(primes[i]);
    let others = primes.iter().enumerate().filter(|&(j, _)| j != i);
    d.inverse(others.fold(1, |product, (_, &p)| d.mul(product, modulus(p).value() % d.value())))
}

/// D / d_i mod q for each source, then D mod q.
fn products(ring: &RingShape, primes: &[u16], q: Modulus) -> Vec<u32> {
    let values: Vec<u32> =
        primes.iter().map(|&p| ring.primes[usize::from(p)].value() % q.value()).collect();
    let mut all: Vec<u32> = (0..values.len())
        .map(|i| {
            values
                .iter()
                .enumerate()
                .filter(|&(j, _)| j != i)
                .fold(1 % q.value(), |product, (_, &v)| q.mul(product, v))
        })
        .collect();
    all.push(values.iter().fold(1, |product, &v| q.mul(product, v)));
    all
}

/// Plans a tile.
///
/// # Errors
/// For tiles that break the contract of `girih_backend::poly::schedule`.
pub(crate) fn plan(
    ring: &RingShape,
    places: &Places,
    tile: &ColumnTile,
) -> Result<ColumnPlan, BackendError> {
    let a = analyse(tile)?;
    let loads = tile.loads.len();
    let (mut hands, mut corrections) = (Allocator::default(), Allocator::default());
    let mut plan = ColumnPlan::default();
    let slot_count = a.primes.len();
    let mut place_of = vec![None::<u32>; slot_count];
    // Constants that slots are stored with, and the primes of each conversion.
    let sources: Vec<Vec<u16>> = tile
        .conversions
        .iter()
        .map(|c| c.slots.iter().map(|&s| a.primes[usize::from(s)]).collect())
        .collect();
    let position = |conversion: usize, slot: usize| {
        tile.conversions[conversion].slots.iter().position(|&s| usize::from(s) == slot)
    };
    let stored_with = |slot: usize| match a.folded(slot).and_then(|c| Some((c, position(c, slot)?)))
    {
        Some((c, i)) => scaling(ring, &sources[c], i),
        None => 1,
    };
    for (slot, &(prime, load)) in tile.loads.iter().enumerate() {
        if load.form == Form::Evaluations || load.automorphism != 1 {
            return Err(refused("columns load evaluations"));
        }
        let place = hands.take();
        place_of[slot] = Some(place);
        plan.loads.push(PlacedLoad {
            prime,
            from: places.place(load.from)?,
            coefficients: load.form == Form::Coefficients,
            place,
            constant: stored_with(slot),
        });
    }
    let phases = a.sum_phase.iter().max().map_or(0, |&last| last + 1);
    // Where the scaled sources and the correction of each conversion are.
    let mut converted: Vec<Vec<u32>> = vec![Vec::new(); tile.conversions.len()];
    let mut conversion_places: Vec<Vec<u32>> = vec![Vec::new(); tile.conversions.len()];
    for phase in 0..phases {
        let mut now = Phase::default();
        for (c, conversion) in tile
            .conversions
            .iter()
            .enumerate()
            .filter(|&(c, _)| a.conversion_phase[c] == Some(phase))
        {
            let mut of = PreparedConversion {
                corrected: conversion.corrected,
                correction: CORRECTIONS + corrections.take(),
                sources: Vec::new(),
            };
            for (i, &slot) in conversion.slots.iter().enumerate() {
                let slot = usize::from(slot);
                let place = place_of[slot]
                    .ok_or_else(|| refused("a conversion reads a slot twice or too late"))?;
                let scaled = match a.folded(slot) {
                    Some(_) => None,
                    None => {
                        let own = hands.take();
                        conversion_places[c].push(own);
                        Some((own, scaling(ring, &sources[c], i)))
                    }
                };
                converted[c].push(scaled.map_or(place, |(own, _)| own));
                of.sources.push(PreparedSource { prime: a.primes[slot], place, scaled });
            }
            converted[c].push(of.correction);
            now.conversions.push(of);
        }
        for (number, sum) in tile.sums.iter().enumerate().filter(|&(s, _)| a.sum_phase[s] == phase)
        {
            let slot = loads + number;
            let q = ring.primes[usize::from(sum.prime)];
            let mut row = BTreeMap::<u32, u32>::new();
            let mut add = |place: u32, constant: u32| {
                let entry = row.entry(place).or_insert(0);
                *entry = q.add(*entry, constant);
            };
            for term in &sum.terms {
                match *term {
                    ColumnTerm::Scaled { factor, slot } => {
                        let place = place_of[usize::from(slot)]
                            .ok_or_else(|| refused("a sum reads a slot too late"))?;
                        add(place, factor);
                    }
                    ColumnTerm::Converted { factor, conversion } => {
                        let c = usize::from(conversion);
                        let mut constants = products(ring, &sources[c], q);
                        if let Some(whole) = constants.last_mut() {
                            *whole = q.neg(*whole);
                        }
                        for (&place, constant) in converted[c].iter().zip(constants) {
                            add(place, q.mul(factor, constant));
                        }
                    }
                }
            }
            let row: Vec<(u32, u32)> =
                row.into_iter().filter(|&(_, constant)| constant != 0).collect();
            for store in &sum.stores {
                if store.form == Form::Evaluations || store.automorphism != 1 {
                    return Err(refused("columns store evaluations"));
                }
                let to = Some((places.place(store.to)?, store.form));
                now.outputs.push(Output {
                    prime: sum.prime,
                    sources: row.clone(),
                    kept: None,
                    store: to,
                });
            }
            let is_read = !a.summed_by[slot].is_empty() || !a.converted_by[slot].is_empty();
            if is_read {
                // It may take the place of a slot that only this sum reads from now on: what else
                // becomes of the sum is computed before.
                let own = sum.terms.iter().find_map(|t| match *t {
                    ColumnTerm::Scaled { slot: source, .. } => {
                        let source = usize::from(source);
                        let only = a.summed_by[source].iter().all(|&s| s == number)
                            && a.converted_by[source]
                                .iter()
                                .all(|&c| a.conversion_phase[c].is_some_and(|p| p <= phase))
                            && a.folded(source).is_none();
                        if only { place_of[source].take() } else { None }
                    }
                    ColumnTerm::Converted { .. } => None,
                });
                let place = own.unwrap_or_else(|| hands.take());
                place_of[slot] = Some(place);
                let constant = stored_with(slot);
                let sources = row.iter().map(|&(place, c)| (place, q.mul(c, constant))).collect();
                now.outputs.push(Output {
                    prime: sum.prime,
                    sources,
                    kept: Some(place),
                    store: None,
                });
            }
        }
        for slot in 0..slot_count {
            let computed = slot < loads || a.sum_phase[slot - loads] <= phase;
            if computed && a.last_read(slot) <= phase {
                hands.free.extend(place_of[slot].take());
            }
        }
        for c in 0..tile.conversions.len() {
            if a.conversion_phase[c].is_some() && a.conversion_end[c] == phase {
                hands.free.append(&mut conversion_places[c]);
                corrections.free.extend(converted[c].last().map(|place| place - CORRECTIONS));
            }
        }
        plan.phases.push(now);
    }
    plan.places = hands.count;
    plan.corrections = corrections.count;
    Ok(plan)
}
