//! Digits of the accumulators, cut in doubles and transformed.
//!
//! With `rho_p = floor((x + H_p) / B^p)`, `H_p = B/2 (1 + B + .. + B^(p-1))`, the balanced digit at
//! position p is `rho_p - B rho_(p+1)`, and the top one is `rho_p` itself: the carries of
//! [`girih_ring::gadget::balanced_digits`] without a chain. As x is an integer, that floor is the
//! *nearest* integer to `x / B^p + (H_p + 1/2) / B^p - 1/2`, which is never half way: one fused
//! multiply-add and one rounding, exact for residues below 2^51. Above, a remainder next to the
//! boundary may go to either of the two nearest digits; both represent x as well.

use super::{Ahead, Layout};
use girih_backend::Gadget;
use girih_ring::fft::{Complex, Fft, Kernel, Lanes, Source};

/// How to get rho_p from x.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quotient {
    /// B^-p.
    scale: f64,
    /// `(H_p + 1/2) / B^p - 1/2`.
    offset: f64,
}

impl Quotient {
    /// For digits of the closest multiple of `2^cut`, divided by it.
    fn above(log2_base: u32, cut: u32, position: usize) -> Self {
        let power = |p: usize| 2f64.powi((log2_base as usize * p) as i32 + cut as i32);
        // Half of 2^cut rounds; without a cut there is nothing to round.
        let rounding = if cut == 0 { 0.0 } else { power(0) / 2.0 };
        let carries: f64 = (0..position).map(|i| power(i + 1) / 2.0).sum::<f64>() + rounding;
        Self { scale: 1.0 / power(position), offset: (carries + 0.5) / power(position) - 0.5 }
    }

    #[inline(always)]
    fn of<L: Lanes>(self, l: L, x: L::F) -> L::F {
        l.round(l.mul_add(x, l.splat(self.scale), l.splat(self.offset)))
    }
}

/// How to get the digit of one level from x.
#[derive(Clone, Copy, Debug)]
pub(super) enum Digit {
    /// MR, and GD with one digit and none dropped: x itself.
    Whole,
    /// The lowest of all: `x - B rho_1`.
    Lowest { above: Quotient, base: f64 },
    /// `rho_p - B rho_(p+1)`.
    Middle { at: Quotient, above: Quotient, base: f64 },
    /// `rho_p`.
    Top { at: Quotient },
}

/// The digits in use of an accumulator held to `modulus`, level by level.
pub(super) fn plan(gadget: &Gadget, modulus: u64) -> Vec<Digit> {
    match *gadget {
        Gadget::Decomposition { log2_base, levels, dropped_bits } => {
            above_cut(log2_base, levels, dropped_bits)
        }
        Gadget::ModulusRaising { .. } => vec![Digit::Whole],
        Gadget::ClosestRepresentative { log2_base, levels } => {
            let mut digits =
                above_cut(log2_base, levels, modulus.ilog2() - log2_base * levels as u32);
            digits.reverse();
            digits
        }
    }
}

/// Digits of the closest multiple of `2^cut`, least significant first.
fn above_cut(log2_base: u32, levels: usize, cut: u32) -> Vec<Digit> {
    let quotient = |p| Quotient::above(log2_base, cut, p);
    let base = 2f64.powi(log2_base as i32);
    (0..levels)
        .map(|p| match (p == 0 && cut == 0, p + 1 == levels) {
            (true, true) => Digit::Whole,
            (true, false) => Digit::Lowest { above: quotient(1), base },
            (false, false) => Digit::Middle { at: quotient(p), above: quotient(p + 1), base },
            (false, true) => Digit::Top { at: quotient(p) },
        })
        .collect()
}

struct WholeOf<'a, F>(&'a [Complex<F>]);
struct LowestOf<'a, F>(&'a [Complex<F>], Quotient, f64);
struct MiddleOf<'a, F>(&'a [Complex<F>], Quotient, Quotient, f64);
struct TopOf<'a, F>(&'a [Complex<F>], Quotient);

impl<L: Lanes> Source<L> for WholeOf<'_, L::F> {
    #[inline(always)]
    fn load(&mut self, _: L, index: usize) -> Complex<L::F> {
        self.0[index]
    }
}

