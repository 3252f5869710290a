//! Folded f64 FFT of negacyclic polynomials.
//!
//! A real polynomial `a` modulo `X^N + 1` is folded into `z_j = a_j + i a_(j+M)`, `M = N/2`: its
//! residue modulo `X^M - i`, which holds all of `a` because the other factor, `X^M + i`, is
//! conjugate. The forward transform takes `z` down the tree `X^(2h) - w^2 = (X^h - w)(X^h + w)` to
//! M values of `a` at roots of `X^M - i`. No twist is needed before or after: the twiddles of the
//! tree carry it (Bernstein, "The tangent FFT", 2007, section 2 tells the tree's story).
//!
//! **Order.** Position `p` of the M outputs holds `a(zeta^(1 + 4 brv(p)))`, `zeta = exp(i pi / N)`,
//! `brv` reversing log2 M bits. In memory, positions lie in vectors of `W` lanes, real parts then
//! imaginary parts, and within each run of W^2 positions vector `c`, lane `l` is position `W l +
//! c`: the last passes run with their blocks across the lanes and the transposition is never
//! undone. This order belongs to the CPU and to one vector width; kernels of other devices define
//! their own. Values of two transforms may be multiplied only where both come from one [`Fft`].
//!
//! **Error.** Twiddles are the nearest doubles. For `L K` products of digits uniform in `[-B/2,
//! B/2)` with residues uniform modulo M, transformed, multiplied, summed and transformed back, the
//! deviation of one coefficient from the exact sum is `c 2^-53 sqrt(L K N) B M / 6` with c from 1.4
//! to 2.8 (tested). A step of a blind rotation adds two products, each times `X^e - 1` of mean
//! square 2, which doubles c.

#[cfg(not(target_feature = "simd128"))]
mod arrays;
mod butterfly;
mod lanes;
mod roots;
#[cfg(target_feature = "simd128")]
mod wasm;

/// Doubles as transforms want them.
pub type Buffer = crate::AlignedBuffer<f64>;

pub use lanes::{Complex, Kernel, Lanes, Simd, prefetch};
pub use roots::roots_of_unity;

use crate::bit_reverse;
use butterfly::{forward4, forward8, inverse4, inverse8, mul};

type C<L> = Complex<<L as Lanes>::F>;

/// Where a forward transform reads its folded coefficients: vector `index` holds `z_(W index) ..
/// z_(W index + W - 1)`.
pub trait Source<L: Lanes> {
    /// Reads one vector. Implement with `#[inline(always)]`.
    fn load(&mut self, lanes: L, index: usize) -> C<L>;

    /// Called once a butterfly, [`Fft::butterflies`] times a transform: room for a prefetch of what
    /// comes next.
    #[inline(always)]
    fn between(&mut self, _: L) {}
}

/// Where an inverse transform puts its folded coefficients, times M, in the layout of [`Source`].
pub trait Sink<L: Lanes> {
    /// Takes one vector. Implement with `#[inline(always)]`.
    fn store(&mut self, lanes: L, index: usize, value: C<L>);

    /// As [`Source::between`].
    #[inline(always)]
    fn between(&mut self, _: L) {}
}

/// Levels done together on whole vectors: `radix` vectors, `stride` apart,
/// in each of several blocks.
struct Pass {
    radix: usize,
    stride: usize,
    /// One entry a block: the twiddles of [`butterfly`], real and imaginary parts in turn; radix 4
    /// uses the first two.
    twiddles: Vec<[f64; 8]>,
}

/// The transform of one N, compiled for one instruction set.
pub struct Fft {
    simd: Simd,
    /// log2 M.
    log2_points: u32,
    passes: Vec<Pass>,
    /// For each run of W^2 positions, the twiddles of its W blocks, a block a lane: 4 complex
    /// vectors (W = 8) or 2 (W = 4).
    lane_twiddles: Buffer,
    /// `zeta^i`, i < 2N.
    roots: Vec<[f64; 2]>,
    /// Point exponent of lane 0 of each vector, modulo 2N.
    vector_exponents: Vec<u32>,
    /// Entry e: over the lanes l, `exp(2 pi i e brv(l) / W^2)`: how lane l's power of X differs
    /// from lane 0's.
    lane_roots: Buffer,
}

