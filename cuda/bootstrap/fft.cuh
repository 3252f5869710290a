// The folded f64 FFT over N/2 complex points, split into the passes of tile.cuh.
//
// A polynomial a is folded to a_j + i a_{j + N/2} and reduced down the tree X^2h - c^2 = (X^h -
// c)(X^h + c) from X^(N/2) - i: the same tree as the NTT's, with complex roots and no twist (see
// girih_ring::fft). The roots of the two halves of a node are c and i c,
// so one root serves two blocks.
#pragma once
#include "fft_key.cuh"
#include "fft_levels.cuh"
#include "jobs.cuh"
#include "switch.cuh"
#include "tile.cuh"
#include "trace.cuh"

// Frequencies whose points differ by few roots of unity (see Monomials): those of a warp.
constexpr int WARPS_OF_FREQUENCIES = FREQUENCY_GROUPS / 32;
static_assert(FREQUENCY_GROUPS % 32 == 0, "whole warps of frequencies");

struct Tile {
    double2* slots;
    double2* second_roots; // [entry][16]: roots of the second pass by block
    double2* tail_roots;   // [entry][f]: roots of the tail
    double2* turns;        // exp(2 pi i l / (32 TAIL)) at turn_offset(l), l < 32 TAIL
    // X^e at the first frequency of a warp, j = 0: [step & 1][group][index of the step][warp].
    double2* bases;
    void* accumulators;
    u16* rotations;

    static constexpr int SLOT_VALUES = STORED_GROUPS * COLUMNS * LEVELS * SLOT_POINTS;
    static constexpr int ROOTS = 8 * 16;
    static constexpr int TAIL_ROOTS = TAIL / 2 * FREQUENCY_GROUPS;
    static constexpr int BASES = GROUPS * GROUPING * WARPS_OF_FREQUENCIES;
    static constexpr int ACCUMULATORS =
        ACCUMULATOR_IN_REGISTERS ? 0 : STORED_GROUPS * COLUMNS * POLYNOMIAL_SIZE;
    static constexpr int ROTATIONS = (GROUPS * (LWE_DIMENSION + PACKING) + 7) / 8 * 8;
    static constexpr u64 BYTES = whole_vectors(
        (SLOT_VALUES + ROOTS + TAIL_ROOTS + 32 * TAIL + 2 * BASES) * sizeof(double2) +
        ACCUMULATORS * sizeof(Accumulator) + ROTATIONS * sizeof(u16));

    FUNCTION explicit Tile(void* memory) {
        slots = (double2*)memory;
        second_roots = slots + SLOT_VALUES;
        tail_roots = second_roots + ROOTS;
        turns = tail_roots + TAIL_ROOTS;
        bases = turns + 32 * TAIL;
        accumulators = bases + 2 * BASES;
        rotations = (u16*)((Accumulator*)accumulators + ACCUMULATORS);
    }

    FUNCTION double2* slot_at(int index) const { return slots + index * SLOT_POINTS; }
};

// Eight neighbouring lanes read turns that differ by multiples of 4 e: this spreads them over the
// banks for any e.
FUNCTION int turn_offset(int turn) {
    int quarter = turn >> 2;
    return (turn & 3) * 8 * TAIL + (quarter ^ ((quarter >> 3) & 3));
}

FUNCTION void load_tables(const Tile& tile, const BlindRotateArguments& a) {
    for (int i = threadIdx.x; i < Tile::TAIL_ROOTS; i += THREADS) {
        // Entry 0 is level 0; entry 2^(level - 1) + pair is block 2 pair of that level.
        int f = i % FREQUENCY_GROUPS, entry = i / FREQUENCY_GROUPS;
        int level = entry == 0 ? 0 : 32 - __clz(entry);
        int block = entry == 0 ? 0 : 2 * (entry - (1 << (level - 1)));
        tile.tail_roots[i] =
            ((const double2*)a.roots)[(FREQUENCY_GROUPS << level) + (f << level) + block];
    }
    for (int i = threadIdx.x; i < Tile::ROOTS; i += THREADS) {
        int b = i % 16, entry = i / 16;
        // Entry 0 is level 0; entry 2^(level - 1) + pair is block 2 pair of that level.
        int level = entry == 0 ? 0 : 32 - __clz(entry);
        int block = entry == 0 ? 0 : 2 * (entry - (1 << (level - 1)));
        int index = (16 << level) + (b << level) + block;
        tile.second_roots[i] =
            (1 << level) < SECOND_RADIX ? ((const double2*)a.roots)[index] : make_double2(0, 0);
    }
    for (int i = threadIdx.x; i < 32 * TAIL; i += THREADS)
        tile.turns[turn_offset(i)] =
            ((const double2*)a.powers)[i * (2 * POLYNOMIAL_SIZE / (32 * TAIL))];
}

