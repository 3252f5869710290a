//! The passes of the negacyclic transform on vectors, with lazy words inside a half (Harvey 2014).
//!
//! Words between butterflies lie below 4p where p < 2^30, and below 2p above, where 4p would not
//! fit: forward, with one reduction more; inverse, below p.

use super::lanes::{WordKernel, WordLanes};
use crate::{Modulus, Shoup};

/// Roots of unity in the order of [`NttTable`](crate::NttTable), with their Shoup quotients.
#[derive(Clone, Copy)]
pub(crate) struct RootsView<'a> {
    pub(crate) values: &'a [u32],
    pub(crate) quotients: &'a [u32],
}

impl RootsView<'_> {
    fn get(&self, index: usize) -> Shoup {
        Shoup { value: self.values[index], quotient: self.quotients[index] }
    }
}

/// Row transforms of whole rows that follow each other in memory.
pub(crate) struct Rows<'a> {
    pub(crate) modulus: Modulus,
    pub(crate) roots: RootsView<'a>,
    pub(crate) data: &'a mut [u32],
    pub(crate) row_len: usize,
    /// C + r of the first row: block i of the k blocks of a stage has root `k head + i`.
    pub(crate) head: usize,
    pub(crate) inverse: bool,
}

impl WordKernel for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        if self.modulus.value() < 1 << 30 {
            self.class::<L, false>(l);
        } else {
            self.class::<L, true>(l);
        }
    }
}

impl Rows<'_> {
    #[inline(always)]
    fn class<L: WordLanes, const LARGE: bool>(self, l: L) {
        let pass = Passes::<L, LARGE> {
            l,
            p: l.splat(self.modulus.value()),
            p2: l.splat(2 * self.modulus.value()),
            roots: self.roots,
        };
        for (r, row) in self.data.chunks_exact_mut(self.row_len).enumerate() {
            let head = self.head + r;
            let whole = (row.len() / L::WIDTH).checked_ilog2().unwrap_or(0) as usize;
            match (self.inverse, row.len() >= 2 * L::WIDTH) {
                (false, true) => {
                    pass.forward(l.arrays_mut(row), head, whole, false);
                    pass.forward_inside(row, head);
                }
                (true, true) => {
                    pass.inverse_inside(row, head);
                    pass.inverse(l.arrays_mut(row), head, whole, None);
                }
                (false, false) => forward_words(self.modulus, self.roots, row, head, 1),
                (true, false) => inverse_words(self.modulus, self.roots, row, head, 1),
            }
        }
    }
}

/// Column transforms of all columns of a tile: `points` rows of words.
pub(crate) struct Columns<'a> {
    pub(crate) modulus: Modulus,
    pub(crate) roots: RootsView<'a>,
    pub(crate) data: &'a mut [u32],
    pub(crate) points: usize,
    /// The inverse transform, times this.
    pub(crate) inverse: Option<Shoup>,
}

impl WordKernel for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        if self.modulus.value() < 1 << 30 {
            self.class::<L, false>(l);
        } else {
            self.class::<L, true>(l);
        }
    }
}

impl Columns<'_> {
    #[inline(always)]
    fn class<L: WordLanes, const LARGE: bool>(self, l: L) {
        let width = self.data.len() / self.points;
        if width.is_multiple_of(L::WIDTH) {
            let pass = Passes::<L, LARGE> {
                l,
                p: l.splat(self.modulus.value()),
                p2: l.splat(2 * self.modulus.value()),
                roots: self.roots,
            };
            let stages = self.points.trailing_zeros() as usize;
            let data = l.arrays_mut(self.data);
            match self.inverse {
                None => pass.forward(data, 1, stages, true),
                Some(factor) => pass.inverse(data, 1, stages, Some(factor)),
            }
            return;
        }
        match self.inverse {
            None => forward_words(self.modulus, self.roots, self.data, 1, width),
            Some(factor) => {
                inverse_words(self.modulus, self.roots, self.data, 1, width);
                for word in self.data {
                    *word = self.modulus.mul_shoup(*word, factor);
                }
            }
        }
    }
}

/// A root and its quotient in every lane.
type Root<L> = (<L as WordLanes>::Words, <L as WordLanes>::Words);

