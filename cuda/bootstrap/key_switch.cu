// key_switch and mod_switch to the output modulus: steps 6 and 7 of a bootstrapping: (0, b') minus
// one table row for each digit of each index. Sums are integers that wrap, so their order does not
// matter and partial sums may be added up.
//
//   key_switch         few ciphertexts, or many rows a digit: one ciphertext a block gathers rows
//                      straight from L2; all blocks walk the table in the same order, so that rows
//                      in use stay there. Where ciphertexts are too few for the device, several
//                      blocks share the indices of one.
//   key_switch_tiled   many ciphertexts, few rows a digit: a block has 128 columns of many
//                      ciphertexts, or the last few of more, and brings all rows of a digit into
//                      shared memory once for all of them.
//   key_switch_finish  rounds partial sums.
//
// Digits of 0 read a row of zeros: no branch, many rows in flight.
#include "constants.cuh"
#include "jobs.cuh"

// Stored words are as wide as Q_ks needs: 2 or 4 bytes, or 5 of which the row holds first all low
// 4, then all high ones.
constexpr bool WIDE = KS_WORD_BYTES == 5;
template<bool wide>
struct KsSum {
    typedef u32 type;
};
template<>
struct KsSum<true> {
    typedef u64 type;
};
// A sum modulo 2^32, or 2^64: Q_ks divides both.
typedef KsSum<WIDE>::type Sum;

constexpr int LENGTH = LWE_DIMENSION + PACKING;
constexpr int INDICES = GLWE_DIMENSION * POLYNOMIAL_SIZE;
constexpr u64 ROW_BYTES = (u64)KS_ROW * KS_WORD_BYTES;
constexpr int VALUES = (1 << LOG2_KS_BASE) - 1;
static_assert(KS_DIGITS * VALUES * ROW_BYTES == KS_INDEX_BYTES, "rows as they are uploaded");
constexpr int VECTOR = 4; // words that a thread reads at once; rows are padded to whole vectors

// Sums of four words. Those of 5 bytes are added up without carries: `low` sums their low 32 bits,
// `high` bits 16 to 39, both modulo 2^32. The low 16 bits of fewer than 2^16 words sum to less than
// 2^32, so low - 2^16 high is that very sum.
struct Sums {
    u32 low[VECTOR];
    u32 high[WIDE ? VECTOR : 1];

    FUNCTION void clear() {
        unroll<0, VECTOR>([&](auto v) {
            low[v] = 0;
            if constexpr (WIDE) high[v] = 0;
        });
    }

    FUNCTION Sum at(int v) const {
        if constexpr (WIDE) {
            return (u64)(low[v] - (high[v] << 16)) + ((u64)high[v] << 16);
        } else {
            return low[v];
        }
    }
};
static_assert(
    !WIDE || GLWE_DIMENSION * POLYNOMIAL_SIZE * KS_DIGITS < 1 << 16, "sums without carries");

// Four words of a row, in registers as they are stored.
struct Vector {
    uint4 low;
    u32 high;

    static constexpr int LOW_BYTES = KS_WORD_BYTES == 2 ? 8 : 16, HIGH_BYTES = 4;

    // Its low and its high part.
    FUNCTION static Vector load(const char* low, const char* high) {
        Vector v = {};
        if constexpr (KS_WORD_BYTES == 2) {
            uint2 words = *(const uint2*)low;
            v.low.x = words.x;
            v.low.y = words.y;
        } else {
            v.low = *(const uint4*)low;
            if constexpr (WIDE) v.high = *(const u32*)high;
        }
        return v;
    }

    // Word v; of 2-byte words, sums carry along what lies above them.
    template<int v>
    FUNCTION u32 word() const {
        if constexpr (KS_WORD_BYTES == 2) {
            u32 two = v < 2 ? low.x : low.y;
            return v % 2 == 0 ? two : two >> 16;
        } else {
            return v == 0 ? low.x : v == 1 ? low.y : v == 2 ? low.z : low.w;
        }
    }

    // Bytes 2 and 3 of the low part, then this word's byte of `high`;
    // the fourth byte lies above 2^40.
    template<int v>
    FUNCTION u32 high_word() const {
        return __byte_perm(word<v>(), high, 0x4432 + v * 0x1100);
    }

