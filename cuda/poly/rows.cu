// poly_rows: forward rows, sums of products, inverse rows, all on one row of the limbs modulo one
// prime. A team of warps has a row; a warp takes whole transforms, all share the sums. Where a
// shape has one transform only (it is ALONE), each warp of the team has a row to itself.
//
// Which products tiles of one shape sum is part of the text, as Shape<k>::sums in constants.cuh.
// How many rows they transform is a number that is read when the kernel runs: the transforms, which
// are most of its text, are there once for all shapes of a class of primes. Where operands lie,
// primes and constants are records in memory. Tiles of several shapes share a launch.
// Tiles with too many products for that are lists of steps (steps.cuh).
#include "constants.cuh"
#include "row_transform.cuh"
#include "steps.cuh"
#include "sums.cuh"

constexpr int LOG2_ROW = LOG2_DEGREE < 10 ? LOG2_DEGREE : 10;
constexpr int ROW = 1 << LOG2_ROW;
constexpr int ROWS = 1 << (LOG2_DEGREE - LOG2_ROW);
constexpr bool SHORT = ROW < 1024;
constexpr int BUFFER = padded(ROW - 4) + 4;
constexpr int PRIME_WORDS = sizeof(Prime) / 4;

// Numbers of a shape, as words.
struct ShapeNumbers {
    u32 first_item, first_record; // where its items and records begin
    u32 halves, half_stores; // rows that are transformed forward, and inversely
    u32 operands, constants; // of a record
    u32 record;              // its length, in units of 16 bytes
    u32 flags;               // IS_ALONE, IS_WIDE, HAS_STEPS, 2^LOG2_FLAGS times its text
};

// What a block reads first lies first: a kernel's arguments come to it line by line.
struct RowsArguments {
    const uint4* records;
    const u64* bases;
    u32 base_stride; // entries of a call's table
    u32 items;       // of a call
    u32 total;       // of all calls
    u32 unused;
    ShapeNumbers shapes[MOST_SHAPES];
    Tables tables;
};

static_assert(
    sizeof(ShapeNumbers) == SHAPE_NUMBERS_BYTES && sizeof(RowsArguments) == ROWS_ARGUMENTS_BYTES,
    "arguments as the host writes them");
static_assert(
    (OPERANDS * (int)(sizeof(Operand) / 4) + PRIME_WORDS + 2 * CONSTANTS +
     (SHORT ? 0 : PARTS * 224) + BUFFERS * BUFFER + 3) /
            4 * 4 ==
        TEAM_WORDS,
    "a team's memory as it is launched");

// What a team holds in shared memory.
struct TeamMemory {
    u32* operands;  // [OPERANDS] of Operand
    u32* prime;     // a Prime
    u32* constants; // [CONSTANTS][2]
    u32* factors;   // [PARTS][224]: 160 of the last five stages, 64 of the first
    u32* buffers;   // [BUFFERS][BUFFER]

    FUNCTION TeamMemory(uint4* shared, int team) {
        u32* at = (u32*)shared + team * TEAM_WORDS;
        operands = at;
        prime = operands + OPERANDS * 4;
        constants = prime + PRIME_WORDS;
        factors = constants + CONSTANTS * 2;
        buffers = factors + (SHORT ? 0 : PARTS * 224);
    }

    // What belongs to part `part`: more than one where each warp has a row to itself.
    FUNCTION TeamMemory part(const ShapeNumbers& shape, u32 part) const {
        TeamMemory own = *this;
        if constexpr (PARTS > 1) {
            own.factors += part * 224;
            own.buffers += part *
                           (shape.halves > shape.half_stores ? shape.halves : shape.half_stores) *
                           BUFFER;
        }
        return own;
    }
};

// Which row of which tile an item is, and who works on it.
struct Item {
    ShapeNumbers shape;
    const uint4* record;
    const u64* bases;
    u32 row;
    u32 part;        // of the team's memory
    u32 warp, warps; // this warp among those that share the row

