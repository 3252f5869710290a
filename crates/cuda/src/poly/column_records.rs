//! Tiles of columns as records (`cuda/poly/column_tile.cuh`),
//! and launches of `poly_columns` and `poly_columns_any`.

use crate::poly::column_layout::{
    GROUP, Geometry, MOST_SOURCES, OUTPUT_WORDS, STEP_SOURCES, conversion_words, groups,
    record_words,
};
use crate::poly::columns::{CORRECTIONS, ColumnPlan, Output, plan};
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Argument, ReadyLaunch, blocks_of};
use crate::poly::limbs::{Place, Places};
use crate::poly::tables::is_wide;
use crate::poly::{HEADERS, log2_row};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::{ColumnTile, Form};
use girih_backend::{BackendError, DeviceLimits};
use girih_ring::{Modulus, SplitNtt};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// `cuda/poly/columns.cu`.
pub(crate) const POLY_COLUMNS: KernelFile = KernelFile {
    name: "poly_columns",
    text: girih_kernels::poly::COLUMNS,
    kernels: &["poly_columns"],
    headers: HEADERS,
};
/// `cuda/poly/columns_any.cu`.
pub(crate) const POLY_COLUMNS_ANY: KernelFile = KernelFile {
    name: "poly_columns_any",
    text: girih_kernels::poly::COLUMNS_ANY,
    kernels: &["poly_columns_any"],
    headers: HEADERS,
};

const NONE: u32 = u32::MAX;
/// Threads of a block of which two share a multiprocessor, and of one that has it alone.
const THREADS: [usize; 2] = [256, 512];
/// Columns that a block of `poly_columns_any` has at most.
const MOST_ANY_WIDTH: usize = 32;

/// Forward factors of columns and the last inverse one, by prime.
struct Factors {
    forward: Vec<[u32; 2]>,
    last_inverse: u32,
    size_inverse: u32,
}

struct Encoder<'a> {
    ring: &'a RingShape,
    factors: HashMap<u16, Factors>,
}

