// The map of a bootstrapping that is spread over the BLOCKS_PER_CIPHERTEXT blocks of a cluster.
//
// Block h owns subtree h of the transform: of each polynomial the PART = POINTS / BLOCKS positions from h * PART on. The
// levels above the subtrees combine BLOCKS values that lie PART apart (an orbit); every block computes of them the one output
// that its subtree needs, so the forward transform and the products need nothing from elsewhere. Only the inverse does:
// each block hands its subtree's result to all blocks, which finish the inverse and round. So the accumulator is in every
// block, in registers, an orbit a thread, and blocks meet once a step: where shared memory has room for all parts (PUSH) each
// pushes its part into the others' inboxes; else parts stay where they are, and peers read them after a barrier of the cluster.
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
static_assert(!PUSH || BLOCKS > 1, "without peers there is nobody to push to");
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

FUNCTION void cluster_barrier() {
    if constexpr (BLOCKS == 1) {
        __syncthreads();
    } else {
        cluster_arrive();
        cluster_wait();
    }
}

// Where the products of a step become whole: [2][column][word], then [rank][PART] or the own [PART], for two steps in turn,
// since a block may still read one while a peer that is ahead fills the other. Being two steps ahead takes what a block
// sends only after reading.
template <class Value> struct Exchange {
    static constexpr int LENGTH = PUSH ? BLOCKS * PART : PART;
    static constexpr int HALF = COLUMNS * WORDS_IN_SLOTS * LENGTH;
    Value* values;
    Inbox* inboxes;

    FUNCTION void open() const {
        if constexpr (PUSH) {
            if (threadIdx.x == 0) {
                inbox_open(inboxes);
                inbox_open(inboxes + 1);
            }
            cluster_barrier();
        }
    }

    FUNCTION Value* part(int step, int index) const { return values + (step & 1) * HALF + index * LENGTH; }

    // Value at `offset` of the own part `index`.
    FUNCTION void put(int step, int index, u32 rank, int offset, Value value) const {
        if constexpr (PUSH) {
            Value* own = part(step, index) + rank * PART + offset;
            unroll<0, BLOCKS>([&](auto peer) { push(own, inboxes + (step & 1), peer, value); });
        } else {
            part(step, index)[offset] = value;
        }
    }

    FUNCTION Value get(int step, int index, u32 rank, int offset) const {
        if constexpr (PUSH) {
            return part(step, index)[rank * PART + offset];
        } else if constexpr (BLOCKS == 1) {
            return part(step, index)[offset];
        } else {
            return load_peer(part(step, index) + offset, rank);
        }
    }

    // After the last `put` of a step and before its first `get`.
    FUNCTION void meet(int step) const {
        if constexpr (PUSH) {
            if (threadIdx.x == 0) inbox_expect(inboxes + (step & 1), HALF * sizeof(Value));
            inbox_wait(inboxes + (step & 1), step / 2);
        } else {
            cluster_barrier();
        }
    }

    // Before a block ends: peers may still read.
    FUNCTION void close() const {
        if constexpr (!PUSH) cluster_barrier();
    }
};

// When a thread keeps the key entries of a whole step (its ring closes with the step), it asks for the next step's in thirds
// at places of their own: more loads at once than a multiprocessor keeps in flight would hold up everything behind them.
constexpr int REFILLS = 3;

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
