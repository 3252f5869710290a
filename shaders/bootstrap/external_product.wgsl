// The products of one word: transformed digits f_{row} times both GGSW ciphertexts, times their
// monomials, summed.

// Everything is unrolled (ROLLED = 0), or columns are counted by loops (1), or rows too (2): a
// large k + r unrolled outgrows instruction caches and the patience of compilers.

// Reduces transformed digits where not all ROWS products of theirs fit one sum, and keeps their
// bound in F.
#def fit_products(w, name, first, count)
#set p prime(w)
#for row in first..first + count, j in 0..ITEMS: #update F max(F, @${name}_${row}_${j})
#if !fits(p, ROWS, F)
#for row in first..first + count, j in 0..ITEMS: #reduce ${w} ${name}_${row}_${j} least(p)
#update F least(p)
#end
#end

// Declares TARGET as the residue of signed_TARGET, in [-half, half], and traces that. A multiple of
// p makes it positive where words are unsigned.
#def digit_residue(word, level, column, item, target, half)
#if SIGNED
var ${target} = signed_${target};
#bound ${target} half + 1
#else
#set times (half + prime(word) - 1) / prime(word)
var ${target} = u32(signed_${target}) + ${times}u * P_${word};
#bound ${target} times * prime(word) + half + 1
#end
#if TRACE
if (traced) {
    scratch[${TRACE_DIGITS + (level * COLUMNS + column) * N + item * THREADS}u
        + ${COLUMN_AT} * ${N}u + t] = u32(signed_${target});
}
#end
#end

// Declares f_{row}_{item}: every digit of the accumulator, transformed modulo P_w.
#def transformed_digits(w)
#if ROLLED
#if TRACE
        // Columns have their numbers here; only loops start at another.
        let column = 0u;
#end
#for c in 0..COLUMNS, j in 0..ITEMS, a in 0..ACC_WORDS
        let acc_${a}_${c}_${j} = accumulator_${a}[${c * ITEMS + j}];
#end
#end
#for g in 0..(ROWS + STAGED - 1) / STAGED
#set first g * STAGED
#set count min(STAGED, ROWS - first)
#for s in 0..count, j in 0..ITEMS
#call decompose(${w}, ${(first + s) / COLUMNS}, ${(first + s) % COLUMNS}, ${j}, f_${first + s}_${j})
#end
#if g > 0 && PASSES > 1
        workgroupBarrier();
#end
#call forward_transform(${w}, f, ${first}, ${count})
#call fit_products(${w}, f, ${first}, ${count})
#end
#if TRACE
        if (traced) {
#for row in 0..ROWS, j in 0..ITEMS
            scratch[${TRACE_TRANSFORMED + (w * ROWS + row) * N}u + ${WORD_AT} * ${ROWS * N}u
                + index_${PASSES - 1} + ${item_index(j)}u] = residue(f_${row}_${j}, LP_${w});
#end
        }
#end
#end

// The same into the array digits, [row][item]; `column` counts accumulator polynomials,
// STAGED at a time.
#def transformed_digits_rolled(w)
        for (var column = 0u; column < ${COLUMNS}u; column += ${STAGED}u) {
#for s in 0..STAGED, j in 0..ITEMS, a in 0..ACC_WORDS
            let acc_${a}_${s}_${j} = accumulator_${a}[(column + ${s}u) * ${ITEMS}u + ${j}u];
#end
#for level in 0..LEVELS
            {
#for s in 0..STAGED, j in 0..ITEMS: #call decompose(${w}, ${level}, ${s}, ${j}, f_${s}_${j})
            // The transform before has been read by all.
            workgroupBarrier();
#call forward_transform(${w}, f, 0, ${STAGED})
#call fit_products(${w}, f, 0, ${STAGED})
#for s in 0..STAGED, j in 0..ITEMS
            digits[(column + ${level * COLUMNS + s}u) * ${ITEMS}u + ${j}u] = f_${s}_${j};
#if TRACE
            if (traced) {
                scratch[${TRACE_TRANSFORMED + (w * ROWS + level * COLUMNS + s) * N}u
                    + column * ${N}u + index_${PASSES - 1} + ${item_index(j)}u] =
                    residue(f_${s}_${j}, LP_${w});
            }
#end
#end
            }
#end
        }