struct FirstRoots {
    FUNCTION double2 operator()(int level, int pair) const {
        const double* root = FIRST_COMPLEX_ROOTS[root_entry(level, pair)];
        return make_double2(root[0], root[1]);
    }
};

struct SecondRoots {
    const double2* table;
    FUNCTION SecondRoots(const Tile& tile, int block) : table(tile.second_roots + block) {}
    FUNCTION double2 operator()(int level, int pair) const {
        return table[root_entry(level, pair) * 16];
    }
};

struct TailRoots {
    const double2* table;
    FUNCTION TailRoots(const Tile& tile, int f) : table(tile.tail_roots + f) {}
    FUNCTION double2 operator()(int level, int pair) const {
        return table[root_entry(level, pair) * FREQUENCY_GROUPS];
    }
};

// Digit `level` of a coefficient, in the units of the key: aligned coefficients are digits times
// 2^(32 - LOG2_Q).
template<int level>
FUNCTION double digit_value(Accumulator x) {
    if constexpr (ACCUMULATOR_IS_ALIGNED) {
        return to_double((i32)x);
    } else if constexpr (ACCUMULATOR_IS_SCALED && LEVELS == 1) {
        return fma(to_double((i32)x), UNITS_OF_DIGITS, NEAREST) - NEAREST;
    } else if constexpr (NATIVE_TORUS && LEVELS == 1) {
        // Half a digit is added first and the rest cut off; a sum that wraps is the same on the
        // torus. As in `to_double`, the low word holds it above 2^52 + 2^31.
        constexpr int cut = 32 - LOG2_BASE;
        constexpr double size = 1.0 / (double)(1ull << cut);
        double raised =
            __hiloint2double(0x43300000, (int)((u32)x + (0x80000000u + (1u << (cut - 1)))));
        return __fma_rd(raised, size, NEAREST - (4503599627370496.0 + 2147483648.0) * size) -
               NEAREST;
    } else {
        return to_double(decompose<level>(x));
    }
}

// The multiple of q nearest to x, divided by q; |x| < 2^51 q.
FUNCTION double nearest_quotient(double x, double q) { return fma(x, 1.0 / q, NEAREST) - NEAREST; }

// The integer nearest to x * scale modulo 2^32, for |x * scale| < 2^83: the multiple of 2^32
// nearest to it is taken off by what it leaves of 1.5 * 2^84, in sums that are exact.
FUNCTION u32 nearest_low_word(double x, double scale) {
    constexpr double turns = 4294967296.0 * NEAREST;
    double rest = (turns + NEAREST) - fma(x, scale, turns);
    return low_word(fma(x, scale, rest));
}

// Adds the sum x * scale of one step's products (in units of Q, where accumulators are scaled or on
// the torus of Q / 2^32) to an accumulator coefficient, rounding once.
FUNCTION Accumulator accumulate(Accumulator accumulator, double x, double scale) {
    constexpr double q = (double)ACCUMULATOR_MODULUS;
    if constexpr (ACCUMULATOR_IS_ALIGNED) {
        // |x| may pass 2^51 only where Q is large.
        u32 sum = FFT_SUM_IS_LARGE ? nearest_low_word(x, scale) : low_word(fma(x, scale, NEAREST));
        return accumulator + (sum << ALIGNMENT_SHIFT);
    } else if constexpr (ACCUMULATOR_WRAPS) {
        // What lies below 32 bits is 2^-9 of the error that doubles make of a sum (one digit of 23
        // bits, N = 2048).
        return (Accumulator)((u32)accumulator + nearest_low_word(x, scale));
    } else {
        // The rest is exact: x and its quotient times q are multiples of the last place of x, and
        // the rest is at most q/2 and a bit.
        x *= scale;
        double rest = fma(-nearest_quotient(x, q), q, x);
        if constexpr (!ACCUMULATOR_IS_WIDE) {
            // A negative rest wraps to above 2^32 - q and comes back below q when q is added; then
            // the sum is at most 2q < 2^32.
            u32 positive = low_word(rest + NEAREST);
            positive = min(positive, positive + (u32)ACCUMULATOR_MODULUS);
            u32 sum = (u32)accumulator + positive;
            return (Accumulator)min(sum, sum - (u32)ACCUMULATOR_MODULUS);
        } else {
            i64 sum = (i64)accumulator + __double2ll_rn(rest);
            if (sum < 0) sum += (i64)ACCUMULATOR_MODULUS;
            if (sum >= (i64)ACCUMULATOR_MODULUS) sum -= (i64)ACCUMULATOR_MODULUS;
            return (Accumulator)sum;
        }
    }
}

