// What depends on the noise control (GD or MR) and the number of words: digits, the update of the
// accumulator, and the switch to Q_ks. The accumulator is canonical: in [0, Q), or one residue for
// each of two primes.

#if WORDS == 2
// The first prime inverted modulo the second: Garner's constant.
#call constant_twiddle(GARNER, 1, ${garner()})

// (second - first) / p_0 mod p_1, reduced: x = first + p_0 * garner(first, second). Both reduced,
// and p_0 < p_1.
fn garner(first: u32, second: u32) -> u32 {
    var h = shoup(lane(second + P_1 - first), GARNER, LP_1);
#bound h product_bound(prime(1), 2 * prime(1))
#canonical 1 h
    return u32(h);
}
#end

// Balanced digits come out of one sum: with d dropped bits and H = 2^d/2 + the sum of B/2 2^d B^i
// below the top digit, digit i of the centred x is ((x + H) >> d + i log2 B) mod B, minus B/2; the
// top one is (x + H) >> d + top log2 B, unwrapped.
#if !MODULUS_RAISING && WORDS == 1
// x centred, plus H: what lies in the upper half of [0, Q) is negative.
#constant HALF_Q ${Q / 2}u
#constant BIAS_ABOVE_HALF ${DIGIT_BIAS - Q}
fn biased(x: u32) -> i32 {
    return i32(x) + select(${DIGIT_BIAS}, BIAS_ABOVE_HALF, x > HALF_Q);
}

fn digit_bits(x: i32, shift: u32) -> i32 {
    return x >> shift;
}
#elif !MODULUS_RAISING
fn biased(first: u32, second: u32) -> wide {
    let x = wide_add(wide_make(first, 0u), wide_mul(P_0, garner(first, second)));
    // Constants modulo 2^64: H, and H - Q for the upper half.
#call constant_words(HALF_Q, ${Q / 2})
#call constant_words(BIAS_ABOVE_HALF, ${WORD * WORD + DIGIT_BIAS - Q})
    let upper = wide_less(wide_make(HALF_Q.x, HALF_Q.y), x);
    return wide_add(x, wide_make(
        select(${DIGIT_BIAS % WORD}u, BIAS_ABOVE_HALF.x, upper),
        select(${DIGIT_BIAS / WORD}u, BIAS_ABOVE_HALF.y, upper)));
}

fn digit_bits(x: wide, shift: u32) -> i32 {
    return i32(wide_bits(x, shift));
}
#end

// Declares TARGET as the digit of level `level` of accumulator coefficient (column, item) as a
// residue modulo P_word, and traces the signed digit.
#def decompose(word, level, column, item, target)
#if MODULUS_RAISING
// The accumulator centred: x + Q/2 mod Q, minus Q/2. One undecomposed digit.
#set half Q / 2
let signed_${target} = i32((acc_0_${column}_${item} + ${half}u) & ${Q - 1}u) - ${half};
#else
#set half 1 << (LOG2_BASE - 1)
#set place DROPPED_BITS + level * LOG2_BASE
#if WORDS == 1
let bits_${target} = digit_bits(biased(acc_0_${column}_${item}), ${place}u);
#else
let biased_${target} = biased(acc_0_${column}_${item}, acc_1_${column}_${item});
let bits_${target} = digit_bits(biased_${target}, ${place}u);
#end
#if level == LEVELS - 1
let signed_${target} = bits_${target};
#else
let signed_${target} = (bits_${target} & ${2 * half - 1}) - ${half};
#end
#end
#call digit_residue(${word}, ${level}, ${column}, ${item}, ${target}, ${half})
#end

// NAME = the residue of NAME + ADDEND in [0, P_word), for an addend below P_word.
#def add_canonical(word, name, addend)
#reduce ${word} ${name} CAP - prime(word)
${name} += lane(${addend});
#bound ${name} @${name} + prime(word)
#canonical ${word} ${name}
#end

// acc += product, where product_w is delta_0_{column}_{item} for word 0 of two and
// y_{column}_{item} for the last word.
#def accumulate(column, item)
#if WORDS == 1
#call add_canonical(0, y_${column}_${item}, acc_0_${column}_${item})
acc_0_${column}_${item} = u32(y_${column}_${item});
#elif !MODULUS_RAISING
#call add_canonical(1, y_${column}_${item}, acc_1_${column}_${item})
acc_1_${column}_${item} = u32(y_${column}_${item});
#call add_canonical(0, delta_0_${column}_${item}, acc_0_${column}_${item})
acc_0_${column}_${item} = u32(delta_0_${column}_${item});
#else
// round(y Q / T) mod Q, exactly. T is odd, so it is floor((y Q + c) / T) with c = (T - 1)/2, which
// is (y Q + c - rest) / T with rest = y Q + c mod T. Modulo Q = 2^b the term y Q vanishes and the
// division is a product: only rest is needed. The keys carry the factor Q,
// so the words hold y Q already.
#for w in 0..2: #constant HALF_T_${w} ${(T - 1) / 2 % prime(w)}u
#call constant_words(HALF_T, ${(T - 1) / 2})
#call constant_words(INVERSE_T, ${inverse_pow2(T)})
#call add_canonical(0, delta_0_${column}_${item}, HALF_T_0)
#call add_canonical(1, y_${column}_${item}, HALF_T_1)
{
    let first = u32(delta_0_${column}_${item});
    let rest = first + P_0 * garner(first, u32(y_${column}_${item}));
    let rounded = (HALF_T.x - rest) * INVERSE_T.x;
    acc_0_${column}_${item} = (acc_0_${column}_${item} + rounded) & ${Q - 1}u;
}
#end
#end

