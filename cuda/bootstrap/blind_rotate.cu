// combine, blind_rotate, sample_extract, mod_switch to Q_ks: steps 1 to 5 of a bootstrapping, one
// block for GROUPS ciphertexts that share every key load. The accumulator never leaves the chip.
//
// Each LWE index has two phases with a block barrier after each:
//   transform   teams own polynomials: inverse of the last step's products, accumulate, digits,
//               forward
//   product     threads own frequencies: tails of both transforms, sums over rows, monomials
// cuda/bootstrap/tile.cuh draws the map; cuda/bootstrap/ntt.cuh and cuda/bootstrap/fft.cuh hold the
// two arithmetics.
#include "bootstrap.cuh"
#include "constants.cuh"
#if GIRIH_FFT
#include "grouped.cuh"
#else
#include "ntt.cuh"
#endif

static_assert(Tile::BYTES == TILE_BYTES, "a tile as it is launched");

// Blocks that divide the asking for keys ahead of use: fewer of packed ones.
constexpr u32 PREFETCH_BLOCKS = KEY_PACKED ? 32 : 128;

// The job of ciphertext `group` of this block; the last block may hold copies of the last job.
FUNCTION u32 job_of(const BlindRotateArguments& a, int group) {
    u32 index = blockIdx.x * GROUPS + group;
    return index < a.job_count ? index : a.job_count - 1;
}

// The accumulator polynomials of this thread's team, in registers or, where a team has several, in
// the tile.
struct Accumulators {
    const Tile& tile;
    Place at;
    Accumulator held[COEFFICIENTS];

    // Two teams of half a warp use different halves of the banks.
    FUNCTION static int place(int i, int polynomial) {
        return (i ^ (TEAM == 16 ? polynomial & 1 : 0)) * TEAM;
    }

    FUNCTION void load(int polynomial) {
        if constexpr (!ACCUMULATOR_IN_REGISTERS) {
            const Accumulator* from =
                (const Accumulator*)tile.accumulators + polynomial * POLYNOMIAL_SIZE + at.thread;
            unroll<0, COEFFICIENTS>([&](auto i) { held[i] = from[place(i, polynomial)]; });
        }
    }

    FUNCTION void store(int polynomial, bool active) {
        if constexpr (!ACCUMULATOR_IN_REGISTERS) {
            Accumulator* to =
                (Accumulator*)tile.accumulators + polynomial * POLYNOMIAL_SIZE + at.thread;
            if (active)
                unroll<0, COEFFICIENTS>([&](auto i) { to[place(i, polynomial)] = held[i]; });
        }
    }
};

// Runs `body(polynomial, active)` for the polynomials of a team. A team inside a warp stays with
// its warp, so it runs idle rounds on polynomials that nobody reads; larger teams skip them.
template<class Body>
FUNCTION void for_polynomials(Place at, const Body& body) {
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
        int polynomial = at.team + round * TEAMS;
        if constexpr (POLYNOMIALS % TEAMS == 0) {
            body(polynomial, true);
        } else if constexpr (TEAM >= 32) {
            if (polynomial < POLYNOMIALS) body(polynomial, true);
        } else {
            body(polynomial, polynomial < POLYNOMIALS);
        }
    }
}

FUNCTION void prefetch_key(const BlindRotateArguments& a, int step) {
    // All blocks stream the same slice in lockstep; each asks for its share, PREFETCH_STEPS ahead
    // of use.
    constexpr u32 shares = (u32)(KEY_STEP_BYTES / 2048);
    if (threadIdx.x == 0 && step < (int)a.steps) {
        for (u32 share = blockIdx.x % PREFETCH_BLOCKS; share < shares; share += PREFETCH_BLOCKS) {
            prefetch_l2((const char*)a.key + (u64)step * KEY_STEP_BYTES + (u64)share * 2048, 2048);
        }
    }
}

extern "C" __global__ void
#if KEEP_STEP
__cluster_dims__(BLOCKS_IN_STEP, 1, 1)
#endif
    __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
        blind_rotate(const BlindRotateArguments a) {
    DYNAMIC_SHARED(memory);
    const Tile tile(memory);
    const Place at = place();
    Accumulators accumulators{tile, at};
    KeyStream key(a);

    for (int group = 0; group < GROUPS; group++) {
        combine(a, job_of(a, group), tile.rotations + group * (LWE_DIMENSION + PACKING));
    }
    load_tables(tile, a);
    for (int step = 0; step < PREFETCH_STEPS; step++) prefetch_key(a, step);
    __syncthreads();
    fetch_monomials(tile, a, 0);

    auto forward = [&](int polynomial, bool active, int step) {
        if constexpr (TRACE) {
            if (polynomial < COLUMNS && active) {
                unroll<0, COEFFICIENTS>([&](auto i) {
                    unroll<0, LEVELS>([&](auto level) {
                        dump_digit<decltype(level)::v>(
                            a, step, polynomial, coefficient_index(at.thread, i),
                            accumulators.held[i]);
                    });
                });
            }
        }
        forward_transform(tile, accumulators.held, polynomial, at, active);
    };

    for_polynomials(at, [&](int polynomial, bool active) {
        int group = min(polynomial / COLUMNS, GROUPS - 1);
        const u16* rotations = tile.rotations + group * (LWE_DIMENSION + PACKING);
        unroll<0, COEFFICIENTS>([&](auto i) {
            accumulators.held[i] = initialise(
                a, job_of(a, group), rotations, polynomial % COLUMNS,
                coefficient_index(at.thread, i));
        });
        accumulators.store(polynomial, active);
        if (a.steps > 0) forward(polynomial, active, 0);
    });
#pragma unroll 1
    for (int step = 0; step < (int)a.steps; step++) {
        const Turns turns(tile, step);
        // Blocks that begin a product phase together read the same part of the key at one time.
        if constexpr (BLOCKS_IN_STEP > 1) cluster_arrive_relaxed();
        __syncthreads();
        if constexpr (BLOCKS_IN_STEP > 1) cluster_wait();
        prefetch_key(a, step + PREFETCH_STEPS);
        fetch_monomials(tile, a, step + 1);
        products(tile, a, step, key, turns);
        __syncthreads();
        for_polynomials(at, [&](int polynomial, bool active) {
            accumulators.load(polynomial);
            inverse_transform(tile, accumulators.held, polynomial, at, active);
            accumulators.store(polynomial, active);
            // The last round transforms digits that nobody uses:
            // cheaper than a second copy of this code.
            forward(polynomial, active, step + 1);
        });
    }

    for_polynomials(at, [&](int polynomial, bool active) {
        accumulators.load(polynomial);
        unroll<0, COEFFICIENTS>([&](auto i) {
            int index = coefficient_index(at.thread, i);
            if constexpr (TRACE) {
                if (dumps(a, DUMP_ACCUMULATOR, a.steps) && polynomial < COLUMNS && active) {
                    a.dump[polynomial * POLYNOMIAL_SIZE + index] = stored(accumulators.held[i]);
                }
            }
            u32 job = blockIdx.x * GROUPS + polynomial / COLUMNS;
            if (active && job < a.job_count)
                sample_extract(a, job, polynomial % COLUMNS, index, accumulators.held[i]);
        });
    });
}

EXPORT_CLUSTER(blind_rotate, BlindRotateArguments, BLOCKS_IN_STEP)
