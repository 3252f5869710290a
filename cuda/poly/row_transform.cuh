// Transforms of rows of 1,024 points, a warp each: 32 words a thread, 1,024 = 32 x 32, one exchange
// in between. Shorter rows (the whole limb then) take a plain way.
#pragma once
#include "modular.cuh"

// A row in shared memory has four words of padding behind 32: rows of 32 and columns of them are
// then read and written without conflicts, in units of 16 bytes or of one word.
CONSTANT_FUNCTION int padded(int word) { return word / 32 * 36 + word % 32; }

// Factors of the last five stages, made from five words and the prime's 16 constants: tables of all
// would push everything else out of L2.
template<bool wide>
struct LastFactors {
    const u32 (&first)[5];
    const uint4* steps;
    double quotient;

    FUNCTION LastFactors(const u32 (&five)[5], const uint2* constants, double of_prime)
        : first(five), steps((const uint4*)constants), quotient(of_prime) {}

    FUNCTION uint2 at(const Field<wide>& f, int stage, int block) const {
        u32 w = first[stage];
        if (block != 0) {
            const uint2 step = half_of(__ldg(steps + block / 2), block % 2);
            w = f.once(f.times(w, step.x, step.y));
        }
        return uint2{w, quotient_of(w, quotient)};
    }
};

// Factors of the first five stages, the same for all threads.
struct FirstFactors {
    const uint4* pairs;

    template<class F>
    FUNCTION uint2 at(const F&, int stage, int block) const {
        const int slot = (1 << stage) + block;
        return half_of(pairs[slot / 2], slot % 2);
    }
};

// One stage of a transform of `points` points in registers.
template<int points, int stage, bool fresh, class F, class Factors>
FUNCTION void forward_stage(u32* x, const F& f, const Factors& factors) {
    constexpr int distance = points >> (stage + 1);
#pragma unroll
    for (int block = 0; block < 1 << stage; block++) {
        const uint2 w = factors.at(f, stage, block);
#pragma unroll
        for (int j = 0; j < distance; j++) {
            const int a = block * 2 * distance + j;
            f.template forward<fresh>(x[a], x[a + distance], w.x, w.y);
        }
    }
}

template<int points, int stage, class F, class Factors>
FUNCTION void inverse_stage(u32* x, const F& f, const Factors& factors) {
    constexpr int distance = points >> (stage + 1);
#pragma unroll
    for (int block = 0; block < 1 << stage; block++) {
        const uint2 w = factors.at(f, stage, block);
#pragma unroll
        for (int j = 0; j < distance; j++) {
            const int a = block * 2 * distance + j;
            f.inverse(x[a], x[a + distance], w.x, w.y);
        }
    }
}

// `fresh`: the values are canonical.
template<bool fresh, class F, class Factors>
FUNCTION void forward_five(u32 (&x)[32], const F& f, const Factors& factors) {
    forward_stage<32, 0, fresh>(x, f, factors);
    forward_stage<32, 1, false>(x, f, factors);
    forward_stage<32, 2, false>(x, f, factors);
    forward_stage<32, 3, false>(x, f, factors);
    forward_stage<32, 4, false>(x, f, factors);
}

template<class F, class Factors>
FUNCTION void inverse_five(u32 (&x)[32], const F& f, const Factors& factors) {
    inverse_stage<32, 4>(x, f, factors);
    inverse_stage<32, 3>(x, f, factors);
    inverse_stage<32, 2>(x, f, factors);
    inverse_stage<32, 1>(x, f, factors);
    inverse_stage<32, 0>(x, f, factors);
}

// Words 32 lane to 32 lane + 31 of a padded row.
FUNCTION void take_own(u32 (&x)[32], const u32* row, int lane) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
        const uint4 v = *(const uint4*)(row + lane * 36 + 4 * m);
        x[4 * m] = v.x, x[4 * m + 1] = v.y, x[4 * m + 2] = v.z, x[4 * m + 3] = v.w;
    }
}

FUNCTION void put_own(const u32 (&x)[32], u32* row, int lane) {
#pragma unroll
    for (int m = 0; m < 8; m++)
        *(uint4*)(row + lane * 36 + 4 * m) =
            make_uint4(x[4 * m], x[4 * m + 1], x[4 * m + 2], x[4 * m + 3]);
}

// From words lane + 32 k to words 32 lane + k, and back.
FUNCTION void exchange_forward(u32 (&x)[32], u32* row, int lane) {
#pragma unroll
    for (int k = 0; k < 32; k++) row[k * 36 + lane] = x[k];
    __syncwarp();
    take_own(x, row, lane);
    __syncwarp();
}

FUNCTION void exchange_inverse(u32 (&x)[32], u32* row, int lane) {
    __syncwarp();
    put_own(x, row, lane);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 32; k++) x[k] = row[k * 36 + lane];
}

// A half transformed row of 1,024 in memory holds word lane + 32 k at place 128 (k / 4) + 4 lane +
// k % 4: a thread's words are then whole units of 16 bytes.
template<class Load>
FUNCTION void take_half(u32 (&x)[32], const u32* row, int lane, const Load& load) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
        const uint4 v = load((const uint4*)(row + m * 128 + lane * 4));
        x[4 * m] = v.x, x[4 * m + 1] = v.y, x[4 * m + 2] = v.z, x[4 * m + 3] = v.w;
    }
}

FUNCTION void put_half(const u32 (&x)[32], u32* row, int lane) {
#pragma unroll
    for (int m = 0; m < 8; m++) {
        store_limb(
            (uint4*)(row + m * 128 + lane * 4),
            make_uint4(x[4 * m], x[4 * m + 1], x[4 * m + 2], x[4 * m + 3]));
    }
}

// A short row in place in a padded row, by one warp.
template<int points>
FUNCTION void forward_short(u32* row, const uint2* table, const Field<true>& f, int lane) {
    for (int blocks = 1; blocks < points; blocks *= 2) {
        const int distance = points / 2 / blocks;
        __syncwarp();
        for (int b = lane; b < points / 2; b += 32) {
            const int block = b / distance, a = block * 2 * distance + b % distance;
            const uint2 w = __ldg(table + blocks + block);
            f.forward<false>(row[padded(a)], row[padded(a + distance)], w.x, w.y);
        }
    }
    __syncwarp();
}

template<int points>
FUNCTION void inverse_short(u32* row, const uint2* table, const Field<true>& f, int lane) {
    for (int blocks = points / 2; blocks >= 1; blocks /= 2) {
        const int distance = points / 2 / blocks;
        __syncwarp();
        for (int b = lane; b < points / 2; b += 32) {
            const int block = b / distance, a = block * 2 * distance + b % distance;
            const uint2 w = __ldg(table + blocks + block);
            f.inverse(row[padded(a)], row[padded(a + distance)], w.x, w.y);
        }
    }
    __syncwarp();
}
