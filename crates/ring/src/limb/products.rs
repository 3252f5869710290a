//! Sums of products of limbs, reduced once in a while.
//!
//! Sums are kept in 64 bits. With E = p 2^32 a product of canonical words is below E/4 where
//! p < 2^30 and below E/2 above; 64 bits hold 4E in the one class and 2E in the other, hence 16 or
//! 4 products before the first reduction. A sum below E goes through one Montgomery reduction.

use super::lanes::{WordKernel, WordLanes, whole};
use crate::{Modulus, Shoup};
use zeroize::Zeroize;

/// How many products a sum takes before it has to be reduced below E, and how.
#[derive(Clone, Copy)]
pub(super) struct Capacity {
    /// Products that fit a sum that starts at 0.
    pub(super) first: usize,
    /// Products that fit beside a sum below E.
    pub(super) later: usize,
    /// Whether a full sum may reach 4E, else 2E.
    four: bool,
}

impl Capacity {
    /// For factors below `a` and below a modulus p; what is right for one p is for all smaller.
    pub(super) fn new(a: u32, p: u32) -> Self {
        let four = p < 1 << 30;
        let (cap, quarters) = (if four { 16 } else { 8 }, if a <= 1 << 30 { 1 } else { 2 });
        Self { first: cap / quarters, later: (cap - 4) / quarters, four }
    }
}

/// A sum of products: those of even and those of odd words.
pub(super) type Sum<L> = [<L as WordLanes>::Wide; 2];

/// p in the forms that sums are reduced with.
#[derive(Clone, Copy)]
pub(super) struct Reducer<L: WordLanes> {
    l: L,
    four: bool,
    e: L::Wide,
    e2: L::Wide,
    p: L::Words,
    neg_inverse: L::Words,
}

impl<L: WordLanes> Reducer<L> {
    #[inline(always)]
    pub(super) fn new(l: L, capacity: Capacity, modulus: Modulus) -> Self {
        let e = u64::from(modulus.value()) << 32;
        Self {
            l,
            four: capacity.four,
            e: l.splat_wide(e),
            // Read only where 4E fits 64 bits.
            e2: l.splat_wide(e.wrapping_mul(2)),
            p: l.splat(modulus.value()),
            neg_inverse: l.splat(modulus.neg_inverse()),
        }
    }

    /// A full sum, reduced below E.
    #[inline(always)]
    pub(super) fn below_e(&self, mut sum: Sum<L>) -> Sum<L> {
        if self.four {
            sum[0] = self.l.reduce_wide(sum[0], self.e2);
            sum[1] = self.l.reduce_wide(sum[1], self.e2);
        }
        [self.l.reduce_wide(sum[0], self.e), self.l.reduce_wide(sum[1], self.e)]
    }

    /// `sum 2^-32` modulo p, below 2p.
    #[inline(always)]
    pub(super) fn montgomery_lazy(&self, sum: Sum<L>) -> L::Words {
        self.l.montgomery_lazy(self.below_e(sum), self.neg_inverse, self.p)
    }

    #[inline(always)]
    pub(super) fn canonical(&self, x: L::Words) -> L::Words {
        self.l.reduce(x, self.p)
    }
}

/// One summand of [`LimbKernels::sum_of_products`](super::LimbKernels::sum_of_products):
/// `factor * a * b`, `b` being 1 where it is missing.
#[derive(Clone, Copy, Debug)]
pub struct ProductTerm<'a> {
    /// A canonical residue, prepared.
    pub factor: Shoup,
    /// Canonical residues.
    pub a: &'a [u32],
    /// Canonical residues.
    pub b: Option<&'a [u32]>,
}

pub(super) struct SumOfProducts<'a> {
    pub(super) modulus: Modulus,
    pub(super) constant: u32,
    /// 2^32 mod p.
    pub(super) restore: Shoup,
    pub(super) terms: &'a [ProductTerm<'a>],
    pub(super) out: &'a mut [u32],
}

