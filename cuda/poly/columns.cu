// poly_columns: inverse columns of some limbs, base conversions and sums in coefficients, forward
// columns of the results, on a tile of TILE words a limb: all points of a few columns.
//
// Eight outputs at a time. Matrix units multiply bytes: a residue is four bytes of one column of
// the right side, and the left side holds, for output i and byte b of source j, the four bytes of
// 2^(8 b) T_ij modulo q_i, which gives four sums of bytes an output: exact.
#include "column_tile.cuh"
#include "row_transform.cuh"

constexpr int WIDTH = TILE / COLUMN; // columns of a tile
constexpr int STRIDE = WIDTH + 4;    // words from a row of a tile to the next: free of conflicts
constexpr int SLOT = COLUMN * STRIDE + 4;
constexpr int QUADS = WIDTH / 4;
constexpr int NEAR =
    COLUMN /
    16; // rows of the innermost stages: a thread holds 16 rows NEAR apart, or NEAR adjacent ones
constexpr int LOG2_NEAR = LOG2_COLUMN - 4;
constexpr int UNITS = NEAR * QUADS; // of 64 words: what a warp computes of eight outputs
constexpr int PARTS = ROW / WIDTH;  // tiles of a limb
static_assert(COLUMN >= 16 && COLUMN <= 128, "columns of 16 to 128 points");
static_assert(4 * SLOT == SLOT_BYTES, "places as the host counts them");

// A group of eight outputs in memory: left sides [STEPS][2][32 threads] of 16 bytes, the offsets of
// the 8 STEPS sources, forward factors [8][COLUMN], the outputs, whether coefficients are wanted,
// steps in use. Pair i of output o's factors lies at i ^ o,
// so that eight outputs are read without conflicts.
constexpr int FACTOR_WORDS = 2 * COLUMN;
constexpr int SOURCES_AT = STEPS * 256;
constexpr int FACTORS_AT = SOURCES_AT + STEPS * 8;
constexpr int OUTPUTS_AT = FACTORS_AT + 8 * FACTOR_WORDS;
constexpr int MODE_AT = OUTPUTS_AT + 8 * (int)(sizeof(OutputRecord) / 4);
constexpr int GROUP_WORDS = MODE_AT + 4;
static_assert(4 * GROUP_WORDS == GROUP_BYTES, "groups as the host writes them");

// Couples of 16 words that are folded with each other, in the conjugation-invariant ring.
constexpr int COUPLES = WIDTH * NEAR / 2;
static_assert(!INVARIANT || WIDTH >= 8, "a tile of pairs has quads of both of their columns");

typedef Field<WIDE> F;

// A correction u lies in the padding of places: of each row, WIDTH / 4 places have four words of
// it. The offset of such a source is marked (IN_PADDING), and moves with the columns.
FUNCTION u32 padding_step(int column) { return column / 4 * SLOT - column; }

struct TableFactors {
    const uint2* table;
    template<class AnyField>
    FUNCTION uint2 at(const AnyField&, int stage, int block) const {
        return table[(1 << stage) + block];
    }
};

struct HeldFactors {
    uint4 pairs[8];
    template<class AnyField>
    FUNCTION uint2 at(const AnyField&, int stage, int block) const {
        const int slot = (1 << stage) + block;
        return half_of(pairs[slot / 2], slot % 2);
    }
};

// Factors of the innermost stages of NEAR adjacent rows, number `rows` of 16.
struct NearFactors {
    const uint2* table;
    int rows, swizzle;
    template<class AnyField>
    FUNCTION uint2 at(const AnyField&, int stage, int block) const {
        return table[((16 << stage) + (rows << stage) + block) ^ (2 * swizzle)];
    }
};

template<int stage>
FUNCTION void near_forward(u32 (&x)[4][NEAR], const F& f, const NearFactors& factors) {
    if constexpr (stage < LOG2_NEAR) {
        for (int c = 0; c < 4; c++) forward_stage<NEAR, stage, false>(x[c], f, factors);
        near_forward<stage + 1>(x, f, factors);
    }
}

