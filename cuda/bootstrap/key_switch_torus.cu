// key_switch on the native torus, and the rounding of its result to exponents of X: steps before a
// rotation there.
//
// (0, b') - sum digit * row over balanced digits of the closest representative, modulo 2^64: a
// product of matrices, digits by key. Digits fit a signed byte and each byte of the key's words is
// a matrix of its own, so it runs on the integer tensor cores, and the eight sums of bytes are put
// together at the end. torus_digits makes the digits, key_switch_torus the product,
// round_torus the exponents.
//
// A step of the product is one digit of 32 indices. Digits and key lie in memory as threads read
// them (`multiply_bytes` of cuda/lib/platform.cuh), 16 bytes a thread: digits [16
// ciphertexts][step][thread of a warp], the key [step][8 columns] [2 bytes of a word][thread].
#include "constants.cuh"
#include "jobs.cuh"

constexpr int INDICES = GLWE_DIMENSION * POLYNOMIAL_SIZE;
constexpr int STORED = INDICES + PACKING;         // 64-bit words of a stored ciphertext
constexpr int SWITCHED = LWE_DIMENSION + PACKING; // of a switched one; rows are padded to KS_ROW
constexpr int CHUNK = 32;                         // indices of a step
constexpr int CHUNKS = ceil_div(INDICES, CHUNK);
constexpr int STEPS = CHUNKS * KS_DIGITS;
constexpr int FRAGMENT = 16; // ciphertexts of a fragment of digits
constexpr int WORD_BYTES = 8;
constexpr int GROUP = 8; // columns of a fragment of the key
constexpr int GROUPS_A_ROW = KS_ROW / GROUP;
// A warp takes 64 ciphertexts and 8 columns, a block of 2 by 2 warps 128 and 16.
constexpr int WARP_FRAGMENTS = 4;
constexpr int WARPS_DOWN = 2, WARPS_ACROSS = 2;
constexpr int BLOCK_FRAGMENTS = WARPS_DOWN * WARP_FRAGMENTS;
constexpr int BLOCK_CIPHERTEXTS = BLOCK_FRAGMENTS * FRAGMENT;
constexpr int BLOCK_COLUMNS = WARPS_ACROSS * GROUP;
constexpr int KEY_VECTORS =
    GROUP * WORD_BYTES * CHUNK / 16; // of 16 bytes, of a step and a group of columns
constexpr int STAGE = BLOCK_FRAGMENTS * 32 + WARPS_ACROSS * KEY_VECTORS;
constexpr int STAGES = 6;
// Tiles of ciphertexts that go through all columns before the next ones begin:
// their digits stay in L2.
constexpr int TOGETHER = 16;
static_assert(KS_ROW % BLOCK_COLUMNS == 0, "rows are whole blocks of columns");
static_assert(
    (u64)CHUNK * KS_DIGITS * KS_ROW * WORD_BYTES == KS_CHUNK_BYTES, "a key as it is uploaded");
static_assert(LOG2_KS_BASE <= 7, "the first digit, -B/2 to B/2, fits a signed byte");
static_assert(
    KS_PRODUCT_THREADS == 32 * WARPS_DOWN * WARPS_ACROSS &&
        KS_BLOCK_CIPHERTEXTS == BLOCK_CIPHERTEXTS && KS_BLOCK_COLUMNS == BLOCK_COLUMNS,
    "as launched");

// Balanced digits of the multiple of 2^(64 - b L) closest to the centred x, most significant first;
// from the last to the first.
template<class Put>
FUNCTION void balanced_digits(u64 x, const Put& put) {
    constexpr int dropped = 64 - LOG2_KS_MODULUS;
    constexpr int half = 1 << (LOG2_KS_BASE - 1);
    i64 rest = ((i64)x >> dropped) + (i64)((x >> (dropped - 1)) & 1);
    unroll<0, KS_DIGITS - 1>([&](auto i) {
        i64 shifted = rest + half;
        put(Int<KS_DIGITS - 1 - i>{}, (i32)(shifted & ((1 << LOG2_KS_BASE) - 1)) - half);
        rest = shifted >> LOG2_KS_BASE;
    });
    put(Int<0>{}, (i32)rest);
}

