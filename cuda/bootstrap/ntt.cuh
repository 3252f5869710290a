// The negacyclic NTT over one or two words, split into the passes of tile.cuh.
//
// Values stay lazy inside a pass; bounds are template arguments.
// Order and roots are those of girih_ring::NttTable.
#pragma once
#include "jobs.cuh"
#include "switch.cuh"
#include "tile.cuh"
#include "trace.cuh"
#include "word.cuh"

// The block whose root block `block` of a level of `blocks` blocks takes from the forward table.
// Forward (direction 0) it is the block itself. For the inverse (direction 1) it is the block that
// is as far from the end of the level: its root is minus the inverse of this one's.
CONSTANT_FUNCTION int mirrored(int direction, int blocks, int block) {
    return direction == 0 ? block : blocks - 1 - block;
}

// Largest magnitude of a digit.
constexpr u64 LARGEST_DIGIT = MODULUS_RAISING ? 1ull << (LOG2_Q - 1) : 1ull << (LOG2_BASE - 1);

// Bounds along the forward transform of a digit.
template<int w>
struct NttBounds {
    // Digits enter as digit + OFFSET * p.
    static constexpr int OFFSET = (int)((LARGEST_DIGIT + Word<w>::p - 1) / Word<w>::p);
    static constexpr int DIGIT = Word<w>::LAZY ? 2 * OFFSET : 1;
    static constexpr int FIRST = Word<w>::forward_bound(DIGIT, 4);
    static constexpr int SECOND = Word<w>::forward_bound(FIRST, log2_of(SECOND_RADIX));
    static constexpr int TRANSFORMED = Word<w>::forward_bound(SECOND, log2_of(TAIL));
    // The bound of a product's left factor with which the sum over all rows stays below 2^64.
    static constexpr double LIMIT = 18.4e18;
    static constexpr double square = (double)Word<w>::p * Word<w>::p;
    static constexpr bool SUM_FITS = ROWS * (double)TRANSFORMED * square < LIMIT;
    static constexpr int FACTOR = SUM_FITS ? TRANSFORMED : 1;
    // Where even reduced factors overflow, each product is followed by a conditional subtraction of
    // p * 2^32.
    static constexpr bool CAREFUL = !(ROWS * (double)FACTOR * square < LIMIT);
    static constexpr int REDUCED_SUM =
        CAREFUL ? 2 : (int)(ROWS * (double)FACTOR * Word<w>::p / 4294967296.0) + 2;
    // Monomials minus one are below 2; two such products are summed.
    static constexpr bool MONOMIALS_FIT = 4.0 * REDUCED_SUM * square < LIMIT;
    static constexpr int SUM = MONOMIALS_FIT ? REDUCED_SUM : 1;
    static constexpr int MONOMIAL = MONOMIALS_FIT ? 2 : 1;
    static constexpr int PRODUCTS = (int)(2.0 * SUM * MONOMIAL * Word<w>::p / 4294967296.0) + 2;
    static_assert(
        TRANSFORMED <= Word<w>::HEADROOM && REDUCED_SUM <= Word<w>::HEADROOM &&
            PRODUCTS <= Word<w>::HEADROOM,
        "words have room");
};

// Memory that all threads of a block share.
struct Tile {
    u32* slots;
    u16* rotations;      // [group][n + r] exponents, below 2N
    uint2* second_roots; // [word][SECOND_RADIX][16]: roots of the second pass by block
    u32* powers;         // [word][N] psi^i * 2^32 mod p, transposed (power_offset)
    void* accumulators;  // [polynomial][coefficient][thread] where they are not in registers

    static constexpr int SLOT_WORDS = STORED_GROUPS * COLUMNS * LEVELS * WORDS * POINTS;
    static constexpr int ROOTS = WORDS * SECOND_RADIX * 16;
    static constexpr int POWERS = WORDS * POLYNOMIAL_SIZE;
    static constexpr int ACCUMULATORS =
        ACCUMULATOR_IN_REGISTERS ? 0 : STORED_GROUPS * COLUMNS * POLYNOMIAL_SIZE;
    static constexpr int ROTATIONS = (GROUPS * (LWE_DIMENSION + PACKING) + 7) / 8 * 8;

    FUNCTION explicit Tile(void* memory) {
        slots = (u32*)memory;
        second_roots = (uint2*)(slots + SLOT_WORDS);
        powers = (u32*)(second_roots + ROOTS);
        accumulators = powers + POWERS;
        rotations = (u16*)((Accumulator*)accumulators + ACCUMULATORS);
    }

