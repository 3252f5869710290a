// Who holds what: the map between polynomials, threads, registers and workgroup memory.
//
// A polynomial of POINTS values (N words for the NTT, N/2 complex numbers for the FFT) belongs to a
// team of POINTS/16 threads, 16 values a thread. Its index is written in mixed radix (b, e, j), b
// the top four bits, e < SECOND_RADIX, j < TAIL: index = b * TEAM + e * TAIL + j.
//
//   first pass    thread (e, j), registers over b: four levels, the same roots in every thread
//   second pass   thread (b, j), registers over e: up to four levels, roots by b
//   tail          thread f = (b, e) of the whole block, registers over j: the last levels, done by
//                 the product phase
//
// Between the passes a polynomial lives in its slot of workgroup memory; a thread writes where it
// last read, so one synchronisation of the team serves an exchange. Within a warp the 32 words (or
// 8 times 16 bytes) of every access fall into different banks in all three views: slots are
// XOR-swizzled, or, for complex numbers where memory allows, have a gap behind each b, so that a
// thread's values lie at constant distances and need no address of their own.
#pragma once
#include "constants.cuh"
#include "platform.cuh"

constexpr int POINTS = FFT ? POLYNOMIAL_SIZE / 2 : POLYNOMIAL_SIZE;
constexpr int ITEMS = 16;
constexpr int TEAM = POINTS / ITEMS;
constexpr int SECOND_RADIX = TEAM < 16 ? TEAM : 16;
constexpr int TAIL = TEAM / SECOND_RADIX;
// Sub-transforms of one thread in the second pass (more than one only for
// the smallest polynomials).
constexpr int SUBS = ITEMS / SECOND_RADIX;
constexpr int FREQUENCY_GROUPS = POINTS / TAIL;
// With GAPS the sixteen values of one b and j are followed by a gap.
constexpr int LINE = SECOND_RADIX + (GAPS ? 1 : 0);
constexpr int SLOT_POINTS = TAIL * 16 * LINE;
constexpr int ROWS = LEVELS * COLUMNS;
constexpr int POLYNOMIALS = GROUPS * COLUMNS;
constexpr int TEAMS = THREADS / TEAM;
constexpr int ROUNDS = ceil_div(POLYNOMIALS, TEAMS);
// Teams inside a warp stay with it through rounds in which they have no polynomial, each on a
// polynomial of its own that nobody else reads, so the tile has room for those too.
constexpr int STORED_GROUPS = TEAM < 32 ? ceil_div(ROUNDS * TEAMS, COLUMNS) : GROUPS;
constexpr bool ACCUMULATOR_IN_REGISTERS = ROUNDS == 1;
// Coefficients of one polynomial that one thread holds.
constexpr int COEFFICIENTS = FFT ? 2 * ITEMS : ITEMS;
static_assert(!GAPS || (FFT && SECOND_RADIX == 16), "gaps follow sixteen complex numbers");
static_assert(THREADS % TEAM == 0 && THREADS % 32 == 0, "whole teams and whole warps");
static_assert(TEAM <= 32 || TEAMS <= 15, "one named barrier a team");

// Bytes of shared memory are asked for in vectors of 16.
CONSTANT_FUNCTION unsigned long long whole_vectors(unsigned long long bytes) {
    return (bytes + 15) / 16 * 16;
}

struct Place {
    int team;   // which team of the block
    int thread; // which thread of the team
};

FUNCTION Place place() { return {(int)threadIdx.x / TEAM, (int)threadIdx.x % TEAM}; }

FUNCTION void team_barrier(int team) {
    if constexpr (TEAM <= 32) {
        __syncwarp();
    } else {
        named_barrier<TEAM>(1 + team);
    }
}

// Index of the first-pass value b = 0 of a thread; value b is at + b * TEAM.
FUNCTION int first_index(int thread) {
    return (thread % SECOND_RADIX) * TAIL + thread / SECOND_RADIX;
}

// Offset in a slot of first-pass value b of a thread.
FUNCTION int first_offset(int thread, int b) {
    int e = thread % SECOND_RADIX, j = thread / SECOND_RADIX;
    if constexpr (GAPS) {
        return j * 16 * LINE + e + b * LINE;
    } else if constexpr (SECOND_RADIX == 16) {
        return (j * 256 + (j & 1) * 16 + e) ^ (b * 17);
    } else {
        return b * SECOND_RADIX + e;
    }
}

// The block b of sub-transform `sub` of a thread in the second pass.
FUNCTION int second_block(int thread, int sub) {
    return SECOND_RADIX == 16 ? thread % 16 : thread + TEAM * sub;
}

// Offset in a slot of second-pass value e of a thread.
FUNCTION int second_offset(int thread, int sub, int e) {
    int b = second_block(thread, sub);
    if constexpr (GAPS) {
        return thread / 16 * 16 * LINE + b * LINE + e;
    } else if constexpr (SECOND_RADIX == 16) {
        int j = thread / 16;
        return (j * 256 + ((b ^ (j & 1)) * 16) + b) ^ e;
    } else {
        return b * SECOND_RADIX + e;
    }
}

// Offset in a slot of value j of frequency group f = b * SECOND_RADIX + e.
FUNCTION int frequency_offset(int f, int j) {
    if constexpr (GAPS) {
        return j * 16 * LINE + f / 16 * LINE + f % 16;
    } else if constexpr (SECOND_RADIX == 16) {
        int b = f / 16, e = f % 16;
        return j * 256 + ((b ^ (j & 1)) * 16) + (e ^ b);
    } else {
        return f;
    }
}

// Which slot holds row (level, column) of ciphertext `group`, word `word`. Products of column c
// reuse level 0.
CONSTANT_FUNCTION int slot(int group, int level, int column, int word) {
    return ((group * LEVELS + level) * COLUMNS + column) * WORDS_IN_SLOTS + word;
}

FUNCTION u32 reverse_bits(u32 x, int bits) { return bits == 0 ? 0 : __brev(x) >> (32 - bits); }