FUNCTION void forward_transform(
    const Tile& tile, const Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    unroll<0, LEVELS>([&](auto level) {
        double2 x[ITEMS];
        unroll<0, ITEMS>([&](auto b) {
            x[b] = make_double2(
                digit_value<decltype(level)::v>(accumulator[b]),
                digit_value<decltype(level)::v>(accumulator[b + ITEMS]));
        });
        forward_levels<16, 0>(x, FirstRoots());
        double2* values = tile.slot_at(slot(group, level, column, 0));
        if (active) unroll<0, ITEMS>([&](auto b) { values[first_offset(at.thread, b)] = x[b]; });
    });
    team_barrier(at.team);
    unroll<0, LEVELS>([&](auto level) {
        double2 x[ITEMS];
        double2* values = tile.slot_at(slot(group, level, column, 0));
        unroll<0, SUBS>([&](auto sub) {
            unroll<0, SECOND_RADIX>([&](auto e) {
                x[sub * SECOND_RADIX + e] = values[second_offset(at.thread, sub, e)];
            });
            forward_levels<SECOND_RADIX, 0>(
                x + sub * SECOND_RADIX, SecondRoots(tile, second_block(at.thread, sub)));
            if (active) {
                unroll<0, SECOND_RADIX>([&](auto e) {
                    values[second_offset(at.thread, sub, e)] = x[sub * SECOND_RADIX + e];
                });
            }
        });
    });
}

FUNCTION void inverse_transform(
    const Tile& tile, Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    double2 x[ITEMS];
    double2* values = tile.slot_at(slot(group, 0, column, 0));
    unroll<0, SUBS>([&](auto sub) {
        unroll<0, SECOND_RADIX>(
            [&](auto e) { x[sub * SECOND_RADIX + e] = values[second_offset(at.thread, sub, e)]; });
        inverse_levels<SECOND_RADIX, 0>(
            x + sub * SECOND_RADIX, SecondRoots(tile, second_block(at.thread, sub)));
        if (active)
            unroll<0, SECOND_RADIX>([&](auto e) {
                values[second_offset(at.thread, sub, e)] = x[sub * SECOND_RADIX + e];
            });
    });
    team_barrier(at.team);
    unroll<0, ITEMS>([&](auto b) { x[b] = values[first_offset(at.thread, b)]; });
    if constexpr (DEFER_COSINES) {
        inverse_first_levels<0>(x);
    } else {
        inverse_levels<16, 0>(x, FirstRoots());
    }
    unroll<0, ITEMS>([&](auto b) {
        double scale = DEFER_COSINES ? FIRST_INVERSE_SCALES[b] : 1.0;
        accumulator[b] = accumulate(accumulator[b], x[b].x, scale);
        accumulator[b + ITEMS] = accumulate(accumulator[b + ITEMS], x[b].y, scale);
    });
}

