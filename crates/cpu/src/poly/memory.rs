//! Limbs that the tasks of a launch read and write at the same time.
#![allow(unsafe_code)] // Disjoint parts of one limb in several threads at once.

use std::marker::PhantomData;

use girih_ring::limb::{Area, ColumnsIn, ColumnsOut};

/// Rows of a limb and their words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// C.
    pub(super) rows: usize,
    /// R.
    pub(super) row_len: usize,
}

impl Layout {
    /// log2 N.
    pub(super) fn log2_degree(self) -> u32 {
        (self.rows * self.row_len).trailing_zeros()
    }
}

/// Words that a call may be bound to: a buffer, an arena or a resident polynomial.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    first: *mut u32,
    len: usize,
    borrowed: PhantomData<&'a mut [u32]>,
}

impl<'a> Words<'a> {
    pub(super) fn new(words: &'a mut [u32]) -> Self {
        Self { first: words.as_mut_ptr(), len: words.len(), borrowed: PhantomData }
    }

    /// Words that no routine writes, for a routine writes neither resident polynomials nor inputs.
    pub(super) fn read_only(words: &'a [u32]) -> Self {
        Self { first: words.as_ptr().cast_mut(), len: words.len(), borrowed: PhantomData }
    }

    /// `len` words from `first` on, if there are so many.
    pub(super) fn part(&self, first: usize, len: usize) -> Option<Self> {
        let end = first.checked_add(len)?;
        // Inside the words, or one behind them.
        let part = || Self { first: self.first.wrapping_add(first), len, ..*self };
        (end <= self.len).then(part)
    }
}

/// The limbs of one call, by the routine's own numbers.
pub(super) struct Memory<'a> {
    limbs: Vec<Words<'a>>,
}

// SAFETY: words are reached by the unsafe functions below alone, whose callers see to it that what
// one thread writes no other reads or writes.
unsafe impl Sync for Memory<'_> {}

impl<'a> Memory<'a> {
    pub(super) fn new(limbs: Vec<Words<'a>>) -> Self {
        Self { limbs }
    }

    /// `len` words of a limb.
    ///
    /// # Safety
    /// While the result lives, nobody writes these words.
    ///
    /// # Panics
    /// If the limb has fewer.
    pub(super) unsafe fn words(&self, limb: u32, first: usize, len: usize) -> &[u32] {
        let part = self.limbs[limb as usize].part(first, len).expect("words of the limb");
        // SAFETY: the part lies inside words that are borrowed for 'a;
        // the caller promises the rest.
        unsafe { std::slice::from_raw_parts(part.first, part.len) }
    }

    /// `len` words of a limb, to write.
    ///
    /// # Safety
    /// While the result lives, nobody else reads or writes these words, and the limb is no
    /// read-only one.
    ///
    /// # Panics
    /// If the limb has fewer.
    #[allow(clippy::mut_from_ref)] // The caller promises that there is one reference.
    pub(super) unsafe fn words_mut(&self, limb: u32, first: usize, len: usize) -> &mut [u32] {
        let part = self.limbs[limb as usize].part(first, len).expect("words of the limb");
        // SAFETY: as for `words`.
        unsafe { std::slice::from_raw_parts_mut(part.first, part.len) }
    }

    /// The word in column `first` of row 0, where a limb is whole and has `width` columns from
    /// there on.
    fn column(&self, limb: u32, layout: Layout, first: usize, width: usize) -> *mut u32 {
        let words = &self.limbs[limb as usize];
        let whole = words.len == layout.rows * layout.row_len;
        assert!(whole && first + width <= layout.row_len, "columns of a whole limb");
        // Inside the words, or one behind them.
        words.first.wrapping_add(first)
    }

    /// `width` columns of a limb from column `first` on.
    ///
    /// # Safety
    /// While the result lives, nobody writes these words.
    ///
    /// # Panics
    /// If the limb is stored in runs, or has fewer columns.
    pub(super) unsafe fn columns(
        &self,
        limb: u32,
        layout: Layout,
        first: usize,
        width: usize,
    ) -> ColumnsIn<'_> {
        let word = self.column(limb, layout, first, width);
        // SAFETY: all the columns lie inside words that are borrowed for 'a; the caller promises
        // the rest.
        unsafe { ColumnsIn::new(word, layout.row_len, layout.rows, width) }
    }

    /// `width` columns of a limb from column `first` on, to write.
    ///
    /// # Safety
    /// While the result lives, nobody else reads or writes these words, and the limb is no
    /// read-only one.
    ///
    /// # Panics
    /// As for `columns`.
    pub(super) unsafe fn columns_mut(
        &self,
        limb: u32,
        layout: Layout,
        first: usize,
        width: usize,
    ) -> ColumnsOut<'_> {
        let word = self.column(limb, layout, first, width);
        // SAFETY: as for `columns`.
        unsafe { ColumnsOut::new(word, layout.row_len, layout.rows, width) }
    }

    /// Where these columns lie, to ask for them ahead of time.
    pub(super) fn columns_area(
        &self,
        limb: u32,
        layout: Layout,
        first: usize,
        width: usize,
    ) -> Area {
        let word = self.limbs[limb as usize].first.wrapping_add(first);
        Area::strided(word, width, layout.row_len, layout.rows)
    }

    /// Where words of a limb lie, likewise.
    pub(super) fn area(&self, limb: u32, first: usize, len: usize) -> Area {
        Area::strided(self.limbs[limb as usize].first.wrapping_add(first), len, 0, 1)
    }

    /// A whole limb as it is after the last launch.
    pub(super) fn limb(&mut self, limb: u32) -> &[u32] {
        let len = self.limbs[limb as usize].len;
        // SAFETY: no task runs while the memory is borrowed exclusively.
        unsafe { self.words(limb, 0, len) }
    }
}

/// Scratch memory of a task, handed out piece by piece.
pub(super) struct Scratch<'s> {
    left: &'s mut [u32],
}

impl<'s> Scratch<'s> {
    pub(super) fn new(words: &'s mut [u32]) -> Self {
        Self { left: words }
    }

    /// The next `len` words, of any content.
    ///
    /// # Panics
    /// If less is left.
    pub(super) fn take(&mut self, len: usize) -> &'s mut [u32] {
        let (taken, left) = std::mem::take(&mut self.left).split_at_mut(len);
        self.left = left;
        taken
    }
}
