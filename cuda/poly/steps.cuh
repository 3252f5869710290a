// Sums of tiles that have too many products to be spelt out: what a tile does is a list of steps in
// its record, and one loop runs the lists of all such tiles.
//
// A record is {prime, place of the constants, place of the steps, 0}, places in units of 16 bytes
// from the record on; the operands; the constants, two words each; the steps. A step is
// {what, number, count, 0}:
//
//   ADD        `count` products of kind `number` are added to the group; after it the list of their
//              factors, a + 2^16 b, padded to a multiple of RUN. A text for any shape has no kinds:
//              `number` is then that of the first factor plus 2^LOG2_KINDS times the second's
//   SCALE      the group times constant `number` is added to the sum; the group is empty again
//   VALUE      the sum, and the group, are the value; both are empty again
//   STORE      the value goes to operand `number`; STORE_MOVED: under an automorphism
//   KEEP       the value goes to buffer `number`
//   END        of the tile
//
// What a thread keeps it alone reads again before rows are transformed.
#pragma once
#include "sums.cuh"

// What a step does, factors beside those in memory (words of a buffer, constants, 1), and RUN,
// the products whose operands are asked for at once, are constants of the host
// (crates/cuda/src/poly/arguments.rs).
static_assert(sizeof(uint4) == STEP_RECORD_BYTES, "steps as the host writes them");

template<bool wide>
FUNCTION Four sum_of(const Field<wide>& f, const Four& a, const Four& b) {
    Four sum;
#pragma unroll
    for (int i = 0; i < 4; i++) sum.w[i] = f.once(a.w[i] + b.w[i]);
    return sum;
}

// Factor `number` of kind `kind`.
template<int kind, class X>
FUNCTION Four factor(const X& x, const uint4* record, u32 number) {
    if constexpr (kind == KEPT) {
        return x.half(number);
    } else if constexpr (kind == CONSTANT) {
        const u32* constants = (const u32*)(record + __ldg(&record->y));
        const u32 c = __ldg(constants + x.constant_place(number));
        return Four{{c, c, c, c}};
    } else if constexpr (kind == ONE) {
        return Four{{1, 1, 1, 1}};
    } else {
        return x.template read_from<kind>(resolve(record + 1 + number, x.bases));
    }
}

// The group and `count` products of factors of kinds `first` and `second`.
template<int first, int second, class X>
FUNCTION Four
with_products(const X& x, const uint4* record, const uint4* list, u32 count, Four group) {
#pragma unroll 1
    for (u32 done = 0; done < count; done += RUN, list += RUN / 4) {
        auto sum = x.sum();
        unroll<0, RUN / 4>([&](auto four) {
            const uint4 packed = __ldg(list + four.v);
            const u32 pairs[4] = {packed.x, packed.y, packed.z, packed.w};
            unroll<0, 4>([&](auto i) {
                const u32 pair = pairs[i.v];
                Four a = factor<first>(x, record, pair & 0xffff);
                const Four b = factor<second>(x, record, pair >> 16);
                const bool is_there = done + 4 * four.v + i.v < count;
#pragma unroll
                for (int k = 0; k < 4; k++) a.w[k] = is_there ? a.w[k] : 0;
                sum.product(a, b);
            });
        });
        group = sum_of(x.f, group, sum.value());
    }
    return group;
}

// The same for the products that shape S calls kind `kind`.
template<class S, int k = 0, class X>
FUNCTION Four with_products_of_kind(
    const X& x, const uint4* record, const uint4* list, u32 kind, u32 count, const Four& group) {
    if constexpr (k + 1 < S::KINDS) {
        if (kind != k)
            return with_products_of_kind<S, k + 1>(x, record, list, kind, count, group);
    }
    return with_products<S::first(k), S::second(k)>(x, record, list, count, group);
}

// Factor `number` of a kind that is data.
template<class X>
FUNCTION Four any_factor(const X& x, const uint4* record, u32 kind, u32 number) {
    if constexpr (HAS_VIEWS) {
        if (kind == VIEWED) return factor<VIEWED>(x, record, number);
    }
    switch (kind) {
    case WORDS: return factor<WORDS>(x, record, number);
    case PAIRS: return factor<PAIRS>(x, record, number);
    case RUNS: return factor<RUNS>(x, record, number);
    case GATHER: return factor<GATHER>(x, record, number);
    case GATHER_PAIRS: return factor<GATHER_PAIRS>(x, record, number);
    case GATHER_RUNS: return factor<GATHER_RUNS>(x, record, number);
    case KEPT: return factor<KEPT>(x, record, number);
    case CONSTANT: return factor<CONSTANT>(x, record, number);
    default: return factor<ONE>(x, record, number);
    }
}

// The group and `count` products of factors of kinds that are data: one after the other, so that
// the text is short.
template<class X>
FUNCTION Four with_any_products(
    const X& x, const uint4* record, const uint4* list, u32 kinds, u32 count, Four group) {
    const u32* pairs = (const u32*)list;
#pragma unroll 1
    for (u32 done = 0; done < count; done++) {
        u32 kind = kinds, number = __ldg(pairs + done);
        Four a = {{0, 0, 0, 0}}, b = a;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            a = b;
            b = any_factor(x, record, kind % (1 << LOG2_KINDS), number & 0xffff);
            kind >>= LOG2_KINDS, number >>= 16;
        }
        auto sum = x.sum();
        sum.product(a, b);
        group = sum_of(x.f, group, sum.value());
    }
    return group;
}

// All steps of a tile, on this thread's four words.
template<class S, class X>
FUNCTION void run_list(const X& x, const uint4* record) {
    const Four nothing = {{0, 0, 0, 0}};
    Four group = nothing, sum = nothing, value = nothing;
    const uint4* at = record + __ldg(&record->z);
    for (;;) {
        const uint4 step = __ldg(at++);
        const u32 number = step.y;
        switch (step.x) {
        case ADD:
            if constexpr (S::KINDS == 0) {
                group = with_any_products(x, record, at, number, step.z, group);
            } else {
                group = with_products_of_kind<S>(x, record, at, number, step.z, group);
            }
            at += (step.z + RUN - 1) / RUN * (RUN / 4);
            break;
        case SCALE: {
            auto product = x.sum();
            product.product(group, factor<CONSTANT>(x, record, number));
            sum = sum_of(x.f, sum, product.value());
            group = nothing;
            break;
        }
        case VALUE:
            value = sum_of(x.f, sum, group);
            sum = group = nothing;
            break;
        case STORE: x.template store_to<false>(resolve(record + 1 + number, x.bases), value); break;
        case STORE_MOVED:
            x.template store_to<true>(resolve(record + 1 + number, x.bases), value);
            break;
        case KEEP: x.keep(number, value); break;
        default: return;
        }
    }
}
