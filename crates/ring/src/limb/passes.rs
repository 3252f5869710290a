//! The passes of the transform, with lazy words inside a half (Harvey 2014): each reads every word
//! once, does up to three stages in registers, and writes every word once, there or elsewhere.
//!
//! Words between butterflies lie below 4p where p < 2^30, and below 2p above, where 4p would not
//! fit: forward, with one reduction more; inverse, below p.

use super::ahead::Ahead;
use super::grid::Grid;
use super::lanes::WordLanes;
use super::roots::RootsView;
use crate::{Modulus, Shoup};

/// A root and its quotient in every lane.
type Root<L> = (<L as WordLanes>::Words, <L as WordLanes>::Words);

/// One to three stages of all blocks.
#[derive(Clone, Copy)]
struct Pass<L: WordLanes> {
    from: Grid<L>,
    to: Grid<L>,
    points: usize,
    blocks: usize,
    head: usize,
    /// Whether the words that are left must be canonical.
    last: bool,
}

pub(super) struct Passes<'a, 'b, L: WordLanes, const LARGE: bool> {
    l: L,
    p: L::Words,
    p2: L::Words,
    roots: RootsView<'a>,
    ahead: &'a mut Ahead<'b>,
}

impl<'a, 'b, L: WordLanes, const LARGE: bool> Passes<'a, 'b, L, LARGE> {
    #[inline(always)]
    pub(super) fn new(
        l: L,
        modulus: Modulus,
        roots: RootsView<'a>,
        ahead: &'a mut Ahead<'b>,
    ) -> Self {
        let p = modulus.value();
        Self { l, p: l.splat(p), p2: l.splat(2 * p), roots, ahead }
    }

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

    /// The stages between words of different points: from the first grid to the last, by way of the
    /// second.
    #[inline(always)]
    pub(super) fn forward(
        &mut self,
        [from, work, to]: [Grid<L>; 3],
        points: usize,
        head: usize,
        canonical: bool,
    ) {
        let stages = points.trailing_zeros() as usize;
        let (mut blocks, mut left) = (1, stages);
        if left == 0 {
            for v in 0..to.vectors {
                to.store(self.l, from.load(self.l, 0, v), 0, v);
            }
        }
        while left > 0 {
            let step = step::<L>(left);
            left -= step;
            let pass = Pass {
                from: if blocks == 1 { from } else { work },
                to: if left == 0 { to } else { work },
                points,
                blocks,
                head,
                last: canonical && left == 0,
            };
            match step {
                1 => self.forward2(pass),
                2 => self.forward4(pass),
                _ => self.forward8(pass),
            }
            blocks <<= step;
        }
    }