template<int stage>
FUNCTION void near_inverse(u32 (&x)[4][NEAR], const F& f, const NearFactors& factors) {
    if constexpr (stage >= 0) {
        for (int c = 0; c < 4; c++) inverse_stage<NEAR, stage>(x[c], f, factors);
        near_inverse<stage - 1>(x, f, factors);
    }
}

// Four words of a row in memory that slots 4 quad to 4 quad + 3 of a tile of pairs have.
FUNCTION uint4 load_quad(const u32* row, int first_column, int quad) {
    const int at = place_of_slot<WIDTH>(first_column, 4 * quad);
    if (at % 4 == 0) return load_shared_limb((const uint4*)(row + at));
    const uint4 v = load_shared_limb((const uint4*)(row + at - 1));
    return make_uint4(v.y, v.z, v.w, __ldg(row + place_of_slot<WIDTH>(first_column, 4 * quad + 3)));
}

// The way back; in the usual ring, whose columns are side by side, `row` begins with the quad.
FUNCTION void store_quad(u32* row, int first_column, int quad, uint4 v) {
    if constexpr (!INVARIANT) return store_limb((uint4*)row, v);
    const int at = place_of_slot<WIDTH>(first_column, 4 * quad);
    if (at % 4 == 0) return store_limb((uint4*)(row + at), v);
    store_limb(row + at, v.x), store_limb(row + at + 1, v.y), store_limb(row + at + 2, v.z);
    store_limb(row + place_of_slot<WIDTH>(first_column, 4 * quad + 3), v.w);
}

// Slot 0 of the factors of columns, which no stage has, is i and its quotient.
FUNCTION uint2 unit_of(const u32* factors, int swizzle) {
    return ((const uint2*)factors)[2 * swizzle];
}

// x - i y of sums below 2 q: below 4 q, canonical if wide.
FUNCTION u32 folded(const F& f, u32 x, u32 y, uint2 unit) {
    const u32 t = f.times(y, unit.x, unit.y);
    return WIDE ? f.once(x - f.once(t) + f.q) : x - t + f.two_q;
}

// x + i y of canonical words.
FUNCTION u32 unfolded(const F& f, u32 x, u32 y, uint2 unit) {
    return f.once(x + f.once(f.times(y, unit.x, unit.y)));
}

// Pair `pair` of COLUMN in columns 0 and R/2, slots 0 and WIDTH - 1 of a tile: by(x, y). The
// middle of column 0 is a pair with itself, and word 0 in none.
template<class By>
FUNCTION void with_lone_pair(u32* slots, int pair, const By& by) {
    const bool is_zero = pair < COLUMN / 2;
    const int row = is_zero ? pair + 1 : pair - COLUMN / 2, other = COLUMN - !is_zero - row;
    u32* column = slots + (is_zero ? 0 : WIDTH - 1);
    by(column[row * STRIDE], column[other * STRIDE]);
}

// Asks for the inverse factors of all sources, which come to `factors`, and puts into their records
// where they lie: a block that began with a chain of reads from memory would wait for each.
FUNCTION void prepare_loads(
    const ColumnsArguments& a, LoadRecord* loads, int count, const u64* bases, u32* factors) {
    constexpr int pieces = FACTOR_WORDS / 4;
    for (int i = threadIdx.x; i < count * pieces; i += THREADS) {
        const u32* from = (const u32*)(a.tables.columns[1] + loads[i / pieces].prime * COLUMN);
        copy_ahead(factors + 4 * i, from + i % pieces * 4);
    }
    end_copies();
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const u64 address = (u64)limb_address(loads[i].offset, loads[i].base, bases);
        loads[i].offset[0] = (u32)address, loads[i].offset[1] = (u32)(address >> 32);
    }
}

// The outer stages of the inverse transform of 16 words NEAR rows apart.
FUNCTION void
inverse_outer(u32 (&x)[16], const F& f, const TableFactors& factors, const uint4& constant) {
    inverse_stage<16, 3>(x, f, factors);
    inverse_stage<16, 2>(x, f, factors);
    inverse_stage<16, 1>(x, f, factors);
#pragma unroll
    for (int b = 0; b < 8; b++) f.inverse_last(x[b], x[b + 8], constant);
}

