//! What a tile of columns computes, as places and phases.
//!
//! A place holds one limb's tile in a block's memory. Loads fill places; then each phase prepares
//! the conversions whose sources are there, and computes outputs. The formulas of
//! `girih_ring::BaseConversion` are linear in the scaled sources y_i and the correction u, so a sum
//! of conversions and slots is one row of a matrix over places: sum_i y_i (D / d_i) - u D + sum
//! factor * slot.

use crate::poly::column_analysis::{Analysis, analyse, refused};
use crate::poly::limbs::{Place, Places};
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::{ColumnSum, ColumnTerm, ColumnTile, Form};
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
    /// Whether its primes are of the conjugation-invariant ring: columns then go in pairs.
    pub invariant: bool,
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
    let analysis = analyse(tile)?;
    let invariant = analysis.primes.first().is_some_and(|&p| ring.is_invariant(p));
    if analysis.primes.iter().any(|&p| ring.is_invariant(p) != invariant) {
        return Err(refused("a tile of columns has primes of both rings"));
    }
    let phases = analysis.sum_phase.iter().max().map_or(0, |&last| last + 1);
    let mut planner = Planner::new(ring, places, tile, analysis);
    planner.load()?;
    for phase in 0..phases {
        let mut now = Phase::default();
        planner.convert(phase, &mut now)?;
        planner.sum(phase, &mut now)?;
        planner.retire(phase);
        planner.plan.phases.push(now);
    }
    let Planner { mut plan, hands, corrections, .. } = planner;
    plan.places = hands.count;
    plan.corrections = corrections.count;
    plan.invariant = invariant;
    Ok(plan)
}

/// A tile on its way to a plan.
struct Planner<'a> {
    ring: &'a RingShape,
    places: &'a Places,
    tile: &'a ColumnTile,
    analysis: Analysis,
    plan: ColumnPlan,
    hands: Allocator,
    corrections: Allocator,
    /// Where each slot is, while it is read.
    place_of: Vec<Option<u32>>,
    /// The primes of each conversion.
    sources: Vec<Vec<u16>>,
    /// Where the scaled sources of each conversion are, and its correction.
    converted: Vec<Vec<u32>>,
    /// The places of them that are its own.
    own_places: Vec<Vec<u32>>,
}

impl<'a> Planner<'a> {
    fn new(
        ring: &'a RingShape,
        places: &'a Places,
        tile: &'a ColumnTile,
        analysis: Analysis,
    ) -> Self {
        let prime = |&slot: &u16| analysis.primes[usize::from(slot)];
        let sources: Vec<Vec<u16>> =
            tile.conversions.iter().map(|c| c.slots.iter().map(prime).collect()).collect();
        Self {
            ring,
            places,
            tile,
            plan: ColumnPlan::default(),
            hands: Allocator::default(),
            corrections: Allocator::default(),
            place_of: vec![None; analysis.primes.len()],
            sources,
            converted: vec![Vec::new(); tile.conversions.len()],
            own_places: vec![Vec::new(); tile.conversions.len()],
            analysis,
        }
    }

    /// The constant that a slot is stored with: it is scaled already if it exists for one
    /// conversion.
    fn stored_with(&self, slot: usize) -> u32 {
        let position = |conversion: usize| {
            let slots = &self.tile.conversions[conversion].slots;
            Some((conversion, slots.iter().position(|&s| usize::from(s) == slot)?))
        };
        match self.analysis.folded(slot).and_then(position) {
            Some((conversion, i)) => scaling(self.ring, &self.sources[conversion], i),
            None => 1,
        }
    }

    fn load(&mut self) -> Result<(), BackendError> {
        for (slot, &(prime, load)) in self.tile.loads.iter().enumerate() {
            if load.form == Form::Evaluations || load.automorphism != 1 {
                return Err(refused("columns load evaluations"));
            }
            let place = self.hands.take();
            self.place_of[slot] = Some(place);
            let (from, constant) = (self.places.place(load.from)?, self.stored_with(slot));
            let coefficients = load.form == Form::Coefficients;
            self.plan.loads.push(PlacedLoad { prime, from, coefficients, place, constant });
        }
        Ok(())
    }