// X^e at position f * TAIL + j is the point exp(i pi (4 brv + 1) e / N). Three factors make it:
// that of the first f of a warp and j = 0, fetched a step ahead straight into the tile; a turn by
// the lane; and one of order TAIL <= 4 by j, which takes swaps and signs.
FUNCTION void fetch_monomials(const Tile& tile, const BlindRotateArguments& a, int step) {
    if (step >= (int)a.steps) return;
    static_assert(Tile::BASES <= THREADS, "one copy a thread");
    int i = threadIdx.x;
    if (i < Tile::BASES) {
        int group = i / (GROUPING * WARPS_OF_FREQUENCIES),
            index = i / WARPS_OF_FREQUENCIES % GROUPING, line = i % WARPS_OF_FREQUENCIES;
        u32 exponent = tile.rotations[group * (LWE_DIMENSION + PACKING) + step * GROUPING + index];
        u32 power = exponent * (4 * reverse_bits(line * 32, log2_of(FREQUENCY_GROUPS)) + 1);
        copy_ahead(
            tile.bases + (step & 1) * Tile::BASES + i,
            (const double2*)a.powers + (power & (2 * POLYNOMIAL_SIZE - 1)));
    }
    end_copies();
}

FUNCTION double2 multiply(double2 a, double2 b) {
    return make_double2(fma(-a.y, b.y, a.x * b.x), fma(a.y, b.x, a.x * b.y));
}

FUNCTION double flip_sign(double x, u32 flip) {
    return __hiloint2double(__double2hiint(x) ^ (int)(flip << 31), __double2loint(x));
}

// Where a thread has several frequencies, what they share of a step's monomials is read before the
// barrier that opens the product phase; else registers are better spent, and it is read after the
// digits, or after the sums where digits are not held.
constexpr bool SHARED_TURNS = FREQUENCY_ROUNDS > 1 && HOLD_DIGITS&& GROUPING == 1;

// What the frequencies of a thread share of one step's monomials.
struct Turns {
    double2 turn[GROUPS][GROUPING];
    u32 exponent[GROUPS][GROUPING];

    FUNCTION void read(const Tile& tile, int step, int group, int index) {
        u32 e = tile.rotations[group * (LWE_DIMENSION + PACKING) + step * GROUPING + index];
        exponent[group][index] = e;
        // A lane adds brv(lane) * 4 * FREQUENCY_GROUPS / 32 * e of 2N = 4 *
        // FREQUENCY_GROUPS * TAIL.
        turn[group][index] =
            tile.turns[turn_offset((reverse_bits(threadIdx.x & 31, 5) * e) & (32 * TAIL - 1))];
    }

    // Before the barrier that makes what fetch_monomials brought known to all threads.
    FUNCTION Turns(const Tile& tile, int step) {
        wait_copies<0>();
        if constexpr (SHARED_TURNS)
            unroll<0, GROUPS>(
                [&](auto g) { unroll<0, GROUPING>([&](auto i) { read(tile, step, g, i); }); });
    }
};

// X^e of one ciphertext and LWE index at the positions of one f.
struct Monomial {
    double2 first;
    u32 exponent;

    FUNCTION void read(const Tile& tile, Turns turns, int step, int f, int group, int index = 0) {
        if constexpr (!SHARED_TURNS) turns.read(tile, step, group, index);
        int base = ((step & 1) * GROUPS + group) * GROUPING + index;
        first =
            multiply(tile.bases[base * WARPS_OF_FREQUENCIES + f / 32], turns.turn[group][index]);
        exponent = turns.exponent[group][index];
    }

    template<int j>
    FUNCTION double2 at() const {
        // Times i^quarters.
        u32 quarters = exponent * (reverse_bits(j, log2_of(TAIL)) * (4 / TAIL));
        double2 x = quarters & 1 ? make_double2(first.y, first.x) : first;
        return j == 0
                   ? x
                   : make_double2(
                         flip_sign(x.x, quarters ^ (quarters >> 1)), flip_sign(x.y, quarters >> 1));
    }
};

// sums += digit * key entry.
FUNCTION void multiply_add(double2& sum, double2 digit, double2 key) {
    sum.x = fma(-digit.y, key.y, fma(digit.x, key.x, sum.x));
    sum.y = fma(digit.y, key.x, fma(digit.x, key.y, sum.y));
}

// (X^e - 1) D C0 + (X^-e - 1) D C1 = (cos - 1) D (C0 + C1) + i sin D (C0 - C1); binary secrets:
// (X^e - 1) D C0.
FUNCTION double2 apply_monomial(const double2* sums, double2 m) {
    double2 sum = sums[0], other = sums[GGSW - 1];
    return make_double2(
        fma(-m.y, other.y, fma(m.x, sum.x, -sum.x)), fma(m.y, other.x, fma(m.x, sum.y, -sum.y)));
}

