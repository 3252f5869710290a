// blind_rotate: combine, initialise, n steps, sample_extract, first mod switch,
// in one dispatch a batch.
//
// One workgroup a ciphertext. Thread t holds coefficients t + T j, j < ${ITEMS}, of all ${COLUMNS}
// accumulator polynomials in registers from the first step to the last; workgroup memory holds only
// ${STAGED} polynomial(s) on their way between passes of the transform, whatever the number of
// digits. Steps and names are those of the CPU twin.
//
// N = ${N}, k = ${GLWE_DIMENSION}, r = ${PACKING}, ${LEVELS} level(s), ${WORDS} word(s),
// n = ${LWE_DIMENSION}.

#include job
#include arithmetic

@group(0) @binding(2) var<storage, read> store: array<u32>;
// Test polynomials, [table][coefficient][accumulator word].
@group(0) @binding(3) var<storage, read> tables: array<u32>;
// Transformed bootstrapping key in the order of reading, [step][word][column][quarter of
// items][row][C0|C1][thread].
@group(0) @binding(4) var<storage, read> key: array<vec4<u32>>;
// Twiddles of the passes for each thread, then (X^i - 1, X^-i - 1)
// for each power of the root of unity.
@group(0) @binding(5) var<storage, read> roots: array<vec2<u32>>;
// [job][kN + r] modulo Q_ks, ${KS_WORDS} word(s) each.
@group(0) @binding(6) var<storage, read_write> switched: array<u32>;
// Accumulators between dispatches, [job][column][word][coefficient]; and what a trace writes down.
@group(0) @binding(7) var<storage, read_write> scratch: array<u32>;

var<workgroup> exchange: array<lane, ${STAGED * PADDED}>;

#include combination
#include accumulator
#include transform
#include external_product

// Word `i` of the combined input as an exponent of X: times f = 2N / modulus, exactly.
fn exponent(job: Job, i: u32) -> u32 {
    return combination(job, i) << (${LOG2_N + 1}u - job.log2_modulus);
}

// Sets the accumulator: masks zero, body b = X^(-b f) * test polynomial.
#def initialise()
#for b in 0..PACKING
        {
            let shift = exponent(job, ${LWE_DIMENSION + b}u);
            let base = (job.table + ${b}u * job.table_stride) * ${N}u;
#for j in 0..ITEMS
            {
                let i = (${j * THREADS}u + t + shift) & ${2 * N - 1}u;
                let at = (base + (i & ${N - 1}u)) * ${ACC_WORDS}u;
#for w in 0..ACC_WORDS
                let v_${w} = tables[at + ${w}u];
                acc_${w}_${GLWE_DIMENSION + b}_${j} =
                    select(v_${w}, negate_${w}(v_${w}), i >= ${N}u);
#end
            }
#end
        }
#end
#end

// Writes the extracted ciphertext: a' = (a_0, -a_(N-1), .., -a_1) of each mask polynomial; b' =
// constant term plus the output offset.
#def sample_extract()
    let out = group.x * ${GLWE_DIMENSION * N + PACKING}u;
#for c in 0..GLWE_DIMENSION, j in 0..ITEMS
    {
        let i = ${j * THREADS}u + t;
        let to = ${c * N}u + ((${N}u - i) & ${N - 1}u);
#for w in 0..ACC_WORDS
        let x_${w} = select(negate_${w}(acc_${w}_${c}_${j}), acc_${w}_${c}_${j}, i == 0u);
#end
#call store_extracted()
    }
#end
    if (t == 0u) {
#for b in 0..PACKING
        {
            let to = ${GLWE_DIMENSION * N + b}u;
#for w in 0..ACC_WORDS
            let x_${w} = add_${w}(acc_${w}_${GLWE_DIMENSION + b}_0, job.offset_${w});
#end
#call store_extracted()
        }
#end
    }
#end

@compute @workgroup_size(${THREADS})
fn blind_rotate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let job_index = launch.first_job + group.x;
    let job = jobs[job_index];
    let parked = group.x * ${COLUMNS * ACC_WORDS * N}u + t;
#for p in 0..PASSES
    let index_${p} = ${THREAD_INDEX_${p}};
    let address_${p} = index_${p} + (index_${p} >> 5u) + (index_${p} >> 10u);
#end
    // Position x of the transform holds the value at root^(2 reversed(x) + 1).
    let point = 2u * (${THREAD_REVERSED}) + 1u;

#if ROLLED
    // [column][item]; as one array each, because columns are counted by loops.
    #for w in 0..ACC_WORDS: var accumulator_${w}: array<u32, ${COLUMNS * ITEMS}>;
#if WORDS == 2
    var deltas: array<lane, ${COLUMNS * ITEMS}>;
#end
#if ROLLED == 2
    var digits: array<lane, ${ROWS * ITEMS}>;
#end
#end
    #for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS: var acc_${w}_${c}_${j} = 0u;
#if TRACE
    for (var i = t; i < ${LENGTH}u; i += ${THREADS}u) {
        scratch[${TRACE_COMBINED}u + i] = combination(job, i);
    }
#end

    if (launch.first_step == 0u) {
#call initialise()
    } else {
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
        acc_${w}_${c}_${j} = scratch[parked + ${(c * ACC_WORDS + w) * N + j * THREADS}u];
#end
    }

#if ROLLED
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
    accumulator_${w}[${c * ITEMS + j}] = acc_${w}_${c}_${j};
#end
#end

    var next_exponent = exponent(job, launch.first_step);
    for (var step = launch.first_step; step < launch.last_step; step++) {
        let e = next_exponent;
        // Asked for one step ahead, so that no thread waits for it. The word after the mask is a
        // body: harmless.
        next_exponent = exponent(job, step + 1u);
        let key_base = (step - launch.first_block) * ${KEY_STEP}u + t;
#if TRACE
        let traced = step == launch.trace_step;
#end
#if WORDS == 2 && !ROLLED
        #for c in 0..COLUMNS, j in 0..ITEMS: var delta_${c}_${j} = lane(0);
#end
#for w in 0..WORDS
        {
        // external_product modulo P_${w}: digits of the accumulator, transformed, staged ${STAGED}
        // at a time.
#set F 0
#if ROLLED == 2
#call transformed_digits_rolled(${w})
#else
#call transformed_digits(${w})
#end
        // (X^e - 1) and (X^-e - 1) at this thread's positions, in Montgomery form.
#for j in 0..ITEMS
        let power_${j} = (e * (point + ${2 * reversed_item(j)}u)) & ${2 * N - 1}u;
        let monomial_${j} = roots[${monomial_base(w)}u + power_${j}];
#end
#if ROLLED
#call products_rolled(${w}, ${F})
#else
#call products(${w}, ${F})
#end
        }
#end
    }

#if ROLLED
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
    acc_${w}_${c}_${j} = accumulator_${w}[${c * ITEMS + j}];
#end
#end
    if (launch.last_step < ${LWE_DIMENSION}u || ${TRACE} == 1) {
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
        scratch[parked + ${(c * ACC_WORDS + w) * N + j * THREADS}u] = acc_${w}_${c}_${j};
#end
    }
    if (launch.last_step < ${LWE_DIMENSION}u) {
        return;
    }

#call sample_extract()
}
