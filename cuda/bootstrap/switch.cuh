// Accumulators, digits, and rounding from one modulus to another:
// girih_ring::switch and girih_ring::gadget.
#pragma once
#include "constants.cuh"
#include "platform.cuh"
#include "word.cuh"

// Word w of the key modulus.
template<int w>
using Word = Modular<FixedPrime<PRIMES[w]>>;

template<bool wide>
struct CoefficientType {
    typedef u32 type;
};
template<>
struct CoefficientType<true> {
    typedef u64 type;
};
// A coefficient in [0, Q), as test polynomials store it.
typedef CoefficientType<ACCUMULATOR_IS_WIDE>::type Stored;
// A coefficient as accumulators hold it. The f64 transform holds 32 bits that wrap as Q does where
// it can:
//   ALIGNED   modulus raising: times 2^32 / Q, so that digits keep their sign and sums need no mask
//   SCALED    Q of two words: the nearest multiple of Q / 2^32 (`scaled` of
//             crates/cuda/src/bootstrap/layout.rs)
//   torus     the leading 32 bits
// In all other cases it is the stored one.
constexpr bool ACCUMULATOR_IS_ALIGNED = FFT && MODULUS_RAISING;
constexpr bool ACCUMULATOR_WRAPS = ACCUMULATOR_IS_ALIGNED || ACCUMULATOR_IS_SCALED || NATIVE_TORUS;
constexpr int ALIGNMENT_SHIFT = ACCUMULATOR_IS_ALIGNED ? 32 - LOG2_Q : 0;
typedef CoefficientType<ACCUMULATOR_IS_WIDE && !ACCUMULATOR_IS_SCALED>::type Accumulator;

// An exact conversion without the slow conversion unit: 2^52 + 2^31 + x has x's bits, sign flipped,
// in its low word.
FUNCTION double to_double(i32 x) {
    return __hiloint2double(0x43300000, (int)((u32)x ^ 0x80000000u)) -
           __hiloint2double(0x43300000, (int)0x80000000u);
}

// 1.5 * 2^52: |x| < 2^51 added to it leaves the integer nearest to x in the low bits, subtracted
// again that integer.
constexpr double NEAREST = 6755399441055744.0;

FUNCTION u32 low_word(double x) { return (u32)__double2loint(x); }

FUNCTION Accumulator hold(Stored x) {
    if constexpr (ACCUMULATOR_IS_SCALED) {
        return low_word(fma((double)x, 4294967296.0 / (double)ACCUMULATOR_MODULUS, NEAREST));
    } else {
        return x << ALIGNMENT_SHIFT;
    }
}

// In [0, Q); on the native torus as it is.
FUNCTION u64 stored(Accumulator x) {
    if constexpr (ACCUMULATOR_IS_SCALED) {
        constexpr u64 high = ACCUMULATOR_MODULUS >> 32, low = ACCUMULATOR_MODULUS & 0xffffffff;
        return x * high + ((x * low + (1ull << 31)) >> 32);
    } else {
        return x >> ALIGNMENT_SHIFT;
    }
}

FUNCTION Accumulator negate(Accumulator x) {
    return ACCUMULATOR_WRAPS || x == 0 ? 0 - x : (Accumulator)ACCUMULATOR_MODULUS - x;
}

// Sum over the digits below the top one of B/2 * B^i:
// makes every digit but the top one a plain bit field.
CONSTANT_FUNCTION u64 balance(int digits) {
    return digits == 0 ? 0 : (balance(digits - 1) << LOG2_BASE) + (1ull << (LOG2_BASE - 1));
}

// Digit `level` in use of a coefficient (balanced digits; the whole centred coefficient for MR).
template<int level>
FUNCTION i32 decompose(Accumulator x) {
    if constexpr (MODULUS_RAISING) {
        return (i32)((u32)x << (32 - LOG2_Q - ALIGNMENT_SHIFT)) >> (32 - LOG2_Q);
    } else if constexpr (ACCUMULATOR_IS_SCALED) {
        // In units of the lowest digit in use: below 2^28.
        i32 units = (i32)low_word(fma(to_double((i32)x), UNITS_OF_DIGITS, NEAREST));
        constexpr int top = LEVELS - 1, shift = level * LOG2_BASE;
        i32 shifted = units + (i32)balance(top);
        if constexpr (level == top) return shifted >> shift;
        return ((shifted >> shift) & ((1 << LOG2_BASE) - 1)) - (1 << (LOG2_BASE - 1));
    } else if constexpr (NATIVE_TORUS) {
        // The closest multiple of 2^(32 - b L), most significant digit first; the top one takes
        // what is left.
        constexpr int cut = 32 - LOG2_BASE * LEVELS, top = LEVELS - 1, position = top - level,
                      shift = position * LOG2_BASE;
        i32 rounded = ((i32)(u32)x >> cut) + (i32)(((u32)x >> (cut - 1)) & 1);
        i32 shifted = rounded + (i32)balance(top);
        if constexpr (position == top) return shifted >> shift;
        return ((shifted >> shift) & ((1 << LOG2_BASE) - 1)) - (1 << (LOG2_BASE - 1));
    } else {
        constexpr int top = LEVELS - 1, shift = DROPPED_BITS + level * LOG2_BASE;
        // Rounds to the closest multiple of 2^DROPPED_BITS, then balances the digits of that.
        constexpr i64 bias = (i64)((1ull << DROPPED_BITS >> 1) + (balance(top) << DROPPED_BITS));
        // |x| <= Q/2 and the bias is below Q: 32 bits hold the sum where Q < 2^30.
        if constexpr (ACCUMULATOR_MODULUS < (1ull << 30)) {
            i32 centred = (i32)x - (x > ACCUMULATOR_MODULUS / 2 ? (i32)ACCUMULATOR_MODULUS : 0);
            i32 shifted = centred + (i32)bias;
            if constexpr (level == top) return shifted >> shift;
            return ((shifted >> shift) & ((1 << LOG2_BASE) - 1)) - (1 << (LOG2_BASE - 1));
        } else {
            i64 centred = (i64)x - (x > ACCUMULATOR_MODULUS / 2 ? (i64)ACCUMULATOR_MODULUS : 0);
            i64 shifted = centred + bias;
            if constexpr (level == top) return (i32)(shifted >> shift);
            return (i32)(((shifted >> shift) & ((1ll << LOG2_BASE) - 1)) -
                         (1ll << (LOG2_BASE - 1)));
        }
    }
}

