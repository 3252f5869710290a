// key_switch: (0, b') minus one table row for each digit of each a'_i, then the last mod switch and
// the store.
//
// A workgroup serves ${LANES} vectors of four words of one ciphertext, with ${SLICES} threads a
// vector that share the indices i among them. The table streams once: every load is 16 bytes a
// thread, neighbours beside each other. Tables larger than a binding come in several dispatches,
// and few ciphertexts have their indices divided over workgroups:
// sums are then parked for key_switch_finish.

#include key_switched

// [index][digit][value][row]; a row packs ${ENTRIES} entries of a ciphertext in each vector.
@group(0) @binding(5) var<storage, read> table: array<vec4<u32>>;

// Adds the rows of `indices` indices i, i + SLICES, .. , all loads before all sums: UNROLL times
// KS_DIGITS rows in flight hide the latency of memory.
inline fn add_rows(indices) {
    for u in 0..indices: load_index(u);
    for u in 0..indices: load_rows(u);
    for u in 0..indices, d in 0..KS_DIGITS: add_row(row_{u}_{d});
}

// Declares low_{u} (and high_{u}), the word of index i + u SLICES.
inline fn load_index(u) {
#if KS_WORDS == 1
    let low_{u} = switched[input + i + ${u * SLICES}u];
#else
    let low_{u} = switched[(input + i + ${u * SLICES}u) * 2u];
    let high_{u} = switched[(input + i + ${u * SLICES}u) * 2u + 1u];
#end
}

// Declares row_{u}_{d}, what digit d of that word chooses.
inline fn load_rows(u) {
    let block_{u} = i + ${u * SLICES}u - launch.first_block;
    let base_{u} = block_{u} * ${KS_DIGITS << LOG2_KS_BASE}u;
    for d in 0..KS_DIGITS: load_row(u, d);
}

inline fn load_row(u, d) {
    digit(u, d, d * LOG2_KS_BASE);
    let entry_{u}_{d} = base_{u} + ${d << LOG2_KS_BASE}u + value_{u}_{d};
    let row_{u}_{d} = table[entry_{u}_{d} * ROW_VECTORS + column];
}

// Declares value_{u}_{d}, digit d: bits `shift` .. `shift` + LOG2_KS_BASE.
inline fn digit(u, d, shift) {
#if shift + LOG2_KS_BASE <= 32 || KS_WORDS == 1
    let value_{u}_{d} = (low_{u} >> ${shift}u) & ${(1 << LOG2_KS_BASE) - 1}u;
#elif shift >= 32
    let value_{u}_{d} = (high_{u} >> ${shift - 32}u) & ${(1 << LOG2_KS_BASE) - 1}u;
#else
    let shifted_{u}_{d} = (low_{u} >> ${shift}u) | (high_{u} << ${32 - shift}u);
    let value_{u}_{d} = shifted_{u}_{d} & ${(1 << LOG2_KS_BASE) - 1}u;
#end
}

// Adds ENTRIES entries of a row to the sums: of 64 bits, two words each; of 32; or of 16, two a
// word, of which only sums modulo 2^16 are kept, so that the lower needs no mask.
inline fn add_row(row) {
    for q in 0..4 if ENTRIES == 8: add_halves(row, q);
    for q in 0..4 if ENTRIES == 4: sum_{q} += ${row}[${q}];
    for q in 0..4 step 2 if ENTRIES == 2: add_wide(row, q);
}

inline fn add_halves(row, q) {
    sum_{2 * q} += ${row}[${q}];
    sum_{2 * q + 1} += ${row}[${q}] >> 16u;
}

inline fn add_wide(row, q) {
    sum_{q} += ${row}[${q}];
    sum_{q + 1} += ${row}[${q + 1}] + select(0u, 1u, sum_{q} < ${row}[${q}]);
}

// Adds a sum of another slice: of 64 bits with the carry of its lower word.
inline fn add_slice(s) {
#if ENTRIES != 2
    sum_{s} += slices[(other * SUMS + ${s}u) * LANES + lane];
#elif s % 2 == 0
    let more_{s} = slices[(other * SUMS + ${s}u) * LANES + lane];
    sum_{s} += more_{s};
#else
    sum_{s} += slices[(other * SUMS + ${s}u) * LANES + lane]
        + select(0u, 1u, sum_{s - 1} < more_{s - 1});
#end
}

// Parks a part of a sum, added to that of the segments of the table before.
fn park(at: u32, low: u32, high: u32) {
    let before = select(0u, partial[at], launch.add != 0u);
    partial[at] = before + low;
#if KS_WORDS == 2
    let carry = select(0u, 1u, before + low < low);
    partial[at + 1u] = select(0u, partial[at + 1u], launch.add != 0u) + high + carry;
#end
}

// Ends the key switch of an entry, or parks a part of it.
inline fn finish_entry(e) {
    {
        let word = column * ENTRIES + ${e}u;
        if (word < LENGTH) {
            let low = sum_{KS_WORDS * e};
            for second in 1..KS_WORDS: let high = sum_{2 * e + second};
            for none in KS_WORDS..2: let high = 0u;
            if (launch.parts == 0u) {
                switch_to_output(group.x, word, low, high);
            } else {
                park(partial_at(group.z, group.x, word), low, high);
            }
        }
    }
}

var<workgroup> slices: array<u32, LANES * SLICES * SUMS>;

@compute @workgroup_size(LANES * SLICES)
fn key_switch(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let lane = t % LANES;
    let slice = t / LANES;
    let column = group.y * LANES + lane;
    let input = group.x * ${INDICES + PACKING}u;
    for s in 0..SUMS: var sum_{s} = 0u;

    // This workgroup's part of the dispatch's indices.
    let first = launch.first_step + group.z * launch.share;
    let last = min(first + launch.share, launch.last_step);
    if (column < ROW_VECTORS) {
        var i = first + slice;
#if UNROLL > 1
        for (; i + ${(UNROLL - 1) * SLICES}u < last; i += ${UNROLL * SLICES}u) {
            add_rows(UNROLL);
        }
#end
        for (; i < last; i += SLICES) {
            add_rows(1);
        }
    }

#if SLICES > 1
    for s in 0..SUMS: slices[(slice * SUMS + ${s}u) * LANES + lane] = sum_{s};
    workgroupBarrier();
    if (slice != 0u || column >= ROW_VECTORS) {
        return;
    }
    for (var other = 1u; other < SLICES; other++) {
        for s in 0..SUMS: add_slice(s);
    }
#else
    if (column >= ROW_VECTORS) {
        return;
    }
#end

    for e in 0..ENTRIES: finish_entry(e);
}
