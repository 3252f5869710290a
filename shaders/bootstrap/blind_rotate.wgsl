// blind_rotate: combine, initialise, n steps, sample_extract, first mod switch,
// in one dispatch a batch.
//
// One workgroup a ciphertext. Thread t holds coefficients t + T j, j < ${ITEMS}, of all ${COLUMNS}
// accumulator polynomials in registers from the first step to the last; workgroup memory holds only
// ${STAGED} polynomial(s) on their way between passes of the transform, whatever the number of
// digits. Steps and names are those of the CPU twin. On the native torus keys were switched before:
// what comes in are exponents, and what is extracted is the result.
//
// N = ${N}, k = ${GLWE_DIMENSION}, r = ${PACKING}, ${LEVELS} level(s), ${WORDS} word(s),
// n = ${LWE_DIMENSION}.

#include job
#include arithmetic

#if TORUS
// [job][n + r] in [0, 2N).
@group(0) @binding(2) var<storage, read> exponents: array<u32>;
#else
@group(0) @binding(2) var<storage, read> store: array<u32>;
#end
// Test polynomials, [table][coefficient][accumulator word].
@group(0) @binding(3) var<storage, read> tables: array<u32>;
// Transformed bootstrapping key in the order of reading, [step][word][column][quarter of
// items][row][GGSW][thread].
@group(0) @binding(4) var<storage, read> key: array<vec4<u32>>;
// For each prime the twiddles of the passes for each thread, (X^i, X^-i) for each power of the root
// of unity, and the twiddles of a root of order ITEMS.
@group(0) @binding(5) var<storage, read> roots: array<vec2<u32>>;
// [job][kN + r] modulo Q_ks, ${KS_WORDS} word(s) each; native torus: ciphertexts that jobs write.
@group(0) @binding(6) var<storage, read_write> results: array<u32>;
// Accumulators between dispatches, [job][column][word][coefficient]; and what a trace writes down.
@group(0) @binding(7) var<storage, read_write> scratch: array<u32>;

var<workgroup> exchange: array<lane, ${STAGED * PADDED}>;

#if TORUS
#include accumulator_torus
#else
#include combination
#include accumulator
#end
#include transform
#include external_product

#if TORUS
// Word `i` of the switched ciphertext `ciphertext`.
fn exponent(job: Job, ciphertext: u32, i: u32) -> u32 {
    return exponents[ciphertext * ${SWITCHED_LENGTH}u + i];
}
#else
// Word `i` of the combined input as an exponent of X: times f = 2N / modulus, exactly.
fn exponent(job: Job, ciphertext: u32, i: u32) -> u32 {
    return combination(job, i) << (${LOG2_N + 1}u - job.log2_modulus);
}
#end

// Sets the accumulator: masks zero, body b = X^(-b f) * test polynomial.
#def initialise()
#for b in 0..PACKING
        {
            let shift = exponent(job, group.x, ${LWE_DIMENSION + b}u);
            let base = (job.table + ${b}u * job.table_stride) * ${N}u;
#for j in 0..ITEMS
            {
                let i = (${j * THREADS}u + t + shift) & ${2 * N - 1}u;
                let at = (base + (i & ${N - 1}u)) * ${ACC_WORDS}u;
                #for w in 0..ACC_WORDS: let v_${w} = tables[at + ${w}u];
                let flip = i >= ${N}u;
#call flipped()
                #for w in 0..ACC_WORDS: acc_${w}_${GLWE_DIMENSION + b}_${j} = x_${w};
            }
#end
        }
#end
#end

// Writes the extracted ciphertext: a' = (a_0, -a_(N-1), .., -a_1) of each mask polynomial; b' =
// constant term plus the output offset.
#def sample_extract()
#for c in 0..GLWE_DIMENSION, j in 0..ITEMS
    {
        let i = ${j * THREADS}u + t;
        let to = ${c * N}u + ((${N}u - i) & ${N - 1}u);
        #for w in 0..ACC_WORDS: let v_${w} = acc_${w}_${c}_${j};
        let flip = i != 0u;
#call flipped()
#call store_extracted()
    }
