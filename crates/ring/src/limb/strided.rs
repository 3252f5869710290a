//! Columns of a limb where they lie in memory: some words of every row.
#![allow(unsafe_code)] // Columns that other tasks have neighbours of; see `memory` of a device.

use std::marker::PhantomData;

/// Columns to read: `rows` runs of `width` words, `stride` words from start to start.
#[derive(Clone, Copy, Debug)]
pub struct ColumnsIn<'a> {
    pub(super) first: *const u32,
    pub(super) stride: usize,
    rows: usize,
    width: usize,
    borrowed: PhantomData<&'a [u32]>,
}

/// Columns to write.
#[derive(Debug)]
pub struct ColumnsOut<'a> {
    pub(super) first: *mut u32,
    pub(super) stride: usize,
    rows: usize,
    width: usize,
    borrowed: PhantomData<&'a mut [u32]>,
}

impl<'a> ColumnsIn<'a> {
    /// Columns of words that lie at `first`.
    ///
    /// # Safety
    /// All words of all runs are there, and nobody writes them during `'a`.
    pub unsafe fn new(first: *const u32, stride: usize, rows: usize, width: usize) -> Self {
        Self { first, stride, rows, width, borrowed: PhantomData }
    }

    /// Whether there are so many runs of so many words.
    pub(crate) fn is(&self, rows: usize, width: usize) -> bool {
        self.rows == rows && self.width == width
    }

    /// Copies all words, row by row.
    ///
    /// # Panics
    /// If `tile` is not of as many words.
    pub fn copy_to(&self, tile: &mut [u32]) {
        assert_eq!(tile.len(), self.rows * self.width, "as many words as the columns have");
        for (r, to) in tile.chunks_exact_mut(self.width.max(1)).enumerate() {
            // SAFETY: run r, as was promised to `new`.
            let from =
                unsafe { std::slice::from_raw_parts(self.first.add(r * self.stride), self.width) };
            copy(from, to);
        }
    }
}

impl<'a> ColumnsOut<'a> {
    /// Columns of words that lie at `first`.
    ///
    /// # Safety
    /// All words of all runs are there, runs share none (`stride >= width`), and nobody else reads
    /// or writes them during `'a`.
    pub unsafe fn new(first: *mut u32, stride: usize, rows: usize, width: usize) -> Self {
        Self { first, stride, rows, width, borrowed: PhantomData }
    }

    /// Whether there are so many runs of so many words.
    pub(crate) fn is(&self, rows: usize, width: usize) -> bool {
        self.rows == rows && self.width == width
    }

    /// Copies all words of a tile to where they belong, row by row.
    ///
    /// # Panics
    /// If `tile` is not of as many words.
    pub fn copy_from(&mut self, tile: &[u32]) {
        assert_eq!(tile.len(), self.rows * self.width, "as many words as the columns have");
        for (r, from) in tile.chunks_exact(self.width.max(1)).enumerate() {
            // SAFETY: run r, as was promised to `new`; it is nobody else's.
            let to = unsafe {
                std::slice::from_raw_parts_mut(self.first.add(r * self.stride), self.width)
            };
            copy(from, to);
        }
    }
}

/// A row of a tile: too short for what a call of the system's copy costs.
#[inline(always)]
fn copy(from: &[u32], to: &mut [u32]) {
    let ((from, ends), (to, rest)) = (from.as_chunks::<16>(), to.as_chunks_mut::<16>());
    for (from, to) in from.iter().zip(to) {
        *to = *from;
    }
    rest.copy_from_slice(ends);
}
