// combine: small integer combinations of ciphertexts of one buffer, stored in another or added to
// what is there, optionally rounded to a smaller modulus. One thread a word (on the native torus, a
// word of 64 bits), one row of workgroups a job.

#include job
#include combination

@group(0) @binding(2) var<storage, read> store: array<u32>;
@group(0) @binding(3) var<storage, read_write> results: array<u32>;

@compute @workgroup_size(THREADS)
fn combine(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let i = group.y * THREADS + t;
#if TORUS
    if (i >= ${LENGTH / 2}u) {
        return;
    }
    let job = jobs[launch.first_job + group.x];
    let at = job.output * LENGTH + 2u * i;
    var value = combination(job, i);
    if (launch.add != 0u) {
        let low = value.x + results[at];
        value = vec2<u32>(
            low, value.y + results[at + 1u] + select(0u, 1u, low < value.x));
    }
    results[at] = value.x;
    results[at + 1u] = value.y;
#else
    if (i >= LENGTH) {
        return;
    }
    let job = jobs[launch.first_job + group.x];
    let at = job.output * LENGTH + i;
    var value = combination(job, i);
    if (launch.add != 0u) {
        // Modulo 2^log2_modulus after the mask below: sums of segments are not rounded.
        value += results[at];
    }
    // round(value * to / from) half up: both are powers of two.
    let shift = job.log2_modulus - job.log2_output;
    let half = (1u << shift) >> 1u;
    results[at] = ((value + half) >> shift) & ((1u << job.log2_output) - 1u);
#end
}
