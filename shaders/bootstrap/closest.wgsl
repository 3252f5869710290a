// Balanced digits of the closest representative on the native torus: of the multiple of
// 2^(64 - b L) closest to a signed word, for L = ${CLOSEST_LEVELS} digits of b = ${CLOSEST_BASE}
// bits, most significant first.

// As for the digits of GD: with H = the sum of B/2 B^i below the top digit, digit i of x is (x + H)
// >> i log2 B mod B, minus B/2; the top one is what is left, unwrapped.
#set CLOSEST_BITS CLOSEST_BASE * CLOSEST_LEVELS
#set DROPPED 64 - CLOSEST_BITS

#if CLOSEST_BITS < 32
// Everything that counts is in the upper word.
alias closest_word = i32;

fn closest(low: u32, high: u32) -> closest_word {
    let rounded = (i32(high) >> ${DROPPED - 32}u) + i32((high >> ${DROPPED - 33}u) & 1u);
    return rounded + ${CLOSEST_BIAS};
}

fn closest_bits(x: closest_word, shift: u32) -> i32 {
    return x >> shift;
}
#else
// (low, high)
alias closest_word = vec2<u32>;

fn closest(low: u32, high: u32) -> closest_word {
#if DROPPED == 32
    let cut = high;
    let upper = u32(i32(high) >> 31u);
#else
    let cut = (low >> ${DROPPED}u) | (high << ${32 - DROPPED}u);
    let upper = u32(i32(high) >> ${DROPPED}u);
#end
    let up = (low >> ${DROPPED - 1}u) & 1u;
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
#def closest_digit(level, from, target)
#set place (CLOSEST_LEVELS - 1 - level) * CLOSEST_BASE
#if level == 0
let ${target} = closest_bits(${from}, ${place}u);
#else
let ${target} = (closest_bits(${from}, ${place}u) & ${(1 << CLOSEST_BASE) - 1})
    - ${(1 << CLOSEST_BASE) / 2};
#end
#end
