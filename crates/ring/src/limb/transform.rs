//! The negacyclic transform on vectors: what rows and columns are. The passes are in `passes`.

use super::ahead::Ahead;
use super::grid::Grid;
use super::lanes::{WordKernel, WordLanes};
use super::passes::Passes;
use super::roots::RootsView;
use super::strided::{ColumnsIn, ColumnsOut};
use crate::{Modulus, Shoup};

/// Row transforms of whole rows that follow each other in memory.
pub(crate) struct Rows<'a, 'b> {
    pub(crate) modulus: Modulus,
    pub(crate) roots: RootsView<'a>,
    /// What is transformed, as many words as `data`; none where it lies in `data`.
    pub(crate) from: Option<&'a [u32]>,
    pub(crate) data: &'a mut [u32],
    pub(crate) row_len: usize,
    /// C + r of the first row: block i of the k blocks of a stage has root `k head + i`.
    pub(crate) head: usize,
    pub(crate) inverse: bool,
    pub(crate) ahead: &'a mut Ahead<'b>,
}

impl WordKernel for Rows<'_, '_> {
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

impl Rows<'_, '_> {
    #[inline(always)]
    fn class<L: WordLanes, const LARGE: bool>(self, l: L) {
        let mut pass = Passes::<L, LARGE>::new(l, self.modulus, self.roots, self.ahead);
        for (r, row) in self.data.chunks_exact_mut(self.row_len).enumerate() {
            let head = self.head + r;
            let from = self.from.map(|from| &from[r * self.row_len..][..self.row_len]);
            if row.len() < 2 * L::WIDTH {
                if let Some(from) = from {
                    row.copy_from_slice(from);
                }
                if self.inverse {
                    inverse_words(self.modulus, self.roots, row, head, 1);
                } else {
                    forward_words(self.modulus, self.roots, row, head, 1);
                }
                continue;
            }
            let to = Grid::row(row);
            let from = from.map_or(to, Grid::row_in);
            let points = row.len() / L::WIDTH;
            if self.inverse {
                pass.inverse_inside(from, to, row.len(), head);
                pass.inverse([to; 3], points, head, None);
            } else {
                pass.forward([from, to, to], points, head, false);
                pass.forward_inside(to, row.len(), head);
            }
        }
    }
}

/// Column transforms of all columns of a tile: `points` rows of words.
pub(crate) struct Columns<'a, 'b> {
    pub(crate) modulus: Modulus,
    pub(crate) roots: RootsView<'a>,
    /// What is transformed, as many words as `data`; none where it lies in `data`.
    pub(crate) from: Option<ColumnsIn<'a>>,
    pub(crate) data: &'a mut [u32],
    /// Where the words go; none where they stay in `data`, whose words mean nothing otherwise.
    pub(crate) to: Option<ColumnsOut<'a>>,
    pub(crate) points: usize,
    /// The inverse transform, times this.
    pub(crate) inverse: Option<Shoup>,
    pub(crate) ahead: &'a mut Ahead<'b>,
}

impl WordKernel for Columns<'_, '_> {
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

impl Columns<'_, '_> {
    #[inline(always)]
    fn class<L: WordLanes, const LARGE: bool>(self, l: L) {
        let width = self.data.len() / self.points;
        if width.is_multiple_of(L::WIDTH) {
            let mut pass = Passes::<L, LARGE>::new(l, self.modulus, self.roots, self.ahead);
            let tile = Grid::tile(self.data, width);
            let from = self.from.map_or(tile, |from| Grid::columns_in(from, width));
            let to = self.to.map_or(tile, |to| Grid::columns(to, width));
            match self.inverse {
                None => pass.forward([from, tile, to], self.points, 1, true),
                Some(factor) => pass.inverse([from, tile, to], self.points, 1, Some(factor)),
            }
            return;
        }
        if let Some(from) = self.from {
            from.copy_to(self.data);
        }
        match self.inverse {
            None => forward_words(self.modulus, self.roots, self.data, 1, width),
            Some(factor) => {
                inverse_words(self.modulus, self.roots, self.data, 1, width);
                for word in &mut *self.data {
                    *word = self.modulus.mul_shoup(*word, factor);
                }
            }
        }
        if let Some(mut to) = self.to {
            to.copy_from(self.data);
        }
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
