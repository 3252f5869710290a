//! Sums of products of limbs, reduced once in a while.
//!
//! Sums are kept in 64 bits. With E = p 2^32 a product of canonical words is below E/4 where
//! p < 2^30 and below E/2 above; 64 bits hold 4E in the one class and 2E in the other, hence 16 or
//! 4 products before the first reduction. A sum below E goes through one Montgomery reduction.

use super::lanes::{WordKernel, WordLanes};
use crate::{Modulus, Shoup};

/// How many products a sum takes before it has to be reduced below E, and how.
#[derive(Clone, Copy)]
pub(super) struct Capacity {
    /// Products that fit a sum that starts at 0.
    first: usize,
    /// Products that fit beside a sum below E.
    later: usize,
    /// Whether a full sum may reach 4E, else 2E.
    four: bool,
}

impl Capacity {
    /// For factors below `a` and below the modulus p itself.
    pub(super) fn new(a: u32, p: u32) -> Self {
        let four = p < 1 << 30;
        let (cap, quarters) = (if four { 16 } else { 8 }, if a < 1 << 30 { 1 } else { 2 });
        Self { first: cap / quarters, later: (cap - 4) / quarters, four }
    }
}

/// A sum of products of even and of odd words, with what is left of its capacity.
#[derive(Clone, Copy)]
pub(super) struct Sum<L: WordLanes> {
    value: [L::Wide; 2],
    left: usize,
}

/// p in the forms that sums are reduced with.
#[derive(Clone, Copy)]
pub(super) struct Reducer<L: WordLanes> {
    l: L,
    capacity: Capacity,
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
            capacity,
            e: l.splat_wide(e),
            // Read only where 4E fits 64 bits.
            e2: l.splat_wide(e.wrapping_mul(2)),
            p: l.splat(modulus.value()),
            neg_inverse: l.splat(modulus.neg_inverse()),
        }
    }

    #[inline(always)]
    pub(super) fn zero(&self) -> Sum<L> {
        Sum { value: [self.l.splat_wide(0); 2], left: self.capacity.first }
    }

    /// `sum += a b`, words of `a` below the capacity's bound, of `b` below p (or the reverse).
    #[inline(always)]
    pub(super) fn add(&self, sum: &mut Sum<L>, a: L::Words, b: L::Words) {
        if sum.left == 0 {
            sum.value = self.below_e(sum.value);
            sum.left = self.capacity.later;
        }
        sum.value = self.l.mul_add_wide(sum.value, a, b);
        sum.left -= 1;
    }

    #[inline(always)]
    fn below_e(&self, value: [L::Wide; 2]) -> [L::Wide; 2] {
        let l = self.l;
        value.map(|x| {
            let x = if self.capacity.four { l.reduce_wide(x, self.e2) } else { x };
            l.reduce_wide(x, self.e)
        })
    }

    /// `sum 2^-32` modulo p, below 2p.
    #[inline(always)]
    pub(super) fn montgomery_lazy(&self, sum: Sum<L>) -> L::Words {
        self.l.montgomery_lazy(self.below_e(sum.value), self.neg_inverse, self.p)
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
    /// A canonical residue.
    pub factor: u32,
    /// Canonical residues.
    pub a: &'a [u32],
    /// Canonical residues.
    pub b: Option<&'a [u32]>,
}

pub(super) struct SumOfProducts<'a> {
    pub(super) modulus: Modulus,
    pub(super) constant: u32,
    pub(super) terms: &'a [ProductTerm<'a>],
    pub(super) out: &'a mut [u32],
}

/// Vectors that one walk through the terms works on.
const BATCH: usize = 4;

impl WordKernel for SumOfProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let m = self.modulus;
        let reducer = Reducer::new(l, Capacity::new(m.value(), m.value()), m);
        let splat = |w: Shoup| (l.splat(w.value), l.splat(w.quotient));
        // Takes the 2^-32 of the reduction back.
        let restore = splat(m.shoup(m.to_montgomery(1)));
        let (one, constant) = (l.splat(1), l.splat(self.constant));
        let mut at = 0;
        while at < self.out.len() {
            let mut sums = [reducer.zero(); BATCH];
            let places: [usize; BATCH] = std::array::from_fn(|v| at + v * L::WIDTH);
            let here = if places[BATCH - 1] + L::WIDTH <= self.out.len() { BATCH } else { 1 };
            if self.constant != 0 {
                for sum in &mut sums {
                    reducer.add(sum, constant, one);
                }
            }
            for term in self.terms {
                let factor = splat(m.shoup(term.factor));
                for (sum, &place) in sums.iter_mut().zip(&places).take(here) {
                    let a = l.load_at(term.a, place);
                    match term.b {
                        None => reducer.add(sum, a, factor.0),
                        Some(b) => {
                            let a = if term.factor == 1 {
                                a
                            } else {
                                reducer.canonical(l.mul_shoup_lazy(a, factor, reducer.p))
                            };
                            reducer.add(sum, a, l.load_at(b, place));
                        }
                    }
                }
            }
            for (&sum, &place) in sums.iter().zip(&places).take(here) {
                let x = l.mul_shoup_lazy(reducer.montgomery_lazy(sum), restore, reducer.p);
                l.store_at(reducer.canonical(x), self.out, place);
            }
            at += here * L::WIDTH;
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
        for at in (0..self.out.len()).step_by(L::WIDTH) {
            let x = l.mul_shoup_lazy(l.load_at(self.a, at), w, p);
            l.store_at(l.reduce(x, p), self.out, at);
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
        for at in (0..self.out.len()).step_by(L::WIDTH) {
            let w = (l.load_at(self.values, at), l.load_at(self.quotients, at));
            let x = l.mul_shoup_lazy(l.load_at(self.a, at), w, p);
            l.store_at(l.reduce(x, p), self.out, at);
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
        for at in (0..self.out.len()).step_by(L::WIDTH) {
            // In (0, 2p), which is below 2^32.
            let difference = l.add(l.sub(l.load_at(self.a, at), l.load_at(self.b, at)), p);
            l.store_at(l.reduce(l.mul_shoup_lazy(difference, w, p), p), self.out, at);
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
        for at in (0..self.out.len()).step_by(L::WIDTH) {
            let (a, b) = (l.load_at(self.a, at), l.load_at(self.b, at));
            let sum = if self.negate { l.add(l.sub(a, b), p) } else { l.add(a, b) };
            l.store_at(l.reduce(sum, p), self.out, at);
        }
    }
}
