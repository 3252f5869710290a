use super::*;
use rustfft::num_complex::Complex64;

fn pseudo_random(seed: u64) -> impl FnMut() -> u64 {
    let mut x = seed;
    move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x >> 11
    }
}

/// Uniform integers in `[-modulus/2, modulus/2)`.
fn centred(seed: u64, len: usize, modulus: u64) -> Vec<i64> {
    let mut random = pseudo_random(seed);
    (0..len).map(|_| (random() % modulus) as i64 - (modulus / 2) as i64).collect()
}

/// Every size on every instruction set of this machine.
fn transforms() -> Vec<Fft> {
    let simds = Simd::available();
    (6..=13)
        .flat_map(|log2| {
            simds.iter().map(move |&simd| Fft::with_simd(1 << log2, simd).expect("in range"))
        })
        .collect()
}

fn doubles(integers: &[i64]) -> Vec<f64> {
    integers.iter().map(|&x| x as f64).collect()
}

fn forward(fft: &Fft, coefficients: &[f64]) -> Buffer {
    let mut out = Buffer::new(coefficients.len()).expect("small");
    fft.forward(coefficients, &mut out);
    out
}

/// Value `lane` of vector `vector`.
fn value(fft: &Fft, data: &Buffer, vector: usize, lane: usize) -> Complex64 {
    let w = fft.simd().width();
    Complex64::new(data[2 * vector * w + lane], data[(2 * vector + 1) * w + lane])
}

fn positions(fft: &Fft) -> impl Iterator<Item = (usize, usize)> {
    let w = fft.simd().width();
    (0..fft.points()).map(move |i| (i / w, i % w))
}

/// `a(zeta^e)` by the definition, e from 0 to 2N: the oracle.
fn evaluate_naive(a: &[f64], exponent: usize) -> Complex64 {
    let roots = roots_of_unity(a.len());
    a.iter().enumerate().fold(Complex64::ZERO, |sum, (i, &c)| {
        let [re, im] = roots[i * exponent % (2 * a.len())];
        sum + Complex64::new(re, im) * c
    })
}

/// `a b mod X^N + 1` in integers: the oracle of products.
fn product_naive(a: &[i64], b: &[i64]) -> Vec<i128> {
    let n = a.len();
    let mut out = vec![0i128; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let product = i128::from(x) * i128::from(y);
            if i + j < n { out[i + j] += product } else { out[i + j - n] -= product }
        }
    }
    out
}

#[test]
fn forward_is_evaluation_in_the_stated_order() {
    for fft in transforms().iter().filter(|f| f.points() <= 512) {
        let a = doubles(&centred(1, 2 * fft.points(), 1 << 20));
        let data = forward(fft, &a);
        let mut seen = std::collections::HashSet::new();
        for (vector, lane) in positions(fft) {
            let exponent = fft.exponent(vector, lane);
            assert!(exponent % 4 == 1 && seen.insert(exponent));
            let error = (value(fft, &data, vector, lane) - evaluate_naive(&a, exponent)).norm();
            assert!(
                error < 1e-14 * (1u64 << 20) as f64 * a.len() as f64,
                "N = {}, {vector} {lane}: {error}",
                a.len()
            );
        }
    }
}

#[test]
fn forward_agrees_with_rustfft_at_every_size() {
    for fft in transforms() {
        let a = doubles(&centred(2, 2 * fft.points(), 1 << 20));
        let (n, m) = (a.len(), fft.points());
        let roots = roots_of_unity(n);
        // a(zeta^(1 + 4t)) = sum_j z_j zeta^j exp(2 pi i j t / M): rustfft's inverse direction
        // after the twist.
        let mut points: Vec<Complex64> = (0..m)
            .map(|j| Complex64::new(a[j], a[j + m]) * Complex64::new(roots[j][0], roots[j][1]))
            .collect();
        rustfft::FftPlanner::new().plan_fft_inverse(m).process(&mut points);
        let data = forward(&fft, &a);
        let size = points.iter().map(|p| p.norm()).fold(0.0, f64::max);
        for (vector, lane) in positions(&fft) {
            let want = points[fft.exponent(vector, lane) / 4];
            assert!(
                (value(&fft, &data, vector, lane) - want).norm() < 1e-14 * size,
                "N = {n} on {:?}",
                fft.simd()
            );
        }
    }
}

#[test]
fn inverse_undoes_forward() {
    for fft in transforms() {
        let a = doubles(&centred(3, 2 * fft.points(), 1 << 30));
        let mut data = forward(&fft, &a);
        let mut back = vec![0.0; a.len()];
        fft.inverse(&mut data, &mut back);
        for (x, y) in a.iter().zip(&back) {
            assert!((x - y).abs() < 1e-5, "N = {} on {:?}: {x} {y}", a.len(), fft.simd());
        }
    }
}

