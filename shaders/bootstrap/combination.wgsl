// Word `i` of a job's combination, reduced modulo 2^log2_modulus: sum of weight * word, plus the
// constant in bodies. Ciphertexts have ${LENGTH} words, ${LWE_DIMENSION} of them the mask.
fn combination(job: Job, i: u32) -> u32 {
    var sum = select(0u, job.constant, i >= ${LWE_DIMENSION}u);
    // An unused operand has weight 0 and index 0, which every store that holds a result has.
    sum += u32(job.weights.x) * store[job.operands.x * ${LENGTH}u + i];
    sum += u32(job.weights.y) * store[job.operands.y * ${LENGTH}u + i];
    if (job.weights.z != 0 || job.weights.w != 0) {
        sum += u32(job.weights.z) * store[job.operands.z * ${LENGTH}u + i];
        sum += u32(job.weights.w) * store[job.operands.w * ${LENGTH}u + i];
    }
    return sum & ((1u << job.log2_modulus) - 1u);
}