#end
    if (t == 0u) {
#for b in 0..PACKING
        {
            let to = ${GLWE_DIMENSION * N + b}u;
            #for w in 0..ACC_WORDS: let v_${w} = acc_${w}_${GLWE_DIMENSION + b}_0;
#call with_offset()
#call store_extracted()
        }
#end
    }
#end

// One step modulo P_w: digits of the accumulator, transformed, STAGED at a time; products and
// monomials; what comes back is added to the accumulator, or kept until its last word is there.
#def external_product(w)
#set F 0
#if ROLLED == 2
#call transformed_digits_rolled(${w})
#else
#call transformed_digits(${w})
#end
#call monomial_starts(${w})
#if ROLLED
#call products_rolled(${w}, ${F})
#else
#call products(${w}, ${F})
#end
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
#if WORDS > 1
    // [word][column][item] of all words but the last.
    var deltas: array<lane, ${(WORDS - 1) * COLUMNS * ITEMS}>;
#end
#if ROLLED == 2
    var digits: array<lane, ${ROWS * ITEMS}>;
#end
#end
    #for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS: var acc_${w}_${c}_${j} = 0u;
#if TRACE && !TORUS
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

#for i in 0..GROUPING
    var next_${i} = exponent(job, group.x, launch.first_step * ${GROUPING}u + ${i}u);
#end
    for (var step = launch.first_step; step < launch.last_step; step++) {
#if GROUPING == 1
        // Modulo 2^32, of which 2N is a divisor.
        let e_0 = next_0;
        let e_1 = 0u - next_0;
#else
        // Of each non-empty set of the step's indices: the sum of their exponents.
#for g in 0..GGSW
        var e_${g} = 0u;
#for i in 0..GROUPING
#if (g + 1) >> i & 1
        e_${g} += next_${i};
#end
#end
#end
#end
        // Asked for one step ahead, so that no thread waits for it.
        let ahead = min(step + 1u, ${STEPS - 1}u) * ${GROUPING}u;
        #for i in 0..GROUPING: next_${i} = exponent(job, group.x, ahead + ${i}u);
        let step_base = (step - launch.first_block) * ${KEY_STEP}u + t;
#if TRACE
        let traced = step == launch.trace_step;
#end
#if LOOPED
#for level in 0..LEVELS, c in 0..COLUMNS, j in 0..ITEMS
#call digit_of(${level}, ${c}, ${j}, ${level}_${c}_${j})
        let digit_${level}_${c}_${j} = signed_${level}_${c}_${j};
#end
        #for c in 0..COLUMNS, j in 0..ITEMS: var multiple_${c}_${j} = ${1 << 27}u;
        for (var word = 0u; word < ${WORDS}u; word++) {
        let key_base = step_base + word * ${KEY_STEP / WORDS}u;
        let word_at = word * ${word_pairs()}u;
        let prime = roots[word_at + ${prime_base(0)}u];
        let P_0 = prime.x;
        let LP_0 = lane(prime.x);
        let P_NEG_INVERSE_0 = prime.y;
        let unit = roots[word_at + ${prime_base(1)}u];
        let UNIT_0 = unit.x;
        let quotient_factor = unit.y;
        let crt_weight = roots[word_at + ${prime_base(2)}u];
        let ONE_0 = roots[word_at + ${prime_base(3)}u];
#call external_product(0)
        }
        #for c in 0..COLUMNS, j in 0..ITEMS: #call accumulate_end(${c}, ${j})
#else
        let key_base = step_base;
#if WORDS > 1 && !ROLLED
#for b in 0..WORDS - 1, c in 0..COLUMNS, j in 0..ITEMS
        var delta_${b}_${c}_${j} = lane(0);
#end
#end
#for w in 0..WORDS
        {
#call external_product(${w})
        }
#end
#end
    }

#if ROLLED
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
    acc_${w}_${c}_${j} = accumulator_${w}[${c * ITEMS + j}];
#end
#end
    if (launch.last_step < ${STEPS}u || ${TRACE} == 1) {
#for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS
        scratch[parked + ${(c * ACC_WORDS + w) * N + j * THREADS}u] = acc_${w}_${c}_${j};
#end
    }
    if (launch.last_step < ${STEPS}u) {
        return;
    }

#call sample_extract()
}