fn product(fft: &Fft, a: &[i64], b: &[i64]) -> Vec<f64> {
    let (mut fa, fb) = (forward(fft, &doubles(a)), forward(fft, &doubles(b)));
    let w = fft.simd().width();
    for (x, y) in fa.chunks_exact_mut(2 * w).zip(fb.chunks_exact(2 * w)) {
        for lane in 0..w {
            let product =
                Complex64::new(x[lane], x[w + lane]) * Complex64::new(y[lane], y[w + lane]);
            (x[lane], x[w + lane]) = (product.re, product.im);
        }
    }
    let mut out = vec![0.0; a.len()];
    fft.inverse(&mut fa, &mut out);
    out
}

#[test]
fn small_products_round_to_the_exact_ones_extremes_included() {
    for fft in transforms().iter().filter(|f| f.points() <= 1024) {
        let n = 2 * fft.points();
        let (digits, residues) = (centred(4, n, 1 << 9), centred(5, n, 134_215_681));
        let (low, high) = (vec![-(1i64 << 8); n], vec![-(134_215_681i64 / 2); n]);
        for (a, b) in [(&digits, &residues), (&low, &high), (&low, &residues)] {
            for (got, want) in product(fft, a, b).iter().zip(product_naive(a, b)) {
                assert_eq!(got.round() as i128, want, "N = {n} on {:?}", fft.simd());
            }
        }
    }
}

/// Transform, multiply and transform back one product of a digit in base B and a residue modulo M:
/// the measured constant of `c 2^-53 sqrt(N) B M / 6`.
fn error_constant(fft: &Fft, log2_base: u32, log2_modulus: u32) -> f64 {
    let n = 2 * fft.points();
    let (a, b) = (centred(6, n, 1 << log2_base), centred(7, n, 1 << log2_modulus));
    let squares: f64 = product(fft, &a, &b)
        .iter()
        .zip(product_naive(&a, &b))
        .map(|(&got, want)| difference(got, want).powi(2))
        .sum();
    let unit =
        0.5f64.powi(53) * (n as f64).sqrt() * 2f64.powi((log2_base + log2_modulus) as i32) / 6.0;
    (squares / n as f64).sqrt() / unit
}

/// `got - want` where either may need more than 53 bits.
fn difference(got: f64, want: i128) -> f64 {
    let high = got.round();
    (high as i128 - want) as f64 + (got - high)
}

#[test]
fn the_error_is_the_stated_one() {
    for fft in transforms().iter().filter(|f| (256..=2048).contains(&f.points())) {
        for (log2_base, log2_modulus) in [(27, 54), (18, 41), (7, 50)] {
            let c = error_constant(fft, log2_base, log2_modulus);
            println!(
                "N = {}, {:?}, 2^{log2_base} x 2^{log2_modulus}: c = {c:.2}",
                2 * fft.points(),
                fft.simd()
            );
            assert!(
                c < 4.0,
                "N = {}, {:?}, 2^{log2_base} x 2^{log2_modulus}: c = {c}",
                2 * fft.points(),
                fft.simd()
            );
        }
    }
}

struct Monomials<'a>(&'a Fft, usize, &'a mut Buffer);

impl Kernel for Monomials<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let monomial = self.0.monomial_minus_one(lanes, self.1);
        for (vector, out) in lanes.view_mut(self.2).iter_mut().enumerate() {
            *out = monomial.at(vector);
        }
    }
}

#[test]
fn monomials_are_the_transforms_of_monomials() {
    for fft in transforms() {
        let n = 2 * fft.points();
        for exponent in [0, 1, 2, n / 2 + 3, n - 1, n, n + 5, 2 * n - 1] {
            let mut a = vec![0.0; n];
            a[exponent % n] = if exponent < n { 1.0 } else { -1.0 };
            a[0] -= 1.0;
            let want = forward(&fft, &a);
            let mut got = Buffer::new(n).expect("small");
            fft.simd().run(Monomials(&fft, exponent, &mut got));
            for (g, w) in got.iter().zip(want.iter()) {
                assert!((g - w).abs() < 1e-14, "N = {n}, X^{exponent} on {:?}", fft.simd());
            }
            if exponent == 0 {
                assert!(got.iter().all(|&x| x == 0.0), "X^0 - 1 is exactly zero");
            }
        }
    }
}

struct Rounding<'a>(&'a mut [f64], [f64; 2]);

impl Kernel for Rounding<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let [inverse, modulus] = self.1.map(|x| l.splat(x));
        for x in l.view_mut(self.0) {
            x.re = l.round(x.re);
            x.im = l.remainder(x.im, l.round(l.mul(x.im, inverse)), modulus);
        }
    }
}