impl Fft {
    /// The transform for `size` = N coefficients on the best instruction set there is.
    ///
    /// `None` unless N is a power of two from 64 to 8192 (or memory runs out).
    pub fn new(size: usize) -> Option<Self> {
        Self::with_simd(size, Simd::detect())
    }

    /// The same on `simd`, or on a narrower set where N is too small:
    /// eight lanes need N of 128 and more.
    ///
    /// `None` as for `new`, and where this processor lacks `simd`.
    pub fn with_simd(size: usize, simd: Simd) -> Option<Self> {
        if !size.is_power_of_two() || !(64..=8192).contains(&size) || !simd.is_available() {
            return None;
        }
        let simd = if simd == Simd::Avx512 && size < 128 { Simd::Avx2 } else { simd };
        let points = size / 2;
        let roots = roots_of_unity(size);
        let mut fft = Self {
            simd,
            log2_points: points.trailing_zeros(),
            passes: Vec::new(),
            lane_twiddles: Buffer::new(0)?,
            roots,
            vector_exponents: Vec::new(),
            lane_roots: Buffer::new(0)?,
        };
        fft.plan_passes();
        fft.lane_twiddles = fft.plan_lane_pass()?;
        fft.plan_monomials()?;
        Some(fft)
    }

    /// `exp(i pi (1 + 4 brv(block)) / 2^(level + 2))`: the twiddle of `block` among the `2^level`
    /// at that depth of the tree.
    fn twiddle(&self, level: u32, block: usize) -> [f64; 2] {
        self.roots[(1 + 4 * bit_reverse(block, level)) << (self.log2_points - 1 - level)]
    }