// The outer stages of all sources, of which the innermost are done.
FUNCTION void finish_sources(const LoadRecord* loads, int count, const u32* factors, u32* places) {
#pragma unroll 1
    for (int task = threadIdx.x; task < count * WIDTH * NEAR; task += THREADS) {
        const int column = task % WIDTH, row = task / WIDTH % NEAR;
        const LoadRecord& load = loads[task / (WIDTH * NEAR)];
        const F f(load.q);
        u32* own = places + load.place * SLOT + row * STRIDE + column;
        u32 x[16];
#pragma unroll
        for (int k = 0; k < 16; k++) x[k] = own[NEAR * k * STRIDE];
        const uint4 constant = load.constant;
        if (load.coefficients) {
#pragma unroll
            for (int k = 0; k < 16; k++) x[k] = f.once(f.times(x[k], constant.x, constant.y));
        } else {
            const TableFactors table{
                (const uint2*)(factors + task / (WIDTH * NEAR) * FACTOR_WORDS)};
            inverse_stage<16, 3>(x, f, table);
            inverse_stage<16, 2>(x, f, table);
            inverse_stage<16, 1>(x, f, table);
#pragma unroll
            for (int b = 0; b < 8; b++) f.inverse_last(x[b], x[b + 8], constant);
        }
#pragma unroll
        for (int k = 0; k < 16; k++) own[NEAR * k * STRIDE] = x[k];
    }
    __syncthreads();
}

