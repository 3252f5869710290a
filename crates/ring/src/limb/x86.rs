//! [`WordLanes`] of x86-64.
#![allow(unsafe_code)] // Vector intrinsics.

use super::lanes::{WordKernel, WordLanes};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<K: WordKernel>(kernel: K) -> K::Output {
    kernel.run(Avx2(()))
}

#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) fn run_avx512<K: WordKernel>(kernel: K) -> K::Output {
    kernel.run(Avx512(()))
}

/// AVX2; a value proves that the processor has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

// SAFETY of every block below: `self` exists only inside `run_avx2`, after the features were
// detected; loads and stores ask for no alignment and stay inside the array given.
impl WordLanes for Avx2 {
    type Words = __m256i;
    type Wide = __m256i;
    type Array = [u32; 8];
    const WIDTH: usize = 8;
    const STAGES: usize = 2;

    #[inline(always)]
    fn load(self, data: &[u32; 8]) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_loadu_si256(data.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, a: __m256i, out: &mut [u32; 8]) {
        // SAFETY: see the impl.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), a) }
    }
    #[inline(always)]
    fn load_at(self, data: &[u32], at: usize) -> __m256i {
        self.load(data[at..].first_chunk().expect("a whole vector"))
    }
    #[inline(always)]
    fn store_at(self, a: __m256i, out: &mut [u32], at: usize) {
        self.store(a, out[at..].first_chunk_mut().expect("a whole vector"));
    }
    #[inline(always)]
    fn splat(self, x: u32) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_set1_epi32(x as i32) }
    }
    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_min_epu32(a, b) }
    }
    #[inline(always)]
    fn mul_low(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_mullo_epi32(a, b) }
    }
    #[inline(always)]
    fn mul_high(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe {
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a, b));
            let odd = _mm256_mul_epu32(self.odd(a), self.odd(b));
            _mm256_blend_epi32::<0xaa>(even, odd)
        }
    }
    #[inline(always)]
    fn count_greater(self, count: __m256i, a: __m256i, bound: __m256i) -> __m256i {
        // SAFETY: see the impl. A comparison that holds is -1.
        unsafe { _mm256_sub_epi32(count, _mm256_cmpgt_epi32(a, bound)) }
    }
    #[inline(always)]
    fn shift_right_19(self, a: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srli_epi32::<19>(a) }
    }
    #[inline(always)]
    fn exchange<const H: usize>(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: see the impl.
        unsafe {
            match H {
                4 => (
                    _mm256_permute2x128_si256::<0x20>(a, b),
                    _mm256_permute2x128_si256::<0x31>(a, b),
                ),
                2 => (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)),
                1 => (
                    _mm256_blend_epi32::<0xaa>(a, _mm256_slli_epi64::<32>(b)),
                    _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(a), b),
                ),
                _ => unreachable!("half blocks are 1, 2 or 4 words"),
            }
        }
    }
    #[inline(always)]
    fn interleave(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: see the impl.
        unsafe {
            let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
            self.exchange::<4>(low, high)
        }
    }
    #[inline(always)]
    fn deinterleave(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: see the impl.
        unsafe {
            let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
            let a = _mm256_permutevar8x32_epi32(a, order);
            let b = _mm256_permutevar8x32_epi32(b, order);
            self.exchange::<4>(a, b)
        }
    }
    #[inline(always)]
    fn load_repeated<const H: usize>(self, data: &[u32]) -> __m256i {
        // SAFETY: see the impl.
        unsafe {
            let order = match H {
                4 => _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1),
                2 => _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3),
                _ => return self.load_at(data, 0),
            };
            _mm256_permutevar8x32_epi32(self.load_at(data, 0), order)
        }
    }
    #[inline(always)]
    fn permute16(self, data: &[u32; 16], index: &[u32; 16], out: &mut [u32; 16]) {
        let (source, _) = data.as_chunks();
        let (index, _) = index.as_chunks();
        let (target, _) = out.as_chunks_mut();
        for half in 0..2 {
            let from = &source[index[half][0] as usize / 8 % 2];
            // SAFETY: see the impl. Only the lower three bits of an index count.
            let words =
                unsafe { _mm256_permutevar8x32_epi32(self.load(from), self.load(&index[half])) };
            self.store(words, &mut target[half]);
        }
    }
    #[inline(always)]
    fn mul_even(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_mul_epu32(a, b) }
    }
    #[inline(always)]
    fn odd(self, a: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    fn as_words(self, a: __m256i) -> __m256i {
        a
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_set1_epi64x(x as i64) }
    }
    #[inline(always)]
    fn add_wide(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_add_epi64(a, b) }
    }
    #[inline(always)]
    fn reduce_wide(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: see the impl. With the highest bits flipped,
        // a signed comparison is an unsigned one.
        unsafe {
            let flip = _mm256_set1_epi64x(i64::MIN);
            let below = _mm256_cmpgt_epi64(_mm256_xor_si256(b, flip), _mm256_xor_si256(a, flip));
            _mm256_sub_epi64(a, _mm256_andnot_si256(below, b))
        }
    }
    #[inline(always)]
    fn upper(self, even: __m256i, odd: __m256i) -> __m256i {
        // SAFETY: see the impl.
        unsafe { _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(even), odd) }
    }
}