    /// The twiddles of `radix` from `block` at `level` down, in the order of [`butterfly`].
    fn butterfly_twiddles(&self, radix: usize, level: u32, block: usize) -> [f64; 8] {
        let [a, b] = [self.twiddle(level, block), self.twiddle(level + 1, 2 * block)];
        let [c, d] = if radix == 8 {
            [self.twiddle(level + 2, 4 * block), self.twiddle(level + 2, 4 * block + 2)]
        } else {
            [[0.0; 2]; 2]
        };
        [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
    }

    fn plan_passes(&mut self) {
        let width = self.simd.width();
        let mut levels = self.log2_points - width.trailing_zeros();
        let mut level = 0;
        while levels > 0 {
            // Threes where they fit, never leaving a single level over.
            let step = if levels == 4 || levels == 2 { 2 } else { 3 };
            let radix = 1 << step;
            let stride = (1usize << self.log2_points >> (level + step)) / width;
            let twiddles =
                (0..1 << level).map(|block| self.butterfly_twiddles(radix, level, block)).collect();
            self.passes.push(Pass { radix, stride, twiddles });
            level += step;
            levels -= step;
        }
    }

    fn plan_lane_pass(&self) -> Option<Buffer> {
        let width = self.simd.width();
        let level = self.log2_points - width.trailing_zeros();
        let scalars = if width == 8 { 8 } else { 4 };
        let mut out = Buffer::new((1 << level) * scalars)?;
        for (run, vectors) in out.chunks_exact_mut(width * scalars).enumerate() {
            for lane in 0..width {
                let twiddles = self.butterfly_twiddles(width, level, run * width + lane);
                for (scalar, &t) in twiddles[..scalars].iter().enumerate() {
                    vectors[scalar * width + lane] = t;
                }
            }
        }
        Some(out)
    }

    fn plan_monomials(&mut self) -> Option<()> {
        let width = self.simd.width();
        let log2_width = width.trailing_zeros();
        self.vector_exponents =
            (0..self.points() / width).map(|vector| self.exponent(vector, 0) as u32).collect();
        self.lane_roots = Buffer::new(width * width * 2 * width)?;
        let step = self.roots.len() / (width * width);
        for (e, entry) in self.lane_roots.chunks_exact_mut(2 * width).enumerate() {
            for lane in 0..width {
                let [re, im] =
                    self.roots[step * e * bit_reverse(lane, log2_width) % self.roots.len()];
                (entry[lane], entry[width + lane]) = (re, im);
            }
        }
        Some(())
    }

    /// The instruction set in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    /// M = N/2, complex values of a transform; it takes `2 M` = N doubles.
    pub fn points(&self) -> usize {
        1 << self.log2_points
    }

    /// Butterflies of one transform: how often it calls [`Source::between`] or [`Sink::between`].
    pub fn butterflies(&self) -> usize {
        let width = self.simd.width();
        let vectors = self.points() / width;
        self.passes.iter().map(|pass| vectors / pass.radix).sum::<usize>() + vectors / width
    }

    /// The e for which lane `lane` of vector `vector` holds the value at `zeta^e`, `zeta = exp(i pi
    /// / N)`; e < 2N.
    pub fn exponent(&self, vector: usize, lane: usize) -> usize {
        let width = self.simd.width();
        let position = vector / width * width * width + lane * width + vector % width;
        1 + 4 * bit_reverse(position, self.log2_points)
    }

    /// The values of `X^exponent - 1`, vector by vector, for `exponent < 2N`.
    #[inline(always)]
    pub fn monomial_minus_one<L: Lanes>(
        &self,
        lanes: L,
        exponent: usize,
    ) -> MonomialMinusOne<'_, L> {
        let entry = exponent % (L::WIDTH * L::WIDTH);
        MonomialMinusOne {
            lanes,
            lane_factor: lanes.view(&self.lane_roots)[entry],
            roots: &self.roots,
            vector_exponents: &self.vector_exponents,
            exponent,
        }
    }

    /// Transforms from `source` into `data` (M points).
    ///
    /// # Panics
    /// If `data` has another length or `lanes` is not of this transform's width.
    #[inline(always)]
    pub fn forward_from<L: Lanes>(&self, lanes: L, source: &mut impl Source<L>, data: &mut [C<L>]) {
        assert!(
            data.len() * L::WIDTH == self.points() && L::WIDTH == self.simd.width(),
            "a transform of M points"
        );
        let (first, rest) = self.passes.split_first().expect("N is at least W^2");
        match first.radix {
            8 => {
                let w = splat4(lanes, &first.twiddles[0]);
                let parts = eighths(data, first.stride);
                for i in 0..first.stride {
                    let mut x = [source.load(lanes, i); 8];
                    for q in 1..8 {
                        x[q] = source.load(lanes, i + q * first.stride);
                    }
                    source.between(lanes);
                    forward8(lanes, &mut x, w);
                    for q in 0..8 {
                        parts[q][i] = x[q];
                    }
                }
            }
            _ => {
                let [w0, w1, ..] = splat4(lanes, &first.twiddles[0]);
                let parts = quarters(data, first.stride);
                for i in 0..first.stride {
                    let mut x = [source.load(lanes, i); 4];
                    for q in 1..4 {
                        x[q] = source.load(lanes, i + q * first.stride);
                    }
                    source.between(lanes);
                    forward4(lanes, &mut x, [w0, w1]);
                    for q in 0..4 {
                        parts[q][i] = x[q];
                    }
                }
            }
        }
        for pass in rest {
            self.forward_pass(lanes, pass, data, source);
        }
        self.forward_lane_pass(lanes, data, source);
    }

