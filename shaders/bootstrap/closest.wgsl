// Balanced digits of the closest representative on the native torus: of the multiple of
// 2^(64 - b L) closest to a signed word, for L = ${CLOSEST_LEVELS} digits of b = ${CLOSEST_BASE}
// bits, most significant first.

// As for the digits of GD: with H = the sum of B/2 B^i below the top digit, digit i of x is (x + H)
// >> i log2 B mod B, minus B/2; the top one is what is left, unwrapped.

#if CLOSEST_DROPPED > 32
// Everything that counts is in the upper word.
alias closest_word = i32;

fn closest(low: u32, high: u32) -> closest_word {
    let half = i32((high >> (CLOSEST_DROPPED - 33u)) & 1u);
    let rounded = (i32(high) >> (CLOSEST_DROPPED - 32u)) + half;
    return rounded + ${CLOSEST_BIAS};
}

fn closest_bits(x: closest_word, shift: u32) -> i32 {
    return x >> shift;
}
#else
// (low, high)
alias closest_word = vec2<u32>;

fn closest(low: u32, high: u32) -> closest_word {
#if CLOSEST_DROPPED == 32
    let cut = high;
    let upper = u32(i32(high) >> 31u);
#else
    let cut = (low >> CLOSEST_DROPPED) | (high << (32u - CLOSEST_DROPPED));
    let upper = u32(i32(high) >> CLOSEST_DROPPED);
#end
    let up = (low >> (CLOSEST_DROPPED - 1u)) & 1u;
    let rounded = cut + up;
    let sum = rounded + ${CLOSEST_BIAS % WORD}u;
    let carries = select(0u, 1u, rounded < up)
        + select(0u, 1u, sum < ${CLOSEST_BIAS % WORD}u);
    return vec2<u32>(sum, upper + ${CLOSEST_BIAS / WORD}u + carries);
}

// Low 32 bits of the signed x >> shift, for a constant shift.
fn closest_bits(x: closest_word, shift: u32) -> i32 {
    if (shift == 0u) {
        return i32(x.x);
    }
    if (shift < 32u) {
        return i32((x.x >> shift) | (x.y << (32u - shift)));
    }
    return i32(x.y) >> (shift - 32u);
}
#end

// Declares TARGET as digit `level` of what `closest` returned.
inline fn closest_digit(level, from, target) {
    place := (CLOSEST_LEVELS - 1 - level) * CLOSEST_BASE
#if level == 0
    let ${target} = closest_bits(${from}, ${place}u);
#else
    let ${target} = (closest_bits(${from}, ${place}u) & ${(1 << CLOSEST_BASE) - 1})
        - ${(1 << CLOSEST_BASE) / 2};
#end
}
