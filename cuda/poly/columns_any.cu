// poly_columns_any: what poly_columns does, for columns of any length and tiles of any size, with
// plain products: a thread has a column to itself. For small rings, and for tiles that do not fit.
#include "column_tile.cuh"

// An output's terms follow it, their number first.
struct TermRecord {
    u32 place, constant, quotient;
};
static_assert(sizeof(TermRecord) == TERM_RECORD_BYTES, "terms as the host writes them");

// A thread's column of a place.
struct Column {
    u32* words;
    FUNCTION u32& operator[](int row) const { return words[row * WIDTH]; }
};

// Column 0 is for results, those of places follow.
FUNCTION Column numbered_column(u32* shared, u32 number) {
    return Column{shared + number * COLUMN * WIDTH + threadIdx.x};
}
FUNCTION Column column_of(u32* shared, u32 place) { return numbered_column(shared, place + 1); }

FUNCTION void forward_column(const Column& x, const uint2* table, const Field<true>& f) {
    for (int blocks = 1; blocks < COLUMN; blocks *= 2) {
        const int distance = COLUMN / 2 / blocks;
        for (int b = 0; b < COLUMN / 2; b++) {
            const int block = b / distance, row = block * 2 * distance + b % distance;
            const uint2 w = __ldg(table + blocks + block);
            f.forward<false>(x[row], x[row + distance], w.x, w.y);
        }
    }
}

// All stages but the last, which takes a constant along; none where columns have one point.
FUNCTION void
inverse_column(const Column& x, const uint2* table, const Field<true>& f, uint4 constant) {
    for (int blocks = COLUMN / 2; blocks >= 2; blocks /= 2) {
        const int distance = COLUMN / 2 / blocks;
        for (int b = 0; b < COLUMN / 2; b++) {
            const int block = b / distance, row = block * 2 * distance + b % distance;
            const uint2 w = __ldg(table + blocks + block);
            f.inverse(x[row], x[row + distance], w.x, w.y);
        }
    }
    if constexpr (COLUMN > 1) {
        for (int row = 0; row < COLUMN / 2; row++)
            f.inverse_last(x[row], x[row + COLUMN / 2], constant);
    } else {
        x[0] = f.once(f.times(x[0], constant.x, constant.y));
    }
}