impl<L: Lanes> Source<L> for LowestOf<'_, L::F> {
    #[inline(always)]
    fn load(&mut self, l: L, index: usize) -> Complex<L::F> {
        let (x, base) = (self.0[index], l.splat(self.2));
        Complex {
            re: l.neg_mul_add(self.1.of(l, x.re), base, x.re),
            im: l.neg_mul_add(self.1.of(l, x.im), base, x.im),
        }
    }
}

impl<L: Lanes> Source<L> for MiddleOf<'_, L::F> {
    #[inline(always)]
    fn load(&mut self, l: L, index: usize) -> Complex<L::F> {
        let (x, base) = (self.0[index], l.splat(self.3));
        Complex {
            re: l.neg_mul_add(self.2.of(l, x.re), base, self.1.of(l, x.re)),
            im: l.neg_mul_add(self.2.of(l, x.im), base, self.1.of(l, x.im)),
        }
    }
}

impl<L: Lanes> Source<L> for TopOf<'_, L::F> {
    #[inline(always)]
    fn load(&mut self, l: L, index: usize) -> Complex<L::F> {
        let x = self.0[index];
        Complex { re: self.1.of(l, x.re), im: self.1.of(l, x.im) }
    }
}

/// Reads through another source and prefetches the key with every butterfly.
struct Meanwhile<'k, S, const PREFETCH: bool> {
    source: S,
    ahead: Ahead<'k, PREFETCH>,
}

impl<L: Lanes, S: Source<L>, const PREFETCH: bool> Source<L> for Meanwhile<'_, S, PREFETCH> {
    #[inline(always)]
    fn load(&mut self, l: L, index: usize) -> Complex<L::F> {
        self.source.load(l, index)
    }

    #[inline(always)]
    fn between(&mut self, l: L) {
        self.ahead.advance(l);
    }
}

/// Cuts and transforms all digits of one accumulator.
pub(super) struct TransformDigits<'a, const PREFETCH: bool> {
    pub fft: &'a Fft,
    pub layout: Layout,
    pub digits: &'a [Digit],
    /// `[column]` of stride `layout.stride`.
    pub accumulator: &'a [f64],
    /// `[level][column]`, the same stride.
    pub out: &'a mut [f64],
    /// Key of the next step, to be prefetched.
    pub ahead: &'a [f64],
}

