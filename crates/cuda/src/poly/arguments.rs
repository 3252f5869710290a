//! The structs that kernels take and the records that they read, field for field those of
//! `cuda/poly`. Kernels assert their bytes, and know opcodes and flags as constants from here.
#![allow(unsafe_code)] // Declares them to be plain.

use crate::poly::limbs::Place;
use crate::poly::tables::{Prime, TableAddresses};
use crate::runtime::bytes::{bytes_of, plain};
use girih_backend::poly::schedule::{LIFTED, LIFTED_CONJUGATE, RESTRICTED_MINUS};

plain!(
    RowsArguments,
    PointwiseArguments,
    ColumnsArguments,
    MasksArguments,
    OperandRecord,
    StepRecord,
    TileHeader,
    LoadRecord,
    PhaseRecord,
    ConversionRecord,
    SourceRecord,
    OutputRecord,
    TermRecord,
    MaskRecord
);

/// Most shapes of one kernel: more make its text long and its arguments large.
pub(crate) const MOST_SHAPES: usize = 16;

/// No place, or no limb.
pub(crate) const NONE: u32 = u32::MAX;
/// Marks the offset of a source of columns in the padding of places.
pub(crate) const IN_PADDING: u32 = 1 << 31;
/// log2 of the unit of an operand's run, above its base.
pub(crate) const LOG2_BASES: u32 = 24;

/// Flags of a shape of rows; its text is counted above them.
pub(crate) const IS_ALONE: u32 = 1;
pub(crate) const IS_WIDE: u32 = 2;
pub(crate) const HAS_STEPS: u32 = 4;
pub(crate) const LOG2_FLAGS: u32 = 8;

/// What a step of a listed tile does; `cuda/poly/steps.cuh` says it at length.
pub(crate) mod steps {
    pub const ADD: u32 = 0;
    pub const SCALE: u32 = 1;
    pub const VALUE: u32 = 2;
    pub const STORE: u32 = 3;
    pub const STORE_MOVED: u32 = 4;
    pub const KEEP: u32 = 5;
    pub const END: u32 = 6;
}

/// How a thread reads four words of evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReadForm {
    /// Four words.
    Words = 0,
    /// Two words, each for two.
    Pairs = 1,
    /// One word.
    Runs = 2,
    /// Four words, under an automorphism.
    Gather = 3,
    /// Two words, each for two, under an automorphism.
    GatherPairs = 4,
    /// One word, under an automorphism.
    GatherRuns = 5,
    /// Four words, of a view of a limb of the other ring.
    Viewed = VIEWED as isize,
}

/// Factors of products beside those in memory, of which each form of a read is a kind: words of a
/// buffer, constants, 1.
pub(crate) const KEPT: u8 = ReadForm::GatherRuns as u8 + 1;
pub(crate) const CONSTANT: u8 = KEPT + 1;
pub(crate) const ONE: u8 = CONSTANT + 1;

/// What a thread reads from a limb of the other ring, of the kinds in memory the last.
pub(crate) const VIEWED: u8 = ONE + 1;

/// log2 of the unit of a product's second kind above its first, where kinds are data.
pub(crate) const LOG2_KINDS: u32 = 4;

/// Products whose operands are asked for at once.
pub(crate) const RUN: usize = 8;