    FUNCTION void add_to(Sums& sums) const {
        unroll<0, VECTOR>([&](auto v) {
            sums.low[v] += word<decltype(v)::v>();
            if constexpr (WIDE) sums.high[v] += high_word<decltype(v)::v>();
        });
    }
};

// Adds both: an instruction adds three numbers.
FUNCTION void add_two(Sums& sums, const Vector& one, const Vector& other) {
    unroll<0, VECTOR>([&](auto v) {
        constexpr int i = decltype(v)::v;
        sums.low[i] += one.word<i>() + other.word<i>();
        if constexpr (WIDE) sums.high[i] += one.high_word<i>() + other.high_word<i>();
    });
}

// (body - sum) rounded to the output modulus of its job, into the store.
FUNCTION void switch_to_output(const KeySwitchArguments& a, u32 index, int position, Sum sum) {
    constexpr u64 mask = (1ull << LOG2_KS_MODULUS) - 1;
    const BootstrapJob& job = a.jobs[index];
    u64 body =
        position >= LWE_DIMENSION
            ? a.switched[(u64)index * (INDICES + PACKING) + INDICES + position - LWE_DIMENSION]
            : 0;
    u64 word = (body - sum) & mask;
    if (a.dump != nullptr && index == 0) a.dump[position] = word;
    int shift = LOG2_KS_MODULUS - job.log2_output_modulus;
    u64 half = (1ull << shift) >> 1;
    a.store[(u64)job.output * LENGTH + position] =
        (u32)((word + half) >> shift) & ((1u << job.log2_output_modulus) - 1);
}

FUNCTION void add_partial(const KeySwitchArguments& a, u32 index, int position, Sum sum) {
    atomicAdd((Sum*)a.partial + (u64)index * LENGTH + position, sum);
}

constexpr int ROW_VECTORS = KS_ROW / VECTOR;
// Vectors of one thread where a row is longer than the block.
constexpr int HELD = ceil_div(ROW_VECTORS, KS_THREADS);
constexpr int CHUNK = 256;
constexpr int IN_FLIGHT = 16;
constexpr int ROWS_TO_ADD = INDICES * KS_DIGITS;

// a.parts blocks a ciphertext.
extern "C" __global__ void __launch_bounds__(KS_THREADS) key_switch(const KeySwitchArguments a) {
    __shared__ u32 rows[CHUNK]; // row of each (index, digit) of this chunk
    constexpr u32 ZEROS = (u32)ROWS_TO_ADD * VALUES;
    u32 index = blockIdx.x / a.parts, part = blockIdx.x % a.parts;
    int share = ceil_div(ceil_div(ROWS_TO_ADD, (int)a.parts), IN_FLIGHT) * IN_FLIGHT;
    int first = part * share, last = min(first + share, ROWS_TO_ADD);
    const u64* input = a.switched + (u64)index * (INDICES + PACKING);
    Sums sums[HELD];
    unroll<0, HELD>([&](auto h) { sums[h].clear(); });

#pragma unroll 1
    for (int start = first; start < last; start += CHUNK) {
        __syncthreads();
        for (int i = threadIdx.x; i < CHUNK; i += KS_THREADS) {
            int at = start + i;
            u32 value =
                at < last ? (u32)(input[at / KS_DIGITS] >> (at % KS_DIGITS * LOG2_KS_BASE)) & VALUES
                          : 0;
            rows[i] = value != 0 ? (u32)at * VALUES + value - 1 : ZEROS;
        }
        __syncthreads();
        int count = min(CHUNK, last - start);
#pragma unroll 1
        for (int i = 0; i < count; i += IN_FLIGHT) {
            unroll<0, HELD>([&](auto h) {
                // Threads beyond the row read its last vector again and write nothing.
                int vector = min((int)threadIdx.x + h * KS_THREADS, ROW_VECTORS - 1);
                Vector read[IN_FLIGHT];
                unroll<0, IN_FLIGHT>([&](auto k) {
                    const char* row = (const char*)a.key + rows[i + k] * ROW_BYTES;
                    read[k] = Vector::load(
                        row + vector * Vector::LOW_BYTES,
                        row + KS_ROW * 4 + vector * Vector::HIGH_BYTES);
                });
                unroll<0, IN_FLIGHT>([&](auto k) { read[k].add_to(sums[h]); });
            });
        }
    }

    unroll<0, HELD>([&](auto h) {
        unroll<0, VECTOR>([&](auto v) {
            int position = (threadIdx.x + h * KS_THREADS) * VECTOR + v;
            if (position < LENGTH) {
                if (a.parts == 1) {
                    switch_to_output(a, index, position, sums[h].at(v));
                } else {
                    add_partial(a, index, position, sums[h].at(v));
                }
            }
        });
    });
}

