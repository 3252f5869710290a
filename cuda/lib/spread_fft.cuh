// The f64 FFT of a bootstrapping that is spread over blocks: the tree and the butterflies of fft.cuh.
#pragma once
#include "fft.cuh"
#include "spread.cuh"

typedef double2 Value;
constexpr int ROOTS_OF_PART = PART;

// Spreads the accesses of a pass over the banks: eight neighbours of 16 bytes fall into different ones in all passes. Linear
// over bits, so that the sum of a base and a multiple of the stride moves to the XOR of what each moves to.
CONSTANT_FUNCTION int swizzle(int i) {
    int line = i >> 3;
    return i ^ ((line & 1) * 7) ^ ((line >> 1 & 1) * 5) ^ ((line >> 2 & 1) * 6) ^ ((line >> 3 & 1) * 4);
}

// exp(..) of node (level, block) of the own subtree, entry 2^level + block.
FUNCTION void load_roots(double2* roots, const BlindRotateArguments& a, u32 rank) {
    for (int i = 1 + threadIdx.x; i < PART; i += THREADS) {
        int level = 31 - __clz(i);
        roots[i] = ((const double2*)a.roots)[(BLOCKS << level) + (rank << level) + i - (1 << level)];
    }
}

// One level of digits of an orbit through the levels above the subtrees: one value for each, to `send(word, block, value)`.
template <int level, class Send> FUNCTION void forward_orbit(const Accumulator* held, const Send& send) {
    double2 x[BLOCKS];
    unroll<0, BLOCKS>([&](auto i) { x[i] = make_double2(digit_value<level>(held[i]), digit_value<level>(held[i + BLOCKS])); });
    forward_levels<BLOCKS, 0>(x, FirstRoots());
    unroll<0, BLOCKS>([&](auto i) { send(0, i, x[i]); });
}

// Adds what the subtrees made of one step's product, OWN apart, to an orbit.
FUNCTION void inverse_orbit(const double2* results, Accumulator* held) {
    double2 x[BLOCKS];
    unroll<0, BLOCKS>([&](auto i) { x[i] = results[i * OWN]; });
    inverse_levels<BLOCKS, 0>(x, FirstRoots());
    unroll<0, BLOCKS>([&](auto i) {
        held[i] = add_product(held[i], x[i].x, 1.0);
        held[i + BLOCKS] = add_product(held[i + BLOCKS], x[i].y, 1.0);
    });
}

struct NodeRoots {
    const double2* table;
    int depth, node;
    FUNCTION double2 operator()(int level, int pair) const { return table[(1 << (depth + level)) + (node << level) + 2 * pair]; }
};

// One pass of a part; results go to `put(position, value)`.
template <bool forward, int depth, class Put>
FUNCTION void run_pass(const double2* roots, const double2* part, int, int lane, const Put& put) {
    using P = Pass<depth>;
    unroll<0, P::GROUPS_OF_LANE>([&](auto g) {
        P at(lane + g * LANES);
        int base = swizzle(at.base);
        double2 x[P::RADIX];
        unroll<0, P::RADIX>([&](auto i) { x[i] = part[base ^ swizzle(i * P::STRIDE)]; });
        NodeRoots node{roots, depth, at.node};
        if constexpr (forward) {
            forward_levels<P::RADIX, 0>(x, node);
        } else {
            inverse_levels<P::RADIX, 0>(x, node);
        }
        unroll<0, P::RADIX>([&](auto i) { put(base ^ swizzle(i * P::STRIDE), x[i]); });
    });
}

constexpr int PRODUCT_ITEMS = COLUMNS * PART;
constexpr int PRODUCT_ROUNDS = ceil_div(PRODUCT_ITEMS, THREADS);
// Entries of the key that one item uses; they lie POINTS apart, those of several columns between them or not (fft.cuh).
constexpr int ITEM_ENTRIES = ROWS * GGSW;
constexpr int TURN_ENTRIES = PRODUCT_ROUNDS * ITEM_ENTRIES;
constexpr u64 STEP_ENTRIES = KEY_STEP_BYTES / 16;
static_assert(TURN_ENTRIES % SPREAD_KEY_RING == 0, "a ring closes with each step");

