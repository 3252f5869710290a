// The f64 FFT of a bootstrapping that is spread over blocks:
// the tree and the butterflies of fft.cuh.
#pragma once
#include "fft.cuh"
#include "spread.cuh"

typedef double2 Value;
constexpr int ROOTS_OF_PART = PART;

// Spreads the accesses of a pass over the banks: eight neighbours of 16 bytes fall into different
// ones in all passes. Linear over bits, so that the sum of a base and a multiple of the stride
// moves to the XOR of what each moves to.
CONSTANT_FUNCTION int swizzle(int i) {
    int line = i >> 3;
    return i ^ ((line & 1) * 7) ^ ((line >> 1 & 1) * 5) ^ ((line >> 2 & 1) * 6) ^
           ((line >> 3 & 1) * 4);
}

// exp(..) of node (level, block) of the own subtree, entry 2^level + block.
FUNCTION void load_roots(double2* roots, const BlindRotateArguments& a, u32 rank) {
    for (int i = 1 + threadIdx.x; i < PART; i += THREADS) {
        int level = 31 - __clz(i);
        roots[i] =
            ((const double2*)a.roots)[(BLOCKS << level) + (rank << level) + i - (1 << level)];
    }
}

// One level of digits of an orbit through the levels above the subtrees: one value for each, to
// `send(word, block, value)`.
template<int level, class Send>
FUNCTION void forward_orbit(const Accumulator* held, const Send& send) {
    double2 x[BLOCKS];
    unroll<0, BLOCKS>([&](auto i) {
        x[i] = make_double2(digit_value<level>(held[i]), digit_value<level>(held[i + BLOCKS]));
    });
    forward_levels<BLOCKS, 0>(x, FirstRoots());
    unroll<0, BLOCKS>([&](auto i) { send(0, i, x[i]); });
}

// Adds what the subtrees made of one step's product, OWN apart, to an orbit.
FUNCTION void inverse_orbit(const double2* results, Accumulator* held) {
    double2 x[BLOCKS];
    unroll<0, BLOCKS>([&](auto i) { x[i] = results[i * OWN]; });
    inverse_levels<BLOCKS, 0>(x, FirstRoots());
    unroll<0, BLOCKS>([&](auto i) {
        held[i] = accumulate(held[i], x[i].x, 1.0);
        held[i + BLOCKS] = accumulate(held[i + BLOCKS], x[i].y, 1.0);
    });
}

struct NodeRoots {
    const double2* table;
    int depth, node;
    FUNCTION double2 operator()(int level, int pair) const {
        return table[(1 << (depth + level)) + (node << level) + 2 * pair];
    }
};

// One pass of a part; results go to `put(position, value)`.
template<bool forward, int depth, class Put>
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
// Entries of the key that one item uses; `key_entry` says where.
constexpr int ITEM_ENTRIES = ROWS * GGSW;
// Monomials of a step: X^e gives X^-e.
constexpr int MONOMIALS = GROUPING > 1 ? GGSW : 1;
constexpr int TURN_ENTRIES = PRODUCT_ROUNDS * ITEM_ENTRIES;
constexpr int ITEM_UNITS = ITEM_ENTRIES / KEY_UNIT, TURN_UNITS = TURN_ENTRIES / KEY_UNIT,
              RING_UNITS = SPREAD_KEY_RING / KEY_UNIT;
constexpr int UNIT_STRIDE = UNIT_BYTES * FREQUENCY_GROUPS;
static_assert(
    SPREAD_KEY_RING % KEY_UNIT == 0 && TURN_UNITS % RING_UNITS == 0,
    "a ring closes with each step");

// Products of one step at the positions of this thread. Key entries are asked for SPREAD_KEY_RING
// ahead of use, those of the next step as early as there is room.
struct Products {
    typedef KeyUnit<KEY_PACKED> Unit;
    int offset[PRODUCT_ROUNDS]; // in the digits and products of a part
    int column[PRODUCT_ROUNDS];
    u32 point[PRODUCT_ROUNDS]; // the position is the point exp(i pi point / N)
    int frequency[PRODUCT_ROUNDS];
    u32 place[PRODUCT_ROUNDS]; // in the key, inside a step
    double2 monomials[PRODUCT_ROUNDS][MONOMIALS];
    Unit ahead[RING_UNITS];

