// key_switch_finish: adds up the parts of key-switching sums, then ends the key switch. One thread
// a word, one row of workgroups a ciphertext.

#include key_switched

// Adds `count` parts from `part` on; all loads stand before the sums.
inline fn add_parts(count) {
    for u in 0..count {
        let at_{u} = partial_at(part + ${u}u, group.x, word);
        let low_{u} = partial[at_{u}];
        for high in 1..KS_WORDS: let high_{u} = partial[at_{u} + 1u];
    }
    for u in 0..count {
        sum_low += low_{u};
        for high in 1..KS_WORDS:
            sum_high += high_{u} + select(0u, 1u, sum_low < low_{u});
    }
}

@compute @workgroup_size(THREADS)
fn key_switch_finish(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let word = group.y * THREADS + t;
    if (word >= LENGTH) {
        return;
    }
    var sum_low = 0u;
    var sum_high = 0u;
    var part = 0u;
    for (; part + 7u < launch.parts; part += 8u) {
        add_parts(8);
    }
    for (; part < launch.parts; part++) {
        add_parts(1);
    }
    switch_to_output(group.x, word, sum_low, sum_high);
}