#[test]
fn rounding_and_remainders_are_exact_on_every_instruction_set() {
    let modulus = (134_111_233u64 * 134_176_769) as f64;
    let mut random = pseudo_random(8);
    for simd in Simd::available() {
        let w = simd.width();
        let mut data = Buffer::new(2 * w * 1000).expect("small");
        for x in data.iter_mut() {
            *x = (random() as f64 - 2f64.powi(52)) * 2f64.powi((random() % 36) as i32 - 3);
        }
        data[..4].copy_from_slice(&[0.5, 1.5, -2.5, -0.25]);
        // Odd integers to which no double of 2^52 can be added exactly.
        let odd = [2f64.powi(52) + 1.0, -2f64.powi(52) - 1.0, 2f64.powi(53) - 1.0];
        data[2 * w..2 * w + 3].copy_from_slice(&odd);
        let before: Vec<f64> = data.to_vec();
        simd.run(Rounding(&mut data, [1.0 / modulus, modulus]));
        for (i, (&x, &y)) in before.iter().zip(data.iter()).enumerate() {
            if i / w % 2 == 0 {
                assert_eq!(y, x.round_ties_even(), "{simd:?}");
            } else {
                assert_eq!(
                    y,
                    (-(x * (1.0 / modulus)).round_ties_even()).mul_add(modulus, x),
                    "{simd:?}: {x}"
                );
            }
        }
    }
}

/// Else tests of every instruction set would pass on fewer than there are.
#[test]
#[cfg(target_arch = "x86_64")]
fn finds_what_this_processor_has() {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = avx2 && is_x86_feature_detected!("avx512f");
    let wanted = [(true, Simd::Portable), (avx2, Simd::Avx2), (avx512, Simd::Avx512)];
    let wanted: Vec<Simd> = wanted.into_iter().filter(|w| w.0).map(|w| w.1).collect();
    assert_eq!(Simd::available(), wanted);
    assert_eq!(wanted.last(), Some(&Simd::detect()));
}

struct View<'a>(&'a [f64]);

impl Kernel for View<'_> {
    type Output = usize;
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> usize {
        lanes.view(self.0).len()
    }
}

/// Vectors are read where they lie.
#[test]
fn views_of_what_is_no_whole_aligned_vectors_are_refused() {
    for simd in Simd::available() {
        let (w, data) = (simd.width(), Buffer::new(8 * simd.width()).expect("small"));
        let view = |from: usize, to: usize| {
            std::panic::catch_unwind(|| simd.run(View(&data[from..to]))).ok()
        };
        assert_eq!((view(0, 4 * w), view(2 * w, 4 * w), view(0, 0)), (Some(2), Some(1), Some(0)));
        for to in [1, w, 2 * w - 1, 2 * w + 1, 3 * w] {
            assert_eq!(view(0, to), None, "{to} doubles on {simd:?}");
        }
        if simd != Simd::Portable {
            assert_eq!(view(1, 2 * w + 1), None, "{simd:?}");
        }
    }
}

/// Counts the butterflies of a transform of nothing.
struct Count(usize);

impl<L: Lanes> Source<L> for Count {
    #[inline(always)]
    fn load(&mut self, lanes: L, _: usize) -> C<L> {
        C::<L> { re: lanes.splat(0.0), im: lanes.splat(0.0) }
    }

    #[inline(always)]
    fn between(&mut self, _: L) {
        self.0 += 1;
    }
}

impl<L: Lanes> Sink<L> for Count {
    #[inline(always)]
    fn store(&mut self, _: L, _: usize, _: C<L>) {}

    #[inline(always)]
    fn between(&mut self, _: L) {
        self.0 += 1;
    }
}

struct Counting<'a>(&'a Fft, &'a mut Buffer);

impl Kernel for Counting<'_> {
    type Output = [usize; 2];
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [usize; 2] {
        let (mut source, mut sink, data) = (Count(0), Count(0), lanes.view_mut(self.1));
        self.0.forward_from(lanes, &mut source, data);
        self.0.inverse_into(lanes, data, &mut sink);
        [source.0, sink.0]
    }
}

/// Engines divide what they prefetch by it.
#[test]
fn there_are_as_many_butterflies_as_a_transform_says() {
    for fft in transforms() {
        let mut data = Buffer::new(2 * fft.points()).expect("small");
        let counted = fft.simd().run(Counting(&fft, &mut data));
        assert_eq!(counted, [fft.butterflies(); 2], "{} on {:?}", fft.points(), fft.simd());
    }
}

#[test]
fn takes_the_widest_vectors_that_fit() {
    for size in [128, 256, 8192] {
        assert_eq!(Fft::new(size).expect("in range").simd(), Simd::detect(), "{size}");
    }
    assert_eq!(Fft::new(64).expect("in range").simd().width(), 4);
}

#[test]
fn refuses_what_has_no_transform() {
    for size in [0, 1, 32, 96, 1000, 16_384] {
        assert!(Fft::new(size).is_none(), "{size}");
    }
}
