// Columns of the conjugation-invariant ring, which go in pairs. Of its W = BLOCK / C columns a
// workgroup has W / 2 of the lower half of a row, then those that they are folded with, in the
// order of `girih_ring::ColumnPairs`; a thread's four lie in one half. Twin:
// crates/ring/src/fold.rs.
//
// Records have (i, its quotient, 0, 0) more, i = psi^N: behind those of a load that is half
// transformed, behind the prime of a sum, and four behind the terms of outputs.

// Where four words of a row lie in a limb, from slot `slot` on.
fn pair_words(row: u32, slot: u32, group: u32) -> vec4<u32> {
    let half = ${BLOCK / ROWS / 2}u;
    let four = vec4<u32>(0u, 1u, 2u, 3u);
    if (slot < half) {
        return vec4<u32>(row * BLOCK + group * half + slot) + four;
    }
    var columns = vec4<u32>(BLOCK + 1u + slot - (group + 2u) * half) + four;
    // Column R would be the last.
    if (columns.w == BLOCK) {
        columns.w = BLOCK / 2u;
    }
    return vec4<u32>(row * BLOCK) + columns;
}

// The words that this thread's are folded with, given all threads' own. Columns 0 and R / 2 are
// folded with themselves, and word 0 with none: of it comes itself.
fn mirrored(x: vec4<u32>, t: u32, group: u32) -> vec4<u32> {
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
    let slot = (4u * t) & ${BLOCK / ROWS - 1}u;
    var at = vec4<u32>(BLOCK - 1u - 4u * t) - vec4<u32>(0u, 1u, 2u, 3u);
    if (group == 0u && slot == 0u) {
        at.x = (BLOCK - 4u * t) & (BLOCK - 1u);
    }
    if (group == 0u && slot == ${BLOCK / ROWS - 4}u) {
        at.w = ${BLOCK + BLOCK / ROWS - 5}u - 4u * t;
    }
    let low = vec2<u32>(exchange[gap(at.x)], exchange[gap(at.y)]);
    return vec4<u32>(low, exchange[gap(at.z)], exchange[gap(at.w)]);
}

// g_j = f_j - i f_(N-j), g_0 = f_0: before forward columns.
fn folded(f: vec4<u32>, unit: vec2<u32>, p: u32, t: u32, group: u32) -> vec4<u32> {
    let y = times_each(mirrored(f, t, group), unit, p);
    var g = once_each(f + (vec4<u32>(p) - y), p);
    if (group == 0u && t == 0u) {
        g.x = f.x;
    }
    return g;
}

// 2 f_j = g_j + i g_(N-j), 2 f_0 = 2 g_0: after inverse columns, whose factor has the 1/2.
fn unfolded(g: vec4<u32>, unit: vec2<u32>, p: u32, t: u32, group: u32) -> vec4<u32> {
    let y = times_each(mirrored(g, t, group), unit, p);
    var f = once_each(g + y, p);
    if (group == 0u && t == 0u) {
        f.x = once(2u * g.x, p);
    }
    return f;
}