    FUNCTION bool is_alone() const { return TEAM == 1 || (shape.flags & IS_ALONE); }
    FUNCTION void barrier() const {
        if (is_alone()) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};

FUNCTION Item item_of(const RowsArguments& a, u32 id, u32 warp) {
    const u32 call = id / a.items, local = id % a.items;
    Item item;
    u32 number = 0;
#pragma unroll
    for (int i = 1; i < SHAPES; i++) number += local >= a.shapes[i].first_item;
    item.shape = a.shapes[number];
    const bool alone = item.is_alone();
    const u32 own = local - item.shape.first_item, rows = alone ? TEAM : 1, // of an item
        tile_items = ROWS / rows;
    item.record = a.records + item.shape.first_record + own / tile_items * item.shape.record;
    item.bases = a.bases + (u64)call * a.base_stride;
    item.row = own % tile_items * rows + (alone ? warp : 0);
    item.part = alone ? warp : 0;
    item.warp = alone ? 0 : warp;
    item.warps = alone ? 1 : TEAM;
    return item;
}

// Runs body(Shape) for text number `number`.
template<int k = 0, class Body>
FUNCTION void with_shape(u32 number, const Body& body) {
    if constexpr (k + 1 < TEXTS) {
        if (number != k) return with_shape<k + 1>(number, body);
    }
    body(Shape<k>{});
}

// Runs body(Bool) for the class of an item's prime.
template<class Body>
FUNCTION void with_class(const Item& item, const Body& body) {
    if constexpr (HAS_WIDE && HAS_NARROW) {
        if (item.shape.flags & IS_WIDE) {
            body(Int<1>{});
        } else {
            body(Int<0>{});
        }
    } else {
        body(Int<HAS_WIDE>{});
    }
}

// Row of the limb that holds a tile's row under an automorphism.
FUNCTION u32 mapped_row(const Operand& o, u32 row) {
    return o.automorphism == 1 ? row
                               : automorphism_source<LOG2_DEGREE>(o.automorphism, row * ROW) / ROW;
}

// Asks for what an item needs that no other kernel writes: its prime, twiddles, operands and
// constants. Everything is asked for before anything is waited for.
FUNCTION void constants_ahead(
    const RowsArguments& a, const Item& item, const TeamMemory& team, int warp, int lane) {
    const ShapeNumbers& shape = item.shape;
    const u32* constants = (const u32*)(item.record + 1 + shape.operands);
    const u32 thread = warp * 32 + lane;
    const bool has_operand = thread < shape.operands, has_constant = thread < 2 * shape.constants;
    const u32 prime = __ldg(&item.record->x);
    const uint4 place = has_operand ? __ldg(item.record + 1 + thread) : make_uint4(0, 0, 0, 0);
    const u32 constant = has_constant ? __ldg(constants + thread) : 0;
    const u64 base = has_operand ? __ldg(item.bases + base_number(place)) : 0;
    if (warp == 0 && lane < PRIME_WORDS / 4)
        copy_ahead(
            team.prime + 4 * lane, (const u32*)(a.tables.primes + prime) + 4 * lane);
    if (!SHORT && item.warp == item.warps - 1 && shape.halves + shape.half_stores != 0) {
        const int direction = shape.halves > 0 ? 0 : 1;
        const u64 place = (u64)prime * ROWS + item.row;
        const u32* last = (direction ? a.tables.last[1] : a.tables.last[0]) + place * 160;
        const u32* first =
            (const u32*)((direction ? a.tables.first[1] : a.tables.first[0]) + place * 32);
        u32* to = team.factors + item.part * 224;
        copy_ahead(to + lane * 4, last + lane * 4);
        if (lane < 8) copy_ahead(to + 128 + lane * 4, last + 128 + lane * 4);
        if (lane >= 16) copy_ahead(to + 160 + (lane - 16) * 4, first + (lane - 16) * 4);
    }
    if (has_operand) *(uint4*)(team.operands + thread * 4) = words(operand_at(place, base));
    if (has_constant) team.constants[thread] = constant;
    for (u32 o = thread + 32 * TEAM; o < shape.operands; o += 32 * TEAM)
        *(uint4*)(team.operands + o * 4) = words(resolve(item.record + 1 + o, item.bases));
    for (u32 c = thread + 32 * TEAM; c < 2 * shape.constants; c += 32 * TEAM)
        team.constants[c] = __ldg(constants + c);
}

// What Shape<k>::sums computes with: a thread's four words of everything.
template<class S>
struct Work {
    const TeamMemory& memory;
    const Operand* operands;
    const u32* constants;
    const uint4* record; // of the tile; steps read it, and bases, themselves
    const u64* bases;
    Field<S::WIDE> f;
    u32 inverse;
    u32 first_word; // of the row
    u32 word;       // of the limb
    int place;      // of `word` in a padded row
    Four fetched[S::FETCHED > 0 ? S::FETCHED : 1];

