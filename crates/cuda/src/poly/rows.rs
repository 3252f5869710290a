//! Launches of `poly_rows`: tiles of one shape share an instruction stream, all shapes a launch.

use crate::poly::arguments::{
    HAS_STEPS, IS_ALONE, IS_WIDE, LOG2_FLAGS, MOST_SHAPES, RowsArguments, ShapeNumbers, ShapePlace,
};
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Arguments, ReadyLaunch};
use crate::poly::limbs::Places;
use crate::poly::row_layout::TeamPlan;
use crate::poly::row_records::{
    Records, Shaped, by_shape, general as any_tiles, listed, of_any_shapes, of_shapes,
};
use crate::poly::shape::{NormalTile, RowShape};
use crate::poly::source::{KernelText, kernel_file};
use crate::runtime::source::KernelFile;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;
use girih_backend::{BackendError, DeviceLimits};

/// `cuda/poly/rows.cu`.
const POLY_ROWS: KernelFile = kernel_file(girih_kernels::poly::ROWS, &["poly_rows"]);

/// The launches of a list of tiles.
pub(crate) fn ready(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let shapes = by_shape(ring, places, tiles)?;
    let shapes = listed(ring, limits, shapes, knobs.most_products);
    let products = |(shape, _): &Shaped| if shape.is_listed() { 0 } else { shape.products() };
    let launches = divided(shapes, products, knobs.most_products);
    launches.iter().map(|shapes| launch(ring, limits, knobs, places, shapes)).collect()
}

/// The shapes of each launch: as many as arguments have room for, whose texts spell out so many
/// products at most, but for those of a shape that alone has more.
fn divided<T>(shapes: Vec<T>, products: impl Fn(&T) -> usize, most_products: usize) -> Vec<Vec<T>> {
    let mut launches: Vec<(usize, Vec<T>)> = Vec::new();
    for shape in shapes {
        let own = products(&shape);
        let fits = |(of_others, others): &&mut (usize, Vec<T>)| {
            *of_others + own <= most_products && others.len() < MOST_SHAPES
        };
        match launches.iter_mut().find(fits) {
            Some((of_others, others)) => {
                *of_others += own;
                others.push(shape);
            }
            None => launches.push((own, vec![shape])),
        }
    }
    launches.into_iter().map(|(_, shapes)| shapes).collect()
}

/// The launches of a list of tiles by the kernel for any tiles; of those that do not fit a block
/// then, by kernels of their own.
pub(crate) fn general(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let [mut lists, mut others] = any_tiles(ring, limits, by_shape(ring, places, tiles)?);
    let mut launches = Vec::new();
    while !lists.is_empty() {
        let rest = lists.split_off(lists.len().min(MOST_SHAPES));
        let team = TeamPlan::general(&lists, ring.log2_degree);
        let any = Some(ring.has_invariant());
        launches.push(ready_launch(ring, knobs, places, &lists, &team, any));
        lists = rest;
    }
    while !others.is_empty() {
        let rest = others.split_off(others.len().min(MOST_SHAPES));
        launches.push(launch(ring, limits, knobs, places, &others)?);
        others = rest;
    }
    Ok(launches)
}

/// A launch of no tiles by the kernel for any; `views`: of a ring with primes of both kinds.
pub(crate) fn general_launch(log2_degree: u32, views: bool) -> ReadyLaunch {
    let shapes = [(RowShape::general(), Vec::new())];
    let team = TeamPlan::general(&shapes, log2_degree);
    let knobs = PolyKnobs::default();
    ReadyLaunch {
        text: text(log2_degree, &knobs, (MOST_SHAPES, views), &shapes, &team, &[&shapes[0].0]),
        threads: 32 * team.warps * team.teams,
        shared_bytes: team.shared_bytes,
        items: 0,
        teams: team.teams,
        data: Vec::new(),
        work: 0,
        arguments: Arguments::Rows(Box::default()),
    }
}

