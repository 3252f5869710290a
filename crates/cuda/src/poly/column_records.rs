//! Tiles of columns as records (`cuda/poly/column_tile.cuh`),
//! and launches of `poly_columns` and `poly_columns_any`.

use crate::poly::columns::{CORRECTIONS, ColumnPlan, Output, Phase, PreparedConversion, plan};
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Argument, Blocks, ReadyLaunch, blocks_of};
use crate::poly::limbs::{Place, Places};
use crate::poly::tables::is_wide;
use crate::poly::{HEADERS, log2_row};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::{ColumnTile, Form};
use girih_backend::{BackendError, DeviceLimits};
use girih_ring::{Modulus, SplitNtt};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// `cuda/poly/columns.cu`.
pub(crate) const POLY_COLUMNS: KernelFile = KernelFile {
    name: "poly_columns",
    text: include_str!("../../../../cuda/poly/columns.cu"),
    kernels: &["poly_columns"],
    headers: HEADERS,
};
/// `cuda/poly/columns_any.cu`.
pub(crate) const POLY_COLUMNS_ANY: KernelFile = KernelFile {
    name: "poly_columns_any",
    text: include_str!("../../../../cuda/poly/columns_any.cu"),
    kernels: &["poly_columns_any"],
    headers: HEADERS,
};

const NONE: u32 = u32::MAX;
/// Outputs that matrix units compute together.
const GROUP: usize = 8;
/// Sources of one step of matrix units, and most of a group.
const STEP_SOURCES: usize = 8;
const MOST_SOURCES: usize = 32;
/// Words of an output's record.
const OUTPUT_WORDS: usize = 8;
/// Threads of a block of which two share a multiprocessor, and of one that has it alone.
const THREADS: [usize; 2] = [256, 512];
/// Marks the offset of a source in the padding of places.
const IN_PADDING: u32 = 1 << 31;
/// Columns that a block of `poly_columns_any` has at most.
const MOST_ANY_WIDTH: usize = 32;

/// Sizes that the fast kernel's text derives from the degree.
#[derive(Clone, Copy)]
struct Geometry {
    /// Points of a column.
    points: usize,
    /// Words of a limb's tile.
    tile: usize,
}

/// What all plans of a launch have in common.
struct Common {
    /// Whether primes need canonical values between stages.
    wide: bool,
    /// Most steps of matrix units that a group takes.
    steps: usize,
    /// Words of the longest record of a tile.
    record_words: usize,
}

/// Words of a conversion's record.
fn conversion_words(conversion: &PreparedConversion) -> usize {
    4 + 8 * conversion.sources.len()
}

/// Words of a tile's record.
fn record_words(plan: &ColumnPlan) -> usize {
    let conversions = plan.phases.iter().flat_map(|p| &p.conversions);
    4 + 12 * plan.loads.len()
        + 4 * plan.phases.len()
        + conversions.map(conversion_words).sum::<usize>()
}

/// Words of a limb's tile, the best first: narrower tiles reach memory in shorter pieces.
const TILES: [usize; 3] = [1024, 512, 256];

impl Geometry {
    fn new(log2_degree: u32, tile: usize) -> Option<Self> {
        let points = 1usize << (log2_degree - log2_row(log2_degree));
        ((16..=128).contains(&points) && tile >= 4 * points).then_some(Self { points, tile })
    }

    /// The widest tile of which a plan's fit the blocks of a multiprocessor that are wanted, if
    /// tiles may be narrowed for that, or else one.
    fn fitting(
        log2_degree: u32,
        plan: &ColumnPlan,
        common: &Common,
        limits: &DeviceLimits,
        knobs: &PolyKnobs,
    ) -> Option<Self> {
        let fits = |g: &Self, blocks: usize| {
            g.holds_factors(plan)
                && blocks_of(limits, g.shared_bytes(g.places(plan), common)) >= blocks
        };
        let all = || TILES.iter().filter_map(|&tile| Self::new(log2_degree, tile));
        // The narrowest reaches memory in pieces that are too short to be worth a second block.
        let narrowed = all()
            .filter(|g| knobs.narrows_columns && g.width() >= 8)
            .find(|g| fits(g, knobs.column_blocks.max(1)));
        narrowed.or_else(|| all().find(|g| fits(g, 1)))
    }