    static constexpr u64 BYTES = whole_vectors(
        SLOT_WORDS * sizeof(u32) + ROOTS * sizeof(uint2) + POWERS * sizeof(u32) +
        ACCUMULATORS * sizeof(Accumulator) + ROTATIONS * sizeof(u16));

    FUNCTION u32* slot_at(int index) const { return slots + index * POINTS; }
};

constexpr int POWER_ROW = POLYNOMIAL_SIZE / 16;

// Where the power of `exponent` lies. The exponents that 32 neighbouring threads read together
// differ by multiples of 16 e. In a transposed table these lie in different banks.
FUNCTION int power_offset(u32 exponent) { return (exponent & 15) * POWER_ROW + (exponent >> 4); }

FUNCTION void load_tables(const Tile& tile, const BlindRotateArguments& a) {
    for (int i = threadIdx.x; i < Tile::ROOTS; i += THREADS) {
        // i = (word * SECOND_RADIX + entry) * 16 + b,
        // entry = 2^level + block inside the sub-transform.
        int b = i % 16, entry = i / 16 % SECOND_RADIX, w = i / 16 / SECOND_RADIX;
        int level = entry == 0 ? 0 : 31 - __clz(entry);
        int index = entry == 0 ? 0 : (16 << level) + (b << level) + (entry - (1 << level));
        tile.second_roots[i] = ((const uint2*)a.roots)[w * POLYNOMIAL_SIZE + index];
    }
    for (int i = threadIdx.x; i < Tile::POWERS; i += THREADS) {
        int w = i / POLYNOMIAL_SIZE, exponent = i % POLYNOMIAL_SIZE;
        tile.powers[w * POLYNOMIAL_SIZE + power_offset(exponent)] =
            ((const u32*)a.powers)[2 * w * POLYNOMIAL_SIZE + exponent];
    }
}

template<int w, int direction>
struct FirstRoots {
    FUNCTION uint2 operator()(int level, int block) const {
        const u32* pair = FIRST_ROOTS[w][(1 << level) + mirrored(direction, 1 << level, block)];
        return make_uint2(pair[0], pair[1]);
    }
};

template<int w, int direction>
struct SecondRoots {
    const uint2* table;
    FUNCTION SecondRoots(const Tile& tile, int b)
        : table(tile.second_roots + w * SECOND_RADIX * 16 + mirrored(direction, 16, b)) {}
    FUNCTION uint2 operator()(int level, int block) const {
        return table[((1 << level) + mirrored(direction, 1 << level, block)) * 16];
    }
};

template<int w, int direction>
struct TailRoots {
    const uint2* table;
    int f;
    FUNCTION TailRoots(const BlindRotateArguments& a, int group)
        : table((const uint2*)a.roots + w * POLYNOMIAL_SIZE),
          f(mirrored(direction, FREQUENCY_GROUPS, group)) {}
    FUNCTION uint2 operator()(int level, int block) const {
        return __ldg(
            table + (FREQUENCY_GROUPS << level) + (f << level) +
            mirrored(direction, 1 << level, block));
    }
};

// First pass of digit `level` of a polynomial:
// from accumulator coefficients to the slots of all words.
template<int w, int level>
FUNCTION void
forward_first(const Accumulator* accumulator, u32* destination, int thread, bool active) {
    u32 x[ITEMS];
    unroll<0, ITEMS>([&](auto b) {
        x[b] = (u32)decompose<level>(accumulator[b]) + NttBounds<w>::OFFSET * Word<w>::p;
        if constexpr (!Word<w>::LAZY) x[b] = Word<w>().template reduce<2, 1>(x[b]);
    });
    forward_levels<16, 0, NttBounds<w>::DIGIT>(Word<w>(), x, FirstRoots<w, 0>());
    if (active) unroll<0, ITEMS>([&](auto b) { destination[first_offset(thread, b)] = x[b]; });
}

// Second pass of one slot, in place.
template<int w>
FUNCTION void forward_second(const Tile& tile, u32* values, int thread, bool active) {
    u32 x[ITEMS];
    unroll<0, SUBS>([&](auto sub) {
        unroll<0, SECOND_RADIX>(
            [&](auto e) { x[sub * SECOND_RADIX + e] = values[second_offset(thread, sub, e)]; });
        forward_levels<SECOND_RADIX, 0, NttBounds<w>::FIRST>(
            Word<w>(), x + sub * SECOND_RADIX, SecondRoots<w, 0>(tile, second_block(thread, sub)));
        if (active) {
            unroll<0, SECOND_RADIX>(
                [&](auto e) { values[second_offset(thread, sub, e)] = x[sub * SECOND_RADIX + e]; });
        }
    });
}

