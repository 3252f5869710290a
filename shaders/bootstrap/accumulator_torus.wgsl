// What `accumulator` is for words modulo primes, on the native torus: digits of the closest
// representative, the update of the accumulator and its words, (low, high) of a coefficient modulo
// 2^64. There is no switch to Q_ks: keys were switched before.

#include closest

// [job][n + r] in [0, 2N).
@group(0) @binding(2) var<storage, read> exponents: array<u32>;

// Where an extracted ciphertext goes, and what is added to its body.
struct Extracts {
    output: u32,
    offset_0: u32,
    offset_1: u32,
}

// Word `i` of the switched ciphertext `ciphertext`.
fn exponent(job: Job, ciphertext: u32, i: u32) -> u32 {
    return exponents[ciphertext * SWITCHED_LENGTH + i];
}

// Declares signed_TARGET, the digit of level `level` of accumulator coefficient (column, item).
inline fn digit_of(level, column, item, target) {
    let closest_${target} = closest(acc_0_{column}_{item}, acc_1_{column}_{item});
    closest_digit(level, closest_${target}, signed_${target});
}

// Declares TARGET as the digit of level `level` of accumulator coefficient (column, item) as a
// residue modulo P_word, and traces the signed digit.
inline fn decompose(word, level, column, item, target) {
#if LOOPED
    let signed_${target} = digit_{level}_{column}_{item};
#else
    digit_of(level, column, item, ${target});
#end
    digit_residue(word, level, column, item, ${target}, 1 << (LOG2_BASE - 1));
}

// The low 64 bits of the constant (low, high) times x.
fn scaled(constant: vec2<u32>, x: u32) -> wide {
#if INT64
    return wide_make(constant.x, constant.y) * u64(x);
#else
    let product = wide_mul(x, constant.x);
    return vec2<u32>(product.x, product.y + x * constant.y);
#end
}

// acc += x for the integer x, |x| < M/4, of which word w of the products is x (M / p_w)^-1 modulo
// p_w (keys carry the factor): x is the sum of these, times M / p_w, minus the multiple of M that
// is nearest to it. Product w is delta_{w}_{column}_{item}, y_{column}_{item} for the last word.
//
// The multiple is the sum of the words over their primes, rounded. From the ${QUOTIENT_BITS} top
// bits of each it comes out at most 2^-11 too small.
inline fn accumulate(column, item) {
    for w in 0..WORDS - 1: canonical(w, delta_{w}_{column}_{item});
    canonical(WORDS - 1, y_{column}_{item});
    {
        var sum = wide_make(acc_0_{column}_{item}, acc_1_{column}_{item});
        var multiple = ${1 << 27}u;
        for w in 0..WORDS - 1: add_part(w, delta_{w}_{column}_{item});
        add_part(WORDS - 1, y_{column}_{item});
        // Minus M modulo 2^64, so many times.
        const MINUS_PRODUCT = ${words(crt_minus_product())};
        sum = wide_add(sum, scaled(MINUS_PRODUCT, multiple >> 28u));
        acc_0_{column}_{item} = wide_low(sum);
        acc_1_{column}_{item} = wide_high(sum);
    }
}

// Adds what word w brings to the sum and to the multiple.
inline fn add_part(w, product) {
    let part_{w} = u32(${product});
    const CRT_WEIGHT_{w} = ${words(crt_weight(w))};
    const QUOTIENT_FACTOR_{w} = ${quotient_factor(w)}u;
    sum = wide_add(sum, scaled(CRT_WEIGHT_{w}, part_{w}));
    multiple += (part_{w} >> ${quotient_shift(w)}u) * QUOTIENT_FACTOR_{w};
}

// The same word by word, where a loop counts words: adds what one of them brings to the sum and to
// the multiple. Digits of this step were taken before.
inline fn accumulate_word(column, item) {
    canonical(0, y_{column}_{item});
    {
        let part = u32(y_{column}_{item});
        let sum = wide_add(
            wide_make(acc_0_{column}_{item}, acc_1_{column}_{item}),
            scaled(crt_weight, part));
        acc_0_{column}_{item} = wide_low(sum);
        acc_1_{column}_{item} = wide_high(sum);
        multiple_{column}_{item} += (part >> ${quotient_shift(0)}u) * quotient_factor;
    }
}

// Ends that: takes the multiple of M away.
inline fn accumulate_end(column, item) {
    const MINUS_PRODUCT = ${words(crt_minus_product())};
    {
        let sum = wide_add(
            wide_make(acc_0_{column}_{item}, acc_1_{column}_{item}),
            scaled(MINUS_PRODUCT, multiple_{column}_{item} >> 28u));
        acc_0_{column}_{item} = wide_low(sum);
        acc_1_{column}_{item} = wide_high(sum);
    }
}

// Declares x_w, the words of v_w or, where `flip` is true, of its negative.
inline fn flipped() {
    let x_0 = select(v_0, 0u - v_0, flip);
    let x_1 = select(v_1, ~v_1 + select(0u, 1u, v_0 == 0u), flip);
}

// Declares x_w, the words of v_w plus the output offset.
inline fn with_offset() {
    let x_0 = v_0 + extracts.offset_0;
    let x_1 = v_1 + extracts.offset_1 + select(0u, 1u, x_0 < v_0);
}

// Writes word `to` of the extracted ciphertext, which is the result.
inline fn store_extracted() {
    trace_extracted();
    for w in 0..2: results[extracts.output * LENGTH + 2u * to + ${w}u] = x_{w};
}
