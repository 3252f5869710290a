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

var<workgroup> exchange: array<lane, STAGED * PADDED>;

// `exponent` of a word of the input, digits and updates of the accumulator, and its words.
#if TORUS
#include accumulator_torus
#elif MODULUS_RAISING
#include accumulator_raised
#else
#include accumulator
#end
#include transform
#include external_product

// Sets the accumulator: masks zero, body b = X^(-b f) * test polynomial.
inline fn initialise() {
    for b in 0..PACKING: initialise_body(b);
}

inline fn initialise_body(b) {
    {
        let shift = exponent(job, group.x, ${LWE_DIMENSION + b}u);
        let base = (job.table + ${b}u * job.table_stride) * N;
        for j in 0..ITEMS: initialise_item(b, j);
    }
}

inline fn initialise_item(b, j) {
    {
        let i = (${j * THREADS}u + t + shift) & (2u * N - 1u);
        let at = (base + (i & (N - 1u))) * ACC_WORDS;
        for w in 0..ACC_WORDS: let v_{w} = tables[at + ${w}u];
        let flip = i >= N;
        flipped();
        for w in 0..ACC_WORDS: acc_{w}_{GLWE_DIMENSION + b}_{j} = x_{w};
    }
}

#if SECOND
// Writes the extracted ciphertexts, one or two, each of the coefficient w it is of: a' =
// (a_w, .., a_0, -a_(N-1), .., -a_(w+1)) of each mask polynomial; b' = coefficient w plus the
// output offset.
inline fn sample_extract() {
    var which = 0u;
    var extracts = Extracts(job.output, job.offset_0, job.offset_1);
    for (var result = 0u; result < 2u; result++) {
        for c in 0..GLWE_DIMENSION, j in 0..ITEMS: extract_mask(c, j);
        for b in 0..PACKING, j in 0..ITEMS: extract_body(b, j);
        which = job.second_coefficient;
        if (which == 0u) {
            return;
        }
        extracts = Extracts(job.second_output, job.second_offset_0, job.second_offset_1);
    }
}

inline fn extract_mask(c, j) {
    {
        let i = ${j * THREADS}u + t;
        let to = ${c * N}u + ((which - i) & (N - 1u));
        for w in 0..ACC_WORDS: let v_{w} = acc_{w}_{c}_{j};
        let flip = i > which;
        flipped();
        store_extracted();
    }
}

inline fn extract_body(b, j) {
    if (which == ${j * THREADS}u + t) {
        let to = ${GLWE_DIMENSION * N + b}u;
        for w in 0..ACC_WORDS: let v_{w} = acc_{w}_{GLWE_DIMENSION + b}_{j};
        with_offset();
        store_extracted();
    }
}
#else
// Writes the extracted ciphertext: a' = (a_0, -a_(N-1), .., -a_1) of each mask polynomial; b' =
// constant term plus the output offset.
inline fn sample_extract() {
#if TORUS
    let extracts = Extracts(job.output, job.offset_0, job.offset_1);
#end
    for c in 0..GLWE_DIMENSION, j in 0..ITEMS: extract_mask(c, j);
    if (t == 0u) {
        for b in 0..PACKING: extract_body(b);
    }
}

inline fn extract_mask(c, j) {
    {
        let i = ${j * THREADS}u + t;
        let to = ${c * N}u + ((N - i) & (N - 1u));
        for w in 0..ACC_WORDS: let v_{w} = acc_{w}_{c}_{j};
        let flip = i != 0u;
        flipped();
        store_extracted();
    }
}

inline fn extract_body(b) {
    {
        let to = ${GLWE_DIMENSION * N + b}u;
        for w in 0..ACC_WORDS: let v_{w} = acc_{w}_{GLWE_DIMENSION + b}_0;
        with_offset();
        store_extracted();
    }
}
#end

inline fn trace_extracted() {
#if TRACE
    for w in 0..ACC_WORDS: scratch[TRACE_EXTRACTED + to * ACC_WORDS + ${w}u] = x_{w};
#end
}

// Declares the exponents e_{g} of a step: for ternary secrets of X^e and X^-e, otherwise of each
// non-empty set of the step's indices the sum of theirs.
inline fn step_exponents() {
#if GROUPING == 1
    // Modulo 2^32, of which 2N is a divisor.
    let e_0 = next_0;
    let e_1 = 0u - next_0;
#else
    for g in 0..GGSW: sum_of_exponents(g);
#end
}