    /// The inverse of `forward`, leaving canonical words; times `factor`.
    #[inline(always)]
    pub(super) fn inverse(
        &mut self,
        [from, work, to]: [Grid<L>; 3],
        points: usize,
        head: usize,
        factor: Option<Shoup>,
    ) {
        // A closure would not be compiled for the instruction set.
        #[allow(clippy::manual_map)]
        let factor = match factor {
            Some(f) => Some((self.l.splat(f.value), self.l.splat(f.quotient))),
            None => None,
        };
        let stages = points.trailing_zeros() as usize;
        let mut left = stages;
        if left == 0 {
            for v in 0..to.vectors {
                let word = self.finish(from.load(self.l, 0, v), true, factor);
                to.store(self.l, word, 0, v);
            }
        }
        while left > 0 {
            let step = step::<L>(left);
            let from = if left == stages { from } else { work };
            left -= step;
            let (blocks, last) = (1 << left, left == 0);
            let to = if last { to } else { work };
            let pass = Pass { from, to, points, blocks, head, last };
            match step {
                1 => self.inverse2(pass, factor),
                2 => self.inverse4(pass, factor),
                _ => self.inverse8(pass, factor),
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
    fn forward2(&mut self, pass: Pass<L>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (2 * blocks);
        for i in 0..blocks {
            let w1 = self.root(blocks * head + i);
            let at = i * 2 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(1);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    self.butterfly(&mut x0, &mut x1, w1);
                    to.store(l, self.settle(x0, last), at, v);
                    to.store(l, self.settle(x1, last), at + d, v);
                }
            }
        }
    }

    #[inline(always)]
    fn forward4(&mut self, pass: Pass<L>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (4 * blocks);
        for i in 0..blocks {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let at = i * 4 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(2);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    let mut x2 = from.load(l, at + 2 * d, v);
                    let mut x3 = from.load(l, at + 3 * d, v);
                    self.butterfly(&mut x0, &mut x2, w1);
                    self.butterfly(&mut x1, &mut x3, w1);
                    self.butterfly(&mut x0, &mut x1, w2);
                    self.butterfly(&mut x2, &mut x3, w3);
                    to.store(l, self.settle(x0, last), at, v);
                    to.store(l, self.settle(x1, last), at + d, v);
                    to.store(l, self.settle(x2, last), at + 2 * d, v);
                    to.store(l, self.settle(x3, last), at + 3 * d, v);
                }
            }
        }
    }

    #[inline(always)]
    fn forward8(&mut self, pass: Pass<L>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (8 * blocks);
        for i in 0..blocks {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let (w4, w5) = (self.root(4 * first), self.root(4 * first + 1));
            let (w6, w7) = (self.root(4 * first + 2), self.root(4 * first + 3));
            let at = i * 8 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(3);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    let mut x2 = from.load(l, at + 2 * d, v);
                    let mut x3 = from.load(l, at + 3 * d, v);
                    let mut x4 = from.load(l, at + 4 * d, v);
                    let mut x5 = from.load(l, at + 5 * d, v);
                    let mut x6 = from.load(l, at + 6 * d, v);
                    let mut x7 = from.load(l, at + 7 * d, v);
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
                    to.store(l, self.settle(x0, last), at, v);
                    to.store(l, self.settle(x1, last), at + d, v);
                    to.store(l, self.settle(x2, last), at + 2 * d, v);
                    to.store(l, self.settle(x3, last), at + 3 * d, v);
                    to.store(l, self.settle(x4, last), at + 4 * d, v);
                    to.store(l, self.settle(x5, last), at + 5 * d, v);
                    to.store(l, self.settle(x6, last), at + 6 * d, v);
                    to.store(l, self.settle(x7, last), at + 7 * d, v);
                }
            }
        }
    }

    #[inline(always)]
    fn inverse2(&mut self, pass: Pass<L>, factor: Option<Root<L>>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (2 * blocks);
        for i in 0..blocks {
            let w1 = self.root(blocks * head + i);
            let at = i * 2 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(1);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    self.inverse_butterfly(&mut x0, &mut x1, w1);
                    to.store(l, self.finish(x0, last, factor), at, v);
                    to.store(l, self.finish(x1, last, factor), at + d, v);
                }
            }
        }
    }

    #[inline(always)]
    fn inverse4(&mut self, pass: Pass<L>, factor: Option<Root<L>>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (4 * blocks);
        for i in 0..blocks {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let at = i * 4 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(2);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    let mut x2 = from.load(l, at + 2 * d, v);
                    let mut x3 = from.load(l, at + 3 * d, v);
                    self.inverse_butterfly(&mut x0, &mut x1, w2);
                    self.inverse_butterfly(&mut x2, &mut x3, w3);
                    self.inverse_butterfly(&mut x0, &mut x2, w1);
                    self.inverse_butterfly(&mut x1, &mut x3, w1);
                    to.store(l, self.finish(x0, last, factor), at, v);
                    to.store(l, self.finish(x1, last, factor), at + d, v);
                    to.store(l, self.finish(x2, last, factor), at + 2 * d, v);
                    to.store(l, self.finish(x3, last, factor), at + 3 * d, v);
                }
            }
        }
    }

    #[inline(always)]
    fn inverse8(&mut self, pass: Pass<L>, factor: Option<Root<L>>) {
        let (l, Pass { from, to, points, blocks, head, last }) = (self.l, pass);
        let d = points / (8 * blocks);
        for i in 0..blocks {
            let first = blocks * head + i;
            let w1 = self.root(first);
            let (w2, w3) = (self.root(2 * first), self.root(2 * first + 1));
            let (w4, w5) = (self.root(4 * first), self.root(4 * first + 1));
            let (w6, w7) = (self.root(4 * first + 2), self.root(4 * first + 3));
            let at = i * 8 * d;
            for at in at..at + d {
                for v in 0..to.vectors {
                    self.ahead.step(3);
                    let mut x0 = from.load(l, at, v);
                    let mut x1 = from.load(l, at + d, v);
                    let mut x2 = from.load(l, at + 2 * d, v);
                    let mut x3 = from.load(l, at + 3 * d, v);
                    let mut x4 = from.load(l, at + 4 * d, v);
                    let mut x5 = from.load(l, at + 5 * d, v);
                    let mut x6 = from.load(l, at + 6 * d, v);
                    let mut x7 = from.load(l, at + 7 * d, v);
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
                    to.store(l, self.finish(x0, last, factor), at, v);
                    to.store(l, self.finish(x1, last, factor), at + d, v);
                    to.store(l, self.finish(x2, last, factor), at + 2 * d, v);
                    to.store(l, self.finish(x3, last, factor), at + 3 * d, v);
                    to.store(l, self.finish(x4, last, factor), at + 4 * d, v);
                    to.store(l, self.finish(x5, last, factor), at + 5 * d, v);
                    to.store(l, self.finish(x6, last, factor), at + 6 * d, v);
                    to.store(l, self.finish(x7, last, factor), at + 7 * d, v);
                }
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
    pub(super) fn forward_inside(&mut self, row: Grid<L>, len: usize, head: usize) {
        let l = self.l;
        for i in 0..len / (2 * L::WIDTH) {
            self.ahead.step(1);
            let start = 2 * L::WIDTH * i;
            let (mut a, mut b) = (row.load(l, 2 * i, 0), row.load(l, 2 * i + 1, 0));
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
            row.store(l, a, 2 * i, 0);
            row.store(l, b, 2 * i + 1, 0);
        }
    }

    /// The first log2 WIDTH stages of the inverse: `forward_inside` backwards.
    #[inline(always)]
    pub(super) fn inverse_inside(&mut self, from: Grid<L>, to: Grid<L>, len: usize, head: usize) {
        let l = self.l;
        for i in 0..len / (2 * L::WIDTH) {
            self.ahead.step(1);
            let start = 2 * L::WIDTH * i;
            let (a, b) = (from.load(l, 2 * i, 0), from.load(l, 2 * i + 1, 0));
            let (mut a, mut b) = l.deinterleave(a, b);
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
            to.store(l, a, 2 * i, 0);
            to.store(l, b, 2 * i + 1, 0);
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
