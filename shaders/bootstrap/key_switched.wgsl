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
    return ((part * launch.jobs + job) * ${LENGTH}u + word) * ${KS_WORDS}u;
}

// Ends word `word` of the job of workgroup row `index`, given the sum of all its rows.
fn switch_to_output(index: u32, word: u32, sum_low: u32, sum_high: u32) {
    let job = jobs[launch.first_job + index];
    var low = 0u;
    var high = 0u;
    if (word >= ${LWE_DIMENSION}u) {
        let place = index * ${INDICES + PACKING}u + ${INDICES}u + (word - ${LWE_DIMENSION}u);
        let body = place * ${KS_WORDS}u;
        low = switched[body];
#if KS_WORDS == 2
        high = switched[body + 1u];
#end
    }
#if KS_WORDS == 1
    low = (low - sum_low) & ${KS_MASK_LOW}u;
#else
    high = (high - sum_high - select(0u, 1u, low < sum_low)) & ${KS_MASK_HIGH}u;
    low = low - sum_low;
#end
#if TRACE
    partial[partial_at(0u, index, word)] = low;
#if KS_WORDS == 2
    partial[partial_at(0u, index, word) + 1u] = high;
#end
#end
    // round(x * output modulus / Q_ks), half up.
    let shift = ${LOG2_KS_MODULUS}u - job.log2_output;
#if KS_WORDS == 1
    let rounded = (low + ((1u << shift) >> 1u)) >> shift;
#else
    // The result has at most 30 bits, so shift is at least 3 here, and only bits above it matter.
    let half_low = select(0u, 1u << (shift - 1u), shift <= 32u);
    let half_high = select(1u << ((shift - 1u) & 31u), 0u, shift <= 32u);
    let rounded_low = low + half_low;
    let rounded_high = high + half_high + select(0u, 1u, rounded_low < low);
    let across = (rounded_low >> (shift & 31u)) | (rounded_high << ((32u - shift) & 31u));
    let rounded = select(rounded_high >> (shift & 31u), across, shift < 32u);
#end
    store[job.output * ${LENGTH}u + word] = rounded & ((1u << job.log2_output) - 1u);
}
