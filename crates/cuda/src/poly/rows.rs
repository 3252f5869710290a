//! Launches of `poly_rows`: tiles of one shape share an instruction stream, all shapes a launch.

use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Argument, ReadyLaunch};
use crate::poly::limbs::Places;
use crate::poly::row_layout::{TeamPlan, is_alone};
use crate::poly::row_records::{MOST_SHAPES, Records, by_shape, listed, words_of_shapes};
use crate::poly::shape::{NormalTile, RowShape};
use crate::poly::{HEADERS, log2_row};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;
use girih_backend::{BackendError, DeviceLimits};
use std::fmt::Write;

/// `cuda/poly/rows.cu`.
pub(crate) const POLY_ROWS: KernelFile = KernelFile {
    name: "poly_rows",
    text: girih_kernels::poly::ROWS,
    kernels: &["poly_rows"],
    headers: HEADERS,
};

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