/// What every kernel of the family knows of the host's layout: bytes of structs, then opcodes.
pub(crate) const LAYOUT: [(&str, u32); 45] = [
    ("PRIME_BYTES", bytes::<Prime>()),
    ("TABLES_BYTES", bytes::<TableAddresses>()),
    ("SHAPE_NUMBERS_BYTES", bytes::<ShapeNumbers>()),
    ("ROWS_ARGUMENTS_BYTES", bytes::<RowsArguments>()),
    ("POINTWISE_ARGUMENTS_BYTES", bytes::<PointwiseArguments>()),
    ("COLUMNS_ARGUMENTS_BYTES", bytes::<ColumnsArguments>()),
    ("MASKS_ARGUMENTS_BYTES", bytes::<MasksArguments>()),
    ("OPERAND_RECORD_BYTES", bytes::<OperandRecord>()),
    ("STEP_RECORD_BYTES", bytes::<StepRecord>()),
    ("TILE_HEADER_BYTES", bytes::<TileHeader>()),
    ("LOAD_RECORD_BYTES", bytes::<LoadRecord>()),
    ("PHASE_RECORD_BYTES", bytes::<PhaseRecord>()),
    ("CONVERSION_RECORD_BYTES", bytes::<ConversionRecord>()),
    ("SOURCE_RECORD_BYTES", bytes::<SourceRecord>()),
    ("OUTPUT_RECORD_BYTES", bytes::<OutputRecord>()),
    ("TERM_RECORD_BYTES", bytes::<TermRecord>()),
    ("MASK_RECORD_BYTES", bytes::<MaskRecord>()),
    ("NONE", NONE),
    ("IN_PADDING", IN_PADDING),
    ("LOG2_BASES", LOG2_BASES),
    ("IS_ALONE", IS_ALONE),
    ("IS_WIDE", IS_WIDE),
    ("HAS_STEPS", HAS_STEPS),
    ("LOG2_FLAGS", LOG2_FLAGS),
    ("ADD", steps::ADD),
    ("SCALE", steps::SCALE),
    ("VALUE", steps::VALUE),
    ("STORE", steps::STORE),
    ("STORE_MOVED", steps::STORE_MOVED),
    ("KEEP", steps::KEEP),
    ("WORDS", ReadForm::Words as u32),
    ("PAIRS", ReadForm::Pairs as u32),
    ("RUNS", ReadForm::Runs as u32),
    ("GATHER", ReadForm::Gather as u32),
    ("GATHER_PAIRS", ReadForm::GatherPairs as u32),
    ("GATHER_RUNS", ReadForm::GatherRuns as u32),
    ("KEPT", KEPT as u32),
    ("CONSTANT", CONSTANT as u32),
    ("ONE", ONE as u32),
    ("VIEWED", VIEWED as u32),
    ("LIFTED", LIFTED),
    ("LIFTED_CONJUGATE", LIFTED_CONJUGATE),
    ("RESTRICTED_MINUS", RESTRICTED_MINUS),
    ("LOG2_KINDS", LOG2_KINDS),
    ("RUN", RUN as u32),
];

const fn bytes<T>() -> u32 {
    size_of::<T>() as u32
}

/// Words of a struct.
pub(crate) const fn words<T>() -> usize {
    size_of::<T>() / 4
}

/// Plain structs as words.
pub(crate) fn words_of<T: crate::runtime::bytes::Plain>(values: &[T]) -> Vec<u32> {
    let word = |four: &[u8]| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
    bytes_of(values).chunks_exact(4).map(word).collect()
}

/// A number of 64 bits as kernels read it from words.
pub(crate) fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// Numbers of a shape of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShapeNumbers {
    pub place: ShapePlace,
    pub halves: u32,
    pub half_stores: u32,
    pub operands: u32,
    pub constants: u32,
    /// Length of a record in units of 16 bytes.
    pub record: u32,
    pub flags: u32,
}

/// Where the items and the records of a shape begin.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShapePlace {
    pub first_item: u32,
    pub first_record: u32,
}

/// Of one `poly_rows` launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowsArguments {
    pub records: u64,
    pub bases: u64,
    pub base_stride: u32,
    /// Of a call.
    pub items: u32,
    /// Of all calls.
    pub total: u32,
    pub unused: u32,
    pub shapes: [ShapeNumbers; MOST_SHAPES],
    pub tables: TableAddresses,
}

/// Of one `poly_pointwise` launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointwiseArguments {
    pub primes: u64,
    pub records: u64,
    pub bases: u64,
    pub base_stride: u32,
    pub items: u32,
    pub shapes: [ShapePlace; MOST_SHAPES],
}

/// Of one `poly_columns` or `poly_columns_any` launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnsArguments {
    pub tiles: u64,
    pub outputs: u64,
    pub bases: u64,
    pub base_stride: u32,
    pub tile_count: u32,
    pub record_words: u32,
    pub record_at: u32,
    pub tables: TableAddresses,
}

/// Of one `poly_masks` launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MasksArguments {
    pub records: u64,
}