inline fn sum_of_exponents(g) {
    var e_{g} = 0u;
    for i in 0..GROUPING if (g + 1) >> i & 1: e_{g} += next_{i};
}

// One step modulo P_w: digits of the accumulator, transformed, STAGED at a time; products and
// monomials; what comes back is added to the accumulator, or kept until its last word is there.
inline fn external_product(w) {
    {
#if ROLLED == 2
        transformed_digits_rolled(w);
        F := @digits
#else
        transformed_digits(w);
        F := @f
#end
        for g in 0..GGSW: monomial_start(w, g);
#if ROLLED
        products_rolled(w, F);
#else
        products(w, F);
#end
    }
}

inline fn keep_digit(level, c, j) {
    digit_of(level, c, j, ${level}_{c}_{j});
    let digit_{level}_{c}_{j} = signed_{level}_{c}_{j};
}

// A step, its words counted by a loop: what comes from a prime is read from `roots`.
inline fn looped_step() {
    for level in 0..LEVELS, c in 0..COLUMNS, j in 0..ITEMS: keep_digit(level, c, j);
    for c in 0..COLUMNS, j in 0..ITEMS: var multiple_{c}_{j} = ${1 << 27}u;
    for (var word = 0u; word < WORDS; word++) {
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
        external_product(0);
    }
    for c in 0..COLUMNS, j in 0..ITEMS: accumulate_end(c, j);
}

// A step, word by word.
inline fn unrolled_step() {
    let key_base = step_base;
    for b in 0..WORDS - 1, c in 0..COLUMNS, j in 0..ITEMS if !ROLLED:
        var delta_{b}_{c}_{j} = lane(0);
    for w in 0..WORDS: external_product(w);
}

@compute @workgroup_size(THREADS)
fn blind_rotate(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let job_index = launch.first_job + group.x;
    let job = jobs[job_index];
    let parked = group.x * (COLUMNS * ACC_WORDS * N) + t;
    for p in 0..PASSES {
        let index_{p} = ${THREAD_INDEX_{p}};
        let address_{p} = index_{p} + (index_{p} >> 5u) + (index_{p} >> 10u);
    }
    // Position x of the transform holds the value at root^(2 reversed(x) + 1).
    let point = 2u * (${THREAD_REVERSED}) + 1u;

    // Where columns are counted by loops: [column][item] as one array each; [word][column][item] of
    // all words but the last; and [row][item].
    for w in 0..ACC_WORDS if ROLLED: var accumulator_{w}: array<u32, COLUMNS * ITEMS>;
    for words in WORDS - 1..WORDS if ROLLED && words > 0:
        var deltas: array<lane, ${words} * COLUMNS * ITEMS>;
    for rows in ROWS..ROWS + 1 if ROLLED == 2: var digits: array<lane, ${rows} * ITEMS>;
    for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS: var acc_{w}_{c}_{j} = 0u;
#if TRACE && !TORUS
    for (var i = t; i < LENGTH; i += THREADS) {
        scratch[TRACE_COMBINED + i] = combination(job, i);
    }
#end

    if (launch.first_step == 0u) {
        initialise();
    } else {
        for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS:
            acc_{w}_{c}_{j} = scratch[parked + ${(c * ACC_WORDS + w) * N + j * THREADS}u];
    }

    for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS if ROLLED:
        accumulator_{w}[${c * ITEMS + j}] = acc_{w}_{c}_{j};

    for i in 0..GROUPING:
        var next_{i} = exponent(job, group.x, launch.first_step * GROUPING + ${i}u);
    for (var step = launch.first_step; step < launch.last_step; step++) {
        step_exponents();
        // Asked for one step ahead, so that no thread waits for it.
        let ahead = min(step + 1u, STEPS - 1u) * GROUPING;
        for i in 0..GROUPING: next_{i} = exponent(job, group.x, ahead + ${i}u);
        let step_base = (step - launch.first_block) * KEY_STEP + t;
#if TRACE
        let traced = step == launch.trace_step;
#end
#if LOOPED
        looped_step();
#else
        unrolled_step();
#end
    }

    for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS if ROLLED:
        acc_{w}_{c}_{j} = accumulator_{w}[${c * ITEMS + j}];
    if (launch.last_step < STEPS || TRACE == 1u) {
        for c in 0..COLUMNS, j in 0..ITEMS, w in 0..ACC_WORDS:
            scratch[parked + ${(c * ACC_WORDS + w) * N + j * THREADS}u] = acc_{w}_{c}_{j};
    }
    if (launch.last_step < STEPS) {
        return;
    }

    sample_extract();
}
