//! Launches of `poly_rows`: tiles of one shape share an instruction stream, all shapes a launch.

use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Argument, ReadyLaunch, blocks_of};
use crate::poly::limbs::Places;
use crate::poly::loader::{ROW_BYTES, TEAM_BYTES};
use crate::poly::shape::{NormalTile, Normalizer, RowShape};
use crate::poly::{HEADERS, log2_row};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;
use girih_backend::{BackendError, DeviceLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// `cuda/poly/rows.cu`.
pub(crate) const POLY_ROWS: KernelFile = KernelFile {
    name: "poly_rows",
    text: girih_kernels::poly::ROWS,
    kernels: &["poly_rows"],
    headers: HEADERS,
};

/// Most shapes of one kernel: more make its text long and its arguments large.
const MOST_SHAPES: usize = 16;
/// Words of a prime in a team's memory.
const PRIME_WORDS: usize = 12;
/// Teams of one warp that share a block.
const LONE_TEAMS: usize = 4;

/// Tiles by shape, the costliest first.
pub(crate) fn by_shape(
    ring: &RingShape,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<(RowShape, Vec<NormalTile>)>, BackendError> {
    let normalizer = Normalizer { ring, places };
    let tiles = tiles.iter().map(|tile| normalizer.normal(tile));
    Ok(grouped(tiles.collect::<Result<_, _>>()?))
}

fn grouped(tiles: Vec<NormalTile>) -> Vec<(RowShape, Vec<NormalTile>)> {
    let mut shapes = BTreeMap::<RowShape, Vec<NormalTile>>::new();
    for tile in tiles {
        shapes.entry(tile.shape.clone()).or_default().push(tile);
    }
    let mut shapes: Vec<_> = shapes.into_iter().collect();
    for (shape, tiles) in shapes.iter_mut().filter(|(shape, _)| shape.is_listed()) {
        let words = tiles.iter().map(|t| t.record.len()).max().unwrap_or(0);
        shape.set_record_words(words);
        tiles.iter_mut().for_each(|t| t.record.resize(words, 0));
    }
    shapes.sort_by_key(|(shape, _)| std::cmp::Reverse(shape.cost()));
    shapes
}

/// Makes lists of steps of the tiles with the most products until at most `most_products` are left
/// in the text of all, where a block's memory has room for their rows.
fn listed(
    ring: &RingShape,
    limits: &DeviceLimits,
    shapes: Vec<(RowShape, Vec<NormalTile>)>,
    most_products: usize,
) -> Vec<(RowShape, Vec<NormalTile>)> {
    let mut products: usize = shapes.iter().map(|(shape, _)| shape.products()).sum();
    if products <= most_products {
        return shapes;
    }
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(shapes[i].0.products()));
    let mut lists = BTreeSet::new();
    for i in order {
        let (shape, tiles) = &shapes[i];
        // Operands of lists are not held there, those of texts are.
        let others = (0..shapes.len()).filter(|&k| k != i && !lists.contains(&k));
        let operands = others.map(|k| shapes[k].0.operands()).max().unwrap_or(0);
        let beside = TEAM_BYTES.max(16 * operands + TEAM_BYTES / 2);
        let buffers = tiles.first().map_or(0, NormalTile::listed_buffers);
        // Lists name operands by 16 bits.
        let fits = buffers * ROW_BYTES + beside <= limits.workgroup_memory_bytes
            && shape.operands() < 1 << 16;
        if products > most_products && fits {
            products -= shape.products();
            lists.insert(i);
        }
    }
    // All lists of a class of primes share a text: it has the kinds of all.
    let mut kinds = [BTreeSet::new(), BTreeSet::new()];
    for &i in &lists {
        let (shape, tiles) = &shapes[i];
        let of = &mut kinds[usize::from(shape.is_wide())];
        tiles.first().into_iter().for_each(|tile| of.extend(tile.kinds()));
    }
    let (kinds, lists) = (&kinds, &lists);
    let tile = |(i, (shape, tiles)): (usize, (RowShape, Vec<NormalTile>))| {
        let list = lists.contains(&i);
        let kinds = &kinds[usize::from(shape.is_wide())];
        tiles.into_iter().map(move |t| if list { t.listed(ring, kinds) } else { t })
    };
    grouped(shapes.into_iter().enumerate().flat_map(tile).collect())
}

/// Records of tiles by shape, and for each shape where its items and records begin.
pub(crate) struct Records {
    pub words: Vec<u32>,
    /// Where each shape's items and records begin.
    pub first: Vec<[u32; 2]>,
    pub items: u32,
}

impl Records {
    /// `tile_items` of each tile of a shape.
    pub fn new(
        shapes: &[(RowShape, Vec<NormalTile>)],
        tile_items: impl Fn(&RowShape) -> usize,
    ) -> Self {
        let mut all = Self { words: Vec::new(), first: Vec::new(), items: 0 };
        for (shape, tiles) in shapes {
            all.first.push([all.items, (all.words.len() / 4) as u32]);
            all.items += (tiles.len() * tile_items(shape)) as u32;
            all.words.extend(tiles.iter().flat_map(|t| &t.record));
        }
        all
    }
}

/// Bytes of shared memory of a team, as `TeamMemory` of the kernel.
struct TeamSize {
    operands: usize,
    constants: usize,
    buffers: usize,
    parts: usize,
}

impl TeamSize {
    fn words(&self, log2_degree: u32) -> usize {
        let row = 1usize << log2_row(log2_degree);
        let buffer = (row - 4) / 32 * 36 + (row - 4) % 32 + 4;
        let factors = if row < 1024 { 0 } else { self.parts * 224 };
        (self.operands * 4 + PRIME_WORDS + self.constants * 2 + factors + self.buffers * buffer)
            .next_multiple_of(4)
    }
}

/// The launches of a list of tiles.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let shapes = by_shape(ring, places, tiles)?;
    let mut shapes = listed(ring, limits, shapes, knobs.most_products);
    let mut launches = Vec::new();
    while !shapes.is_empty() {
        let rest = shapes.split_off(shapes.len().min(MOST_SHAPES));
        launches.push(launch(ring, limits, knobs, places, &shapes)?);
        shapes = rest;
    }
    Ok(launches)
}

