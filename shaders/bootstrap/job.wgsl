// What one bootstrapping is asked to do. Field for field the struct `GpuJob` of crates/wgpu.
struct Job {
    operands: vec4<u32>,  // indices of stored ciphertexts
    weights: vec4<i32>,   // their weights; 0 where unused
    constant: u32,        // added to every body
    log2_modulus: u32,    // of the combination
    table: u32,           // test polynomial of slot 0
    table_stride: u32,    // slot j uses table + j * table_stride
    offset_0: u32,        // added to bodies at extraction: modulo Q, or modulo each prime of Q
    offset_1: u32,
    log2_output: u32,     // of the result's modulus
    output: u32,          // where the result goes
    second_offset_0: u32, // a second result (native torus): as offset_0 and offset_1,
    second_offset_1: u32,
    second_coefficient: u32, // its coefficient, or 0 where there is none,
    second_output: u32,   // and where it goes
}

// What one dispatch does. Field for field the struct `GpuLaunch` of crates/wgpu.
struct Launch {
    // This dispatch does
    // [first_step, last_step): LWE indices (blind_rotate) or table indices (key_switch).
    first_step: u32,
    last_step: u32,
    first_block: u32,     // the index that its key's buffer starts with
    trace_step: u32,      // the step whose insides are written down (traced kernels only)
    first_job: u32,       // index of workgroup 0's job
    jobs: u32,
    // Parts of a ciphertext's key-switching sums; 0: a workgroup has all of them.
    parts: u32,
    share: u32,           // indices of a part
    add: u32,             // 1: results are added to what is there
    unused_0: u32,
    unused_1: u32,
    unused_2: u32,
}

@group(0) @binding(0) var<uniform> launch: Launch;
@group(0) @binding(1) var<storage, read> jobs: array<Job>;
