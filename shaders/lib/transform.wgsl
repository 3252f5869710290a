// The negacyclic NTT of one staged group of polynomials, in registers,
// `ITEMS` coefficients a thread.
//
// Polynomial `first + s` of the group is held in the variables NAME_{first + s}_0 .. _{ITEMS - 1}.
// Pass p works on some index bits; between passes the registers go through `exchange`, where a
// thread writes to the places it last read: one barrier an exchange. `address_p` is where register
// 0 of this thread lives in pass p, padding included. Values are lazy: butterflies are emitted with
// the reductions their bounds need.

#def exchange_registers(name, first, count, from, to)
#for s in 0..count, j in 0..ITEMS
exchange[address_${from} + ${s * PADDED + item_address(from, j)}u] = ${name}_${first + s}_${j};
#end
workgroupBarrier();
#for s in 0..count
#for j in 0..ITEMS
${name}_${first + s}_${j} = exchange[address_${to} + ${s * PADDED + item_address(to, j)}u];
#end
#call join_items(${name}, ${first + s})
#end
#end

// All coefficients of a row get the largest bound: any may hold what any other held.
#def join_items(name, row)
#set most @${name}_${row}_0
#for j in 1..ITEMS: #update most max(most, @${name}_${row}_${j})
#for j in 0..ITEMS: #bound ${name}_${row}_${j} most
#end

// Natural order in (pass 0: thread t holds t + T j), the order of the last pass out.
#def forward_transform(word, name, first, count)
#for p in 0..PASSES
#if p > 0
#call exchange_registers(${name}, ${first}, ${count}, ${p - 1}, ${p})
#end
{
#if p > 0
#for slot in 0..slots(p)
let w_${slot} =
    twiddle_of(roots[${ROOTS_AT}${forward_base(word, p) + slot * THREADS}u + t]);
#end
#elif LOOPED
#for slot in 0..slots(p)
let w_${slot} = twiddle_of(roots[word_at + ${first_base(slot)}u]);
#end
#else
// The first pass has the same twiddles in every thread.
#for slot in 0..slots(p)
#twiddle ROOT_${word}_${slot} ${word} ${root(word, slot)}
const w_${slot} = ROOT_${word}_${slot};
#end
#end
#for stage in 0..width(p), b in 0..ITEMS / 2
#set u upper(p, stage, b)
#set v lower(p, stage, b)
#for row in first..first + count
#forward_butterfly ${word} ${name}_${row}_${u} ${name}_${row}_${v} w_${slot(p, stage, b)}
#end
#end
}
#end
#end

// The inverse, without the factor 1/N, which the keys carry.
#def inverse_transform(word, name, first, count)
#for back in 0..PASSES
#set p PASSES - 1 - back
{
#if p > 0
#for slot in 0..slots(p)
let w_${slot} =
    twiddle_of(roots[${ROOTS_AT}${inverse_base(word, p) + slot * THREADS}u + t]);
#end
#elif LOOPED
#for slot in 0..slots(p)
let w_${slot} = twiddle_of(roots[word_at + ${first_inverse_base(slot)}u]);
#end
#else
#for slot in 0..slots(p)
#twiddle INVERSE_ROOT_${word}_${slot} ${word} ${inverse_root(word, slot)}
const w_${slot} = INVERSE_ROOT_${word}_${slot};
#end
#end
#for stage_back in 0..width(p)
#set stage width(p) - 1 - stage_back
#for b in 0..ITEMS / 2
#set u upper(p, stage, b)
#set v lower(p, stage, b)
#for row in first..first + count
#inverse_butterfly ${word} ${name}_${row}_${u} ${name}_${row}_${v} w_${slot(p, stage, b)}
#end
#end
#end
}
#if p > 0
#if SIGNED
// Sums double in each stage. What would overflow in the next pass is reduced here, before the
// exchange mixes it with what is small already.
#for s in 0..count, j in 0..ITEMS
#reduce ${word} ${name}_${first + s}_${j} max(least(prime(word)), CAP >> width(p - 1))
#end
#end
#call exchange_registers(${name}, ${first}, ${count}, ${p}, ${p - 1})
#end
#end
#end