/// Each warp of a team takes a row of its own where a row has one transform, and there are as many
/// rows.
fn is_alone(shape: &RowShape, team: usize, rows: usize) -> bool {
    shape.team() == 1 && rows >= team
}

/// How many warps share a row, what they hold, and how many blocks a multiprocessor has room for.
struct TeamPlan {
    warps: usize,
    teams: usize,
    size: TeamSize,
    shared_bytes: usize,
    blocks: usize,
}

impl TeamPlan {
    fn new(
        limits: &DeviceLimits,
        knobs: &PolyKnobs,
        shapes: &[(RowShape, Vec<NormalTile>)],
        log2_degree: u32,
        team: usize,
    ) -> Self {
        let most =
            |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
        let rows = 1usize << (log2_degree - log2_row(log2_degree));
        let teams = if team == 1 { LONE_TEAMS } else { 1 };
        let copies = |s: &RowShape| if is_alone(s, team, rows) { team } else { 1 };
        let size = TeamSize {
            operands: most(&RowShape::operands).max(1),
            constants: most(&RowShape::constants).next_multiple_of(2).max(2),
            buffers: most(&|s| s.buffers() * copies(s)),
            parts: most(&copies),
        };
        let shared_bytes = 4 * teams * size.words(log2_degree);
        let warps = if team == 1 { knobs.lone_warps } else { knobs.team_warps };
        let wanted = (warps / (team * teams)).max(1);
        let blocks = wanted.min(blocks_of(limits, shared_bytes)).max(1);
        Self { warps: team, teams, shared_bytes, size, blocks }
    }
}

