// The product phase of a step that takes several LWE indices (binary secrets, f64 FFT): GGSW
// ciphertexts, one for each non-empty set of the step's indices. Each entry of the key becomes that
// of one ciphertext, the sum of all with each times its X^e - 1, before digits meet it: fewer sums
// live than with a sum for each ciphertext, and fewer operations.
#pragma once
#include "fft.cuh"

// X^e of every set of the step's indices at the positions of one f: number S - 1 is that of set S.
struct GroupedMonomials {
    Monomial of[GGSW];

    FUNCTION void read(const Tile& tile, const Turns& turns, int step, int f, int group) {
        unroll<1, GGSW + 1>([&](auto set) {
            constexpr int s = decltype(set)::v, last = log2_of(s), others = s - (1 << last);
            if constexpr (others == 0) {
                of[s - 1].read(tile, turns, step, f, group, last);
            } else {
                of[s - 1].first = multiply(of[others - 1].first, of[(1 << last) - 1].first);
                of[s - 1].exponent = of[others - 1].exponent + of[(1 << last) - 1].exponent;
            }
        });
    }

    // X^e - 1.
    template<int j>
    FUNCTION void less_one(double2 (&m)[GGSW]) const {
        unroll<0, GGSW>([&](auto x) {
            double2 power = of[x].template at<j>();
            m[x] = make_double2(power.x - 1.0, power.y);
        });
    }
};

// sums[g] += digits[g] times the entries of f from `first` of the run on, bundled.
FUNCTION void multiply_bundle(
    KeyStream& key, int first, int f, const double2 (&m)[GROUPS][GGSW],
    const double2 (&digits)[GROUPS], double2 (&sums)[GROUPS]) {
    double2 bundle[GROUPS] = {};
    unroll<0, GGSW>([&](auto x) {
        key.take(first + x, f, [&](double2 c) {
            unroll<0, GROUPS>([&](auto g) { multiply_add(bundle[g], m[g][x], c); });
        });
    });
    unroll<0, GROUPS>([&](auto g) { multiply_add(sums[g], digits[g], bundle[g]); });
}

FUNCTION void grouped_products_at(
    const Tile& tile, const BlindRotateArguments& a, int step, int f, KeyStream& key,
    const Turns& turns) {
    key.seek(a, step, f);
    key.look_ahead(0, f);
    GroupedMonomials monomials[GROUPS];
    double2 sums[COLUMNS][TAIL][GROUPS] = {};
    if constexpr (HOLD_DIGITS) {
        double2 digits[GROUPS][ROWS][TAIL];
        unroll<0, GROUPS>([&](auto g) {
            unroll<0, ROWS>([&](auto row) { load_digits(tile, g, row, f, digits[g][row]); });
        });
        unroll<0, GROUPS>([&](auto g) { monomials[g].read(tile, turns, step, f, g); });
        // Sums take the place of digits, position by position.
        unroll<0, TAIL>([&](auto j) {
            double2 m[GROUPS][GGSW];
            unroll<0, GROUPS>(
                [&](auto g) { monomials[g].template less_one<decltype(j)::v>(m[g]); });
            unroll<0, COLUMNS>([&](auto column) {
                unroll<0, ROWS>([&](auto row) {
                    double2 factors[GROUPS];
                    unroll<0, GROUPS>([&](auto g) { factors[g] = digits[g][row][j]; });
                    multiply_bundle(
                        key, key_entry(column, row, 0, j), f, m, factors, sums[column][j]);
                });
            });
        });
    } else {
        unroll<0, GROUPS>([&](auto g) { monomials[g].read(tile, turns, step, f, g); });
        unroll<0, ROWS>([&](auto row) {
            double2 digits[GROUPS][TAIL];
            unroll<0, GROUPS>([&](auto g) { load_digits(tile, g, row, f, digits[g]); });
            unroll<0, TAIL>([&](auto j) {
                double2 m[GROUPS][GGSW], factors[GROUPS];
                unroll<0, GROUPS>([&](auto g) {
                    monomials[g].template less_one<decltype(j)::v>(m[g]);
                    factors[g] = digits[g][j];
                });
                unroll<0, COLUMNS>([&](auto column) {
                    multiply_bundle(
                        key, key_entry(column, row, 0, j), f, m, factors, sums[column][j]);
                });
            });
        });
    }
    key.advance();
    unroll<0, GROUPS>([&](auto g) {
        unroll<0, COLUMNS>([&](auto column) {
            double2 result[TAIL];
            unroll<0, TAIL>([&](auto j) { result[j] = sums[column][j][g]; });
            store_column(tile, g, column, f, result);
        });
    });
}

// The product phase of any step.
FUNCTION void products(
    const Tile& tile, const BlindRotateArguments& a, int step, KeyStream& key, const Turns& turns) {
#pragma unroll 1
    for (int f = threadIdx.x; f < FREQUENCY_GROUPS; f += THREADS) {
        if constexpr (GROUPING > 1) {
            grouped_products_at(tile, a, step, f, key, turns);
        } else {
            products_at(tile, a, step, f, key, turns);
        }
    }
}
