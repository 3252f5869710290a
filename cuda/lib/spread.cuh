// The map of a bootstrapping that is spread over the BLOCKS_PER_CIPHERTEXT blocks of a cluster.
//
// Block h owns subtree h of the transform: of each polynomial the PART = POINTS / BLOCKS positions from h * PART on. The
// levels above the subtrees combine BLOCKS values that lie PART apart (an orbit); every block computes of them the one output
// that its subtree needs, so the forward transform and the products need nothing from elsewhere. Only the inverse does:
// each block leaves its subtree's result in its shared memory, and after one barrier of the cluster all blocks read all
// parts, finish the inverse, and round. So the accumulator is in every block, in registers, an orbit a thread.
//
//   orbits     thread q owns orbit q of the K polynomials: top of the inverse, accumulate, digits, own path of the forward
//   passes     a team of LANES threads owns a part of a polynomial: the levels of a subtree, up to log2(SPREAD_ITEMS) at once
//   products   threads own positions of columns: sums over rows, monomials
//
// cuda/lib/spread_ntt.cuh and spread_fft.cuh hold the two arithmetics.
#pragma once
#include "constants.cuh"
#include "platform.cuh"
#include "tile.cuh"

constexpr int BLOCKS = BLOCKS_PER_CIPHERTEXT;
constexpr int LOG2_BLOCKS = log2_of(BLOCKS);
constexpr int PART = POINTS / BLOCKS;
constexpr int LOG2_PART = log2_of(PART);
constexpr int LOG2_ITEMS = log2_of(SPREAD_ITEMS);
constexpr int LANES = PART / SPREAD_ITEMS;
constexpr int PART_TEAMS = THREADS / LANES;
constexpr int ORBITS = COLUMNS * PART;
constexpr int ORBIT_ROUNDS = ceil_div(ORBITS, THREADS);
// Coefficients of one orbit: real parts first, then the folded half.
constexpr int ORBIT_COEFFICIENTS = FFT ? 2 * BLOCKS : BLOCKS;
static_assert(BLOCKS <= 8 && PART >= SPREAD_ITEMS && THREADS % LANES == 0, "whole parts and whole teams");

// Coefficient index of value i of orbit `offset`.
FUNCTION int orbit_coefficient(int offset, int i) { return offset + (i % BLOCKS) * PART + (i < BLOCKS ? 0 : POLYNOMIAL_SIZE / 2); }

// A thread of a cluster of one block has no peers.
FUNCTION u32 own_rank() {
    if constexpr (BLOCKS == 1) {
        return 0;
    } else {
        return cluster_rank();
    }
}

FUNCTION void parts_arrive() {
    if constexpr (BLOCKS == 1) {
        __syncthreads();
    } else {
        cluster_arrive();
    }
}

FUNCTION void parts_wait() {
    if constexpr (BLOCKS > 1) cluster_wait();
}

template <class Value> FUNCTION Value load_part(const Value* own, u32 rank) {
    if constexpr (BLOCKS == 1) {
        return *own;
    } else {
        return load_peer(own, rank);
    }
}

// Between two passes of a part.
FUNCTION void lanes_barrier() {
    if constexpr (LANES <= 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

// The passes of a subtree, top first: levels [depth, depth + levels) of LOG2_PART, as even as they come.
CONSTANT_FUNCTION int levels_of_pass(int depth) { return ceil_div(LOG2_PART - depth, ceil_div(LOG2_PART - depth, LOG2_ITEMS)); }

// Value i of group `group` of the pass at `depth` lies at base + i * stride.
template <int depth> struct Pass {
    static constexpr int LEVELS_HERE = levels_of_pass(depth);
    static constexpr int RADIX = 1 << LEVELS_HERE;
    static constexpr int STRIDE = PART >> (depth + LEVELS_HERE);
    static constexpr int GROUPS_OF_LANE = SPREAD_ITEMS / RADIX;
    static constexpr bool LAST = depth + LEVELS_HERE == LOG2_PART;
    int node; // the node of the tree at this depth, counted inside the subtree
    int base;

    FUNCTION explicit Pass(int group) : node(group / STRIDE), base(node * RADIX * STRIDE + group % STRIDE) {}
};

// Runs `body(part, active)` for the parts of a team: every thread takes part in every round, for the barriers between passes.
template <int parts, class Body> FUNCTION void for_parts(const Body& body) {
#pragma unroll 1
    for (int round = 0; round < ceil_div(parts, PART_TEAMS); round++) {
        int part = (int)threadIdx.x / LANES + round * PART_TEAMS;
        body(part < parts ? part : parts - 1, part < parts);
    }
}