    #[inline(always)]
    fn forward_pass<L: Lanes>(
        &self,
        lanes: L,
        pass: &Pass,
        data: &mut [C<L>],
        source: &mut impl Source<L>,
    ) {
        for (block, w) in data.chunks_exact_mut(pass.radix * pass.stride).zip(&pass.twiddles) {
            let w = splat4(lanes, w);
            if pass.radix == 8 {
                let parts = eighths(block, pass.stride);
                for i in 0..pass.stride {
                    let mut x = [
                        parts[0][i],
                        parts[1][i],
                        parts[2][i],
                        parts[3][i],
                        parts[4][i],
                        parts[5][i],
                        parts[6][i],
                        parts[7][i],
                    ];
                    source.between(lanes);
                    forward8(lanes, &mut x, w);
                    for q in 0..8 {
                        parts[q][i] = x[q];
                    }
                }
            } else {
                let parts = quarters(block, pass.stride);
                for i in 0..pass.stride {
                    let mut x = [parts[0][i], parts[1][i], parts[2][i], parts[3][i]];
                    source.between(lanes);
                    forward4(lanes, &mut x, [w[0], w[1]]);
                    for q in 0..4 {
                        parts[q][i] = x[q];
                    }
                }
            }
        }
    }

    /// The last log2 W levels: W blocks of W positions each, transposed so that a block is a lane.
    #[inline(always)]
    fn forward_lane_pass<L: Lanes>(
        &self,
        lanes: L,
        data: &mut [C<L>],
        source: &mut impl Source<L>,
    ) {
        let twiddles = lanes.view(&self.lane_twiddles);
        if L::WIDTH == 8 {
            for (run, w) in data.chunks_exact_mut(8).zip(twiddles.chunks_exact(4)) {
                let mut x = transposed::<L, 8>(lanes, run);
                source.between(lanes);
                forward8(lanes, &mut x, [w[0], w[1], w[2], w[3]]);
                run.copy_from_slice(&x);
            }
        } else {
            for (run, w) in data.chunks_exact_mut(4).zip(twiddles.chunks_exact(2)) {
                let mut x = transposed::<L, 4>(lanes, run);
                source.between(lanes);
                forward4(lanes, &mut x, [w[0], w[1]]);
                run.copy_from_slice(&x);
            }
        }
    }

    /// Transforms `data` back into `sink`, times M. What `data` holds afterwards is not specified.
    ///
    /// # Panics
    /// As for `forward_from`.
    #[inline(always)]
    pub fn inverse_into<L: Lanes>(&self, lanes: L, data: &mut [C<L>], sink: &mut impl Sink<L>) {
        assert!(
            data.len() * L::WIDTH == self.points() && L::WIDTH == self.simd.width(),
            "a transform of M points"
        );
        self.inverse_lane_pass(lanes, data, sink);
        let (first, rest) = self.passes.split_first().expect("N is at least W^2");
        for pass in rest.iter().rev() {
            self.inverse_pass(lanes, pass, data, sink);
        }
        let w = splat4(lanes, &first.twiddles[0]);
        if first.radix == 8 {
            let parts = eighths(data, first.stride);
            for i in 0..first.stride {
                let mut x = [
                    parts[0][i],
                    parts[1][i],
                    parts[2][i],
                    parts[3][i],
                    parts[4][i],
                    parts[5][i],
                    parts[6][i],
                    parts[7][i],
                ];
                sink.between(lanes);
                inverse8(lanes, &mut x, w);
                for q in 0..8 {
                    sink.store(lanes, i + q * first.stride, x[q]);
                }
            }
        } else {
            let parts = quarters(data, first.stride);
            for i in 0..first.stride {
                let mut x = [parts[0][i], parts[1][i], parts[2][i], parts[3][i]];
                sink.between(lanes);
                inverse4(lanes, &mut x, [w[0], w[1]]);
                for q in 0..4 {
                    sink.store(lanes, i + q * first.stride, x[q]);
                }
            }
        }
    }