#end

// Products, monomials, inverse transforms and the update of the accumulator. F bounds the
// transformed digits.
#def products(w, F)
#set p prime(w)
#set CHUNK chunk_rows(p, ROWS, F)
#for g in 0..(COLUMNS + STAGED - 1) / STAGED
#set first g * STAGED
#set count min(STAGED, COLUMNS - first)
        {
        let key_at = key_base;
#call column_products(${w}, ${first}, ${count}, ${CHUNK}, ${F})
#if g > 0 && PASSES > 1
        workgroupBarrier();
#end
#call inverse_transform(${w}, y, ${first}, ${count})
#for c in first..first + count, j in 0..ITEMS
#if LOOPED
#call accumulate_word(${c}, ${j})
#elif w < WORDS - 1
        delta_${w}_${c}_${j} = y_${c}_${j};
#bound delta_${w}_${c}_${j} @y_${c}_${j}
#else
#call accumulate(${c}, ${j})
#end
#end
        }
#end
#end

// The same with a loop over columns; acc and delta go through their arrays.
#def products_rolled(w, F)
#set p prime(w)
#set CHUNK chunk_rows(p, ROWS, F)
        for (var column = 0u; column < ${COLUMNS}u; column += ${STAGED}u) {
        let key_at = key_base + column * ${ITEMS / 4 * ROWS * GGSW * THREADS}u;
#call column_products(${w}, 0, ${STAGED}, ${CHUNK}, ${F})
        // The transform before has been read by all.
        workgroupBarrier();
#call inverse_transform(${w}, y, 0, ${STAGED})
#for s in 0..STAGED, j in 0..ITEMS
        {
            let place = (column + ${s}u) * ${ITEMS}u + ${j}u;
#if w < WORDS - 1
            deltas[place + ${w * COLUMNS * ITEMS}u] = y_${s}_${j};
#bound delta_${w}_${s}_${j} @y_${s}_${j}
#else
#for b in 0..WORDS - 1: var delta_${b}_${s}_${j} = deltas[place + ${b * COLUMNS * ITEMS}u];
            #for a in 0..ACC_WORDS: var acc_${a}_${s}_${j} = accumulator_${a}[place];
#call accumulate(${s}, ${j})
            #for a in 0..ACC_WORDS: accumulator_${a}[place] = acc_${a}_${s}_${j};
#end
        }
#end
        }
#end

// Declares y_{c}_{item}, columns c of the products times their monomials, `count` of them; a loop's
// first column is in `key_at`.
#def column_products(w, first, count, CHUNK, F)
        #for c in first..first + count, j in 0..ITEMS: var y_${c}_${j}: lane;
#for h in 0..ITEMS / 4
        {
#call quarter_monomials(${w}, ${h})
#for c in first..first + count
        {
#if ROLLED == 2
#call quarter_sums_rolled(${w}, ${c}, ${h}, ${CHUNK}, ${F})
#else
#call quarter_sums(${w}, ${c}, ${h}, ${CHUNK}, ${F})
#end
#call quarter_turned(${w}, ${c}, ${h})
        }
#end
        }
#end
#if TRACE
        if (traced) {
#for c in first..first + count, j in 0..ITEMS
            scratch[${TRACE_PRODUCTS + (w * COLUMNS + c) * N}u
                + (${WORD_AT} * ${COLUMNS}u + ${COLUMN_AT}) * ${N}u
                + index_${PASSES - 1} + ${item_index(j)}u] = residue(y_${c}_${j}, LP_${w});
#end
        }
#end
#end

// Declares start_{g}, X^e_g at this thread's first position in Montgomery form: the one monomial
// that it looks up, since neighbours find theirs in different lines of memory.
#def monomial_starts(w)
#for g in 0..GGSW
#if GROUPING == 1 && g == 1
        let start_1 = lane(pair_0.y);
#else
        let pair_${g} = roots[${ROOTS_AT}${monomial_base(w)}u
            + ((e_${g} * point) & ${2 * N - 1}u)];
        let start_${g} = lane(pair_${g}.x);
