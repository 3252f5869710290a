// key_switch and mod_switch to the output modulus: steps 6 and 7 of a bootstrapping, one block a ciphertext.
//
// A streaming gather: (0, b') minus one table row for each digit. All blocks walk the table in the same order, so that
// rows in use stay in L2. Digits of 0 read the row of zeros behind the table: no branch, many rows in flight.
#include "constants.cuh"
#include "jobs.cuh"

// Stored words are as wide as Q_ks needs: 2 or 4 bytes, or 5 of which the row holds first all low 4, then all high ones.
// Sums wrap modulo their width, which Q_ks divides.
template <bool wide> struct KsSum {
    typedef u32 type;
};
template <> struct KsSum<true> {
    typedef u64 type;
};
constexpr bool WIDE = KS_WORD_BYTES == 5;
typedef KsSum<WIDE>::type Sum;

constexpr int LENGTH = LWE_DIMENSION + PACKING;
constexpr int INDICES = GLWE_DIMENSION * POLYNOMIAL_SIZE;
// Words that a thread reads at once; rows are padded to whole vectors.
constexpr int VECTOR = KS_WORD_BYTES == 4 ? 2 : 4;
constexpr int ROW_VECTORS = KS_ROW / VECTOR;
constexpr u64 ROW_BYTES = (u64)KS_ROW * KS_WORD_BYTES;
constexpr int VALUES = (1 << LOG2_KS_BASE) - 1;
// Vectors of one thread where a row is longer than the block.
constexpr int HELD = ceil_div(ROW_VECTORS, KS_THREADS);
constexpr int CHUNK = 256;
constexpr int IN_FLIGHT = 16;

struct Vector {
    uint4 low;
    u32 high;

    FUNCTION static Vector load(const char* row, int vector) {
        Vector v = {};
        if constexpr (WIDE) {
            v.low = __ldg((const uint4*)row + vector);
            v.high = __ldg((const u32*)(row + KS_ROW * 4) + vector);
        } else {
            uint2 words = __ldg((const uint2*)row + vector);
            v.low.x = words.x;
            v.low.y = words.y;
        }
        return v;
    }

    FUNCTION void add_to(Sum (&sums)[VECTOR]) const {
        if constexpr (WIDE) {
            sums[0] += ((u64)(high & 0xff) << 32) | low.x;
            sums[1] += ((u64)((high >> 8) & 0xff) << 32) | low.y;
            sums[2] += ((u64)((high >> 16) & 0xff) << 32) | low.z;
            sums[3] += ((u64)(high >> 24) << 32) | low.w;
        } else if constexpr (KS_WORD_BYTES == 4) {
            sums[0] += low.x;
            sums[1] += low.y;
        } else {
            sums[0] += low.x & 0xffff;
            sums[1] += low.x >> 16;
            sums[2] += low.y & 0xffff;
            sums[3] += low.y >> 16;
        }
    }
};

extern "C" __global__ void __launch_bounds__(KS_THREADS) key_switch(const KeySwitchArguments a) {
    __shared__ u32 rows[CHUNK]; // row of each (index, digit) of this chunk
    constexpr u32 ZEROS = (u32)INDICES * KS_DIGITS * VALUES;
    const u64* input = a.switched + (u64)blockIdx.x * (INDICES + PACKING);
    Sum sums[HELD][VECTOR];
    unroll<0, HELD>([&](auto h) { unroll<0, VECTOR>([&](auto v) { sums[h][v] = 0; }); });

#pragma unroll 1
    for (int start = 0; start < INDICES * KS_DIGITS; start += CHUNK) {
        __syncthreads();
        for (int i = threadIdx.x; i < CHUNK; i += KS_THREADS) {
            int at = start + i;
            u32 value = at < INDICES * KS_DIGITS ? (u32)(input[at / KS_DIGITS] >> (at % KS_DIGITS * LOG2_KS_BASE)) & VALUES : 0;
            rows[i] = value != 0 ? (u32)at * VALUES + value - 1 : ZEROS;
        }
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < CHUNK; i += IN_FLIGHT) {
            unroll<0, HELD>([&](auto h) {
                // Threads beyond the row read its last vector again and write nothing.
                int vector = min((int)threadIdx.x + h * KS_THREADS, ROW_VECTORS - 1);
                Vector read[IN_FLIGHT];
                unroll<0, IN_FLIGHT>([&](auto k) { read[k] = Vector::load((const char*)a.key + rows[i + k] * ROW_BYTES, vector); });
                unroll<0, IN_FLIGHT>([&](auto k) { read[k].add_to(sums[h]); });
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
