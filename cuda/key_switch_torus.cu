// key_switch on the native torus, and the rounding of its result to exponents of X: steps before a rotation there.
//
// (0, b') - sum digit * row over balanced digits of the closest representative, modulo 2^64. A block owns CIPHERTEXTS
// ciphertexts, a tile of columns and a range of indices, so that each row is read once for all of them. Digits are kept
// as digit + B/2 >= 0 in a byte: what that adds, B/2 times the sum of all rows, stands behind the key and is taken off
// by round_torus.
#include "constants.cuh"
#include "jobs.cuh"

constexpr int INDICES = GLWE_DIMENSION * POLYNOMIAL_SIZE;
constexpr int STORED = INDICES + PACKING;          // 64-bit words of a stored ciphertext
constexpr int SWITCHED = LWE_DIMENSION + PACKING;  // of a switched one; rows are padded to KS_ROW
constexpr int CIPHERTEXTS = 8;
constexpr int COLUMNS_A_THREAD = 4;
constexpr int CHUNK = 32; // indices whose digits a block holds at once
constexpr int HALF_BASE = 1 << (LOG2_KS_BASE - 1);
static_assert(LOG2_KS_BASE <= 7, "a shifted digit fits a byte");

// Balanced digits of the multiple of 2^(64 - b L) closest to the centred x, most significant first, each plus B/2.
template <class Put> FUNCTION void shifted_digits(u64 x, const Put& put) {
    constexpr int dropped = 64 - LOG2_KS_MODULUS;
    i64 rest = ((i64)x >> dropped) + (i64)((x >> (dropped - 1)) & 1);
    for (int digit = KS_DIGITS - 1; digit > 0; digit--) {
        i64 shifted = rest + HALF_BASE;
        put(digit, (u32)(shifted & ((1 << LOG2_KS_BASE) - 1)));
        rest = shifted >> LOG2_KS_BASE;
    }
    put(0, (u32)(rest + HALF_BASE));
}

FUNCTION u64 word_of(u32 low, u32 high) { return (u64)high << 32 | low; }

extern "C" __global__ void __launch_bounds__(KS_THREADS) key_switch_torus(const TorusKeySwitchArguments a) {
    __shared__ unsigned char digits[CHUNK * KS_DIGITS][CIPHERTEXTS];
    constexpr int tiles = ceil_div(KS_ROW, KS_THREADS * COLUMNS_A_THREAD);
    const int tile = blockIdx.x % tiles;
    const u32 split = blockIdx.x / tiles % a.splits, first_job = blockIdx.x / tiles / a.splits * CIPHERTEXTS;
    const int begin = (int)((u64)INDICES * split / a.splits), end = (int)((u64)INDICES * (split + 1) / a.splits);
    const int column = (tile * KS_THREADS + (int)threadIdx.x) * COLUMNS_A_THREAD;
    // Threads beyond the row read its last vector again and write nothing.
    const int read = min(column, KS_ROW - COLUMNS_A_THREAD);
    u64 sums[CIPHERTEXTS][COLUMNS_A_THREAD];
    unroll<0, CIPHERTEXTS>([&](auto c) { unroll<0, COLUMNS_A_THREAD>([&](auto v) { sums[c][v] = 0; }); });

#pragma unroll 1
    for (int start = begin; start < end; start += CHUNK) {
        __syncthreads();
        for (int i = threadIdx.x; i < CHUNK * CIPHERTEXTS; i += KS_THREADS) {
            int ciphertext = i / CHUNK, at = i % CHUNK;
            u32 job = first_job + ciphertext;
            u64 word = job < a.job_count && start + at < end ? combine_torus_word(a.jobs[job].input, a.store, STORED, start + at, INDICES) : 0;
            shifted_digits(word, [&](int digit, u32 value) { digits[at * KS_DIGITS + digit][ciphertext] = (unsigned char)value; });
        }
        __syncthreads();
        int rows = min(CHUNK, end - start) * KS_DIGITS;
        const uint4* row = (const uint4*)(a.key + (u64)start * KS_DIGITS * KS_ROW + read);
#pragma unroll 4
        for (int i = 0; i < rows; i++, row += KS_ROW / 2) {
            uint4 first = __ldg(row), second = __ldg(row + 1);
            u64 words[COLUMNS_A_THREAD] = {word_of(first.x, first.y), word_of(first.z, first.w), word_of(second.x, second.y),
                                           word_of(second.z, second.w)};
            uint2 packed = *(const uint2*)digits[i];
            unroll<0, CIPHERTEXTS>([&](auto c) {
                u32 digit = ((c < 4 ? packed.x : packed.y) >> (c % 4 * 8)) & 0xff;
                unroll<0, COLUMNS_A_THREAD>([&](auto v) { sums[c][v] += (u64)digit * words[v]; });
            });
        }
    }

    if (column >= KS_ROW) return;
    unroll<0, CIPHERTEXTS>([&](auto c) {
        u32 job = first_job + c;
        if (job >= a.job_count) return;
        u64* out = a.sums + (u64)job * KS_ROW + column;
        unroll<0, COLUMNS_A_THREAD>([&](auto v) {
            if (a.splits > 1) {
                atomicAdd(out + v, sums[c][v]);
            } else {
                out[v] = sums[c][v];
            }
        });
    });
}

FUNCTION u32 round_to_exponent(u64 word) {
    constexpr int shift = 64 - LOG2_MONOMIALS;
    return (u32)((word + (1ull << (shift - 1))) >> shift) & ((1u << LOG2_MONOMIALS) - 1);
}

// One block a ciphertext. Rounding moves the phase by the sum of e_i s_i; binary secrets have mean 1/2, so half of the sum
// of all e_i is known and goes to the bodies before they are rounded.
extern "C" __global__ void __launch_bounds__(KS_THREADS) round_torus(const TorusKeySwitchArguments a) {
    __shared__ u64 known[KS_THREADS];
    const u32 job = blockIdx.x;
    const u64* sums = a.sums + (u64)job * KS_ROW;
    const u64* rows = a.key + (u64)INDICES * KS_DIGITS * KS_ROW; // the sum of all rows
    u16* out = a.exponents + (u64)job * SWITCHED;
    u64 errors = 0;
    for (int i = threadIdx.x; i < LWE_DIMENSION; i += KS_THREADS) {
        u64 word = HALF_BASE * rows[i] - sums[i];
        if (a.dump != nullptr && job == 0) a.dump[i] = word;
        u32 exponent = round_to_exponent(word);
        out[i] = (u16)exponent;
        errors += (u64)((i64)(((u64)exponent << (64 - LOG2_MONOMIALS)) - word) >> 1);
    }
    known[threadIdx.x] = GGSW == 1 ? errors : 0;
    __syncthreads();
    if (threadIdx.x < PACKING) {
        u64 shift = 0;
        for (int i = 0; i < KS_THREADS; i++) shift += known[i];
        int i = LWE_DIMENSION + threadIdx.x;
        u64 body = combine_torus_word(a.jobs[job].input, a.store, STORED, INDICES + threadIdx.x, INDICES);
        u64 word = body + HALF_BASE * rows[i] - sums[i];
        if (a.dump != nullptr && job == 0) a.dump[i] = word;
        out[i] = (u16)round_to_exponent(word + shift);
    }
}

EXPORT(key_switch_torus, TorusKeySwitchArguments)
EXPORT(round_torus, TorusKeySwitchArguments)