// Transforms all digits of one polynomial into its slots.
FUNCTION void forward_transform(
    const Tile& tile, const Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    unroll<0, LEVELS>([&](auto level) {
        unroll<0, WORDS>([&](auto w) {
            forward_first<decltype(w)::v, decltype(level)::v>(
                accumulator, tile.slot_at(slot(group, level, column, w)), at.thread, active);
        });
    });
    team_barrier(at.team);
    unroll<0, WORDS>([&](auto w) {
        unroll<0, LEVELS>([&](auto level) {
            forward_second<decltype(w)::v>(
                tile, tile.slot_at(slot(group, level, column, w)), at.thread, active);
        });
    });
}

// Inverse of the second pass for one word, in place; values below PRODUCT in and out.
template<int w>
FUNCTION void inverse_second(const Tile& tile, u32* values, int thread, bool active) {
    u32 x[ITEMS];
    unroll<0, SUBS>([&](auto sub) {
        unroll<0, SECOND_RADIX>(
            [&](auto e) { x[sub * SECOND_RADIX + e] = values[second_offset(thread, sub, e)]; });
        inverse_levels<SECOND_RADIX, 0, Word<w>::PRODUCT, Word<w>::PRODUCT>(
            Word<w>(), x + sub * SECOND_RADIX, SecondRoots<w, 1>(tile, second_block(thread, sub)));
        if (active) {
            unroll<0, SECOND_RADIX>(
                [&](auto e) { values[second_offset(thread, sub, e)] = x[sub * SECOND_RADIX + e]; });
        }
    });
}

// Inverse of the first pass for one word; reduced coefficients out.
template<int w>
FUNCTION void inverse_first(const u32* values, u32* x, int thread) {
    unroll<0, ITEMS>([&](auto b) { x[b] = values[first_offset(thread, b)]; });
    inverse_levels<16, 0, Word<w>::PRODUCT, 1>(Word<w>(), x, FirstRoots<w, 1>());
}

// Brings the products of one polynomial back to coefficients and adds them to its accumulator.
FUNCTION void inverse_transform(
    const Tile& tile, Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    unroll<0, WORDS>([&](auto w) {
        inverse_second<decltype(w)::v>(
            tile, tile.slot_at(slot(group, 0, column, w)), at.thread, active);
    });
    team_barrier(at.team);
    u32 x[WORDS][ITEMS];
    unroll<0, WORDS>([&](auto w) {
        inverse_first<decltype(w)::v>(tile.slot_at(slot(group, 0, column, w)), x[w], at.thread);
    });
    unroll<0, ITEMS>([&](auto b) {
        u64 y = x[0][b];
        if constexpr (WORDS == 2) y = compose(x[0][b], x[WORDS - 1][b]);
        accumulator[b] = accumulate(accumulator[b], y);
    });
}

// Reads key chunk after key chunk: 16 bytes a thread, neighbouring threads beside each other.
constexpr int KEY_WORDS = ROWS * GGSW * TAIL;
constexpr int KEY_CHUNKS = ceil_div(KEY_WORDS, 4);
constexpr u64 KEY_STEP_BYTES = 16ull * WORDS * COLUMNS * KEY_CHUNKS * FREQUENCY_GROUPS;
static_assert(KEY_STEP_BYTES == STEP_BYTES, "a step's slice of the key as it is uploaded");

// Frequencies of one thread in one word.
constexpr int FREQUENCY_ROUNDS = ceil_div(FREQUENCY_GROUPS, THREADS);

// The key chunks of this thread's frequencies, in runs of one column.
//
// Order: all columns of one frequency, then those of the thread's next frequency; then the next
// word, then the next step. A thread asks for each chunk KEY_RING chunks before it is used, so what
// it asks for at the end of a product phase arrives during the transforms. The last step asks for
// chunks behind the key: zeros that the host put there.
struct KeyStream {
    static constexpr int RING = KEY_RING > 0 ? KEY_RING : 1;
    const uint4* at;   // the first chunk of this run
    const uint4* next; // and of the next one
    uint4 ahead[RING];
    static_assert(
        KEY_RING == 0 || (FREQUENCY_GROUPS % THREADS == 0 && KEY_CHUNKS % RING == 0),
        "a ring closes with each run");

    FUNCTION explicit KeyStream(const BlindRotateArguments& a)
        : at((const uint4*)a.key + threadIdx.x) {
        unroll<0, KEY_RING>([&](auto i) { ahead[i] = load_key_now(at + i * FREQUENCY_GROUPS); });
    }

