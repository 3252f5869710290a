// Arithmetic of 32-bit words modulo a prime, one vocabulary for primes that are known when a kernel
// is compiled and for those that are data. Bounds are in multiples of p: "x is below 3" means
// x < 3 p.
//
// Code depends on the class of a prime alone: on its headroom, the multiples of p that a word has
// room for.
#pragma once
#include "platform.cuh"

// p^-1 modulo 2^32 for an odd p: p is right to three bits, and each round doubles them.
CONSTANT_FUNCTION u32 inverse_modulo_word(u32 p) {
    u32 inverse = p;
    for (int round = 0; round < 4; round++) inverse *= 2 - p * inverse;
    return inverse;
}

// A prime that is a constant of the kernel.
template<u32 prime>
struct FixedPrime {
    static constexpr u32 p = prime;
    static constexpr u32 ONE = (u32)((1ull << 32) % p); // 2^32 mod p
    static constexpr int HEADROOM =
        (int)(0xffffffffu / p < (1u << 20) ? 0xffffffffu / p : (1u << 20));

    FUNCTION u32 multiple(int k) const { return (u32)k * p; }
    // x, or x - k p where that does not wrap: it is the smaller word then.
    FUNCTION u32 less(u32 x, int k) const { return min(x, x - (u32)k * p); }
    // p^-1 mod 2^32
    FUNCTION u32 inverse() const {
        constexpr u32 value = inverse_modulo_word(p);
        return value;
    }
    FUNCTION u32 sum(u32 a, u32 b) const { return add(a, b); }
};

// A prime that is data, of the class with this headroom: headroom * q < 2^32.
template<int headroom>
struct RuntimePrime {
    static constexpr int HEADROOM = headroom;
    // A compiler that knew how they are related would compute them again in every butterfly.
    u32 q, two_q, minus_two_q, minus_q;

    FUNCTION RuntimePrime(u32 prime, u32 twice, u32 minus_twice, u32 minus)
        : q(prime), two_q(twice), minus_two_q(minus_twice), minus_q(minus) {}
    FUNCTION explicit RuntimePrime(u32 prime)
        : q(prime), two_q(hidden(2 * prime)), minus_two_q(hidden(0 - 2 * prime)),
          minus_q(hidden(0 - prime)) {}

    FUNCTION u32 multiple(int k) const { return k == 1 ? q : k == 2 ? two_q : (u32)k * q; }
    FUNCTION u32 less(u32 x, int k) const {
        return least_sum(x, k == 1 ? minus_q : k == 2 ? minus_two_q : (u32)k * minus_q);
    }
    FUNCTION u32 inverse() const { return inverse_modulo_word(q); }
    FUNCTION u32 sum(u32 a, u32 b) const { return a + b; }
};

template<class Prime>
struct Modular : Prime {
    using Prime::HEADROOM;
    using Prime::Prime;
    // With room for 4 p products may stay below 2; above 2^30 everything is kept reduced.
    static constexpr bool LAZY = HEADROOM >= 4;
    static constexpr int PRODUCT = LAZY ? 2 : 1;

    // From below `from` to below `to`: halves the bound by one conditional subtraction at a time.
    template<int from, int to>
    FUNCTION u32 reduce(u32 x) const {
        if constexpr (from > to) {
            constexpr int half = (from + 1) / 2;
            return reduce<half, to>(this->less(x, half));
        } else {
            return x;
        }
    }

    // x * root for any word x, below 2 (Shoup; quotient = floor(root * 2^32 / p)).
    FUNCTION u32 lazy_product(u32 x, u32 root, u32 quotient) const {
        return x * root - __umulhi(x, quotient) * this->multiple(1);
    }

    // The same below PRODUCT.
    FUNCTION u32 multiply(u32 x, u32 root, u32 quotient) const {
        return reduce<2, PRODUCT>(lazy_product(x, root, quotient));
    }

