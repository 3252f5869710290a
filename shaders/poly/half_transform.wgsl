// Half transforms of a block of BLOCK = 2^LOG_BLOCK words, four words a thread, through workgroup
// memory; of BLOCKS at once, which share barriers. Each is the first STAGES stages of a forward transform of the block, from the largest distance
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
#set GAPPED BLOCK + BLOCK / 32
var<workgroup> exchange: array<u32, ${BLOCKS * GAPPED}>;

fn gap(i: u32) -> u32 {
    return i + (i >> 5u);
}

fn write_own(x: vec4<u32>, t: u32) {
    write_four(0u, 4u * t, 1u, x);
}

// Words at i, i + d, i + 2 d and i + 3 d of a block, for a power of two d; i has neither bit, d nor
// 2 d, so gaps add up as indices do, and a constant d makes constants of all but the first place.
fn read_four(block: u32, i: u32, d: u32) -> vec4<u32> {
    let at = block * ${GAPPED}u + gap(i);
    return vec4<u32>(
        exchange[at],
        exchange[at + gap(d)],
        exchange[at + gap(2u * d)],
        exchange[at + gap(3u * d)]
    );
}

fn write_four(block: u32, i: u32, d: u32, x: vec4<u32>) {
    let at = block * ${GAPPED}u + gap(i);
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

// One of each block's: words, modulus, first root.
struct Blocks {
#for b in 0..BLOCKS
    x${b}: vec4<u32>,
    p${b}: u32,
    table${b}: u32,
#end
}

// forward_1 transforms the first block, forward_N all N = BLOCKS.
#for all in 0..2
#if all == 0 || BLOCKS > 1
#set COUNT 1 + all * (BLOCKS - 1)
fn forward_${COUNT}(blocks: Blocks, head: u32, t: u32) -> Blocks {
#if STAGES == 0
    return blocks;
#else
    var y = blocks;
    // Whoever read the exchange before is done.
    workgroupBarrier();
#for b in 0..COUNT
    write_four(${b}u, 4u * t, 1u, y.x${b});
#end
    workgroupBarrier();
#if ODD
#for b in 0..COUNT
    {
        let v = read_four(${b}u, t, ${BLOCK / 4}u);
        let w = roots[y.table${b} + head];
        let ac = forward_butterfly(v.x, v.z, w, y.p${b});
        let bd = forward_butterfly(v.y, v.w, w, y.p${b});
        write_four(${b}u, t, ${BLOCK / 4}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
    }
#end
    workgroupBarrier();
#end
#for pair in 0..PAIRS
    {
        // The distance of the second stage of the two, and the blocks of the first.
#set LOG_D LOG_BLOCK - 2 - ODD - 2 * pair
        let block = t >> ${LOG_D}u;
        let i = (block << ${LOG_D + 2}u) + (t & ${(1 << LOG_D) - 1}u);
        let k = (head << ${LOG_BLOCK - 2 - LOG_D}u) + block;
#for b in 0..COUNT
        {
            let v = read_four(${b}u, i, ${1 << LOG_D}u);
            let w = roots[y.table${b} + k];
            let ac = forward_butterfly(v.x, v.z, w, y.p${b});
            let bd = forward_butterfly(v.y, v.w, w, y.p${b});
            let ab = forward_butterfly(ac.x, bd.x, roots[y.table${b} + 2u * k], y.p${b});
            let cd = forward_butterfly(ac.y, bd.y, roots[y.table${b} + 2u * k + 1u], y.p${b});
#if LOG_D == 0
            y.x${b} = vec4<u32>(ab, cd);
#else
            write_four(${b}u, i, ${1 << LOG_D}u, vec4<u32>(ab, cd));
#end
        }
#end
#if LOG_D > 0
        workgroupBarrier();
#end
    }
#end
#if LEAST > 0 || PAIRS == 0
#for b in 0..COUNT
    y.x${b} = read_four(${b}u, 4u * t, 1u);
#end
#end
    return y;
#end
}
#end
#end

// Without the factor 1 / BLOCK.
fn inverse(x: vec4<u32>, head: u32, table: u32, p: u32, t: u32) -> vec4<u32> {
#if STAGES == 0
    return x;
#else
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
#for pair in 0..PAIRS
    {
#set LOG_D LEAST + 2 * pair
        let block = t >> ${LOG_D}u;
        let i = (block << ${LOG_D + 2}u) + (t & ${(1 << LOG_D) - 1}u);
        let k = (head << ${LOG_BLOCK - 2 - LOG_D}u) + block;
        let v = read_four(0u, i, ${1 << LOG_D}u);
        let ab = inverse_butterfly(v.x, v.y, roots[table + 2u * k], p);
        let cd = inverse_butterfly(v.z, v.w, roots[table + 2u * k + 1u], p);
        let w = roots[table + k];
        let ac = inverse_butterfly(ab.x, cd.x, w, p);
        let bd = inverse_butterfly(ab.y, cd.y, w, p);
        write_four(0u, i, ${1 << LOG_D}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
#end
#if ODD
    {
        let v = read_four(0u, t, ${BLOCK / 4}u);
        let w = roots[table + head];
        let ac = inverse_butterfly(v.x, v.z, w, p);
        let bd = inverse_butterfly(v.y, v.w, w, p);
        write_four(0u, t, ${BLOCK / 4}u, vec4<u32>(ac.x, bd.x, ac.y, bd.y));
        workgroupBarrier();
    }
#end
    return read_four(0u, 4u * t, 1u);
#end
}
