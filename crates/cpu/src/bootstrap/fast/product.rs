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

/// The products of one step for G ciphertexts that share each load of the key.
struct Multiply<'a, const G: usize, const TERNARY: bool> {
    fft: &'a Fft,
    layout: Layout,
    /// As `FourierKey` lays out one step.
    key: &'a [f64],
    /// Below 2N.
    exponents: [usize; G],
    /// `[ciphertext][row]` of stride `layout.stride`.
    digits: &'a [f64],
    /// `[ciphertext][column]`, the same stride.
    out: &'a mut [f64],
}

impl<const G: usize, const TERNARY: bool> Kernel for Multiply<'_, G, TERNARY> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Layout { columns, rows, stride, size } = self.layout;
        // In complex vectors from here on.
        let (vectors, stride) = (size / (2 * L::WIDTH), stride / (2 * L::WIDTH));
        let planes = if TERNARY { 2 } else { 1 };
        let (key, digits, out) = (l.view(self.key), l.view(self.digits), l.view_mut(self.out));
        let monomials = self.exponents.map(|e| self.fft.monomial_minus_one(l, e));
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
    fft: &'a Fft,
    layout: Layout,
    key: &'a [f64],
    /// Of each GGSW ciphertext's monomial.
    exponents: [[usize; S]; G],
    digits: &'a [f64],
    out: &'a mut [f64],
}

impl<const G: usize, const S: usize> Kernel for MultiplyGrouped<'_, G, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Layout { columns, rows, stride, size } = self.layout;
        let (vectors, stride) = (size / (2 * L::WIDTH), stride / (2 * L::WIDTH));
        let (key, digits, out) = (l.view(self.key), l.view(self.digits), l.view_mut(self.out));
        let monomials = self.exponents.map(|e| e.map(|e| self.fft.monomial_minus_one(l, e)));
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
pub(super) fn multiply(
    fft: &Fft,
    layout: Layout,
    shape: &BootstrapShape,
    key: &[f64],
    exponents: &[&[u32]],
    digits: &[f64],
    out: &mut [f64],
) {
    match *exponents {
        [a] => multiply_all(fft, layout, shape, key, [a], digits, out),
        [a, b] => multiply_all(fft, layout, shape, key, [a, b], digits, out),
        _ => unreachable!("a step serves one or two ciphertexts"),
    }
}

fn multiply_all<const G: usize>(
    fft: &Fft,
    layout: Layout,
    shape: &BootstrapShape,
    key: &[f64],
    exponents: [&[u32]; G],
    digits: &[f64],
    out: &mut [f64],
) {
    fn of<const G: usize, const S: usize>(
        shape: &BootstrapShape,
        exponents: [&[u32]; G],
    ) -> [[usize; S]; G] {
        exponents.map(|e| std::array::from_fn(|which| shape.ggsw_exponent(which, e) as usize))
    }
    let (simd, single) = (fft.simd(), exponents.map(|e| e[0] as usize));
    match (shape.secret, shape.ggsw_per_step()) {
        (SecretKind::Ternary, _) => {
            simd.run(Multiply::<G, true> { fft, layout, key, exponents: single, digits, out })
        }
        (_, 1) => {
            simd.run(Multiply::<G, false> { fft, layout, key, exponents: single, digits, out })
        }
        (_, 3) => simd.run(MultiplyGrouped::<G, 3> {
            fft,
            layout,
            key,
            exponents: of(shape, exponents),
            digits,
            out,
        }),
        (_, 7) => simd.run(MultiplyGrouped::<G, 7> {
            fft,
            layout,
            key,
            exponents: of(shape, exponents),
            digits,
            out,
        }),
        (_, 15) => simd.run(MultiplyGrouped::<G, 15> {
            fft,
            layout,
            key,
            exponents: of(shape, exponents),
            digits,
            out,
        }),
        _ => unreachable!("shapes are checked: at most four indices a step"),
    }
}