fn launch(
    ring: &RingShape,
    limits: &DeviceLimits,
    knobs: &PolyKnobs,
    places: &Places,
    shapes: &[Shaped],
) -> Result<ReadyLaunch, BackendError> {
    let team = TeamPlan::fitting(limits, knobs, shapes, ring.log2_degree)?;
    Ok(ready_launch(ring, knobs, places, shapes, &team, None))
}

/// The launch of tiles of these shapes; `any`: of all by one text for every tile, which reads views
/// if it is so.
fn ready_launch(
    ring: &RingShape,
    knobs: &PolyKnobs,
    places: &Places,
    shapes: &[Shaped],
    team: &TeamPlan,
    any: Option<bool>,
) -> ReadyLaunch {
    let texts = Texts::of(shapes);
    let records = Records::new(shapes, |shape| team.rows / team.copies(shape));
    let numbers = shapes.iter().zip(&texts.of_shape).zip(&records.first);
    let numbers = numbers.map(|(((shape, _), &text), &first)| team.numbers(shape, text, first));
    let arguments = RowsArguments {
        base_stride: places.stride() as u32,
        items: records.items,
        shapes: if any.is_some() { of_any_shapes(numbers) } else { of_shapes(numbers) },
        ..Default::default()
    };
    let count = if any.is_some() { MOST_SHAPES } else { shapes.len() };
    let has_views = any == Some(true);
    ReadyLaunch {
        text: text(ring.log2_degree, knobs, (count, has_views), shapes, team, &texts.all),
        threads: 32 * team.warps * team.teams,
        shared_bytes: team.shared_bytes,
        items: records.items as usize,
        teams: team.teams,
        data: vec![records.words],
        work: shapes.iter().map(|(shape, tiles)| shape.cost() * tiles.len()).sum(),
        arguments: Arguments::Rows(Box::new(arguments)),
    }
}

/// The texts of a kernel: those of some shapes are the same.
struct Texts<'a> {
    all: Vec<&'a RowShape>,
    /// The number of each shape's text.
    of_shape: Vec<usize>,
}

impl<'a> Texts<'a> {
    fn of(shapes: &'a [(RowShape, Vec<NormalTile>)]) -> Self {
        let mut texts = Self { all: Vec::new(), of_shape: Vec::new() };
        for (shape, _) in shapes {
            let known = texts.all.iter().position(|text| text.shares_text(shape));
            texts.of_shape.push(known.unwrap_or(texts.all.len()));
            if known.is_none() {
                texts.all.push(shape);
            }
        }
        texts
    }
}

/// The text of the kernel for these shapes, which has room for `count`, and reads views where kinds
/// of factors are data.
fn text(
    log2_degree: u32,
    knobs: &PolyKnobs,
    (count, has_views): (usize, bool),
    shapes: &[Shaped],
    team: &TeamPlan,
    texts: &[&RowShape],
) -> KernelText {
    let size = &team.size;
    let mut text = KernelText::new(
        POLY_ROWS,
        &[
            ("LOG2_DEGREE", log2_degree as usize),
            ("TEAM", team.warps),
            ("TEAMS", team.teams),
            ("OPERANDS", size.operands),
            ("CONSTANTS", size.constants),
            ("BUFFERS", size.buffers),
            ("TEAM_WORDS", size.words(log2_degree)),
            ("PARTS", size.parts),
            ("SHAPES", count),
            ("TEXTS", texts.len()),
            ("MOST_SHAPES", MOST_SHAPES),
            ("HAS_VIEWS", has_views.into()),
            ("HAS_WIDE", usize::from(shapes.iter().any(|(s, _)| s.is_wide()))),
            ("HAS_NARROW", usize::from(shapes.iter().any(|(s, _)| !s.is_wide()))),
        ],
    );
    text.min_blocks = Some(team.blocks);
    text.shapes.push_str("template <int> struct Shape;\n");
    for (i, shape) in texts.iter().enumerate() {
        text.shapes.push_str(&shape.text(i, team.is_alone(shape), knobs.most_fetched));
    }
    text
}

