// combine, blind_rotate, sample_extract, mod_switch to Q_ks: steps 1 to 5 of a bootstrapping, a
// cluster of blocks for one ciphertext. For batches that do not fill the chip, and for rings that
// do not fit one block.
//
// The steps are those of blind_rotate.cu, on the map of cuda/bootstrap/spread.cuh: blocks hear from
// each other twice a step.
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
    Value* products;                                       // [column][word][PART]
    Exchange<Value, ROWS * VALUE_WORDS * PART> digits;     // [row][word][PART]
    Exchange<Value, COLUMNS * VALUE_WORDS * PART> results; // [column][word][rank][OWN]
    Root* roots;
    u16* rotations;

    FUNCTION explicit SpreadTile(void* memory) {
        products = (Value*)memory;
        digits.box = products + COLUMNS * VALUE_WORDS * PART;
        results.box = digits.box + ROWS * VALUE_WORDS * PART;
        roots = (Root*)(results.box + COLUMNS * VALUE_WORDS * PART);
        digits.inbox = (Inbox*)(roots + ROOTS_OF_PART);
        results.inbox = digits.inbox + 1;
        rotations = (u16*)(results.inbox + 1);
    }

    FUNCTION void open() const {
        if (threadIdx.x == 0) {
            digits.open();
            results.open();
        }
        if constexpr (BLOCKS > 1) {
            cluster_arrive();
            cluster_wait();
        } else {
            __syncthreads();
        }
    }
};

constexpr u64 SPREAD_TILE_BYTES = whole_vectors(
    (2 * COLUMNS + ROWS) * VALUE_WORDS * PART * sizeof(Value) + ROOTS_OF_PART * sizeof(Root) +
    2 * sizeof(Inbox) + (LWE_DIMENSION + PACKING) * sizeof(u16));
static_assert(SPREAD_TILE_BYTES == TILE_BYTES, "a tile as it is launched");

// Teams without a part of their own touch no memory,
// and meet the others at the barriers between passes.
template<int depth>
FUNCTION void forward_passes(const Root* roots, Value* part, int word, bool active) {
    if (active)
        run_pass<true, depth>(roots, part, word, threadIdx.x % LANES, [&](int offset, Value value) {
            part[offset] = value;
        });
    if constexpr (!Pass<depth>::LAST) {
        lanes_barrier();
        forward_passes<depth + Pass<depth>::LEVELS_HERE>(roots, part, word, active);
    }
}