// Products of one step at the positions of this thread. Key entries are asked for SPREAD_KEY_RING ahead of use, those of the
// next step as early as there is room.
struct Products {
    int offset[PRODUCT_ROUNDS];   // in the digits and products of a part
    int column[PRODUCT_ROUNDS];
    u32 point[PRODUCT_ROUNDS];    // the position is the point exp(i pi point / N)
    u32 entry[PRODUCT_ROUNDS];    // of the key, inside a step
    double2 monomials[PRODUCT_ROUNDS];
    double2 ahead[SPREAD_KEY_RING];

    FUNCTION Products(const BlindRotateArguments& a, u32 rank) {
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            int item = min((int)threadIdx.x + round * THREADS, PRODUCT_ITEMS - 1);
            int position = rank * PART + item % PART, f = position / TAIL, j = position % TAIL;
            column[round] = item / PART;
            offset[round] = swizzle(item % PART);
            point[round] = 4 * reverse_bits(position, log2_of(POINTS)) + 1;
            entry[round] = column[round] * (HOLD_DIGITS ? ITEM_ENTRIES : GGSW) * POINTS + j * FREQUENCY_GROUPS + f;
        });
        const double2* key = (const double2*)a.key;
        unroll<0, SPREAD_KEY_RING>([&](auto i) { ahead[i] = load_key_now(key + entry_of<decltype(i)::v>()); });
    }

    template <int i> FUNCTION u32 entry_of() const {
        constexpr int row = i % ITEM_ENTRIES / GGSW, x = i % GGSW;
        return entry[i / ITEM_ENTRIES] + (HOLD_DIGITS ? row * GGSW + x : row * COLUMNS * GGSW + x) * POINTS;
    }

    FUNCTION void load_monomials(const BlindRotateArguments& a, u32 exponent) {
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            monomials[round] = __ldg((const double2*)a.powers + ((exponent * point[round]) & (2 * POLYNOMIAL_SIZE - 1)));
        });
    }

    template <int i> FUNCTION double2 take(const double2* now, const double2* next) {
        double2 c = ahead[i % SPREAD_KEY_RING];
        if constexpr (SPREAD_KEY_RING < TURN_ENTRIES) {
            constexpr int later = i + SPREAD_KEY_RING;
            ahead[i % SPREAD_KEY_RING] = load_key_now((later < TURN_ENTRIES ? now : next) + entry_of<later % TURN_ENTRIES>());
        }
        return c;
    }

    // Asks for a third of the entries of `step` where all are kept.
    template <int third> FUNCTION void refill(const BlindRotateArguments& a, int step) {
        if constexpr (SPREAD_KEY_RING == TURN_ENTRIES) {
            const double2* key = (const double2*)a.key + (u64)min(step, (int)a.steps - 1) * STEP_ENTRIES;
            unroll<third * TURN_ENTRIES / REFILLS, (third + 1) * TURN_ENTRIES / REFILLS>(
                [&](auto i) { ahead[i] = load_key_now(key + entry_of<decltype(i)::v>()); });
        }
    }

    FUNCTION void run(const BlindRotateArguments& a, int step, u32, const double2* digits, double2* products) {
        const double2* now = (const double2*)a.key + (u64)step * STEP_ENTRIES;
        const double2* next = step + 1 < (int)a.steps ? now + STEP_ENTRIES : now;
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            double2 sums[GGSW] = {};
            unroll<0, ROWS>([&](auto row) {
                double2 value = digits[row * PART + offset[round]];
                unroll<0, GGSW>([&](auto x) {
                    multiply_add(sums[x], value, take<(decltype(round)::v * ROWS + decltype(row)::v) * GGSW + decltype(x)::v>(now, next));
                });
            });
            double2 result = apply_monomial(sums, monomials[round]);
            if (THREADS * PRODUCT_ROUNDS == PRODUCT_ITEMS || threadIdx.x + round * THREADS < PRODUCT_ITEMS) {
                products[column[round] * PART + offset[round]] = result;
            }
        });
    }
};
