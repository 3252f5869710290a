// The ends of a bootstrapping, coefficient by coefficient: what comes before the first step and
// after the last.
#pragma once
#include "jobs.cuh"
#include "switch.cuh"
#include "trace.cuh"

// Step 1: exponents a_i * 2N/modulus and b_j * 2N/modulus of one job, by all threads of a block. On
// the native torus the key switch before has made them.
FUNCTION void combine(const BlindRotateArguments& a, u32 job, u16* rotations) {
    constexpr int length = LWE_DIMENSION + PACKING;
    if constexpr (NATIVE_TORUS) {
        const u16* exponents = (const u16*)a.switched + (u64)job * length;
        for (int i = threadIdx.x; i < length; i += THREADS) rotations[i] = exponents[i];
        return;
    }
    const Combination& input = a.jobs[job].input;
    for (int i = threadIdx.x; i < length; i += THREADS) {
        rotations[i] = (u16)(combine_word(input, a.store, length, i, LWE_DIMENSION)
                             << (LOG2_MONOMIALS - input.log2_modulus));
    }
}

// Step 2: coefficient `index` of X^-s * v for body columns, 0 for mask columns.
FUNCTION Accumulator
initialise(const BlindRotateArguments& a, u32 job, const u16* rotations, int column, int index) {
    int body = column - GLWE_DIMENSION;
    if (body < 0) return 0;
    u64 polynomial = a.jobs[job].table + body * a.jobs[job].table_stride;
    const Stored* table = (const Stored*)a.tables + polynomial * POLYNOMIAL_SIZE;
    u32 from = index + rotations[LWE_DIMENSION + body];
    Accumulator value = hold(table[from & (POLYNOMIAL_SIZE - 1)]);
    return from & POLYNOMIAL_SIZE ? negate(value) : value;
}

// Where a word of an extracted ciphertext goes, and the word.
struct Extracted {
    int position;
    u64 word;
};

// Of the ciphertext of coefficient `which`, (a_which, .., a_0, -a_{N-1}, .., -a_{which+1}) and
// b_which + offset: the word that coefficient `index` of a column is. Body columns have only one.
FUNCTION Extracted extracted_torus(u32 which, int column, int index, u64 word, u64 offset) {
    if (column >= GLWE_DIMENSION) {
        return {GLWE_DIMENSION * POLYNOMIAL_SIZE + column - GLWE_DIMENSION, word + offset};
    }
    int position = ((int)which - index) & (POLYNOMIAL_SIZE - 1);
    return {column * POLYNOMIAL_SIZE + position, index > (int)which ? 0 - word : word};
}

// Step 4 on the native torus, where it is the last: one word of each result, modulo 2^64.
FUNCTION void
extract_torus(const BlindRotateArguments& a, u32 job, int column, int index, Accumulator value) {
    constexpr int length = GLWE_DIMENSION * POLYNOMIAL_SIZE + PACKING;
    const u64 word = (u64)value << 32;
    const BootstrapJob& of = a.jobs[job];
    if (column < GLWE_DIMENSION || index == 0) {
        Extracted x = extracted_torus(0, column, index, word, of.output_offset);
        if constexpr (TRACE) {
            if (dumps(a, DUMP_EXTRACTED, a.steps) && job == 0) a.dump[x.position] = x.word;
        } else {
            ((u64*)a.store)[(u64)of.output * length + x.position] = x.word;
        }
    }
    if constexpr (!TRACE) {
        u32 which = of.second_coefficient;
        if (which != 0 && (column < GLWE_DIMENSION || index == (int)which)) {
            Extracted x = extracted_torus(which, column, index, word, of.second_offset);
            ((u64*)a.store)[(u64)of.second_output * length + x.position] = x.word;
        }
    }
}

// Steps 4 and 5 for one coefficient: where it goes in (a_0, -a_{N-1}, .., -a_1) and b_0 + offset,
// modulo Q_ks.
FUNCTION void
sample_extract(const BlindRotateArguments& a, u32 job, int column, int index, Accumulator value) {
    if constexpr (NATIVE_TORUS) return extract_torus(a, job, column, index, value);
    if (column >= GLWE_DIMENSION && index != 0) return;
    u64 x = stored(value);
    int position;
    if (column >= GLWE_DIMENSION) {
        x += a.jobs[job].output_offset;
        x = min(x, x - ACCUMULATOR_MODULUS);
        position = GLWE_DIMENSION * POLYNOMIAL_SIZE + column - GLWE_DIMENSION;
    } else {
        if (index != 0 && x != 0) x = ACCUMULATOR_MODULUS - x;
        position = column * POLYNOMIAL_SIZE + (index == 0 ? 0 : POLYNOMIAL_SIZE - index);
    }
    if constexpr (TRACE) {
        if (dumps(a, DUMP_EXTRACTED, a.steps) && job == 0) a.dump[position] = x;
    }
    a.switched[(u64)job * (GLWE_DIMENSION * POLYNOMIAL_SIZE + PACKING) + position] =
        switch_to_ks(x);
}
