// Half transforms of a block of BLOCK = 2^LOG_BLOCK words, four words a thread, through workgroup
// memory: the first STAGES stages of a forward transform of the block, from the largest distance
// down, or those of an inverse one, back up. All of them are a row's transform, log2 C of them that
// of BLOCK / C columns.
//
// Words 4 t to 4 t + 3 are thread t's, before and after. `head` is 1 for columns and C + r for row
// r; the factor of block i of the k blocks of a stage is `roots[table + head k + i]`.
//
// An odd number of stages has ODD = 1 by itself, at the largest distance, and PAIRS of two; LEAST
// is log2 of the shortest distance.

// With gaps, so that threads at powers of two meet different banks.
var<workgroup> exchange: array<u32, BLOCK + BLOCK / 32u>;

fn gap(i: u32) -> u32 {
    return i + (i >> 5u);
}

fn write_own(x: vec4<u32>, t: u32) {
    write_four(4u * t, 1u, x);
}

fn read_own(t: u32) -> vec4<u32> {
    return read_four(4u * t, 1u);
}

// Words at i, i + d, i + 2 d and i + 3 d, for a power of two d; i has neither bit, d nor 2 d, so
// gaps add up as indices do, and a constant d makes constants of all but the first place.
fn read_four(i: u32, d: u32) -> vec4<u32> {
    let at = gap(i);
    return vec4<u32>(
        exchange[at],
        exchange[at + gap(d)],
        exchange[at + gap(2u * d)],
        exchange[at + gap(3u * d)]
    );
}

fn write_four(i: u32, d: u32, x: vec4<u32>) {
    let at = gap(i);
    exchange[at] = x.x;
    exchange[at + gap(d)] = x.y;
    exchange[at + gap(2u * d)] = x.z;
    exchange[at + gap(3u * d)] = x.w;
}

// (u + w v, u - w v)
fn forward_butterfly(u: u32, v: u32, w: vec2<u32>, p: u32) -> vec2<u32> {
    let y = times(v, w, p);
    return vec2<u32>(once(u + y, p), once(u + p - y, p));
}

// (u + v, w (u - v))
fn inverse_butterfly(u: u32, v: u32, w: vec2<u32>, p: u32) -> vec2<u32> {
    return vec2<u32>(once(u + v, p), times(u + p - v, w, p));
}

inline fn forward_stage() {
    {
        let v = read_four(t, BLOCK / 4u);
        let w = roots[table + head];
        let ac = forward_butterfly(v.x, v.z, w, p);
        let bd = forward_butterfly(v.y, v.w, w, p);
        write_four(t, BLOCK / 4u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
}

// Two stages, the second of distance 2^LOG_D; `k` is of the blocks of the first.
inline fn forward_stages(LOG_D) {
    {
        let block = t >> ${LOG_D}u;
        let i = (block << ${LOG_D + 2}u) + (t & ${(1 << LOG_D) - 1}u);
        let k = (head << ${LOG_BLOCK - 2 - LOG_D}u) + block;
        let v = read_four(i, ${1 << LOG_D}u);
        let w = roots[table + k];
        let ac = forward_butterfly(v.x, v.z, w, p);
        let bd = forward_butterfly(v.y, v.w, w, p);
        let ab = forward_butterfly(ac.x, bd.x, roots[table + 2u * k], p);
        let cd = forward_butterfly(ac.y, bd.y, roots[table + 2u * k + 1u], p);
#if LOG_D == 0
        return vec4<u32>(ab, cd);
#else
        write_four(i, ${1 << LOG_D}u, vec4<u32>(ab, cd));
        workgroupBarrier();
#end
    }
}

fn forward(x: vec4<u32>, head: u32, table: u32, p: u32, t: u32) -> vec4<u32> {
#if STAGES == 0
    return x;
#else
    // Whoever read the exchange before is done.
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
    for odd in 0..ODD: forward_stage();
    for pair in 0..PAIRS: forward_stages(LOG_BLOCK - 2 - ODD - 2 * pair);
#if LEAST > 0 || PAIRS == 0
    return read_own(t);
#end
#end
}

inline fn inverse_stages(LOG_D) {
    {
        let block = t >> ${LOG_D}u;
        let i = (block << ${LOG_D + 2}u) + (t & ${(1 << LOG_D) - 1}u);
        let k = (head << ${LOG_BLOCK - 2 - LOG_D}u) + block;
        let v = read_four(i, ${1 << LOG_D}u);
        let ab = inverse_butterfly(v.x, v.y, roots[table + 2u * k], p);
        let cd = inverse_butterfly(v.z, v.w, roots[table + 2u * k + 1u], p);
        let w = roots[table + k];
        let ac = inverse_butterfly(ab.x, cd.x, w, p);
        let bd = inverse_butterfly(ab.y, cd.y, w, p);
        write_four(i, ${1 << LOG_D}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
}

inline fn inverse_stage() {
    {
        let v = read_four(t, BLOCK / 4u);
        let w = roots[table + head];
        let ac = inverse_butterfly(v.x, v.z, w, p);
        let bd = inverse_butterfly(v.y, v.w, w, p);
        write_four(t, BLOCK / 4u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
}

// Without the factor 1 / BLOCK.
fn inverse(x: vec4<u32>, head: u32, table: u32, p: u32, t: u32) -> vec4<u32> {
#if STAGES == 0
    return x;
#else
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
    for pair in 0..PAIRS: inverse_stages(LEAST + 2 * pair);
    for odd in 0..ODD: inverse_stage();
    return read_own(t);
#end
}
