// key_switch: (0, b') minus one table row for each digit of each a'_i, then the last mod switch and the store.
//
// A workgroup serves ${LANES} vectors of four words of one ciphertext, with ${SLICES} threads a vector that share the indices i
// among them. The table streams once: every load is 16 bytes a thread, neighbours beside each other.
// Tables larger than a binding come in several dispatches, with the sums parked in between.

#include job

@group(0) @binding(0) var<uniform> launch: Launch;
@group(0) @binding(1) var<storage, read_write> store: array<u32>;
@group(0) @binding(2) var<storage, read> jobs: array<Job>;
// [index][digit][value][row]; a row packs ${ENTRIES} entries of a ciphertext in each vector.
@group(0) @binding(3) var<storage, read> table: array<vec4<u32>>;
// [job][kN + r] modulo Q_ks, as blind_rotate left it.
@group(0) @binding(4) var<storage, read> switched: array<u32>;
// Sums between dispatches, [job][n + r] with ${KS_WORDS} word(s) each.
@group(0) @binding(5) var<storage, read_write> partial: array<u32>;

// Adds the rows of the indices i, i + SLICES, .. , all loads before all sums: ${UNROLL * DIGITS} rows in flight hide the latency of memory.
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
            let base_${u} = (i + ${u * SLICES}u - launch.first_block) * ${DIGITS << LOG2_BASE}u;
#for d in 0..DIGITS
#set shift d * LOG2_BASE
            // Digit ${d}: bits ${shift} .. ${shift + LOG2_BASE}.
#if shift + LOG2_BASE <= 32 || KS_WORDS == 1
            let value_${u}_${d} = (low_${u} >> ${shift}u) & ${(1 << LOG2_BASE) - 1}u;
#elif shift >= 32
            let value_${u}_${d} = (high_${u} >> ${shift - 32}u) & ${(1 << LOG2_BASE) - 1}u;
#else
            let value_${u}_${d} = ((low_${u} >> ${shift}u) | (high_${u} << ${32 - shift}u)) & ${(1 << LOG2_BASE) - 1}u;
#end
            let row_${u}_${d} = table[(base_${u} + ${d << LOG2_BASE}u + value_${u}_${d}) * ${ROW_VECTORS}u + column];
#end
#end
#for u in 0..indices
#for d in 0..DIGITS
#for q in 0..4
#if ENTRIES == 8
            // Two 16-bit entries a word; only sums modulo 2^16 are kept, so the lower needs no mask.
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
#end

var<workgroup> slices: array<u32, ${LANES * SLICES * SUMS}>;

@compute @workgroup_size(${LANES * SLICES})
fn key_switch(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let lane = t % ${LANES}u;
    let slice = t / ${LANES}u;
    let column = group.y * ${LANES}u + lane;
    let input = group.x * ${INDICES + BODIES}u;
#for s in 0..SUMS
    var sum_${s} = 0u;
#end

    if (column < ${ROW_VECTORS}u) {
        var i = launch.first_step + slice;
#if UNROLL > 1
        for (; i + ${(UNROLL - 1) * SLICES}u < launch.last_step; i += ${UNROLL * SLICES}u) {
#call add_rows(${UNROLL})
        }
#end
        for (; i < launch.last_step; i += ${SLICES}u) {
#call add_rows(1)
        }
    }

#if SLICES > 1
#for s in 0..SUMS
    slices[(slice * ${SUMS}u + ${s}u) * ${LANES}u + lane] = sum_${s};
#end
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
        sum_${s} += slices[(other * ${SUMS}u + ${s}u) * ${LANES}u + lane] + select(0u, 1u, sum_${s - 1} < more_${s - 1});
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

    let job = jobs[launch.first_job + group.x];
#for e in 0..ENTRIES
    {
        let word = column * ${ENTRIES}u + ${e}u;
        if (word < ${LENGTH}u) {
            let parked = (group.x * ${LENGTH}u + word) * ${KS_WORDS}u;
            // Start from the parked value, or from (0, b').
            var low = 0u;
            var high = 0u;
            if (launch.first_step != 0u) {
                low = partial[parked];
#if KS_WORDS == 2
                high = partial[parked + 1u];
#end
            } else if (word >= ${LWE}u) {
                let body = (input + ${INDICES}u + (word - ${LWE}u)) * ${KS_WORDS}u;
                low = switched[body];
#if KS_WORDS == 2
                high = switched[body + 1u];
#end
            }
#if KS_WORDS == 1
            low = (low - sum_${e}) & ${KS_MASK_LOW}u;
#else
            high = (high - sum_${2 * e + 1} - select(0u, 1u, low < sum_${2 * e})) & ${KS_MASK_HIGH}u;
            low = low - sum_${2 * e};
#end
            if (launch.last_step < ${INDICES}u || ${TRACE} == 1) {
                partial[parked] = low;
#if KS_WORDS == 2
                partial[parked + 1u] = high;
#end
            }
            if (launch.last_step == ${INDICES}u) {
                // round(x * output modulus / Q_ks), half up.
                let shift = ${LOG2_KS}u - job.log2_output;
#if KS_WORDS == 1
                let rounded = (low + ((1u << shift) >> 1u)) >> shift;
#else
                // The result has at most 30 bits, so shift is at least 3 here, and only bits above it matter.
                let half_low = select(0u, 1u << (shift - 1u), shift <= 32u);
                let half_high = select(1u << ((shift - 1u) & 31u), 0u, shift <= 32u);
                let sum_low = low + half_low;
                let sum_high = high + half_high + select(0u, 1u, sum_low < low);
                let rounded = select(sum_high >> (shift & 31u), (sum_low >> (shift & 31u)) | (sum_high << ((32u - shift) & 31u)), shift < 32u);
#end
                store[job.output * ${LENGTH}u + word] = rounded & ((1u << job.log2_output) - 1u);
            }
        }
    }
#end
}
