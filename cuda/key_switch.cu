// key_switch and mod_switch to the output modulus: steps 6 and 7 of a bootstrapping, one block a ciphertext.
//
// A streaming gather: (0, b') minus one table row for each non-zero digit. All blocks walk the table in the same
// order, so that rows in use stay in L2.
#include "constants.cuh"
#include "jobs.cuh"

// Table words are as wide as Q_ks needs; sums wrap modulo their width, which Q_ks divides.
template <int bytes> struct KsWord {
    typedef u16 type;
};
template <> struct KsWord<4> {
    typedef u32 type;
};
template <> struct KsWord<8> {
    typedef u64 type;
};
typedef KsWord<KS_WORD_BYTES>::type Stored;
typedef KsWord<KS_WORD_BYTES == 2 ? 4 : KS_WORD_BYTES>::type Sum;

constexpr int LENGTH = LWE_DIMENSION + PACKING;
constexpr int INDICES = GLWE_DIMENSION * POLYNOMIAL_SIZE;
// Words of 8 bytes that a thread reads at once; rows are padded to whole vectors.
constexpr int VECTOR = 8 / KS_WORD_BYTES;
constexpr int ROW_VECTORS = KS_ROW / VECTOR;
constexpr int VALUES = (1 << LOG2_KS_BASE) - 1;
// Vectors of one thread where a row is longer than the block.
constexpr int HELD = ceil_div(ROW_VECTORS, KS_THREADS);
constexpr int CHUNK = 256;

FUNCTION void add_vector(Sum (&sums)[VECTOR], uint2 v) {
    if constexpr (KS_WORD_BYTES == 2) {
        sums[0] += v.x & 0xffff;
        sums[1] += v.x >> 16;
        sums[2] += v.y & 0xffff;
        sums[3] += v.y >> 16;
    } else if constexpr (KS_WORD_BYTES == 4) {
        sums[0] += v.x;
        sums[1] += v.y;
    } else {
        sums[0] += ((u64)v.y << 32) | v.x;
    }
}

extern "C" __global__ void __launch_bounds__(KS_THREADS) key_switch(const KeySwitchArguments a) {
    __shared__ u32 rows[CHUNK]; // row of each (index, digit) of this chunk, or none
    constexpr u32 NONE = 0xffffffffu;
    const u64* input = a.switched + (u64)blockIdx.x * (INDICES + PACKING);
    Sum sums[HELD][VECTOR];
    unroll<0, HELD>([&](auto h) { unroll<0, VECTOR>([&](auto v) { sums[h][v] = 0; }); });

#pragma unroll 1
    for (int start = 0; start < INDICES * KS_DIGITS; start += CHUNK) {
        __syncthreads();
        for (int i = threadIdx.x; i < CHUNK; i += KS_THREADS) {
            int at = start + i;
            u32 row = NONE;
            if (at < INDICES * KS_DIGITS) {
                u32 value = (u32)(input[at / KS_DIGITS] >> (at % KS_DIGITS * LOG2_KS_BASE)) & VALUES;
                if (value != 0) row = (u32)at * VALUES + value - 1;
            }
            rows[i] = row;
        }
        __syncthreads();
#pragma unroll 16
        for (int i = 0; i < CHUNK; i++) {
            u32 row = rows[i];
            unroll<0, HELD>([&](auto h) {
                int vector = threadIdx.x + h * KS_THREADS;
                if (row != NONE && vector < ROW_VECTORS) add_vector(sums[h], __ldg((const uint2*)a.key + (u64)row * ROW_VECTORS + vector));
            });
        }
    }

    const BootstrapJob& job = a.jobs[blockIdx.x];
    constexpr u64 mask = (1ull << LOG2_KS_MODULUS) - 1;
    unroll<0, HELD>([&](auto h) {
        unroll<0, VECTOR>([&](auto v) {
            int position = (threadIdx.x + h * KS_THREADS) * VECTOR + v;
            if (position < LENGTH) {
                u64 body = position >= LWE_DIMENSION ? input[INDICES + position - LWE_DIMENSION] : 0;
                u64 word = (body - sums[h][v]) & mask;
                if (a.dump != nullptr && blockIdx.x == 0) a.dump[position] = word;
                int shift = LOG2_KS_MODULUS - job.log2_output_modulus;
                u64 half = (1ull << shift) >> 1;
                a.store[(u64)job.output * LENGTH + position] = (u32)((word + half) >> shift) & ((1u << job.log2_output_modulus) - 1);
            }
        });
    });
}

EXPORT(key_switch, KeySwitchArguments)