/// An operand of a tile of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OperandRecord {
    offset: [u32; 2],
    /// With log2 of the run above [`LOG2_BASES`].
    base: u32,
    automorphism: u32,
}

impl OperandRecord {
    pub fn new(place: Place, automorphism: u32) -> Self {
        let base = place.base | place.log2_run << LOG2_BASES;
        Self { offset: halves(place.offset), base, automorphism }
    }
}

/// A step of a listed tile.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRecord {
    pub what: u32,
    pub number: u32,
    pub count: u32,
    pub unused: u32,
}

/// What a tile of columns begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileHeader {
    pub loads: u32,
    pub phases: u32,
    pub unused: [u32; 2],
}

/// A load of a tile of columns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadRecord {
    pub offset: [u32; 2],
    pub base: u32,
    /// Whether it lies there as coefficients.
    pub coefficients: u32,
    pub prime: u32,
    pub place: u32,
    pub q: u32,
    pub unused: u32,
    /// c and c times the factor of the last inverse stage, with quotients.
    pub constant: [u32; 4],
}

/// A phase of a tile of columns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseRecord {
    /// The word of the tile at which the first begins.
    pub first_conversion: u32,
    pub conversions: u32,
    pub first_output: u32,
    pub end_output: u32,
}

/// A conversion, which its sources follow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConversionRecord {
    pub corrected: u32,
    pub correction_place: u32,
    pub sources: u32,
    pub unused: u32,
}

/// A source of a conversion.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRecord {
    pub place: u32,
    /// [`NONE`] if it is scaled already.
    pub scaled_place: u32,
    pub constant: [u32; 2],
    pub q: u32,
    /// floor(2^51 / q) of the corrected formula, (q - 1) / 2 of the plain one.
    pub weight: u32,
    pub unused: [u32; 2],
}

/// Where an output goes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputRecord {
    pub q: u32,
    pub reciprocal: u32,
    /// [`NONE`] if it is not kept.
    pub place: u32,
    /// [`NONE`] if it is not stored.
    pub base: u32,
    pub offset: [u32; 2],
    pub prime: u32,
    /// Whether it goes there as coefficients.
    pub coefficients: u32,
}

/// A term of an output of `poly_columns_any`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermRecord {
    pub place: u32,
    pub constant: [u32; 2],
}

/// A limb to be expanded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskRecord {
    pub key: [u32; 8],
    pub nonce: [u32; 2],
    pub q: u32,
    /// 2^32 mod q, and its quotient floor(2^32 threshold / q).
    pub threshold: u32,
    pub quotient: u32,
    pub unused: u32,
    pub address: [u32; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_their_fields() {
        assert_eq!(size_of::<ShapeNumbers>(), 8 * 4);
        assert_eq!(size_of::<TableAddresses>(), 11 * 8);
        assert_eq!(size_of::<RowsArguments>(), 2 * 8 + 4 * 4 + 16 * 8 * 4 + 11 * 8);
        assert_eq!(size_of::<PointwiseArguments>(), 3 * 8 + 2 * 4 + 16 * 2 * 4);
        assert_eq!(size_of::<ColumnsArguments>(), 3 * 8 + 4 * 4 + 11 * 8);
        assert_eq!(size_of::<MasksArguments>(), 8);
        assert_eq!(size_of::<OperandRecord>(), 4 * 4);
        assert_eq!(size_of::<StepRecord>(), 4 * 4);
        assert_eq!(size_of::<TileHeader>(), 4 * 4);
        assert_eq!(size_of::<LoadRecord>(), 12 * 4);
        assert_eq!(size_of::<PhaseRecord>(), 4 * 4);
        assert_eq!(size_of::<ConversionRecord>(), 4 * 4);
        assert_eq!(size_of::<SourceRecord>(), 8 * 4);
        assert_eq!(size_of::<OutputRecord>(), 8 * 4);
        assert_eq!(size_of::<TermRecord>(), 3 * 4);
        assert_eq!(size_of::<MaskRecord>(), 16 * 4);
        assert_eq!(size_of::<Prime>(), 8 * 4 + 2 * 8);
    }
}