// The same in the conjugation-invariant ring, whose columns are unfolded then: a thread has both of
// what is folded with each other.
FUNCTION void
unfold_sources(const LoadRecord* loads, int count, const u32* factors, u32* places, bool has_lone) {
#pragma unroll 1
    for (int task = threadIdx.x; task < count * COUPLES; task += THREADS) {
        const int column = task % COUPLES % WIDTH, row = task % COUPLES / WIDTH;
        const LoadRecord& load = loads[task / COUPLES];
        const F f(load.q);
        u32* slots = places + load.place * SLOT;
        u32 *at_x = slots + row * STRIDE + column,
            *at_y = slots + (NEAR - 1 - row) * STRIDE + WIDTH - 1 - column;
        u32 x[16], y[16];
#pragma unroll
        for (int k = 0; k < 16; k++) x[k] = at_x[NEAR * k * STRIDE], y[k] = at_y[NEAR * k * STRIDE];
        const uint4 constant = load.constant;
        if (load.coefficients) {
#pragma unroll
            for (int k = 0; k < 16; k++) {
                x[k] = f.once(f.times(x[k], constant.x, constant.y));
                y[k] = f.once(f.times(y[k], constant.x, constant.y));
            }
        } else {
            const u32* own = factors + task / COUPLES * FACTOR_WORDS;
            inverse_outer(x, f, TableFactors{(const uint2*)own}, constant);
            inverse_outer(y, f, TableFactors{(const uint2*)own}, constant);
            if (!(has_lone && (column == 0 || column == WIDTH - 1))) {
                const uint2 unit = unit_of(own, 0);
#pragma unroll
                for (int k = 0; k < 16; k++) {
                    const u32 a = x[k], b = y[15 - k];
                    x[k] = unfolded(f, a, b, unit), y[15 - k] = unfolded(f, b, a, unit);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 16; k++) at_x[NEAR * k * STRIDE] = x[k], at_y[NEAR * k * STRIDE] = y[k];
    }
    __syncthreads();
    if (!has_lone) return;
#pragma unroll 1
    for (int task = threadIdx.x; task < count * COLUMN; task += THREADS) {
        const LoadRecord& load = loads[task / COLUMN];
        if (load.coefficients) continue;
        const F f(load.q);
        const uint2 unit = unit_of(factors + task / COLUMN * FACTOR_WORDS, 0);
        u32* slots = places + load.place * SLOT;
        with_lone_pair(slots, task % COLUMN, [&](u32& x, u32& y) {
            const u32 a = x, b = y;
            x = unfolded(f, a, b, unit), y = unfolded(f, b, a, unit);
        });
        if (task % COLUMN == 0) slots[0] = f.once(slots[0] + slots[0]);
    }
    __syncthreads();
}

// Loads all sources and transforms them inversely.
FUNCTION void load_sources(
    const LoadRecord* loads, int count, const u32* factors, u32* places, int first_column) {
#pragma unroll 3
    for (int task = threadIdx.x; task < count * QUADS * 16; task += THREADS) {
        const int quad = task % QUADS, rows = task / QUADS % 16;
        const LoadRecord& load = loads[task / (QUADS * 16)];
        const u32* from = (const u32*)(((u64)load.offset[1] << 32) | load.offset[0]);
        u32 x[4][NEAR];
        const int column = first_column + 4 * quad;
        if (load.coefficients) {
#pragma unroll
            for (int i = 0; i < NEAR; i++) {
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    const int place =
                        INVARIANT ? place_of_slot<WIDTH>(first_column, 4 * quad + c) : column + c;
                    x[c][i] = __ldg(from + (NEAR * rows + i) * ROW + word_of_place(place));
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < NEAR; i++) {
                const uint4 v =
                    INVARIANT
                        ? load_quad(from + (NEAR * rows + i) * ROW, first_column, quad)
                        : load_shared_limb((const uint4*)(from + (NEAR * rows + i) * ROW + column));
                x[0][i] = v.x, x[1][i] = v.y, x[2][i] = v.z, x[3][i] = v.w;
            }
            const F f(load.q);
            const uint2* own = (const uint2*)(factors + task / (QUADS * 16) * FACTOR_WORDS);
            near_inverse<LOG2_NEAR - 1>(x, f, NearFactors{own, rows, 0});
        }
        u32* to = places + load.place * SLOT + NEAR * rows * STRIDE + 4 * quad;
#pragma unroll
        for (int i = 0; i < NEAR; i++)
            *(uint4*)(to + i * STRIDE) = make_uint4(x[0][i], x[1][i], x[2][i], x[3][i]);
    }
    __syncthreads();
    if constexpr (INVARIANT) {
        unfold_sources(loads, count, factors, places, first_column == 0);
    } else {
        finish_sources(loads, count, factors, places);
    }
}

// Scales the sources of a conversion where they need it, and computes its correction.
FUNCTION void prepare_conversion(const ConversionRecord& conversion, u32* places) {
    const SourceRecord* sources = (const SourceRecord*)(&conversion + 1);
#pragma unroll 1
    for (int quad = threadIdx.x; quad < COLUMN * QUADS; quad += THREADS) {
        u32* at = places + quad / QUADS * STRIDE + quad % QUADS * 4;
        u32 sum[4] = {0, 0, 0, 0};
#pragma unroll 4
        for (u32 j = 0; j < conversion.sources; j++) {
            const SourceRecord& s = sources[j];
            const uint4 v = *(const uint4*)(at + s.place * SLOT);
            const uint4 y = make_uint4(
                scaled_source(s, v.x), scaled_source(s, v.y), scaled_source(s, v.z),
                scaled_source(s, v.w));
            if (s.scaled_place != NONE) *(uint4*)(at + s.scaled_place * SLOT) = y;
            sum[0] += correction_part(conversion.corrected, s, y.x);
            sum[1] += correction_part(conversion.corrected, s, y.y);
            sum[2] += correction_part(conversion.corrected, s, y.z);
            sum[3] += correction_part(conversion.corrected, s, y.w);
        }
        const bool is_padding = conversion.correction_place & IN_PADDING;
        u32* to = is_padding ? at + (conversion.correction_place & ~IN_PADDING) +
                                   padding_step(quad % QUADS * 4)
                             : at + conversion.correction_place * SLOT;
        *(uint4*)to = make_uint4(
            correction(conversion.corrected, sum[0]), correction(conversion.corrected, sum[1]),
            correction(conversion.corrected, sum[2]), correction(conversion.corrected, sum[3]));
    }
}

// 16 words, NEAR rows apart, of one column of each of eight outputs: the warp's sum of sources.
// Below 2 q, canonical if wide.
FUNCTION void multiply_sources(
    u32 (&x)[16], const uint4 (&left)[STEPS][2], const u32 (&sources)[2 * STEPS], int column,
    const u32* at, const F& f, u32 reciprocal, int steps) {
    // Addresses, so that what differs from word to word is part of the loads.
    const u32* from[2 * STEPS];
#pragma unroll
    for (int k = 0; k < 2 * STEPS; k++)
        from[k] =
            at + (sources[k] & IN_PADDING ? (i32)((sources[k] & ~IN_PADDING) + padding_step(column))
                                          : (i32)sources[k]);
#pragma unroll
    for (int first = 0; first < 8; first += 4) {
        i32 low[4][4], high[4][4];
#pragma unroll
        for (int v = 0; v < 4; v++) {
#pragma unroll
            for (int e = 0; e < 4; e++) low[v][e] = high[v][e] = 0;
        }
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            if (k > 0 && k >= steps) break; // the same for all threads
            u32 right[4][2];
#pragma unroll
            for (int v = 0; v < 4; v++) {
                right[v][0] = from[2 * k][(first + v) * 2 * NEAR * STRIDE];
                right[v][1] = from[2 * k + 1][(first + v) * 2 * NEAR * STRIDE];
            }
#pragma unroll
            for (int v = 0; v < 4; v++) {
                multiply_unsigned_bytes(low[v], left[k][0], right[v][0], right[v][1]);
                multiply_unsigned_bytes(high[v], left[k][1], right[v][0], right[v][1]);
            }
        }
#pragma unroll
        for (int v = 0; v < 4; v++) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                // The sum is lo + 2^16 hi, below 2^15 q; the quotient by q is too small by one at
                // most, so this is below 2 q.
                const u32 lo = low[v][e] + ((u32)low[v][2 + e] << 8),
                          hi = high[v][e] + ((u32)high[v][2 + e] << 8);
                const u32 y = lo + (hi << 16) + __umulhi(hi + (lo >> 16), reciprocal) * f.minus_q;
                x[2 * (first + v) + e] = WIDE ? f.once(y) : y;
            }
        }
    }
}

