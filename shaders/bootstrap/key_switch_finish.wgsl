// key_switch_finish: adds up the parts of key-switching sums, then ends the key switch. One thread
// a word, one row of workgroups a ciphertext.

#include key_switched

// Adds part `part + u`; all loads of a call stand before its sums.
#def add_parts(count)
#for u in 0..count
        let at_${u} = partial_at(part + ${u}u, group.x, word);
        let low_${u} = partial[at_${u}];
#if KS_WORDS == 2
        let high_${u} = partial[at_${u} + 1u];
#end
#end
#for u in 0..count
        sum_low += low_${u};
#if KS_WORDS == 2
        sum_high += high_${u} + select(0u, 1u, sum_low < low_${u});
#end
#end
#end

@compute @workgroup_size(${THREADS})
fn key_switch_finish(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let word = group.y * ${THREADS}u + t;
    if (word >= ${LENGTH}u) {
        return;
    }
    var sum_low = 0u;
    var sum_high = 0u;
    var part = 0u;
    for (; part + 7u < launch.parts; part += 8u) {
#call add_parts(8)
    }
    for (; part < launch.parts; part++) {
#call add_parts(1)
    }
    switch_to_output(group.x, word, sum_low, sum_high);
}