#end
#end
#end

// Declares monomial_{g}_{q}, X^e_g - 1 at items 4h .. 4h + 3 in Montgomery form. From one of a
// thread's positions to another X^e turns by a power of a root of unity of order ITEMS: from item q
// to q + 2 by its fourth root's e-th power, from q to q + 1 by (-1)^e. Where a product is made of
// 16-bit halves it takes longer than a look-up.
#def quarter_monomials(w, h)
#for g in 0..GGSW
        var turn_${g}_0 = start_${g};
#bound turn_${g}_0 least(p)
#if !INT64
#if GROUPING == 1 && g == 1
        turn_1_0 = lane(seen_0_0.y);
        var turn_1_2 = lane(seen_0_2.y);
#else
        let seen_${g}_0 = roots[${ROOTS_AT}${monomial_base(w)}u
            + ((e_${g} * (point + ${2 * THREADS * turn(4 * h)}u)) & ${2 * N - 1}u)];
        let seen_${g}_2 = roots[${ROOTS_AT}${monomial_base(w)}u
            + ((e_${g} * (point + ${2 * THREADS * turn(4 * h + 2)}u)) & ${2 * N - 1}u)];
        turn_${g}_0 = lane(seen_${g}_0.x);
        var turn_${g}_2 = lane(seen_${g}_2.x);
#end
#bound turn_${g}_2 least(p)
#else
#if h > 0
        turn_${g}_0 = shoup(turn_${g}_0, twiddle_of(roots[${ROOTS_AT}${turn_base(w)}u
            + ((e_${g} * ${turn(4 * h)}u) & ${ITEMS - 1}u)]), LP_${w});
#bound turn_${g}_0 product_bound(p, least(p))
#reduce ${w} turn_${g}_0 least(p)
#end
        var turn_${g}_2 = shoup(turn_${g}_0, twiddle_of(roots[${ROOTS_AT}${turn_base(w)}u
            + ((e_${g} * ${turn(2)}u) & ${ITEMS - 1}u)]), LP_${w});
#bound turn_${g}_2 product_bound(p, least(p))
#reduce ${w} turn_${g}_2 least(p)
#end
        let odd_${g} = (e_${g} & 1u) == 1u;
#if !LOOPED
#constant UNIT_${w} lane(${unit(w)})
#end
#for q in 0..4
#if q % 2 == 0
        var monomial_${g}_${q} = turn_${g}_${q} - UNIT_${w};
#elif SIGNED
        var monomial_${g}_${q} = select(turn_${g}_${q - 1}, -turn_${g}_${q - 1}, odd_${g})
            - UNIT_${w};
#else
        var monomial_${g}_${q} = select(turn_${g}_${q - 1}, LP_${w} - turn_${g}_${q - 1}, odd_${g})
            - UNIT_${w};
#end
#if SIGNED
#bound monomial_${g}_${q} least(p) + p / 2 + 1
#reduce ${w} monomial_${g}_${q} least(p)
#else
        monomial_${g}_${q} = min(monomial_${g}_${q}, monomial_${g}_${q} + LP_${w});
#end
#end
#end
#end

// Items 4h .. 4h + 3 of column c: declares part_{C0|C1}_{q}, CHUNK products of a digit and a key
// word a Montgomery reduction.
#def quarter_sums(w, c, h, CHUNK, F)
#for chunk in 0..(ROWS + CHUNK - 1) / CHUNK
#set from chunk * CHUNK
#set to min(ROWS, from + CHUNK)
#for row in from..to
        #for q in 0..4: let factor_${row}_${q} = factor_of(f_${row}_${4 * h + q});
#for g in 0..GGSW
        let k_${row}_${g} = key[key_at
            + ${((((w * COLUMNS + c) * (ITEMS / 4) + h) * ROWS + row) * GGSW + g) * THREADS}u];
#for q in 0..4
#if row == from
        let sum_${row}_${g}_${q} =
            sum_mul(factor_${row}_${q}, factor_of(lane(k_${row}_${g}[${q}])));
#else
        let sum_${row}_${g}_${q} = sum_mac(
            sum_${row - 1}_${g}_${q}, factor_${row}_${q}, factor_of(lane(k_${row}_${g}[${q}])));
