// Every operation of word.cuh against plain arithmetic of 64 bits, for one prime as a constant and
// as data: `wrong` counts the results that are another residue or above their bound.
#include "constants.cuh"
#include "word.cuh"

struct Arguments {
    u32* wrong; // [operation][constant, data]
};

constexpr int ROUNDS = 300, RADIX = 16;

// Words with extremes among them.
struct Words {
    u64 state = 1;
    FUNCTION u32 next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        u32 word = (u32)(state >> 32);
        return word % 8 == 0 ? 0xffffffffu - word % 3 : word % 8 == 1 ? word % 3 : word;
    }
    // Below `bound` multiples of the prime.
    FUNCTION u32 below(int bound) {
        u64 limit = (u64)bound * PRIME;
        u32 word = next();
        return word == 0xffffffffu ? (u32)(limit - 1) : (u32)(word % limit);
    }
};

struct Pairs {
    const uint2* pairs;
    FUNCTION uint2 operator()(int level, int block) const { return pairs[(1 << level) + block]; }
};

FUNCTION bool differs(u32 word, u64 residue, int bound) {
    return word % PRIME != residue % PRIME || word >= (u64)bound * PRIME;
}

template<class W>
FUNCTION void check(const W& word, u32* wrong) {
    constexpr int P = W::PRODUCT, MOST = W::HEADROOM < 64 ? W::HEADROOM : 64;
    Words words;
    for (int round = 0; round < ROUNDS; round++) {
        uint2 pairs[RADIX];
        for (uint2& pair : pairs) {
            pair.x = words.below(1);
            pair.y = (u32)(((u64)pair.x << 32) / PRIME);
        }
        u32 a = words.next();
        wrong[0] += differs(word.multiply(a, pairs[0].x, pairs[0].y), (u64)a * pairs[0].x, P);

        a = words.below(MOST);
        wrong[2] += differs(word.template reduce<MOST, 1>(a), a, 1);

        u64 high = words.next() % (0u - PRIME), product = high << 32 | words.next();
        u32 reduced = word.montgomery(product);
        bool above = (double)reduced > (double)product / 4294967296.0 + PRIME + 1;
        wrong[4] += (((u64)reduced % PRIME) << 32) % PRIME != product % PRIME || above;

        u32 x[RADIX];
        u64 plain[RADIX];
        for (int i = 0; i < RADIX; i++) plain[i] = x[i] = words.below(P);
        forward_levels<RADIX, 0, P>(word, x, Pairs{pairs});
        for (int level = 0; level < 4; level++) {
            for (int pair = 0; pair < RADIX / 2; pair++) {
                int half = RADIX >> (level + 1), block = pair / half;
                u64 &u = plain[2 * half * block + pair % half], &v = (&u)[half];
                u64 term = v % PRIME * pairs[(1 << level) + block].x % PRIME, kept = u % PRIME;
                u = kept + term, v = kept + PRIME - term;
            }
        }
        for (int i = 0; i < RADIX; i++) wrong[6] += differs(x[i], plain[i], W::forward_bound(P, 4));

        for (int i = 0; i < RADIX; i++) plain[i] = x[i] = words.below(P);
        inverse_levels<RADIX, 0, P, 1>(word, x, Pairs{pairs});
        for (int level = 3; level >= 0; level--) {
            for (int pair = 0; pair < RADIX / 2; pair++) {
                int half = RADIX >> (level + 1), block = pair / half;
                u64 &u = plain[2 * half * block + pair % half], &v = (&u)[half];
                u64 low = u % PRIME, high = v % PRIME;
                u = low + high;
                v = (high + PRIME - low) * pairs[(1 << level) + block].x % PRIME;
            }
        }
        for (int i = 0; i < RADIX; i++) wrong[8] += differs(x[i], plain[i], 1);
    }
}

extern "C" __global__ void check_words(const Arguments a) {
    check(Modular<FixedPrime<PRIME>>(), a.wrong);
    check(Modular<RuntimePrime<HEADROOM>>(PRIME), a.wrong + 1);
}

EXPORT(check_words, Arguments)