    /// Prepares the conversions whose sources are there from this phase on.
    fn convert(&mut self, phase: usize, now: &mut Phase) -> Result<(), BackendError> {
        let tile = self.tile;
        for (c, conversion) in tile.conversions.iter().enumerate() {
            if self.analysis.conversion_phase[c] != Some(phase) {
                continue;
            }
            let mut of = PreparedConversion {
                corrected: conversion.corrected,
                correction: CORRECTIONS + self.corrections.take(),
                sources: Vec::new(),
            };
            for (i, &slot) in conversion.slots.iter().enumerate() {
                let slot = usize::from(slot);
                let place = self.place_of[slot]
                    .ok_or_else(|| refused("a conversion reads a slot twice or too late"))?;
                let scaled = match self.analysis.folded(slot) {
                    Some(_) => None,
                    None => {
                        let own = self.hands.take();
                        self.own_places[c].push(own);
                        Some((own, scaling(self.ring, &self.sources[c], i)))
                    }
                };
                self.converted[c].push(scaled.map_or(place, |(own, _)| own));
                of.sources.push(PreparedSource {
                    prime: self.analysis.primes[slot],
                    place,
                    scaled,
                });
            }
            self.converted[c].push(of.correction);
            now.conversions.push(of);
        }
        Ok(())
    }

    /// Computes the sums of a phase: a row of the matrix for each store, and one for what is kept.
    fn sum(&mut self, phase: usize, now: &mut Phase) -> Result<(), BackendError> {
        let tile = self.tile;
        for (number, sum) in tile.sums.iter().enumerate() {
            if self.analysis.sum_phase[number] != phase {
                continue;
            }
            let row = self.row(sum)?;
            for store in &sum.stores {
                if store.form == Form::Evaluations || store.automorphism != 1 {
                    return Err(refused("columns store evaluations"));
                }
                let store = Some((self.places.place(store.to)?, store.form));
                let (prime, sources) = (sum.prime, row.clone());
                now.outputs.push(Output { prime, sources, kept: None, store });
            }
            let slot = tile.loads.len() + number;
            let a = &self.analysis;
            if !a.summed_by[slot].is_empty() || !a.converted_by[slot].is_empty() {
                let place = self.kept_in(number, phase);
                self.place_of[slot] = Some(place);
                let q = self.ring.primes[usize::from(sum.prime)];
                let constant = self.stored_with(slot);
                let sources = row.iter().map(|&(place, c)| (place, q.mul(c, constant))).collect();
                let kept = Some(place);
                now.outputs.push(Output { prime: sum.prime, sources, kept, store: None });
            }
        }
        Ok(())
    }

    /// A sum as places with their constants, ascending.
    fn row(&self, sum: &ColumnSum) -> Result<Vec<(u32, u32)>, BackendError> {
        let q = self.ring.primes[usize::from(sum.prime)];
        let mut row = BTreeMap::<u32, u32>::new();
        let mut add = |place: u32, constant: u32| {
            let entry = row.entry(place).or_insert(0);
            *entry = q.add(*entry, constant);
        };
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { factor, slot } => {
                    let place = self.place_of[usize::from(slot)]
                        .ok_or_else(|| refused("a sum reads a slot too late"))?;
                    add(place, factor);
                }
                ColumnTerm::Converted { factor, conversion } => {
                    let c = usize::from(conversion);
                    let mut constants = products(self.ring, &self.sources[c], q);
                    if let Some(whole) = constants.last_mut() {
                        *whole = q.neg(*whole);
                    }
                    for (&place, constant) in self.converted[c].iter().zip(constants) {
                        add(place, q.mul(factor, constant));
                    }
                }
            }
        }
        Ok(row.into_iter().filter(|&(_, constant)| constant != 0).collect())
    }

    /// The place of a sum that is read later. It may take the place of a slot that only this sum
    /// reads from now on: what else becomes of the sum is computed before.
    fn kept_in(&mut self, number: usize, phase: usize) -> u32 {
        let a = &self.analysis;
        let is_free = |slot: usize| {
            a.summed_by[slot].iter().all(|&s| s == number)
                && a.converted_by[slot]
                    .iter()
                    .all(|&c| a.conversion_phase[c].is_some_and(|p| p <= phase))
                && a.folded(slot).is_none()
        };
        let own = self.tile.sums[number].terms.iter().find_map(|t| match *t {
            ColumnTerm::Scaled { slot, .. } if is_free(usize::from(slot)) => {
                self.place_of[usize::from(slot)].take()
            }
            _ => None,
        });
        own.unwrap_or_else(|| self.hands.take())
    }

    /// Gives the places back that nothing reads after a phase.
    fn retire(&mut self, phase: usize) {
        let loads = self.tile.loads.len();
        for slot in 0..self.place_of.len() {
            let computed = slot < loads || self.analysis.sum_phase[slot - loads] <= phase;
            if computed && self.analysis.last_read(slot) <= phase {
                self.hands.free.extend(self.place_of[slot].take());
            }
        }
        for c in 0..self.tile.conversions.len() {
            if self.analysis.conversion_phase[c].is_some()
                && self.analysis.conversion_end[c] == phase
            {
                self.hands.free.append(&mut self.own_places[c]);
                let correction = self.converted[c].last().map(|place| place - CORRECTIONS);
                self.corrections.free.extend(correction);
            }
        }
    }
}