fn launch(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    shapes: &[(RowShape, Vec<NormalTile>)],
) -> Result<ReadyLaunch, BackendError> {
    let most =
        |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
    let log2_degree = ring.log2_degree;
    let rows = 1usize << (log2_degree - log2_row(log2_degree));
    let mut team = TeamPlan::new(limits, knobs, shapes, log2_degree, most(&RowShape::team));
    let widens = most(&RowShape::transforms) > 4 && knobs.wide_teams;
    if widens && team.blocks * team.warps < knobs.team_warps {
        team = TeamPlan::new(limits, knobs, shapes, log2_degree, 2 * team.warps);
    }
    let TeamPlan { warps: team, teams, size, shared_bytes, blocks: min_blocks } = team;
    if shared_bytes > limits.workgroup_memory_bytes {
        return Err(BackendError::InvalidRequest(format!(
            "a tile of rows with {} rows in memory needs {shared_bytes} bytes of a block, which \
             has {}: lower with fewer row slots",
            size.buffers, limits.workgroup_memory_bytes
        )));
    }
    let is_alone = |s: &RowShape| is_alone(s, team, rows);
    let copies = |s: &RowShape| if is_alone(s) { team } else { 1 };
    let threads = 32 * team * teams;

    // The number of each shape's text, and the shape that it is of.
    let (mut texts, mut text_of): (Vec<&RowShape>, Vec<usize>) = (Vec::new(), Vec::new());
    for (shape, _) in shapes {
        let known = texts.iter().position(|text| text.shares_text(shape));
        text_of.push(known.unwrap_or(texts.len()));
        if known.is_none() {
            texts.push(shape);
        }
    }
    let mut constants = String::from("#pragma once\n#include \"platform.cuh\"\n");
    for (name, value) in [
        ("LOG2_DEGREE", log2_degree as usize),
        ("TEAM", team),
        ("TEAMS", teams),
        ("OPERANDS", size.operands),
        ("CONSTANTS", size.constants),
        ("TEAM_WORDS", size.words(log2_degree)),
        ("MIN_BLOCKS", min_blocks),
        ("PARTS", size.parts),
        ("SHAPES", shapes.len()),
        ("TEXTS", texts.len()),
        ("MOST_SHAPES", MOST_SHAPES),
        ("HAS_WIDE", usize::from(shapes.iter().any(|(s, _)| s.is_wide()))),
        ("HAS_NARROW", usize::from(shapes.iter().any(|(s, _)| !s.is_wide()))),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(constants, "constexpr int {name} = {value};");
    }
    constants.push_str("template <int> struct Shape;\n");
    for (i, shape) in texts.iter().enumerate() {
        constants.push_str(&shape.text(i, is_alone(shape), knobs.most_fetched));
    }

    let records = Records::new(shapes, |s| rows / copies(s));
    let mut arguments = vec![Argument::Data(0), Argument::Bases];
    arguments.extend([
        Argument::Word(places.stride() as u32),
        Argument::Word(records.items),
        Argument::TimesCalls(records.items),
        Argument::Word(0),
    ]);
    let numbers = |((s, text), first): ((&RowShape, usize), &[u32; 2])| {
        [
            first[0] as usize,
            first[1] as usize,
            s.halves(),
            s.half_stores(),
            s.operands(),
            s.constants(),
            s.record_words() / 4,
            usize::from(is_alone(s))
                | usize::from(s.is_wide()) << 1
                | usize::from(s.is_listed()) << 2
                | text << 8,
        ]
    };
    let texts = shapes.iter().map(|(s, _)| s).zip(text_of);
    let numbers = texts.zip(&records.first).flat_map(numbers).map(|n| n as u32);
    arguments.extend(words_of_shapes(8, numbers));
    arguments.push(Argument::Tables);
    let items = records.items as usize;
    Ok(ReadyLaunch {
        source: Source { file: POLY_ROWS, constants },
        threads,
        shared_bytes,
        items,
        teams,
        data: vec![records.words],
        arguments,
    })
}

/// `each` words for each shape that arguments have room for.
pub(crate) fn words_of_shapes(
    each: usize,
    words: impl Iterator<Item = u32>,
) -> impl Iterator<Item = Argument> {
    words.chain(std::iter::repeat(0)).take(each * MOST_SHAPES).map(Argument::Word)
}

/// Most shapes of a kernel.
pub(crate) const fn most_shapes() -> usize {
    MOST_SHAPES
}

#[cfg(test)]
mod tests {
    use crate::limits_of;
    use crate::poly::kernel_sources;
    use girih_backend::poly::random::ring;
    use girih_backend::poly::schedule::*;
    use girih_backend::poly::{ResidentShape, RingShape};

    /// The text of a tile of `sums` sums of `terms` products, of eight transformed limbs and
    /// resident ones.
    fn text(ring: &RingShape, sums: u32, terms: u32) -> String {
        let load = |from, form| Load { from, form, automorphism: 1 };
        let term = |slot: u32| RowTerm {
            factor: [1; 2],
            a: Some(Source::Slot((slot % 8) as u16)),
            b: Some(Source::Stream(load(Limb::Resident { slot, limb: 0 }, Form::Evaluations))),
        };
        let sum = |sum: u32| RowSum {
            terms: (0..terms).map(|t| term(sum * terms + t)).collect(),
            stores: vec![Store {
                to: Limb::Arena(8 + sum),
                form: Form::Evaluations,
                automorphism: 1,
            }],
        };
        let tile = RowTile {
            prime: 0,
            loads: (0..8).map(|i| load(Limb::Arena(i), Form::Half)).collect(),
            sums: (0..sums).map(sum).collect(),
        };
        let launches = vec![Launch::Rows(vec![tile])];
        let schedule = Schedule { launches, ..Default::default() };
        let resident = ResidentShape { basis: ring.basis(0..1), log2_run: 0 };
        let residents = vec![resident; (sums * terms) as usize];
        let sources = kernel_sources(ring, &limits_of(90), &schedule, &residents);
        let sources = sources.expect("it fits");
        // Of the rows, and of the masks of keys.
        assert_eq!(sources.len(), 2);
        sources[0].0.constants.clone()
    }

    #[test]
    fn texts_do_not_grow_without_end() {
        let ring = ring(11);
        let few = text(&ring, 4, 50);
        let many = text(&ring, 16, 55);
        assert!(!few.contains("run_steps"), "{few}");
        assert!(many.contains("run_steps") && many.len() < few.len(), "{many}");
    }
}
