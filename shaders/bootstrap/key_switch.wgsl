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

// Adds the rows of the indices i, i + SLICES, .. , all loads before all sums: ${UNROLL * KS_DIGITS}
// rows in flight hide the latency of memory.
#def add_rows(indices)
#for u in 0..indices
#if KS_WORDS == 1
            let low_${u} = switched[input + i + ${u * SLICES}u];
#else
            let low_${u} = switched[(input + i + ${u * SLICES}u) * 2u];
            let high_${u} = switched[(input + i + ${u * SLICES}u) * 2u + 1u];
#end
#end
#for u in 0..indices
            let block_${u} = i + ${u * SLICES}u - launch.first_block;
            let base_${u} = block_${u} * ${KS_DIGITS << LOG2_KS_BASE}u;
#for d in 0..KS_DIGITS
#set shift d * LOG2_KS_BASE
            // Digit ${d}: bits ${shift} .. ${shift + LOG2_KS_BASE}.
#if shift + LOG2_KS_BASE <= 32 || KS_WORDS == 1
            let value_${u}_${d} = (low_${u} >> ${shift}u) & ${(1 << LOG2_KS_BASE) - 1}u;
#elif shift >= 32
            let value_${u}_${d} = (high_${u} >> ${shift - 32}u) & ${(1 << LOG2_KS_BASE) - 1}u;
#else
            let shifted_${u}_${d} = (low_${u} >> ${shift}u) | (high_${u} << ${32 - shift}u);
            let value_${u}_${d} = shifted_${u}_${d} & ${(1 << LOG2_KS_BASE) - 1}u;
#end
            let entry_${u}_${d} = base_${u} + ${d << LOG2_KS_BASE}u + value_${u}_${d};
            let row_${u}_${d} = table[entry_${u}_${d} * ${ROW_VECTORS}u + column];
#end
#end
#for u in 0..indices, d in 0..KS_DIGITS
#for q in 0..4
#if ENTRIES == 8
            // Two 16-bit entries a word; only sums modulo 2^16 are kept,
            // so the lower needs no mask.
            sum_${2 * q} += row_${u}_${d}[${q}];
            sum_${2 * q + 1} += row_${u}_${d}[${q}] >> 16u;
#elif ENTRIES == 4
            sum_${q} += row_${u}_${d}[${q}];
#end
#end
#if ENTRIES == 2
            sum_0 += row_${u}_${d}.x;
            sum_1 += row_${u}_${d}.y + select(0u, 1u, sum_0 < row_${u}_${d}.x);
            sum_2 += row_${u}_${d}.z;
            sum_3 += row_${u}_${d}.w + select(0u, 1u, sum_2 < row_${u}_${d}.z);
#end
#end
#end

// Parks a part of a sum, added to that of the segments of the table before.
fn park(at: u32, low: u32, high: u32) {
    let before = select(0u, partial[at], launch.add != 0u);
    partial[at] = before + low;
#if KS_WORDS == 2
    let carry = select(0u, 1u, before + low < low);
    partial[at + 1u] = select(0u, partial[at + 1u], launch.add != 0u) + high + carry;
#end
}

var<workgroup> slices: array<u32, ${LANES * SLICES * SUMS}>;

@compute @workgroup_size(${LANES * SLICES})
fn key_switch(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let lane = t % ${LANES}u;
    let slice = t / ${LANES}u;
    let column = group.y * ${LANES}u + lane;
    let input = group.x * ${INDICES + PACKING}u;
    #for s in 0..SUMS: var sum_${s} = 0u;

    // This workgroup's part of the dispatch's indices.
    let first = launch.first_step + group.z * launch.share;
    let last = min(first + launch.share, launch.last_step);
    if (column < ${ROW_VECTORS}u) {
        var i = first + slice;
#if UNROLL > 1
        for (; i + ${(UNROLL - 1) * SLICES}u < last; i += ${UNROLL * SLICES}u) {
#call add_rows(${UNROLL})
        }
#end
        for (; i < last; i += ${SLICES}u) {
#call add_rows(1)
        }
    }

#if SLICES > 1
    #for s in 0..SUMS: slices[(slice * ${SUMS}u + ${s}u) * ${LANES}u + lane] = sum_${s};
    workgroupBarrier();
    if (slice != 0u || column >= ${ROW_VECTORS}u) {
        return;
    }
    for (var other = 1u; other < ${SLICES}u; other++) {
#for s in 0..SUMS
#if ENTRIES == 2
#if s % 2 == 0
        let more_${s} = slices[(other * ${SUMS}u + ${s}u) * ${LANES}u + lane];
        sum_${s} += more_${s};
#else
        sum_${s} += slices[(other * ${SUMS}u + ${s}u) * ${LANES}u + lane]
            + select(0u, 1u, sum_${s - 1} < more_${s - 1});
#end
#else
        sum_${s} += slices[(other * ${SUMS}u + ${s}u) * ${LANES}u + lane];
#end
#end
    }
#else
    if (column >= ${ROW_VECTORS}u) {
        return;
    }
#end

#for e in 0..ENTRIES
    {
        let word = column * ${ENTRIES}u + ${e}u;
        if (word < ${LENGTH}u) {
#if KS_WORDS == 1
            let low = sum_${e};
            let high = 0u;
#else
            let low = sum_${2 * e};
            let high = sum_${2 * e + 1};
#end
            if (launch.parts == 0u) {
                switch_to_output(group.x, word, low, high);
            } else {
                park(partial_at(group.z, group.x, word), low, high);
            }
        }
    }
#end
}