impl WordKernel for SumOfProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(mut self, l: L) {
        let (mut at, end) = (0, whole::<L>(self.out.len()));
        while at + 4 * L::WIDTH <= end {
            self.vectors::<L, 4>(l, at);
            at += 4 * L::WIDTH;
        }
        while at < end {
            self.vectors::<L, 1>(l, at);
            at += L::WIDTH;
        }
        let m = self.modulus;
        for at in end..self.out.len() {
            self.out[at] = self.terms.iter().fold(self.constant, |sum, term| {
                let a = m.mul_shoup(term.a[at], term.factor);
                m.add(sum, term.b.map_or(a, |b| m.mul(a, b[at])))
            });
        }
    }
}

impl SumOfProducts<'_> {
    /// `V` vectors from `at` on, for one walk through the terms.
    #[inline(always)]
    fn vectors<L: WordLanes, const V: usize>(&mut self, l: L, at: usize) {
        let m = self.modulus;
        let capacity = Capacity::new(m.value(), m.value());
        let reducer = Reducer::new(l, capacity, m);
        // Takes the 2^-32 of the reduction back.
        let restore = (l.splat(self.restore.value), l.splat(self.restore.quotient));
        // The constant is below a product.
        let mut left = capacity.first - 1;
        let constant = l.mul_even(l.splat(self.constant), l.splat(1));
        let mut sums = [[constant; 2]; V];
        for term in self.terms {
            if left == 0 {
                for sum in &mut sums {
                    *sum = reducer.below_e(*sum);
                }
                left = capacity.later;
            }
            left -= 1;
            let factor = (l.splat(term.factor.value), l.splat(term.factor.quotient));
            match term.b {
                None => {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let a = l.load_at(term.a, at + v * L::WIDTH);
                        sum[0] = l.add_wide(sum[0], l.mul_even(a, factor.0));
                        sum[1] = l.add_wide(sum[1], l.mul_even(l.odd(a), factor.0));
                    }
                }
                Some(b) => {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let mut a = l.load_at(term.a, at + v * L::WIDTH);
                        let b = l.load_at(b, at + v * L::WIDTH);
                        if term.factor.value != 1 {
                            a = reducer.canonical(l.mul_shoup_lazy(a, factor, reducer.p));
                        }
                        sum[0] = l.add_wide(sum[0], l.mul_even(a, b));
                        sum[1] = l.add_wide(sum[1], l.mul_even(l.odd(a), l.odd(b)));
                    }
                }
            }
        }
        for (v, sum) in sums.iter().enumerate() {
            let x = l.mul_shoup_lazy(reducer.montgomery_lazy(*sum), restore, reducer.p);
            l.store_at(reducer.canonical(x), self.out, at + v * L::WIDTH);
        }
    }
}

/// `out = factor a`.
pub(super) struct Scale<'a> {
    pub(super) modulus: Modulus,
    pub(super) factor: Shoup,
    pub(super) a: &'a [u32],
    pub(super) out: &'a mut [u32],
}

impl WordKernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let p = l.splat(self.modulus.value());
        let w = (l.splat(self.factor.value), l.splat(self.factor.quotient));
        let end = whole::<L>(self.out.len());
        for at in (0..end).step_by(L::WIDTH) {
            let x = l.mul_shoup_lazy(l.load_at(self.a, at), w, p);
            l.store_at(l.reduce(x, p), self.out, at);
        }
        for at in end..self.out.len() {
            self.out[at] = self.modulus.mul_shoup(self.a[at], self.factor);
        }
    }
}

/// `out = a w`, word by word with its own prepared factor.
pub(super) struct ShoupProducts<'a> {
    pub(super) modulus: Modulus,
    pub(super) values: &'a [u32],
    pub(super) quotients: &'a [u32],
    pub(super) a: &'a [u32],
    pub(super) out: &'a mut [u32],
}

impl WordKernel for ShoupProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let p = l.splat(self.modulus.value());
        let end = whole::<L>(self.out.len());
        for at in (0..end).step_by(L::WIDTH) {
            let w = (l.load_at(self.values, at), l.load_at(self.quotients, at));
            let x = l.mul_shoup_lazy(l.load_at(self.a, at), w, p);
            l.store_at(l.reduce(x, p), self.out, at);
        }
        for at in end..self.out.len() {
            self.out[at] = self.modulus.mul(self.a[at], self.values[at]);
        }
    }
}

