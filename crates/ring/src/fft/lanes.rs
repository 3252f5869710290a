//! Vectors of doubles, chosen at run time.
//!
//! Code that wants them is written once, generic over [`Lanes`], as a [`Kernel`]; [`Simd::run`]
//! runs it compiled for the instruction set named. A value of a `Lanes` type exists only where the
//! processor has its instructions (it is made by `Simd::run` after detection and nowhere else), so
//! its methods are safe.
#![allow(unsafe_code)] // Vector intrinsics, and views of aligned doubles as vectors.

/// A vector of real parts and one of imaginary parts.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Complex<F> {
    /// Real parts.
    pub re: F,
    /// Imaginary parts.
    pub im: F,
}

/// One instruction set's vectors of doubles. `F` is `WIDTH` doubles and nothing else.
pub trait Lanes: Copy + sealed::Sealed {
    /// A vector.
    type F: Copy;
    /// Doubles in a vector: 4 or 8.
    const WIDTH: usize;

    /// The first `WIDTH` of `data`, of any alignment; fewer panic.
    fn load(self, data: &[f64]) -> Self::F;
    /// Writes to the first `WIDTH` of `out`, of any alignment; fewer panic.
    fn store(self, a: Self::F, out: &mut [f64]);
    /// `x` in every lane.
    fn splat(self, x: f64) -> Self::F;
    /// `a + b`.
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`.
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a b`.
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a b + c`, rounded once where the processor can do so, else twice.
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `c - a b`, rounded as in `mul_add`.
    fn neg_mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// `z - q m`, rounded once everywhere, where `|z - q m| <= |m|` and no product overflows.
    fn remainder(self, z: Self::F, q: Self::F, m: Self::F) -> Self::F;
    /// The nearest integer, ties to even.
    fn round(self, a: Self::F) -> Self::F;
    /// Transposes `WIDTH` vectors as a matrix.
    fn transpose(self, rows: &mut [Self::F]);
    /// Asks for the cache line of `data[index]` to be brought into the second-level cache. Out of
    /// range is allowed.
    fn prefetch(self, data: &[f64], index: usize);

    /// `data` as complex vectors.
    ///
    /// # Panics
    /// If `data` is not aligned to a vector or not a whole number of complex vectors.
    #[inline(always)]
    fn view(self, data: &[f64]) -> &[Complex<Self::F>] {
        check_view::<Self>(data);
        // SAFETY: aligned and of whole length as just checked; a Complex is two vectors (repr C), a
        // vector is WIDTH doubles.
        unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), data.len() / (2 * Self::WIDTH)) }
    }

    /// `data` as complex vectors, to write.
    ///
    /// # Panics
    /// As for `view`.
    #[inline(always)]
    fn view_mut(self, data: &mut [f64]) -> &mut [Complex<Self::F>] {
        check_view::<Self>(data);
        // SAFETY: as for `view`, and `data` is borrowed exclusively.
        unsafe {
            std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len() / (2 * Self::WIDTH))
        }
    }
}

#[inline(always)]
fn check_view<L: Lanes>(data: &[f64]) {
    assert!(
        (data.as_ptr() as usize).is_multiple_of(align_of::<L::F>()),
        "data must be aligned to a vector"
    );
    assert!(data.len().is_multiple_of(2 * L::WIDTH), "data must be whole complex vectors");
}

/// Code to be compiled for each instruction set. `run` must be `#[inline(always)]`, and so must all
/// it calls with lanes.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// Runs on `lanes`.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// An instruction set for [`Lanes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the target has: arrays of four, which the compiler turns into SSE2
    /// or NEON; in WebAssembly, its vectors.
    Portable,
    /// AVX2 and FMA: four lanes.
    Avx2,
    /// AVX-512F: eight lanes.
    Avx512,
}

