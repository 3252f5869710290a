//! The three loops of a base conversion on vectors. See [`BaseConversion`](crate::BaseConversion).

use super::lanes::{WordKernel, WordLanes, whole};
use super::products::{Capacity, Reducer};
use crate::{Formula, Modulus, Shoup};

/// y_i of canonical residues.
pub(crate) struct Sources<'a> {
    pub(crate) moduli: &'a [Modulus],
    pub(crate) factors: &'a [Shoup],
    pub(crate) x: &'a [u32],
    pub(crate) y: &'a mut [u32],
}

impl WordKernel for Sources<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let size = self.y.len() / self.moduli.len();
        for (i, (modulus, factor)) in self.moduli.iter().zip(self.factors).enumerate() {
            let p = l.splat(modulus.value());
            let w = (l.splat(factor.value), l.splat(factor.quotient));
            let (x, y) = (&self.x[i * size..][..size], &mut self.y[i * size..][..size]);
            let end = whole::<L>(size);
            for at in (0..end).step_by(L::WIDTH) {
                let word = l.mul_shoup_lazy(l.load_at(x, at), w, p);
                l.store_at(l.reduce(word, p), y, at);
            }
            for at in end..size {
                y[at] = modulus.mul_shoup(x[at], *factor);
            }
        }
    }
}

/// u of ready y_i.
pub(crate) struct Overflow<'a> {
    pub(crate) formula: Formula,
    pub(crate) moduli: &'a [Modulus],
    pub(crate) weights: &'a [u32],
    pub(crate) y: &'a [u32],
    pub(crate) u: &'a mut [u32],
}

impl WordKernel for Overflow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let size = self.u.len();
        let end = whole::<L>(size);
        let limb = |i: usize| &self.y[i * size..][..size];
        for at in (0..end).step_by(L::WIDTH) {
            let mut u = l.splat(0);
            match self.formula {
                Formula::Plain => {
                    for (i, modulus) in self.moduli.iter().enumerate() {
                        let half = l.splat(modulus.value() / 2);
                        u = l.count_greater(u, l.load_at(limb(i), at), half);
                    }
                }
                Formula::Corrected => {
                    for (i, &weight) in self.weights.iter().enumerate() {
                        u = l.add(u, l.mul_high(l.load_at(limb(i), at), l.splat(weight)));
                    }
                    u = l.shift_right_19(l.add(u, l.splat(1 << 18)));
                }
            }
            l.store_at(u, self.u, at);
        }
        for at in end..size {
            let terms = self.moduli.iter().zip(self.weights).enumerate();
            let sum: u32 = terms
                .map(|(i, (modulus, &weight))| match self.formula {
                    Formula::Plain => u32::from(limb(i)[at] > modulus.value() / 2),
                    Formula::Corrected => {
                        ((u64::from(limb(i)[at]) * u64::from(weight)) >> 32) as u32
                    }
                })
                .sum();
            self.u[at] = match self.formula {
                Formula::Plain => sum,
                Formula::Corrected => (sum + (1 << 18)) >> 19,
            };
        }
    }
}

/// Constants of one target prime.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) modulus: Modulus,
    /// `(D/d_i) 2^32 mod e` for each source, then `-D 2^32 mod e` for u.
    pub(crate) factors: Vec<u32>,
}

/// Target limbs of ready y_i and u.
pub(crate) struct Targets<'a> {
    /// Above every source prime.
    pub(crate) bound: u32,
    pub(crate) targets: &'a [Target],
    pub(crate) y: &'a [u32],
    pub(crate) u: &'a [u32],
    /// One limb for each target.
    pub(crate) out: &'a mut [u32],
}

impl WordKernel for Targets<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let size = self.u.len();
        if size == 0 {
            return;
        }
        let mut out = self.out.chunks_exact_mut(size);
        let mut several = self.targets.chunks_exact(4);
        for targets in &mut several {
            let out = [(); 4].map(|()| out.next().expect("a limb for each target"));
            convert::<L, 4>(l, self.bound, targets, self.y, self.u, out);
        }
        for target in several.remainder().chunks_exact(1) {
            let out = [out.next().expect("a limb for each target")];
            convert::<L, 1>(l, self.bound, target, self.y, self.u, out);
        }
    }
}

/// `T` targets for one reading of the sources.
#[inline(always)]
fn convert<L: WordLanes, const T: usize>(
    l: L,
    bound: u32,
    targets: &[Target],
    y: &[u32],
    u: &[u32],
    out: [&mut [u32]; T],
) {
    let size = u.len();
    let largest = targets.iter().map(|target| target.modulus.value()).max().unwrap_or(0);
    let capacity = Capacity::new(bound, largest);
    let mut reducers = [Reducer::new(l, capacity, targets[0].modulus); T];
    let mut factors = [&targets[0].factors[..]; T];
    for t in 0..T {
        reducers[t] = Reducer::new(l, capacity, targets[t].modulus);
        factors[t] = &targets[t].factors;
    }
    let terms = factors[0].len();
    let whole = whole::<L>(size);
    for at in (0..whole).step_by(L::WIDTH) {
        let mut sums = [[l.splat_wide(0); 2]; T];
        let (mut i, mut room) = (0, capacity.first);
        loop {
            let end = terms.min(i + room);
            while i < end {
                let limb = if i + 1 < terms { &y[i * size..][..size] } else { u };
                let even = l.load_at(limb, at);
                let odd = l.odd(even);
                for t in 0..T {
                    let factor = l.splat(factors[t][i]);
                    sums[t][0] = l.add_wide(sums[t][0], l.mul_even(even, factor));
                    sums[t][1] = l.add_wide(sums[t][1], l.mul_even(odd, factor));
                }
                i += 1;
            }
            if i == terms {
                break;
            }
            for t in 0..T {
                sums[t] = reducers[t].below_e(sums[t]);
            }
            room = capacity.later;
        }
        for t in 0..T {
            let word = reducers[t].canonical(reducers[t].montgomery_lazy(sums[t]));
            l.store_at(word, out[t], at);
        }
    }
    for at in whole..size {
        for t in 0..T {
            let m = targets[t].modulus;
            let word = |i: usize| if i + 1 < terms { y[i * size + at] } else { u[at] };
            let sum = factors[t].iter().enumerate();
            out[t][at] = sum.fold(0, |sum, (i, &factor)| {
                // Factors are in Montgomery form, words are not.
                let product = m.mul_montgomery(m.reduce(word(i).into()), factor);
                m.add(sum, product)
            });
        }
    }
}
