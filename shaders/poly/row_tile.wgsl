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
// An operand is two words: its kind, log2 of the run and g; and its slot or limb.
#include memory
#include modular
#if TRANSFORMS
#include half_transform
#end

const FACTOR = 1u << LOG2_FACTOR;

var<private> slots: array<vec4<u32>, SLOTS>;

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
        return slots[number];
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

// What all steps of a tile know: its prime, the row and the thread.
struct Tile {
    p: u32,
    n: u32,
    // 2^64 mod p.
    square: u32,
    // First root of the prime.
    table: u32,
    row: u32,
    t: u32,
    // Whether these words lie in the second half of a limb.
    late: bool,
}

// A load.
fn load(tile: Tile, record: vec4<u32>) {
    var x = streamed(record.z, record.w, tile.row, tile.t);
#if TRANSFORMS
    if (record.x == LOAD_HALF) {
        x = forward(x, ROWS + tile.row, tile.table, tile.p, tile.t);
    }
#end
    slots[record.y] = x;
}

// What the two sums behind it begin with.
struct Products {
    first: Sums,
    second: Sums,
}

fn products(tile: Tile, begin: u32, count: u32) -> Products {
    var sums = Products(sums_of(0u), sums_of(0u));
    for (var j = 0u; j < count; j++) {
        let term = records[begin + j];
        // All that lies in memory is asked for before any of it is waited for.
        let word = tile.row * BLOCK + 4u * tile.t;
        let a = load_words(limb(term.z), word);
        let b = load_words(limb(term.w), word);
        var x: vec4<u32>;
        if ((term.x & 3u) == OF_SLOT) {
            x = slots[term.y];
        } else {
            x = load_words(limb(term.y), word);
#if TRANSFORMS
            if ((term.x & 3u) == OF_HALF) {
                x = forward(x, ROWS + tile.row, tile.table, tile.p, tile.t);
            }
#end
            if (term.x > 3u) {
                slots[(term.x >> LOG2_KEPT) - 1u] = x;
            }
        }
        sums.first = sums_with(sums.first, x, a, tile.p);
        sums.second = sums_with(sums.second, x, b, tile.p);
    }
    return sums;
}

// Adds the terms of a sum; `at` goes behind them.
fn with_terms(tile: Tile, begun: Sums, count: u32, at: ptr<function, u32>) -> Sums {
    var sums = begun;
    for (var j = 0u; j < count; j++) {
        let term = records[*at];
        *at += 1u;
        var a = operand(term.x, term.y, tile.row, tile.t);
        var factor = 1u;
        if ((term.x & FACTOR) != 0u) {
            let factors = records[*at];
            *at += 1u;
            factor = select(factors.x, factors.y, tile.late);
            if (term.z != 0u) {
                a = montgomery_product(a, vec4<u32>(factor), tile.p, tile.n);
            }
        }
        var b = vec4<u32>(factor);
        if (term.z != 0u) {
            b = operand(term.z, term.w, tile.row, tile.t);
        }
        sums = sums_with(sums, a, b, tile.p);
    }
    return sums;
}

// Stores a sum, half transformed where the record says so.
fn store(tile: Tile, x: vec4<u32>, record: vec4<u32>) {
    var row = tile.row;
    var y = x;
#if TRANSFORMS
    if (record.z != 1u) {
        row = source_row(record.w, tile.row).x;
        y = permuted(x, record.z, source_row(record.z, row).y, tile.t);
    }
    if (record.x != 0u) {
        y = inverse(y, ROWS + row, tile.table + ROWS * BLOCK, tile.p, tile.t);
    }
#end
    store_words(limb(record.y), row * BLOCK + 4u * tile.t, y);
}

fn run_tile(group: vec3<u32>, t: u32) {
    first_limb = launch.first_limb + group.z * launch.limbs;
    let r = group.x;
    var at = places[launch.first_tile + group.y].x;
    let head = records[at];
#if ROWS > 1
    let late = r >= ROWS / 2u;
#else
    let late = t >= THREADS / 2u;
#end
    let tile = Tile(head.y, head.z, head.w, records[at + 1u].x, r, t, late);
    at += 2u;
    var begun = Products(sums_of(0u), sums_of(0u));
    for (var i = 0u; i < head.x; i++) {
        let record = records[at];
        at += 1u;
        if (record.x == PRODUCTS) {
            begun = products(tile, at, record.y);
            at += record.y;
            continue;
        }
        if (record.x < PRODUCTS) {
            load(tile, record);
            continue;
        }
        let constants = records[at];
        at += 1u;
        var sums = sums_of(select(constants.x, constants.y, late));
        if (constants.z == 1u) {
            sums = begun.first;
        }
        if (constants.z == 2u) {
            sums = begun.second;
        }
        sums = with_terms(tile, sums, record.z, &at);
        let x = montgomery_product(
            sums_reduced(sums, tile.p, tile.n), vec4<u32>(tile.square), tile.p, tile.n);
        if (record.x == KEEP) {
            slots[record.y] = x;
        }
        for (var j = 0u; j < record.w; j++) {
            store(tile, x, records[at]);
            at += 1u;
        }
    }
}