    #[inline(always)]
    fn inverse_pass<L: Lanes>(
        &self,
        lanes: L,
        pass: &Pass,
        data: &mut [C<L>],
        sink: &mut impl Sink<L>,
    ) {
        for (block, w) in data.chunks_exact_mut(pass.radix * pass.stride).zip(&pass.twiddles) {
            let w = splat4(lanes, w);
            if pass.radix == 8 {
                let parts = eighths(block, pass.stride);
                for i in 0..pass.stride {
                    let mut x = [
                        parts[0][i],
                        parts[1][i],
                        parts[2][i],
                        parts[3][i],
                        parts[4][i],
                        parts[5][i],
                        parts[6][i],
                        parts[7][i],
                    ];
                    sink.between(lanes);
                    inverse8(lanes, &mut x, w);
                    for q in 0..8 {
                        parts[q][i] = x[q];
                    }
                }
            } else {
                let parts = quarters(block, pass.stride);
                for i in 0..pass.stride {
                    let mut x = [parts[0][i], parts[1][i], parts[2][i], parts[3][i]];
                    sink.between(lanes);
                    inverse4(lanes, &mut x, [w[0], w[1]]);
                    for q in 0..4 {
                        parts[q][i] = x[q];
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn inverse_lane_pass<L: Lanes>(&self, lanes: L, data: &mut [C<L>], sink: &mut impl Sink<L>) {
        let twiddles = lanes.view(&self.lane_twiddles);
        if L::WIDTH == 8 {
            for (run, w) in data.chunks_exact_mut(8).zip(twiddles.chunks_exact(4)) {
                let mut x = [run[0], run[1], run[2], run[3], run[4], run[5], run[6], run[7]];
                sink.between(lanes);
                inverse8(lanes, &mut x, [w[0], w[1], w[2], w[3]]);
                run.copy_from_slice(&transposed::<L, 8>(lanes, &x));
            }
        } else {
            for (run, w) in data.chunks_exact_mut(4).zip(twiddles.chunks_exact(2)) {
                let mut x = [run[0], run[1], run[2], run[3]];
                sink.between(lanes);
                inverse4(lanes, &mut x, [w[0], w[1]]);
                run.copy_from_slice(&transposed::<L, 4>(lanes, &x));
            }
        }
    }

    /// Transforms N coefficients into N doubles of `out` (see the module's order).
    ///
    /// # Panics
    /// If either has another length.
    pub fn forward(&self, coefficients: &[f64], out: &mut Buffer) {
        assert!(
            coefficients.len() == 2 * self.points() && out.len() == coefficients.len(),
            "a transform is of N coefficients"
        );
        self.simd.run(ForwardKernel { fft: self, coefficients, out });
    }

    /// Transforms back into N coefficients, `1/M` included.
    /// What `data` holds afterwards is not specified.
    ///
    /// # Panics
    /// As for `forward`.
    pub fn inverse(&self, data: &mut Buffer, coefficients: &mut [f64]) {
        assert!(
            coefficients.len() == 2 * self.points() && data.len() == coefficients.len(),
            "a transform is of N coefficients"
        );
        self.simd.run(InverseKernel { fft: self, data, coefficients });
    }
}

/// Values of `X^e - 1` at the transform's points.
#[derive(Clone, Copy)]
pub struct MonomialMinusOne<'a, L: Lanes> {
    lanes: L,
    lane_factor: C<L>,
    roots: &'a [[f64; 2]],
    vector_exponents: &'a [u32],
    exponent: usize,
}

impl<L: Lanes> MonomialMinusOne<'_, L> {
    /// The values for vector `vector`.
    #[inline(always)]
    pub fn at(&self, vector: usize) -> C<L> {
        let l = self.lanes;
        // The table holds zeta^i for i < 2N, a power of two.
        let [re, im] = self.roots
            [(self.exponent * self.vector_exponents[vector] as usize) & (self.roots.len() - 1)];
        let product = mul(l, self.lane_factor, Complex { re: l.splat(re), im: l.splat(im) });
        Complex { re: l.sub(product.re, l.splat(1.0)), im: product.im }
    }
}

#[inline(always)]
fn splat<L: Lanes>(l: L, w: &[f64; 8], i: usize) -> C<L> {
    Complex { re: l.splat(w[2 * i]), im: l.splat(w[2 * i + 1]) }
}

#[inline(always)]
fn splat4<L: Lanes>(l: L, w: &[f64; 8]) -> [C<L>; 4] {
    [splat(l, w, 0), splat(l, w, 1), splat(l, w, 2), splat(l, w, 3)]
}

/// `data`, of `4 stride` entries, cut in four of `stride` each.
#[inline(always)]
fn quarters<T>(data: &mut [T], stride: usize) -> [&mut [T]; 4] {
    let (low, high) = data.split_at_mut(2 * stride);
    let ((a, b), (c, d)) = (low.split_at_mut(stride), high.split_at_mut(stride));
    [a, b, c, &mut d[..stride]]
}

/// `data`, of `8 stride` entries, cut in eight of `stride` each.
#[inline(always)]
fn eighths<T>(data: &mut [T], stride: usize) -> [&mut [T]; 8] {
    let (low, high) = data.split_at_mut(4 * stride);
    let ([a, b, c, d], [e, f, g, h]) = (quarters(low, stride), quarters(high, stride));
    [a, b, c, d, e, f, g, h]
}

/// W complex vectors, transposed.
#[inline(always)]
fn transposed<L: Lanes, const W: usize>(l: L, run: &[C<L>]) -> [C<L>; W] {
    let zero = l.splat(0.0);
    let (mut re, mut im) = ([zero; W], [zero; W]);
    for i in 0..W {
        (re[i], im[i]) = (run[i].re, run[i].im);
    }
    l.transpose(&mut re);
    l.transpose(&mut im);
    let mut out = [Complex { re: zero, im: zero }; W];
    for i in 0..W {
        out[i] = Complex { re: re[i], im: im[i] };
    }
    out
}

struct ForwardKernel<'a> {
    fft: &'a Fft,
    coefficients: &'a [f64],
    out: &'a mut Buffer,
}

impl Kernel for ForwardKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (re, im) = self.coefficients.split_at(self.fft.points());
        self.fft.forward_from(lanes, &mut Halves { re, im }, lanes.view_mut(self.out));
    }
}

