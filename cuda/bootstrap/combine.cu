// combine: small integer combinations of stored ciphertexts, optionally rescaled with rounding. Two
// kernels, since a result may replace an operand of its own job:
// compute into scratch, then scatter.
#include "constants.cuh"
#include "jobs.cuh"

// Words of a stored ciphertext: of 32 bits, or of 64 on the native torus.
constexpr int MASKS = NATIVE_TORUS ? GLWE_DIMENSION * POLYNOMIAL_SIZE : LWE_DIMENSION;
constexpr int LENGTH = MASKS + PACKING;

extern "C" __global__ void combine(const CombineArguments a) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)a.job_count * LENGTH) return;
    const LinearJob& job = a.jobs[i / LENGTH];
    if constexpr (NATIVE_TORUS) {
        ((u64*)a.results)[i] =
            combine_torus_word(job.input, a.store, LENGTH, (u32)(i % LENGTH), MASKS);
        return;
    }
    u32 word = combine_word(job.input, a.store, LENGTH, (u32)(i % LENGTH), MASKS);
    int shift = job.input.log2_modulus - job.log2_output_modulus;
    u32 half = (1u << shift) >> 1;
    a.results[i] = ((word + half) >> shift) & ((1u << job.log2_output_modulus) - 1);
}

extern "C" __global__ void combine_scatter(const CombineArguments a) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)a.job_count * LENGTH) return;
    u64 to = (u64)a.jobs[i / LENGTH].output * LENGTH + i % LENGTH;
    if constexpr (NATIVE_TORUS) {
        ((u64*)a.store)[to] = ((const u64*)a.results)[i];
    } else {
        ((u32*)a.store)[to] = a.results[i];
    }
}

EXPORT(combine, CombineArguments)
EXPORT(combine_scatter, CombineArguments)
