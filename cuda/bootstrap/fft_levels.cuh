// Butterflies of the folded f64 FFT, and the levels that one pass runs in registers.
#pragma once
#include "tile.cuh"

// (u, v) -> (u + c v, u - c v) in six multiply-adds; the second is 2 u minus the first.
FUNCTION void forward_butterfly(double2& u, double2& v, double2 c) {
    double2 sum;
    sum.x = fma(-c.y, v.y, fma(c.x, v.x, u.x));
    sum.y = fma(c.y, v.x, fma(c.x, v.y, u.y));
    v.x = fma(2.0, u.x, -sum.x);
    v.y = fma(2.0, u.y, -sum.y);
    u = sum;
}

FUNCTION double2 times_conjugate(double2 x, double2 c) {
    return make_double2(fma(c.y, x.y, c.x * x.x), fma(-c.y, x.x, c.x * x.y));
}

// (u, v) -> (u + v, conj(c) (u - v)).
FUNCTION void inverse_butterfly(double2& u, double2& v, double2 c) {
    double2 difference = make_double2(u.x - v.x, u.y - v.y);
    u = make_double2(u.x + v.x, u.y + v.y);
    v = times_conjugate(difference, c);
}

// Roots come from `roots(level, pair)`: that of block 2 pair; block 2 pair + 1 has i times it.
template<int radix, int level, class Roots>
FUNCTION void forward_levels(double2* x, const Roots& roots) {
    if constexpr ((1 << level) < radix) {
        constexpr int half = radix >> (level + 1);
        unroll<0, (level == 0 ? 1 : 1 << (level - 1))>([&](auto pair) {
            double2 root = roots(level, int(pair));
            double2 turned = make_double2(-root.y, root.x);
            unroll<0, half>([&](auto i) {
                forward_butterfly(x[4 * half * pair + i], x[4 * half * pair + i + half], root);
                if constexpr (level > 0)
                    forward_butterfly(
                        x[4 * half * pair + 2 * half + i], x[4 * half * pair + 3 * half + i],
                        turned);
            });
        });
        forward_levels<radix, level + 1>(x, roots);
    }
}

// Undoes forward_levels without the factor 1/radix.
template<int radix, int done, class Roots>
FUNCTION void inverse_levels(double2* x, const Roots& roots) {
    if constexpr (JOIN_LEVELS && (4 << done) == radix && radix >= 8) {
        // The last two levels at once, with the product of their roots: 28 operations on four
        // values instead of 32.
        constexpr int half = 1 << done;
        double2 s = roots(0, 0), r = roots(1, 0),
                q = make_double2(fma(-s.y, r.y, s.x * r.x), fma(s.y, r.x, s.x * r.y));
        unroll<0, half>([&](auto i) {
            double2 a = x[i], b = x[i + half], c = x[i + 2 * half], d = x[i + 3 * half];
            double2 sum = make_double2(a.x + b.x, a.y + b.y),
                    other = make_double2(c.x + d.x, c.y + d.y);
            double2 u = make_double2(a.x - b.x, a.y - b.y), v = make_double2(c.x - d.x, c.y - d.y);
            x[i] = make_double2(sum.x + other.x, sum.y + other.y);
            x[i + 2 * half] = times_conjugate(make_double2(sum.x - other.x, sum.y - other.y), s);
            // -i v and i v.
            x[i + half] = times_conjugate(make_double2(u.x + v.y, u.y - v.x), r);
            x[i + 3 * half] = times_conjugate(make_double2(u.x - v.y, u.y + v.x), q);
        });
    } else if constexpr ((1 << done) < radix) {
        constexpr int level = log2_of(radix) - 1 - done, half = 1 << done;
        unroll<0, (level == 0 ? 1 : 1 << (level - 1))>([&](auto pair) {
            double2 root = roots(level, int(pair));
            double2 turned = make_double2(-root.y, root.x);
            unroll<0, half>([&](auto i) {
                inverse_butterfly(x[4 * half * pair + i], x[4 * half * pair + i + half], root);
                if constexpr (level > 0)
                    inverse_butterfly(
                        x[4 * half * pair + 2 * half + i], x[4 * half * pair + 3 * half + i],
                        turned);
            });
        });
        inverse_levels<radix, done + 1>(x, roots);
    }
}

// Undoes forward_levels<16, 0> with the roots of the first pass, which are constants: value i of
// the result is x[i] times FIRST_INVERSE_SCALES[i]. A turn by conj(c) is left without its factor
// cos(c), which is made up for as late as there: six multiply-adds a butterfly instead of eight
// operations. What meets in a butterfly differs by a constant ratio.
template<int done>
FUNCTION void inverse_first_levels(double2* x) {
    if constexpr (done < 4) {
        constexpr int level = 3 - done, half = 1 << done;
        unroll<0, (1 << level)>([&](auto block) {
            unroll<0, half>([&](auto i) {
                double2 &u = x[2 * half * block + i], &v = x[2 * half * block + i + half];
                double ratio = FIRST_INVERSE_RATIOS[level][half * block + i],
                       tangent = FIRST_TANGENTS[level][block / 2];
                double2 d = make_double2(fma(-ratio, v.x, u.x), fma(-ratio, v.y, u.y));
                u = make_double2(fma(ratio, v.x, u.x), fma(ratio, v.y, u.y));
                if constexpr (decltype(block)::v % 2 == 0) {
                    v = make_double2(fma(tangent, d.y, d.x), fma(-tangent, d.x, d.y));
                } else {
                    v = make_double2(fma(-tangent, d.x, d.y), fma(-tangent, d.y, -d.x));
                }
            });
        });
        inverse_first_levels<done + 1>(x);
    }
}

// Entry of (level, pair) in a table of the roots of a sub-transform.
CONSTANT_FUNCTION int root_entry(int level, int pair) {
    return level == 0 ? 0 : (1 << (level - 1)) + pair;
}
