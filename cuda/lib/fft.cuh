// The folded f64 FFT over N/2 complex points, split into the passes of tile.cuh.
//
// A polynomial a is folded to a_j + i a_{j + N/2} and reduced down the tree X^2h - c^2 = (X^h - c)(X^h + c) from
// X^(N/2) - i: the same tree as the NTT's, with complex roots and no twist (see girih_ring::fft). The roots of the two
// halves of a node are c and i c, so one root serves two blocks.
#pragma once
#include "jobs.cuh"
#include "switch.cuh"
#include "tile.cuh"
#include "trace.cuh"

// (u, v) -> (u + c v, u - c v) in six multiply-adds; the second is 2 u minus the first.
FUNCTION void forward_butterfly(double2& u, double2& v, double2 c) {
    double2 sum;
    sum.x = fma(-c.y, v.y, fma(c.x, v.x, u.x));
    sum.y = fma(c.y, v.x, fma(c.x, v.y, u.y));
    v.x = fma(2.0, u.x, -sum.x);
    v.y = fma(2.0, u.y, -sum.y);
    u = sum;
}

// (u, v) -> (u + v, conj(c) (u - v)).
FUNCTION void inverse_butterfly(double2& u, double2& v, double2 c) {
    double2 difference = make_double2(u.x - v.x, u.y - v.y);
    u = make_double2(u.x + v.x, u.y + v.y);
    v.x = fma(c.y, difference.y, c.x * difference.x);
    v.y = fma(-c.y, difference.x, c.x * difference.y);
}

// Roots come from `roots(level, pair)`: that of block 2 pair; block 2 pair + 1 has i times it.
template <int radix, int level, class Roots> FUNCTION void forward_levels(double2* x, const Roots& roots) {
    if constexpr ((1 << level) < radix) {
        constexpr int half = radix >> (level + 1);
        unroll<0, (level == 0 ? 1 : 1 << (level - 1))>([&](auto pair) {
            double2 root = roots(level, int(pair));
            double2 turned = make_double2(-root.y, root.x);
            unroll<0, half>([&](auto i) {
                forward_butterfly(x[4 * half * pair + i], x[4 * half * pair + i + half], root);
                if constexpr (level > 0) forward_butterfly(x[4 * half * pair + 2 * half + i], x[4 * half * pair + 3 * half + i], turned);
            });
        });
        forward_levels<radix, level + 1>(x, roots);
    }
}

// Undoes forward_levels without the factor 1/radix.
template <int radix, int done, class Roots> FUNCTION void inverse_levels(double2* x, const Roots& roots) {
    if constexpr ((1 << done) < radix) {
        constexpr int level = log2_of(radix) - 1 - done, half = 1 << done;
        unroll<0, (level == 0 ? 1 : 1 << (level - 1))>([&](auto pair) {
            double2 root = roots(level, int(pair));
            double2 turned = make_double2(-root.y, root.x);
            unroll<0, half>([&](auto i) {
                inverse_butterfly(x[4 * half * pair + i], x[4 * half * pair + i + half], root);
                if constexpr (level > 0) inverse_butterfly(x[4 * half * pair + 2 * half + i], x[4 * half * pair + 3 * half + i], turned);
            });
        });
        inverse_levels<radix, done + 1>(x, roots);
    }
}

// Entry of (level, pair) in a table of the roots of a sub-transform.
CONSTANT_FUNCTION int root_entry(int level, int pair) { return level == 0 ? 0 : (1 << (level - 1)) + pair; }

// Frequencies whose points differ by few roots of unity (see Monomials): those of a warp.
constexpr int WARPS_OF_FREQUENCIES = FREQUENCY_GROUPS / 32;
static_assert(FREQUENCY_GROUPS % 32 == 0, "whole warps of frequencies");

struct Tile {
    double2* slots;
    double2* second_roots; // [entry][16]: roots of the second pass by block
    double2* tail_roots;   // [entry][f]: roots of the tail
    double2* turns;        // exp(2 pi i l / (32 TAIL)) at turn_offset(l), l < 32 TAIL
    double2* bases;        // [step & 1][group][j][warp of frequencies]: X^e at the first of them
    void* accumulators;
    u16* rotations;

