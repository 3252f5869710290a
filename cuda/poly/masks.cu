// poly_masks: uniform residues of public seeds, as masks of keys lie on a device. A block expands
// one limb, THREADS blocks of its stream at a time.
//
// The stream is that of ChaCha20. Each of its words x gives floor(x q / 2^32), or nothing where
// x q mod 2^32 < 2^32 mod q (Lemire, "Fast random integer generation in an interval", 2019): where
// a thread's words go depends on how many were taken before.
#include "constants.cuh"
#include "platform.cuh"

constexpr u32 DEGREE = 1 << LOG2_DEGREE;
constexpr int THREADS = 256;

struct MaskRecord {
    u32 key[8], nonce[2];
    // 2^32 mod q: what products must reach, and what residues are multiplied by, since they lie
    // times 2^32; with its quotient floor(2^32 threshold / q).
    u32 q, threshold, quotient;
    u32 unused;
    u32 address[2];
};

struct MasksArguments {
    const MaskRecord* records; // one a block
};
static_assert(
    sizeof(MaskRecord) == MASK_RECORD_BYTES && sizeof(MasksArguments) == MASKS_ARGUMENTS_BYTES,
    "records as the host writes them");

FUNCTION u32 rotated(u32 x, int by) { return (x << by) | (x >> (32 - by)); }

FUNCTION void quarter_round(u32& a, u32& b, u32& c, u32& d) {
    a += b, d = rotated(d ^ a, 16);
    c += d, b = rotated(b ^ c, 12);
    a += b, d = rotated(d ^ a, 8);
    c += d, b = rotated(b ^ c, 7);
}

// Block `counter` of a stream.
FUNCTION void stream_block(u32 (&x)[16], const MaskRecord& r, u32 counter) {
    const u32 start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, r.key[0],   r.key[1],
                           r.key[2],   r.key[3],   r.key[4],   r.key[5],   r.key[6],   r.key[7],
                           counter,    0,          r.nonce[0], r.nonce[1]};
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = start[i];
#pragma unroll 1
    for (int round = 0; round < 10; round++) {
#pragma unroll
        for (int i = 0; i < 4; i++) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
#pragma unroll
        for (int i = 0; i < 4; i++)
            quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] += start[i];
}

extern "C" __global__ void __launch_bounds__(THREADS) poly_masks(MasksArguments a) {
    DYNAMIC_SHARED(shared);
    u32 *counts = (u32*)shared, *sums = counts + THREADS;
    const MaskRecord r = a.records[blockIdx.x];
    u32* out = (u32*)(((u64)r.address[1] << 32) | r.address[0]);
    const u32 thread = threadIdx.x;
    for (u32 begin = 0, counter = thread; begin < DEGREE; counter += THREADS) {
        u32 x[16], count = 0;
        stream_block(x, r, counter);
#pragma unroll
        for (int i = 0; i < 16; i++) count += x[i] * r.q >= r.threshold;
        // How many words this thread and those before it take: eight steps end where they began.
        counts[thread] = count;
        u32 *from = counts, *to = sums;
#pragma unroll 1
        for (u32 step = 1; step < THREADS; step *= 2) {
            __syncthreads();
            to[thread] = from[thread] + (thread >= step ? from[thread - step] : 0);
            u32* last = from;
            from = to, to = last;
        }
        __syncthreads();
        u32 place = begin + counts[thread] - count;
        begin += counts[THREADS - 1];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            if (x[i] * r.q >= r.threshold && place < DEGREE) {
                const u32 mask = __umulhi(x[i], r.q);
                const u32 y = mask * r.threshold - __umulhi(mask, r.quotient) * r.q;
                out[place] = least_sum(y, 0u - r.q);
            }
            place += x[i] * r.q >= r.threshold;
        }
    }
}
EXPORT(poly_masks, MasksArguments)
