// A tile of rows, which `poly_rows` and `poly_pointwise` share: a list of loads and sums modulo one
// prime, run on one row of R = BLOCK words. What a later sum reads stays in `slots`, four words a
// thread. TRANSFORMS = 0 leaves out what only `poly_rows` has.
//
// Records, in vectors (crates/wgpu/src/poly/row_records.rs):
//
//   tile   (steps, p, -1/p mod 2^32, 2^64 mod p), (first root of the prime, 0, 0, 0)
//   load   (LOAD or LOAD_HALF, slot, operand)
//   products  (PRODUCTS, how many, 0, 0): of the two sums behind it, which begin with them. For
//          each (what both multiply, its slot or limb, the limb of the first, that of the second);
//          a limb is kept in the slot that the byte above says, less 1, unless that is 0
//   sum    (SUM or KEEP, slot, terms, stores), (constant of the first half of a limb, of the
//          second, 1 or 2 where it begins with products, 0), then terms and stores
//   term   (operand, operand); where the first has FACTOR, (factor of each half, 0, 0): times 2^32
//          where there are two operands
//   store  (half transformed, limb, g, g^-1 mod 2N)
//
// An operand is two words: its kind, log2 of the run and g, which is even for a view
// (`views.wgsl`); and its slot or limb.
#include memory
#include modular
#if TRANSFORMS
#include half_transform
#end
#include slots
#if INVARIANT
#include views
#end

const FACTOR = 1u << LOG2_FACTOR;

// The row that row `r` of the image under X -> X^g comes from, and the shift inside it.
fn source_row(g: u32, r: u32) -> vec2<u32> {
    let i = g * (2u * ((reverseBits(r) >> (31u - LOG_ROWS)) >> 1u) + 1u);
    let row = (reverseBits((i & (2u * ROWS - 1u)) >> 1u) >> (31u - LOG_ROWS)) >> 1u;
    return vec2<u32>(row, i >> (LOG_ROWS + 1u));
}

// Where word `c` of the image of a row comes from.
fn source_word(g: u32, shift: u32, c: u32) -> u32 {
    let i = g * (reverseBits(c) >> (32u - LOG_BLOCK)) + shift;
    return reverseBits(i << (32u - LOG_BLOCK));
}

// Row `r` of a limb, seen through X -> X^g and runs of equal words.
fn streamed(code: u32, number: u32, r: u32, t: u32) -> vec4<u32> {
    let place = limb(number);
    let g = code & 0x3ffffu;
    let run = (code >> LOG2_RUN) & 31u;
    if (g == 1u && run == 0u) {
        return load_words(place, r * BLOCK + 4u * t);
    }
#if INVARIANT
    if ((g & 1u) == 0u) {
        return viewed(place, g, run, r * BLOCK + 4u * t);
    }
#end
    let origin = source_row(g, r);
    var x: vec4<u32>;
    for (var j = 0u; j < 4u; j++) {
        let c = source_word(g, origin.y, 4u * t + j);
        x[j] = load_word(place, (origin.x * BLOCK + c) >> run);
    }
    return x;
}

fn operand(code: u32, number: u32, r: u32, t: u32) -> vec4<u32> {
    if ((code >> LOG2_KIND) == SLOT) {
        let_slot(x, number);
        return x;
    }
    return streamed(code, number, r, t);
}

#if TRANSFORMS
// The image of a row under X -> X^g.
fn permuted(x: vec4<u32>, g: u32, shift: u32, t: u32) -> vec4<u32> {
    workgroupBarrier();
    write_own(x, t);
    workgroupBarrier();
    var y: vec4<u32>;
    for (var j = 0u; j < 4u; j++) {
        y[j] = exchange[gap(source_word(g, shift, 4u * t + j))];
    }
    return y;
}
#end

fn run_tile(group: vec3<u32>, t: u32) {
    first_limb = launch.first_limb + group.z * launch.limbs;
    let r = group.x;
    var at = places[launch.first_tile + group.y].x;
    let tile = records[at];
    let p = tile.y;
    let n = tile.z;
    let table = records[at + 1u].x;
    at += 2u;
    // Whether these words lie in the second half of a limb.
#if ROWS > 1
    let late = r >= (ROWS / 2u);
#else
    let late = t >= (THREADS / 2u);
#end
    var first = sums_of(0u);
    var second = sums_of(0u);
    for (var i = 0u; i < tile.x; i++) {
        let record = records[at];
        at += 1u;
        if (record.x == PRODUCTS) {
            first = sums_of(0u);
            second = sums_of(0u);
            for (var j = 0u; j < record.y; j++) {
                let term = records[at];
                at += 1u;
                // All that lies in memory is asked for before any of it is waited for.
                let word = r * BLOCK + 4u * t;
                let a = load_words(limb(term.z), word);
                let b = load_words(limb(term.w), word);
                var x: vec4<u32>;
                if ((term.x & 3u) == OF_SLOT) {
                    let_slot(kept, term.y);
                    x = kept;
                } else {
                    x = load_words(limb(term.y), word);
#if TRANSFORMS
                    if ((term.x & 3u) == OF_HALF) {
                        x = forward(x, ROWS + r, table, p, t);
                    }
#end
                    if (term.x > 3u) {
                        fill_slot((term.x >> LOG2_KEPT) - 1u, x);
                    }
                }
                first = sums_with(first, x, a, p);
                second = sums_with(second, x, b, p);
            }
            continue;
        }
        if (record.x < PRODUCTS) {
            var x = streamed(record.z, record.w, r, t);
#if TRANSFORMS
            if (record.x == LOAD_HALF) {
                x = forward(x, ROWS + r, table, p, t);
            }
#end
            fill_slot(record.y, x);
            continue;
        }
        let constants = records[at];
        at += 1u;
        var sums = sums_of(select(constants.x, constants.y, late));
        if (constants.z == 1u) {
            sums = first;
        }
        if (constants.z == 2u) {
            sums = second;
        }
        for (var j = 0u; j < record.z; j++) {
            let term = records[at];
            at += 1u;
            var a = operand(term.x, term.y, r, t);
            var factor = 1u;
            if ((term.x & FACTOR) != 0u) {
                let factors = records[at];
                at += 1u;
                factor = select(factors.x, factors.y, late);
                if (term.z != 0u) {
                    a = montgomery_product(a, vec4<u32>(factor), p, n);
                }
            }
            var b = vec4<u32>(factor);
            if (term.z != 0u) {
                b = operand(term.z, term.w, r, t);
            }
            sums = sums_with(sums, a, b, p);
        }
        let x = montgomery_product(sums_reduced(sums, p, n), vec4<u32>(tile.w), p, n);
        if (record.x == KEEP) {
            fill_slot(record.y, x);
        }
        for (var j = 0u; j < record.w; j++) {
            let store = records[at];
            at += 1u;
            var row = r;
            var y = x;
#if TRANSFORMS
            if (store.z != 1u) {
                row = source_row(store.w, r).x;
                y = permuted(x, store.z, source_row(store.z, row).y, t);
            }
            if (store.x != 0u) {
                y = inverse(y, ROWS + row, table + ROWS * BLOCK, p, t);
            }
#end
            store_words(limb(store.y), row * BLOCK + 4u * t, y);
        }
    }
}