    /// Words of a place.
    fn slot_words(&self) -> usize {
        self.points * (self.width() + 4) + 4
    }

    /// Words of a row of a tile.
    fn width(&self) -> usize {
        self.tile / self.points
    }

    fn factor_words(&self) -> usize {
        2 * self.points
    }

    fn group_words(&self, steps: usize) -> usize {
        steps * 256 + steps * STEP_SOURCES + GROUP * self.factor_words() + GROUP * OUTPUT_WORDS + 4
    }

    /// Corrections that find room in the padding of places.
    fn padded_corrections(&self, plan: &ColumnPlan) -> u32 {
        plan.places / (self.width() / 4) as u32
    }

    /// Places of a plan, those of corrections that find no other room included.
    fn places(&self, plan: &ColumnPlan) -> usize {
        (plan.places + plan.corrections.saturating_sub(self.padded_corrections(plan))) as usize
    }

    /// The place of a correction for kernels: marked and in words where it lies in padding.
    fn correction(&self, plan: &ColumnPlan, place: u32) -> u32 {
        let number = place - CORRECTIONS;
        match number.checked_sub(self.padded_corrections(plan)) {
            None => {
                IN_PADDING
                    | (number as usize * (self.width() / 4) * self.slot_words() + self.width())
                        as u32
            }
            Some(over) => plan.places + over,
        }
    }

    /// The offset of a source.
    fn source(&self, plan: &ColumnPlan, place: u32) -> u32 {
        let place = if place < CORRECTIONS { place } else { self.correction(plan, place) };
        if place & IN_PADDING != 0 { place } else { place * self.slot_words() as u32 }
    }

    /// Where a tile's record lies in a block's memory, in words: behind everything else.
    fn record_at(&self, places: usize, steps: usize) -> usize {
        (GROUP + places) * self.slot_words() + 2 * self.group_words(steps)
    }

    fn shared_bytes(&self, places: usize, common: &Common) -> usize {
        4 * (self.record_at(places, common.steps) + common.record_words)
    }

    /// Whether the factors of a plan's loads find room where its outputs are staged later.
    fn holds_factors(&self, plan: &ColumnPlan) -> bool {
        plan.loads.len() * self.factor_words() <= GROUP * self.slot_words()
    }
}

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