    static constexpr int SLOT_VALUES = STORED_GROUPS * COLUMNS * LEVELS * POINTS;
    static constexpr int ROOTS = 8 * 16;
    static constexpr int TAIL_ROOTS = TAIL / 2 * FREQUENCY_GROUPS;
    static constexpr int BASES = GROUPS * TAIL * WARPS_OF_FREQUENCIES;
    static constexpr int ACCUMULATORS = ACCUMULATOR_IN_REGISTERS ? 0 : STORED_GROUPS * COLUMNS * POLYNOMIAL_SIZE;

    FUNCTION explicit Tile(void* memory) {
        slots = (double2*)memory;
        second_roots = slots + SLOT_VALUES;
        tail_roots = second_roots + ROOTS;
        turns = tail_roots + TAIL_ROOTS;
        bases = turns + 32 * TAIL;
        accumulators = bases + 2 * BASES;
        rotations = (u16*)((Accumulator*)accumulators + ACCUMULATORS);
    }

    FUNCTION double2* slot_at(int index) const { return slots + index * POINTS; }
};

// Eight neighbouring lanes read turns that differ by multiples of 4 e: this spreads them over the banks for any e.
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
        tile.tail_roots[i] = ((const double2*)a.roots)[(FREQUENCY_GROUPS << level) + (f << level) + block];
    }
    for (int i = threadIdx.x; i < Tile::ROOTS; i += THREADS) {
        int b = i % 16, entry = i / 16;
        // Entry 0 is level 0; entry 2^(level - 1) + pair is block 2 pair of that level.
        int level = entry == 0 ? 0 : 32 - __clz(entry);
        int block = entry == 0 ? 0 : 2 * (entry - (1 << (level - 1)));
        int index = (16 << level) + (b << level) + block;
        tile.second_roots[i] = (1 << level) < SECOND_RADIX ? ((const double2*)a.roots)[index] : make_double2(0, 0);
    }
    for (int i = threadIdx.x; i < 32 * TAIL; i += THREADS) tile.turns[turn_offset(i)] = ((const double2*)a.powers)[i * (2 * POLYNOMIAL_SIZE / (32 * TAIL))];
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
    FUNCTION double2 operator()(int level, int pair) const { return table[root_entry(level, pair) * 16]; }
};

struct TailRoots {
    const double2* table;
    FUNCTION TailRoots(const Tile& tile, int f) : table(tile.tail_roots + f) {}
    FUNCTION double2 operator()(int level, int pair) const { return table[root_entry(level, pair) * FREQUENCY_GROUPS]; }
};

// An exact conversion without the slow conversion unit: 2^52 + 2^31 + x has x's bits, sign flipped, in its low word.
FUNCTION double to_double(i32 x) {
    return __hiloint2double(0x43300000, (int)((u32)x ^ 0x80000000u)) - __hiloint2double(0x43300000, (int)0x80000000u);
}

// The integer nearest to x modulo 2^32, for |x| < 2^51: the low word of x + 1.5 * 2^52.
FUNCTION u32 nearest_low_word(double x) { return (u32)__double2loint(x + 6755399441055744.0); }

