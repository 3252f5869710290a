// The products of one word: transformed digits f_{row} times both GGSW ciphertexts, times their
// monomials, summed.
//
// Everything is unrolled (ROLLED = 0), or columns are counted by loops (1), or rows too (2): a
// large k + r unrolled outgrows instruction caches and the patience of compilers. STAGED
// polynomials make a group, whose transforms share their exchanges.

// Declares TARGET as the residue of signed_TARGET, in [-half, half], and traces that. A multiple of
// p makes it positive where words are unsigned.
inline fn digit_residue(word, level, column, item, target, half) {
#if SIGNED
    var ${target}: lane<half + 1> = signed_${target};
#else
    times := (half + prime(word) - 1) / prime(word)
    var ${target}: lane<times * prime(word) + half + 1> =
        u32(signed_${target}) + ${times}u * P_{word};
#end
#if TRACE
    if (traced) {
        scratch[${TRACE_DIGITS + (level * COLUMNS + column) * N + item * THREADS}u
            + ${COLUMN_AT} * N + t] = u32(signed_${target});
    }
#end
}

// Writes down registers NAME_{r}_{item} of the step that a trace is about: row r at `base` + r N,
// and further by MOVED, which loops count.
inline fn trace_rows(w, name, first, count, base, moved) {
#if TRACE
    if (traced) {
        for r in first..first + count, j in 0..ITEMS:
            scratch[${base + r * N}u + ${moved} + index_{PASSES - 1} + ${item_index(j)}u] =
                residue(${name}_{r}_{j}, LP_{w});
    }
#end
}

// Reduces a row of transformed digits where not all ROWS products of such words fit one sum.
inline fn fit_products(w, row) {
    limit := fitted(prime(w), ROWS, @f_{row})
    for j in 0..ITEMS: reduce(w, f_{row}_{j}, limit);
}

// Declares f_{row}_{item}: every digit of the accumulator, transformed modulo P_w.
inline fn transformed_digits(w) {
    // Columns have their numbers here; only loops start at another.
    for first in 0..1 if ROLLED: let column = ${first}u;
    for c in 0..COLUMNS, j in 0..ITEMS, a in 0..ACC_WORDS if ROLLED:
        let acc_{a}_{c}_{j} = accumulator_{a}[${c * ITEMS + j}];
    for first in 0..ROWS step STAGED: transformed_group(w, first, min(STAGED, ROWS - first));
    trace_rows(w, f, 0, ROWS, TRACE_TRANSFORMED + w * ROWS * N, ${WORD_AT} * (ROWS * N));
}

inline fn transformed_group(w, first, count) {
    for row in first..first + count, j in 0..ITEMS:
        decompose(w, row / COLUMNS, row % COLUMNS, j, f_{row}_{j});
    between_transforms(first);
    forward_transform(w, first, count);
    for row in first..first + count: fit_products(w, row);
}

// Behind the first group: the transform before has been read by all.
inline fn between_transforms(first) {
    for barrier in 0..1 if first > 0 && PASSES > 1: workgroupBarrier();
}

// The same into the array digits, [row][item]; `column` counts accumulator polynomials,
// STAGED at a time.
inline fn transformed_digits_rolled(w) {
    bound(digits, 1);
    for (var column = 0u; column < COLUMNS; column += STAGED) {
        for s in 0..STAGED, j in 0..ITEMS, a in 0..ACC_WORDS:
            let acc_{a}_{s}_{j} = accumulator_{a}[(column + ${s}u) * ITEMS + ${j}u];
        for level in 0..LEVELS: transformed_level(w, level);
    }
}

