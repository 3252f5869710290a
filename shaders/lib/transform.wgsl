// The negacyclic NTT of one staged group of polynomials, in registers,
// `ITEMS` coefficients a thread.
//
// Row r of the digits is held in f_{r}_0 .. f_{r}_{ITEMS - 1}, column c of the sums in y_{c}_0 ..
// y_{c}_{ITEMS - 1}; a group is `count` of them from `first` on. Pass p works on some index bits;
// between passes the registers go through `exchange`, where a thread writes to the places it last
// read: one barrier an exchange. `address_{p}` is where register 0 of this thread lives in pass p,
// padding included. Values are lazy: a butterfly brings the reductions that its bounds need.

// Registers as pass `from` has them to those that pass `to` wants. Any of a row may then hold what
// any other held.
inline fn exchange_registers(name, first, count, from, to) {
for s in 0..count, j in 0..ITEMS:
    exchange[address_{from} + ${s * PADDED + item_address(from, j)}u] = ${name}_{first + s}_{j};
workgroupBarrier();
for s in 0..count, j in 0..ITEMS:
    ${name}_{first + s}_{j} = exchange[address_{to} + ${s * PADDED + item_address(to, j)}u];
for s in 0..count: join(${name}_{first + s});
}

// Stages of pass p from the largest distance down: (u, v) = (u + w v, u - w v).
inline fn forward_pass(word, p, first, count) {
for stage in 0..width(p), b in 0..ITEMS / 2, row in first..first + count:
    forward_butterfly(word, f_{row}_{upper(p, stage, b)}, f_{row}_{lower(p, stage, b)},
        w_{slot(p, stage, b)});
}

// And back up: (u, v) = (u + v, w (u - v)).
inline fn inverse_pass(word, p, first, count) {
for back in 1..width(p) + 1, b in 0..ITEMS / 2, row in first..first + count:
    inverse_butterfly(word, y_{row}_{upper(p, width(p) - back, b)},
        y_{row}_{lower(p, width(p) - back, b)}, w_{slot(p, width(p) - back, b)});
}

// Natural order in (pass 0: thread t holds t + T j), the order of the last pass out. The twiddles
// of the first pass are the same in every thread.
inline fn forward_transform(word, first, count) {
{
#if LOOPED
for slot in 0..slots(0): let w_{slot} = twiddle_of(roots[word_at + ${first_base(slot)}u]);
#else
for slot in 0..slots(0): const ROOT_{word}_{slot} = ${twiddle(word, root(word, slot))};
for slot in 0..slots(0): const w_{slot} = ROOT_{word}_{slot};
#end
forward_pass(word, 0, first, count);
}
for p in 1..PASSES {
exchange_registers(f, first, count, p - 1, p);
{
for slot in 0..slots(p):
    let w_{slot} =
        twiddle_of(roots[${ROOTS_AT}${forward_base(word, p) + slot * THREADS}u + t]);
forward_pass(word, p, first, count);
}
}
}

// The inverse, without the factor 1/N, which the keys carry. Signed sums double in each stage: what
// would overflow in the next pass is reduced before the exchange mixes it with what is small.
inline fn inverse_transform(word, first, count) {
for p in 1..PASSES: inverse_pass_and_exchange(word, PASSES - p, first, count);
{
#if LOOPED
for slot in 0..slots(0): let w_{slot} = twiddle_of(roots[word_at + ${first_inverse_base(slot)}u]);
#else
for slot in 0..slots(0):
    const INVERSE_ROOT_{word}_{slot} = ${twiddle(word, inverse_root(word, slot))};
for slot in 0..slots(0): const w_{slot} = INVERSE_ROOT_{word}_{slot};
#end
inverse_pass(word, 0, first, count);
}
}

inline fn inverse_pass_and_exchange(word, p, first, count) {
{
for slot in 0..slots(p):
    let w_{slot} = twiddle_of(roots[${ROOTS_AT}${inverse_base(word, p) + slot * THREADS}u + t]);
inverse_pass(word, p, first, count);
}
for s in 0..count, j in 0..ITEMS:
    reduce(word, y_{first + s}_{j}, exchange_limit(prime(word), width(p - 1)));
exchange_registers(y, first, count, p, p - 1);
}