// A warp for 16 ciphertexts and 32 indices. Thread 4 g + t holds those of ciphertexts g and g + 8
// and of indices 4 t to 4 t + 3 and 16 more. Sums that blocks will share start from 0.
extern "C" __global__ void __launch_bounds__(KS_PRODUCT_THREADS)
    torus_digits(const TorusKeySwitchArguments a) {
    const u32 thread = blockIdx.x * KS_PRODUCT_THREADS + threadIdx.x, warp = thread / 32,
              lane = thread % 32;
    if (a.splits > 1) {
        const u64 words = (u64)a.job_count * KS_ROW, threads = (u64)gridDim.x * KS_PRODUCT_THREADS;
        for (u64 i = thread; i < words; i += threads) a.sums[i] = 0;
    }
    const u32 fragment = warp / CHUNKS, chunk = warp % CHUNKS;
    if (fragment * FRAGMENT >= a.job_count) return;
    u32 packed[KS_DIGITS][4];
    unroll<0, KS_DIGITS>(
        [&](auto d) { unroll<0, 4>([&](auto quarter) { packed[d][quarter] = 0; }); });
    unroll<0, 2>([&](auto down) {
        u32 job = fragment * FRAGMENT + 8 * down + lane / 4;
        if (job >= a.job_count) return;
        unroll<0, 2>([&](auto right) {
            unroll<0, 4>([&](auto byte) {
                int index = chunk * CHUNK + 16 * right + 4 * (lane % 4) + byte;
                u64 word =
                    INDICES % CHUNK == 0 || index < INDICES
                        ? combine_torus_word(a.jobs[job].input, a.store, STORED, index, INDICES)
                        : 0;
                balanced_digits(word, [&](auto d, i32 digit) {
                    packed[d][2 * right + down] |= ((u32)digit & 0xff) << (8 * byte);
                });
            });
        });
    });
    uint4* out = a.digits + ((u64)fragment * STEPS + chunk * KS_DIGITS) * 32 + lane;
    unroll<0, KS_DIGITS>(
        [&](auto d) { out[d * 32] = {packed[d][0], packed[d][1], packed[d][2], packed[d][3]}; });
}

struct Block {
    int first_fragment, column, begin, end;
};

// Tiles of ciphertexts change fastest, then columns, so that blocks at work together share the key.
FUNCTION Block block_of(const TorusKeySwitchArguments& a) {
    constexpr u32 across = KS_ROW / BLOCK_COLUMNS;
    const u32 tiles = (a.job_count + BLOCK_CIPHERTEXTS - 1) / BLOCK_CIPHERTEXTS;
    const u32 split = blockIdx.x % a.splits, block = blockIdx.x / a.splits;
    const u32 first_tile = block / (TOGETHER * across) * TOGETHER,
              rest = block % (TOGETHER * across);
    const u32 together = min(tiles - first_tile, (u32)TOGETHER);
    return {
        (int)(first_tile + rest % together) * BLOCK_FRAGMENTS,
        (int)(rest / together) * BLOCK_COLUMNS, (int)((u64)STEPS * split / a.splits),
        (int)((u64)STEPS * (split + 1) / a.splits)};
}