impl<const PREFETCH: bool> Kernel for TransformDigits<'_, PREFETCH> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Layout { columns, stride, size, .. } = self.layout;
        let mut transform = 0;
        for (digit, level) in self.digits.iter().zip(self.out.chunks_exact_mut(columns * stride)) {
            for (polynomial, out) in
                self.accumulator.chunks_exact(stride).zip(level.chunks_exact_mut(stride))
            {
                let (x, out) = (l.view(&polynomial[..size]), l.view_mut(&mut out[..size]));
                let (fft, ahead) =
                    (self.fft, Ahead::<PREFETCH>::of(self.ahead, self.fft, transform));
                transform += 1;
                match *digit {
                    Digit::Whole => {
                        fft.forward_from(l, &mut Meanwhile { source: WholeOf(x), ahead }, out)
                    }
                    Digit::Lowest { above, base } => {
                        fft.forward_from(
                            l,
                            &mut Meanwhile { source: LowestOf(x, above, base), ahead },
                            out,
                        );
                    }
                    Digit::Middle { at, above, base } => {
                        fft.forward_from(
                            l,
                            &mut Meanwhile { source: MiddleOf(x, at, above, base), ahead },
                            out,
                        );
                    }
                    Digit::Top { at } => {
                        fft.forward_from(l, &mut Meanwhile { source: TopOf(x, at), ahead }, out)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ring::fft::{Buffer, Simd};
    use girih_ring::gadget::{balanced_digits, closest_representative_digits};

    struct Cut<'a>(&'a [Digit], &'a [f64], &'a mut [f64]);

    impl Kernel for Cut<'_> {
        type Output = ();
        #[inline(always)]
        fn run<L: Lanes>(self, l: L) {
            let x = l.view(self.1);
            for (digit, out) in self.0.iter().zip(self.2.chunks_exact_mut(self.1.len())) {
                for (i, o) in l.view_mut(out).iter_mut().enumerate() {
                    *o = match *digit {
                        Digit::Whole => WholeOf(x).load(l, i),
                        Digit::Lowest { above, base } => LowestOf(x, above, base).load(l, i),
                        Digit::Middle { at, above, base } => {
                            MiddleOf(x, at, above, base).load(l, i)
                        }
                        Digit::Top { at } => TopOf(x, at).load(l, i),
                    };
                }
            }
        }
    }

    #[test]
    fn equal_the_integer_digits_boundaries_included() {
        // log2 Q, log2 B, levels, dropped bits; Q below 2^51.
        for (bits, log2_base, levels, dropped_bits) in [
            (27u32, 7u32, 3usize, 7u32),
            (27, 9, 2, 9),
            (27, 9, 3, 0),
            (27, 5, 5, 5),
            (50, 25, 1, 25),
            (37, 13, 2, 13),
            (50, 10, 5, 0),
            (27, 27, 1, 0),
            (50, 16, 2, 19),
            (50, 12, 3, 17),
        ] {
            let half = 1i64 << (bits - 1);
            let mut values = vec![-half, 1 - half, half - 1, 0, 1, -1];
            for p in 0..levels as u32 {
                let boundary = (1i64 << (dropped_bits + log2_base * p)) >> 1;
                values.extend([boundary, boundary - 1, -boundary, -boundary - 1, boundary + 1]);
            }
            let mut x = 1u64;
            while values.len() < 4096 {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                values.push((x >> 8) as i64 % half);
            }
            values.truncate(4096);
            let digits =
                plan(&Gadget::Decomposition { log2_base, levels, dropped_bits }, 1 << bits);
            let mut input = Buffer::new(values.len()).expect("small");
            input.iter_mut().zip(&values).for_each(|(i, &v)| *i = v as f64);
            for simd in Simd::available() {
                let mut out = Buffer::new(levels * values.len()).expect("small");
                simd.run(Cut(&digits, &input, &mut out));
                let mut want = vec![0; levels];
                for (i, &v) in values.iter().enumerate() {
                    balanced_digits(v, log2_base, dropped_bits, &mut want);
                    for (level, &w) in want.iter().enumerate() {
                        assert_eq!(
                            out[level * values.len() + i],
                            f64::from(w),
                            "{simd:?}, {bits} bits, base 2^{log2_base}: {v}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn equal_the_closest_representatives() {
        for (log2_base, levels) in [(23u32, 1usize), (15, 2), (10, 3), (4, 9), (4, 12), (17, 3)] {
            let mut words = vec![0u64, 1 << 63, u64::MAX << 12, 1 << 62];
            for level in 0..levels as u32 {
                let boundary = 1u64 << (63 - log2_base * (level + 1));
                words.extend(
                    [boundary, boundary.wrapping_neg(), boundary - 4096, boundary + 4096]
                        .map(|w| w >> 12 << 12),
                );
            }
            let mut x = 1u64;
            while words.len() < 4096 {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                words.push(x >> 12 << 12);
            }
            let digits = plan(&Gadget::ClosestRepresentative { log2_base, levels }, 1 << 52);
            let mut input = Buffer::new(words.len()).expect("small");
            input.iter_mut().zip(&words).for_each(|(i, &w)| *i = (w as i64 >> 12) as f64);
            for simd in Simd::available() {
                let mut out = Buffer::new(levels * words.len()).expect("small");
                simd.run(Cut(&digits, &input, &mut out));
                let mut want = vec![0; levels];
                for (i, &w) in words.iter().enumerate() {
                    closest_representative_digits(w, log2_base, &mut want);
                    for (level, &want) in want.iter().enumerate() {
                        let got = out[level * words.len() + i];
                        assert_eq!(
                            got,
                            f64::from(want),
                            "{simd:?}, base 2^{log2_base}, level {level} of {levels}: {w:#x}"
                        );
                    }
                }
            }
        }
    }
}
