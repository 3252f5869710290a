//! Launches of `poly_columns`, and of `poly_columns_any` for what does not fit.

use crate::poly::arguments::ColumnsArguments;
use crate::poly::column_factors::ColumnFactors;
use crate::poly::column_layout::{
    GENERAL_STEPS, Geometry, MOST_SOURCES, general_tiles, groups, record_words,
};
use crate::poly::column_plan::{CORRECTIONS, ColumnPlan, Output, plan};
use crate::poly::column_records::Encoder;
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Arguments, ReadyLaunch, blocks_of};
use crate::poly::limbs::Places;
use crate::poly::log2_row;
use crate::poly::source::{KernelText, kernel_file};
use crate::poly::tables::is_wide;
use crate::runtime::source::KernelFile;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::ColumnTile;
use girih_backend::{BackendError, DeviceLimits};

/// `cuda/poly/columns.cu`.
const POLY_COLUMNS: KernelFile = kernel_file(girih_kernels::poly::COLUMNS, &["poly_columns"]);
/// `cuda/poly/columns_any.cu`.
const POLY_COLUMNS_ANY: KernelFile =
    kernel_file(girih_kernels::poly::COLUMNS_ANY, &["poly_columns_any"]);

/// Threads of a block of which two share a multiprocessor, and of one that has it alone.
const THREADS: [usize; 2] = [256, 512];
/// Blocks of the kernel for any tiles that a multiprocessor has registers for.
const GENERAL_BLOCKS: usize = 1;
/// Columns that a block of `poly_columns_any` has at most.
const MOST_ANY_WIDTH: usize = 32;

/// Primes of a tile that need canonical values between stages.
fn any_wide(ring: &RingShape, plan: &ColumnPlan) -> bool {
    let outputs = plan.phases.iter().flat_map(|p| &p.outputs).map(|o| o.prime);
    plan.loads.iter().map(|l| l.prime).chain(outputs).any(|p| is_wide(ring.primes[usize::from(p)]))
}

/// What a list of tiles computes, that of tiles that compute nothing left out.
fn plans(
    ring: &RingShape,
    places: &Places,
    tiles: &[ColumnTile],
) -> Result<Vec<ColumnPlan>, BackendError> {
    tiles.iter().filter(|t| !t.sums.is_empty()).map(|t| plan(ring, places, t)).collect()
}

/// Whether `poly_columns` holds the sources of all sums.
fn is_small(plan: &ColumnPlan) -> bool {
    plan.phases.iter().flat_map(|p| &p.outputs).all(|o| o.sources.len() <= MOST_SOURCES)
}

/// The launches of a list of tiles.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    (places, factors): (&Places, &ColumnFactors),
    tiles: &[ColumnTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let plans = plans(ring, places, tiles)?;
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
            let layout = geometry.layout(plans.iter().chain([&plan]), 1);
            blocks_of(limits, layout.shared_bytes).min(knobs.column_blocks.max(1))
        };
        let own = blocks(&[]);
        let like = |f: &&mut FastTiles| {
            f.geometry == geometry && f.blocks == own && blocks(&f.plans) == own
        };
        match fast.iter_mut().find(like) {
            Some(tiles) => tiles.plans.push(plan),
            None => {
                fast.push(FastTiles { geometry, blocks: own, least_steps: 1, plans: vec![plan] })
            }
        }
    }
    fast.iter_mut().for_each(|tiles| tiles.fit_small(limits, knobs));
    launches(&mut Encoder::new(ring, factors), limits, places, (&fast, wide), &any)
}

/// The launches of a list of tiles by the kernels for any tiles: one for nearly all.
pub(crate) fn general(
    ring: &RingShape,
    limits: &DeviceLimits,
    (places, factors): (&Places, &ColumnFactors),
    tiles: &[ColumnTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let mut fast: Vec<FastTiles> = Vec::new();
    let mut any = Vec::new();
    for plan in plans(ring, places, tiles)? {
        let geometry = Geometry::general(ring.log2_degree, &plan, limits);
        let Some(geometry) = geometry.filter(|_| is_small(&plan)) else {
            any.push(plan);
            continue;
        };
        // What fits alone may not fit beside another's longer record.
        let fits = |plans: &[ColumnPlan]| {
            let layout = geometry.layout(plans.iter().chain([&plan]), GENERAL_STEPS);
            blocks_of(limits, layout.shared_bytes) > 0
        };
        match fast.iter_mut().find(|f| f.geometry == geometry && fits(&f.plans)) {
            Some(tiles) => tiles.plans.push(plan),
            None => fast.push(FastTiles::general(geometry, vec![plan])),
        }
    }
    launches(&mut Encoder::new(ring, factors), limits, places, (&fast, true), &any)
}

/// A launch of no tiles by the kernel that [`general`] runs nearly all by, of either ring, if rings
/// of this degree have it.
pub(crate) fn general_launch(log2_degree: u32, invariant: bool) -> Option<ReadyLaunch> {
    let tiles = general_tiles(invariant).iter();
    let mut tiles = tiles.filter_map(|&tile| Geometry::new(log2_degree, tile, invariant));
    let tiles = FastTiles::general(tiles.next()?, Vec::new());
    Some(ReadyLaunch {
        text: fast_text(log2_degree, &tiles, GENERAL_STEPS, true),
        threads: tiles.threads(),
        shared_bytes: 0,
        items: 0,
        teams: 1,
        data: Vec::new(),
        work: 0,
        arguments: Arguments::Columns(ColumnsArguments::default()),
    })
}

fn launches(
    encoder: &mut Encoder<'_>,
    limits: &DeviceLimits,
    places: &Places,
    (fast, wide): (&[FastTiles], bool),
    any: &[ColumnPlan],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let launch = |tiles: &FastTiles| fast_launch(encoder, places, tiles, wide);
    let mut launches = fast.iter().map(launch).collect::<Result<Vec<_>, _>>()?;
    for invariant in [false, true] {
        let own: Vec<&ColumnPlan> = any.iter().filter(|p| p.invariant == invariant).collect();
        if !own.is_empty() {
            launches.push(any_launch(encoder, limits, places, (&own, invariant))?);
        }
    }
    Ok(launches)
}

/// What tiles take, roughly, in the unit of rows.
fn work<'a>(plans: impl Iterator<Item = &'a ColumnPlan>) -> usize {
    let output = |output: &Output| 15 + 2 * output.sources.len();
    let outputs =
        |p: &ColumnPlan| p.phases.iter().flat_map(|p| &p.outputs).map(output).sum::<usize>();
    plans.map(|p| 15 * p.loads.len() + outputs(p)).sum()
}

