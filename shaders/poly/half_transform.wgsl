// Half transforms of a block of BLOCK = 2^LOG_BLOCK words, four words a thread, through workgroup
// memory: the first STAGES stages of a forward transform of the block, from the largest distance
// down, or those of an inverse one, back up. All of them are a row's transform, log2 C of them that
// of BLOCK / C columns.
//
// Words 4 t to 4 t + 3 are thread t's, before and after. `head` is 1 for columns and C + r for row
// r; the factor of block i of the k blocks of a stage is `roots[table + head k + i]`.
#set ODD STAGES % 2
#set PAIRS STAGES / 2
// log2 of the shortest distance.
#set LEAST LOG_BLOCK - STAGES

// With gaps, so that threads at powers of two meet different banks.
var<workgroup> exchange: array<u32, ${BLOCK + BLOCK / 32}>;

fn gap(i: u32) -> u32 {
    return i + (i >> 5u);
}

fn write_own(x: vec4<u32>, t: u32) {
    exchange[gap(4u * t)] = x.x;
    exchange[gap(4u * t + 1u)] = x.y;
    exchange[gap(4u * t + 2u)] = x.z;
    exchange[gap(4u * t + 3u)] = x.w;
}

fn read_own(t: u32) -> vec4<u32> {
    return read_four(4u * t, 1u);
}

fn read_four(i: u32, d: u32) -> vec4<u32> {
    return vec4<u32>(
        exchange[gap(i)],
        exchange[gap(i + d)],
        exchange[gap(i + 2u * d)],
        exchange[gap(i + 3u * d)]
    );
}

fn write_four(i: u32, d: u32, x: vec4<u32>) {
    exchange[gap(i)] = x.x;
    exchange[gap(i + d)] = x.y;
    exchange[gap(i + 2u * d)] = x.z;
    exchange[gap(i + 3u * d)] = x.w;
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

fn forward(x: vec4<u32>, head: u32, table: u32, p: u32, t: u32) -> vec4<u32> {
#if STAGES == 0
    return x;
#else
    // Whoever read the exchange before is done.
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
#if ODD
    {
        let v = read_four(t, ${BLOCK / 4}u);
        let w = roots[table + head];
        let ac = forward_butterfly(v.x, v.z, w, p);
        let bd = forward_butterfly(v.y, v.w, w, p);
        write_four(t, ${BLOCK / 4}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
#end
#if PAIRS > 0
    for (var pair = 0u; pair < ${PAIRS}u; pair++) {
        // The distance of the second stage of the two, and the blocks of the first.
        let log_d = ${LOG_BLOCK - 2 - ODD}u - 2u * pair;
        let d = 1u << log_d;
        let block = t >> log_d;
        let i = (block << (log_d + 2u)) + (t & (d - 1u));
        let k = (head << (${LOG_BLOCK - 2}u - log_d)) + block;
        let v = read_four(i, d);
        let w = roots[table + k];
        let ac = forward_butterfly(v.x, v.z, w, p);
        let bd = forward_butterfly(v.y, v.w, w, p);
        let ab = forward_butterfly(ac.x, bd.x, roots[table + 2u * k], p);
        let cd = forward_butterfly(ac.y, bd.y, roots[table + 2u * k + 1u], p);
        let y = vec4<u32>(ab, cd);
#if LEAST == 0
        if (log_d == 0u) {
            return y;
        }
#end
        write_four(i, d, y);
        workgroupBarrier();
    }
#end
    return read_own(t);
#end
}

// Without the factor 1 / BLOCK.
fn inverse(x: vec4<u32>, head: u32, table: u32, p: u32, t: u32) -> vec4<u32> {
#if STAGES == 0
    return x;
#else
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
#if PAIRS > 0
    for (var pair = 0u; pair < ${PAIRS}u; pair++) {
        let log_d = ${LEAST}u + 2u * pair;
        let d = 1u << log_d;
        let block = t >> log_d;
        let i = (block << (log_d + 2u)) + (t & (d - 1u));
        let k = (head << (${LOG_BLOCK - 2}u - log_d)) + block;
        let v = read_four(i, d);
        let ab = inverse_butterfly(v.x, v.y, roots[table + 2u * k], p);
        let cd = inverse_butterfly(v.z, v.w, roots[table + 2u * k + 1u], p);
        let w = roots[table + k];
        let ac = inverse_butterfly(ab.x, cd.x, w, p);
        let bd = inverse_butterfly(ab.y, cd.y, w, p);
        write_four(i, d, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
#end
#if ODD
    {
        let v = read_four(t, ${BLOCK / 4}u);
        let w = roots[table + head];
        let ac = inverse_butterfly(v.x, v.z, w, p);
        let bd = inverse_butterfly(v.y, v.w, w, p);
        write_four(t, ${BLOCK / 4}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
#end
    return read_own(t);
#end
}
