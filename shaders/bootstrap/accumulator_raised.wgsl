// MR: the accumulator is one word modulo Q = 2^b, digits are the whole of it, and products modulo
// T = p_0 p_1 are rounded back to Q.

#include accumulator_words

// Declares TARGET as accumulator coefficient (column, item), centred, as a residue modulo P_word,
// and traces it: x + Q/2 mod Q, minus Q/2.
inline fn decompose(word, level, column, item, target) {
    let signed_${target} = i32((acc_0_{column}_{item} + ${Q / 2}u) & ${Q - 1}u) - ${Q / 2};
    digit_residue(word, level, column, item, ${target}, Q / 2);
}

// acc += round(y Q / T) mod Q, exactly; product w is delta_0_{column}_{item} for word 0 and
// y_{column}_{item} for word 1. T is odd, so it is floor((y Q + c) / T) with c = (T - 1)/2, which
// is (y Q + c - rest) / T with rest = y Q + c mod T. Modulo Q the term y Q vanishes and the
// division is a product: only rest is needed. The keys carry the factor Q, so the words hold y Q
// already.
inline fn accumulate(column, item) {
    for w in 0..2: const HALF_T_{w} = ${(T - 1) / 2 % prime(w)}u;
    const HALF_T = ${words((T - 1) / 2)};
    const INVERSE_T = ${words(inverse_pow2(T))};
    add_canonical(0, delta_0_{column}_{item}, HALF_T_0);
    add_canonical(1, y_{column}_{item}, HALF_T_1);
    {
        let first = u32(delta_0_{column}_{item});
        let rest = first + P_0 * garner(first, u32(y_{column}_{item}));
        let rounded = (HALF_T.x - rest) * INVERSE_T.x;
        acc_0_{column}_{item} = (acc_0_{column}_{item} + rounded) & ${Q - 1}u;
    }
}

// -x and x + y, for words of the accumulator.
fn negate_0(x: u32) -> u32 {
    return (0u - x) & ${Q - 1}u;
}

fn add_0(x: u32, y: u32) -> u32 {
    return (x + y) & ${Q - 1}u;
}

// round(x Q_ks / Q) mod Q_ks, as (low, high) words.
fn switch_to_ks(x: u32) -> vec2<u32> {
#if LOG2_KS_MODULUS <= LOG2_Q
    let rounded = (x + ${(1 << (LOG2_Q - LOG2_KS_MODULUS)) >> 1}u) >> ${LOG2_Q - LOG2_KS_MODULUS}u;
    return vec2<u32>(rounded & KS_MASK_LOW, 0u);
#else
    let wide_x = wide_mul(x, ${1 << min(LOG2_KS_MODULUS - LOG2_Q, 31)}u);
    return vec2<u32>(wide_low(wide_x), wide_high(wide_x)) & vec2<u32>(KS_MASK_LOW, KS_MASK_HIGH);
#end
}