impl Simd {
    /// The instruction sets this processor can run, narrowest first.
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|s| s.is_available())
            .collect()
    }

    /// The best of [`Simd::available`].
    pub fn detect() -> Self {
        [Self::Avx512, Self::Avx2].into_iter().find(|s| s.is_available()).unwrap_or(Self::Portable)
    }

    /// Whether this processor can run it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f") && Self::Avx2.is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Doubles in a vector.
    pub fn width(self) -> usize {
        match self {
            Self::Portable | Self::Avx2 => 4,
            Self::Avx512 => 8,
        }
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2+fma",
            Self::Avx512 => "avx512f",
        }
    }

    /// Runs `kernel` compiled for this instruction set.
    ///
    /// # Panics
    /// If this processor lacks it.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        assert!(self.is_available(), "{} was asked for on a processor without it", self.name());
        match self {
            Self::Portable => kernel.run(Portable(())),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the features were detected just above.
            Self::Avx2 => unsafe { x86::run_avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the features were detected just above.
            Self::Avx512 => unsafe { x86::run_avx512(kernel) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("not available, as asserted above"),
        }
    }
}

/// Asks for all of `data` to be brought into the second-level cache. A hint: it changes nothing but
/// time, and does nothing on processors for which the compiler offers no such hint.
#[inline]
pub fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        let start = data.as_ptr().cast::<i8>();
        for offset in (0..size_of_val(data)).step_by(64) {
            // SAFETY: a prefetch reads nothing and faults nowhere, whatever the address.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(
                    start.wrapping_add(offset),
                )
            };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Portable {}
    #[cfg(target_arch = "x86_64")]
    impl Sealed for super::x86::Avx2 {}
    #[cfg(target_arch = "x86_64")]
    impl Sealed for super::x86::Avx512 {}
}