/// The outputs of a phase in groups of eight or fewer: half transformed ones apart, no more sources
/// than fit, and last what may take the place of a source.
fn groups(phase: &Phase) -> Vec<Vec<&Output>> {
    let mut groups: Vec<Vec<&Output>> = Vec::new();
    for half in [true, false] {
        let mut group: Vec<&Output> = Vec::new();
        let mut sources = BTreeSet::new();
        let stored = phase.outputs.iter().filter(|o| o.is_half() == half && o.kept.is_none());
        let kept = phase.outputs.iter().filter(|o| o.is_half() == half && o.kept.is_some());
        for output in stored.chain(kept) {
            let own: BTreeSet<u32> = output.sources.iter().map(|s| s.0).collect();
            let union: BTreeSet<u32> = sources.union(&own).copied().collect();
            if !group.is_empty() && (group.len() == GROUP || union.len() > MOST_SOURCES) {
                groups.push(std::mem::take(&mut group));
                sources = own;
            } else {
                sources = union;
            }
            group.push(output);
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

fn steps_of(groups: &[Vec<&Output>]) -> usize {
    let sources = |g: &Vec<&Output>| {
        g.iter().flat_map(|o| o.sources.iter().map(|s| s.0)).collect::<BTreeSet<_>>().len()
    };
    groups.iter().map(|g| sources(g).div_ceil(STEP_SOURCES)).max().unwrap_or(0).max(1)
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
    // One kernel for all of one width: groups of fewer steps of matrix units take fewer.
    let steps = plans
        .iter()
        .filter(|p| is_small(p))
        .flat_map(|p| &p.phases)
        .map(|p| steps_of(&groups(p)))
        .max()
        .unwrap_or(1);
    let common = Common {
        wide: plans.iter().any(|p| any_wide(ring, p)),
        steps,
        record_words: plans.iter().map(record_words).max().unwrap_or(0),
    };
    // Tiles of which two blocks share a multiprocessor apart from those that have one alone.
    let mut fast = BTreeMap::<(std::cmp::Reverse<usize>, bool), Vec<ColumnPlan>>::new();
    let mut any = Vec::new();
    for plan in plans {
        let geometry = Geometry::fitting(ring.log2_degree, &plan, &common, limits, knobs);
        match geometry.filter(|_| is_small(&plan)) {
            Some(geometry) => {
                let bytes = geometry.shared_bytes(geometry.places(&plan), &common);
                let shares = blocks_of(limits, bytes) > 1;
                fast.entry((std::cmp::Reverse(geometry.tile), shares)).or_default().push(plan);
            }
            None => any.push(plan),
        }
    }
    let mut encoder = Encoder { ring, factors: HashMap::new() };
    let mut launches = Vec::new();
    for ((std::cmp::Reverse(tile), _), plans) in fast {
        if let Some(geometry) = Geometry::new(ring.log2_degree, tile) {
            launches.push(fast_launch(
                &mut encoder,
                limits,
                knobs,
                places,
                geometry,
                &common,
                &plans,
            )?);
        }
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

fn arguments(places: &Places, tiles: usize, record: [usize; 2]) -> Vec<Argument> {
    let data = (0..3).rev().map(|i| Argument::Data(2 - i));
    let words = [places.stride(), tiles, record[0], record[1]].map(|w| Argument::Word(w as u32));
    std::iter::once(Argument::Tables).chain(data).chain([Argument::Bases]).chain(words).collect()
}

fn fast_launch(
    encoder: &mut Encoder<'_>,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    geometry: Geometry,
    common: &Common,
    plans: &[ColumnPlan],
) -> Result<ReadyLaunch, BackendError> {
    let log2_degree = encoder.ring.log2_degree;
    let (mut tiles, mut outputs, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let mut count = 0;
    for plan in plans {
        let mut phases = Vec::new();
        for phase in &plan.phases {
            let begin = count;
            for group in groups(phase) {
                outputs.extend(encoder.group(&geometry, plan, &group, common.steps)?);
                count += 1;
            }
            phases.push((begin, count));
        }
        starts.push(tiles.len() as u32);
        tiles.extend(encoder.tile(plan, &phases, |place| geometry.correction(plan, place))?);
    }
    let most_places = plans.iter().map(|p| geometry.places(p)).max().unwrap_or(0);
    let shared_bytes = geometry.shared_bytes(most_places, common);
    // A block copies as many words of every tile as the longest has.
    tiles.resize(tiles.len() + common.record_words, 0);
    let min_blocks = blocks_of(limits, shared_bytes).clamp(1, knobs.column_blocks.max(1));
    let threads = THREADS[if min_blocks > 1 { 0 } else { 1 }];
    let constants = constants(&[
        ("LOG2_DEGREE", log2_degree as usize),
        ("WIDE", common.wide.into()),
        ("STEPS", common.steps),
        ("TILE", geometry.tile),
        ("MIN_BLOCKS", min_blocks),
        ("THREADS", threads),
    ]);
    Ok(ReadyLaunch {
        source: Source { file: POLY_COLUMNS, constants },
        threads,
        shared_bytes,
        blocks: Blocks::PerCall(plans.len() * (1024 / geometry.width())),
        data: vec![tiles, outputs, starts],
        arguments: arguments(
            places,
            plans.len(),
            [common.record_words, geometry.record_at(most_places, common.steps)],
        ),
        beside: false,
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
    let (mut tiles, mut starts) = (Vec::new(), Vec::new());
    let mut count = 0;
    for plan in plans {
        let mut phases = Vec::new();
        for phase in &plan.phases {
            phases.push((count, count + phase.outputs.len() as u32));
            count += phase.outputs.len() as u32;
        }
        starts.push(tiles.len() as u32);
        tiles.extend(encoder.tile(plan, &phases, |place| place_in(plan, place))?);
    }
    let constants = constants(&[("LOG2_DEGREE", log2_degree as usize), ("WIDTH", width)]);
    Ok(ReadyLaunch {
        source: Source { file: POLY_COLUMNS_ANY, constants },
        threads: width,
        shared_bytes: bytes(width),
        blocks: Blocks::PerCall(plans.len() * (row / width)),
        data: vec![tiles, records, starts],
        arguments: arguments(places, plans.len(), [0, 0]),
        beside: false,
    })
}
