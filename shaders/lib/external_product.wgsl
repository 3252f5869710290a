// The products of one word: transformed digits f_{row} times both GGSW ciphertexts, times their monomials, summed.

// F bounds the transformed digits.
#def products(w, F)
#set p prime(w)
// What a Montgomery reduction takes.
#set CAPACITY WORD * WORD - p * WORD
#set CHUNK ROWS
#if ROWS * F * p > CAPACITY || ROWS * F * p / WORD + p + 1 > WORD
#for row in 0..ROWS
#for j in 0..ITEMS
#reduce ${w} f_${row}_${j} p
#end
#end
#set F p
#set CHUNK min(ROWS, CAPACITY / (p * p))
#end
#for g in 0..(COLUMNS + STAGED - 1) / STAGED
#set first g * STAGED
#set count min(STAGED, COLUMNS - first)
        {
#for c in first..first + count
#for j in 0..ITEMS
        var y_${c}_${j}: u32;
#end
#for h in 0..ITEMS / 4
#call product_quarter(${w}, ${c}, ${h}, ${CHUNK}, ${F})
#end
#end
#if TRACE
        if (traced) {
#for c in first..first + count
#for j in 0..ITEMS
            scratch[${TRACE_PRODUCTS + (w * COLUMNS + c) * N}u + index_${PASSES - 1} + ${item_index(j)}u] = y_${c}_${j} % P_${w};
#end
#end
        }
#end
#if g > 0 && PASSES > 1
        workgroupBarrier();
#end
#call inverse_transform(${w}, y, ${first}, ${count})
#for c in first..first + count
#for j in 0..ITEMS
#if w < WORDS - 1
        delta_${c}_${j} = y_${c}_${j};
#bound delta_${c}_${j} @y_${c}_${j}
#else
#call accumulate(${c}, ${j})
#end
#end
#end
        }
#end
#end

// Items 4h .. 4h + 3 of column c: CHUNK products of a digit and a key word a Montgomery reduction, then
// (X^e - 1) * part_0 + (X^-e - 1) * part_1 with one more.
#def product_quarter(w, c, h, CHUNK, F)
        {
#for chunk in 0..(ROWS + CHUNK - 1) / CHUNK
#set from chunk * CHUNK
#set to min(ROWS, from + CHUNK)
#for row in from..to
#for g in 0..GGSW
        let k_${row}_${g} = key[key_base + ${((((w * COLUMNS + c) * (ITEMS / 4) + h) * ROWS + row) * GGSW + g) * THREADS}u];
#for q in 0..4
#if row == from
        let sum_${row}_${g}_${q} = wide_mul(f_${row}_${4 * h + q}, k_${row}_${g}[${q}]);
#else
        let sum_${row}_${g}_${q} = wide_mac(sum_${row - 1}_${g}_${q}, f_${row}_${4 * h + q}, k_${row}_${g}[${q}]);
#end
#end
#end
#end
#set part_bound (to - from) * F * p / WORD + p + 1
#for g in 0..GGSW
#for q in 0..4
#if chunk == 0
        var part_${g}_${q} = montgomery(sum_${to - 1}_${g}_${q}, P_${w}, P_NEG_INVERSE_${w});
#bound part_${g}_${q} part_bound
#else
#reduce ${w} part_${g}_${q} p
        var more_${chunk}_${g}_${q} = montgomery(sum_${to - 1}_${g}_${q}, P_${w}, P_NEG_INVERSE_${w});
#bound more_${chunk}_${g}_${q} part_bound
#reduce ${w} more_${chunk}_${g}_${q} p
        part_${g}_${q} += more_${chunk}_${g}_${q};
#bound part_${g}_${q} 2 * p
#end
#end
#end
#end
#for q in 0..4
#for g in 0..GGSW
#reduce ${w} part_${g}_${q} min(WORD, CAPACITY / (p * GGSW))
#end
#if GGSW == 2
        y_${c}_${4 * h + q} = montgomery(wide_mac(wide_mul(part_0_${q}, monomial_${4 * h + q}.x), part_1_${q}, monomial_${4 * h + q}.y), P_${w}, P_NEG_INVERSE_${w});
#bound y_${c}_${4 * h + q} (@part_0_${q} + @part_1_${q}) * p / WORD + p + 1
#else
        y_${c}_${4 * h + q} = montgomery(wide_mul(part_0_${q}, monomial_${4 * h + q}.x), P_${w}, P_NEG_INVERSE_${w});
#bound y_${c}_${4 * h + q} @part_0_${q} * p / WORD + p + 1
#end
#end
        }
#end
