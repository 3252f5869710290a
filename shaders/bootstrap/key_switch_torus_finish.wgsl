// key_switch_torus_finish: (0, b') minus the sum of all rows modulo 2^64, then rounded to exponents
// modulo 2N, half up. A workgroup a ciphertext.
//
// Rounding moves the phase by the sum of e_i s_i, e_i the error of mask word i. Binary secrets have
// mean 1/2: half of the sum of e_i is known, and added to the bodies before they are rounded.

#include job

// [job][kN + r] combined, two words each.
@group(0) @binding(2) var<storage, read> gathered: array<u32>;
// Parts of sums, [part][job][n + r], two words each; in a trace, what the first part's place ends
// with is the result modulo 2^64.
@group(0) @binding(3) var<storage, read_write> partial: array<u32>;
// [job][n + r] in [0, 2N).
@group(0) @binding(4) var<storage, read_write> exponents: array<u32>;

#if BINARY
var<workgroup> known_low: array<u32, THREADS>;
var<workgroup> known_high: array<u32, THREADS>;
#end

// Word `word` of the switched ciphertext `index`, whose combined word is (low, high).
fn switched_word(index: u32, word: u32, body_low: u32, body_high: u32) -> vec2<u32> {
    var low = 0u;
    var high = 0u;
    for (var part = 0u; part < launch.parts; part++) {
        let at = 2u * ((part * launch.jobs + index) * SWITCHED_LENGTH + word);
        let more = partial[at];
        low += more;
        high += partial[at + 1u] + select(0u, 1u, low < more);
    }
    let result = vec2<u32>(
        body_low - low, body_high - high - select(0u, 1u, body_low < low));
#if TRACE
    let at = 2u * (index * SWITCHED_LENGTH + word);
    partial[at] = result.x;
    partial[at + 1u] = result.y;
#end
    return result;
}

// The upper words decide alone: 2N is far below 2^32.
fn rounded(high: u32) -> u32 {
    return ((high + ${1 << (31 - LOG2_MONOMIALS)}u) >> ${32 - LOG2_MONOMIALS}u)
        & ${(1 << LOG2_MONOMIALS) - 1}u;
}

@compute @workgroup_size(THREADS)
fn key_switch_torus_finish(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let to = group.x * SWITCHED_LENGTH;
    var low = 0u;
    var high = 0u;
    for (var i = t; i < LWE_DIMENSION; i += THREADS) {
        let word = switched_word(group.x, i, 0u, 0u);
        let exponent = rounded(word.y);
        exponents[to + i] = exponent;
#if BINARY
        // Half of exponent * 2^64 / 2N - word, signed.
        let error_high =
            (exponent << ${32 - LOG2_MONOMIALS}u) - word.y - select(0u, 1u, word.x != 0u);
        let half_low = ((0u - word.x) >> 1u) | (error_high << 31u);
        low += half_low;
        high += u32(i32(error_high) >> 1u) + select(0u, 1u, low < half_low);
#end
    }
#if BINARY
    known_low[t] = low;
    known_high[t] = high;
    for (var half = ${THREADS / 2}u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if (t < half) {
            let more = known_low[t + half];
            let sum = known_low[t] + more;
            known_low[t] = sum;
            known_high[t] += known_high[t + half] + select(0u, 1u, sum < more);
        }
    }
    workgroupBarrier();
    low = known_low[0];
    high = known_high[0];
#end
    if (t < PACKING) {
        let body = group.x * LENGTH + 2u * (INDICES + t);
        let word =
            switched_word(group.x, LWE_DIMENSION + t, gathered[body], gathered[body + 1u]);
        exponents[to + LWE_DIMENSION + t] =
            rounded(word.y + high + select(0u, 1u, word.x + low < low));
    }
}