// Three blocks a multiprocessor, as of blind_rotate:
// one of these fits where one of those has ended.
extern "C" __global__ void __launch_bounds__(KS_PRODUCT_THREADS, 3)
    key_switch_torus(const TorusKeySwitchArguments a) {
    __shared__ uint4 stages[STAGES][STAGE];
    const Block block = block_of(a);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / WARPS_ACROSS,
              across = warp % WARPS_ACROSS;
    const int last_fragment = (int)(a.job_count - 1) / FRAGMENT;

    // Each thread copies the same places of every step. Fragments beyond the last are not copied,
    // and what comes of them is written nowhere.
    constexpr int digit_copies = BLOCK_FRAGMENTS * 32 / KS_PRODUCT_THREADS,
                  key_copies = WARPS_ACROSS * KEY_VECTORS / KS_PRODUCT_THREADS;
    const uint4* digits[digit_copies];
    bool exists[digit_copies];
    unroll<0, digit_copies>([&](auto i) {
        int fragment = block.first_fragment + warp + i * (KS_PRODUCT_THREADS / 32);
        exists[i] = fragment <= last_fragment;
        digits[i] = a.digits + ((u64)fragment * STEPS + block.begin) * 32 + lane;
    });
    const uint4* key = a.key +
                       ((u64)block.begin * GROUPS_A_ROW + block.column / GROUP) * KEY_VECTORS +
                       threadIdx.x;
    auto copy = [&](int step) {
        if (step < block.end) {
            uint4* stage = stages[step % STAGES] + threadIdx.x;
            unroll<0, digit_copies>([&](auto i) {
                if (exists[i]) copy_ahead(stage + i * KS_PRODUCT_THREADS, digits[i]);
                digits[i] += 32;
            });
            unroll<0, key_copies>([&](auto i) {
                copy_ahead(
                    stage + (digit_copies + i) * KS_PRODUCT_THREADS, key + i * KS_PRODUCT_THREADS);
            });
            key += GROUPS_A_ROW * KEY_VECTORS;
        }
        end_copies();
    };

    i32 sums[WARP_FRAGMENTS][WORD_BYTES][4];
    unroll<0, WARP_FRAGMENTS>([&](auto m) {
        unroll<0, WORD_BYTES>(
            [&](auto byte) { unroll<0, 4>([&](auto i) { sums[m][byte][i] = 0; }); });
    });
    const bool needed = block.first_fragment + down * WARP_FRAGMENTS <= last_fragment;
    for (int ahead = 0; ahead < STAGES - 1; ahead++) copy(block.begin + ahead);
#pragma unroll 1
    for (int step = block.begin; step < block.end; step++) {
        wait_copies<STAGES - 2>();
        // Everyone's copies of this step are here, and everyone has done with the step before.
        __syncthreads();
        copy(step + STAGES - 1);
        if (!needed) continue;
        const uint4* stage = stages[step % STAGES];
        uint4 own[WARP_FRAGMENTS];
        unroll<0, WARP_FRAGMENTS>(
            [&](auto m) { own[m] = stage[(down * WARP_FRAGMENTS + m) * 32 + lane]; });
        unroll<0, WORD_BYTES / 2>([&](auto pair) {
            uint4 words = stage[BLOCK_FRAGMENTS * 32 + across * KEY_VECTORS + pair * 32 + lane];
            unroll<0, WARP_FRAGMENTS>([&](auto m) {
                multiply_bytes(sums[m][2 * pair], own[m], words.x, words.y);
                multiply_bytes(sums[m][2 * pair + 1], own[m], words.z, words.w);
            });
        });
    }

    if (!needed) return;
    // Thread 4 g + t has ciphertexts g and g + 8, and of each columns 2 t and 2 t + 1.
    unroll<0, 2 * WARP_FRAGMENTS>([&](auto i) {
        constexpr int m = i / 2, half = i % 2;
        u32 job =
            (block.first_fragment + down * WARP_FRAGMENTS + m) * FRAGMENT + half * 8 + lane / 4;
        if (job >= a.job_count) return;
        u64* out = a.sums + (u64)job * KS_ROW + block.column + across * GROUP + lane % 4 * 2;
        unroll<0, 2>([&](auto column) {
            u64 sum = 0;
            unroll<0, WORD_BYTES>([&](auto byte) {
                sum += (u64)(i64)sums[m][byte][2 * half + column] << (8 * byte);
            });
            if (a.splits > 1) {
                atomicAdd(out + column, sum);
            } else {
                out[column] = sum;
            }
        });
    });
}

FUNCTION u32 round_to_exponent(u64 word) {
    constexpr int shift = 64 - LOG2_MONOMIALS;
    return (u32)((word + (1ull << (shift - 1))) >> shift) & ((1u << LOG2_MONOMIALS) - 1);
}

// One block a ciphertext. Rounding moves the phase by the sum of e_i s_i; binary secrets have mean
// 1/2, so half of the sum of all e_i is known and goes to the bodies before they are rounded.
extern "C" __global__ void __launch_bounds__(KS_THREADS)
    round_torus(const TorusKeySwitchArguments a) {
    __shared__ u64 known[KS_THREADS];
    const u32 job = blockIdx.x;
    const u64* sums = a.sums + (u64)job * KS_ROW;
    u16* out = a.exponents + (u64)job * SWITCHED;
    u64 errors = 0;
    for (int i = threadIdx.x; i < LWE_DIMENSION; i += KS_THREADS) {
        u64 word = 0 - sums[i];
        if (a.dump != nullptr && job == 0) a.dump[i] = word;
        u32 exponent = round_to_exponent(word);
        out[i] = (u16)exponent;
        errors += (u64)((i64)(((u64)exponent << (64 - LOG2_MONOMIALS)) - word) >> 1);
    }
    known[threadIdx.x] = BINARY_SECRETS ? errors : 0;
    for (int others = KS_THREADS; others > 1;) {
        int left = (others + 1) / 2;
        __syncthreads();
        if ((int)threadIdx.x + left < others) known[threadIdx.x] += known[threadIdx.x + left];
        others = left;
    }
    __syncthreads();
    if (threadIdx.x < PACKING) {
        int i = LWE_DIMENSION + threadIdx.x;
        u64 body =
            combine_torus_word(a.jobs[job].input, a.store, STORED, INDICES + threadIdx.x, INDICES);
        u64 word = body - sums[i];
        if (a.dump != nullptr && job == 0) a.dump[i] = word;
        out[i] = (u16)round_to_exponent(word + known[0]);
    }
}

EXPORT(torus_digits, TorusKeySwitchArguments)
EXPORT(key_switch_torus, TorusKeySwitchArguments)
EXPORT(round_torus, TorusKeySwitchArguments)