    // x * 2^-32 for x < 2^64 - 2^32 p: below x / (2^32 p) + 1 (Montgomery).
    FUNCTION u32 montgomery(u64 x) const {
        u32 m = (u32)x * this->inverse();
        return (u32)(x >> 32) + (this->multiple(1) - __umulhi(m, this->multiple(1)));
    }

    // Bound after a Cooley-Tukey level whose inputs are below `bound`.
    static CONSTANT_FUNCTION int forward_bound(int bound) {
        return LAZY ? (bound + 2 > HEADROOM ? 2 : bound) + 2 : 1;
    }

    static CONSTANT_FUNCTION int forward_bound(int bound, int levels) {
        return levels == 0 ? bound : forward_bound(forward_bound(bound), levels - 1);
    }

    // (u, v) -> (u + root v, u - root v); u below `bound`, v any word.
    template<int bound>
    FUNCTION void forward_butterfly(u32& u, u32& v, u32 root, u32 quotient) const {
        u32 product = multiply(v, root, quotient);
        if constexpr (LAZY) {
            u32 kept = u;
            if constexpr (bound + 2 > HEADROOM) kept = reduce<bound, 2>(u);
            v = kept + (this->multiple(2) - product);
            u = this->sum(kept, product);
        } else {
            v = reduce<2, 1>(u + (this->multiple(1) - product));
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
        return 2 * (2 * before > HEADROOM ? 2 : before);
    }

    // (u, v) -> (u + v, root (v - u)), with the negated root of the inverse; both below `bound`.
    template<int bound>
    FUNCTION void inverse_butterfly(u32& u, u32& v, u32 root, u32 quotient) const {
        if constexpr (LAZY) {
            constexpr int kept = 2 * bound > HEADROOM ? 2 : bound;
            u32 a = reduce<bound, kept>(u), b = reduce<bound, kept>(v);
            u = this->sum(a, b);
            v = multiply(b + (this->multiple(kept) - a), root, quotient);
        } else {
            u32 a = u, b = v;
            u = reduce<2, 1>(a + b);
            v = multiply(b + (this->multiple(1) - a), root, quotient);
        }
    }
};

// Butterflies of all levels from `level` on of a sub-transform of `radix` words below `bound`. A
// level has 2^level blocks; `roots(level, block)` gives the root of a block as a Shoup pair.
template<int radix, int level, int bound, class W, class Roots>
FUNCTION void forward_levels(const W& word, u32* x, const Roots& roots) {
    if constexpr ((1 << level) < radix) {
        constexpr int half = radix >> (level + 1);
        unroll<0, (1 << level)>([&](auto block) {
            uint2 root = roots(level, int(block));
            unroll<0, half>([&](auto i) {
                word.template forward_butterfly<bound>(
                    x[2 * half * block + i], x[2 * half * block + i + half], root.x, root.y);
            });
        });
        forward_levels<radix, level + 1, W::forward_bound(bound)>(word, x, roots);
    }
}

// Undoes forward_levels without the factor 1/radix; inputs below `start`, outputs below `end`.
// Roots are negated inverses.
template<int radix, int done, int start, int end, class W, class Roots>
FUNCTION void inverse_levels(const W& word, u32* x, const Roots& roots) {
    if constexpr ((1 << done) < radix) {
        constexpr int level = log2_of(radix) - 1 - done, half = 1 << done;
        unroll<0, (1 << level)>([&](auto block) {
            uint2 root = roots(level, int(block));
            unroll<0, half>([&](auto i) {
                constexpr int e = 2 * half * decltype(block)::v + decltype(i)::v;
                word.template inverse_butterfly<W::inverse_bound(done, e, start)>(
                    x[e], x[e + half], root.x, root.y);
            });
        });
        inverse_levels<radix, done + 1, start, end>(word, x, roots);
    } else {
        unroll<0, radix>([&](auto e) {
            x[e] = word.template reduce<W::inverse_bound(done, decltype(e)::v, start), end>(x[e]);
        });
    }
}