    // Before the first run of a frequency.
    FUNCTION void seek(const BlindRotateArguments& a, int step, int w, int f) {
        if constexpr (KEY_RING == 0)
            at = (const uint4*)a.key +
                 (u64)(step * WORDS + w) * COLUMNS * KEY_CHUNKS * FREQUENCY_GROUPS + f;
    }

    // Before a run.
    FUNCTION void look_ahead(int column, int f) {
        constexpr int length = KEY_CHUNKS * FREQUENCY_GROUPS;
        next = at + length;
        if (KEY_RING > 0 && FREQUENCY_ROUNDS > 1 && column + 1 == COLUMNS) {
            // The first run of the thread's next frequency,
            // or of its first one in the next word or step.
            next =
                at + (f + THREADS < FREQUENCY_GROUPS ? THREADS - (COLUMNS - 1) * length
                                                     : length - (FREQUENCY_ROUNDS - 1) * THREADS);
        }
    }

    // Chunk i of this run.
    template<int i>
    FUNCTION uint4 take() {
        if constexpr (KEY_RING == 0) {
            return load_key(at + i * FREQUENCY_GROUPS);
        } else {
            uint4 chunk = ahead[i % RING];
            constexpr int later = i + RING;
            constexpr bool is_next = FREQUENCY_ROUNDS > 1 && later >= KEY_CHUNKS;
            ahead[i % RING] = load_key_now(
                is_next ? next + (later - KEY_CHUNKS) * FREQUENCY_GROUPS
                        : at + later * FREQUENCY_GROUPS);
            return chunk;
        }
    }

    FUNCTION void advance() { at = next; }
};

// Registers of the product phase if it holds its monomials: digits, sums of 64 bits and monomials,
// with accumulators and key chunks beside them.
constexpr int HELD_REGISTERS =
    GROUPS * TAIL * (ROWS + 3 * GGSW) +
    (ACCUMULATOR_IN_REGISTERS ? ITEMS * (int)sizeof(Accumulator) / 4 : 0) + 4 * KEY_RING;
constexpr int REGISTERS = 65536 / (THREADS * BLOCKS_PER_MULTIPROCESSOR) < 255
                              ? 65536 / (THREADS * BLOCKS_PER_MULTIPROCESSOR)
                              : 255;
// Where registers are short, monomials are read again for each column.
constexpr bool HOLD_MONOMIALS = HELD_REGISTERS + 32 <= REGISTERS;

// X^e - 1 and X^-e - 1, times 2^32, at the positions of one f. Position f * TAIL + j is the point
// psi^(2 brv + 1).
//
// The table has half of the powers, since psi^(i + N) = -psi^i. Positions j and j + 1, j even, are
// opposite points, so X^e differs between them by the factor (-1)^e.
template<int w>
struct Monomials {
    u32 values[GGSW][TAIL];

    FUNCTION void read(const Tile& tile, u32 exponent, int f) {
        using W = Word<w>;
        const u32* powers = tile.powers + w * POLYNOMIAL_SIZE;
        unroll<0, GGSW>([&](auto x) {
            u32 e = x == 0 ? exponent : 0u - exponent;
            u32 first = e * (2 * reverse_bits(f, log2_of(FREQUENCY_GROUPS)) + 1);
            unroll<0, ceil_div(TAIL, 2)>([&](auto pair) {
                u32 at = first + e * (2 * FREQUENCY_GROUPS * reverse_bits(2 * pair, log2_of(TAIL)));
                u32 power = powers[power_offset(at & (POLYNOMIAL_SIZE - 1))];
                // Both below 2.
                u32 plus = power + (W::p - W::ONE), minus = (2 * W::p - W::ONE) - power;
                bool negative = (at & POLYNOMIAL_SIZE) != 0;
                values[x][2 * pair] =
                    W().template reduce<2, NttBounds<w>::MONOMIAL>(negative ? minus : plus);
                if constexpr (TAIL > 1) {
                    values[x][2 * pair + 1] = W().template reduce<2, NttBounds<w>::MONOMIAL>(
                        negative != ((e & 1) != 0) ? minus : plus);
                }
            });
        });
    }
};

