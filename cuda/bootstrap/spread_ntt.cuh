// The NTT of a bootstrapping that is spread over blocks: the tree, the butterflies and the bounds
// of ntt.cuh.
#pragma once
#include "ntt.cuh"
#include "spread.cuh"

typedef u32 Value;
// Shoup pairs of both directions.
constexpr int ROOTS_OF_PART = WORDS * 2 * PART;

// Spreads the accesses of a pass over the banks; linear over bits as in spread_fft.cuh.
CONSTANT_FUNCTION int swizzle(int i) { return i ^ ((i >> 5) & 31 & (PART / 2 - 1)); }

// [word][direction][2^level + block] of the own subtree; the inverse's are those of the mirrored
// blocks of the whole tree.
FUNCTION void load_roots(uint2* roots, const BlindRotateArguments& a, u32 rank) {
    for (int i = threadIdx.x; i < ROOTS_OF_PART; i += THREADS) {
        int w = i / PART / 2, direction = i / PART % 2, entry = i % PART;
        if (entry == 0) continue;
        int level = 31 - __clz(entry), block = ((int)rank << level) + entry - (1 << level);
        roots[i] = ((const uint2*)a.roots)
            [w * POLYNOMIAL_SIZE + (BLOCKS << level) + mirrored(direction, BLOCKS << level, block)];
    }
}

// One level of digits of an orbit through the levels above the subtrees: one value for each, to
// `send(word, block, value)`.
template<int level, class Send>
FUNCTION void forward_orbit(const Accumulator* held, const Send& send) {
    unroll<0, WORDS>([&](auto word) {
        constexpr int w = decltype(word)::v;
        u32 x[BLOCKS];
        unroll<0, BLOCKS>([&](auto i) {
            x[i] = (u32)decompose<level>(held[i]) + NttBounds<w>::OFFSET * Word<w>::p;
            if constexpr (!Word<w>::LAZY) x[i] = Word<w>().template reduce<2, 1>(x[i]);
        });
        forward_levels<BLOCKS, 0, NttBounds<w>::DIGIT>(Word<w>(), x, FirstRoots<w, 0>());
        unroll<0, BLOCKS>([&](auto i) { send(w, i, x[i]); });
    });
}

// Adds what the subtrees made of one step's product, OWN apart, words BLOCKS * OWN, to an orbit.
FUNCTION void inverse_orbit(const u32* results, Accumulator* held) {
    u32 x[WORDS][BLOCKS];
    unroll<0, WORDS>([&](auto w) {
        unroll<0, BLOCKS>([&](auto i) { x[w][i] = results[(w * BLOCKS + i) * OWN]; });
    });
    unroll<0, WORDS>([&](auto w) {
        using W = Word<decltype(w)::v>;
        inverse_levels<BLOCKS, 0, W::PRODUCT, 1>(W(), x[w], FirstRoots<decltype(w)::v, 1>());
    });
    unroll<0, BLOCKS>([&](auto i) {
        u64 y = x[0][i];
        if constexpr (WORDS == 2) y = compose(x[0][i], x[WORDS - 1][i]);
        held[i] = accumulate(held[i], y);
    });
}

struct NodeRoots {
    const uint2* table;
    int depth, node;
    FUNCTION uint2 operator()(int level, int block) const {
        return table[(1 << (depth + level)) + (node << level) + block];
    }
};

template<int w, bool forward, int depth, class Put>
FUNCTION void run_word_pass(const uint2* roots, const u32* part, int lane, const Put& put) {
    using P = Pass<depth>;
    using W = Word<w>;
    unroll<0, P::GROUPS_OF_LANE>([&](auto g) {
        P at(lane + g * LANES);
        int base = swizzle(at.base);
        u32 x[P::RADIX];
        unroll<0, P::RADIX>([&](auto i) { x[i] = part[base ^ swizzle(i * P::STRIDE)]; });
        NodeRoots node{roots + (w * 2 + !forward) * PART, depth, at.node};
        if constexpr (forward) {
            constexpr int bound = W::forward_bound(NttBounds<w>::DIGIT, LOG2_BLOCKS + depth);
            forward_levels<P::RADIX, 0, bound>(W(), x, node);
        } else {
            inverse_levels<P::RADIX, 0, W::PRODUCT, W::PRODUCT>(W(), x, node);
        }
        unroll<0, P::RADIX>([&](auto i) { put(base ^ swizzle(i * P::STRIDE), x[i]); });
    });
}