// All units of eight outputs in the conjugation-invariant ring: what `compute` makes of each is
// folded with what another warp made, which stands in `stage` for that. `own` is the output of this
// thread's group there. Units that are folded with each other have their turn together.
template<class Compute>
FUNCTION void fold_units(
    const F& f, const HeldFactors& factors, u32* own, bool has_lone, const Compute& compute) {
    static_assert(
        !INVARIANT || UNITS <= THREADS / 32 || THREADS / 32 % (2 * NEAR) == 0,
        "units that are folded with each other are computed at once");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = lane % 4;
    const uint2 unit_factor = half_of(factors.pairs[0], 0);
#pragma unroll 1
    for (int first = 0; first < UNITS; first += THREADS / 32) {
        const int unit = first + warp, number = unit / NEAR, row = unit % NEAR;
        const int quad = number % 2 == 0 ? number / 2 : QUADS - 1 - number / 2;
        const int column = 4 * quad + t;
        u32* at = own + row * STRIDE + column;
        u32 x[16];
        if (unit < UNITS) {
            compute(x, row, 4 * quad);
#pragma unroll
            for (int k = 0; k < 16; k++) at[NEAR * k * STRIDE] = x[k];
        }
        __syncthreads();
        if (unit < UNITS) {
            // Columns 0 and R/2 are folded with themselves, word 0 with none.
            const bool is_zero = has_lone && column == 0;
            const bool is_alone = is_zero || (has_lone && column == WIDTH - 1);
            const u32* with = own + (NEAR - 1 - row + is_zero) * STRIDE +
                              (is_alone ? column : WIDTH - 1 - column);
            const u32 first_word = x[0];
#pragma unroll
            for (int k = 0; k < 16; k++)
                x[k] = folded(f, x[k], with[NEAR * (15 - k) * STRIDE], unit_factor);
            if (is_zero && row == 0) x[0] = first_word;
        }
        __syncthreads();
        if (unit < UNITS) {
            forward_stage<16, 0, false>(x, f, factors);
            forward_stage<16, 1, false>(x, f, factors);
            forward_stage<16, 2, false>(x, f, factors);
            forward_stage<16, 3, false>(x, f, factors);
#pragma unroll
            for (int k = 0; k < 16; k++) at[NEAR * k * STRIDE] = x[k];
        }
    }
}

