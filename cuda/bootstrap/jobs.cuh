// Arguments of the kernels; the same layouts as `#[repr(C)]` structs in
// crates/cuda/src/bootstrap/arguments.rs.
#pragma once
#include "constants.cuh"
#include "platform.cuh"

struct Operand {
    u32 ciphertext;
    i32 weight;
};

struct Combination {
    Operand operands[4];
    u32 constant;
    u32 log2_modulus;
};

struct BootstrapJob {
    Combination input;
    u32 table;
    u32 table_stride;
    u32 log2_output_modulus;
    u32 output;
    u64 output_offset;
    // A second result (native torus): its coefficient, or 0 where there is none.
    u32 second_coefficient;
    u32 second_output;
    u64 second_offset;
};

struct LinearJob {
    Combination input;
    u32 log2_output_modulus;
    u32 output;
};

struct BlindRotateArguments {
    const u32* store;         // ciphertexts of n + r words
    const BootstrapJob* jobs; // job_count of them
    const void* key;    // transform domain, in reading order (crates/cuda/src/bootstrap/keys.rs)
    const void* roots;  // NTT: Shoup pairs [word][forward, inverse][N]; FFT: complex [N/2]
    const void* powers; // NTT: psi^i * 2^32 mod p [word][2N]; FFT: exp(i pi e / N) [2N]
    const void* tables; // test polynomials of N coefficients: u32, or u64 where Q has two words
    u64* switched;      // [job][kN + r] modulo Q_ks; native torus: exponents, u16 [job][n + r]
    u64* dump;          // where a trace writes (trace builds only)
    u32 job_count;
    u32 steps;      // steps to run, n outside traces
    u32 dump_stage; // a DUMP_ constant
    u32 dump_step;
};

struct KeySwitchArguments {
    const BootstrapJob* jobs;
    const u64* switched; // [job][kN + r] modulo Q_ks
    const void* key;     // [kN][digit][value - 1][row stride]
    u32* store;          // results
    u64* dump;           // [n + r] of job 0 before the last switch, or null
    void* partial;       // sums [job][n + r], zero before and after
    u32 job_count;
    u32 parts; // blocks among which the indices of a ciphertext or tile are divided
};

struct TorusKeySwitchArguments {
    const BootstrapJob* jobs;
    const u32* store;
    const uint4* key; // bytes of [kN][digit][KS_ROW] words as key_switch_torus reads them
    uint4* digits;    // of [job][kN][digit], likewise
    u64* sums;        // [job][KS_ROW]
    u16* exponents;   // [job][n + r]
    u64* dump;        // [n + r] of job 0 before the rounding, or null
    u32 job_count;
    u32 splits; // parts of the product's steps, which blocks share
};

struct CombineArguments {
    const LinearJob* jobs;
    const u32* store;
    // [job][n + r]; scattered to the store afterwards, since a result may replace an operand.
    u32* results;
    u32 job_count;
    u32 padding;
};

static_assert(
    sizeof(BootstrapJob) == BOOTSTRAP_JOB_BYTES && sizeof(LinearJob) == LINEAR_JOB_BYTES &&
        sizeof(BlindRotateArguments) == BLIND_ROTATE_ARGUMENTS_BYTES &&
        sizeof(KeySwitchArguments) == KEY_SWITCH_ARGUMENTS_BYTES &&
        sizeof(TorusKeySwitchArguments) == TORUS_KEY_SWITCH_ARGUMENTS_BYTES &&
        sizeof(CombineArguments) == COMBINE_ARGUMENTS_BYTES,
    "structs as the host writes them");

// One word of a combination modulo 2^64, the constant in units of 2^32; ciphertexts of `length`
// 64-bit words.
FUNCTION u64
combine_torus_word(const Combination& c, const u32* store, u32 length, u32 position, u32 bodies) {
    u64 sum = position >= bodies ? (u64)c.constant << 32 : 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (c.operands[i].weight != 0) {
            sum += (u64)(i64)c.operands[i].weight *
                   ((const u64*)store)[(u64)c.operands[i].ciphertext * length + position];
        }
    }
    return sum;
}

// One word of a combination, modulo 2^log2_modulus; `position` is that of the word,
// bodies start at `bodies`.
FUNCTION u32
combine_word(const Combination& c, const u32* store, u32 length, u32 position, u32 bodies) {
    u32 sum = position >= bodies ? c.constant : 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (c.operands[i].weight != 0) {
            sum += (u32)c.operands[i].weight *
                   store[(u64)c.operands[i].ciphertext * length + position];
        }
    }
    return sum & ((1u << c.log2_modulus) - 1);
}
