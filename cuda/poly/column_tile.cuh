// What both kernels of columns read: records of tiles, in words.
//
// A tile is a list of loads into places of shared memory, then phases. A phase prepares conversions
// (the scaled sources and the correction u become places, too) and then computes outputs, each a
// sum of places times constants modulo its prime: conversion and addition are one matrix.
#pragma once
#include "constants.cuh"
#include "modular.cuh"

constexpr int LOG2_ROW = LOG2_DEGREE < 10 ? LOG2_DEGREE : 10;
constexpr int ROW = 1 << LOG2_ROW;
constexpr int LOG2_COLUMN = LOG2_DEGREE - LOG2_ROW;
constexpr int COLUMN = 1 << LOG2_COLUMN;

// What a block reads first lies first: a kernel's arguments come to it line by line.
struct ColumnsArguments {
    const u32* tiles;   // records, each as long as the longest
    const u32* outputs; // of poly_columns groups of eight, of poly_columns_any lists
    const u64* bases;
    u32 base_stride;
    u32 tile_count;
    u32 record_words; // of a tile
    u32 record_at;    // where a block's tile lies in shared memory, in words
    Tables tables;
};

struct TileHeader {
    u32 loads, phases, unused[2];
};

struct LoadRecord {
    u32 offset[2], base, coefficients; // whether it lies there as coefficients
    u32 prime, place, q, unused;
    uint4 constant; // c and c times the factor of the last inverse stage, with quotients
};

struct PhaseRecord {
    u32 first_conversion, conversions; // the first begins at this word of the tile
    u32 first_output, end_output;
};

struct ConversionRecord {
    u32 corrected, correction_place, sources, unused;
};

struct SourceRecord {
    u32 place, scaled_place; // NONE: it is scaled already
    u32 constant, quotient;
    u32 q, weight; // floor(2^51 / q) of the corrected formula, (q - 1) / 2 of the plain one
    u32 unused[2];
};

// Where an output goes: `place` and `base` may be NONE.
struct OutputRecord {
    u32 q, reciprocal, place, base;
    u32 offset[2];
    u32 prime, coefficients; // whether it goes there as coefficients
};

static_assert(
    sizeof(ColumnsArguments) == COLUMNS_ARGUMENTS_BYTES &&
        sizeof(TileHeader) == TILE_HEADER_BYTES && sizeof(LoadRecord) == LOAD_RECORD_BYTES &&
        sizeof(PhaseRecord) == PHASE_RECORD_BYTES &&
        sizeof(ConversionRecord) == CONVERSION_RECORD_BYTES &&
        sizeof(SourceRecord) == SOURCE_RECORD_BYTES &&
        sizeof(OutputRecord) == OUTPUT_RECORD_BYTES,
    "records as the host writes them");

FUNCTION u32* limb_address(const u32* offset, u32 base, const u64* bases) {
    return (u32*)(__ldg(bases + base) + (((u64)offset[1] << 32) | offset[0]));
}

// The coefficient (or half transformed word, in the mathematical order)
// at place p of a row in memory.
FUNCTION int word_of_place(int p) {
    return ROW < 1024 ? p : p % 128 / 4 + 32 * (4 * (p / 128) + p % 4);
}

// In the conjugation-invariant ring column c is folded with column R - c, R = ROW, its rows in the
// other order; columns 0 and R/2 each with itself, column 0 in rows r and COLUMN - r
// (girih_ring::ColumnPairs). A block's `width` columns then are pairs: slot s is folded with slot
// width - 1 - s, but for slots 0 and width - 1 of the first block, which are columns 0 and R/2.
//
// The place of slot `slot` in a row in memory, of the block that others would have columns from
// `first_column` on. Where four places side by side are
// columns 32 apart, those of quad m are folded with quad 256 - m in the other order, so that slots
// of a quad are places side by side, too. Quads m = 32 a, columns 128 a + 32 e, are folded with
// quads 224 - m, but for e = 0: a block has one word of another quad then.
template<int width>
FUNCTION int place_of_slot(int first_column, int slot) {
    const int first = first_column / 2;
    if constexpr (ROW == 1024 && width >= 8) {
        if (slot < width / 2) return first + slot;
        if (first % 128 == 0 && slot >= width - 4)
            return slot < width - 1 ? 901 - first - width + slot : first == 0 ? 512 : 1024 - first;
        return 1028 - first - width + slot;
    } else {
        int column = first + slot;
        if (slot >= width / 2) {
            const bool is_middle = first == 0 && slot == width - 1;
            column = is_middle ? ROW / 2 : ROW + 1 - first - width + slot;
        }
        return ROW < 1024 ? column : column / 128 * 128 + 4 * (column % 32) + column / 32 % 4;
    }
}

// y_i and what it adds to u, of one source of a conversion.
FUNCTION u32 scaled_source(const SourceRecord& s, u32 x) {
    if (s.scaled_place == NONE) return x;
    return least_sum(x * s.constant - __umulhi(x, s.quotient) * s.q, 0u - s.q);
}
FUNCTION u32 correction_part(u32 corrected, const SourceRecord& s, u32 y) {
    return corrected ? __umulhi(y, s.weight) : (y > s.weight ? 1 : 0);
}
FUNCTION u32 correction(u32 corrected, u32 sum) {
    return corrected ? (sum + (1 << 18)) >> 19 : sum;
}
