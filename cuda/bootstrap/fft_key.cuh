// The bootstrapping key of the f64 FFT: its order in memory, and the entries of a thread on their
// way from there.
#pragma once
#include "jobs.cuh"
#include "tile.cuh"

// Few rows: hold all digits and sum one column at a time. Many rows: hold the sums of all columns
// and read digits once.
constexpr bool HOLD_DIGITS = ROWS <= 2 * COLUMNS;
// Entries of one f follow each other through all steps in the order of their use. One complex entry
// is 16 bytes. Where digits are held: [step][column][row][C0 + C1, C0 - C1][j][f], else
// [step][row][column]..; binary secrets: C0 alone; steps of several indices:
// [step][j][column][row][GGSW ciphertext][f] and [step][row][j][column].. With KEY_PACKED two
// entries, sum and difference, take 24 bytes: [step][column][row][j], then 16 bytes and then 8 of
// each f.
CONSTANT_FUNCTION int key_entry(int column, int row, int x, int j) {
    if constexpr (KEY_PACKED) return ((column * ROWS + row) * TAIL + j) * GGSW + x;
    if constexpr (GROUPING == 1)
        return ((HOLD_DIGITS ? column * ROWS + row : row * COLUMNS + column) * GGSW + x) * TAIL + j;
    return (HOLD_DIGITS ? (j * COLUMNS + column) * ROWS + row
                        : (row * TAIL + j) * COLUMNS + column) *
               GGSW +
           x;
}
constexpr int KEY_ENTRIES = ROWS * GGSW * TAIL;
constexpr int KEY_UNIT = KEY_PACKED ? 2 : 1; // entries that are read together
constexpr int UNIT_BYTES = KEY_PACKED ? 24 : 16;
constexpr u64 KEY_STEP_BYTES =
    (u64)UNIT_BYTES * (COLUMNS * KEY_ENTRIES / KEY_UNIT) * FREQUENCY_GROUPS;
static_assert(!KEY_PACKED || (HOLD_DIGITS && GGSW == 2), "pairs of sum and difference");
static_assert(KEY_STEP_BYTES == STEP_BYTES, "a step's slice of the key as it is uploaded");

// One unit of the key in registers.
template<bool packed>
struct KeyUnit {
    double2 entry;

    // From the place of `at` for the f of this thread.
    FUNCTION static KeyUnit load(const char* at, int) { return {load_key((const double2*)at)}; }
    FUNCTION static KeyUnit load_now(const char* at, int) {
        return {load_key_now((const double2*)at)};
    }
    FUNCTION double2 get(int) const { return entry; }
};

// Sum and difference as multiples of 2^KEY_EXPONENT, 48 bits each: their low 32 bits, then the
// others, with an offset of 2^47.
template<>
struct KeyUnit<true> {
    uint4 low;
    uint2 high;

    FUNCTION static const uint2* high_at(const char* at, int f) {
        return (const uint2*)(at + 16 * FREQUENCY_GROUPS - 8 * f);
    }
    FUNCTION static KeyUnit load(const char* at, int f) {
        return {load_key((const uint4*)at), load_key(high_at(at, f))};
    }
    FUNCTION static KeyUnit load_now(const char* at, int f) {
        return {load_key_now((const uint4*)at), load_key_now(high_at(at, f))};
    }

    // 2^52 + x in units of 2^KEY_EXPONENT has x in its low 48 bits; `selector` picks the 16 upper
    // ones of them.
    FUNCTION static double unpack(u32 low, u32 high, u32 selector) {
        constexpr u32 exponent = 0x43300000u + ((u32)KEY_EXPONENT << 20);
        return __hiloint2double((int)__byte_perm(high, exponent, selector), (int)low) -
               __hiloint2double((int)(exponent | 0x8000u), 0);
    }

    FUNCTION double2 get(int x) const {
        return x == 0 ? make_double2(unpack(low.x, high.x, 0x7610), unpack(low.y, high.x, 0x7632))
                      : make_double2(unpack(low.z, high.y, 0x7610), unpack(low.w, high.y, 0x7632));
    }
};

// Frequencies of one thread, and the entries that it takes in a run: one column of one frequency,
// or all of them.
constexpr int FREQUENCY_ROUNDS = ceil_div(FREQUENCY_GROUPS, THREADS);
constexpr int RUNS = HOLD_DIGITS && GROUPING == 1 ? COLUMNS : 1;
constexpr int RUN_ENTRIES = KEY_ENTRIES * COLUMNS / RUNS;

// The key entries of this thread's frequencies. A thread asks for entries KEY_RING ahead of use:
// those asked for at the end of a product phase arrive during the transforms. The last step reads
// past the key, into the slack behind it.
struct KeyStream {
    typedef KeyUnit<KEY_PACKED> Unit;
    static constexpr int STRIDE = UNIT_BYTES * FREQUENCY_GROUPS; // from unit to unit
    static constexpr int RING = KEY_RING / KEY_UNIT;             // in units
    static constexpr int RUN = RUN_ENTRIES / KEY_UNIT;
    const char* at;   // the first entry of this run
    const char* next; // and of the next one
    Unit ahead[RING > 0 ? RING : 1];
    static_assert(KEY_RING % KEY_UNIT == 0 && RUN_ENTRIES % KEY_UNIT == 0, "whole units");
    static_assert(
        KEY_RING == 0 || (FREQUENCY_GROUPS % THREADS == 0 && RUN % RING == 0),
        "a ring closes with each run");
    static_assert(
        KEY_RING == 0 || !KEY_PACKED || FREQUENCY_ROUNDS == 1,
        "the two parts of a packed unit have strides of their own");

    FUNCTION explicit KeyStream(const BlindRotateArguments& a)
        : at((const char*)a.key + threadIdx.x * 16) {
        unroll<0, RING>([&](auto i) { ahead[i] = Unit::load_now(at + i * STRIDE, threadIdx.x); });
    }

    // Before the first run of a frequency.
    FUNCTION void seek(const BlindRotateArguments& a, int step, int f) {
        if constexpr (KEY_RING == 0) at = (const char*)a.key + step * KEY_STEP_BYTES + f * 16;
    }

    // Before a run. The runs of a thread with one frequency follow each other.
    FUNCTION void look_ahead(int run, int f) {
        constexpr int length = RUN * STRIDE;
        if (FREQUENCY_ROUNDS > 1 && run + 1 == RUNS) {
            // The first run of the thread's next frequency, or of its first one in the next step.
            next = at + (f + THREADS < FREQUENCY_GROUPS
                             ? THREADS * 16 - (RUNS - 1) * length
                             : length - (FREQUENCY_ROUNDS - 1) * THREADS * 16);
        } else {
            next = at + length;
        }
    }

    // Hands entry i of this run at frequency f to `use`; entries are taken in order.
    template<class Use>
    FUNCTION void take(int i, int f, const Use& use) {
        int unit = i / KEY_UNIT, within = i % KEY_UNIT;
        if constexpr (KEY_RING == 0) {
            if (within == 0) ahead[0] = Unit::load(at + unit * STRIDE, f);
            use(ahead[0].get(within));
        } else {
            use(ahead[unit % RING].get(within));
            if (within + 1 < KEY_UNIT) return;
            int later = unit + RING;
            bool is_next = FREQUENCY_ROUNDS > 1 && later >= RUN;
            ahead[unit % RING] =
                Unit::load_now(is_next ? next + (later - RUN) * STRIDE : at + later * STRIDE, f);
        }
    }

    FUNCTION void advance() { at = next; }
};