/// Arrays of four, or pairs of vectors in WebAssembly.
#[derive(Clone, Copy, Debug)]
pub struct Portable(());

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, Lanes};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx2(()))
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Avx512(()))
    }

    /// Rounding immediate: to nearest even, without raising the inexact exception.
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

    #[inline(always)]
    fn prefetch(data: &[f64], index: usize) {
        // SAFETY: a prefetch reads nothing and faults nowhere, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(data.as_ptr().wrapping_add(index).cast()) }
    }

    /// AVX2 and FMA; a value proves that the processor has them.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx2(());

    // SAFETY of every block below: `self` exists only inside `run_avx2`,
    // after the features were detected.
    impl Lanes for Avx2 {
        type F = __m256d;
        const WIDTH: usize = 4;

        #[inline(always)]
        fn load(self, data: &[f64]) -> __m256d {
            let data = &data[..Self::WIDTH];
            // SAFETY: see the impl; the slice has a whole vector,
            // and the load asks for no alignment.
            unsafe { _mm256_loadu_pd(data.as_ptr()) }
        }
        #[inline(always)]
        fn store(self, a: __m256d, out: &mut [f64]) {
            let out = &mut out[..Self::WIDTH];
            // SAFETY: as for `load`.
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), a) }
        }
        #[inline(always)]
        fn splat(self, x: f64) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_set1_pd(x) }
        }
        #[inline(always)]
        fn add(self, a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_add_pd(a, b) }
        }
        #[inline(always)]
        fn sub(self, a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_sub_pd(a, b) }
        }
        #[inline(always)]
        fn mul(self, a: __m256d, b: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_mul_pd(a, b) }
        }
        #[inline(always)]
        fn mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn neg_mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_fnmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn remainder(self, z: __m256d, q: __m256d, m: __m256d) -> __m256d {
            self.neg_mul_add(q, m, z)
        }
        #[inline(always)]
        fn round(self, a: __m256d) -> __m256d {
            // SAFETY: see the impl.
            unsafe { _mm256_round_pd::<NEAREST>(a) }
        }
        #[inline(always)]
        fn transpose(self, rows: &mut [__m256d]) {
            let r: &mut [__m256d; 4] = rows.try_into().expect("four rows");
            // SAFETY: see the impl.
            unsafe {
                let (a, b) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
                let (c, d) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
                r[0] = _mm256_permute2f128_pd::<0x20>(a, c);
                r[1] = _mm256_permute2f128_pd::<0x20>(b, d);
                r[2] = _mm256_permute2f128_pd::<0x31>(a, c);
                r[3] = _mm256_permute2f128_pd::<0x31>(b, d);
            }
        }
        #[inline(always)]
        fn prefetch(self, data: &[f64], index: usize) {
            prefetch(data, index);
        }
    }

    /// Transposes 4 x 4 quarters (pairs of doubles).
    #[inline(always)]
    unsafe fn transpose_quarters(t: [__m512d; 4]) -> [__m512d; 4] {
        // SAFETY: called only from `Avx512::transpose`.
        unsafe {
            let (a, b) = (
                _mm512_shuffle_f64x2::<0x88>(t[0], t[1]),
                _mm512_shuffle_f64x2::<0x88>(t[2], t[3]),
            );
            let (c, d) = (
                _mm512_shuffle_f64x2::<0xdd>(t[0], t[1]),
                _mm512_shuffle_f64x2::<0xdd>(t[2], t[3]),
            );
            [
                _mm512_shuffle_f64x2::<0x88>(a, b),
                _mm512_shuffle_f64x2::<0x88>(c, d),
                _mm512_shuffle_f64x2::<0xdd>(a, b),
                _mm512_shuffle_f64x2::<0xdd>(c, d),
            ]
        }
    }

    /// AVX-512F; a value proves that the processor has it.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx512(());

    // SAFETY of every block below: `self` exists only inside `run_avx512`,
    // after the features were detected.
    impl Lanes for Avx512 {
        type F = __m512d;
        const WIDTH: usize = 8;

        #[inline(always)]
        fn load(self, data: &[f64]) -> __m512d {
            let data = &data[..Self::WIDTH];
            // SAFETY: see the impl; the slice has a whole vector,
            // and the load asks for no alignment.
            unsafe { _mm512_loadu_pd(data.as_ptr()) }
        }
        #[inline(always)]
        fn store(self, a: __m512d, out: &mut [f64]) {
            let out = &mut out[..Self::WIDTH];
            // SAFETY: as for `load`.
            unsafe { _mm512_storeu_pd(out.as_mut_ptr(), a) }
        }
        #[inline(always)]
        fn splat(self, x: f64) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_set1_pd(x) }
        }
        #[inline(always)]
        fn add(self, a: __m512d, b: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_add_pd(a, b) }
        }
        #[inline(always)]
        fn sub(self, a: __m512d, b: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_sub_pd(a, b) }
        }
        #[inline(always)]
        fn mul(self, a: __m512d, b: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_mul_pd(a, b) }
        }
        #[inline(always)]
        fn mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn neg_mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_fnmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn remainder(self, z: __m512d, q: __m512d, m: __m512d) -> __m512d {
            self.neg_mul_add(q, m, z)
        }
        #[inline(always)]
        fn round(self, a: __m512d) -> __m512d {
            // SAFETY: see the impl.
            unsafe { _mm512_roundscale_pd::<NEAREST>(a) }
        }
        #[inline(always)]
        fn transpose(self, rows: &mut [__m512d]) {
            let r: &mut [__m512d; 8] = rows.try_into().expect("eight rows");
            // SAFETY: see the impl.
            unsafe {
                // Pairs of rows interleaved: `even` holds columns 0 2 4 6 of two rows, `odd`
                // columns 1 3 5 7.
                let even = [
                    _mm512_unpacklo_pd(r[0], r[1]),
                    _mm512_unpacklo_pd(r[2], r[3]),
                    _mm512_unpacklo_pd(r[4], r[5]),
                    _mm512_unpacklo_pd(r[6], r[7]),
                ];
                let odd = [
                    _mm512_unpackhi_pd(r[0], r[1]),
                    _mm512_unpackhi_pd(r[2], r[3]),
                    _mm512_unpackhi_pd(r[4], r[5]),
                    _mm512_unpackhi_pd(r[6], r[7]),
                ];
                [r[0], r[2], r[4], r[6]] = transpose_quarters(even);
                [r[1], r[3], r[5], r[7]] = transpose_quarters(odd);
            }
        }
        #[inline(always)]
        fn prefetch(self, data: &[f64], index: usize) {
            prefetch(data, index);
        }
    }
}