    FUNCTION Products(const BlindRotateArguments& a, u32 rank) {
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            int item = min((int)threadIdx.x + round * THREADS, PRODUCT_ITEMS - 1);
            int position = rank * PART + item % PART, f = position / TAIL, j = position % TAIL;
            column[round] = item / PART;
            offset[round] = swizzle(item % PART);
            point[round] = 4 * reverse_bits(position, log2_of(POINTS)) + 1;
            frequency[round] = f;
            place[round] = key_entry(column[round], 0, 0, j) / KEY_UNIT * UNIT_STRIDE + f * 16;
        });
        unroll<0, RING_UNITS>([&](auto i) { ahead[i] = load<decltype(i)::v>((const char*)a.key); });
    }

    // Unit i of those of a step.
    template<int i>
    FUNCTION Unit load(const char* step) const {
        constexpr int first = i % ITEM_UNITS * KEY_UNIT, round = i / ITEM_UNITS;
        constexpr int apart = key_entry(0, first / GGSW, first % GGSW, 0) / KEY_UNIT;
        return Unit::load_now(step + place[round] + apart * UNIT_STRIDE, frequency[round]);
    }

    // X^e for the exponents of a step, or for each set of them.
    FUNCTION void load_monomials(const BlindRotateArguments& a, const u16* exponents) {
        unroll<1, MONOMIALS + 1>([&](auto set) {
            u32 exponent = 0;
            unroll<0, GROUPING>([&](auto i) {
                exponent += decltype(set)::v >> decltype(i)::v & 1 ? exponents[i] : 0;
            });
            unroll<0, PRODUCT_ROUNDS>([&](auto round) {
                monomials[round][set - 1] = __ldg(
                    (const double2*)a.powers +
                    ((exponent * point[round]) & (2 * POLYNOMIAL_SIZE - 1)));
            });
        });
    }

    template<int i>
    FUNCTION double2 take(const char* now, const char* next) {
        constexpr int unit = i / KEY_UNIT, within = i % KEY_UNIT;
        double2 c = ahead[unit % RING_UNITS].get(within);
        if constexpr (RING_UNITS < TURN_UNITS && within + 1 == KEY_UNIT) {
            constexpr int later = unit + RING_UNITS;
            ahead[unit % RING_UNITS] = load<later % TURN_UNITS>(later < TURN_UNITS ? now : next);
        }
        return c;
    }

    // Asks for a third of the entries of `step` where all are kept.
    template<int third>
    FUNCTION void refill(const BlindRotateArguments& a, int step) {
        if constexpr (RING_UNITS == TURN_UNITS) {
            const char* key =
                (const char*)a.key + (u64)min(step, (int)a.steps - 1) * KEY_STEP_BYTES;
            unroll<third * TURN_UNITS / REFILLS, (third + 1) * TURN_UNITS / REFILLS>(
                [&](auto i) { ahead[i] = load<decltype(i)::v>(key); });
        }
    }

    FUNCTION void
    run(const BlindRotateArguments& a, int step, u32, const double2* digits, double2* products) {
        const char* now = (const char*)a.key + (u64)step * KEY_STEP_BYTES;
        const char* next = step + 1 < (int)a.steps ? now + KEY_STEP_BYTES : now;
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            constexpr int first = decltype(round)::v * ITEM_ENTRIES;
            double2 result = {};
            if constexpr (GROUPING > 1) {
                // As in grouped.cuh: the ciphertexts are summed before digits meet them.
                unroll<0, GGSW>([&](auto x) { monomials[round][x].x -= 1.0; });
                unroll<0, ROWS>([&](auto row) {
                    double2 bundle = {};
                    unroll<0, GGSW>([&](auto x) {
                        multiply_add(
                            bundle, monomials[round][x],
                            take<first + decltype(row)::v * GGSW + decltype(x)::v>(now, next));
                    });
                    multiply_add(result, digits[row * PART + offset[round]], bundle);
                });
            } else {
                double2 sums[GGSW] = {};
                unroll<0, ROWS>([&](auto row) {
                    double2 value = digits[row * PART + offset[round]];
                    unroll<0, GGSW>([&](auto x) {
                        multiply_add(
                            sums[x], value,
                            take<first + decltype(row)::v * GGSW + decltype(x)::v>(now, next));
                    });
                });
                result = apply_monomial(sums, monomials[round][0]);
            }
            if (THREADS * PRODUCT_ROUNDS == PRODUCT_ITEMS ||
                threadIdx.x + round * THREADS < PRODUCT_ITEMS) {
                products[column[round] * PART + offset[round]] = result;
            }
        });
    }
};
