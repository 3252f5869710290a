//! Tiles of columns as records (`cuda/poly/column_tile.cuh`).

use crate::poly::arguments::{
    ConversionRecord, LoadRecord, NONE, OutputRecord, PhaseRecord, SourceRecord, TermRecord,
    TileHeader, halves, words, words_of,
};
use crate::poly::column_factors::{ColumnFactors, Factors};
use crate::poly::column_layout::{GROUP, Geometry, STEP_SOURCES, conversion_words, record_words};
use crate::poly::column_plan::{ColumnPlan, Output, PlacedLoad, PreparedSource};
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::Form;
use girih_ring::Modulus;
use std::collections::BTreeSet;

pub(crate) struct Encoder<'a> {
    pub ring: &'a RingShape,
    factors: &'a ColumnFactors,
}

impl<'a> Encoder<'a> {
    pub fn new(ring: &'a RingShape, factors: &'a ColumnFactors) -> Self {
        Self { ring, factors }
    }

    fn modulus(&self, prime: u16) -> Modulus {
        self.ring.primes[usize::from(prime)]
    }

    fn factors(&self, prime: u16) -> &'a Factors {
        self.factors.of_prime(prime)
    }

    /// Header, loads, phases and conversions of a tile; `outputs` are where each phase's begin and
    /// end.
    pub fn tile(
        &mut self,
        plan: &ColumnPlan,
        outputs: &[(u32, u32)],
        correction: impl Fn(u32) -> u32,
    ) -> Result<Vec<u32>, BackendError> {
        let (loads, phases) = (plan.loads.len() as u32, plan.phases.len() as u32);
        let mut all = words_of(&[TileHeader { loads, phases, unused: [0; 2] }]);
        for load in &plan.loads {
            all.extend(words_of(&[self.load(load)?]));
        }
        let mut next = all.len() + words::<PhaseRecord>() * plan.phases.len();
        for (phase, &(first_output, end_output)) in plan.phases.iter().zip(outputs) {
            all.extend(words_of(&[PhaseRecord {
                first_conversion: next as u32,
                conversions: phase.conversions.len() as u32,
                first_output,
                end_output,
            }]));
            next += phase.conversions.iter().map(conversion_words).sum::<usize>();
        }
        for conversion in plan.phases.iter().flat_map(|p| &p.conversions) {
            all.extend(words_of(&[ConversionRecord {
                corrected: conversion.corrected.into(),
                correction_place: correction(conversion.correction),
                sources: conversion.sources.len() as u32,
                unused: 0,
            }]));
            let source = |source| self.source(source, conversion.corrected);
            all.extend(words_of(&conversion.sources.iter().map(source).collect::<Vec<_>>()));
        }
        debug_assert_eq!(all.len(), record_words(plan));
        Ok(all)
    }

    fn load(&mut self, load: &PlacedLoad) -> Result<LoadRecord, BackendError> {
        let p = self.modulus(load.prime);
        let factors = self.factors(load.prime);
        let constant = if load.coefficients {
            load.constant
        } else {
            p.mul(load.constant, factors.size_inverse)
        };
        let (c, last) = (p.shoup(constant), p.shoup(p.mul(constant, factors.last_inverse)));
        Ok(LoadRecord {
            offset: halves(load.from.offset),
            base: load.from.base,
            coefficients: load.coefficients.into(),
            prime: load.prime.into(),
            place: load.place,
            q: p.value(),
            unused: 0,
            constant: [c.value, c.quotient, last.value, last.quotient],
        })
    }

    fn source(&self, source: &PreparedSource, corrected: bool) -> SourceRecord {
        let p = self.modulus(source.prime);
        let q = p.value();
        let (scaled_place, constant) = source.scaled.unwrap_or((NONE, 1));
        let constant = p.shoup(constant);
        SourceRecord {
            place: source.place,
            scaled_place,
            constant: [constant.value, constant.quotient],
            q,
            weight: if corrected { ((1u64 << 51) / u64::from(q)) as u32 } else { (q - 1) / 2 },
            unused: [0; 2],
        }
    }

    fn output(&self, output: &Output) -> OutputRecord {
        let q = self.modulus(output.prime).value();
        let (base, offset, coefficients) = match output.store {
            Some((place, form)) => (place.base, place.offset, form == Form::Coefficients),
            None => (NONE, 0, true),
        };
        OutputRecord {
            q,
            reciprocal: ((1u64 << 48) / u64::from(q)) as u32,
            place: output.kept.unwrap_or(NONE),
            base,
            offset: halves(offset),
            prime: output.prime.into(),
            coefficients: coefficients.into(),
        }
    }

    /// An output with its terms, their number first; `place_of` is where a place lies.
    pub fn listed(&self, output: &Output, place_of: impl Fn(u32) -> u32) -> Vec<u32> {
        let q = self.modulus(output.prime);
        let term = |&(place, constant): &(u32, u32)| {
            let constant = q.shoup(constant);
            let (place, constant) = (place_of(place), [constant.value, constant.quotient]);
            TermRecord { place, constant }
        };
        let mut all = words_of(&[self.output(output)]);
        all.extend([output.sources.len() as u32, 0]);
        all.extend(words_of(&output.sources.iter().map(term).collect::<Vec<_>>()));
        all
    }

    /// Eight outputs as matrix units want them.
    pub fn group(
        &mut self,
        geometry: &Geometry,
        plan: &ColumnPlan,
        outputs: &[&Output],
        steps: usize,
    ) -> Result<Vec<u32>, BackendError> {
        let places: BTreeSet<u32> =
            outputs.iter().flat_map(|o| o.sources.iter().map(|s| s.0)).collect();
        let places: Vec<u32> = places.into_iter().collect();
        let mut all = vec![0u32; geometry.group_words(steps)];
        for (o, output) in outputs.iter().enumerate() {
            let q = u64::from(self.modulus(output.prime).value());
            for &(place, constant) in &output.sources {
                let source = places.partition_point(|&p| p < place);
                let (step, within) = (source / STEP_SOURCES, source % STEP_SOURCES);
                // Thread 4 g + t of a warp holds output g; sources t and 4 + t of a step; of each
                // the four bytes of a row.
                let thread = 4 * o + within % 4;
                for byte in 0..4 {
                    let row = (0..4).fold(0, |row, b| {
                        let value = (u64::from(constant) << (8 * b)) % q;
                        row | (((value >> (8 * byte)) as u32 & 255) << (8 * b))
                    });
                    let at = (2 * step + byte / 2) * 128 + 4 * thread + byte % 2 + 2 * (within / 4);
                    all[at] = row;
                }
            }
        }
        let sources_at = steps * 256;
        for (i, &place) in places.iter().enumerate() {
            all[sources_at + i] = geometry.source(plan, place);
        }
        let factors_at = sources_at + steps * STEP_SOURCES;
        let outputs_at = factors_at + GROUP * geometry.factor_words();
        let mode_at = outputs_at + GROUP * words::<OutputRecord>();
        for o in 0..GROUP {
            // Places of a group that is not full compute what nobody wants.
            let output = outputs.get(o).unwrap_or(&outputs[0]);
            let mut record = self.output(output);
            if o >= outputs.len() {
                (record.place, record.base) = (NONE, NONE);
            }
            let record = words_of(&[record]);
            all[outputs_at + record.len() * o..][..record.len()].copy_from_slice(&record);
            let factors = &self.factors(output.prime).forward;
            for (i, pair) in factors.iter().enumerate() {
                let at = i ^ (2 * o);
                all[factors_at + o * geometry.factor_words() + 2 * at..][..2].copy_from_slice(pair);
            }
        }
        all[mode_at] = u32::from(!outputs[0].is_half());
        all[mode_at + 1] = places.len().div_ceil(STEP_SOURCES) as u32;
        Ok(all)
    }
}