// Adds the sum x of one step's products (scaled to units of Q) to an accumulator coefficient, rounding once.
FUNCTION Accumulator add_product(Accumulator accumulator, double x) {
    constexpr double q = (double)ACCUMULATOR_MODULUS;
    if constexpr (MODULUS_RAISING) {
        // |x| may pass 2^51 only where Q is large; a multiple of Q is taken off first.
        if constexpr (FFT_SUM_IS_LARGE) x = fma(-rint(x * (1.0 / q)), q, x);
        return (Accumulator)((accumulator + nearest_low_word(x)) & (u32)(ACCUMULATOR_MODULUS - 1));
    } else if constexpr (NATIVE_TORUS) {
        // Words of 32 bits: what lies below them is 2^-9 of the error that doubles make of a sum (TFHERS_2_2).
        return (Accumulator)((u32)accumulator + nearest_low_word(fma(-rint(x * (1.0 / q)), q, x)));
    } else {
        // The rest is exact: x and its quotient times q are multiples of the last place of x, and the rest is at most q/2 and a bit.
        double rest = fma(-rint(x * (1.0 / q)), q, x);
        if constexpr (!ACCUMULATOR_IS_WIDE) {
            // A negative rest wraps to above 2^32 - q and comes back below q when q is added; then the sum is at most 2q < 2^32.
            u32 positive = nearest_low_word(rest);
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

FUNCTION void forward_polynomial(const Tile& tile, const Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    unroll<0, LEVELS>([&](auto level) {
        double2 x[ITEMS];
        unroll<0, ITEMS>([&](auto b) {
            x[b] = make_double2(to_double(digit<decltype(level)::v>(accumulator[b])), to_double(digit<decltype(level)::v>(accumulator[b + ITEMS])));
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
            unroll<0, SECOND_RADIX>([&](auto e) { x[sub * SECOND_RADIX + e] = values[second_offset(at.thread, sub, e)]; });
            forward_levels<SECOND_RADIX, 0>(x + sub * SECOND_RADIX, SecondRoots(tile, second_block(at.thread, sub)));
            if (active) {
                unroll<0, SECOND_RADIX>([&](auto e) { values[second_offset(at.thread, sub, e)] = x[sub * SECOND_RADIX + e]; });
            }
        });
    });
}

FUNCTION void inverse_polynomial(const Tile& tile, Accumulator* accumulator, int polynomial, Place at, bool active) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    double2 x[ITEMS];
    double2* values = tile.slot_at(slot(group, 0, column, 0));
    unroll<0, SUBS>([&](auto sub) {
        unroll<0, SECOND_RADIX>([&](auto e) { x[sub * SECOND_RADIX + e] = values[second_offset(at.thread, sub, e)]; });
        inverse_levels<SECOND_RADIX, 0>(x + sub * SECOND_RADIX, SecondRoots(tile, second_block(at.thread, sub)));
        if (active) unroll<0, SECOND_RADIX>([&](auto e) { values[second_offset(at.thread, sub, e)] = x[sub * SECOND_RADIX + e]; });
    });
    team_barrier(at.team);
    unroll<0, ITEMS>([&](auto b) { x[b] = values[first_offset(at.thread, b)]; });
    inverse_levels<16, 0>(x, FirstRoots());
    unroll<0, ITEMS>([&](auto b) {
        accumulator[b] = add_product(accumulator[b], x[b].x);
        accumulator[b + ITEMS] = add_product(accumulator[b + ITEMS], x[b].y);
    });
}

// Few rows: hold all digits and sum one column at a time. Many rows: hold the sums of all columns and read digits once.
constexpr bool HOLD_DIGITS = ROWS <= 2 * COLUMNS;
// One complex entry is 16 bytes. Where digits are held: [step][column][row][C0 + C1, C0 - C1][j][f], else [step][row][column]..;
// binary secrets: C0 alone. Entries of one f follow each other through all steps in the order of their use.
constexpr int KEY_ENTRIES = ROWS * GGSW * TAIL;
constexpr u64 KEY_STEP_BYTES = 16ull * COLUMNS * KEY_ENTRIES * FREQUENCY_GROUPS;

// The key entries of one frequency. A thread with one frequency asks for entries KEY_RING ahead of use: those asked for at
// the end of a product phase arrive during the transforms. The last step reads past the key, into the slack behind it.
struct KeyStream {
    const double2* at;
    double2 ahead[KEY_RING > 0 ? KEY_RING : 1];
    static_assert(KEY_RING == 0 || (THREADS == FREQUENCY_GROUPS && KEY_ENTRIES % KEY_RING == 0), "a ring closes with each run");

    FUNCTION explicit KeyStream(const BlindRotateArguments& a) : at((const double2*)a.key + threadIdx.x) {
        unroll<0, KEY_RING>([&](auto i) { ahead[i] = load_key_now(at + i * FREQUENCY_GROUPS); });
    }

    FUNCTION void seek(const BlindRotateArguments& a, int step, int f) {
        if constexpr (KEY_RING == 0) at = (const double2*)a.key + (u64)step * COLUMNS * KEY_ENTRIES * FREQUENCY_GROUPS + f;
    }

    // Hands entry i from here to `use`.
    template <class Use> FUNCTION void take(int i, const Use& use) {
        if constexpr (KEY_RING == 0) {
            use(load_key(at + i * FREQUENCY_GROUPS));
        } else {
            use(ahead[i % KEY_RING]);
            ahead[i % KEY_RING] = load_key_now(at + (i + KEY_RING) * FREQUENCY_GROUPS);
        }
    }

    FUNCTION void advance(int entries) { at += entries * FREQUENCY_GROUPS; }
};

// X^e at position f * TAIL + j is the point exp(i pi (4 brv + 1) e / N). The points of a warp are the first of them times
// roots of unity of low order. Those first ones are fetched a step ahead, straight into the tile.
FUNCTION void fetch_monomials(const Tile& tile, const BlindRotateArguments& a, int step) {
    constexpr int bits = log2_of(FREQUENCY_GROUPS);
    if (step >= (int)a.steps) return;
    for (int i = threadIdx.x; i < Tile::BASES; i += THREADS) {
        int warp = i % WARPS_OF_FREQUENCIES, j = i / WARPS_OF_FREQUENCIES % TAIL, group = i / WARPS_OF_FREQUENCIES / TAIL;
        u32 exponent = tile.rotations[group * (LWE_DIMENSION + PACKING) + step];
        u32 point = reverse_bits(warp * 32, bits) + reverse_bits(j, log2_of(TAIL)) * FREQUENCY_GROUPS;
        copy_ahead(tile.bases + (step & 1) * Tile::BASES + i, (const double2*)a.powers + ((exponent * (4 * point + 1)) & (2 * POLYNOMIAL_SIZE - 1)));
    }
    end_copies();
}

FUNCTION void await_monomials() { wait_copies<0>(); }

FUNCTION double2 monomial(const Tile& tile, int step, u32 exponent, int group, int f, int j) {
    double2 base = tile.bases[(((step & 1) * GROUPS + group) * TAIL + j) * WARPS_OF_FREQUENCIES + f / 32];
    // A lane adds brv(lane) * 4 * FREQUENCY_GROUPS / 32 * e of 2N = 4 * FREQUENCY_GROUPS * TAIL.
    double2 turn = tile.turns[turn_offset((reverse_bits(f & 31, 5) * exponent) & (32 * TAIL - 1))];
    return make_double2(fma(-base.y, turn.y, base.x * turn.x), fma(base.y, turn.x, base.x * turn.y));
}

// sums += digit * key entry.
FUNCTION void multiply_add(double2& sum, double2 digit, double2 key) {
    sum.x = fma(-digit.y, key.y, fma(digit.x, key.x, sum.x));
    sum.y = fma(digit.y, key.x, fma(digit.x, key.y, sum.y));
}

// (X^e - 1) D C0 + (X^-e - 1) D C1 = (cos - 1) D (C0 + C1) + i sin D (C0 - C1).
FUNCTION double2 apply_monomial(const double2* sums, double2 m) {
    if constexpr (GGSW == 2) {
        return make_double2(fma(-m.y, sums[GGSW - 1].y, (m.x - 1.0) * sums[0].x), fma(m.y, sums[GGSW - 1].x, (m.x - 1.0) * sums[0].y));
    } else {
        return make_double2(fma(-m.y, sums[0].y, (m.x - 1.0) * sums[0].x), fma(m.y, sums[0].x, (m.x - 1.0) * sums[0].y));
    }
}

FUNCTION void load_digits(const Tile& tile, int group, int row, int f, double2* digits) {
    const double2* values = tile.slot_at(slot(group, row / COLUMNS, row % COLUMNS, 0));
    unroll<0, TAIL>([&](auto j) { digits[j] = values[frequency_offset(f, j)]; });
    forward_levels<TAIL, 0>(digits, TailRoots(tile, f));
}

// Sums of one column of one ciphertext, as [j][C0 + C1, C0 - C1], to its slot.
template <class Monomials>
FUNCTION void finish_column(const Tile& tile, int group, int column, int f, const double2 (&sums)[TAIL][GGSW],
                            const Monomials& monomials) {
    double2 result[TAIL];
    unroll<0, TAIL>([&](auto j) { result[j] = apply_monomial(sums[j], monomials(j)); });
    inverse_levels<TAIL, 0>(result, TailRoots(tile, f));
    double2* values = tile.slot_at(slot(group, 0, column, 0));
    unroll<0, TAIL>([&](auto j) { values[frequency_offset(f, j)] = result[j]; });
}

// X^e of one step in all positions that this thread multiplies. Without registers to spare they wait in the slots of the
// last column, at this thread's own positions: its digits have been read, its result comes after their last use.
struct Monomials {
    double2 held[HOLD_MONOMIALS ? GROUPS : 1][TAIL];

    FUNCTION static double2* stored(const Tile& tile, int group) { return tile.slot_at(slot(group, 0, COLUMNS - 1, 0)); }

    FUNCTION Monomials(const Tile& tile, int step, int f) {
        unroll<0, GROUPS>([&](auto g) {
            u32 exponent = tile.rotations[g * (LWE_DIMENSION + PACKING) + step];
            unroll<0, TAIL>([&](auto j) {
                double2 value = monomial(tile, step, exponent, g, f, j);
                if constexpr (HOLD_MONOMIALS) {
                    held[g][j] = value;
                } else {
                    stored(tile, g)[frequency_offset(f, j)] = value;
                }
            });
        });
    }

    FUNCTION double2 at(const Tile& tile, int group, int f, int j) const {
        if constexpr (HOLD_MONOMIALS) {
            return held[group][j];
        } else {
            return stored(tile, group)[frequency_offset(f, j)];
        }
    }
};

FUNCTION void products_at(const Tile& tile, const BlindRotateArguments& a, int step, int f, KeyStream& key) {
    key.seek(a, step, f);
    if constexpr (HOLD_DIGITS) {
        double2 digits[GROUPS][ROWS][TAIL];
        unroll<0, GROUPS>([&](auto g) { unroll<0, ROWS>([&](auto row) { load_digits(tile, g, row, f, digits[g][row]); }); });
        const Monomials monomials(tile, step, f);
#pragma unroll 1
        for (int column = 0; column < COLUMNS; column++) {
            double2 sums[GROUPS][TAIL][GGSW] = {};
            unroll<0, ROWS>([&](auto row) {
                unroll<0, GGSW>([&](auto x) {
                    unroll<0, TAIL>([&](auto j) {
                        key.take((row * GGSW + x) * TAIL + j, [&](double2 c) {
                            unroll<0, GROUPS>([&](auto g) { multiply_add(sums[g][j][x], digits[g][row][j], c); });
                        });
                    });
                });
            });
            key.advance(KEY_ENTRIES);
            unroll<0, GROUPS>([&](auto g) {
                finish_column(tile, g, column, f, sums[g], [&](int j) { return monomials.at(tile, g, f, j); });
            });
        }
    } else {
        double2 sums[GROUPS][COLUMNS][TAIL][GGSW] = {};
        unroll<0, ROWS>([&](auto row) {
            double2 digits[GROUPS][TAIL];
            unroll<0, GROUPS>([&](auto g) { load_digits(tile, g, row, f, digits[g]); });
            unroll<0, COLUMNS>([&](auto column) {
                unroll<0, GGSW>([&](auto x) {
                    unroll<0, TAIL>([&](auto j) {
                        key.take(((row * COLUMNS + column) * GGSW + x) * TAIL + j, [&](double2 c) {
                            unroll<0, GROUPS>([&](auto g) { multiply_add(sums[g][column][j][x], digits[g][j], c); });
                        });
                    });
                });
            });
        });
        key.advance(COLUMNS * KEY_ENTRIES);
        const Monomials monomials(tile, step, f);
        unroll<0, GROUPS>([&](auto g) {
            unroll<0, COLUMNS>([&](auto column) {
                finish_column(tile, g, column, f, sums[g][column], [&](int j) { return monomials.at(tile, g, f, j); });
            });
        });
    }
}

FUNCTION void products(const Tile& tile, const BlindRotateArguments& a, int step, KeyStream& key) {
#pragma unroll 1
    for (int f = threadIdx.x; f < FREQUENCY_GROUPS; f += THREADS) products_at(tile, a, step, f, key);
}

// Coefficient index of value i of a thread: real parts first, then the folded half.
FUNCTION int coefficient_index(int thread, int i) {
    return first_index(thread) + (i % ITEMS) * TEAM + (i < ITEMS ? 0 : POLYNOMIAL_SIZE / 2);
}