// x - i y for all words of a block's columns, y the word that each is folded with; `back`: x + i y,
// and word 0 twice. Each pair has one thread; all threads come and go together.
FUNCTION void
fold_columns(const Column& x, uint2 unit, const Field<true>& f, bool has_lone, bool back) {
    __syncthreads();
    const int slot = threadIdx.x, last = WIDTH - 1 - slot;
    const bool is_zero = has_lone && slot == 0, is_middle = has_lone && slot == WIDTH - 1;
    const Column y{is_zero || is_middle ? x.words : x.words + last - slot};
    // Of two columns with one row each the first one's thread has the pair.
    const int first = is_zero ? 1 : 0,
              end = COLUMN > 1 ? COLUMN / 2 + (is_zero ? 1 : 0) : (is_zero ? 0 : 1);
    if (COLUMN > 1 || slot < WIDTH / 2 || is_middle) {
        for (int row = first; row < end; row++) {
            const int other = COLUMN - 1 - row + first;
            const u32 a = x[row], b = y[other];
            const u32 of_b = f.once(f.times(b, unit.x, unit.y)),
                      of_a = f.once(f.times(a, unit.x, unit.y));
            y[other] = f.once(back ? b + of_a : b - of_a + f.q);
            x[row] = f.once(back ? a + of_b : a - of_b + f.q);
        }
    }
    if (is_zero && back) x[0] = f.once(x[0] + x[0]);
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(WIDTH) poly_columns_any(ColumnsArguments a) {
    DYNAMIC_SHARED(memory);
    u32* shared = (u32*)memory;
    constexpr int PARTS = ROW / WIDTH;
    const int first_column = blockIdx.x % PARTS * WIDTH,
              place_of_column = INVARIANT ? place_of_slot<WIDTH>(first_column, threadIdx.x)
                                          : first_column + threadIdx.x;
    const u32 tile = blockIdx.x / PARTS % a.tile_count, call = blockIdx.x / PARTS / a.tile_count;
    const u32* record = a.tiles + tile * a.record_words;
    const u64* bases = a.bases + (u64)call * a.base_stride;
    const TileHeader header = *(const TileHeader*)record;
    const LoadRecord* loads = (const LoadRecord*)(record + sizeof(TileHeader) / 4);
    const PhaseRecord* phases = (const PhaseRecord*)(loads + header.loads);
    wait_for_earlier_launches();
    for (u32 i = 0; i < header.loads; i++) {
        const LoadRecord& load = loads[i];
        const u32* from = limb_address(load.offset, load.base, bases);
        const Column x = column_of(shared, load.place);
        const int column = load.coefficients ? word_of_place(place_of_column) : place_of_column;
        for (int row = 0; row < COLUMN; row++) x[row] = from[row * ROW + column];
        const Field<true> f(a.tables.primes[load.prime]);
        if (load.coefficients) {
            for (int row = 0; row < COLUMN; row++)
                x[row] = f.once(f.times(x[row], load.constant.x, load.constant.y));
        } else {
            const uint2* table = a.tables.columns[1] + load.prime * COLUMN;
            inverse_column(x, table, f, load.constant);
            if constexpr (INVARIANT) fold_columns(x, __ldg(table), f, first_column == 0, true);
        }
    }
    const Column result = numbered_column(shared, 0);
    for (u32 k = 0; k < header.phases; k++) {
        const PhaseRecord phase = phases[k];
        const ConversionRecord* conversion =
            (const ConversionRecord*)(record + phase.first_conversion);
        for (u32 c = 0; c < phase.conversions; c++) {
            const SourceRecord* sources = (const SourceRecord*)(conversion + 1);
            const Column u = column_of(shared, conversion->correction_place);
            for (int row = 0; row < COLUMN; row++) {
                u32 sum = 0;
                for (u32 j = 0; j < conversion->sources; j++) {
                    const u32 y =
                        scaled_source(sources[j], column_of(shared, sources[j].place)[row]);
                    if (sources[j].scaled_place != NONE)
                        column_of(shared, sources[j].scaled_place)[row] = y;
                    sum += correction_part(conversion->corrected, sources[j], y);
                }
                u[row] = correction(conversion->corrected, sum);
            }
            conversion = (const ConversionRecord*)(sources + conversion->sources);
        }
        for (u32 number = phase.first_output; number < phase.end_output; number++) {
            const OutputRecord& output = *(const OutputRecord*)(a.outputs + a.outputs[number]);
            const u32 count = *(const u32*)(&output + 1);
            const TermRecord* terms = (const TermRecord*)((const u32*)(&output + 1) + 2);
            const Field<true> field(output.q);
            for (int row = 0; row < COLUMN; row++) result[row] = 0;
            for (u32 j = 0; j < count; j++) {
                const TermRecord term = terms[j];
                const Column source = column_of(shared, term.place);
#pragma unroll 4
                for (int row = 0; row < COLUMN; row++) {
                    result[row] = field.once(
                        result[row] +
                        field.once(field.times(source[row], term.constant, term.quotient)));
                }
            }
            if (output.place != NONE) {
                const Column kept = column_of(shared, output.place);
                for (int row = 0; row < COLUMN; row++) kept[row] = result[row];
            }
            if (output.base != NONE) {
                u32* out = limb_address(output.offset, output.base, bases);
                const int column =
                    output.coefficients ? word_of_place(place_of_column) : place_of_column;
                if (!output.coefficients) {
                    const uint2* table = a.tables.columns[0] + output.prime * COLUMN;
                    const Field<true> f(a.tables.primes[output.prime]);
                    if constexpr (INVARIANT)
                        fold_columns(result, __ldg(table), f, first_column == 0, false);
                    forward_column(result, table, f);
                }
                for (int row = 0; row < COLUMN; row++) out[row * ROW + column] = result[row];
            }
        }
    }
    let_later_launches_start();
}
EXPORT(poly_columns_any, ColumnsArguments)
