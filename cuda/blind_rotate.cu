// combine, blind_rotate, sample_extract, mod_switch to Q_ks: steps 1 to 5 of a bootstrapping, one block for GROUPS
// ciphertexts that share every key load. The accumulator never leaves the chip.
//
// Each LWE index has two phases with a block barrier after each:
//   transform  teams own polynomials: inverse of the last step's products, accumulate, digits, forward
//   product    threads own frequencies: tails of both transforms, sums over rows, monomials
// cuda/lib/tile.cuh draws the map; cuda/lib/ntt.cuh and cuda/lib/fft.cuh hold the two arithmetics.
#include "constants.cuh"
#if GIRIH_FFT
#include "fft.cuh"
#else
#include "ntt.cuh"
#endif

// The job of ciphertext `group` of this block; the last block may hold copies of the last job.
FUNCTION u32 job_index(const BlindRotateArguments& a, int group) {
    u32 index = blockIdx.x * GROUPS + group;
    return index < a.job_count ? index : a.job_count - 1;
}

FUNCTION const BootstrapJob& job_of(const BlindRotateArguments& a, int group) { return a.jobs[job_index(a, group)]; }

// Step 1: exponents a_i * 2N/modulus and b_j * 2N/modulus of every ciphertext. On the native torus the key switch before
// has made them.
FUNCTION void combine(const Tile& tile, const BlindRotateArguments& a) {
    constexpr int length = LWE_DIMENSION + PACKING;
    for (int i = threadIdx.x; i < GROUPS * length; i += THREADS) {
        if constexpr (NATIVE_TORUS) {
            tile.rotations[i] = ((const u16*)a.switched)[(u64)job_index(a, i / length) * length + i % length];
            continue;
        }
        const Combination& input = job_of(a, i / length).input;
        u32 word = combine_word(input, a.store, length, i % length, LWE_DIMENSION);
        tile.rotations[i] = (u16)(word << (LOG2_MONOMIALS - input.log2_modulus));
    }
}

// Step 2: coefficient `index` of X^-s * v for body columns, 0 for mask columns.
FUNCTION Accumulator initial_coefficient(const Tile& tile, const BlindRotateArguments& a, int polynomial, int index) {
    int group = polynomial / COLUMNS, body = polynomial % COLUMNS - GLWE_DIMENSION;
    if (body < 0) return 0;
    const BootstrapJob& job = job_of(a, group);
    const Accumulator* table = (const Accumulator*)a.tables + (u64)(job.table + body * job.table_stride) * POLYNOMIAL_SIZE;
    u32 from = index + tile.rotations[group * (LWE_DIMENSION + PACKING) + LWE_DIMENSION + body];
    Accumulator value = table[from & (POLYNOMIAL_SIZE - 1)];
    return (from & POLYNOMIAL_SIZE) && value != 0 ? (Accumulator)ACCUMULATOR_MODULUS - value : value;
}

// Steps 4 and 5 for one coefficient: where it goes in (a_0, -a_{N-1}, .., -a_1) and b_0 + offset, modulo Q_ks.
FUNCTION void extract(const BlindRotateArguments& a, int polynomial, int index, Accumulator value) {
    int group = polynomial / COLUMNS, column = polynomial % COLUMNS;
    u32 job = blockIdx.x * GROUPS + group;
    if (job >= a.job_count || (column >= GLWE_DIMENSION && index != 0)) return;
    u64 x = value;
    int position;
    if constexpr (NATIVE_TORUS) {
        // The ciphertext is done: modulo 2^64, as the store holds it.
        x <<= 32;
        if (column >= GLWE_DIMENSION) {
            x += a.jobs[job].output_offset;
            position = GLWE_DIMENSION * POLYNOMIAL_SIZE + column - GLWE_DIMENSION;
        } else {
            x = index != 0 ? 0 - x : x;
            position = column * POLYNOMIAL_SIZE + (index == 0 ? 0 : POLYNOMIAL_SIZE - index);
        }
        constexpr int length = GLWE_DIMENSION * POLYNOMIAL_SIZE + PACKING;
        u64* out = TRACE ? a.dump : (u64*)a.store + (u64)a.jobs[job].output * length;
        if (!TRACE || (dumps(a, DUMP_EXTRACTED, a.steps) && group == 0)) out[position] = x;
        return;
    }
    if (column >= GLWE_DIMENSION) {
        x += a.jobs[job].output_offset;
        x = min(x, x - ACCUMULATOR_MODULUS);
        position = GLWE_DIMENSION * POLYNOMIAL_SIZE + column - GLWE_DIMENSION;
    } else {
        if (index != 0 && x != 0) x = ACCUMULATOR_MODULUS - x;
        position = column * POLYNOMIAL_SIZE + (index == 0 ? 0 : POLYNOMIAL_SIZE - index);
    }
    if constexpr (TRACE) {
        if (dumps(a, DUMP_EXTRACTED, a.steps) && group == 0) a.dump[position] = x;
    }
    a.switched[(u64)job * (GLWE_DIMENSION * POLYNOMIAL_SIZE + PACKING) + position] = switch_to_ks(x);
}

