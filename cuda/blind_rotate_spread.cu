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

constexpr int VALUE_WORDS = WORDS_IN_SLOTS;

struct SpreadTile {
    Value* digits;   // [row][word][PART]
    Value* products; // [column][word][PART]; without PUSH they lie where peers read them
    Root* roots;
    Exchange<Value> exchange;
    u16* rotations;

    FUNCTION explicit SpreadTile(void* memory) {
        digits = (Value*)memory;
        products = digits + ROWS * VALUE_WORDS * PART;
        exchange.values = products + (PUSH ? COLUMNS * VALUE_WORDS * PART : 0);
        roots = (Root*)(exchange.values + 2 * Exchange<Value>::HALF);
        exchange.inboxes = (Inbox*)(roots + ROOTS_OF_PART);
        rotations = (u16*)(exchange.inboxes + 2);
    }

    FUNCTION Value* products_of(int step) const { return PUSH ? products : exchange.part(step, 0); }
};

// Teams without a part of their own touch no memory, and meet the others at the barriers between passes.
template <int depth> FUNCTION void forward_passes(const Root* roots, Value* part, int word, bool active) {
    if (active) run_pass<true, depth>(roots, part, word, threadIdx.x % LANES, [&](int offset, Value value) { part[offset] = value; });
    if constexpr (!Pass<depth>::LAST) {
        lanes_barrier();
        forward_passes<depth + Pass<depth>::LEVELS_HERE>(roots, part, word, active);
    }
}

// The last pass, at the top of the subtree, hands its results to `put`.
template <int depth, class Put> FUNCTION void inverse_passes(const Root* roots, Value* part, int word, bool active, const Put& put) {
    if constexpr (!Pass<depth>::LAST) {
        inverse_passes<depth + Pass<depth>::LEVELS_HERE>(roots, part, word, active, put);
        lanes_barrier();
    }
    if (!active) return;
    run_pass<false, depth>(roots, part, word, threadIdx.x % LANES, [&](int offset, Value value) {
        if constexpr (depth == 0) {
            put(offset, value);
        } else {
            part[offset] = value;
        }
    });
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

// Asks for a step's key slice, each block of the cluster a share; all clusters stream the same, and take turns. One request
// of one thread: the hardware issues those of several threads one after the other.
FUNCTION void prefetch_key(const BlindRotateArguments& a, int step, u32 rank) {
    constexpr u32 share = (u32)(KEY_STEP_BYTES / BLOCKS);
    if (threadIdx.x == 0 && step < (int)a.steps && blockIdx.x / BLOCKS == (u32)step % (gridDim.x / BLOCKS)) {
        prefetch_l2((const char*)a.key + (u64)step * KEY_STEP_BYTES + rank * share, share);
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

    for (int step = 0; step < PREFETCH_STEPS; step++) prefetch_key(a, step, rank);
    combine(a, job, tile.rotations);
    load_roots(tile.roots, a, rank);
    tile.exchange.open();
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
    products.load_monomials(a, tile.rotations);
#pragma unroll 1
    for (int step = 0; step < (int)a.steps; step++) {
        __syncthreads();
        for_parts<ROWS * VALUE_WORDS>([&](int part, bool active) {
            forward_passes<0>(tile.roots, tile.digits + part * PART, part % VALUE_WORDS, active);
        });
        __syncthreads();
        Value* sums = tile.products_of(step);
        products.run(a, step, rank, tile.digits, sums);
        prefetch_key(a, step + PREFETCH_STEPS, rank);
        products.load_monomials(a, tile.rotations + min(step + 1, (int)a.steps - 1) * GROUPING);
        products.refill<0>(a, step + 1);
        __syncthreads();
        for_parts<COLUMNS * VALUE_WORDS>([&](int part, bool active) {
            inverse_passes<0>(tile.roots, sums + part * PART, part % VALUE_WORDS, active,
                              [&](int offset, Value value) { tile.exchange.put(step, part, rank, offset, value); });
        });
        products.refill<1>(a, step + 1);
        tile.exchange.meet(step);
        // The last step transforms digits that nobody uses: cheaper than a second copy of this code.
        orbits.each([&](Accumulator* held, int column, int offset) {
            inverse_orbit(tile.exchange, step, column, offset, held);
            forward(held, column, offset, step + 1);
        });
        products.refill<2>(a, step + 1);
    }

    if (rank == 0) {
        orbits.each([&](Accumulator* held, int column, int offset) {
            unroll<0, ORBIT_COEFFICIENTS>([&](auto i) {
                int index = orbit_coefficient(offset, i);
                if constexpr (TRACE) {
                    if (dumps(a, DUMP_ACCUMULATOR, a.steps)) a.dump[column * POLYNOMIAL_SIZE + index] = stored(held[i]);
                }
                extract(a, job, column, index, held[i]);
            });
        });
    }
    tile.exchange.close();
}

EXPORT_CLUSTER(blind_rotate_spread, BlindRotateArguments, BLOCKS_PER_CIPHERTEXT)