// Computes eight outputs; half transformed ones are left in `stage`, four stages done, and where
// they go in their records.
FUNCTION void
compute_group(u32* group, u32* places, u32* stage, const u64* bases, int first_column) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const OutputRecord& output = ((const OutputRecord*)(group + OUTPUTS_AT))[g];
    const F f(output.q);
    const u32 reciprocal = output.reciprocal;
    const int steps = (int)group[MODE_AT + 1];
    uint4 left[STEPS][2];
    u32 sources[2 * STEPS];
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        left[k][0] = *(const uint4*)(group + (2 * k) * 128 + lane * 4);
        left[k][1] = *(const uint4*)(group + (2 * k + 1) * 128 + lane * 4);
        sources[2 * k] = group[SOURCES_AT + 8 * k + t];
        sources[2 * k + 1] = group[SOURCES_AT + 8 * k + 4 + t];
    }
    if (group[MODE_AT] == 0) {
        if (threadIdx.x < 8) {
            OutputRecord& own = ((OutputRecord*)(group + OUTPUTS_AT))[threadIdx.x];
            if (own.base != NONE) {
                const u64 address = (u64)limb_address(own.offset, own.base, bases);
                own.offset[0] = (u32)address, own.offset[1] = (u32)(address >> 32);
            }
        }
        HeldFactors factors;
#pragma unroll
        for (int i = 0; i < 8; i++)
            factors.pairs[i] = *(const uint4*)(group + FACTORS_AT + g * FACTOR_WORDS + 4 * (i ^ g));
        if constexpr (INVARIANT) {
            const auto compute = [&](u32(&x)[16], int row, int column) {
                const u32* at = places + (row + NEAR * (g % 2)) * STRIDE + column + g / 2;
                multiply_sources(x, left, sources, column, at, f, reciprocal, steps);
            };
            fold_units(f, factors, stage + g * SLOT, first_column == 0, compute);
            return;
        }
#pragma unroll 1
        for (int unit = warp; unit < UNITS; unit += THREADS / 32) {
            const int row = unit % NEAR, column = unit / NEAR * 4;
            u32 x[16];
            multiply_sources(
                x, left, sources, column, places + (row + NEAR * (g % 2)) * STRIDE + column + g / 2,
                f, reciprocal, steps);
            forward_stage<16, 0, true>(x, f, factors);
            forward_stage<16, 1, false>(x, f, factors);
            forward_stage<16, 2, false>(x, f, factors);
            forward_stage<16, 3, false>(x, f, factors);
            u32* to = stage + g * SLOT + row * STRIDE + column + t;
#pragma unroll
            for (int k = 0; k < 16; k++) to[NEAR * k * STRIDE] = x[k];
        }
    } else {
        u32* out = output.base == NONE ? nullptr : limb_address(output.offset, output.base, bases);
#pragma unroll 1
        for (int unit = warp; unit < UNITS; unit += THREADS / 32) {
            const int row = unit % NEAR, column = unit / NEAR * 4;
            u32 x[16];
            multiply_sources(
                x, left, sources, column, places + (row + NEAR * (g % 2)) * STRIDE + column + g / 2,
                f, reciprocal, steps);
            __syncwarp(); // an output may take the place of a source
#pragma unroll
            for (int k = 0; k < 16; k++) {
                const u32 y = WIDE ? x[k] : f.once(x[k]);
                if (output.place != NONE)
                    places[output.place * SLOT + (row + NEAR * k) * STRIDE + column + t] = y;
                if (out != nullptr)
                    store_limb(
                        out + (row + NEAR * k) * ROW +
                            word_of_place(
                                INVARIANT ? place_of_slot<WIDTH>(first_column, column + t)
                                          : first_column + column + t),
                        y);
            }
        }
    }
}