impl Encoder<'_> {
    fn modulus(&self, prime: u16) -> Modulus {
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
    fn tile(
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
    fn output(&self, output: &Output) -> [u32; OUTPUT_WORDS] {
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
    fn group(
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

/// Primes of a tile that need canonical values between stages.
fn any_wide(ring: &RingShape, plan: &ColumnPlan) -> bool {
    let outputs = plan.phases.iter().flat_map(|p| &p.outputs).map(|o| o.prime);
    plan.loads.iter().map(|l| l.prime).chain(outputs).any(|p| is_wide(ring.primes[usize::from(p)]))
}

/// The launches of a list of tiles.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    tiles: &[ColumnTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let plans = tiles
        .iter()
        .filter(|t| !t.sums.is_empty())
        .map(|t| plan(ring, places, t))
        .collect::<Result<Vec<_>, _>>()?;
    let is_small = |p: &ColumnPlan| {
        p.phases.iter().flat_map(|p| &p.outputs).all(|o| o.sources.len() <= MOST_SOURCES)
    };
    let wide = plans.iter().any(|p| any_wide(ring, p));
    // Tiles share a launch that lie in a block's memory alike: those of which two blocks share a
    // multiprocessor apart from those that have one alone.
    let mut fast: Vec<FastTiles> = Vec::new();
    let mut any = Vec::new();
    for plan in plans {
        let geometry = Geometry::fitting(ring.log2_degree, &plan, limits);
        let Some(geometry) = geometry.filter(|_| is_small(&plan)) else {
            any.push(plan);
            continue;
        };
        let blocks = |plans: &[ColumnPlan]| {
            let layout = geometry.layout(plans.iter().chain([&plan]));
            blocks_of(limits, layout.shared_bytes).min(knobs.column_blocks.max(1))
        };
        let own = blocks(&[]);
        let like = |f: &&mut FastTiles| {
            f.geometry.tile == geometry.tile && f.blocks == own && blocks(&f.plans) == own
        };
        match fast.iter_mut().find(like) {
            Some(tiles) => tiles.plans.push(plan),
            None => fast.push(FastTiles { geometry, blocks: own, plans: vec![plan] }),
        }
    }
    let mut encoder = Encoder { ring, factors: HashMap::new() };
    let mut launches = Vec::new();
    fast.iter_mut().for_each(|tiles| tiles.fit_small(limits, knobs));
    for tiles in &fast {
        launches.push(fast_launch(&mut encoder, places, tiles, wide)?);
    }
    if !any.is_empty() {
        launches.push(any_launch(&mut encoder, limits, places, &any)?);
    }
    Ok(launches)
}

fn constants(values: &[(&str, usize)]) -> String {
    let mut text = String::from("#pragma once\n#include \"platform.cuh\"\n");
    for (name, value) in values {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "constexpr int {name} = {value};");
    }
    text
}

/// A tile's record, with zeros up to `words`.
fn padded(mut record: Vec<u32>, words: usize) -> Vec<u32> {
    record.resize(words, 0);
    record
}

fn arguments(places: &Places, tiles: usize, record: [usize; 2]) -> Vec<Argument> {
    let addresses = [Argument::Data(0), Argument::Data(1), Argument::Bases];
    let words = [places.stride(), tiles, record[0], record[1]].map(|w| Argument::Word(w as u32));
    addresses.into_iter().chain(words).chain([Argument::Tables]).collect()
}

/// Tiles that share a launch of `poly_columns`, so many blocks of which a multiprocessor.
struct FastTiles {
    geometry: Geometry,
    blocks: usize,
    plans: Vec<ColumnPlan>,
}

impl FastTiles {
    /// Where all blocks of a small launch run at once, each multiprocessor has fewer of them with
    /// more threads; and as long as they still do, tiles are narrowed: each block has less to do,
    /// on multiprocessors that would have none. Chains of phases are left as wide as they are.
    fn fit_small(&mut self, limits: &DeviceLimits, knobs: &PolyKnobs) {
        let all = self.plans.len() * self.geometry.parts();
        let is_small = all <= limits.multiprocessors * knobs.small_blocks;
        let most = if is_small { knobs.small_blocks } else { knobs.column_blocks.max(1) };
        self.blocks = self.blocks.min(most);
        if is_small && self.plans.iter().any(|plan| plan.phases.len() > 1) {
            return;
        }
        while let Some(narrower) = self.geometry.narrower() {
            let bytes = narrower.layout(self.plans.iter()).shared_bytes;
            let blocks = blocks_of(limits, bytes).min(most);
            let at_once = limits.multiprocessors * blocks;
            let holds = self.plans.iter().all(|plan| narrower.holds_factors(plan));
            if !holds || self.plans.len() * narrower.parts() > at_once {
                break;
            }
            (self.geometry, self.blocks) = (narrower, blocks);
        }
    }
}

fn fast_launch(
    encoder: &mut Encoder<'_>,
    places: &Places,
    fast: &FastTiles,
    wide: bool,
) -> Result<ReadyLaunch, BackendError> {
    let FastTiles { geometry, blocks, plans } = fast;
    let layout = geometry.layout(plans.iter());
    let (mut tiles, mut outputs) = (Vec::new(), Vec::new());
    let mut count = 0;
    for plan in plans {
        let mut phases = Vec::new();
        for phase in &plan.phases {
            let begin = count;
            for group in groups(phase) {
                outputs.extend(encoder.group(geometry, plan, &group, layout.steps)?);
                count += 1;
            }
            phases.push((begin, count));
        }
        let tile = encoder.tile(plan, &phases, |place| geometry.correction(plan, place))?;
        tiles.extend(padded(tile, layout.record_words));
    }
    let threads = THREADS[if *blocks > 1 { 0 } else { 1 }];
    let constants = constants(&[
        ("LOG2_DEGREE", encoder.ring.log2_degree as usize),
        ("WIDE", wide.into()),
        ("STEPS", layout.steps),
        ("TILE", geometry.tile),
        ("MIN_BLOCKS", *blocks),
        ("THREADS", threads),
    ]);
    Ok(ReadyLaunch {
        source: Source { file: POLY_COLUMNS, constants },
        threads,
        shared_bytes: layout.shared_bytes,
        items: plans.len() * geometry.parts(),
        teams: 1,
        data: vec![tiles, outputs],
        arguments: arguments(places, plans.len(), [layout.record_words, layout.record_at]),
    })
}

fn any_launch(
    encoder: &mut Encoder<'_>,
    limits: &DeviceLimits,
    places: &Places,
    plans: &[ColumnPlan],
) -> Result<ReadyLaunch, BackendError> {
    let log2_degree = encoder.ring.log2_degree;
    let row = 1usize << log2_row(log2_degree);
    let points = encoder.ring.degree() / row;
    let columns = 1 + plans.iter().map(|p| p.places + p.corrections).max().unwrap_or(0) as usize;
    let bytes = |width: usize| 4 * columns * points * width;
    let mut width = row.min(MOST_ANY_WIDTH);
    while bytes(width) > limits.workgroup_memory_bytes && width > 1 {
        width /= 2;
    }
    if bytes(width) > limits.workgroup_memory_bytes {
        return Err(BackendError::InvalidRequest(format!(
            "a tile of columns with {columns} limbs in memory needs {} bytes of a block, which has \
             {}: lower with fewer column sums",
            bytes(width),
            limits.workgroup_memory_bytes
        )));
    }
    // Corrections follow the other places.
    let place_in = |plan: &ColumnPlan, place: u32| {
        if place < CORRECTIONS { place } else { plan.places + place - CORRECTIONS }
    };
    let outputs_of =
        |p: &'_ ColumnPlan| p.phases.iter().map(|phase| phase.outputs.len()).sum::<usize>();
    let mut records: Vec<u32> =
        vec![0; plans.iter().map(outputs_of).sum::<usize>().next_multiple_of(4)];
    let mut number = 0;
    for plan in plans {
        for output in plan.phases.iter().flat_map(|p| &p.outputs) {
            records[number] = records.len() as u32;
            number += 1;
            records.extend(encoder.output(output));
            records.extend([output.sources.len() as u32, 0]);
            let q = encoder.modulus(output.prime);
            records.extend(output.sources.iter().flat_map(|&(place, constant)| {
                let constant = q.shoup(constant);
                [place_in(plan, place), constant.value, constant.quotient]
            }));
        }
    }
    let mut tiles = Vec::new();
    let longest = plans.iter().map(record_words).max().unwrap_or(0);
    let mut count = 0;
    for plan in plans {
        let mut phases = Vec::new();
        for phase in &plan.phases {
            phases.push((count, count + phase.outputs.len() as u32));
            count += phase.outputs.len() as u32;
        }
        let tile = encoder.tile(plan, &phases, |place| place_in(plan, place))?;
        tiles.extend(padded(tile, longest));
    }
    let constants = constants(&[("LOG2_DEGREE", log2_degree as usize), ("WIDTH", width)]);
    Ok(ReadyLaunch {
        source: Source { file: POLY_COLUMNS_ANY, constants },
        threads: width,
        shared_bytes: bytes(width),
        items: plans.len() * (row / width),
        teams: 1,
        data: vec![tiles, records],
        arguments: arguments(places, plans.len(), [longest, 0]),
    })
}
