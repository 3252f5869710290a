//! Digits times key, times monomials.

use super::Layout;
use girih_backend::{BootstrapShape, SecretKind};
use girih_ring::fft::{Complex, Fft, Kernel, Lanes};

type C<L> = Complex<<L as Lanes>::F>;

/// `out += a b`.
#[inline(always)]
fn mul_add<L: Lanes>(l: L, a: C<L>, b: C<L>, out: &mut C<L>) {
    out.re = l.neg_mul_add(a.im, b.im, l.mul_add(a.re, b.re, out.re));
    out.im = l.mul_add(a.im, b.re, l.mul_add(a.re, b.im, out.im));
}

/// What the products of one step read and write.
pub(super) struct Step<'a> {
    pub fft: &'a Fft,
    pub layout: Layout,
    /// As `FourierKey` lays out one step.
    pub key: &'a [f64],
    /// `[ciphertext][row]` of stride `layout.stride`.
    pub digits: &'a [f64],
    /// `[ciphertext][column]`, the same stride.
    pub out: &'a mut [f64],
}

/// The same in complex vectors.
struct Views<'a, L: Lanes> {
    columns: usize,
    rows: usize,
    /// Vectors of a polynomial, and those from one to the next.
    vectors: usize,
    stride: usize,
    key: &'a [C<L>],
    digits: &'a [C<L>],
    out: &'a mut [C<L>],
}

impl<'a> Step<'a> {
    #[inline(always)]
    fn views<L: Lanes>(self, l: L) -> Views<'a, L> {
        let Layout { columns, rows, stride, size } = self.layout;
        let (vectors, stride) = (size / (2 * L::WIDTH), stride / (2 * L::WIDTH));
        let (key, digits, out) = (l.view(self.key), l.view(self.digits), l.view_mut(self.out));
        Views { columns, rows, vectors, stride, key, digits, out }
    }
}

/// The products of one step for G ciphertexts that share each load of the key.
struct Multiply<'a, const G: usize, const TERNARY: bool> {
    step: Step<'a>,
    /// Below 2N.
    exponents: [usize; G],
}

impl<const G: usize, const TERNARY: bool> Kernel for Multiply<'_, G, TERNARY> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let planes = if TERNARY { 2 } else { 1 };
        let fft = self.step.fft;
        let monomials = self.exponents.map(|e| fft.monomial_minus_one(l, e));
        let Views { columns, rows, vectors, stride, key, digits, out } = self.step.views(l);
        let zero = Complex { re: l.splat(0.0), im: l.splat(0.0) };
        for (vector, key) in key.chunks_exact(columns * rows * planes).enumerate().take(vectors) {
            let mut monomial = [zero; G];
            for g in 0..G {
                monomial[g] = monomials[g].at(vector);
            }
            for (column, key) in key.chunks_exact(rows * planes).enumerate() {
                let (mut sum, mut difference) = ([zero; G], [zero; G]);
                for (row, key) in key.chunks_exact(planes).enumerate() {
                    for g in 0..G {
                        let digit = digits[(g * rows + row) * stride + vector];
                        mul_add(l, digit, key[0], &mut sum[g]);
                        if TERNARY {
                            mul_add(l, digit, key[1], &mut difference[g]);
                        }
                    }
                }
                for g in 0..G {
                    let (w, s, d) = (monomial[g], sum[g], difference[g]);
                    // w P0 + conj(w) P1 = Re(w) (P0 + P1) + i Im(w) (P0 - P1), as X^-e - 1 is the
                    // conjugate of X^e - 1 on the circle.
                    let d = if TERNARY { d } else { s };
                    out[(g * columns + column) * stride + vector] = Complex {
                        re: l.neg_mul_add(w.im, d.im, l.mul(w.re, s.re)),
                        im: l.mul_add(w.im, d.re, l.mul(w.re, s.im)),
                    };
                }
            }
        }
    }
}

/// The same for a step of several indices of binary secrets, which has S GGSW ciphertexts: each
/// entry of the key becomes that of one ciphertext, their sum with each times its `X^e - 1`, before
/// digits meet it.
struct MultiplyGrouped<'a, const G: usize, const S: usize> {
    step: Step<'a>,
    /// Of each GGSW ciphertext's monomial.
    exponents: [[usize; S]; G],
}

impl<const G: usize, const S: usize> Kernel for MultiplyGrouped<'_, G, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let fft = self.step.fft;
        let monomials = self.exponents.map(|e| e.map(|e| fft.monomial_minus_one(l, e)));
        let Views { columns, rows, vectors, stride, key, digits, out } = self.step.views(l);
        let zero = Complex { re: l.splat(0.0), im: l.splat(0.0) };
        for (vector, key) in key.chunks_exact(columns * rows * S).enumerate().take(vectors) {
            let mut monomial = [[zero; S]; G];
            for g in 0..G {
                for s in 0..S {
                    monomial[g][s] = monomials[g][s].at(vector);
                }
            }
            for (column, key) in key.chunks_exact(rows * S).enumerate() {
                let mut sums = [zero; G];
                for (row, entries) in key.chunks_exact(S).enumerate() {
                    for g in 0..G {
                        let mut bundle = zero;
                        for s in 0..S {
                            mul_add(l, entries[s], monomial[g][s], &mut bundle);
                        }
                        mul_add(
                            l,
                            digits[(g * rows + row) * stride + vector],
                            bundle,
                            &mut sums[g],
                        );
                    }
                }
                for g in 0..G {
                    out[(g * columns + column) * stride + vector] = sums[g];
                }
            }
        }
    }
}

/// Multiplies the digits of one or two ciphertexts (the exponents of a step each) by the key of a
/// step and by the monomials.
pub(super) fn multiply(step: Step<'_>, shape: &BootstrapShape, exponents: &[&[u32]]) {
    match *exponents {
        [a] => multiply_all(step, shape, [a]),
        [a, b] => multiply_all(step, shape, [a, b]),
        _ => unreachable!("a step serves one or two ciphertexts"),
    }
}

fn multiply_all<const G: usize>(step: Step<'_>, shape: &BootstrapShape, exponents: [&[u32]; G]) {
    fn grouped<const G: usize, const S: usize>(
        step: Step<'_>,
        shape: &BootstrapShape,
        exponents: [&[u32]; G],
    ) {
        let exponents =
            exponents.map(|e| std::array::from_fn(|which| shape.ggsw_exponent(which, e) as usize));
        step.fft.simd().run(MultiplyGrouped::<G, S> { step, exponents });
    }
    let (simd, single) = (step.fft.simd(), exponents.map(|e| e[0] as usize));
    match (shape.secret, shape.ggsw_per_step()) {
        (SecretKind::Ternary, _) => simd.run(Multiply::<G, true> { step, exponents: single }),
        (_, 1) => simd.run(Multiply::<G, false> { step, exponents: single }),
        (_, 3) => grouped::<G, 3>(step, shape, exponents),
        (_, 7) => grouped::<G, 7>(step, shape, exponents),
        (_, 15) => grouped::<G, 15>(step, shape, exponents),
        _ => unreachable!("shapes are checked: at most four indices a step"),
    }
}