/// A tile's record, with zeros up to `words`.
fn padded(mut record: Vec<u32>, words: usize) -> Vec<u32> {
    record.resize(words, 0);
    record
}

/// The arguments of a launch of so many tiles, whose records have so many words and lie at a place
/// of a block's memory.
fn arguments(places: &Places, tiles: usize, words: usize, at: usize) -> Arguments {
    Arguments::Columns(ColumnsArguments {
        base_stride: places.stride() as u32,
        tile_count: tiles as u32,
        record_words: words as u32,
        record_at: at as u32,
        ..Default::default()
    })
}

/// Tiles that share a launch of `poly_columns`, so many blocks of which a multiprocessor.
struct FastTiles {
    geometry: Geometry,
    blocks: usize,
    /// Steps that their groups have room for at least.
    least_steps: usize,
    plans: Vec<ColumnPlan>,
}

impl FastTiles {
    /// Of the kernel for any tiles.
    fn general(geometry: Geometry, plans: Vec<ColumnPlan>) -> Self {
        Self { geometry, blocks: GENERAL_BLOCKS, least_steps: GENERAL_STEPS, plans }
    }

    fn threads(&self) -> usize {
        // All warps that fold with each other run at once: two for each of the rows of a unit.
        let many = self.geometry.invariant && self.geometry.points > 64;
        THREADS[if self.blocks > 1 && !many { 0 } else { 1 }]
    }

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
            let bytes = narrower.layout(self.plans.iter(), 1).shared_bytes;
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

/// The text of `poly_columns` for these tiles.
fn fast_text(log2_degree: u32, fast: &FastTiles, steps: usize, wide: bool) -> KernelText {
    let geometry = fast.geometry;
    let mut text = KernelText::new(
        POLY_COLUMNS,
        &[
            ("LOG2_DEGREE", log2_degree as usize),
            ("WIDE", wide.into()),
            ("STEPS", steps),
            ("TILE", geometry.tile),
            ("SLOT_BYTES", 4 * geometry.slot_words()),
            ("GROUP_BYTES", 4 * geometry.group_words(steps)),
            ("THREADS", fast.threads()),
            ("INVARIANT", geometry.invariant.into()),
        ],
    );
    text.min_blocks = Some(if fast.threads() == THREADS[0] { fast.blocks } else { 1 });
    text
}

fn fast_launch(
    encoder: &mut Encoder<'_>,
    places: &Places,
    fast: &FastTiles,
    wide: bool,
) -> Result<ReadyLaunch, BackendError> {
    let FastTiles { geometry, plans, .. } = fast;
    let layout = geometry.layout(plans.iter(), fast.least_steps);
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
    Ok(ReadyLaunch {
        text: fast_text(encoder.ring.log2_degree, fast, layout.steps, wide),
        threads: fast.threads(),
        shared_bytes: layout.shared_bytes,
        items: plans.len() * geometry.parts(),
        teams: 1,
        data: vec![tiles, outputs],
        work: work(plans.iter()),
        arguments: arguments(places, plans.len(), layout.record_words, layout.record_at),
    })
}

fn any_launch(
    encoder: &mut Encoder<'_>,
    limits: &DeviceLimits,
    places: &Places,
    (plans, invariant): (&[&ColumnPlan], bool),
) -> Result<ReadyLaunch, BackendError> {
    let log2_degree = encoder.ring.log2_degree;
    let row = 1usize << log2_row(log2_degree);
    let points = encoder.ring.degree() / row;
    let columns = 1 + plans.iter().map(|p| p.places + p.corrections).max().unwrap_or(0) as usize;
    let bytes = |width: usize| 4 * columns * points * width;
    let mut width = row.min(MOST_ANY_WIDTH);
    let least = if invariant { 2 } else { 1 };
    while bytes(width) > limits.workgroup_memory_bytes && width > least {
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
        vec![0; plans.iter().map(|p| outputs_of(p)).sum::<usize>().next_multiple_of(4)];
    let mut number = 0;
    for plan in plans {
        for output in plan.phases.iter().flat_map(|p| &p.outputs) {
            records[number] = records.len() as u32;
            number += 1;
            records.extend(encoder.listed(output, |place| place_in(plan, place)));
        }
    }
    let mut tiles = Vec::new();
    let longest = plans.iter().map(|p| record_words(p)).max().unwrap_or(0);
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
    let constants =
        [("LOG2_DEGREE", log2_degree as usize), ("WIDTH", width), ("INVARIANT", invariant.into())];
    Ok(ReadyLaunch {
        text: KernelText::new(POLY_COLUMNS_ANY, &constants),
        threads: width,
        shared_bytes: bytes(width),
        items: plans.len() * (row / width),
        teams: 1,
        data: vec![tiles, records],
        work: work(plans.iter().copied()),
        arguments: arguments(places, plans.len(), longest, 0),
    })
}
