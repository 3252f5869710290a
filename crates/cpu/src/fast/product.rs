//! Digits times key, times monomials.

use super::Layout;
use girih_backend::SecretKind;
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
                    // w P0 + conj(w) P1 = Re(w) (P0 + P1) + i Im(w) (P0 - P1), as X^-e - 1 is the conjugate of X^e - 1 on the circle.
                    let d = if TERNARY { d } else { s };
                    out[(g * columns + column) * stride + vector] =
                        Complex { re: l.neg_mul_add(w.im, d.im, l.mul(w.re, s.re)), im: l.mul_add(w.im, d.re, l.mul(w.re, s.im)) };
                }
            }
        }
    }
}

/// Multiplies the digits of one or two ciphertexts (one exponent each) by the key of a step and by the monomials.
pub(super) fn multiply(fft: &Fft, layout: Layout, secret: SecretKind, key: &[f64], exponents: &[usize], digits: &[f64], out: &mut [f64]) {
    let simd = fft.simd();
    match (exponents, secret) {
        (&[a], SecretKind::Ternary) => simd.run(Multiply::<1, true> { fft, layout, key, exponents: [a], digits, out }),
        (&[a], SecretKind::Binary) => simd.run(Multiply::<1, false> { fft, layout, key, exponents: [a], digits, out }),
        (&[a, b], SecretKind::Ternary) => simd.run(Multiply::<2, true> { fft, layout, key, exponents: [a, b], digits, out }),
        (&[a, b], SecretKind::Binary) => simd.run(Multiply::<2, false> { fft, layout, key, exponents: [a, b], digits, out }),
        _ => unreachable!("a step serves one or two ciphertexts"),
    }
}
