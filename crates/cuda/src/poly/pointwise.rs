//! Launches of `poly_pointwise`.

use crate::poly::HEADERS;
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Argument, ReadyLaunch};
use crate::poly::limbs::Places;
use crate::poly::row_records::{MOST_SHAPES, Records, by_shape, words_of_shapes};
use crate::poly::shape::{NormalTile, RowShape};
use crate::runtime::source::{KernelFile, Source};
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;
use std::fmt::Write;

/// `cuda/poly/pointwise.cu`.
pub(crate) const POLY_POINTWISE: KernelFile = KernelFile {
    name: "poly_pointwise",
    text: girih_kernels::poly::POINTWISE,
    kernels: &["poly_pointwise"],
    headers: HEADERS,
};

const THREADS: usize = 256;
/// Units of four words that a thread computes one after the other.
const ROUNDS: usize = 4;

/// The launches of a list of tiles.
pub(crate) fn ready(
    ring: &RingShape,
    knobs: &PolyKnobs,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<ReadyLaunch>, BackendError> {
    let mut shapes = by_shape(ring, places, tiles)?;
    if shapes.iter().any(|(s, _)| s.buffers() > 0) {
        return Err(BackendError::InvalidRequest(
            "a schedule that kernels cannot run: transforms, or stores under automorphisms, in a \
             pointwise launch"
                .into(),
        ));
    }
    let mut launches = Vec::new();
    while !shapes.is_empty() {
        let rest = shapes.split_off(shapes.len().min(MOST_SHAPES));
        launches.push(launch(ring, knobs, places, &shapes));
        shapes = rest;
    }
    Ok(launches)
}

fn launch(
    ring: &RingShape,
    knobs: &PolyKnobs,
    places: &Places,
    shapes: &[(RowShape, Vec<NormalTile>)],
) -> ReadyLaunch {
    let most = |of: fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
    let operands = most(RowShape::operands).max(1);
    let words = 4 * operands + 2 * most(RowShape::constants);
    let mut constants = String::from("#pragma once\n#include \"platform.cuh\"\n");
    for (name, value) in [
        ("LOG2_DEGREE", ring.log2_degree as usize),
        ("ROUNDS", ROUNDS),
        ("OPERANDS", operands),
        ("SHAPES", shapes.len()),
        ("MOST_SHAPES", MOST_SHAPES),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(constants, "constexpr int {name} = {value};");
    }
    constants.push_str("template <int> struct Shape;\n");
    for (i, (shape, _)) in shapes.iter().enumerate() {
        constants.push_str(&shape.text(i, true, knobs.most_fetched));
    }
    let item_words = ring.degree().min(4 * THREADS * ROUNDS);
    let records = Records::new(shapes, |_| ring.degree() / item_words);
    let mut arguments = vec![
        Argument::Primes,
        Argument::Data(0),
        Argument::Bases,
        Argument::Word(places.stride() as u32),
        Argument::Word(records.items),
    ];
    arguments.extend(words_of_shapes(2, records.first.iter().flatten().copied()));
    ReadyLaunch {
        source: Source { file: POLY_POINTWISE, constants },
        threads: THREADS,
        shared_bytes: 4 * words.next_multiple_of(4),
        items: records.items as usize,
        teams: 1,
        data: vec![records.words],
        arguments,
    }
}