/// `out = factor (a - b)`: the end of every division.
pub(super) struct ScaledDifference<'a> {
    pub(super) modulus: Modulus,
    pub(super) factor: Shoup,
    pub(super) a: &'a [u32],
    pub(super) b: &'a [u32],
    pub(super) out: &'a mut [u32],
}

impl WordKernel for ScaledDifference<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let p = l.splat(self.modulus.value());
        let w = (l.splat(self.factor.value), l.splat(self.factor.quotient));
        let end = whole::<L>(self.out.len());
        for at in (0..end).step_by(L::WIDTH) {
            // In (0, 2p), which is below 2^32.
            let difference = l.add(l.sub(l.load_at(self.a, at), l.load_at(self.b, at)), p);
            l.store_at(l.reduce(l.mul_shoup_lazy(difference, w, p), p), self.out, at);
        }
        for at in end..self.out.len() {
            self.out[at] =
                self.modulus.mul_shoup(self.modulus.sub(self.a[at], self.b[at]), self.factor);
        }
    }
}

/// `out = a + b`, or `a - b`.
pub(super) struct Addition<'a> {
    pub(super) modulus: Modulus,
    pub(super) negate: bool,
    pub(super) a: &'a [u32],
    pub(super) b: &'a [u32],
    pub(super) out: &'a mut [u32],
}

impl WordKernel for Addition<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let p = l.splat(self.modulus.value());
        let end = whole::<L>(self.out.len());
        for at in (0..end).step_by(L::WIDTH) {
            let (a, b) = (l.load_at(self.a, at), l.load_at(self.b, at));
            let sum = if self.negate { l.add(l.sub(a, b), p) } else { l.add(a, b) };
            l.store_at(l.reduce(sum, p), self.out, at);
        }
        for at in end..self.out.len() {
            self.out[at] = if self.negate {
                self.modulus.sub(self.a[at], self.b[at])
            } else {
                self.modulus.add(self.a[at], self.b[at])
            };
        }
    }
}

/// Residues of signed numbers.
pub(super) struct Residues<'a> {
    pub(super) modulus: Modulus,
    pub(super) x: &'a [i64],
    pub(super) out: &'a mut [u32],
}

/// Numbers that are cut into halves at once: a multiple of every vector.
const HALVES: usize = 64;

impl WordKernel for Residues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let m = self.modulus;
        let p = l.splat(m.value());
        // x + 2^63 is not negative: its upper half times 2^32, its lower half, and -2^63.
        let half = l.splat(1 << 31);
        let [upper, lower] = [m.reduce(1 << 32), 1].map(|factor| m.shoup(factor));
        let upper = (l.splat(upper.value), l.splat(upper.quotient));
        let lower = (l.splat(lower.value), l.splat(lower.quotient));
        let offset = l.splat(m.reduce_signed(i64::MIN));
        let (mut high, mut low) = ([0u32; HALVES], [0u32; HALVES]);
        let (numbers, left) = self.x.as_chunks::<HALVES>();
        let (words, last) = self.out.as_chunks_mut::<HALVES>();
        for (numbers, words) in numbers.iter().zip(words) {
            for i in 0..HALVES {
                (high[i], low[i]) = ((numbers[i] >> 32) as u32, numbers[i] as u32);
            }
            for at in (0..HALVES).step_by(L::WIDTH) {
                let high = l.add(l.load_at(&high, at), half);
                let high = l.reduce(l.mul_shoup_lazy(high, upper, p), p);
                let low = l.reduce(l.mul_shoup_lazy(l.load_at(&low, at), lower, p), p);
                let sum = l.reduce(l.add(high, low), p);
                l.store_at(l.reduce(l.add(sum, offset), p), words, at);
            }
        }
        // They may be of a message.
        high.zeroize();
        low.zeroize();
        for (out, &x) in last.iter_mut().zip(left) {
            *out = m.reduce_signed(x);
        }
    }
}