#end
#end
#end
#end
#for g in 0..GGSW, q in 0..4
#call reduce_sum(${w}, ${chunk}, ${to - from}, ${F}, ${g}, ${q}, sum_${to - 1}_${g}_${q})
#end
#end
#end

// The same with a loop over rows.
#def quarter_sums_rolled(w, c, h, CHUNK, F)
#for chunk in 0..(ROWS + CHUNK - 1) / CHUNK
#set from chunk * CHUNK
#set to min(ROWS, from + CHUNK)
        #for g in 0..GGSW, q in 0..4: var sum_${chunk}_${g}_${q}: sum;
        for (var row = ${from}u; row < ${to}u; row++) {
#for g in 0..GGSW
            let k_${g} = key[key_at + row * ${GGSW * THREADS}u
                + ${(((w * COLUMNS + c) * (ITEMS / 4) + h) * ROWS * GGSW + g) * THREADS}u];
#end
#for q in 0..4
            let f_${q} = factor_of(digits[row * ${ITEMS}u + ${4 * h + q}u]);
#for g in 0..GGSW
            sum_${chunk}_${g}_${q} =
                sum_mac(sum_${chunk}_${g}_${q}, f_${q}, factor_of(lane(k_${g}[${q}])));
#end
#end
        }
#for g in 0..GGSW, q in 0..4
#call reduce_sum(${w}, ${chunk}, ${to - from}, ${F}, ${g}, ${q}, sum_${chunk}_${g}_${q})
#end
#end
#end

// part_{g}_{q}: the Montgomery reduction of a sum of `rows` products,
// added to that of the chunks before.
#def reduce_sum(w, chunk, rows, F, g, q, sum)
#set part_bound reduced_bound(p, rows, rows * F)
#if chunk == 0
        var part_${g}_${q} = montgomery(${sum}, LP_${w}, P_NEG_INVERSE_${w});
#bound part_${g}_${q} part_bound
#else
#reduce ${w} part_${g}_${q} p
        var more_${chunk}_${g}_${q} = montgomery(${sum}, LP_${w}, P_NEG_INVERSE_${w});
#bound more_${chunk}_${g}_${q} part_bound
#reduce ${w} more_${chunk}_${g}_${q} p
        part_${g}_${q} += more_${chunk}_${g}_${q};
#bound part_${g}_${q} 2 * p
#end
#end

// y = the sum of (X^e_g - 1) * part_g over the GGSW ciphertexts g, e_1 = -e_0 for ternary secrets:
// with one reduction, or as few as sums of large primes take.
#def quarter_turned(w, c, h)
#set MOST chunk_rows(p, GGSW, least(p))
#for q in 0..4
#for chunk in 0..(GGSW + MOST - 1) / MOST
#set from chunk * MOST
#set to min(GGSW, from + MOST)
#set total 0
#for g in from..to
#reduce ${w} part_${g}_${q} sum_limit(p, to - from)
#update total total + @part_${g}_${q}
#if g == from
        let product_${g}_${q} =
            sum_mul(factor_of(part_${g}_${q}), factor_of(monomial_${g}_${q}));
#else
        let product_${g}_${q} = sum_mac(
            product_${g - 1}_${q}, factor_of(part_${g}_${q}), factor_of(monomial_${g}_${q}));
#end
#end
#if chunk == 0
        y_${c}_${4 * h + q} = montgomery(product_${to - 1}_${q}, LP_${w}, P_NEG_INVERSE_${w});
#bound y_${c}_${4 * h + q} reduced_bound(p, to - from, total)
#else
#reduce ${w} y_${c}_${4 * h + q} p
        var rest_${chunk}_${q} =
            montgomery(product_${to - 1}_${q}, LP_${w}, P_NEG_INVERSE_${w});
#bound rest_${chunk}_${q} reduced_bound(p, to - from, total)
#reduce ${w} rest_${chunk}_${q} p
        y_${c}_${4 * h + q} += rest_${chunk}_${q};
#bound y_${c}_${4 * h + q} 2 * p
#end
#end
#end
#end