extern "C" __global__ void key_switch_finish(const KeySwitchArguments a) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)a.job_count * LENGTH) return;
    Sum* sum = (Sum*)a.partial + i;
    switch_to_output(a, (u32)(i / LENGTH), (int)(i % LENGTH), *sum);
    *sum = 0; // ready for the next launch
}

constexpr int TILE_WARPS = KS_TILE_THREADS / 32;
constexpr int OWN = WIDE ? 8 : 16;

// A tile: the columns of `lanes` lanes, a vector each, of OWN ciphertexts for each such share of a
// warp. The last columns of a row have tiles of fewer lanes where these hold them,
// so that no lane idles.
template<int lanes>
struct TileOf {
    static constexpr int COLUMNS = lanes * VECTOR;
    static constexpr int SHARES = 32 / lanes;
    static constexpr int CIPHERTEXTS = TILE_WARPS * SHARES * OWN;
    // A piece of a row in shared memory: the low parts of its columns, then the high ones.
    static constexpr int PIECE_LOW = COLUMNS * (WIDE ? 4 : KS_WORD_BYTES);
    static constexpr int PIECE = COLUMNS * KS_WORD_BYTES;
    // The pieces of all values of one digit, value 0 first: zeros. A stage holds KS_STAGE_PAIRS
    // digits of an index or of two.
    static constexpr int PAIR = (VALUES + 1) * PIECE;
    static constexpr int STAGE = KS_STAGE_PAIRS * PAIR;
    // Indices whose digits are taken apart at once: as many digits in all tiles.
    static constexpr int CHUNK = 8 / SHARES;
    static constexpr int PAIRS = CHUNK * KS_DIGITS;
    static constexpr int WORDS_EACH = ceil_div(CIPHERTEXTS * CHUNK, KS_TILE_THREADS);
    // Units of 16 bytes that a thread copies into each stage, always the same ones.
    static constexpr int UNITS = PIECE / 16;
    static constexpr int UNITS_EACH = ceil_div(KS_STAGE_PAIRS * VALUES * UNITS, KS_TILE_THREADS);
    static_assert(INDICES % CHUNK == 0 && PAIRS % KS_STAGE_PAIRS == 0, "whole chunks and stages");
    // Stages, and an offset for each digit of a chunk.
    static constexpr u64 BYTES = (u64)KS_STAGES * STAGE + (u64)PAIRS * CIPHERTEXTS * sizeof(u32);
    static_assert(KS_TILE_BYTES == 0 || BYTES <= KS_TILE_BYTES, "a tile as it is launched");
};
// Tiles of fewer lanes need no more than whole ones, which a launch is sized for.
static_assert(KS_TILE_BYTES == 0 || TileOf<32>::BYTES == KS_TILE_BYTES, "a tile as it is launched");

// Tiles of whole warps, and lanes of the tile behind them (0: none).
constexpr int LAST_COLUMNS = LENGTH % (32 * VECTOR);
constexpr int LAST_LANES = LAST_COLUMNS == 0 || LAST_COLUMNS > 16 * VECTOR ? 0
                           : LAST_COLUMNS > 8 * VECTOR                     ? 16
                                                                           : 8;
constexpr int WHOLE_TILES = LAST_LANES > 0 ? LENGTH / (32 * VECTOR) : ceil_div(LENGTH, 32 * VECTOR);

template<class Tile>
struct Filler {
    static constexpr u32 NONE = 0xffffffff;
    const char* rows; // of the next stage: rows of consecutive pairs follow each other
    // NONE where this thread has none, or columns are beyond the row: summed, never written.
    u32 from[Tile::UNITS_EACH];
    u32 to[Tile::UNITS_EACH];