/// AVX-512F; a value proves that the processor has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

/// Odd words.
const ODD: __mmask16 = 0xaaaa;

// SAFETY of every block below: `self` exists only inside `run_avx512`, after the features were
// detected; loads and stores ask for no alignment and stay inside the array given.
impl WordLanes for Avx512 {
    type Words = __m512i;
    type Wide = __m512i;
    type Array = [u32; 16];
    const WIDTH: usize = 16;
    const STAGES: usize = 3;

    #[inline(always)]
    fn load(self, data: &[u32; 16]) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_loadu_si512(data.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, a: __m512i, out: &mut [u32; 16]) {
        // SAFETY: see the impl.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), a) }
    }
    #[inline(always)]
    fn load_at(self, data: &[u32], at: usize) -> __m512i {
        self.load(data[at..].first_chunk().expect("a whole vector"))
    }
    #[inline(always)]
    fn store_at(self, a: __m512i, out: &mut [u32], at: usize) {
        self.store(a, out[at..].first_chunk_mut().expect("a whole vector"));
    }
    #[inline(always)]
    fn splat(self, x: u32) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_set1_epi32(x as i32) }
    }
    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_min_epu32(a, b) }
    }
    #[inline(always)]
    fn mul_low(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mullo_epi32(a, b) }
    }
    #[inline(always)]
    fn mul_high(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(self.odd(a), self.odd(b));
            _mm512_mask_blend_epi32(ODD, even, odd)
        }
    }
    #[inline(always)]
    fn count_greater(self, count: __m512i, a: __m512i, bound: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let greater = _mm512_cmpgt_epu32_mask(a, bound);
            _mm512_mask_add_epi32(count, greater, count, _mm512_set1_epi32(1))
        }
    }
    #[inline(always)]
    fn shift_right_19(self, a: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_srli_epi32::<19>(a) }
    }
    #[inline(always)]
    fn exchange<const H: usize>(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        // SAFETY: see the impl.
        unsafe {
            match H {
                8 => (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b)),
                4 => {
                    // Quarters 0 and 2 of both, then 1 and 3, in turn.
                    let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
                    let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
                    (_mm512_permutex2var_epi64(a, low, b), _mm512_permutex2var_epi64(a, high, b))
                }
                2 => (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)),
                1 => (
                    _mm512_mask_blend_epi32(ODD, a, _mm512_slli_epi64::<32>(b)),
                    _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(a), b),
                ),
                _ => unreachable!("half blocks are 1, 2, 4 or 8 words"),
            }
        }
    }
    #[inline(always)]
    fn interleave(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        // SAFETY: see the impl.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high =
                _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            (_mm512_permutex2var_epi32(a, low, b), _mm512_permutex2var_epi32(a, high, b))
        }
    }
    #[inline(always)]
    fn deinterleave(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        // SAFETY: see the impl.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            (_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(a, odd, b))
        }
    }
    #[inline(always)]
    fn load_repeated<const H: usize>(self, data: &[u32]) -> __m512i {
        // SAFETY: see the impl.
        unsafe {
            let order = match H {
                8 => _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                4 => _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
                2 => _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
                _ => return self.load_at(data, 0),
            };
            _mm512_permutexvar_epi32(order, self.load_at(data, 0))
        }
    }
    #[inline(always)]
    fn permute16(self, data: &[u32; 16], index: &[u32; 16], out: &mut [u32; 16]) {
        // SAFETY: see the impl.
        let words = unsafe { _mm512_permutexvar_epi32(self.load(index), self.load(data)) };
        self.store(words, out);
    }
    #[inline(always)]
    fn mul_even(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mul_epu32(a, b) }
    }
    #[inline(always)]
    fn odd(self, a: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    fn as_words(self, a: __m512i) -> __m512i {
        a
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_set1_epi64(x as i64) }
    }
    #[inline(always)]
    fn add_wide(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_add_epi64(a, b) }
    }
    #[inline(always)]
    fn reduce_wide(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_min_epu64(a, _mm512_sub_epi64(a, b)) }
    }
    #[inline(always)]
    fn upper(self, even: __m512i, odd: __m512i) -> __m512i {
        // SAFETY: see the impl.
        unsafe { _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<32>(even), odd) }
    }
}
