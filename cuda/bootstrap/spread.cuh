// The map of a bootstrapping that is spread over the BLOCKS_PER_CIPHERTEXT blocks of a cluster.
//
// Block h owns subtree h of the transform: of each polynomial the PART = POINTS / BLOCKS positions
// from h * PART on. The levels above the subtrees combine BLOCKS values that lie PART apart: an
// orbit. Block h also owns a share of the orbits: their accumulators, and the levels above the
// subtrees of both transforms. So values cross between blocks twice a step, each once: results of
// the subtrees to the owners of orbits, digits on their way down to the owners of subtrees.
//
//   orbits     thread q owns orbit q: top of the inverse, accumulate, digits, top of the forward
//              transform
//   passes     a team of LANES threads owns a part of a polynomial: the levels of a subtree, up to
//              log2(SPREAD_ITEMS) at once
//   products   threads own positions of columns: sums over rows, monomials
//
// cuda/bootstrap/spread_ntt.cuh and spread_fft.cuh hold the two arithmetics.
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
// Orbits of one polynomial that a block owns: those at positions [h * OWN, h * OWN + OWN) of a
// part, counted as they lie in memory (`swizzle`).
constexpr int OWN = PART / BLOCKS;
constexpr int ORBITS = COLUMNS * OWN;
// Where threads are left, the levels of an orbit's digits are shared out among as many as there
// are, each of which repeats what comes before digits: share s makes levels s, s + ORBIT_SHARES, ..
// Whole warps have one share.
constexpr int ORBIT_WARPS = (ORBITS + 31) / 32 * 32;
constexpr int WHOLE_SHARES = THREADS / ORBIT_WARPS;
constexpr int ORBIT_SHARES = WHOLE_SHARES < 1 ? 1 : WHOLE_SHARES < LEVELS ? WHOLE_SHARES : LEVELS;
constexpr int ORBIT_ROUNDS = ORBIT_SHARES > 1 ? 1 : ceil_div(ORBITS, THREADS);
// Coefficients of one orbit: real parts first, then the folded half.
constexpr int ORBIT_COEFFICIENTS = FFT ? 2 * BLOCKS : BLOCKS;
static_assert(
    BLOCKS <= 8 && PART >= SPREAD_ITEMS && OWN > 0 && THREADS % LANES == 0,
    "whole parts, orbits and teams");

// Coefficient index of value i of orbit `offset`.
FUNCTION int orbit_coefficient(int offset, int i) {
    return offset + (i % BLOCKS) * PART + (i < BLOCKS ? 0 : POLYNOMIAL_SIZE / 2);
}

// A thread of a cluster of one block has no peers.
FUNCTION u32 own_rank() {
    if constexpr (BLOCKS == 1) {
        return 0;
    } else {
        return cluster_rank();
    }
}

// What blocks send each other in one direction: a box of `values` values in every block, filled
// anew in each turn by those of all peers. A block sends in a turn only what it made of all that
// came to it in the one before, and what it makes all of a box has read it to the end; so one box a
// direction will do.
template<class Value, int values>
struct Exchange {
    Value* box;
    Inbox* inbox;

    // By one thread, before a barrier of the cluster.
    FUNCTION void open() const {
        if constexpr (BLOCKS > 1) inbox_open(inbox);
    }

    FUNCTION void send(u32 rank, int index, Value value) const {
        if constexpr (BLOCKS > 1) {
            push(box + index, inbox, rank, value);
        } else {
            box[index] = value;
        }
    }

    // After the last `send` of a turn and before the box is read.
    FUNCTION void meet(int turn) const {
        if constexpr (BLOCKS > 1) {
            if (threadIdx.x == 0) inbox_expect(inbox, values * sizeof(Value));
            inbox_wait(inbox, turn);
        } else {
            __syncthreads();
        }
    }
};

// When a thread keeps the key entries of a whole step (its ring closes with the step), it asks for
// the next step's in thirds at places of their own: more loads at once than a multiprocessor keeps
// in flight would hold up everything behind them.
constexpr int REFILLS = 3;

// Between two passes of a part.
FUNCTION void lanes_barrier() {
    if constexpr (LANES <= 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

// The passes of a subtree, top first: levels
// [depth, depth + levels) of LOG2_PART, as even as they come.
CONSTANT_FUNCTION int levels_of_pass(int depth) {
    return ceil_div(LOG2_PART - depth, ceil_div(LOG2_PART - depth, LOG2_ITEMS));
}

// Value i of group `group` of the pass at `depth` lies at base + i * stride.
template<int depth>
struct Pass {
    static constexpr int LEVELS_HERE = levels_of_pass(depth);
    static constexpr int RADIX = 1 << LEVELS_HERE;
    static constexpr int STRIDE = PART >> (depth + LEVELS_HERE);
    static constexpr int GROUPS_OF_LANE = SPREAD_ITEMS / RADIX;
    static constexpr bool LAST = depth + LEVELS_HERE == LOG2_PART;
    int node; // the node of the tree at this depth, counted inside the subtree
    int base;

    FUNCTION explicit Pass(int group)
        : node(group / STRIDE), base(node * RADIX * STRIDE + group % STRIDE) {}
};

// Runs `body(part, active)` for the parts of a team: every thread takes part in every round, for
// the barriers between passes.
template<int parts, class Body>
FUNCTION void for_parts(const Body& body) {
#pragma unroll 1
    for (int round = 0; round < ceil_div(parts, PART_TEAMS); round++) {
        int part = (int)threadIdx.x / LANES + round * PART_TEAMS;
        body(part < parts ? part : parts - 1, part < parts);
    }
}
