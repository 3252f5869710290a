//! Eight words in an array.

use super::lanes::{Portable, WordLanes};

type W = [u32; 8];

#[inline(always)]
fn map2(a: W, b: W, f: impl Fn(u32, u32) -> u32) -> W {
    std::array::from_fn(|i| f(a[i], b[i]))
}

impl WordLanes for Portable {
    type Words = W;
    type Wide = [u64; 4];
    type Array = W;
    const WIDTH: usize = 8;
    const STAGES: usize = 2;

    #[inline(always)]
    fn load(self, data: &W) -> W {
        *data
    }
    #[inline(always)]
    fn store(self, a: W, out: &mut W) {
        *out = a;
    }
    #[inline(always)]
    fn load_at(self, data: &[u32], at: usize) -> W {
        *data[at..].first_chunk().expect("a whole vector")
    }
    #[inline(always)]
    fn store_at(self, a: W, out: &mut [u32], at: usize) {
        *out[at..].first_chunk_mut().expect("a whole vector") = a;
    }
    #[inline(always)]
    fn splat(self, x: u32) -> W {
        [x; 8]
    }
    #[inline(always)]
    fn add(self, a: W, b: W) -> W {
        map2(a, b, u32::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, a: W, b: W) -> W {
        map2(a, b, u32::wrapping_sub)
    }
    #[inline(always)]
    fn min(self, a: W, b: W) -> W {
        map2(a, b, u32::min)
    }
    #[inline(always)]
    fn mul_low(self, a: W, b: W) -> W {
        map2(a, b, u32::wrapping_mul)
    }
    #[inline(always)]
    fn mul_high(self, a: W, b: W) -> W {
        map2(a, b, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)
    }
    #[inline(always)]
    fn count_greater(self, count: W, a: W, bound: W) -> W {
        map2(count, map2(a, bound, |a, b| u32::from(a > b)), |c, one| c + one)
    }
    #[inline(always)]
    fn shift_right_19(self, a: W) -> W {
        a.map(|x| x >> 19)
    }
    #[inline(always)]
    fn exchange<const H: usize>(self, a: W, b: W) -> (W, W) {
        (
            std::array::from_fn(|i| if i & H == 0 { a[i] } else { b[i - H] }),
            std::array::from_fn(|i| if i & H == 0 { a[i + H] } else { b[i] }),
        )
    }
    #[inline(always)]
    fn interleave(self, a: W, b: W) -> (W, W) {
        let word = |i: usize| if i.is_multiple_of(2) { a[i / 2] } else { b[i / 2] };
        (std::array::from_fn(word), std::array::from_fn(|i| word(i + 8)))
    }
    #[inline(always)]
    fn deinterleave(self, a: W, b: W) -> (W, W) {
        let word = |i: usize| if i < 8 { a[i] } else { b[i - 8] };
        (std::array::from_fn(|i| word(2 * i)), std::array::from_fn(|i| word(2 * i + 1)))
    }
    #[inline(always)]
    fn load_repeated<const H: usize>(self, data: &[u32]) -> W {
        std::array::from_fn(|i| data[i / H])
    }
    #[inline(always)]
    fn permute16(self, data: &[u32; 16], index: &[u32; 16], out: &mut [u32; 16]) {
        *out = index.map(|i| data[i as usize % 16]);
    }
    #[inline(always)]
    fn mul_even(self, a: W, b: W) -> [u64; 4] {
        std::array::from_fn(|i| u64::from(a[2 * i]) * u64::from(b[2 * i]))
    }
    #[inline(always)]
    fn odd(self, a: W) -> W {
        std::array::from_fn(|i| a[i | 1])
    }
    #[inline(always)]
    fn as_words(self, a: [u64; 4]) -> W {
        std::array::from_fn(|i| (a[i / 2] >> (32 * (i % 2))) as u32)
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> [u64; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn add_wide(self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn reduce_wide(self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
        std::array::from_fn(|i| a[i].min(a[i].wrapping_sub(b[i])))
    }
    #[inline(always)]
    fn upper(self, even: [u64; 4], odd: [u64; 4]) -> W {
        std::array::from_fn(|i| ([even, odd][i % 2][i / 2] >> 32) as u32)
    }
}