// The last pass, at the top of the subtree, hands its results to `put`.
template<int depth, class Put>
FUNCTION void
inverse_passes(const Root* roots, Value* part, int word, bool active, const Put& put) {
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

// The orbits of this thread, accumulators in registers: column, where the orbit lies in a part, and
// whose digits are this thread's task.
struct Orbits {
    Accumulator held[ORBIT_ROUNDS][ORBIT_COEFFICIENTS];

    template<class Body>
    FUNCTION void each(u32 rank, const Body& body) {
        unroll<0, ORBIT_ROUNDS>([&](auto round) {
            int share = ORBIT_SHARES > 1 ? (int)threadIdx.x / ORBIT_WARPS : 0,
                orbit = (int)threadIdx.x - share * ORBIT_WARPS + round * THREADS;
            if (share < ORBIT_SHARES && orbit < ORBITS)
                body(held[round], orbit / OWN, (int)rank * OWN + orbit % OWN, share);
        });
    }
};

// Asks for a step's key slice, each block of the cluster a share; all clusters stream the same, and
// take turns. One request of one thread:
// the hardware issues those of several threads one after the other.
FUNCTION void prefetch_key(const BlindRotateArguments& a, int step, u32 rank) {
    constexpr u32 share = (u32)(KEY_STEP_BYTES / BLOCKS);
    if (threadIdx.x == 0 && step < (int)a.steps &&
        blockIdx.x / BLOCKS == (u32)step % (gridDim.x / BLOCKS)) {
        prefetch_l2((const char*)a.key + (u64)step * KEY_STEP_BYTES + rank * share, share);
    }
}

extern "C" __global__ void
#if SPREAD_CLUSTERS
__cluster_dims__(BLOCKS_PER_CIPHERTEXT, 1, 1)
#endif
    __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
        blind_rotate_spread(const BlindRotateArguments a) {
    DYNAMIC_SHARED(memory);
    const SpreadTile tile(memory);
    const u32 rank = own_rank(), job = blockIdx.x / BLOCKS;
    Orbits orbits;
    Products products(a, rank);

    for (int step = 0; step < PREFETCH_STEPS; step++) prefetch_key(a, step, rank);
    combine(a, job, tile.rotations);
    load_roots(tile.roots, a, rank);
    tile.open();

    // Digits of the levels that are this thread's, of an orbit at `position`,
    // to the owners of the subtrees.
    auto forward = [&](const Accumulator* held, int column, int position, int share, int step) {
        unroll<0, LEVELS>([&](auto level) {
            if (ORBIT_SHARES > 1 && share != level % ORBIT_SHARES) return;
            if constexpr (TRACE) {
                unroll<0, ORBIT_COEFFICIENTS>([&](auto i) {
                    dump_digit<decltype(level)::v>(
                        a, step, column, orbit_coefficient(swizzle(position), i), held[i]);
                });
            }
            forward_orbit<decltype(level)::v>(held, [&](int word, int owner, Value value) {
                // Digits after the last step are nobody's.
                if (step < (int)a.steps)
                    tile.digits.send(
                        owner, ((level * COLUMNS + column) * VALUE_WORDS + word) * PART + position,
                        value);
            });
        });
    };

    orbits.each(rank, [&](Accumulator* held, int column, int position, int share) {
        unroll<0, ORBIT_COEFFICIENTS>([&](auto i) {
            held[i] =
                initialise(a, job, tile.rotations, column, orbit_coefficient(swizzle(position), i));
        });
        forward(held, column, position, share, 0);
    });
    products.load_monomials(a, tile.rotations);
#pragma unroll 1
    for (int step = 0; step < (int)a.steps; step++) {
        tile.digits.meet(step);
        for_parts<ROWS * VALUE_WORDS>([&](int part, bool active) {
            forward_passes<0>(
                tile.roots, tile.digits.box + part * PART, part % VALUE_WORDS, active);
        });
        __syncthreads();
        products.run(a, step, rank, tile.digits.box, tile.products);
        prefetch_key(a, step + PREFETCH_STEPS, rank);
        products.load_monomials(a, tile.rotations + min(step + 1, (int)a.steps - 1) * GROUPING);
        products.refill<0>(a, step + 1);
        __syncthreads();
        for_parts<COLUMNS * VALUE_WORDS>([&](int part, bool active) {
            inverse_passes<0>(
                tile.roots, tile.products + part * PART, part % VALUE_WORDS, active,
                [&](int position, Value value) {
                    tile.results.send(
                        position / OWN, (part * BLOCKS + rank) * OWN + position % OWN, value);
                });
        });
        products.refill<1>(a, step + 1);
        tile.results.meet(step);
        orbits.each(rank, [&](Accumulator* held, int column, int position, int share) {
            inverse_orbit(
                tile.results.box + (column * VALUE_WORDS * BLOCKS) * OWN + position % OWN, held);
            forward(held, column, position, share, step + 1);
        });
        products.refill<2>(a, step + 1);
    }

    orbits.each(rank, [&](Accumulator* held, int column, int position, int share) {
        if (share > 0) return;
        unroll<0, ORBIT_COEFFICIENTS>([&](auto i) {
            int index = orbit_coefficient(swizzle(position), i);
            if constexpr (TRACE) {
                if (dumps(a, DUMP_ACCUMULATOR, a.steps))
                    a.dump[column * POLYNOMIAL_SIZE + index] = stored(held[i]);
            }
            sample_extract(a, job, column, index, held[i]);
        });
    });
}

EXPORT_CLUSTER(blind_rotate_spread, BlindRotateArguments, BLOCKS_PER_CIPHERTEXT)