impl TeamPlan {
    /// What the kernel reads of a shape with this text, whose items and records begin there.
    fn numbers(&self, shape: &RowShape, text: usize, place: ShapePlace) -> ShapeNumbers {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        ShapeNumbers {
            place,
            halves: shape.halves() as u32,
            half_stores: shape.half_stores() as u32,
            operands: shape.operands() as u32,
            constants: shape.constants() as u32,
            record: (shape.record_words() / 4) as u32,
            flags: flag(self.is_alone(shape), IS_ALONE)
                | flag(shape.is_wide(), IS_WIDE)
                | flag(shape.is_listed(), HAS_STEPS)
                | (text as u32) << LOG2_FLAGS,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::limits_of;
    use crate::poly::kernel_sources;
    use girih_backend::poly::random::ring;
    use girih_backend::poly::schedule::*;
    use girih_backend::poly::{ResidentShape, RingShape};

    /// The texts for tiles of so many sums of so many products each, of eight transformed limbs and
    /// resident ones.
    fn texts(ring: &RingShape, tiles: &[(u32, u32)]) -> Vec<String> {
        let load = |from, form| Load { from, form, automorphism: 1 };
        let term = |slot: u32| RowTerm {
            factor: [1; 2],
            a: Some(Source::Slot((slot % 8) as u16)),
            b: Some(Source::Stream(load(Limb::Resident { slot, limb: 0 }, Form::Evaluations))),
        };
        let sum = |sum: u32, terms: u32| RowSum {
            terms: (0..terms).map(|t| term(sum * terms + t)).collect(),
            stores: vec![Store {
                to: Limb::Arena(8 + sum),
                form: Form::Evaluations,
                automorphism: 1,
            }],
        };
        let tile = |&(sums, terms): &(u32, u32)| RowTile {
            prime: 0,
            loads: (0..8).map(|i| load(Limb::Arena(i), Form::Half)).collect(),
            sums: (0..sums).map(|i| sum(i, terms)).collect(),
        };
        let launches = vec![Launch::Rows(tiles.iter().map(tile).collect())];
        let schedule = Schedule { launches, ..Default::default() };
        let resident = ResidentShape { basis: ring.basis(0..1), log2_run: 0 };
        let most = tiles.iter().map(|(sums, terms)| sums * terms).max().unwrap_or(0);
        let residents = vec![resident; most as usize];
        let sources = kernel_sources(ring, &limits_of(90), &schedule, &residents);
        let sources = sources.expect("it fits");
        // Beside those of the rows, of any rows, and of the masks of keys.
        let own = &sources[..sources.len() - 2];
        own.iter().map(|(source, _)| source.constants.clone()).collect()
    }

    #[test]
    fn texts_do_not_grow_without_end() {
        let ring = ring(11);
        let [few, many] = [(4, 50), (16, 55)].map(|tile| texts(&ring, &[tile]));
        assert_eq!([few.len(), many.len()], [1; 2]);
        let [few, many] = [&few[0], &many[0]];
        assert!(!few.contains("run_steps"), "{few}");
        assert!(many.contains("run_steps") && many.len() < few.len(), "{many}");
    }

    /// Tiles that are too many for one text have two; what is more are lists of steps.
    #[test]
    fn two_texts_come_before_lists() {
        let ring = ring(11);
        for (tiles, count, has_steps) in [
            (&[(4, 50), (4, 60)][..], 1, false),
            (&[(6, 50), (5, 70)], 2, false),
            (&[(6, 60), (5, 70), (5, 71)], 2, true),
        ] {
            let texts = texts(&ring, tiles);
            assert_eq!(texts.len(), count, "{tiles:?}");
            let found = texts.iter().any(|text| text.contains("run_steps"));
            assert_eq!(found, has_steps, "{tiles:?}");
        }
    }
}