    FUNCTION Filler(const KeySwitchArguments& a, int pair, int first_column)
        : rows((const char*)a.key + (u64)pair * VALUES * ROW_BYTES) {
        unroll<0, Tile::UNITS_EACH>([&](auto k) {
            int i = threadIdx.x + k * KS_TILE_THREADS, row = i / Tile::UNITS,
                at = i % Tile::UNITS * 16;
            bool is_low = at < Tile::PIECE_LOW;
            int within = is_low ? first_column * (WIDE ? 4 : KS_WORD_BYTES) + at
                                : first_column + at - Tile::PIECE_LOW;
            int part = is_low ? KS_ROW * (WIDE ? 4 : KS_WORD_BYTES) : KS_ROW;
            bool mine = row < KS_STAGE_PAIRS * VALUES && within < part;
            from[k] = mine ? row * (u32)ROW_BYTES + (is_low ? 0 : KS_ROW * 4) + within : NONE;
            to[k] = (row + row / VALUES + 1) * Tile::PIECE + at;
        });
    }

    // Asks for the pieces of the next stage.
    FUNCTION void fill(char* stage) {
        unroll<0, Tile::UNITS_EACH>([&](auto k) {
            if (from[k] != NONE) copy_ahead(stage + to[k], rows + from[k]);
        });
        rows += KS_STAGE_PAIRS * VALUES * ROW_BYTES;
    }
};

// A lane's vector of the row at offset c of `offsets`; `low` and `high` are where its vectors of
// row 0 are.
FUNCTION Vector load_piece(const char* low, const char* high, uint4 offsets, int c) {
    u32 offset = c == 0 ? offsets.x : c == 1 ? offsets.y : c == 2 ? offsets.z : offsets.w;
    return Vector::load(low + offset, high + offset);
}

