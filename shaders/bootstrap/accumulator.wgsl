// GD: digits of the accumulator, its update, and the switch to Q_ks. The accumulator is canonical:
// a word in [0, Q), or one residue for each of two primes.

#include accumulator_words

// Balanced digits come out of one sum: with d dropped bits and H = 2^d/2 + the sum of B/2 2^d B^i
// below the top digit, digit i of the centred x is ((x + H) >> d + i log2 B) mod B, minus B/2; the
// top one is (x + H) >> d + top log2 B, unwrapped.
#if WORDS == 1
// x centred, plus H: what lies in the upper half of [0, Q) is negative.
const HALF_Q = ${Q / 2}u;
const BIAS_ABOVE_HALF = ${DIGIT_BIAS - Q};
fn biased(x: u32) -> i32 {
    return i32(x) + select(${DIGIT_BIAS}, BIAS_ABOVE_HALF, x > HALF_Q);
}

fn digit_bits(x: i32, shift: u32) -> i32 {
    return x >> shift;
}

inline fn declare_digit_bits(column, item, target, place) {
    let bits_${target} = digit_bits(biased(acc_0_{column}_{item}), ${place}u);
}

fn switch_to_ks(x: u32) -> vec2<u32> {
    return finish_switch(wide_make(switch_rest_0(x), 0u));
}
#else
// H, and H - Q for the upper half, modulo 2^64.
const HALF_Q = ${words(Q / 2)};
const BIAS_ABOVE_HALF = ${words(WORD * WORD + DIGIT_BIAS - Q)};
fn biased(first: u32, second: u32) -> wide {
    let x = wide_add(wide_make(first, 0u), wide_mul(P_0, garner(first, second)));
    let upper = wide_less(wide_make(HALF_Q.x, HALF_Q.y), x);
    return wide_add(x, wide_make(
        select(${DIGIT_BIAS % WORD}u, BIAS_ABOVE_HALF.x, upper),
        select(${DIGIT_BIAS / WORD}u, BIAS_ABOVE_HALF.y, upper)));
}

fn digit_bits(x: wide, shift: u32) -> i32 {
    return i32(wide_bits(x, shift));
}

inline fn declare_digit_bits(column, item, target, place) {
    let biased_${target} = biased(acc_0_{column}_{item}, acc_1_{column}_{item});
    let bits_${target} = digit_bits(biased_${target}, ${place}u);
}

fn switch_to_ks(x_0: u32, x_1: u32) -> vec2<u32> {
    let rest_0 = switch_rest_0(x_0);
    let multiple = wide_mul(P_0, garner(rest_0, switch_rest_1(x_1)));
    return finish_switch(wide_add(wide_make(rest_0, 0u), multiple));
}
#end

// Declares TARGET as the digit of level `level` of accumulator coefficient (column, item) as a
// residue modulo P_word, and traces the signed digit.
inline fn decompose(word, level, column, item, target) {
    half := 1 << (LOG2_BASE - 1)
    declare_digit_bits(column, item, ${target}, DROPPED_BITS + level * LOG2_BASE);
#if level == LEVELS - 1
    let signed_${target} = bits_${target};
#else
    let signed_${target} = (bits_${target} & ${2 * half - 1}) - ${half};
#end
    digit_residue(word, level, column, item, ${target}, half);
}

// acc += product, where product_w is delta_0_{column}_{item} for word 0 of two and
// y_{column}_{item} for the last word.
inline fn accumulate(column, item) {
    add_word(WORDS - 1, y_{column}_{item}, acc_{WORDS - 1}_{column}_{item});
    for w in 0..WORDS - 1: add_word(w, delta_{w}_{column}_{item}, acc_{w}_{column}_{item});
}

inline fn add_word(word, product, acc) {
    add_canonical(word, ${product}, ${acc});
    ${acc} = u32(${product});
}

// -x and x + y, for words of the accumulator.
for w in 0..WORDS {
fn negate_{w}(x: u32) -> u32 {
    return select(P_{w} - x, 0u, x == 0u);
}

fn add_{w}(x: u32, y: u32) -> u32 {
    let sum = x + y;
    return min(sum, sum - P_{w});
}
}

// The switch to Q_ks = 2^s: round(x Q_ks / Q) mod Q_ks, as (low, high) words. As in MR's rounding,
// with c = (Q - 1)/2 and rest = x Q_ks + c mod Q it is (c - rest) / Q modulo Q_ks.
const HALF_Q_DOWN = ${words((Q - 1) / 2)};
const INVERSE_Q = ${words(inverse_pow2(Q))};
fn finish_switch(rest: wide) -> vec2<u32> {
    // c - rest modulo 2^64, times Q^-1 modulo 2^64.
    let minus_rest = wide_add(wide_make(~wide_low(rest), ~wide_high(rest)), wide_make(1u, 0u));
    let half = wide_make(HALF_Q_DOWN.x, HALF_Q_DOWN.y);
    let difference = wide_add(half, minus_rest);
    let low = wide_mul(wide_low(difference), INVERSE_Q.x);
    let high = wide_high(low) + wide_low(difference) * INVERSE_Q.y
        + wide_high(difference) * INVERSE_Q.x;
    return vec2<u32>(wide_low(low), high) & vec2<u32>(KS_MASK_LOW, KS_MASK_HIGH);
}

// x 2^s + c modulo P_word, c = (Q - 1)/2.
for w in 0..WORDS {
const TO_KS_{w} = ${twiddle(w, (1 << LOG2_KS_MODULUS) % prime(w))};
const HALF_Q_DOWN_{w} = ${(Q - 1) / 2 % prime(w)}u;
fn switch_rest_{w}(x: u32) -> u32 {
    var rest: lane<product_bound(prime(w), prime(w))> = shoup(lane(x), TO_KS_{w}, LP_{w});
    add_canonical(w, rest, HALF_Q_DOWN_{w});
    return u32(rest);
}
}