// x1 + p1 * ((x2 - x1) / p1 mod p2), in [0, p1 p2), for reduced residues and p1 < p2 (Garner).
FUNCTION u64 compose(u32 x1, u32 x2) {
    constexpr int second = WORDS - 1;
    u32 h =
        Word<second>().multiply(x2 + (Word<second>::p - x1), FIRST_INVERSE, FIRST_INVERSE_QUOTIENT);
    return x1 + (u64)Word<0>::p * Word<second>().template reduce<Word<second>::PRODUCT, 1>(h);
}

// floor((2 y Q + T) / (2 T)) mod Q for y in [0, T), Q = 2^LOG2_Q: exact.
FUNCTION u32 round_to_q(u64 y) {
    // Estimate y * Q / T from the top 32 bits of y. Truncating y costs less than Q / 2^31,
    // truncating the factor less than 2^-ROUND_POST_SHIFT (at most Q / 2^32), the last floor less
    // than 1: never above, below by less than 1 + Q / 2^30.
    u32 top = (u32)(y >> ROUND_SHIFT);
    u32 quotient = __umulhi(top, ROUND_FACTOR) >> ROUND_POST_SHIFT;
    // 2 y Q + T - 2 T quotient, exact modulo 2^64: in [0, 3 T + 2 T Q / 2^30), so below 4 T where Q
    // <= 2^24; T < 2^61.
    u64 rest = (y << (LOG2_Q + 1)) + KEY_MODULUS - 2 * KEY_MODULUS * quotient;
    quotient += rest >= 2 * KEY_MODULUS;
    if constexpr (LOG2_Q > 24) quotient += rest >= 4 * KEY_MODULUS;
    return quotient & (u32)(ACCUMULATOR_MODULUS - 1);
}

// Adds the product y (in [0, M) for the key modulus M) to an accumulator coefficient.
FUNCTION Accumulator accumulate(Accumulator x, u64 y) {
    if constexpr (MODULUS_RAISING) {
        return (Accumulator)((x + round_to_q(y)) & (ACCUMULATOR_MODULUS - 1));
    } else {
        // Both below Q < 2^31, or Q < 2^62 in 64 bits:
        // the smaller of the sum and the wrapped difference.
        Accumulator sum = x + (Accumulator)y;
        return min(sum, (Accumulator)(sum - (Accumulator)ACCUMULATOR_MODULUS));
    }
}

// round(x * Q_ks / Q) half up, modulo Q_ks; x in [0, Q).
FUNCTION u64 switch_to_ks(u64 x) {
    constexpr u64 mask = (1ull << LOG2_KS_MODULUS) - 1;
    if constexpr (MODULUS_RAISING) {
        constexpr int up = LOG2_KS_MODULUS > LOG2_Q ? LOG2_KS_MODULUS - LOG2_Q : 0;
        constexpr int down = LOG2_Q > LOG2_KS_MODULUS ? LOG2_Q - LOG2_KS_MODULUS : 0;
        return (((x << up) + ((1ull << down) >> 1)) >> down) & mask;
    } else {
        // An f64 quotient is within one of the true one (Q_ks <= 2^40); the rest, exact modulo
        // 2^64, says which.
        constexpr double ratio = (double)(1ull << LOG2_KS_MODULUS) / (double)ACCUMULATOR_MODULUS;
        u64 quotient = (u64)((double)x * ratio);
        i64 rest = (i64)((x << LOG2_KS_MODULUS) - quotient * ACCUMULATOR_MODULUS);
        if (rest < 0) {
            quotient--;
            rest += ACCUMULATOR_MODULUS;
        }
        if (rest >= (i64)ACCUMULATOR_MODULUS) {
            quotient++;
            rest -= ACCUMULATOR_MODULUS;
        }
        return (quotient + (2 * (u64)rest >= ACCUMULATOR_MODULUS)) & mask;
    }
}