FUNCTION void load_digits(const Tile& tile, int group, int row, int f, double2* digits) {
    const double2* values = tile.slot_at(slot(group, row / COLUMNS, row % COLUMNS, 0));
    unroll<0, TAIL>([&](auto j) { digits[j] = values[frequency_offset(f, j)]; });
    forward_levels<TAIL, 0>(digits, TailRoots(tile, f));
}

// Products of one column of one ciphertext to its slot.
FUNCTION void
store_column(const Tile& tile, int group, int column, int f, double2 (&result)[TAIL]) {
    inverse_levels<TAIL, 0>(result, TailRoots(tile, f));
    double2* values = tile.slot_at(slot(group, 0, column, 0));
    unroll<0, TAIL>([&](auto j) { values[frequency_offset(f, j)] = result[j]; });
}

// The same of sums as [j][C0 + C1, C0 - C1].
FUNCTION void finish_column(
    const Tile& tile, int group, int column, int f, const double2 (&sums)[TAIL][GGSW],
    const Monomial& monomial) {
    double2 result[TAIL];
    unroll<0, TAIL>(
        [&](auto j) { result[j] = apply_monomial(sums[j], monomial.at<decltype(j)::v>()); });
    store_column(tile, group, column, f, result);
}

FUNCTION void products_at(
    const Tile& tile, const BlindRotateArguments& a, int step, int f, KeyStream& key,
    const Turns& turns) {
    key.seek(a, step, f);
    if constexpr (HOLD_DIGITS) {
        double2 digits[GROUPS][ROWS][TAIL];
        unroll<0, GROUPS>([&](auto g) {
            unroll<0, ROWS>([&](auto row) { load_digits(tile, g, row, f, digits[g][row]); });
        });
        Monomial monomials[GROUPS];
        unroll<0, GROUPS>([&](auto g) { monomials[g].read(tile, turns, step, f, g); });
#pragma unroll(COLUMNS <= 2 ? COLUMNS : 1)
        for (int column = 0; column < COLUMNS; column++) {
            key.look_ahead(column, f);
            double2 sums[GROUPS][TAIL][GGSW] = {};
            unroll<0, ROWS>([&](auto row) {
                unroll<0, GGSW * TAIL>([&](auto i) {
                    constexpr int n = decltype(i)::v, x = KEY_PACKED ? n % GGSW : n / TAIL,
                                  j = KEY_PACKED ? n / GGSW : n % TAIL;
                    key.take(key_entry(0, row, x, j), f, [&](double2 c) {
                        unroll<0, GROUPS>(
                            [&](auto g) { multiply_add(sums[g][j][x], digits[g][row][j], c); });
                    });
                });
            });
            key.advance();
            unroll<0, GROUPS>(
                [&](auto g) { finish_column(tile, g, column, f, sums[g], monomials[g]); });
        }
    } else {
        key.look_ahead(0, f);
        double2 sums[GROUPS][COLUMNS][TAIL][GGSW] = {};
        unroll<0, ROWS>([&](auto row) {
            double2 digits[GROUPS][TAIL];
            unroll<0, GROUPS>([&](auto g) { load_digits(tile, g, row, f, digits[g]); });
            unroll<0, COLUMNS>([&](auto column) {
                unroll<0, GGSW>([&](auto x) {
                    unroll<0, TAIL>([&](auto j) {
                        key.take(key_entry(column, row, x, j), f, [&](double2 c) {
                            unroll<0, GROUPS>([&](auto g) {
                                multiply_add(sums[g][column][j][x], digits[g][j], c);
                            });
                        });
                    });
                });
            });
        });
        key.advance();
        unroll<0, GROUPS>([&](auto g) {
            Monomial monomial;
            monomial.read(tile, turns, step, f, g);
            unroll<0, COLUMNS>(
                [&](auto column) { finish_column(tile, g, column, f, sums[g][column], monomial); });
        });
    }
}

// Coefficient index of value i of a thread: real parts first, then the folded half.
FUNCTION int coefficient_index(int thread, int i) {
    return first_index(thread) + (i % ITEMS) * TEAM + (i < ITEMS ? 0 : POLYNOMIAL_SIZE / 2);
}