// -x, for a word of the accumulator.
#for w in 0..ACC_WORDS
fn negate_${w}(x: u32) -> u32 {
#if MODULUS_RAISING
    return (0u - x) & ${Q - 1}u;
#else
    return select(P_${w} - x, 0u, x == 0u);
#end
}

// x + y, for words of the accumulator.
fn add_${w}(x: u32, y: u32) -> u32 {
#if MODULUS_RAISING
    return (x + y) & ${Q - 1}u;
#else
    let sum = x + y;
    return min(sum, sum - P_${w});
#end
}
#end

// Declares x_w, the words of v_w or, where `flip` is true, of its negative.
#def flipped()
#for w in 0..ACC_WORDS: let x_${w} = select(v_${w}, negate_${w}(v_${w}), flip);
#end

// Declares x_w, the words of v_w plus the output offset.
#def with_offset()
#for w in 0..ACC_WORDS: let x_${w} = add_${w}(v_${w}, job.offset_${w});
#end

// round(x Q_ks / Q) mod Q_ks, as (low, high) words.
#if MODULUS_RAISING
fn switch_to_ks(x: u32) -> vec2<u32> {
#if LOG2_KS_MODULUS <= LOG2_Q
    let rounded = (x + ${(1 << (LOG2_Q - LOG2_KS_MODULUS)) >> 1}u) >> ${LOG2_Q - LOG2_KS_MODULUS}u;
    return vec2<u32>(rounded & ${KS_MASK_LOW}u, 0u);
#else
    let wide_x = wide_mul(x, ${1 << min(LOG2_KS_MODULUS - LOG2_Q, 31)}u);
    return vec2<u32>(wide_low(wide_x), wide_high(wide_x))
        & vec2<u32>(${KS_MASK_LOW}u, ${KS_MASK_HIGH}u);
#end
}
#else
// As for MR's rounding: with c = (Q - 1)/2 and rest = x Q_ks + c mod Q it is (c - rest) / Q modulo
// Q_ks = 2^s.
#call constant_words(HALF_Q_DOWN, ${(Q - 1) / 2})
#call constant_words(INVERSE_Q, ${inverse_pow2(Q)})
fn finish_switch(rest: wide) -> vec2<u32> {
    // c - rest modulo 2^64, times Q^-1 modulo 2^64.
    let minus_rest = wide_add(wide_make(~wide_low(rest), ~wide_high(rest)), wide_make(1u, 0u));
    let half = wide_make(HALF_Q_DOWN.x, HALF_Q_DOWN.y);
    let difference = wide_add(half, minus_rest);
    let low = wide_mul(wide_low(difference), INVERSE_Q.x);
    let high = wide_high(low) + wide_low(difference) * INVERSE_Q.y
        + wide_high(difference) * INVERSE_Q.x;
    return vec2<u32>(wide_low(low), high) & vec2<u32>(${KS_MASK_LOW}u, ${KS_MASK_HIGH}u);
}

// x 2^s + c modulo P_word, c = (Q - 1)/2.
#for w in 0..WORDS
#call constant_twiddle(TO_KS_${w}, ${w}, ${(1 << LOG2_KS_MODULUS) % prime(w)})
#constant HALF_Q_DOWN_${w} ${(Q - 1) / 2 % prime(w)}u
fn switch_rest_${w}(x: u32) -> u32 {
    var rest = shoup(lane(x), TO_KS_${w}, LP_${w});
#bound rest product_bound(prime(w), prime(w))
#call add_canonical(${w}, rest, HALF_Q_DOWN_${w})
    return u32(rest);
}
#end

#if WORDS == 1
fn switch_to_ks(x: u32) -> vec2<u32> {
    return finish_switch(wide_make(switch_rest_0(x), 0u));
}
#else
fn switch_to_ks(x_0: u32, x_1: u32) -> vec2<u32> {
    let rest_0 = switch_rest_0(x_0);
    let multiple = wide_mul(P_0, garner(rest_0, switch_rest_1(x_1)));
    return finish_switch(wide_add(wide_make(rest_0, 0u), multiple));
}
#end
#end

// Writes word `to` of the extracted ciphertext, x_0 (and x_1), switched to Q_ks.
#def store_extracted()
#if TRACE
        #for w in 0..ACC_WORDS: scratch[${TRACE_EXTRACTED}u + to * ${ACC_WORDS}u + ${w}u] = x_${w};
#end
#if ACC_WORDS == 1
        let switched_word = switch_to_ks(x_0);
#else
        let switched_word = switch_to_ks(x_0, x_1);
#end
        let out = group.x * ${GLWE_DIMENSION * N + PACKING}u + to;
        results[out * ${KS_WORDS}u] = switched_word.x;
#if KS_WORDS == 2
        results[out * 2u + 1u] = switched_word.y;
#end
#end