// The innermost stages of eight outputs, and their way to memory.
FUNCTION void finish_group(const u32* group, const u32* stage, int first_column) {
#pragma unroll 2
    for (int task = threadIdx.x; task < 8 * QUADS * 16; task += THREADS) {
        const int quad = task % QUADS, rows = task / QUADS % 16, o = task / (QUADS * 16);
        const OutputRecord& output = ((const OutputRecord*)(group + OUTPUTS_AT))[o];
        if (output.base == NONE) continue;
        const F f(output.q);
        const u32* from = stage + o * SLOT + NEAR * rows * STRIDE + 4 * quad;
        u32 x[4][NEAR];
#pragma unroll
        for (int i = 0; i < NEAR; i++) {
            const uint4 v = *(const uint4*)(from + i * STRIDE);
            x[0][i] = v.x, x[1][i] = v.y, x[2][i] = v.z, x[3][i] = v.w;
        }
        near_forward<0>(
            x, f, NearFactors{(const uint2*)(group + FACTORS_AT + o * FACTOR_WORDS), rows, o});
        u32* to = (u32*)(((u64)output.offset[1] << 32) | output.offset[0]) + NEAR * rows * ROW +
                  (INVARIANT ? 0 : first_column + 4 * quad);
#pragma unroll
        for (int i = 0; i < NEAR; i++) {
            store_quad(
                to + i * ROW, first_column, quad,
                make_uint4(
                    f.after_forward(x[0][i]), f.after_forward(x[1][i]), f.after_forward(x[2][i]),
                    f.after_forward(x[3][i])));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) poly_columns(ColumnsArguments a) {
    DYNAMIC_SHARED(shared);
    u32 *stage = (u32*)shared, *groups = stage + 8 * SLOT, *places = groups + 2 * GROUP_WORDS;
    const int first_column = blockIdx.x % PARTS * WIDTH;
    const u32 tile = blockIdx.x / PARTS % a.tile_count, call = blockIdx.x / PARTS / a.tile_count;
    u32* record = (u32*)shared + a.record_at;
    const u64* bases = a.bases + (u64)call * a.base_stride;
    const u32* from = a.tiles + tile * a.record_words;
    for (u32 i = threadIdx.x; i < a.record_words / 4; i += THREADS)
        copy_ahead(record + 4 * i, from + 4 * i);
    end_copies();
    wait_copies<0>();
    __syncthreads();
    const TileHeader& header = *(const TileHeader*)record;
    LoadRecord* loads = (LoadRecord*)(record + sizeof(TileHeader) / 4);
    const PhaseRecord* phases = (const PhaseRecord*)(loads + header.loads);
    // The record may lie where outputs are staged later.
    const u32 phase_count = header.phases, end = phases[phase_count - 1].end_output;
    auto copy_group = [&](u32 number) {
        const u32* from = a.outputs + (u64)number * GROUP_WORDS;
        u32* to = groups + (number & 1) * GROUP_WORDS;
        for (int i = threadIdx.x; i < GROUP_WORDS / 4; i += THREADS)
            copy_ahead(to + 4 * i, from + 4 * i);
    };
    // The factors of sources lie where outputs are staged later.
    prepare_loads(a, loads, (int)header.loads, bases, stage);
    copy_group(phases[0].first_output);
    end_copies();
    wait_copies<1>();
    wait_for_earlier_launches();
    __syncthreads();
    load_sources(loads, (int)header.loads, stage, places, first_column);
#pragma unroll 1
    for (u32 k = 0; k < phase_count; k++) {
        const PhaseRecord phase = phases[k];
        const ConversionRecord* conversion =
            (const ConversionRecord*)(record + phase.first_conversion);
        if (k > 0) __syncthreads();
#pragma unroll 1
        for (u32 c = 0; c < phase.conversions; c++) {
            prepare_conversion(*conversion, places);
            conversion = (const ConversionRecord*)((const SourceRecord*)(conversion + 1) +
                                                   conversion->sources);
        }
#pragma unroll 1
        for (u32 number = phase.first_output; number < phase.end_output; number++) {
            wait_copies<0>();
            __syncthreads();
            if (number + 1 < end) copy_group(number + 1);
            end_copies();
            u32* group = groups + (number & 1) * GROUP_WORDS;
            compute_group(group, places, stage, bases, first_column);
            if (group[MODE_AT] == 0) {
                __syncthreads();
                finish_group(group, stage, first_column);
            }
        }
    }
    let_later_launches_start();
}
EXPORT(poly_columns, ColumnsArguments)