// One pass of a part; results go to `put(position, value)`.
template<bool forward, int depth, class Put>
FUNCTION void run_pass(const uint2* roots, const u32* part, int word, int lane, const Put& put) {
    if (WORDS == 1 || word == 0) {
        run_word_pass<0, forward, depth>(roots, part, lane, put);
    } else {
        run_word_pass<WORDS - 1, forward, depth>(roots, part, lane, put);
    }
}

// Positions of one item: as many as one key chunk of 16 bytes holds beside each other.
constexpr int QUAD = TAIL < 4 ? TAIL : 4;
constexpr int QUADS_OF_TAIL = TAIL / QUAD;
constexpr int WORD_ITEMS = COLUMNS * PART / QUAD;
constexpr int PRODUCT_ITEMS = WORDS * WORD_ITEMS;
constexpr int PRODUCT_ROUNDS = ceil_div(PRODUCT_ITEMS, THREADS);
constexpr int ITEM_CHUNKS = KEY_CHUNKS / QUADS_OF_TAIL;
constexpr int TURN_CHUNKS = PRODUCT_ROUNDS * ITEM_CHUNKS;
constexpr u64 STEP_CHUNKS = KEY_STEP_BYTES / 16;
static_assert(TURN_CHUNKS % SPREAD_KEY_RING == 0, "a ring closes with each step");

// Products of one step at the positions of this thread; the key as in spread_fft.cuh.
struct Products {
    u32 chunk[PRODUCT_ROUNDS]; // of the key, inside a step
    uint4 ahead[SPREAD_KEY_RING];
    u32 monomials[PRODUCT_ROUNDS][GGSW][QUAD]; // X^e and X^-e times 2^32
    u32 rank;

    FUNCTION static int item_of(int round) {
        return min((int)threadIdx.x + round * THREADS, PRODUCT_ITEMS - 1);
    }

