// Sums of products on four words at a time, what a tile computes in evaluations.
#pragma once
#include "modular.cuh"

struct Four {
    u32 w[4];
};

FUNCTION Four four(uint4 v) { return Four{{v.x, v.y, v.z, v.w}}; }
FUNCTION uint4 words(const Four& v) { return make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]); }

// A sum of products in 64 bits and one Montgomery reduction: what comes out is the sum divided by
// 2^32, so one factor of each product (a resident polynomial, a constant) is 2^32 times too large.
template<bool wide>
struct Sum {
    // Products of canonical residues that 64 bits hold: 16 below 2^60, 4 below 2^62.
    static constexpr int MOST = wide ? 4 : 16;
    Field<wide> f;
    u32 inverse;
    u64 s[4] = {0, 0, 0, 0};
    u32 folded[4] = {0, 0, 0, 0};
    int count = 0; // known when this is compiled, as every loop is unrolled
    bool has_folded = false;

    FUNCTION Sum(const Field<wide>& field, u32 inverse_of_q) : f(field), inverse(inverse_of_q) {}

    FUNCTION u32 reduced(u64 x) const {
        u32 high = (u32)(x >> 32);
        const u32 low = __umulhi((u32)x * inverse, f.q);
        if constexpr (wide) {
            if (count > 2) high = f.once(high);
            return f.once(high - low + f.q);
        } else {
            if (count > 8) high = f.twice(high);
            const u32 y = high - low + f.q;
            return f.once(count > 4 ? f.twice(y) : y);
        }
    }

    FUNCTION void make_room() {
        if (count == MOST) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const u32 y = reduced(s[i]);
                folded[i] = has_folded ? f.once(folded[i] + y) : y;
                s[i] = 0;
            }
            has_folded = true;
            count = 0;
        }
        count++;
    }

    FUNCTION void product(const Four& a, const Four& b) {
        make_room();
#pragma unroll
        for (int i = 0; i < 4; i++) s[i] += (u64)a.w[i] * b.w[i];
    }

    FUNCTION void scaled(const Four& a, u32 constant) {
        make_room();
#pragma unroll
        for (int i = 0; i < 4; i++) s[i] += (u64)a.w[i] * constant;
    }

    FUNCTION void constant(u32 c) {
        make_room();
#pragma unroll
        for (int i = 0; i < 4; i++) s[i] += c;
    }

    // A value of another sum.
    FUNCTION void plus(const Four& v) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            folded[i] = has_folded ? f.once(folded[i] + v.w[i]) : v.w[i];
        has_folded = true;
    }

    FUNCTION Four value() const {
        Four v;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            v.w[i] = reduced(s[i]);
            if (has_folded) v.w[i] = f.once(v.w[i] + folded[i]);
        }
        return v;
    }
};

// How a tile's kernel names a limb: where it lies for call 0, and how it is read.
struct Operand {
    u64 address;
    u32 log2_run;     // so many words stand for one
    u32 automorphism; // X -> X^g
};

// Operands in a record are {offset, offset, base + 2^LOG2_BASES log2_run, automorphism}; a call's
// table of bases says where its arena and what it is bound to lie. Base 0 is address 0.
static_assert(sizeof(uint4) == OPERAND_RECORD_BYTES, "operands as the host writes them");
FUNCTION u32 base_number(uint4 place) { return place.z & ((1u << LOG2_BASES) - 1); }
FUNCTION Operand operand_at(uint4 place, u64 base) {
    return Operand{base + (((u64)place.y << 32) | place.x), place.z >> LOG2_BASES, place.w};
}
FUNCTION Operand resolve(const uint4* place, const u64* bases) {
    const uint4 p = __ldg(place);
    return operand_at(p, __ldg(bases + base_number(p)));
}
FUNCTION uint4 words(const Operand& o) {
    return make_uint4((u32)o.address, (u32)(o.address >> 32), o.log2_run, o.automorphism);
}

// How words are read (WORDS, PAIRS, RUNS, and the same under an automorphism), as the host numbers
// it: those under an automorphism last.
CONSTANT_FUNCTION bool is_moved(int form) { return form >= GATHER; }
CONSTANT_FUNCTION bool is_pairs(int form) { return form == PAIRS || form == GATHER_PAIRS; }
CONSTANT_FUNCTION bool is_runs(int form) { return form == RUNS || form == GATHER_RUNS; }

// The aligned four words of a limb of evaluations of which `source` is one.
template<int form>
FUNCTION Four aligned_four(const Operand& from, u32 source) {
    const u32* limb = (const u32*)from.address;
    if constexpr (is_runs(form)) {
        const u32 v = __ldg(limb + (source >> from.log2_run));
        return Four{{v, v, v, v}};
    } else if constexpr (is_pairs(form)) {
        const uint2 v = load_key((const uint2*)(limb + (source & ~3u) / 2));
        return Four{{v.x, v.x, v.y, v.y}};
    } else {
        return four(load_key((const uint4*)(limb + (source & ~3u))));
    }
}

// Where four words come from under an automorphism: the same for all limbs that it moves.
struct Turn {
    u32 source, g;
};

template<int log2_degree>
FUNCTION Turn turn_of(const Operand& from, u32 word) {
    return Turn{automorphism_source<log2_degree>(from.automorphism, word), from.automorphism};
}

