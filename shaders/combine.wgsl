// combine: small integer combinations of stored ciphertexts, optionally rounded to a smaller modulus.
// One thread a word, one row of workgroups a job. A job may overwrite its own operand: each thread reads and writes
// one word index only.

#include job
#include combination

@group(0) @binding(0) var<uniform> launch: Launch;
@group(0) @binding(1) var<storage, read_write> store: array<u32>;
@group(0) @binding(2) var<storage, read> jobs: array<Job>;

@compute @workgroup_size(${THREADS})
fn combine(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let i = group.y * ${THREADS}u + t;
    if (i >= ${LENGTH}u) {
        return;
    }
    let job = jobs[launch.first_job + group.x];
    let value = combination(job, i);
    // round(value * to / from) half up: both are powers of two.
    let shift = job.log2_modulus - job.log2_output;
    let half = (1u << shift) >> 1u;
    store[job.output * ${LENGTH}u + i] = ((value + half) >> shift) & ((1u << job.log2_output) - 1u);
}
