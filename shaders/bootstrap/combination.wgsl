#if TORUS
// Word `i` of a job's combination as (low, high) modulo 2^64: sum of weight * word, plus the
// constant, in units of 2^32, in bodies. Ciphertexts have ${LENGTH / 2} such words, all but
// ${PACKING} the mask.
fn combination(job: Job, i: u32) -> vec2<u32> {
    var low = 0u;
    var high = select(0u, job.constant, i >= ${LENGTH / 2 - PACKING}u);
    // An unused operand has weight 0 and index 0, which every store that holds a result has.
    for (var o = 0u; o < 4u; o++) {
        let weight = u32(job.weights[o]);
        if (weight != 0u) {
            let at = job.operands[o] * LENGTH + 2u * i;
            let word = store[at];
            // weight * word as 64 bits: the weight's upper word is its sign.
            let product = weight * word;
            low += product;
            high += mul_upper(weight, word) - select(0u, word, job.weights[o] < 0)
                + weight * store[at + 1u] + select(0u, 1u, low < product);
        }
    }
    return vec2<u32>(low, high);
}

// The upper word of a product, from 16-bit halves.
fn mul_upper(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let cross = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let middle = (a & 0xffffu) * (b >> 16u) + (cross & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (cross >> 16u) + (middle >> 16u);
}
#else
// Word `i` of a job's combination, reduced modulo 2^log2_modulus: sum of weight * word, plus the
// constant in bodies. Ciphertexts have ${LENGTH} words, ${LWE_DIMENSION} of them the mask.
fn combination(job: Job, i: u32) -> u32 {
    var sum = select(0u, job.constant, i >= LWE_DIMENSION);
    // An unused operand has weight 0 and index 0, which every store that holds a result has.
    sum += u32(job.weights.x) * store[job.operands.x * LENGTH + i];
    sum += u32(job.weights.y) * store[job.operands.y * LENGTH + i];
    if (job.weights.z != 0 || job.weights.w != 0) {
        sum += u32(job.weights.z) * store[job.operands.z * LENGTH + i];
        sum += u32(job.weights.w) * store[job.operands.w * LENGTH + i];
    }
    return sum & ((1u << job.log2_modulus) - 1u);
}
#end