// Words `word` to `word` + 3 of a limb of the other ring as a view has them
// (girih_backend::poly::View): two words twice, or every second one of eight, in the other order
// where the limb is taken from its end.
template<int log2_degree>
FUNCTION Four viewed_four(const Operand& from, u32 word) {
    constexpr u32 last = (1u << log2_degree) - 1;
    const u32 view = from.automorphism, run = from.log2_run;
    const bool is_lift = view == LIFTED || view == LIFTED_CONJUGATE,
               is_turned = is_lift ? view == LIFTED_CONJUGATE : word > last / 2;
    const u32* limb = (const u32*)from.address;
    u32 v[4];
    if (is_lift) {
        const u32 first = is_turned ? last - 1 - word / 2 : word / 2;
        uint2 two;
        if (run == 0) {
            two = load_key((const uint2*)(limb + first));
        } else {
            two = uint2{__ldg(limb + (first >> run)), __ldg(limb + ((first + 1) >> run))};
        }
        v[0] = v[1] = two.x, v[2] = v[3] = two.y;
    } else {
        const u32 first = 2 * (is_turned ? last - 3 - word : word), odd = view == RESTRICTED_MINUS;
        if (run == 0) {
            const uint4 low = load_key((const uint4*)(limb + first)),
                        high = load_key((const uint4*)(limb + first + 4));
            v[0] = odd ? low.y : low.x, v[1] = odd ? low.w : low.z;
            v[2] = odd ? high.y : high.x, v[3] = odd ? high.w : high.z;
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; i++) v[i] = __ldg(limb + ((first + 2 * i + odd) >> run));
        }
    }
    return is_turned ? Four{{v[3], v[2], v[1], v[0]}} : Four{{v[0], v[1], v[2], v[3]}};
}

// The aligned four words in the order in which the automorphism takes them.
FUNCTION Four turned(const Four& v, const Turn& turn) {
    return four(turned(words(v), turn.g, swap_two_bits(turn.source)));
}

// Words `word` to `word` + 3 of a limb of evaluations. Blocks of words stay blocks under an
// automorphism, so that what a warp gathers is as much side by side as what it reads without.
template<int form, int log2_degree>
FUNCTION Four read_four(const Operand& from, u32 word) {
    if constexpr (form == VIEWED) {
        return viewed_four<log2_degree>(from, word);
    } else if constexpr (is_moved(form)) {
        const Turn turn = turn_of<log2_degree>(from, word);
        const Four v = aligned_four<form>(from, turn.source);
        return is_runs(form) ? v : turned(v, turn);
    } else {
        return aligned_four<form>(from, word);
    }
}

// Every `step`th read from `first` on.
struct Reads {
    u32 first, step;
};

template<int n>
struct Fours {
    Four of[n];
};

// Sums of `count` products of reads, the factors of each under one automorphism. All sums have the
// first factors in common. A loop is short enough for the cache of instructions, where a long sum
// spelt out is not.
template<int form, int other_form, int log2_degree, bool wide, int n>
FUNCTION Fours<n> sum_moved_products(
    const Field<wide>& f, u32 inverse, const Operand* operands, u32 word, u32 count,
    const Reads& first, const Reads (&others)[n]) {
    constexpr u32 AT_ONCE = wide ? 4 : 8;
    Fours<n> sums;
#pragma unroll
    for (int j = 0; j < n; j++) sums.of[j] = Four{{0, 0, 0, 0}};
#pragma unroll 1
    for (u32 done = 0; done < count; done += AT_ONCE) {
        u64 parts[n][4] = {};
        unroll<0, AT_ONCE>([&](auto i) {
            const bool is_there = done + (u32)i.v < count;
            const u32 t = is_there ? done + (u32)i.v : 0;
            const Operand& from = operands[first.first + t * first.step];
            const Turn turn = turn_of<log2_degree>(from, word);
            Four a = aligned_four<form>(from, turn.source);
            if constexpr (!is_runs(form)) a = turned(a, turn);
#pragma unroll
            for (int k = 0; k < 4; k++) a.w[k] = is_there ? a.w[k] : 0;
#pragma unroll
            for (int j = 0; j < n; j++) {
                const Operand& other = operands[others[j].first + t * others[j].step];
                Four b = aligned_four<other_form>(other, turn.source);
                if constexpr (!is_runs(other_form)) b = turned(b, turn);
#pragma unroll
                for (int k = 0; k < 4; k++) parts[j][k] += (u64)a.w[k] * b.w[k];
            }
        });
#pragma unroll
        for (int j = 0; j < n; j++) {
            Sum<wide> sum(f, inverse);
#pragma unroll
            for (int k = 0; k < 4; k++) sum.s[k] = parts[j][k];
            sum.count = AT_ONCE;
            sum.plus(sums.of[j]);
            sums.of[j] = sum.value();
        }
    }
    return sums;
}

// Writes words `word` to `word` + 3 of a limb of evaluations, or where an automorphism takes them:
// its operand holds the inverse one.
template<bool is_moved, int log2_degree>
FUNCTION void write_four(const Operand& to, u32 word, const Four& v) {
    u32* limb = (u32*)to.address;
    if constexpr (is_moved) {
        const u32 inverse = to.automorphism,
                  target = automorphism_source<log2_degree>(inverse, word);
        store_limb(
            (uint4*)(limb + (target & ~3u)),
            turned(words(v), inverse, 0 - inverse * swap_two_bits(target)));
    } else {
        store_limb((uint4*)(limb + word), words(v));
    }
}
