//! Where a pass of a transform reads and writes.
#![allow(unsafe_code)] // A pass reads and writes the same words or different ones.

use std::marker::PhantomData;

use super::lanes::WordLanes;
use super::strided::{ColumnsIn, ColumnsOut};

/// Points of whole vectors in memory: where a pass reads or writes. All the words of all the points
/// that the passes are told of are there, and nobody else's while the grid is used.
#[derive(Clone, Copy)]
pub(super) struct Grid<L: WordLanes> {
    first: *mut u32,
    /// Words from point to point.
    stride: usize,
    /// Vectors of a point.
    pub(super) vectors: usize,
    lanes: PhantomData<L>,
}

impl<L: WordLanes> Grid<L> {
    fn new(first: *mut u32, stride: usize, width: usize) -> Self {
        Self { first, stride, vectors: width / L::WIDTH, lanes: PhantomData }
    }

    /// A row, each vector of which is a point.
    #[inline(always)]
    pub(super) fn row(row: &mut [u32]) -> Self {
        Self::new(row.as_mut_ptr(), L::WIDTH, L::WIDTH)
    }

    /// A row that is only read.
    #[inline(always)]
    pub(super) fn row_in(row: &[u32]) -> Self {
        Self::new(row.as_ptr().cast_mut(), L::WIDTH, L::WIDTH)
    }

    /// A tile, each row of which is a point.
    #[inline(always)]
    pub(super) fn tile(tile: &mut [u32], width: usize) -> Self {
        Self::new(tile.as_mut_ptr(), width, width)
    }

    /// Columns that are only read.
    #[inline(always)]
    pub(super) fn columns_in(columns: ColumnsIn<'_>, width: usize) -> Self {
        Self::new(columns.first.cast_mut(), columns.stride, width)
    }

    /// Columns to write.
    #[inline(always)]
    pub(super) fn columns(columns: ColumnsOut<'_>, width: usize) -> Self {
        Self::new(columns.first, columns.stride, width)
    }

    #[inline(always)]
    pub(super) fn load(self, l: L, point: usize, vector: usize) -> L::Words {
        // SAFETY: the words of a point are there, see the type; an array has the alignment of its
        // words.
        unsafe {
            let words = self.first.add(point * self.stride + vector * L::WIDTH);
            l.load(&*words.cast::<L::Array>())
        }
    }

    #[inline(always)]
    pub(super) fn store(self, l: L, a: L::Words, point: usize, vector: usize) {
        // SAFETY: as for `load`.
        unsafe {
            let words = self.first.add(point * self.stride + vector * L::WIDTH);
            l.store(a, &mut *words.cast::<L::Array>());
        }
    }
}
