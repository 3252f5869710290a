//! Tiles of columns as records (`cuda/poly/column_tile.cuh`).

use crate::poly::column_layout::{
    GROUP, Geometry, OUTPUT_WORDS, STEP_SOURCES, conversion_words, record_words,
};
use crate::poly::column_plan::{ColumnPlan, Output};
use crate::poly::limbs::Place;
use crate::poly::log2_row;
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::Form;
use girih_ring::{Modulus, SplitNtt};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

const NONE: u32 = u32::MAX;

/// Forward factors of columns and the last inverse one, by prime.
struct Factors {
    forward: Vec<[u32; 2]>,
    last_inverse: u32,
    size_inverse: u32,
}

pub(crate) struct Encoder<'a> {
    pub ring: &'a RingShape,
    factors: HashMap<u16, Factors>,
}

impl<'a> Encoder<'a> {
    pub fn new(ring: &'a RingShape) -> Self {
        Self { ring, factors: HashMap::new() }
    }

    pub fn modulus(&self, prime: u16) -> Modulus {
        self.ring.primes[usize::from(prime)]
    }

    fn factors(&mut self, prime: u16) -> Result<&Factors, BackendError> {
        let modulus = self.modulus(prime);
        let ring = self.ring;
        match self.factors.entry(prime) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let points = 1usize << (ring.log2_degree - log2_row(ring.log2_degree));
                let ntt = SplitNtt::new(modulus, ring.degree())
                    .map_err(|e| BackendError::InvalidRequest(e.to_string()))?;
                let (values, quotients) = ntt.roots();
                Ok(place.insert(Factors {
                    forward: (0..points).map(|i| [values[i], quotients[i]]).collect(),
                    last_inverse: ntt.inverse_roots().0[1],
                    size_inverse: ntt.size_inverse().value,
                }))
            }
        }
    }

    /// `TileHeader`, loads, phases and conversions; `outputs` are where each phase's begin and end.
    pub fn tile(
        &mut self,
        plan: &ColumnPlan,
        outputs: &[(u32, u32)],
        correction: impl Fn(u32) -> u32,
    ) -> Result<Vec<u32>, BackendError> {
        let mut words = vec![plan.loads.len() as u32, plan.phases.len() as u32, 0, 0];
        for load in &plan.loads {
            let p = self.modulus(load.prime);
            let factors = self.factors(load.prime)?;
            let constant = if load.coefficients {
                load.constant
            } else {
                p.mul(load.constant, factors.size_inverse)
            };
            let (c, last) = (p.shoup(constant), p.shoup(p.mul(constant, factors.last_inverse)));
            words.extend(address(load.from));
            words.extend([u32::from(load.coefficients), load.prime.into(), load.place]);
            words.extend([p.value(), 0]);
            words.extend([c.value, c.quotient, last.value, last.quotient]);
        }
        let mut next = words.len() + 4 * plan.phases.len();
        for (phase, &(begin, end)) in plan.phases.iter().zip(outputs) {
            words.extend([next as u32, phase.conversions.len() as u32, begin, end]);
            next += phase.conversions.iter().map(conversion_words).sum::<usize>();
        }
        for conversion in plan.phases.iter().flat_map(|p| &p.conversions) {
            words.extend([
                u32::from(conversion.corrected),
                correction(conversion.correction),
                conversion.sources.len() as u32,
                0,
            ]);
            for source in &conversion.sources {
                let p = self.modulus(source.prime);
                let q = p.value();
                let (place, constant) = source.scaled.unwrap_or((NONE, 1));
                let constant = p.shoup(constant);
                let weight = if conversion.corrected {
                    ((1u64 << 51) / u64::from(q)) as u32
                } else {
                    (q - 1) / 2
                };
                words.extend([
                    source.place,
                    place,
                    constant.value,
                    constant.quotient,
                    q,
                    weight,
                    0,
                    0,
                ]);
            }
        }
        debug_assert_eq!(words.len(), record_words(plan));
        Ok(words)
    }

    /// `OutputRecord`.
    pub fn output(&self, output: &Output) -> [u32; OUTPUT_WORDS] {
        let q = self.modulus(output.prime).value();
        let (base, offset, coefficients) = match output.store {
            Some((place, form)) => (place.base, place.offset, form == Form::Coefficients),
            None => (NONE, 0, true),
        };
        let reciprocal = ((1u64 << 48) / u64::from(q)) as u32;
        let kept = output.kept.unwrap_or(NONE);
        [
            q,
            reciprocal,
            kept,
            base,
            offset as u32,
            (offset >> 32) as u32,
            output.prime.into(),
            coefficients.into(),
        ]
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
        let mut words = vec![0u32; geometry.group_words(steps)];
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
                    words[at] = row;
                }
            }
        }
        let sources_at = steps * 256;
        for (i, &place) in places.iter().enumerate() {
            words[sources_at + i] = geometry.source(plan, place);
        }
        let factors_at = sources_at + steps * STEP_SOURCES;
        let outputs_at = factors_at + GROUP * geometry.factor_words();
        for o in 0..GROUP {
            // Places of a group that is not full compute what nobody wants.
            let output = outputs.get(o).unwrap_or(&outputs[0]);
            let mut record = self.output(output);
            if o >= outputs.len() {
                (record[2], record[3]) = (NONE, NONE);
            }
            words[outputs_at + OUTPUT_WORDS * o..][..OUTPUT_WORDS].copy_from_slice(&record);
            let factors = &self.factors(output.prime)?.forward;
            for (i, pair) in factors.iter().enumerate() {
                let at = i ^ (2 * o);
                words[factors_at + o * geometry.factor_words() + 2 * at..][..2]
                    .copy_from_slice(pair);
            }
        }
        words[outputs_at + GROUP * OUTPUT_WORDS] = u32::from(!outputs[0].is_half());
        words[outputs_at + GROUP * OUTPUT_WORDS + 1] = places.len().div_ceil(STEP_SOURCES) as u32;
        Ok(words)
    }
}

fn address(place: Place) -> [u32; 3] {
    [place.offset as u32, (place.offset >> 32) as u32, place.base]
}
