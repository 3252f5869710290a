//! Eight words in two vectors of WebAssembly, since its compilers seldom make vectors of arrays.
#![allow(unsafe_code)] // Loads and stores of vectors.

use super::lanes::{Portable, WordLanes};
use std::arch::wasm32::{
    i32x4_mul, i32x4_shuffle, i64x2_lt, u32x4, u32x4_add, u32x4_gt, u32x4_min, u32x4_shr,
    u32x4_splat, u32x4_sub, u64x2_add, u64x2_extmul_high_u32x4, u64x2_extmul_low_u32x4,
    u64x2_splat, u64x2_sub, v128, v128_bitselect, v128_load, v128_store, v128_xor,
};

type W = [v128; 2];

#[inline(always)]
fn map2(a: W, b: W, f: impl Fn(v128, v128) -> v128) -> W {
    [f(a[0], b[0]), f(a[1], b[1])]
}

impl WordLanes for Portable {
    type Words = W;
    type Wide = W;
    type Array = [u32; 8];
    const WIDTH: usize = 8;
    const STAGES: usize = 2;

    #[inline(always)]
    fn load(self, data: &[u32; 8]) -> W {
        // SAFETY: the array has two vectors, and loads ask for no alignment.
        unsafe { [v128_load(data.as_ptr().cast()), v128_load(data.as_ptr().add(4).cast())] }
    }
    #[inline(always)]
    fn store(self, a: W, out: &mut [u32; 8]) {
        // SAFETY: as for `load`.
        unsafe {
            v128_store(out.as_mut_ptr().cast(), a[0]);
            v128_store(out.as_mut_ptr().add(4).cast(), a[1]);
        }
    }
    #[inline(always)]
    fn load_at(self, data: &[u32], at: usize) -> W {
        self.load(data[at..].first_chunk().expect("a whole vector"))
    }
    #[inline(always)]
    fn store_at(self, a: W, out: &mut [u32], at: usize) {
        self.store(a, out[at..].first_chunk_mut().expect("a whole vector"));
    }
    #[inline(always)]
    fn splat(self, x: u32) -> W {
        [u32x4_splat(x); 2]
    }
    #[inline(always)]
    fn add(self, a: W, b: W) -> W {
        map2(a, b, |a, b| u32x4_add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: W, b: W) -> W {
        map2(a, b, |a, b| u32x4_sub(a, b))
    }
    #[inline(always)]
    fn min(self, a: W, b: W) -> W {
        map2(a, b, |a, b| u32x4_min(a, b))
    }
    #[inline(always)]
    fn mul_low(self, a: W, b: W) -> W {
        map2(a, b, |a, b| i32x4_mul(a, b))
    }
    #[inline(always)]
    fn mul_high(self, a: W, b: W) -> W {
        map2(a, b, |a, b| {
            let (low, high) = (u64x2_extmul_low_u32x4(a, b), u64x2_extmul_high_u32x4(a, b));
            i32x4_shuffle::<1, 3, 5, 7>(low, high)
        })
    }
    #[inline(always)]
    fn count_greater(self, count: W, a: W, bound: W) -> W {
        // A comparison that holds is -1.
        self.sub(count, map2(a, bound, |a, b| u32x4_gt(a, b)))
    }
    #[inline(always)]
    fn shift_right_19(self, a: W) -> W {
        a.map(|x| u32x4_shr(x, 19))
    }
    #[inline(always)]
    fn exchange<const H: usize>(self, a: W, b: W) -> (W, W) {
        match H {
            1 => (
                map2(a, b, |a, b| i32x4_shuffle::<0, 4, 2, 6>(a, b)),
                map2(a, b, |a, b| i32x4_shuffle::<1, 5, 3, 7>(a, b)),
            ),
            2 => (
                map2(a, b, |a, b| i32x4_shuffle::<0, 1, 4, 5>(a, b)),
                map2(a, b, |a, b| i32x4_shuffle::<2, 3, 6, 7>(a, b)),
            ),
            _ => ([a[0], b[0]], [a[1], b[1]]),
        }
    }
    #[inline(always)]
    fn interleave(self, a: W, b: W) -> (W, W) {
        let both = |a: v128, b: v128| {
            [i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b)]
        };
        (both(a[0], b[0]), both(a[1], b[1]))
    }
    #[inline(always)]
    fn deinterleave(self, a: W, b: W) -> (W, W) {
        let even = |x: W| i32x4_shuffle::<0, 2, 4, 6>(x[0], x[1]);
        let odd = |x: W| i32x4_shuffle::<1, 3, 5, 7>(x[0], x[1]);
        ([even(a), even(b)], [odd(a), odd(b)])
    }
    #[inline(always)]
    fn load_repeated<const H: usize>(self, data: &[u32]) -> W {
        let word = |i: usize| data[i / H];
        [u32x4(word(0), word(1), word(2), word(3)), u32x4(word(4), word(5), word(6), word(7))]
    }
    #[inline(always)]
    fn permute16(self, data: &[u32; 16], index: &[u32; 16], out: &mut [u32; 16]) {
        *out = index.map(|i| data[i as usize % 16]);
    }
    #[inline(always)]
    fn mul_even(self, a: W, b: W) -> W {
        let even = |x: v128| i32x4_shuffle::<0, 2, 0, 2>(x, x);
        map2(a, b, |a, b| u64x2_extmul_low_u32x4(even(a), even(b)))
    }
    #[inline(always)]
    fn odd(self, a: W) -> W {
        a.map(|x| i32x4_shuffle::<1, 1, 3, 3>(x, x))
    }
    #[inline(always)]
    fn as_words(self, a: W) -> W {
        a
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> W {
        [u64x2_splat(x); 2]
    }
    #[inline(always)]
    fn add_wide(self, a: W, b: W) -> W {
        map2(a, b, |a, b| u64x2_add(a, b))
    }
    #[inline(always)]
    fn reduce_wide(self, a: W, b: W) -> W {
        // Comparisons are of signed numbers.
        let flip = u64x2_splat(1 << 63);
        map2(a, b, |a, b| {
            let less = i64x2_lt(v128_xor(a, flip), v128_xor(b, flip));
            v128_bitselect(a, u64x2_sub(a, b), less)
        })
    }
    #[inline(always)]
    fn upper(self, even: W, odd: W) -> W {
        map2(even, odd, |even, odd| i32x4_shuffle::<1, 5, 3, 7>(even, odd))
    }
}
