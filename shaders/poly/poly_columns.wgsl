// Inverse columns of what is half transformed, sums and base conversions, forward columns of what
// is to be half transformed; a workgroup has BLOCK / C columns of the limbs of a tile, as C rows of
// so many words. Twin: crates/cpu/src/poly/columns.rs.
//
// Records, in vectors (crates/wgpu/src/poly/column_records.rs):
//
//   tile        (steps, 0, 0, 0)
//   load        (LOAD, slot, limb, p), where it is half transformed (LOAD_HALF, ..) and
//               (N^-1 mod p, its quotient, first inverse root, 0)
//   conversion  (PLAIN or CORRECTED, slot of u, sources, 0); for each source (slot, slot of y,
//               (D/d)^-1 mod d, its quotient), (d, half of d or weight, 0, 0)
//   parts       (PARTS, pairs of terms, 0, 0); for each of four sums (p, -1/p mod 2^32, slot, 0);
//               for two terms (slot, slot, 0, 0), then of each its constants times 2^32
//   outputs     (OUTPUTS, ..) as parts, of four whole sums that are stored half transformed; for
//               each (p, -1/p mod 2^32, limb, first root)
//   sum         (SUM or KEEP, slot, vectors of terms, stores), (p, -1/p mod 2^32, first root, slot
//               of its part + 1, 0 without); for two terms (slot, constant times 2^32, slot,
//               constant times 2^32); for each store (half transformed, limb, 0, 0)
//
// A conversion is a sum whose terms are the y of its sources and u (`girih_ring::BaseConversion`).
// What four sums take from the same conversions is computed at once, so that each of these slots,
// which are memory, is read once for four.
//
// With INVARIANT all primes are of the conjugation-invariant ring (`column_pairs.wgsl`): columns
// are unfolded after the inverse transform and folded before the forward one.
#include memory
#include modular
#include half_transform
#include slots
#if INVARIANT
#include column_pairs
#end

@compute @workgroup_size(THREADS)
fn poly_columns(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    first_limb = launch.first_limb + group.z * launch.limbs;
    var at = places[launch.first_tile + group.y].x;
    let steps = records[at].x;
    at += 1u;
    // The first of this thread's words in a limb.
    let row = (4u * t) >> ${LOG_BLOCK - LOG_ROWS}u;
    let column = (4u * t) & ${BLOCK / ROWS - 1}u;
#if INVARIANT
    let word = pair_words(row, column, group.x);
#else
    let word = row * BLOCK + group.x * ${BLOCK / ROWS}u + column;
#end
    for (var i = 0u; i < steps; i++) {
        let record = records[at];
        at += 1u;
        if (record.x <= LOAD_HALF) {
            var x = load_words(limb(record.z), word);
            if (record.x == LOAD_HALF) {
                let factor = records[at];
                at += 1u;
                x = inverse(x, 1u, factor.z, record.w, t);
                x = times_each(x, factor.xy, record.w);
#if INVARIANT
                x = unfolded(x, records[at].xy, record.w, t, group.x);
                at += 1u;
#end
            }
            fill_slot(record.y, x);
            continue;
        }
        if (record.x <= CORRECTED) {
            var u = vec4<u32>(select(0u, 1u << 18u, record.x == CORRECTED));
            for (var j = 0u; j < record.z; j++) {
                let source = records[at];
                let prime = records[at + 1u];
                at += 2u;
                let_slot(x, source.x);
                let y = times_each(x, source.zw, prime.x);
                fill_slot(source.y, y);
                if (record.x == CORRECTED) {
                    u += vec4<u32>(
                        mul_high(y.x, prime.y),
                        mul_high(y.y, prime.y),
                        mul_high(y.z, prime.y),
                        mul_high(y.w, prime.y)
                    );
                } else {
                    u += select(vec4<u32>(0u), vec4<u32>(1u), y > vec4<u32>(prime.y));
                }
            }
            if (record.x == CORRECTED) {
                u = u >> vec4<u32>(19u);
            }
            fill_slot(record.y, u);
            continue;
        }
        if (record.x >= PARTS) {
            let primes = array(records[at], records[at + 1u], records[at + 2u], records[at + 3u]);
            at += 4u;
            var a = sums_of(0u);
            var b = a;
            var c = a;
            var d = a;
            for (var j = 0u; j < record.y; j++) {
                let_slot(x, records[at].x);
                let_slot(y, records[at].y);
                let v = records[at + 1u];
                let w = records[at + 2u];
                at += 3u;
                a = sums_with_both(a, x, v.x, y, w.x, primes[0].x);
                b = sums_with_both(b, x, v.y, y, w.y, primes[1].x);
                c = sums_with_both(c, x, v.z, y, w.z, primes[2].x);
                d = sums_with_both(d, x, v.w, y, w.w, primes[3].x);
            }
            let sums = array(
                sums_reduced(a, primes[0].x, primes[0].y),
                sums_reduced(b, primes[1].x, primes[1].y),
                sums_reduced(c, primes[2].x, primes[2].y),
                sums_reduced(d, primes[3].x, primes[3].y)
            );
            if (record.x == PARTS) {
                for k in 0..4: fill_slot(primes[${k}].z, sums[${k}]);
                continue;
            }
            for k in 0..4 {
            {
                let prime = primes[${k}];
#if INVARIANT
                let x = folded(sums[${k}], records[at].xy, prime.x, t, group.x);
                at += 1u;
                let y = forward(x, 1u, prime.w, prime.x, t);
#else
                let y = forward(sums[${k}], 1u, prime.w, prime.x, t);
#end
                store_words(limb(prime.z), word, y);
            }
            }
            continue;
        }
        let prime = records[at];
        at += 1u;
#if INVARIANT
        let unit = records[at].xy;
        at += 1u;
#end
        var sums = sums_of(0u);
        for (var j = 0u; j < record.z; j++) {
            let terms = records[at];
            at += 1u;
            let before = sums;
            let_slot(x, terms.x);
            let v = terms.y;
            let_slot(y, terms.z);
            sums = sums_with_both(before, x, v, y, terms.w, prime.x);
        }
        var x = sums_reduced(sums, prime.x, prime.y);
        if (prime.w != 0u) {
            let rest = x;
            let_slot(part, prime.w - 1u);
            x = once_each(rest + part, prime.x);
        }
        if (record.x == KEEP) {
            fill_slot(record.y, x);
        }
        for (var j = 0u; j < record.w; j++) {
            let store = records[at];
            at += 1u;
            var y = x;
            if (store.x != 0u) {
#if INVARIANT
                y = folded(x, unit, prime.x, t, group.x);
                y = forward(y, 1u, prime.z, prime.x, t);
#else
                y = forward(x, 1u, prime.z, prime.x, t);
#end
            }
            store_words(limb(store.y), word, y);
        }
    }
}