inline fn transformed_level(w, level) {
    {
        for s in 0..STAGED, j in 0..ITEMS: decompose(w, level, s, j, f_{s}_{j});
        // The transform before has been read by all.
        workgroupBarrier();
        forward_transform(w, 0, STAGED);
        for s in 0..STAGED: fit_products(w, s);
        for s in 0..STAGED, j in 0..ITEMS:
            digits[(column + ${level * COLUMNS + s}u) * ITEMS + ${j}u] = f_{s}_{j};
        for s in 0..STAGED, j in 0..ITEMS: may_hold(digits, f_{s}_{j});
        trace_rows(w, f, 0, STAGED, TRACE_TRANSFORMED + (w * ROWS + level * COLUMNS) * N,
            column * N);
    }
}

// Products, monomials, inverse transforms and the update of the accumulator. F bounds the
// transformed digits.
inline fn products(w, F) {
    for first in 0..COLUMNS step STAGED: products_group(w, first, min(STAGED, COLUMNS - first), F);
}

inline fn products_group(w, first, count, F) {
    {
        let key_at = key_base;
        column_products(w, first, count, F);
        between_transforms(first);
        inverse_transform(w, first, count);
        for c in first..first + count, j in 0..ITEMS: add_product(w, c, j);
    }
}

// Adds y_{c}_{j} to the accumulator, or keeps it until its last word is there.
inline fn add_product(w, c, j) {
#if LOOPED
    accumulate_word(c, j);
#elif w < WORDS - 1
    delta_{w}_{c}_{j}: lane<@y_{c}_{j}> = y_{c}_{j};
#else
    accumulate(c, j);
#end
}

// The same with a loop over columns; acc and delta go through their arrays.
inline fn products_rolled(w, F) {
    for (var column = 0u; column < COLUMNS; column += STAGED) {
        let key_at = key_base + column * ${ITEMS / 4 * ROWS * GGSW * THREADS}u;
        column_products(w, 0, STAGED, F);
        // The transform before has been read by all.
        workgroupBarrier();
        inverse_transform(w, 0, STAGED);
        for s in 0..STAGED, j in 0..ITEMS: add_product_rolled(w, s, j);
    }
}

inline fn add_product_rolled(w, s, j) {
    {
        let place = (column + ${s}u) * ITEMS + ${j}u;
#if w < WORDS - 1
        deltas[place + ${w * COLUMNS * ITEMS}u] = y_{s}_{j};
        bound(delta_{w}_{s}_{j}, @y_{s}_{j});
#else
        for b in 0..WORDS - 1: var delta_{b}_{s}_{j} = deltas[place + ${b * COLUMNS * ITEMS}u];
        for a in 0..ACC_WORDS: var acc_{a}_{s}_{j} = accumulator_{a}[place];
        accumulate(s, j);
        for a in 0..ACC_WORDS: accumulator_{a}[place] = acc_{a}_{s}_{j};
#end
    }
}

// Declares y_{c}_{item}, columns c of the products times their monomials, `count` of them; a loop's
// first column is in `key_at`.
inline fn column_products(w, first, count, F) {
    for c in first..first + count, j in 0..ITEMS: var y_{c}_{j}: lane;
    for h in 0..ITEMS / 4: quarter_products(w, first, count, h, F);
    trace_rows(w, y, first, count, TRACE_PRODUCTS + w * COLUMNS * N,
        (${WORD_AT} * COLUMNS + ${COLUMN_AT}) * N);
}

// Items 4h .. 4h + 3 of them: one sum of `per_sum` products of a digit and a key word takes one
// Montgomery reduction, and so does one of `per_turn` products by monomials.
inline fn quarter_products(w, first, count, h, F) {
    p := prime(w)
    per_sum := chunk_rows(p, ROWS, F)
    per_turn := chunk_rows(p, GGSW, least(p))
    {
        for g in 0..GGSW: monomials(w, h, g);
        for c in first..first + count: quarter_of_column(w, c, h, F);
    }
}

inline fn quarter_of_column(w, c, h, F) {
    {
        for from in 0..ROWS step per_sum: sum_products(w, c, h, from, min(ROWS, from + per_sum), F);
        for q in 0..4, from in 0..GGSW step per_turn:
            turn_and_add(w, y_{c}_{4 * h + q}, q, from, min(GGSW, from + per_turn));
    }
}

