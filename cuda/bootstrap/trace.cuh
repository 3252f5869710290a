// What a trace build writes out; nothing of this exists in other builds. Only the first ciphertext
// is traced.
#pragma once
#include "jobs.cuh"
#include "switch.cuh"
#include "tile.cuh"

constexpr u32 DUMP_NONE = 0;
constexpr u32 DUMP_DIGITS = 1;
constexpr u32 DUMP_TRANSFORMED = 2;
constexpr u32 DUMP_PRODUCTS = 3;
constexpr u32 DUMP_ACCUMULATOR = 4;
constexpr u32 DUMP_EXTRACTED = 5;

FUNCTION bool dumps(const BlindRotateArguments& a, u32 stage, int step) {
    return blockIdx.x < BLOCKS_PER_CIPHERTEXT && a.dump_stage == stage && a.dump_step == (u32)step;
}

// [word][level][K][N] as reduced residues.
template<int w>
FUNCTION void
dump_transformed(const BlindRotateArguments& a, int step, int f, const u32 (&digits)[ROWS][TAIL]) {
    if (!dumps(a, DUMP_TRANSFORMED, step)) return;
    for (int row = 0; row < ROWS; row++) {
        for (int j = 0; j < TAIL; j++) {
            a.dump[((u64)w * ROWS + row) * POLYNOMIAL_SIZE + f * TAIL + j] =
                digits[row][j] % Word<w>::p;
        }
    }
}

// [word][K][N]: the factor 1/N that the key carries is taken out again.
template<int w>
FUNCTION void dump_products(
    const BlindRotateArguments& a, int step, int f, int column, const u32 (&values)[TAIL]) {
    if (!dumps(a, DUMP_PRODUCTS, step)) return;
    for (int j = 0; j < TAIL; j++) {
        u64 value = (u64)(values[j] % Word<w>::p) * POLYNOMIAL_SIZE;
        a.dump[((u64)w * COLUMNS + column) * POLYNOMIAL_SIZE + f * TAIL + j] = value % Word<w>::p;
    }
}

// [level][K][N]: each digit as its residue modulo the key modulus.
template<int level>
FUNCTION void
dump_digit(const BlindRotateArguments& a, int step, int column, int index, Accumulator x) {
    if (!dumps(a, DUMP_DIGITS, step)) return;
    i64 value = decompose<level>(x);
    a.dump[((u64)level * COLUMNS + column) * POLYNOMIAL_SIZE + index] =
        value < 0 ? (u64)(value + (i64)KEY_MODULUS) : (u64)value;
}
