// What accumulators of canonical words share, GD's in [0, Q) or one residue for each of two primes,
// and MR's in [0, Q).

#include combination

// Ciphertexts that jobs read.
@group(0) @binding(2) var<storage, read> store: array<u32>;

// Word `i` of the combined input as an exponent of X: times f = 2N / modulus, exactly.
fn exponent(job: Job, ciphertext: u32, i: u32) -> u32 {
    return combination(job, i) << (LOG2_N + 1u - job.log2_modulus);
}

#if WORDS == 2
// The first prime inverted modulo the second: Garner's constant.
const GARNER = ${twiddle(1, garner())};

// (second - first) / p_0 mod p_1, reduced: x = first + p_0 * garner(first, second). Both reduced,
// and p_0 < p_1.
fn garner(first: u32, second: u32) -> u32 {
    var h: lane<product_bound(prime(1), 2 * prime(1))> =
        shoup(lane(second + P_1 - first), GARNER, LP_1);
    canonical(1, h);
    return u32(h);
}
#end

// NAME = the residue of NAME + ADDEND in [0, P_word), for an addend below P_word.
inline fn add_canonical(word, name, addend) {
    reduce(word, ${name}, CAP - prime(word));
    ${name} += lane(${addend});
    bound(${name}, @${name} + prime(word));
    canonical(word, ${name});
}

// Declares x_w, the words of v_w or, where `flip` is true, of its negative.
inline fn flipped() {
    for w in 0..ACC_WORDS: let x_{w} = select(v_{w}, negate_{w}(v_{w}), flip);
}

// Declares x_w, the words of v_w plus the output offset.
inline fn with_offset() {
    for w in 0..ACC_WORDS: let x_{w} = add_{w}(v_{w}, job.offset_{w});
}

// Writes word `to` of the extracted ciphertext, x_0 (and x_1), switched to Q_ks.
inline fn store_extracted() {
    trace_extracted();
#if ACC_WORDS == 1
    let switched_word = switch_to_ks(x_0);
#else
    let switched_word = switch_to_ks(x_0, x_1);
#end
    let out = group.x * ${GLWE_DIMENSION * N + PACKING}u + to;
    results[out * KS_WORDS] = switched_word.x;
#if KS_WORDS == 2
    results[out * 2u + 1u] = switched_word.y;
#end
}