// Declares start_{g}, X^e_g at this thread's first position in Montgomery form: the one monomial
// that it looks up, since neighbours find theirs in different lines of memory.
inline fn monomial_start(w, g) {
#if GROUPING == 1 && g == 1
    // e_1 = -e_0: the other half of a pair.
    let start_1 = lane(pair_0.y);
#else
    let pair_{g} = roots[${ROOTS_AT}${monomial_base(w)}u + ((e_{g} * point) & (2u * N - 1u))];
    let start_{g} = lane(pair_{g}.x);
#end
}

// Declares monomial_{g}_{q}, X^e_g - 1 at items 4h .. 4h + 3 in Montgomery form. From one of a
// thread's positions to another X^e turns by a power of a root of unity of order ITEMS: from item q
// to q + 2 by its fourth root's e-th power, from q to q + 1 by (-1)^e. Where a product is made of
// 16-bit halves it takes longer than a look-up.
inline fn monomials(w, h, g) {
    var turn_{g}_0: lane<least(p)> = start_{g};
#if INT64
#if h > 0
    turn_{g}_0: lane<product_bound(p, least(p))> = shoup(turn_{g}_0, twiddle_of(
        roots[${ROOTS_AT}${turn_base(w)}u + ((e_{g} * ${turn(4 * h)}u) & (ITEMS - 1u))]), LP_{w});
    reduce(w, turn_{g}_0, least(p));
#end
    var turn_{g}_2: lane<product_bound(p, least(p))> = shoup(turn_{g}_0, twiddle_of(
        roots[${ROOTS_AT}${turn_base(w)}u + ((e_{g} * ${turn(2)}u) & (ITEMS - 1u))]), LP_{w});
    reduce(w, turn_{g}_2, least(p));
#elif GROUPING == 1 && g == 1
    turn_1_0 = lane(seen_0_0.y);
    var turn_1_2: lane<least(p)> = lane(seen_0_2.y);
#else
    for q in 0..4 step 2:
        let seen_{g}_{q} = roots[${ROOTS_AT}${monomial_base(w)}u
            + ((e_{g} * (point + ${2 * THREADS * turn(4 * h + q)}u)) & (2u * N - 1u))];
    turn_{g}_0 = lane(seen_{g}_0.x);
    var turn_{g}_2: lane<least(p)> = lane(seen_{g}_2.x);
#end
    let odd_{g} = (e_{g} & 1u) == 1u;
    for q in 0..4: monomial(w, g, q);
}

inline fn monomial(w, g, q) {
#if q % 2 == 0
    var monomial_{g}_{q} = turn_{g}_{q} - UNIT_{w};
#elif SIGNED
    var monomial_{g}_{q} = select(turn_{g}_{q - 1}, -turn_{g}_{q - 1}, odd_{g}) - UNIT_{w};
#else
    var monomial_{g}_{q} = select(turn_{g}_{q - 1}, LP_{w} - turn_{g}_{q - 1}, odd_{g}) - UNIT_{w};
#end
    reduce_difference(w, monomial_{g}_{q});
}

// A difference of reduced words, reduced.
inline fn reduce_difference(w, x) {
#if SIGNED
    bound(${x}, least(p) + p / 2 + 1);
    reduce(w, ${x}, least(p));
#else
    ${x} = min(${x}, ${x} + LP_{w});
#end
}

// Items 4h .. 4h + 3 of column c, rows `from` up to `to`: products of a digit and a key word in one
// sum, whose Montgomery reduction is added to part_{g}_{q}.
inline fn sum_products(w, c, h, from, to, F) {
#if ROLLED == 2
    for g in 0..GGSW, q in 0..4: var sum_{from}_{g}_{q}: sum;
    for (var row = ${from}u; row < ${to}u; row++) {
        for g in 0..GGSW:
            let k_{g} = key[key_at + row * (GGSW * THREADS)
                + ${(((w * COLUMNS + c) * (ITEMS / 4) + h) * ROWS * GGSW + g) * THREADS}u];
        for q in 0..4: add_products(h, q, from);
    }
    for g in 0..GGSW, q in 0..4: reduce_sum(w, from, to, F, g, q, sum_{from}_{g}_{q});
#else
    for row in from..to: row_products(w, c, h, row, from);
    for g in 0..GGSW, q in 0..4: reduce_sum(w, from, to, F, g, q, sum_{to - 1}_{g}_{q});
#end
}

