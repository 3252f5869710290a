//! Where elements and their digits are.

use super::run::SIDE_BY_SIDE;
use crate::engine::Form;
use std::ops::Range;
use zeroize::Zeroizing;

/// Elements in parts of eight ciphertexts; of each part all ciphertexts of the lowest digit, then
/// those of the next.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    len: usize,
    slots: usize,
    digits: usize,
}

impl Layout {
    pub fn new(len: usize, slots: usize, form: Form) -> Self {
        Self { len, slots, digits: form.digits }
    }

    /// Ciphertexts of a digit.
    fn chunks(&self) -> usize {
        self.len.div_ceil(self.slots)
    }

    /// Ciphertexts of all digits.
    pub fn ciphertexts(&self) -> usize {
        self.chunks().saturating_mul(self.digits)
    }

    /// Numbers in use of a ciphertext.
    pub fn used(&self) -> usize {
        self.len.min(self.slots)
    }

    /// The ciphertexts of each digit of each part.
    pub fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = Range<usize>>> {
        let (digits, chunks) = (self.digits, self.chunks());
        (0..chunks).step_by(SIDE_BY_SIDE).map(move |first| {
            let (from, len) = (first * digits, SIDE_BY_SIDE.min(chunks - first));
            (0..digits).map(move |d| from + d * len..from + (d + 1) * len)
        })
    }

    /// The ciphertext and the slot of a digit of an element.
    fn place(&self, element: usize, digit: usize) -> (usize, usize) {
        let (chunk, slot) = (element / self.slots, element % self.slots);
        let first = chunk / SIDE_BY_SIDE * SIDE_BY_SIDE;
        let len = SIDE_BY_SIDE.min(self.chunks() - first);
        (first * self.digits + digit * len + chunk - first, slot)
    }

    /// All digits, element by element: which they are, with their ciphertext and slot.
    fn places(&self) -> impl Iterator<Item = (usize, (usize, usize))> {
        let of = |i: usize| (i, self.place(i / self.digits, i % self.digits));
        (0..self.len * self.digits).map(of)
    }

    /// The numbers of each ciphertext, of digits element by element.
    pub fn columns(&self, digits: &[u8]) -> Vec<Zeroizing<Vec<u32>>> {
        let mut columns = vec![Zeroizing::new(vec![0u32; self.used()]); self.ciphertexts()];
        for (i, (column, slot)) in self.places() {
            columns[column][slot] = digits[i].into();
        }
        columns
    }

    /// Digits element by element, of the numbers of all ciphertexts.
    pub fn elements(&self, numbers: &[i64]) -> Zeroizing<Vec<u8>> {
        let used = self.used();
        let digits = self.places().map(|(_, (column, slot))| numbers[column * used + slot] as u8);
        Zeroizing::new(digits.collect())
    }
}