// Adds what `part` of a.parts of the indices brings to the columns from `first_column` on of the
// ciphertexts from `first_job` on.
template<class Tile>
FUNCTION void
switch_tile(const KeySwitchArguments& a, char* memory, u32 first_job, int first_column, u32 part) {
    char* stages = memory;
    u32* offsets =
        (u32*)(stages +
               KS_STAGES *
                   Tile::STAGE); // [pair of this chunk][ciphertext] of its piece in the stage
    constexpr u32 chunks = INDICES / Tile::CHUNK;
    int chunk = chunks * part / a.parts, last_chunk = chunks * (part + 1) / a.parts;
    int pair = chunk * Tile::PAIRS, last_pair = last_chunk * Tile::PAIRS;
    // The first of a share's ciphertexts, and a lane's vector of the columns.
    int ciphertext = threadIdx.x / (32 / Tile::SHARES) * OWN,
        vector = threadIdx.x % (32 / Tile::SHARES);

    // Row 0 of each pair stays zero.
    for (int i = threadIdx.x; i < KS_STAGES * KS_STAGE_PAIRS * Tile::PIECE / 4;
         i += KS_TILE_THREADS) {
        ((u32*)(stages + i / (Tile::PIECE / 4) * Tile::PAIR))[i % (Tile::PIECE / 4)] = 0;
    }

    u64 words[Tile::WORDS_EACH]; // of the next chunk, [ciphertext][index] over the threads
    auto read_words = [&](int at) {
        unroll<0, Tile::WORDS_EACH>([&](auto k) {
            int i = threadIdx.x + k * KS_TILE_THREADS;
            u32 job = min(first_job + i / Tile::CHUNK, a.job_count - 1);
            words[k] =
                at < last_chunk
                    ? a.switched
                          [(u64)job * (INDICES + PACKING) + at * Tile::CHUNK + i % Tile::CHUNK]
                    : 0;
        });
    };
    read_words(chunk);
    Filler<Tile> filler(a, pair, first_column);
    unroll<0, KS_STAGES - 1>([&](auto s) {
        if (pair + s * KS_STAGE_PAIRS < last_pair) filler.fill(stages + s * Tile::STAGE);
        end_copies();
    });

    Sums sums[OWN];
    unroll<0, OWN>([&](auto c) { sums[c].clear(); });
    int stage = 0;
#pragma unroll 1
    for (; chunk < last_chunk; chunk++) {
        __syncthreads(); // the digits of the last chunk have been read
        unroll<0, Tile::WORDS_EACH>([&](auto k) {
            int i = threadIdx.x + k * KS_TILE_THREADS;
            unroll<0, KS_DIGITS>([&](auto d) {
                u32 value = (u32)(words[k] >> (d * LOG2_KS_BASE)) & VALUES;
                offsets[(i % Tile::CHUNK * KS_DIGITS + d) * Tile::CIPHERTEXTS + i / Tile::CHUNK] =
                    value * Tile::PIECE;
            });
        });
        read_words(chunk + 1);
#pragma unroll 1
        for (int p = 0; p < Tile::PAIRS; p += KS_STAGE_PAIRS, pair += KS_STAGE_PAIRS) {
            // All but the newest KS_STAGES - 2 copies are there, for every thread; what was read a
            // stage ago may be overwritten.
            wait_copies<KS_STAGES - 2>();
            __syncthreads();
            int free = stage == 0 ? KS_STAGES - 1 : stage - 1;
            if (pair + (KS_STAGES - 1) * KS_STAGE_PAIRS < last_pair)
                filler.fill(stages + free * Tile::STAGE);
            end_copies();
            const char* low = stages + (stage * Tile::STAGE + vector * Vector::LOW_BYTES);
            const char* high =
                stages + (stage * Tile::STAGE + Tile::PIECE_LOW + vector * Vector::HIGH_BYTES);
            const uint4* own = (const uint4*)(offsets + p * Tile::CIPHERTEXTS + ciphertext);
            unroll<0, OWN / 4>([&](auto quarter) {
                uint4 four = own[quarter];
                if constexpr (KS_STAGE_PAIRS == 1) {
                    unroll<0, 4>([&](auto c) {
                        load_piece(low, high, four, c).add_to(sums[quarter * 4 + c]);
                    });
                } else {
                    uint4 next = own[Tile::CIPHERTEXTS / 4 + quarter];
                    unroll<0, 4>([&](auto c) {
                        add_two(
                            sums[quarter * 4 + c], load_piece(low, high, four, c),
                            load_piece(low + Tile::PAIR, high + Tile::PAIR, next, c));
                    });
                }
            });
            stage = stage + 1 == KS_STAGES ? 0 : stage + 1;
        }
    }

    unroll<0, OWN>([&](auto c) {
        u32 job = first_job + ciphertext + c;
        unroll<0, VECTOR>([&](auto v) {
            int position = first_column + vector * VECTOR + v;
            if (job < a.job_count && position < LENGTH)
                add_partial(a, job, position, sums[c].at(v));
        });
    });
}

// a.parts blocks a tile: each takes its share of the indices. Whole tiles come first.
extern "C" __global__ void __launch_bounds__(KS_TILE_THREADS, 1)
    key_switch_tiled(const KeySwitchArguments a) {
    DYNAMIC_SHARED(memory);
    using Whole = TileOf<32>;
    u32 tiles = (a.job_count + Whole::CIPHERTEXTS - 1) / Whole::CIPHERTEXTS, block = blockIdx.x;
    if (LAST_LANES == 0 || block < tiles * WHOLE_TILES * a.parts) {
        u32 part = block / tiles / WHOLE_TILES;
        switch_tile<Whole>(
            a, (char*)memory, block % tiles * Whole::CIPHERTEXTS,
            block / tiles % WHOLE_TILES * Whole::COLUMNS, part);
    } else {
        using Last = TileOf<LAST_LANES == 0 ? 32 : LAST_LANES>;
        u32 last_tiles = (a.job_count + Last::CIPHERTEXTS - 1) / Last::CIPHERTEXTS;
        block -= tiles * WHOLE_TILES * a.parts;
        switch_tile<Last>(
            a, (char*)memory, block % last_tiles * Last::CIPHERTEXTS, WHOLE_TILES * Whole::COLUMNS,
            block / last_tiles);
    }
}

EXPORT(key_switch, KeySwitchArguments)
EXPORT(key_switch_finish, KeySwitchArguments)
EXPORT(key_switch_tiled, KeySwitchArguments)