inline fn add_products(h, q, from) {
    let f_{q} = factor_of(digits[row * ITEMS + ${4 * h + q}u]);
    for g in 0..GGSW:
        sum_{from}_{g}_{q} = sum_mac(sum_{from}_{g}_{q}, f_{q}, factor_of(lane(k_{g}[${q}])));
}

inline fn row_products(w, c, h, row, from) {
    for q in 0..4: let factor_{row}_{q} = factor_of(f_{row}_{4 * h + q});
    for g in 0..GGSW {
        let k_{row}_{g} = key[key_at
            + ${((((w * COLUMNS + c) * (ITEMS / 4) + h) * ROWS + row) * GGSW + g) * THREADS}u];
#if row == from
        for q in 0..4:
            let sum_{row}_{g}_{q} = sum_mul(factor_{row}_{q}, factor_of(lane(k_{row}_{g}[${q}])));
#else
        for q in 0..4:
            let sum_{row}_{g}_{q} = sum_mac(
                sum_{row - 1}_{g}_{q}, factor_{row}_{q}, factor_of(lane(k_{row}_{g}[${q}])));
#end
    }
}

// part_{g}_{q}: the Montgomery reduction of a sum of products of rows `from` up to `to`, added to
// that of the rows before.
inline fn reduce_sum(w, from, to, F, g, q, sum) {
    part_bound := reduced_bound(p, to - from, (to - from) * F)
#if from == 0
    var part_{g}_{q}: lane<part_bound> = montgomery(${sum}, LP_{w}, P_NEG_INVERSE_{w});
#else
    reduce(w, part_{g}_{q}, p);
    var more_{from}_{g}_{q}: lane<part_bound> =
        montgomery(${sum}, LP_{w}, P_NEG_INVERSE_{w});
    reduce(w, more_{from}_{g}_{q}, p);
    part_{g}_{q} += more_{from}_{g}_{q};
    bound(part_{g}_{q}, 2 * p);
#end
}

// Y, the sum of (X^e_g - 1) * part_g over the GGSW ciphertexts g of a step, e_1 = -e_0 for ternary
// secrets: those `from` up to `to` with one reduction, added to those before.
inline fn turn_and_add(w, Y, q, from, to) {
    for g in from..to: turned_product(w, g, q, from, to);
#if from == 0
    ${Y}: lane<reduced_bound(p, to - from, @product_{to - 1}_{q})> =
        montgomery(product_{to - 1}_{q}, LP_{w}, P_NEG_INVERSE_{w});
#else
    reduce(w, ${Y}, p);
    var rest_{from}_{q}: lane<reduced_bound(p, to - from, @product_{to - 1}_{q})> =
        montgomery(product_{to - 1}_{q}, LP_{w}, P_NEG_INVERSE_{w});
    reduce(w, rest_{from}_{q}, p);
    ${Y} += rest_{from}_{q};
    bound(${Y}, 2 * p);
#end
}

inline fn turned_product(w, g, q, from, to) {
    reduce(w, part_{g}_{q}, sum_limit(p, to - from));
#if g == from
    let product_{g}_{q}: sum<@part_{g}_{q}> =
        sum_mul(factor_of(part_{g}_{q}), factor_of(monomial_{g}_{q}));
#else
    let product_{g}_{q}: sum<@product_{g - 1}_{q} + @part_{g}_{q}> = sum_mac(
        product_{g - 1}_{q}, factor_of(part_{g}_{q}), factor_of(monomial_{g}_{q}));
#end
}