    FUNCTION Products(const BlindRotateArguments& a, u32 own) : rank(own) {
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            int item = item_of(round), quad = rank * (PART / QUAD) + item % (PART / QUAD);
            // item / (PART / QUAD) counts columns of all words.
            chunk[round] =
                ((item / (PART / QUAD)) * KEY_CHUNKS + quad % QUADS_OF_TAIL) * FREQUENCY_GROUPS +
                quad / QUADS_OF_TAIL;
        });
        const uint4* key = (const uint4*)a.key;
        unroll<0, SPREAD_KEY_RING>(
            [&](auto i) { ahead[i] = load_key_now(key + chunk_of<decltype(i)::v>()); });
    }

    template<int i>
    FUNCTION u32 chunk_of() const {
        return chunk[i / ITEM_CHUNKS] + i % ITEM_CHUNKS * QUADS_OF_TAIL * FREQUENCY_GROUPS;
    }

    FUNCTION void load_monomials(const BlindRotateArguments& a, const u16* exponents) {
        u32 exponent = exponents[0];
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            int item = item_of(round), position = rank * PART + item % (PART / QUAD) * QUAD;
            const u32* powers = (const u32*)a.powers + item / WORD_ITEMS * 2 * POLYNOMIAL_SIZE;
            unroll<0, QUAD>([&](auto q) {
                // The position is the point psi^(2 brv + 1).
                u32 at = exponent * (2 * reverse_bits(position + q, log2_of(POINTS)) + 1);
                unroll<0, GGSW>([&](auto x) {
                    monomials[round][x][q] =
                        __ldg(powers + ((x == 0 ? at : 0u - at) & (2 * POLYNOMIAL_SIZE - 1)));
                });
            });
        });
    }

    template<int i>
    FUNCTION uint4 take(const uint4* now, const uint4* next) {
        uint4 c = ahead[i % SPREAD_KEY_RING];
        if constexpr (SPREAD_KEY_RING < TURN_CHUNKS) {
            constexpr int later = i + SPREAD_KEY_RING;
            ahead[i % SPREAD_KEY_RING] =
                load_key_now((later < TURN_CHUNKS ? now : next) + chunk_of<later % TURN_CHUNKS>());
        }
        return c;
    }

    // Asks for a third of the chunks of `step` where all are kept.
    template<int third>
    FUNCTION void refill(const BlindRotateArguments& a, int step) {
        if constexpr (SPREAD_KEY_RING == TURN_CHUNKS) {
            const uint4* key = (const uint4*)a.key + (u64)min(step, (int)a.steps - 1) * STEP_CHUNKS;
            unroll<third * TURN_CHUNKS / REFILLS, (third + 1) * TURN_CHUNKS / REFILLS>(
                [&](auto i) { ahead[i] = load_key_now(key + chunk_of<decltype(i)::v>()); });
        }
    }

    // One item: a column of a word at QUAD positions.
    template<int w, int round>
    FUNCTION void product(
        const BlindRotateArguments& a, int step, const uint4* now, const uint4* next,
        const u32* digits, u32* products) {
        using Bounds = NttBounds<w>;
        using W = Word<w>;
        int item = item_of(round), column = item % WORD_ITEMS / (PART / QUAD),
            offset = item % (PART / QUAD) * QUAD;
        int position = rank * PART + offset;
        u64 sums[GGSW][QUAD] = {};
        u32 digit[QUAD];
        unroll<0, ITEM_CHUNKS>([&](auto c) {
            uint4 words = take<round * ITEM_CHUNKS + decltype(c)::v>(now, next);
            unroll<0, 4>([&](auto n) {
                constexpr int index = 4 * decltype(c)::v + decltype(n)::v,
                              row = index / (GGSW * QUAD), x = index / QUAD % GGSW,
                              q = index % QUAD;
                if constexpr (index < ROWS * GGSW * QUAD) {
                    if constexpr (index % (GGSW * QUAD) == 0)
                        load_digits<w, row>(a, step, column, position, digits, digit);
                    u32 word = n == 0 ? words.x : n == 1 ? words.y : n == 2 ? words.z : words.w;
                    sums[x][q] = multiply_add(sums[x][q], digit[q], word);
                    if constexpr (Bounds::CAREFUL)
                        sums[x][q] = min(sums[x][q], sums[x][q] - ((u64)W::p << 32));
                }
            });
        });
        unroll<0, QUAD>([&](auto q) {
            u64 total = 0;
            unroll<0, GGSW>([&](auto x) {
                // (X^e - 1) * 2^32 mod p, below 2.
                u32 monomial = W().template reduce<2, Bounds::MONOMIAL>(
                    monomials[round][x][q] + (W::p - W::ONE));
                total = multiply_add(
                    total,
                    W().template reduce<Bounds::REDUCED_SUM, Bounds::SUM>(
                        W().montgomery(sums[x][q])),
                    monomial);
            });
            u32 result = W().template reduce<Bounds::PRODUCTS, W::PRODUCT>(W().montgomery(total));
            if constexpr (TRACE) {
                // The factor 1/N that the key carries is taken out again.
                u64 value = (u64)(result % W::p) * POLYNOMIAL_SIZE % W::p;
                if (dumps(a, DUMP_PRODUCTS, step))
                    a.dump[((u64)w * COLUMNS + column) * POLYNOMIAL_SIZE + position + q] = value;
            }
            if (THREADS * PRODUCT_ROUNDS == PRODUCT_ITEMS ||
                threadIdx.x + round * THREADS < PRODUCT_ITEMS) {
                products[(column * WORDS + w) * PART + swizzle(offset + q)] = result;
            }
        });
    }

    template<int w, int row>
    FUNCTION void load_digits(
        const BlindRotateArguments& a, int step, int column, int position, const u32* digits,
        u32* digit) const {
        unroll<0, QUAD>([&](auto q) {
            u32 value = digits[(row * WORDS + w) * PART + swizzle(position % PART + q)];
            digit[q] =
                Word<w>().template reduce<NttBounds<w>::TRANSFORMED, NttBounds<w>::FACTOR>(value);
            if constexpr (TRACE) {
                if (column == 0 && dumps(a, DUMP_TRANSFORMED, step)) {
                    a.dump[((u64)w * ROWS + row) * POLYNOMIAL_SIZE + position + q] =
                        digit[q] % Word<w>::p;
                }
            }
        });
    }

    FUNCTION void
    run(const BlindRotateArguments& a, int step, u32, const u32* digits, u32* products) {
        const uint4* now = (const uint4*)a.key + (u64)step * STEP_CHUNKS;
        const uint4* next = step + 1 < (int)a.steps ? now + STEP_CHUNKS : now;
        unroll<0, PRODUCT_ROUNDS>([&](auto round) {
            if (WORDS == 1 || item_of(round) < WORD_ITEMS) {
                product<0, decltype(round)::v>(a, step, now, next, digits, products);
            } else {
                product<WORDS - 1, decltype(round)::v>(a, step, now, next, digits, products);
            }
        });
    }
};
