// The end of a key switch: (0, b') minus the sum of rows, the last mod switch, the store.

#include job

// Ciphertexts that jobs write.
@group(0) @binding(2) var<storage, read_write> store: array<u32>;
// [job][kN + r] modulo Q_ks, as blind_rotate left it, ${KS_WORDS} word(s) each.
@group(0) @binding(3) var<storage, read> switched: array<u32>;
// Parts of sums, [part][job][n + r] with ${KS_WORDS} word(s) each; in a trace, what the first
// part's place ends with is the result modulo Q_ks.
@group(0) @binding(4) var<storage, read_write> partial: array<u32>;

// Where part `part` of word `word` of a job's sums lies.
fn partial_at(part: u32, job: u32, word: u32) -> u32 {
    return ((part * launch.jobs + job) * LENGTH + word) * KS_WORDS;
}

// Of (low, high) modulo Q_ks: the difference with a sum, and `rounded`, the word divided by
// 2^shift, half up.
#if KS_WORDS == 1
inline fn subtract_sum() {
    low = (low - sum_low) & KS_MASK_LOW;
}

inline fn divide() {
    let rounded = (low + ((1u << shift) >> 1u)) >> shift;
}
#else
inline fn subtract_sum() {
    high = (high - sum_high - select(0u, 1u, low < sum_low)) & KS_MASK_HIGH;
    low = low - sum_low;
}

// The result has at most 30 bits, so shift is at least 3 here, and only bits above it matter.
inline fn divide() {
    let half_low = select(0u, 1u << (shift - 1u), shift <= 32u);
    let half_high = select(1u << ((shift - 1u) & 31u), 0u, shift <= 32u);
    let rounded_low = low + half_low;
    let rounded_high = high + half_high + select(0u, 1u, rounded_low < low);
    let across = (rounded_low >> (shift & 31u)) | (rounded_high << ((32u - shift) & 31u));
    let rounded = select(rounded_high >> (shift & 31u), across, shift < 32u);
}
#end

// Ends word `word` of the job of workgroup row `index`, given the sum of all its rows.
fn switch_to_output(index: u32, word: u32, sum_low: u32, sum_high: u32) {
    let job = jobs[launch.first_job + index];
    var low = 0u;
    var high = 0u;
    if (word >= LWE_DIMENSION) {
        let place = index * ${INDICES + PACKING}u + INDICES + (word - LWE_DIMENSION);
        let body = place * KS_WORDS;
        low = switched[body];
        for high in 1..KS_WORDS: high = switched[body + 1u];
    }
    subtract_sum();
#if TRACE
    partial[partial_at(0u, index, word)] = low;
    for high in 1..KS_WORDS: partial[partial_at(0u, index, word) + 1u] = high;
#end
    // round(x * output modulus / Q_ks).
    let shift = LOG2_KS_MODULUS - job.log2_output;
    divide();
    store[job.output * LENGTH + word] = rounded & ((1u << job.log2_output) - 1u);
}
