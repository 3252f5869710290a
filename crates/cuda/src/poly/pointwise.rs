//! Launches of `poly_pointwise`.

use crate::poly::arguments::{MOST_SHAPES, OperandRecord, PointwiseArguments, words};
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::{Arguments, ReadyLaunch};
use crate::poly::limbs::Places;
use crate::poly::row_records::{Records, by_shape, of_shapes};
use crate::poly::shape::{NormalTile, RowShape};
use crate::poly::source::{KernelText, kernel_file};
use crate::runtime::source::KernelFile;
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;

/// `cuda/poly/pointwise.cu`.
const POLY_POINTWISE: KernelFile = kernel_file(girih_kernels::poly::POINTWISE, &["poly_pointwise"]);

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
    let shared = words::<OperandRecord>() * operands + 2 * most(RowShape::constants);
    let mut text = KernelText::new(
        POLY_POINTWISE,
        &[
            ("LOG2_DEGREE", ring.log2_degree as usize),
            ("ROUNDS", ROUNDS),
            ("OPERANDS", operands),
            ("SHAPES", shapes.len()),
            ("MOST_SHAPES", MOST_SHAPES),
        ],
    );
    text.shapes.push_str("template <int> struct Shape;\n");
    // Words are few between two automorphisms there.
    let knobs = &PolyKnobs { asks_ahead: false, ..*knobs };
    for (i, (shape, _)) in shapes.iter().enumerate() {
        text.shapes.push_str(&shape.text(i, true, knobs));
    }
    let item_words = ring.degree().min(4 * THREADS * ROUNDS);
    let records = Records::new(shapes, |_| ring.degree() / item_words);
    let arguments = PointwiseArguments {
        base_stride: places.stride() as u32,
        items: records.items,
        shapes: of_shapes(records.first.iter().copied()),
        ..Default::default()
    };
    ReadyLaunch {
        text,
        threads: THREADS,
        shared_bytes: 4 * shared.next_multiple_of(4),
        items: records.items as usize,
        teams: 1,
        data: vec![records.words],
        work: shapes.iter().map(|(shape, tiles)| shape.cost() * tiles.len()).sum(),
        arguments: Arguments::Pointwise(arguments),
    }
}
