// key_switch_torus: sums of digits times rows modulo 2^64, the digits those of combined
// ciphertexts.
//
// A workgroup serves ${LANES} vectors of two 64-bit words of ${CIPHERTEXTS} ciphertexts, so that a
// load of the key serves all of these. Digits of ${TILE} indices at a time lie in workgroup memory.
// They are small: times a 16-bit limb of a key's word they add up in 32 bits, and limbs are put
// together once a tile. Keys larger than a binding come in several dispatches, and few ciphertexts
// have their indices divided over workgroups; key_switch_torus_finish adds up what they park.

#include job
#include closest

// [job][kN + r] combined, two words each.
@group(0) @binding(2) var<storage, read> gathered: array<u32>;
// Parts of sums, [part][job][n + r], two words each.
@group(0) @binding(3) var<storage, read_write> partial: array<u32>;
// [index][digit][n + r], two 64-bit words in each vector.
@group(0) @binding(4) var<storage, read> table: array<vec4<u32>>;

// [index][digit][ciphertext]
var<workgroup> digits: array<i32, TILE * KS_DIGITS * CIPHERTEXTS>;

inline fn store_digit(d) {
    {
        closest_digit(d, word, digit);
        digits[to + ${d * CIPHERTEXTS}u] = digit;
    }
}

// Adds row `row + u` of the key, in limbs of 16 bits, times its digits.
inline fn add_row(u) {
    for q in 0..4 {
        let part_{u}_{2 * q} = i32(key_{u}[${q}] & 0xffffu);
        let part_{u}_{2 * q + 1} = i32(key_{u}[${q}] >> 16u);
    }
    for c in 0..CIPHERTEXTS {
        let digit_{u}_{c} = digits[(row + ${u}u) * CIPHERTEXTS + ${c}u];
        for l in 0..8: limb_{c}_{l} += digit_{u}_{c} * part_{u}_{l};
    }
}

// Adds the limbs of word `e` of a vector, signed and of weights 1, 2^16, 2^32 and 2^48, to its sum.
inline fn add_limbs(c, e) {
    {
        let first_limb = limb_{c}_{4 * e};
        let second = limb_{c}_{4 * e + 1};
        let low = u32(first_limb) + (u32(second) << 16u);
        let carry = select(0u, 1u, low < u32(first_limb));
        let high = u32(first_limb >> 31u) + u32(second >> 16u) + carry
            + u32(limb_{c}_{4 * e + 2}) + (u32(limb_{c}_{4 * e + 3}) << 16u);
        sum_{c}_{e}_low += low;
        sum_{c}_{e}_high += high + select(0u, 1u, sum_{c}_{e}_low < low);
    }
}

// Parks a sum, added to the part of the segments of the key before.
inline fn park(c, e) {
    {
        let job = ciphertext + ${c}u;
        let word = 2u * column + ${e}u;
        if (job < launch.jobs && word < SWITCHED_LENGTH) {
            let at = 2u * ((group.z * launch.jobs + job) * SWITCHED_LENGTH + word);
            let before_low = select(0u, partial[at], launch.add != 0u);
            let before_high = select(0u, partial[at + 1u], launch.add != 0u);
            let low = before_low + sum_{c}_{e}_low;
            partial[at] = low;
            partial[at + 1u] =
                before_high + sum_{c}_{e}_high + select(0u, 1u, low < before_low);
        }
    }
}

@compute @workgroup_size(THREADS)
fn key_switch_torus(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let column = group.y * LANES + t;
    let mine = t < LANES && column < ROW_VECTORS;
    let ciphertext = group.x * CIPHERTEXTS;
    for c in 0..CIPHERTEXTS, e in 0..2 {
        var sum_{c}_{e}_low = 0u;
        var sum_{c}_{e}_high = 0u;
    }

    // This workgroup's part of the dispatch's indices.
    let first = launch.first_step + group.z * launch.share;
    let last = min(first + launch.share, launch.last_step);
    for (var base = first; base < last; base += TILE) {
        let count = min(TILE, last - base);
        // The tile before has been read by all.
        workgroupBarrier();
        for (var i = t; i < TILE * CIPHERTEXTS; i += THREADS) {
            let c = i / TILE;
            let index = i % TILE;
            if (index < count) {
                // Past the last ciphertext: any, its sums are dropped.
                let job = min(ciphertext + c, launch.jobs - 1u);
                let at = job * LENGTH + 2u * (base + index);
                let word = closest(gathered[at], gathered[at + 1u]);
                let to = index * (KS_DIGITS * CIPHERTEXTS) + c;
                for d in 0..KS_DIGITS: store_digit(d);
            }
        }
        workgroupBarrier();
        if (mine) {
            for c in 0..CIPHERTEXTS, l in 0..8: var limb_{c}_{l} = 0;
            let key_at = (base - launch.first_block) * (KS_DIGITS * ROW_VECTORS) + column;
            for (var row = 0u; row < count * KS_DIGITS; row += UNROLL) {
                for u in 0..UNROLL: let key_{u} = table[key_at + (row + ${u}u) * ROW_VECTORS];
                for u in 0..UNROLL: add_row(u);
            }
            for c in 0..CIPHERTEXTS, e in 0..2: add_limbs(c, e);
        }
    }
    if (!mine) {
        return;
    }
    for c in 0..CIPHERTEXTS, e in 0..2: park(c, e);
}
