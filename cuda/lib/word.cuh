// One 32-bit prime word. Bounds are in multiples of p: "x is below 3" means x < 3p.
#pragma once
#include "constants.cuh"
#include "platform.cuh"

template<int w>
struct Word {
    static constexpr u32 p = PRIMES[w];
    static constexpr u32 INVERSE = PRIME_INVERSES[w]; // p^-1 mod 2^32
    static constexpr u32 ONE = MONTGOMERY_ONES[w];    // 2^32 mod p
    // How many times p fits a word: the room for lazy sums.
    static constexpr int HEAD = (int)(0xffffffffu / p < (1u << 20) ? 0xffffffffu / p : (1u << 20));
    // With room for 4p products may stay below 2p; above 2^30 everything is kept reduced.
    static constexpr bool LAZY = HEAD >= 4;
    static constexpr int PRODUCT = LAZY ? 2 : 1;

    // From below `from` to below `to`: halves the bound by one conditional subtraction at a time.
    template<int from, int to>
    static FUNCTION u32 reduce(u32 x) {
        if constexpr (from > to) {
            constexpr int half = (from + 1) / 2;
            // Below half * p the difference wraps to something larger than x.
            return reduce<half, to>(min(x, x - (u32)half * p));
        } else {
            return x;
        }
    }

    // x * root for any 32-bit x, below PRODUCT (Shoup; quotient = floor(root * 2^32 / p)).
    static FUNCTION u32 multiply(u32 x, u32 root, u32 quotient) {
        u32 product = x * root - __umulhi(x, quotient) * p;
        return reduce<2, PRODUCT>(product);
    }

    // x * 2^-32 for any x < 2^64: below x / (2^32 p) + 1 (Montgomery).
    static FUNCTION u32 montgomery(u64 x) {
        u32 m = (u32)x * INVERSE;
        return (u32)(x >> 32) + (p - __umulhi(m, p));
    }

    // Bound after a Cooley-Tukey level whose inputs are below `bound`.
    static CONSTANT_FUNCTION int forward_bound(int bound) {
        return LAZY ? (bound + 2 > HEAD ? 2 : bound) + 2 : 1;
    }

    static CONSTANT_FUNCTION int forward_bound(int bound, int levels) {
        return levels == 0 ? bound : forward_bound(forward_bound(bound), levels - 1);
    }

    // (u, v) -> (u + root v, u - root v); u below `bound`, v any word.
    template<int bound>
    static FUNCTION void forward_butterfly(u32& u, u32& v, u32 root, u32 quotient) {
        u32 product = multiply(v, root, quotient);
        if constexpr (LAZY) {
            u32 kept = u;
            if constexpr (bound + 2 > HEAD) kept = reduce<bound, 2>(u);
            v = kept + (2 * p - product);
            u = add(kept, product);
        } else {
            v = reduce<2, 1>(u + (p - product));
            u = reduce<2, 1>(u + product);
        }
    }

    // Bound of value e after `level` Gentleman-Sande levels (distances 1, 2, 4, ..) on inputs below
    // `start`: a value is the product of its last level, or a sum and twice as large.
    static CONSTANT_FUNCTION int inverse_bound(int level, int e, int start) {
        if (!LAZY) return 1;
        if (level == 0) return start;
        if ((e >> (level - 1)) & 1) return 2;
        int before = inverse_bound(level - 1, e, start);
        return 2 * (2 * before > HEAD ? 2 : before);
    }

    // (u, v) -> (u + v, root (v - u)), with the negated root of the inverse; both below `bound`.
    template<int bound>
    static FUNCTION void inverse_butterfly(u32& u, u32& v, u32 root, u32 quotient) {
        if constexpr (LAZY) {
            constexpr int kept = 2 * bound > HEAD ? 2 : bound;
            u32 a = reduce<bound, kept>(u), b = reduce<bound, kept>(v);
            u = add(a, b);
            v = multiply(b + ((u32)kept * p - a), root, quotient);
        } else {
            u32 a = u, b = v;
            u = reduce<2, 1>(a + b);
            v = multiply(b + (p - a), root, quotient);
        }
    }
};