// The accumulator polynomials of this thread's team, in registers or, where a team has several, in the tile.
struct Accumulators {
    const Tile& tile;
    Place at;
    Accumulator held[COEFFICIENTS];

    FUNCTION void load(int polynomial) {
        if constexpr (!ACCUMULATOR_IN_REGISTERS) {
            const Accumulator* stored = (const Accumulator*)tile.accumulators + polynomial * POLYNOMIAL_SIZE + at.thread;
            unroll<0, COEFFICIENTS>([&](auto i) { held[i] = stored[i * TEAM]; });
        }
    }

    FUNCTION void store(int polynomial, bool active) {
        if constexpr (!ACCUMULATOR_IN_REGISTERS) {
            Accumulator* stored = (Accumulator*)tile.accumulators + polynomial * POLYNOMIAL_SIZE + at.thread;
            if (active) unroll<0, COEFFICIENTS>([&](auto i) { stored[i * TEAM] = held[i]; });
        }
    }
};

// Runs `body(polynomial, active)` for the polynomials of a team. A team inside a warp stays with its warp, so it runs
// an idle round on some other polynomial without writing; larger teams skip it.
template <class Body> FUNCTION void for_polynomials(Place at, const Body& body) {
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
        int polynomial = at.team + round * TEAMS;
        if constexpr (POLYNOMIALS % TEAMS == 0) {
            body(polynomial, true);
        } else if constexpr (TEAM >= 32) {
            if (polynomial < POLYNOMIALS) body(polynomial, true);
        } else {
            bool active = polynomial < POLYNOMIALS;
            body(active ? polynomial : POLYNOMIALS - 1, active);
        }
    }
}

FUNCTION void prefetch_key(const BlindRotateArguments& a, int step) {
    // All blocks stream the same slice in lockstep; each asks for its share, PREFETCH_STEPS ahead of use.
    constexpr u32 shares = (u32)(KEY_STEP_BYTES / 2048);
    if (threadIdx.x == 0 && step < (int)a.steps) {
        for (u32 share = blockIdx.x % PREFETCH_BLOCKS; share < shares; share += PREFETCH_BLOCKS) {
            prefetch_l2((const char*)a.key + (u64)step * KEY_STEP_BYTES + (u64)share * 2048, 2048);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR) blind_rotate(const BlindRotateArguments a) {
    DYNAMIC_SHARED(memory);
    const Tile tile(memory);
    const Place at = place();
    Accumulators accumulators{tile, at};
    KeyStream key(a);

    combine(tile, a);
    load_tables(tile, a);
    for (int step = 0; step < PREFETCH_STEPS; step++) prefetch_key(a, step);
    __syncthreads();

    auto forward = [&](int polynomial, bool active, int step) {
        if constexpr (TRACE) {
            if (polynomial < COLUMNS && active) {
                unroll<0, COEFFICIENTS>([&](auto i) {
                    unroll<0, LEVELS>([&](auto level) {
                        dump_digit<decltype(level)::v>(a, step, polynomial, coefficient_index(at.thread, i), accumulators.held[i]);
                    });
                });
            }
        }
        forward_polynomial(tile, accumulators.held, polynomial, at, active);
    };

    for_polynomials(at, [&](int polynomial, bool active) {
        unroll<0, COEFFICIENTS>(
            [&](auto i) { accumulators.held[i] = initial_coefficient(tile, a, polynomial, coefficient_index(at.thread, i)); });
        accumulators.store(polynomial, active);
        if (a.steps > 0) forward(polynomial, active, 0);
    });
#pragma unroll 1
    for (int step = 0; step < (int)a.steps; step++) {
        __syncthreads();
        prefetch_key(a, step + PREFETCH_STEPS);
        products(tile, a, step, key);
        __syncthreads();
        for_polynomials(at, [&](int polynomial, bool active) {
            accumulators.load(polynomial);
            inverse_polynomial(tile, accumulators.held, polynomial, at, active);
            accumulators.store(polynomial, active);
            // The last round transforms digits that nobody uses: cheaper than a second copy of this code.
            forward(polynomial, active, step + 1);
        });
    }

    for_polynomials(at, [&](int polynomial, bool active) {
        accumulators.load(polynomial);
        unroll<0, COEFFICIENTS>([&](auto i) {
            int index = coefficient_index(at.thread, i);
            if constexpr (TRACE) {
                if (dumps(a, DUMP_ACCUMULATOR, a.steps) && polynomial < COLUMNS && active) {
                    a.dump[polynomial * POLYNOMIAL_SIZE + index] = accumulators.held[i];
                }
            }
            if (active) extract(a, polynomial, index, accumulators.held[i]);
        });
    });
}

EXPORT(blind_rotate, BlindRotateArguments)