    FUNCTION Work(const TeamMemory& m, const Prime& p, const Item& item)
        : memory(m), operands((const Operand*)m.operands), constants(m.constants),
          record(item.record), bases(item.bases), f(p), inverse(p.inverse),
          first_word(item.row * ROW), word(0), place(0) {}

    template<int i>
    FUNCTION Four load(Int<i>, u32 chunk) const {
        return read_four<S::form(i), LOG2_DEGREE>(operands[S::HALVES + i], first_word + 4 * chunk);
    }
    FUNCTION void fetch(Four (&into)[S::FETCHED > 0 ? S::FETCHED : 1], u32 chunk) const {
        unroll<0, S::FETCHED>([&](auto i) { into[i] = load(Int<i.v>{}, chunk); });
    }
    FUNCTION void turn_to(u32 chunk) {
        word = first_word + 4 * chunk;
        place = padded((int)(4 * chunk));
    }

    FUNCTION Sum<S::WIDE> sum() const { return Sum<S::WIDE>(f, inverse); }
    FUNCTION Four half(int slot) const {
        return four(*(const uint4*)(memory.buffers + slot * BUFFER + place));
    }
    template<int i>
    FUNCTION Four read(Int<i>) const {
        if constexpr (i < S::FETCHED) {
            return fetched[i];
        } else {
            return read_four<S::form(i), LOG2_DEGREE>(operands[S::HALVES + i], word);
        }
    }
    // Where the four words come from that read `i` takes under its automorphism; those of a read
    // that shares it, in their order and as they lie.
    template<int i>
    FUNCTION Turn turn(Int<i>) const {
        return turn_of<LOG2_DEGREE>(operands[S::HALVES + i], word);
    }
    template<int i>
    FUNCTION Four read(Int<i> number, const Turn& turn) const {
        const Four v = aligned(number, turn);
        return is_runs(S::form(i)) ? v : ::turned(v, turn);
    }
    template<int i>
    FUNCTION Four aligned(Int<i>, const Turn& turn) const {
        return aligned_four<S::form(i)>(operands[S::HALVES + i], turn.source);
    }
    FUNCTION Four turned(const Four& v, const Turn& turn) const { return ::turned(v, turn); }
    template<
        int form, int other_form, int count, int first, int step, int other_step, int... others>
    FUNCTION auto moved_products() const {
        return sum_moved_products<form, other_form, LOG2_DEGREE>(
            f, inverse, operands + S::HALVES, word, count, Reads{first, step},
            {Reads{others, other_step}...});
    }
    template<int form>
    FUNCTION Four read_from(const Operand& from) const {
        return read_four<form, LOG2_DEGREE>(from, word);
    }
    // The constant of the words before N / 2, or of those from there on.
    FUNCTION u32 constant(int i) const { return constants[constant_place(i)]; }
    FUNCTION u32 constant_place(u32 i) const { return 2 * i + (word >> (LOG2_DEGREE - 1)); }
    template<bool is_moved>
    FUNCTION void store(int i, const Four& v) const {
        store_to<is_moved>(operands[S::HALVES + S::READS + i], v);
    }
    template<bool is_moved>
    FUNCTION void store_to(const Operand& to, const Four& v) const {
        write_four<is_moved, LOG2_DEGREE>(to, word, v);
    }
    FUNCTION void run_steps() const { run_list<S>(*this, record); }
    // Into a buffer, to be transformed: over a transformed load, perhaps, whose words this thread
    // has read.
    FUNCTION void keep(int buffer, const Four& v) const {
        *(uint4*)(memory.buffers + buffer * BUFFER + place) = words(v);
    }
};

// Transforms this warp's rows of an item forward, from memory into their padded buffers.
FUNCTION void forward_rows(
    const Item& item, const RowsArguments& a, const TeamMemory& memory, const Prime& p, int lane) {
    const Operand* operands = (const Operand*)memory.operands;
    for (u32 slot = item.warp; slot < item.shape.halves; slot += item.warps) {
        u32* buffer = memory.buffers + slot * BUFFER;
        if constexpr (SHORT) {
            const uint4* from = (const uint4*)(operands[slot].address) + item.row * (ROW / 4);
            for (int c = lane; c < ROW / 4; c += 32)
                *(uint4*)(buffer + padded(4 * c)) = load_shared_limb(from + c);
            forward_short<ROW>(
                buffer, a.tables.whole[0] + (u64)p.number * ROW, Field<true>(p), lane);
        } else {
            u32 x[32], last_factors[5];
            take_half(
                x, (const u32*)operands[slot].address + (u64)item.row * ROW, lane,
                [](const uint4* at) { return load_shared_limb(at); });
#pragma unroll
            for (int s = 0; s < 5; s++) last_factors[s] = memory.factors[s * 32 + lane];
            with_class(item, [&](auto wide) {
                const Field<wide.v == 1> f(p);
                forward_five<true>(x, f, FirstFactors{(const uint4*)(memory.factors + 160)});
                exchange_forward(x, buffer, lane);
                forward_five<false>(
                    x, f,
                    LastFactors<wide.v == 1>(
                        last_factors, a.tables.steps[0] + p.number * 16, p.quotient));
#pragma unroll
                for (int k = 0; k < 32; k++) x[k] = f.after_forward(x[k]);
                put_own(x, buffer, lane);
            });
        }
    }
}

// Words `word` to `word` + 3 of a row's image under X -> X^g, from a padded row.
FUNCTION uint4 moved_words(const u32* row, u32 g, u32 word) {
    const u32 source = automorphism_source<LOG2_DEGREE>(g, word);
    return turned(
        *(const uint4*)(row + padded((int)(source % ROW & ~3u))), g, swap_two_bits(source));
}

// Applies an automorphism to a short row in place, by one warp.
FUNCTION void move_short(u32* row, u32 g, int lane) {
    constexpr int EACH = ceil_div(ROW / 4, 32);
    uint4 held[EACH];
    unroll<0, EACH>([&](auto i) {
        const int word = 4 * (32 * i + lane);
        if (word < ROW) held[i] = moved_words(row, g, word);
    });
    __syncwarp();
    unroll<0, EACH>([&](auto i) {
        const int word = 4 * (32 * i + lane);
        if (word < ROW) *(uint4*)(row + padded(word)) = held[i];
    });
    __syncwarp();
}

// Transforms a padded buffer inversely, an automorphism first, and writes it out.
FUNCTION void inverse_row(
    const Item& item, u32 buffer_number, const RowsArguments& a, const TeamMemory& memory,
    const Prime& p, int lane) {
    const u32 operand = item.shape.operands - item.shape.half_stores + buffer_number;
    const Operand to = ((const Operand*)memory.operands)[operand];
    // Steps keep sums behind the transformed loads, not over them.
    const u32 kept = item.shape.flags & HAS_STEPS ? item.shape.halves : 0;
    u32* buffer = memory.buffers + (kept + buffer_number) * BUFFER;
    // The operand holds the inverse of the automorphism, which says where words go.
    const bool is_moved = to.automorphism != 1;
    const u32 g = odd_inverse(to.automorphism);
    const u32 row = mapped_row(to, item.row);
    u32* out = (u32*)to.address + (u64)row * ROW;
    if constexpr (SHORT) {
        if (is_moved) move_short(buffer, g, lane);
        inverse_short<ROW>(buffer, a.tables.whole[1] + (u64)p.number * ROW, Field<true>(p), lane);
        for (int c = lane; c < ROW / 4; c += 32)
            store_limb((uint4*)out + c, *(const uint4*)(buffer + padded(4 * c)));
    } else {
        u32 x[32], last_factors[5];
        const uint4* first;
        if (item.shape.halves > 0 || is_moved) {
            const u64 index = (u64)p.number * ROWS + row;
#pragma unroll
            for (int s = 0; s < 5; s++)
                last_factors[s] = __ldg(a.tables.last[1] + (index * 5 + s) * 32 + lane);
            first = (const uint4*)(a.tables.first[1] + index * 32);
        } else {
#pragma unroll
            for (int s = 0; s < 5; s++) last_factors[s] = memory.factors[s * 32 + lane];
            first = (const uint4*)(memory.factors + 160);
        }
        if (is_moved) {
#pragma unroll
            for (int m = 0; m < 8; m++) {
                const uint4 v = moved_words(buffer, g, row * ROW + lane * 32 + 4 * m);
                x[4 * m] = v.x, x[4 * m + 1] = v.y, x[4 * m + 2] = v.z, x[4 * m + 3] = v.w;
            }
        } else {
            take_own(x, buffer, lane);
        }
        with_class(item, [&](auto wide) {
            const Field<wide.v == 1> f(p);
            inverse_five(
                x, f,
                LastFactors<wide.v == 1>(
                    last_factors, a.tables.steps[1] + p.number * 16, p.quotient));
            exchange_inverse(x, buffer, lane);
            inverse_five(x, f, FirstFactors{first});
#pragma unroll
            for (int k = 0; k < 32; k++) x[k] = f.after_inverse(x[k]);
            put_half(x, out, lane);
        });
    }
}

// Shape<k>::sums over a row whose transformed loads lie in their buffers once all warps are here.
template<class S>
FUNCTION void
sums_of_row(S, const Item& item, const TeamMemory& memory, const Prime& p, int thread) {
    constexpr int warps = S::ALONE ? 1 : TEAM,
                  chunks = ceil_div(ROW / 4, 32 * warps); // units of four words of each thread
    Work<S> work(memory, p, item);
    const u32 first_chunk = thread % (32 * warps);
    work.fetch(work.fetched, SHORT && 4 * first_chunk >= ROW ? 0 : first_chunk);
    if constexpr (S::HALVES > 0) item.barrier();
#pragma unroll(S::UNROLL)
    for (int c = 0; c < chunks; c++) {
        const u32 chunk = c * 32 * warps + first_chunk;
        if (SHORT && 4 * chunk >= ROW) break;
        Four next[S::FETCHED > 0 ? S::FETCHED : 1];
        const u32 following = chunk + 32 * warps;
        const bool is_followed = c + 1 < chunks && (!SHORT || 4 * following < ROW);
        if (is_followed) work.fetch(next, following);
        work.turn_to(chunk);
        S::sums(work);
        unroll<0, S::FETCHED>([&](auto i) { work.fetched[i] = next[i]; });
    }
}

// One item.
FUNCTION void
process(const RowsArguments& a, const Item& item, const TeamMemory& team, int warp, int lane) {
    const TeamMemory memory = team.part(item.shape, item.part);
    const Prime p = *(const Prime*)memory.prime;
    forward_rows(item, a, memory, p, lane);
    with_shape(item.shape.flags >> LOG2_FLAGS, [&](auto shape) {
        sums_of_row(shape, item, memory, p, warp * 32 + lane);
    });
    // Blocks of the next launch have their place and their constants when these are done.
    let_later_launches_start();
    if (item.shape.half_stores > 0) {
        item.barrier();
        for (u32 i = item.warp; i < item.shape.half_stores; i += item.warps)
            inverse_row(item, i, a, memory, p, lane);
    }
}

extern "C" __global__ void __launch_bounds__(32 * TEAM * TEAMS, MIN_BLOCKS)
    poly_rows(RowsArguments a) {
    DYNAMIC_SHARED(shared);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % TEAM,
              team = threadIdx.x / 32 / TEAM;
    const TeamMemory memory(shared, team);
    // The same for all warps of a team.
    const u32 id = blockIdx.x * TEAMS + team;
    if (id < a.total) {
        const Item item = item_of(a, id, warp);
        constants_ahead(a, item, memory, warp, lane);
        end_copies();
        wait_for_earlier_launches();
        wait_copies<0>();
        if (TEAM == 1) {
            __syncwarp();
        } else {
            __syncthreads();
        }
        process(a, item, memory, warp, lane);
    }
}
EXPORT(poly_rows, RowsArguments)