struct Passes<'a, L: WordLanes, const LARGE: bool> {
    l: L,
    p: L::Words,
    p2: L::Words,
    roots: RootsView<'a>,
}

impl<L: WordLanes, const LARGE: bool> Passes<'_, L, LARGE> {
    #[inline(always)]
    fn root(&self, index: usize) -> Root<L> {
        let root = self.roots.get(index);
        (self.l.splat(root.value), self.l.splat(root.quotient))
    }

    /// u + w v and u - w v, for and with words below 4p, or below 2p for a large p.
    #[inline(always)]
    fn butterfly(&self, u: &mut L::Words, v: &mut L::Words, w: Root<L>) {
        let l = self.l;
        let product = l.mul_shoup_lazy(*v, w, self.p);
        let (a, b, bound) = if LARGE {
            (l.reduce(*u, self.p), l.reduce(product, self.p), self.p)
        } else {
            (l.reduce(*u, self.p2), product, self.p2)
        };
        (*u, *v) = (l.add(a, b), l.add(l.sub(a, b), bound));
    }

    /// u + v and w (u - v), for and with words below 2p, or below p for a large p.
    #[inline(always)]
    fn inverse_butterfly(&self, u: &mut L::Words, v: &mut L::Words, w: Root<L>) {
        let l = self.l;
        let bound = if LARGE { self.p } else { self.p2 };
        let difference = l.add(l.sub(*u, *v), bound);
        *u = l.reduce(l.add(*u, *v), bound);
        let product = l.mul_shoup_lazy(difference, w, self.p);
        *v = if LARGE { l.reduce(product, self.p) } else { product };
    }

    /// Canonical words of what `butterfly` leaves.
    #[inline(always)]
    fn canonical(&self, x: L::Words) -> L::Words {
        let x = if LARGE { x } else { self.l.reduce(x, self.p2) };
        self.l.reduce(x, self.p)
    }

    #[inline(always)]
    fn settle(&self, x: L::Words, last: bool) -> L::Words {
        if last { self.canonical(x) } else { x }
    }

    /// The first `stages` stages, between words in different vectors.
    #[inline(always)]
    fn forward(&self, data: &mut [L::Array], head: usize, stages: usize, canonical: bool) {
        let (mut blocks, mut left) = (1, stages);
        while left > 0 {
            let step = step::<L>(left);
            left -= step;
            let last = canonical && left == 0;
            match step {
                1 => self.forward2(data, blocks, head, last),
                2 => self.forward4(data, blocks, head, last),
                _ => self.forward8(data, blocks, head, last),
            }
            blocks <<= step;
        }
    }

    /// The last `stages` stages of the inverse, between words in different vectors, leaving
    /// canonical words; times `factor`.
    #[inline(always)]
    fn inverse(&self, data: &mut [L::Array], head: usize, stages: usize, factor: Option<Shoup>) {
        // A closure would not be compiled for the instruction set.
        #[allow(clippy::manual_map)]
        let factor = match factor {
            Some(f) => Some((self.l.splat(f.value), self.l.splat(f.quotient))),
            None => None,
        };
        let mut left = stages;
        if left == 0 {
            for word in data.iter_mut() {
                self.l.store(self.finish(self.l.load(word), true, factor), word);
            }
        }
        while left > 0 {
            let step = step::<L>(left);
            left -= step;
            let (blocks, last) = (1 << left, left == 0);
            match step {
                1 => self.inverse2(data, blocks, head, last, factor),
                2 => self.inverse4(data, blocks, head, last, factor),
                _ => self.inverse8(data, blocks, head, last, factor),
            }
        }
    }

    #[inline(always)]
    fn finish(&self, x: L::Words, last: bool, factor: Option<Root<L>>) -> L::Words {
        match factor {
            _ if !last => x,
            Some(w) => self.l.reduce(self.l.mul_shoup_lazy(x, w, self.p), self.p),
            None if LARGE => x,
            None => self.l.reduce(x, self.p),
        }
    }

    #[inline(always)]
    fn forward2(&self, data: &mut [L::Array], blocks: usize, head: usize, last: bool) {
        let l = self.l;
        let len = data.len() / blocks;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let w = self.root(blocks * head + i);
            let (low, high) = block.split_at_mut(len / 2);
            for (low, high) in low.iter_mut().zip(high) {
                let (mut a, mut b) = (l.load(low), l.load(high));
                self.butterfly(&mut a, &mut b, w);
                l.store(self.settle(a, last), low);
                l.store(self.settle(b, last), high);
            }
        }
    }

    #[inline(always)]
    fn forward4(&self, data: &mut [L::Array], blocks: usize, head: usize, last: bool) {
        let l = self.l;
        let len = data.len() / blocks;
        let d = len / 4;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let w1 = self.root(blocks * head + i);
            let second = 2 * (blocks * head + i);
            let (w2, w3) = (self.root(second), self.root(second + 1));
            for j in 0..d {
                let (mut a, mut b) = (l.load(&block[j]), l.load(&block[d + j]));
                let (mut c, mut e) = (l.load(&block[2 * d + j]), l.load(&block[3 * d + j]));
                self.butterfly(&mut a, &mut c, w1);
                self.butterfly(&mut b, &mut e, w1);
                self.butterfly(&mut a, &mut b, w2);
                self.butterfly(&mut c, &mut e, w3);
                l.store(self.settle(a, last), &mut block[j]);
                l.store(self.settle(b, last), &mut block[d + j]);
                l.store(self.settle(c, last), &mut block[2 * d + j]);
                l.store(self.settle(e, last), &mut block[3 * d + j]);
            }
        }
    }

    #[inline(always)]
    fn forward8(&self, data: &mut [L::Array], blocks: usize, head: usize, last: bool) {
        let l = self.l;
        let len = data.len() / blocks;
        let d = len / 8;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let (w4, w5) = (self.root(4 * first), self.root(4 * first + 1));
            let (w6, w7) = (self.root(4 * first + 2), self.root(4 * first + 3));
            for j in 0..d {
                let (mut x0, mut x1) = (l.load(&block[j]), l.load(&block[d + j]));
                let (mut x2, mut x3) = (l.load(&block[2 * d + j]), l.load(&block[3 * d + j]));
                let (mut x4, mut x5) = (l.load(&block[4 * d + j]), l.load(&block[5 * d + j]));
                let (mut x6, mut x7) = (l.load(&block[6 * d + j]), l.load(&block[7 * d + j]));
                self.butterfly(&mut x0, &mut x4, w1);
                self.butterfly(&mut x1, &mut x5, w1);
                self.butterfly(&mut x2, &mut x6, w1);
                self.butterfly(&mut x3, &mut x7, w1);
                self.butterfly(&mut x0, &mut x2, w2);
                self.butterfly(&mut x1, &mut x3, w2);
                self.butterfly(&mut x4, &mut x6, w3);
                self.butterfly(&mut x5, &mut x7, w3);
                self.butterfly(&mut x0, &mut x1, w4);
                self.butterfly(&mut x2, &mut x3, w5);
                self.butterfly(&mut x4, &mut x5, w6);
                self.butterfly(&mut x6, &mut x7, w7);
                l.store(self.settle(x0, last), &mut block[j]);
                l.store(self.settle(x1, last), &mut block[d + j]);
                l.store(self.settle(x2, last), &mut block[2 * d + j]);
                l.store(self.settle(x3, last), &mut block[3 * d + j]);
                l.store(self.settle(x4, last), &mut block[4 * d + j]);
                l.store(self.settle(x5, last), &mut block[5 * d + j]);
                l.store(self.settle(x6, last), &mut block[6 * d + j]);
                l.store(self.settle(x7, last), &mut block[7 * d + j]);
            }
        }
    }

    #[inline(always)]
    fn inverse2(
        &self,
        data: &mut [L::Array],
        blocks: usize,
        head: usize,
        last: bool,
        factor: Option<Root<L>>,
    ) {
        let l = self.l;
        let len = data.len() / blocks;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let w = self.root(blocks * head + i);
            let (low, high) = block.split_at_mut(len / 2);
            for (low, high) in low.iter_mut().zip(high) {
                let (mut a, mut b) = (l.load(low), l.load(high));
                self.inverse_butterfly(&mut a, &mut b, w);
                l.store(self.finish(a, last, factor), low);
                l.store(self.finish(b, last, factor), high);
            }
        }
    }

    #[inline(always)]
    fn inverse4(
        &self,
        data: &mut [L::Array],
        blocks: usize,
        head: usize,
        last: bool,
        factor: Option<Root<L>>,
    ) {
        let l = self.l;
        let len = data.len() / blocks;
        let d = len / 4;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let w1 = self.root(blocks * head + i);
            let second = 2 * (blocks * head + i);
            let (w2, w3) = (self.root(second), self.root(second + 1));
            for j in 0..d {
                let (mut a, mut b) = (l.load(&block[j]), l.load(&block[d + j]));
                let (mut c, mut e) = (l.load(&block[2 * d + j]), l.load(&block[3 * d + j]));
                self.inverse_butterfly(&mut a, &mut b, w2);
                self.inverse_butterfly(&mut c, &mut e, w3);
                self.inverse_butterfly(&mut a, &mut c, w1);
                self.inverse_butterfly(&mut b, &mut e, w1);
                l.store(self.finish(a, last, factor), &mut block[j]);
                l.store(self.finish(b, last, factor), &mut block[d + j]);
                l.store(self.finish(c, last, factor), &mut block[2 * d + j]);
                l.store(self.finish(e, last, factor), &mut block[3 * d + j]);
            }
        }
    }

    #[inline(always)]
    fn inverse8(
        &self,
        data: &mut [L::Array],
        blocks: usize,
        head: usize,
        last: bool,
        factor: Option<Root<L>>,
    ) {
        let l = self.l;
        let len = data.len() / blocks;
        let d = len / 8;
        for (i, block) in data.chunks_exact_mut(len).enumerate() {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let (w4, w5) = (self.root(4 * first), self.root(4 * first + 1));
            let (w6, w7) = (self.root(4 * first + 2), self.root(4 * first + 3));
            for j in 0..d {
                let (mut x0, mut x1) = (l.load(&block[j]), l.load(&block[d + j]));
                let (mut x2, mut x3) = (l.load(&block[2 * d + j]), l.load(&block[3 * d + j]));
                let (mut x4, mut x5) = (l.load(&block[4 * d + j]), l.load(&block[5 * d + j]));
                let (mut x6, mut x7) = (l.load(&block[6 * d + j]), l.load(&block[7 * d + j]));
                self.inverse_butterfly(&mut x0, &mut x1, w4);
                self.inverse_butterfly(&mut x2, &mut x3, w5);
                self.inverse_butterfly(&mut x4, &mut x5, w6);
                self.inverse_butterfly(&mut x6, &mut x7, w7);
                self.inverse_butterfly(&mut x0, &mut x2, w2);
                self.inverse_butterfly(&mut x1, &mut x3, w2);
                self.inverse_butterfly(&mut x4, &mut x6, w3);
                self.inverse_butterfly(&mut x5, &mut x7, w3);
                self.inverse_butterfly(&mut x0, &mut x4, w1);
                self.inverse_butterfly(&mut x1, &mut x5, w1);
                self.inverse_butterfly(&mut x2, &mut x6, w1);
                self.inverse_butterfly(&mut x3, &mut x7, w1);
                l.store(self.finish(x0, last, factor), &mut block[j]);
                l.store(self.finish(x1, last, factor), &mut block[d + j]);
                l.store(self.finish(x2, last, factor), &mut block[2 * d + j]);
                l.store(self.finish(x3, last, factor), &mut block[3 * d + j]);
                l.store(self.finish(x4, last, factor), &mut block[4 * d + j]);
                l.store(self.finish(x5, last, factor), &mut block[5 * d + j]);
                l.store(self.finish(x6, last, factor), &mut block[6 * d + j]);
                l.store(self.finish(x7, last, factor), &mut block[7 * d + j]);
            }
        }
    }

    /// The roots of a stage with half blocks of `H` words for two vectors whose words start at
    /// `start` of a row of `len`: word `i` of the vectors belongs to block `i / H` from there on.
    #[inline(always)]
    fn inner_roots<const H: usize>(&self, len: usize, head: usize, start: usize) -> Root<L> {
        let index = len / (2 * H) * head + start / (2 * H);
        (
            self.l.load_repeated::<H>(&self.roots.values[index..]),
            self.l.load_repeated::<H>(&self.roots.quotients[index..]),
        )
    }

    /// The last log2 WIDTH stages of a row, of two vectors at a time: the exchange before a stage
    /// makes one vector of all words that are added to and one of all that are multiplied.
    #[inline(always)]
    fn forward_inside(&self, row: &mut [u32], head: usize) {
        let (l, len) = (self.l, row.len());
        for (i, pair) in l.arrays_mut(row).chunks_exact_mut(2).enumerate() {
            let start = 2 * L::WIDTH * i;
            let (mut a, mut b) = (l.load(&pair[0]), l.load(&pair[1]));
            if L::WIDTH == 16 {
                (a, b) = l.exchange::<8>(a, b);
                self.butterfly(&mut a, &mut b, self.inner_roots::<8>(len, head, start));
            }
            (a, b) = l.exchange::<4>(a, b);
            self.butterfly(&mut a, &mut b, self.inner_roots::<4>(len, head, start));
            (a, b) = l.exchange::<2>(a, b);
            self.butterfly(&mut a, &mut b, self.inner_roots::<2>(len, head, start));
            (a, b) = l.exchange::<1>(a, b);
            self.butterfly(&mut a, &mut b, self.inner_roots::<1>(len, head, start));
            let (a, b) = l.interleave(self.canonical(a), self.canonical(b));
            l.store(a, &mut pair[0]);
            l.store(b, &mut pair[1]);
        }
    }

    /// The first log2 WIDTH stages of the inverse: `forward_inside` backwards.
    #[inline(always)]
    fn inverse_inside(&self, row: &mut [u32], head: usize) {
        let (l, len) = (self.l, row.len());
        for (i, pair) in l.arrays_mut(row).chunks_exact_mut(2).enumerate() {
            let start = 2 * L::WIDTH * i;
            let (mut a, mut b) = l.deinterleave(l.load(&pair[0]), l.load(&pair[1]));
            self.inverse_butterfly(&mut a, &mut b, self.inner_roots::<1>(len, head, start));
            (a, b) = l.exchange::<1>(a, b);
            self.inverse_butterfly(&mut a, &mut b, self.inner_roots::<2>(len, head, start));
            (a, b) = l.exchange::<2>(a, b);
            self.inverse_butterfly(&mut a, &mut b, self.inner_roots::<4>(len, head, start));
            (a, b) = l.exchange::<4>(a, b);
            if L::WIDTH == 16 {
                self.inverse_butterfly(&mut a, &mut b, self.inner_roots::<8>(len, head, start));
                (a, b) = l.exchange::<8>(a, b);
            }
            l.store(a, &mut pair[0]);
            l.store(b, &mut pair[1]);
        }
    }
}

