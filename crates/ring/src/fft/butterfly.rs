//! Butterflies on complex vectors in registers, of radix 4 and 8.
//!
//! All are of the tree `X^(2h) - w^2 = (X^h - w)(X^h + w)`: a pair `(u, v)` of residues modulo the
//! left side goes to `(u + w v, u - w v)`, the residues modulo the two factors. Where a block has
//! the root w^2, its halves have w and -w, so the next twiddles are sqrt(w) and i sqrt(w):
//! multiplication by i is a swap, and radix 8 loads four twiddles, not seven. Each butterfly is
//! four multiplications (two fused) and four additions, which matches processors that have as many
//! adders as multipliers.

use super::lanes::{Complex, Lanes};

type C<L> = Complex<<L as Lanes>::F>;

#[inline(always)]
fn add<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex { re: l.add(a.re, b.re), im: l.add(a.im, b.im) }
}

#[inline(always)]
fn sub<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex { re: l.sub(a.re, b.re), im: l.sub(a.im, b.im) }
}

/// `a + i b`.
#[inline(always)]
fn add_i<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex { re: l.sub(a.re, b.im), im: l.add(a.im, b.re) }
}

/// `a - i b`.
#[inline(always)]
fn sub_i<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex { re: l.add(a.re, b.im), im: l.sub(a.im, b.re) }
}

/// `a b`.
#[inline(always)]
pub(super) fn mul<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex {
        re: l.neg_mul_add(a.im, b.im, l.mul(a.re, b.re)),
        im: l.mul_add(a.im, b.re, l.mul(a.re, b.im)),
    }
}

/// `a conj(b)`.
#[inline(always)]
fn mul_conj<L: Lanes>(l: L, a: C<L>, b: C<L>) -> C<L> {
    Complex {
        re: l.mul_add(a.im, b.im, l.mul(a.re, b.re)),
        im: l.neg_mul_add(a.re, b.im, l.mul(a.im, b.re)),
    }
}

/// `(u + w v, u - w v)`.
#[inline(always)]
fn split<L: Lanes>(l: L, x: &mut [C<L>], u: usize, v: usize, w: C<L>) {
    let t = mul(l, x[v], w);
    (x[u], x[v]) = (add(l, x[u], t), sub(l, x[u], t));
}

/// `(u + i w v, u - i w v)`.
#[inline(always)]
fn split_i<L: Lanes>(l: L, x: &mut [C<L>], u: usize, v: usize, w: C<L>) {
    let t = mul(l, x[v], w);
    (x[u], x[v]) = (add_i(l, x[u], t), sub_i(l, x[u], t));
}

/// Twice the inverse of `split`.
#[inline(always)]
fn merge<L: Lanes>(l: L, x: &mut [C<L>], u: usize, v: usize, w: C<L>) {
    let difference = sub(l, x[u], x[v]);
    (x[u], x[v]) = (add(l, x[u], x[v]), mul_conj(l, difference, w));
}

/// Twice the inverse of `split_i`: the second output is `conj(i w) (a - b) = conj(w) (-i a + i b)`.
#[inline(always)]
fn merge_i<L: Lanes>(l: L, x: &mut [C<L>], u: usize, v: usize, w: C<L>) {
    let (a, b) = (x[u], x[v]);
    let turned = Complex { re: l.sub(a.im, b.im), im: l.sub(b.re, a.re) };
    (x[u], x[v]) = (add(l, a, b), mul_conj(l, turned, w));
}

/// Two levels; twiddles `[w, sqrt(w)]`.
#[inline(always)]
pub(super) fn forward4<L: Lanes>(l: L, x: &mut [C<L>; 4], w: [C<L>; 2]) {
    split(l, x, 0, 2, w[0]);
    split(l, x, 1, 3, w[0]);
    split(l, x, 0, 1, w[1]);
    split_i(l, x, 2, 3, w[1]);
}

/// Four times the inverse of [`forward4`].
#[inline(always)]
pub(super) fn inverse4<L: Lanes>(l: L, x: &mut [C<L>; 4], w: [C<L>; 2]) {
    merge(l, x, 0, 1, w[1]);
    merge_i(l, x, 2, 3, w[1]);
    merge(l, x, 0, 2, w[0]);
    merge(l, x, 1, 3, w[0]);
}

/// Three levels; twiddles `[w, w^(1/2), w^(1/4), e^(i pi/4) w^(1/4)]`.
#[inline(always)]
pub(super) fn forward8<L: Lanes>(l: L, x: &mut [C<L>; 8], w: [C<L>; 4]) {
    split(l, x, 0, 4, w[0]);
    split(l, x, 1, 5, w[0]);
    split(l, x, 2, 6, w[0]);
    split(l, x, 3, 7, w[0]);
    split(l, x, 0, 2, w[1]);
    split(l, x, 1, 3, w[1]);
    split_i(l, x, 4, 6, w[1]);
    split_i(l, x, 5, 7, w[1]);
    split(l, x, 0, 1, w[2]);
    split_i(l, x, 2, 3, w[2]);
    split(l, x, 4, 5, w[3]);
    split_i(l, x, 6, 7, w[3]);
}

/// Eight times the inverse of [`forward8`].
#[inline(always)]
pub(super) fn inverse8<L: Lanes>(l: L, x: &mut [C<L>; 8], w: [C<L>; 4]) {
    merge(l, x, 0, 1, w[2]);
    merge_i(l, x, 2, 3, w[2]);
    merge(l, x, 4, 5, w[3]);
    merge_i(l, x, 6, 7, w[3]);
    merge(l, x, 0, 2, w[1]);
    merge(l, x, 1, 3, w[1]);
    merge_i(l, x, 4, 6, w[1]);
    merge_i(l, x, 5, 7, w[1]);
    merge(l, x, 0, 4, w[0]);
    merge(l, x, 1, 5, w[0]);
    merge(l, x, 2, 6, w[0]);
    merge(l, x, 3, 7, w[0]);
}