// The external products of one step at one frequency group f of one word, for all ciphertexts of
// the block: tail of the forward transforms, sums over rows with C0 and C1, monomials, tail of the
// inverse transforms.
template<int w>
FUNCTION void
products_at(const Tile& tile, const BlindRotateArguments& a, int step, int f, KeyStream& key) {
    using Bounds = NttBounds<w>;
    using W = Word<w>;
    key.seek(a, step, w, f);

    u32 digits[GROUPS][ROWS][TAIL];
    unroll<0, GROUPS>([&](auto g) {
        unroll<0, ROWS>([&](auto row) {
            const u32* values = tile.slot_at(slot(g, row / COLUMNS, row % COLUMNS, w));
            unroll<0, TAIL>([&](auto j) { digits[g][row][j] = values[frequency_offset(f, j)]; });
            forward_levels<TAIL, 0, Bounds::SECOND>(W(), digits[g][row], TailRoots<w, 0>(a, f));
            unroll<0, TAIL>([&](auto j) {
                digits[g][row][j] =
                    W().template reduce<Bounds::TRANSFORMED, Bounds::FACTOR>(digits[g][row][j]);
            });
        });
    });
    if constexpr (TRACE) dump_transformed<w>(a, step, f, digits[0]);
    Monomials<w> monomials[GROUPS];
    auto read_monomials = [&](int g) {
        monomials[g].read(tile, tile.rotations[g * (LWE_DIMENSION + PACKING) + step], f);
    };
    if constexpr (HOLD_MONOMIALS) unroll<0, GROUPS>(read_monomials);

#pragma unroll 1
    for (int column = 0; column < COLUMNS; column++) {
        u64 sums[GROUPS][GGSW][TAIL];
        unroll<0, GROUPS>([&](auto g) {
            unroll<0, GGSW>([&](auto x) { unroll<0, TAIL>([&](auto j) { sums[g][x][j] = 0; }); });
        });
        key.look_ahead(column, f);
        unroll<0, KEY_CHUNKS>([&](auto chunk) {
            uint4 words = key.take<decltype(chunk)::v>();
            unroll<0, 4>([&](auto q) {
                constexpr int index = 4 * decltype(chunk)::v + decltype(q)::v,
                              row = index / (GGSW * TAIL), x = index / TAIL % GGSW,
                              j = index % TAIL;
                if constexpr (index < KEY_WORDS) {
                    u32 word = q == 0 ? words.x : q == 1 ? words.y : q == 2 ? words.z : words.w;
                    unroll<0, GROUPS>([&](auto g) {
                        u64& sum = sums[g][x][j];
                        sum = multiply_add(sum, digits[g][row][j], word);
                        if constexpr (Bounds::CAREFUL) sum = min(sum, sum - ((u64)W::p << 32));
                    });
                }
            });
        });
        key.advance();
        unroll<0, GROUPS>([&](auto g) {
            if constexpr (!HOLD_MONOMIALS) read_monomials(g);
            u32 result[TAIL];
            unroll<0, TAIL>([&](auto j) {
                u64 total = 0;
                unroll<0, GGSW>([&](auto x) {
                    u32 sum = W().template reduce<Bounds::REDUCED_SUM, Bounds::SUM>(
                        W().montgomery(sums[g][x][j]));
                    total = multiply_add(total, sum, monomials[g].values[x][j]);
                });
                result[j] =
                    W().template reduce<Bounds::PRODUCTS, W::PRODUCT>(W().montgomery(total));
            });
            if constexpr (TRACE) {
                if (g == 0) dump_products<w>(a, step, f, column, result);
            }
            inverse_levels<TAIL, 0, W::PRODUCT, W::PRODUCT>(W(), result, TailRoots<w, 1>(a, f));
            u32* values = tile.slot_at(slot(g, 0, column, w));
            unroll<0, TAIL>([&](auto j) { values[frequency_offset(f, j)] = result[j]; });
        });
    }
}

// Powers wait in the tile; there is nothing to fetch for a step.
FUNCTION void fetch_monomials(const Tile&, const BlindRotateArguments&, int) {}
struct Turns {
    FUNCTION Turns(const Tile&, int) {}
};

FUNCTION void
products(const Tile& tile, const BlindRotateArguments& a, int step, KeyStream& key, const Turns&) {
    constexpr int WORK = WORDS * FREQUENCY_GROUPS;
#pragma unroll 1
    for (int item = threadIdx.x; item < WORK; item += THREADS) {
        if (WORDS == 1 || item < FREQUENCY_GROUPS) {
            products_at<0>(tile, a, step, item, key);
        } else {
            products_at<WORDS - 1>(tile, a, step, item - FREQUENCY_GROUPS, key);
        }
    }
}

// Coefficient index of first-pass value i of a thread.
FUNCTION int coefficient_index(int thread, int i) { return first_index(thread) + i * TEAM; }
