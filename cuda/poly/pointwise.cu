// poly_pointwise: sums of products of evaluations, four words a thread at a time. As poly_rows
// without transforms: no word depends on another.
#include "constants.cuh"
#include "sums.cuh"

constexpr int DEGREE = 1 << LOG2_DEGREE;
constexpr int THREADS = 256;
constexpr int ITEM_WORDS = DEGREE < 4 * THREADS * ROUNDS ? DEGREE : 4 * THREADS * ROUNDS;
constexpr int TILE_ITEMS = DEGREE / ITEM_WORDS;

struct ShapePlace {
    u32 first_item, first_record; // where its items and records begin
};

struct PointwiseArguments {
    const Prime* primes;
    const uint4* records;
    const u64* bases;
    u32 base_stride;
    u32 items;
    ShapePlace shapes[MOST_SHAPES];
};
static_assert(
    sizeof(PointwiseArguments) == POINTWISE_ARGUMENTS_BYTES, "arguments as the host writes them");

template<class S>
struct Work {
    const Operand* operands;
    const u32* constants;
    Field<S::WIDE> f;
    u32 inverse;
    u32 word;

    FUNCTION Sum<S::WIDE> sum() const { return Sum<S::WIDE>(f, inverse); }
    template<int i>
    FUNCTION Four read(Int<i>) const {
        return read_four<S::form(i), LOG2_DEGREE>(operands[i], word);
    }
    // Where the four words come from that read `i` takes under its automorphism; those of a read
    // that shares it, in their order and as they lie.
    template<int i>
    FUNCTION Turn turn(Int<i>) const {
        return turn_of<LOG2_DEGREE>(operands[i], word);
    }
    template<int i>
    FUNCTION Four read(Int<i> number, const Turn& turn) const {
        const Four v = aligned(number, turn);
        return is_runs(S::form(i)) ? v : ::turned(v, turn);
    }
    template<int i>
    FUNCTION Four aligned(Int<i>, const Turn& turn) const {
        return aligned_four<S::form(i)>(operands[i], turn.source);
    }
    FUNCTION Four turned(const Four& v, const Turn& turn) const { return ::turned(v, turn); }
    template<
        int form, int other_form, int count, int first, int step, int other_step, int... others>
    FUNCTION auto moved_products() const {
        return sum_moved_products<form, other_form, LOG2_DEGREE>(
            f, inverse, operands, word, count, Reads{first, step},
            {Reads{others, other_step}...});
    }
    FUNCTION u32 constant(int i) const { return constants[2 * i + (word >> (LOG2_DEGREE - 1))]; }
    template<bool is_moved>
    FUNCTION void store(int i, const Four& v) const {
        write_four<is_moved, LOG2_DEGREE>(operands[S::READS + i], word, v);
    }
};

template<class S>
FUNCTION void process(
    S, const PointwiseArguments& a, const uint4* record, const u64* bases, u32 part, u32* operands,
    u32* constants) {
    for (int o = threadIdx.x; o < S::OPERANDS; o += THREADS) {
        *(uint4*)(operands + 4 * o) = words(resolve(record + 1 + o, bases));
    }
    const u32* own = (const u32*)(record + 1 + S::OPERANDS);
    for (int c = threadIdx.x; c < 2 * S::CONSTANTS; c += THREADS) constants[c] = __ldg(own + c);
    const Prime p = a.primes[__ldg(&record->x)];
    __syncthreads();
    Work<S> work{(const Operand*)operands, constants, Field<S::WIDE>(p), p.inverse, 0};
#pragma unroll 1
    for (u32 round = 0; round < ROUNDS; round++) {
        const u32 offset = 4 * (round * THREADS + threadIdx.x);
        if (offset >= ITEM_WORDS) break;
        work.word = part * ITEM_WORDS + offset;
        S::sums(work);
    }
}

template<int k = 0>
FUNCTION void
dispatch(const PointwiseArguments& a, u32 call, u32 local, u32* operands, u32* constants) {
    if constexpr (k + 1 < SHAPES) {
        if (local >= a.shapes[k + 1].first_item)
            return dispatch<k + 1>(a, call, local, operands, constants);
    }
    const u32 own = local - a.shapes[k].first_item;
    process(
        Shape<k>{}, a, a.records + a.shapes[k].first_record + own / TILE_ITEMS * Shape<k>::RECORD,
        a.bases + (u64)call * a.base_stride, own % TILE_ITEMS, operands, constants);
}

extern "C" __global__ void __launch_bounds__(THREADS) poly_pointwise(PointwiseArguments a) {
    DYNAMIC_SHARED(shared);
    u32* operands = (u32*)shared;
    wait_for_earlier_launches();
    dispatch(a, blockIdx.x / a.items, blockIdx.x % a.items, operands, operands + 4 * OPERANDS);
    let_later_launches_start();
}
EXPORT(poly_pointwise, PointwiseArguments)