/// Stages of the next pass: as many as registers hold, but no lone stage at the end.
#[inline(always)]
fn step<L: WordLanes>(left: usize) -> usize {
    match left {
        4 => 2,
        _ => left.min(L::STAGES),
    }
}

/// Cooley-Tukey stages word by word, until words that meet are `last` apart: for rows and tiles
/// narrower than vectors. Canonical words throughout.
fn forward_words(m: Modulus, roots: RootsView<'_>, data: &mut [u32], head: usize, last: usize) {
    let mut half = data.len() / 2;
    while half >= last {
        let first = data.len() / (2 * half) * head;
        for (block, chunk) in data.chunks_exact_mut(2 * half).enumerate() {
            let root = roots.get(first + block);
            let (low, high) = chunk.split_at_mut(half);
            for (u, v) in low.iter_mut().zip(high) {
                let product = m.mul_shoup(*v, root);
                (*u, *v) = (m.add(*u, product), m.sub(*u, product));
            }
        }
        half /= 2;
    }
}

/// Gentleman-Sande stages, the inverse of `forward_words` but for the factor.
fn inverse_words(m: Modulus, roots: RootsView<'_>, data: &mut [u32], head: usize, first: usize) {
    let mut half = first;
    while half < data.len() {
        let index = data.len() / (2 * half) * head;
        for (block, chunk) in data.chunks_exact_mut(2 * half).enumerate() {
            let root = roots.get(index + block);
            let (low, high) = chunk.split_at_mut(half);
            for (u, v) in low.iter_mut().zip(high) {
                let difference = m.sub(*u, *v);
                (*u, *v) = (m.add(*u, *v), m.mul_shoup(difference, root));
            }
        }
        half *= 2;
    }
}
