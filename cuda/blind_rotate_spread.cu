// combine, blind_rotate, sample_extract, mod_switch to Q_ks: steps 1 to 5 of a bootstrapping, a cluster of blocks for one
// ciphertext. For batches that do not fill the chip, and for rings that do not fit one block.
//
// The steps are those of blind_rotate.cu, on the map of cuda/lib/spread.cuh: one barrier of the cluster a step.
#include "bootstrap.cuh"
#include "constants.cuh"
#if GIRIH_FFT
#include "spread_fft.cuh"
typedef double2 Root;
#else
#include "spread_ntt.cuh"
typedef uint2 Root;
#endif

struct SpreadTile {
    Value* digits;   // [row][word][PART]
    Value* products; // [2][column][word][PART]: peers read one while the next step fills the other
    Root* roots;
    u16* rotations;

    static constexpr int PRODUCTS_LENGTH = COLUMNS * VALUE_WORDS * PART;

    FUNCTION explicit SpreadTile(void* memory) {
        digits = (Value*)memory;
        products = digits + ROWS * VALUE_WORDS * PART;
        roots = (Root*)(products + 2 * PRODUCTS_LENGTH);
        rotations = (u16*)(roots + ROOTS_OF_PART);
    }
};

template <int depth> FUNCTION void forward_passes(const Root* roots, Value* part, int word, bool active) {
    run_pass<true, depth>(roots, part, word, threadIdx.x % LANES, active);
    if constexpr (!Pass<depth>::LAST) {
        lanes_barrier();
        forward_passes<depth + Pass<depth>::LEVELS_HERE>(roots, part, word, active);
    }
}

template <int depth> FUNCTION void inverse_passes(const Root* roots, Value* part, int word, bool active) {
    if constexpr (!Pass<depth>::LAST) {
        inverse_passes<depth + Pass<depth>::LEVELS_HERE>(roots, part, word, active);
        lanes_barrier();
    }
    run_pass<false, depth>(roots, part, word, threadIdx.x % LANES, active);
}

// The orbits of this thread: column and offset of each, accumulators in registers.
struct Orbits {
    Accumulator held[ORBIT_ROUNDS][ORBIT_COEFFICIENTS];

    template <class Body> FUNCTION void each(const Body& body) {
        unroll<0, ORBIT_ROUNDS>([&](auto round) {
            int orbit = threadIdx.x + round * THREADS;
            if (ORBIT_ROUNDS * THREADS == ORBITS || orbit < ORBITS) body(held[round], orbit / PART, orbit % PART);
        });
    }
};

// Asks for the own part of a step's key slice. All clusters stream the same: they take turns.
FUNCTION void prefetch_part(const BlindRotateArguments& a, int step, u32 rank) {
    constexpr u32 runs = (u32)(KEY_STEP_BYTES / 16 / FREQUENCY_GROUPS), length = FREQUENCY_GROUPS / BLOCKS * 16;
    u32 clusters = gridDim.x / BLOCKS;
    if (step < (int)a.steps && blockIdx.x / BLOCKS == (u32)step % clusters) {
        const char* slice = (const char*)a.key + (u64)step * KEY_STEP_BYTES + rank * length;
        for (u32 run = threadIdx.x; run < runs; run += THREADS) prefetch_l2(slice + (u64)run * FREQUENCY_GROUPS * 16, length);
    }
}

extern "C" __global__ void
#if SPREAD_CLUSTERS
__cluster_dims__(BLOCKS_PER_CIPHERTEXT, 1, 1)
#endif
__launch_bounds__(THREADS, 1) blind_rotate_spread(const BlindRotateArguments a) {
    DYNAMIC_SHARED(memory);
    const SpreadTile tile(memory);
    const u32 rank = own_rank(), job = blockIdx.x / BLOCKS;
    const Path path(a, rank);
    Orbits orbits;
    Products products(a, rank);

    for (int step = 0; step < PREFETCH_STEPS; step++) prefetch_part(a, step, rank);
    combine(a, job, tile.rotations);
    load_roots(tile.roots, a, rank);
    __syncthreads();

    auto forward = [&](const Accumulator* held, int column, int offset, int step) {
        unroll<0, LEVELS>([&](auto level) {
            if constexpr (TRACE) {
                if (rank == 0) {
                    unroll<0, ORBIT_COEFFICIENTS>(
                        [&](auto i) { dump_digit<decltype(level)::v>(a, step, column, orbit_coefficient(offset, i), held[i]); });
                }
            }
            forward_orbit<decltype(level)::v>(path, held, tile.digits + (level * COLUMNS + column) * VALUE_WORDS * PART, offset);
        });
    };

    orbits.each([&](Accumulator* held, int column, int offset) {
        unroll<0, ORBIT_COEFFICIENTS>(
            [&](auto i) { held[i] = initial_coefficient(a, job, tile.rotations, column, orbit_coefficient(offset, i)); });
        forward(held, column, offset, 0);
    });
    products.load_monomials(a, tile.rotations[0]);
#pragma unroll 1
    for (int step = 0; step < (int)a.steps; step++) {
        Value* sums = tile.products + (step & 1) * SpreadTile::PRODUCTS_LENGTH;
        __syncthreads();
        for_parts<ROWS * VALUE_WORDS>([&](int part, bool active) {
            forward_passes<0>(tile.roots, tile.digits + part * PART, part % VALUE_WORDS, active);
        });
        __syncthreads();
        products.run(a, step, rank, tile.digits, sums);
        __syncthreads();
        for_parts<COLUMNS * VALUE_WORDS>([&](int part, bool active) {
            inverse_passes<0>(tile.roots, sums + part * PART, part % VALUE_WORDS, active);
        });
        parts_arrive();
        // What does not depend on the peers, while they arrive.
        prefetch_part(a, step + PREFETCH_STEPS, rank);
        products.load_monomials(a, tile.rotations[step + 1]);
        parts_wait();
        // The last step transforms digits that nobody uses: cheaper than a second copy of this code.
        orbits.each([&](Accumulator* held, int column, int offset) {
            inverse_orbit(sums + column * VALUE_WORDS * PART, offset, held);
            forward(held, column, offset, step + 1);
        });
    }

    // No block ends while a peer may read its shared memory.
    parts_arrive();
    if (rank == 0) {
        orbits.each([&](Accumulator* held, int column, int offset) {
            unroll<0, ORBIT_COEFFICIENTS>([&](auto i) {
                int index = orbit_coefficient(offset, i);
                if constexpr (TRACE) {
                    if (dumps(a, DUMP_ACCUMULATOR, a.steps)) a.dump[column * POLYNOMIAL_SIZE + index] = held[i];
                }
                extract(a, job, column, index, held[i]);
            });
        });
    }
    parts_wait();
}

EXPORT_CLUSTER(blind_rotate_spread, BlindRotateArguments, BLOCKS_PER_CIPHERTEXT)
