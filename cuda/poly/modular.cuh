// Arithmetic modulo primes that are known when a kernel runs, and the tables of a ring.
#pragma once
#include "constants.cuh"
#include "word.cuh"

// What is computed with a prime. The multiples lie in memory because a compiler that knew how they
// are related would compute them again in every butterfly.
struct Prime {
    u32 q, two_q, minus_two_q, minus_q;
    u32 inverse;    // of q modulo 2^32
    u32 reciprocal; // floor(2^48 / q)
    u32 number;     // of the ring's
    u32 unused;
    double quotient; // 2^32 / q, rounded down
    double unused_too;
};

// Tables of a ring; [0] are those of the forward transform, [1] of the inverse one. A factor lies
// beside its quotient floor(w 2^32 / q).
struct Tables {
    const Prime* primes;
    // [prime][row][32]: of the first five stages of a row, at 2^stage + block.
    const uint2* first[2];
    // [prime][row][5][32]: of each thread's first block in the last five.
    const u32* last[2];
    // [prime][16]: from a thread's first block to its others.
    const uint2* steps[2];
    // [prime][columns' points]: of the stages of columns, at 2^stage + block.
    const uint2* columns[2];
    // [prime][row], only where rows are short: of all stages.
    const uint2* whole[2];
};

static_assert(
    sizeof(Prime) == PRIME_BYTES && sizeof(Tables) == TABLES_BYTES, "tables as the host has them");

// Narrow primes lie below 2^30, and values between stages below 4 q (forward) or 2 q (inverse).
// Wide ones lie below 2^31, and all values are canonical.
template<bool wide>
struct Field : Modular<RuntimePrime<wide ? 2 : 4>> {
    using Base = Modular<RuntimePrime<wide ? 2 : 4>>;
    using Base::q;
    using Base::two_q;

    FUNCTION explicit Field(const Prime& p) : Base(p.q, p.two_q, p.minus_two_q, p.minus_q) {}
    FUNCTION explicit Field(u32 prime) : Base(prime) {}

    FUNCTION u32 once(u32 x) const { return this->less(x, 1); }  // takes one q away
    FUNCTION u32 twice(u32 x) const { return this->less(x, 2); } // takes 2 q away

    // y w below 2 q, for any y
    FUNCTION u32 times(u32 y, u32 w, u32 quotient) const {
        return this->lazy_product(y, w, quotient);
    }

    // (x, y) -> (x + w y, x - w y). `fresh`: x lies below 2 q.
    template<bool fresh>
    FUNCTION void forward(u32& x, u32& y, u32 w, u32 quotient) const {
        if constexpr (wide) {
            const u32 a = x, t = once(times(y, w, quotient));
            x = once(a + t);
            y = once(a - t + q);
        } else {
            const u32 a = fresh ? x : twice(x), t = times(y, w, quotient);
            x = a + t;
            y = a - t + two_q;
        }
    }

    // (x, y) -> (x + y, w (x - y))
    FUNCTION void inverse(u32& x, u32& y, u32 w, u32 quotient) const {
        const u32 a = x, b = y;
        if constexpr (wide) {
            x = once(a + b);
            y = once(times(a - b + q, w, quotient));
        } else {
            x = twice(a + b);
            y = times(a - b + two_q, w, quotient);
        }
    }

    // The last stage of all, with a constant: (x, y) -> (c (x + y), c w (x - y)), canonical.
    FUNCTION void inverse_last(u32& x, u32& y, uint4 c) const {
        const u32 a = x, b = y;
        x = once(times(a + b, c.x, c.y));
        y = once(times(a - b + (wide ? q : two_q), c.z, c.w));
    }

    FUNCTION u32 after_forward(u32 x) const { return wide ? x : once(twice(x)); }
    FUNCTION u32 after_inverse(u32 x) const { return wide ? x : once(x); }
};

// Factors of three forms: a table of pairs [2 i, 2 i + 1] as uint4.
FUNCTION uint2 half_of(uint4 pair, int which) {
    return which ? uint2{pair.z, pair.w} : uint2{pair.x, pair.y};
}

// floor(w 2^32 / q), or one less where it is nearly the next integer: products by it stay below
// 2 q for q <= 2^30 - 2^10 and any factor below 4 q, and for wide primes and canonical factors.
FUNCTION u32 quotient_of(u32 w, double quotient) {
    const double integer = __hiloint2double(0x43300000, (int)w) - 4503599627370496.0;
    return (u32)__double2loint(__fma_rd(integer, quotient, 4503599627370496.0));
}

// The place that evaluations at place j come from under X -> X^g: place j holds the value at
// psi^(2 brv(j) + 1).
template<int log2_degree>
FUNCTION u32 automorphism_source(u32 g, u32 j) {
    const u32 exponent = 2 * (__brev(j) >> (32 - log2_degree)) + 1;
    return __brev((g * exponent >> 1) << (32 - log2_degree));
}

FUNCTION u32 swap_two_bits(u32 x) { return (x & 1) << 1 | (x >> 1 & 1); }

// Four words from an aligned four: an automorphism takes aligned blocks of 2^k words onto such
// blocks, and within four words, by the order of their reversed places, place m comes from place
// turn + g m.
FUNCTION uint4 turned(uint4 v, u32 g, u32 turn) {
    uint4 w = make_uint4(v.x, v.z, v.y, v.w);
    if (turn & 2) w = make_uint4(w.z, w.w, w.x, w.y);
    if (turn & 1) w = make_uint4(w.y, w.z, w.w, w.x);
    return g & 2 ? make_uint4(w.x, w.z, w.w, w.y) : make_uint4(w.x, w.z, w.y, w.w);
}

// Of an odd number modulo 2^24: one that is its own inverse modulo 8 is right to three bits.
FUNCTION u32 odd_inverse(u32 g) {
    u32 inverse = g;
    for (int i = 0; i < 3; i++) inverse *= 2 - g * inverse;
    return inverse;
}