/// Coefficients in their natural order: `z_j = a_j + i a_(j+M)`.
struct Halves<T> {
    re: T,
    im: T,
}

impl<L: Lanes> Source<L> for Halves<&[f64]> {
    #[inline(always)]
    fn load(&mut self, lanes: L, index: usize) -> C<L> {
        Complex {
            re: lanes.load(&self.re[index * L::WIDTH..]),
            im: lanes.load(&self.im[index * L::WIDTH..]),
        }
    }
}

/// The same to write, with the factor `1/M`.
struct ScaledHalves<'a> {
    halves: Halves<&'a mut [f64]>,
    scale: f64,
}

impl<L: Lanes> Sink<L> for ScaledHalves<'_> {
    #[inline(always)]
    fn store(&mut self, lanes: L, index: usize, value: C<L>) {
        let scale = lanes.splat(self.scale);
        lanes.store(lanes.mul(value.re, scale), &mut self.halves.re[index * L::WIDTH..]);
        lanes.store(lanes.mul(value.im, scale), &mut self.halves.im[index * L::WIDTH..]);
    }
}

struct InverseKernel<'a> {
    fft: &'a Fft,
    data: &'a mut Buffer,
    coefficients: &'a mut [f64],
}

impl Kernel for InverseKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (re, im) = self.coefficients.split_at_mut(self.fft.points());
        // A power of two: exact.
        let scale = 1.0 / self.fft.points() as f64;
        self.fft.inverse_into(
            lanes,
            lanes.view_mut(self.data),
            &mut ScaledHalves { halves: Halves { re, im }, scale },
        );
    }
}

#[cfg(test)]
mod tests;
