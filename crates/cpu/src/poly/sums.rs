//! Sums of products on one row: what `poly_rows` and `poly_pointwise` have in common.
#![allow(unsafe_code)] // Rows of limbs that other tasks share; see `memory`.

use std::sync::Arc;

use girih_backend::poly::View;
use girih_ring::limb::{Ahead, Area, ProductTerm};
use girih_ring::{Automorphism, Shoup};

use super::Prime;
use super::memory::{Layout, Memory, Scratch};

/// A limb that a row task reads.
pub(super) struct RowLoad {
    pub(super) limb: u32,
    /// A word in memory stands for 2^log2_run words.
    pub(super) log2_run: u32,
    pub(super) half: bool,
    pub(super) moved: Moved,
}

/// How evaluations are read.
pub(super) enum Moved {
    /// As they lie there.
    Nothing,
    /// Under X -> X^g.
    Automorphism(Arc<Automorphism>),
    /// From the other ring.
    View(View),
}

impl Moved {
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

impl RowLoad {
    /// Rows of scratch memory that it takes.
    pub(super) fn scratch_rows(&self) -> usize {
        let expanded = usize::from(self.log2_run > 0);
        expanded + usize::from(self.half || !self.moved.is_nothing())
    }

    /// The first word in memory of row `r`.
    fn first_word(&self, layout: Layout, r: usize) -> usize {
        let from = match &self.moved {
            Moved::Nothing => r,
            Moved::Automorphism(phi) => phi.source_row(layout.rows, r).0,
            Moved::View(view) => {
                view.source(layout.log2_degree(), r * layout.row_len) / layout.row_len
            }
        };
        (from * layout.row_len) >> self.log2_run
    }

    /// Where row `r` lies.
    pub(super) fn area(&self, layout: Layout, r: usize, memory: &Memory<'_>) -> Area {
        let words = layout.row_len.div_ceil(1 << self.log2_run);
        memory.area(self.limb, self.first_word(layout, r), words)
    }

    /// Row `r`, in evaluations.
    ///
    /// # Safety
    /// No task of this launch writes the limb.
    pub(super) unsafe fn fetch<'s>(
        &self,
        layout: Layout,
        prime: &Prime,
        r: usize,
        memory: &'s Memory<'_>,
        scratch: &mut Scratch<'s>,
        ahead: &mut Ahead<'_>,
    ) -> &'s [u32] {
        let Layout { rows, row_len } = layout;
        if let Moved::View(view) = self.moved {
            let (row, log2_degree) = (scratch.take(row_len), layout.log2_degree());
            // SAFETY: as the caller promises.
            let words = unsafe { memory.words(self.limb, 0, (rows * row_len) >> self.log2_run) };
            for (c, word) in row.iter_mut().enumerate() {
                *word = words[view.source(log2_degree, r * row_len + c) >> self.log2_run];
            }
            return row;
        }
        let (first, run) = (self.first_word(layout, r), 1 << self.log2_run);
        // SAFETY: as the caller promises.
        let words = unsafe { memory.words(self.limb, first, row_len.div_ceil(run)) };
        let words = if self.log2_run > 0 {
            let row = scratch.take(row_len);
            for (words, &word) in row.chunks_mut(run).zip(words) {
                words.fill(word);
            }
            &*row
        } else {
            words
        };
        if let Moved::Automorphism(phi) = &self.moved {
            let row = scratch.take(row_len);
            phi.apply_row(rows, r, words, row);
            return row;
        }
        if self.half {
            let row = scratch.take(row_len);
            prime.ntt.forward_row_from(r, words, row, ahead);
            return row;
        }
        words
    }
}

/// An operand of a product.
pub(super) enum Operand {
    Slot(usize),
    Stream(RowLoad),
}

/// One summand: a factor for each half of the limb, and one or two operands.
pub(super) struct Product {
    pub(super) factor: [Shoup; 2],
    pub(super) a: Operand,
    pub(super) b: Option<Operand>,
}

/// A sum of constants and products.
pub(super) struct Products {
    /// For each half of the limb.
    pub(super) constant: [u32; 2],
    pub(super) products: Vec<Product>,
    /// Whether the halves differ in anything.
    pub(super) halves_differ: bool,
}

impl Products {
    /// Rows of scratch memory that its streams take.
    pub(super) fn scratch_rows(&self) -> usize {
        let of = |operand: &Operand| match operand {
            Operand::Slot(_) => 0,
            Operand::Stream(load) => load.scratch_rows(),
        };
        self.products.iter().map(|p| of(&p.a) + p.b.as_ref().map_or(0, of)).sum()
    }

    /// What the sum streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = &RowLoad> + '_ {
        let operands = self.products.iter().flat_map(|p| [Some(&p.a), p.b.as_ref()]);
        operands.flatten().filter_map(|operand| match operand {
            Operand::Stream(load) => Some(load),
            Operand::Slot(_) => None,
        })
    }

    /// The one limb, streamed word for word, that the sum is.
    pub(super) fn copied(&self) -> Option<&RowLoad> {
        let [Product { factor: [low, high], a: Operand::Stream(load), b: None }] =
            &self.products[..]
        else {
            return None;
        };
        let plain = load.log2_run == 0 && load.moved.is_nothing() && !load.half;
        let same = low.value == 1 && high.value == 1 && self.constant == [0; 2];
        (plain && same).then_some(load)
    }

    /// Row `r` of the sum.
    ///
    /// # Safety
    /// No task of this launch writes a limb that the sum streams.
    #[allow(clippy::too_many_arguments)] // What a task is: where it is, and what it works on.
    pub(super) unsafe fn sum<'s>(
        &self,
        layout: Layout,
        prime: &Prime,
        r: usize,
        slots: &[&'s [u32]],
        memory: &'s Memory<'_>,
        scratch: &mut Scratch<'s>,
        out: &mut [u32],
    ) {
        let mut fetch = |operand: &Operand| match operand {
            Operand::Slot(slot) => slots[*slot],
            // SAFETY: as the caller promises.
            Operand::Stream(load) => unsafe {
                load.fetch(layout, prime, r, memory, scratch, &mut Ahead::none())
            },
        };
        let first_half = usize::from(2 * r >= layout.rows && layout.rows > 1);
        let mut terms = Vec::with_capacity(self.products.len());
        for Product { factor, a, b } in &self.products {
            let (a, b) = (fetch(a), b.as_ref().map(&mut fetch));
            terms.push(ProductTerm { factor: factor[first_half], a, b });
        }
        let kernels = &prime.kernels;
        if layout.rows > 1 || !self.halves_differ {
            kernels.sum_of_products(self.constant[first_half], &terms, out);
            return;
        }
        // One row is both halves.
        let middle = layout.row_len / 2;
        for (half, out) in out.chunks_exact_mut(middle).enumerate() {
            let cut = |words: &'s [u32]| &words[half * middle..][..middle];
            let parts: Vec<ProductTerm> = terms
                .iter()
                .zip(&self.products)
                .map(|(term, product)| ProductTerm {
                    factor: product.factor[half],
                    a: cut(term.a),
                    b: term.b.map(cut),
                })
                .collect();
            kernels.sum_of_products(self.constant[half], &parts, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for ahead is the row that the first word is read from.
    #[test]
    fn a_view_begins_in_the_row_of_its_first_word() {
        let layout = Layout { rows: 8, row_len: 4 };
        for (view, log2_run) in View::ALL.into_iter().flat_map(|view| [(view, 0), (view, 1)]) {
            let load = RowLoad { limb: 0, log2_run, half: false, moved: Moved::View(view) };
            for r in 0..layout.rows {
                let first = load.first_word(layout, r) << log2_run;
                let from = view.source(5, r * layout.row_len);
                assert!(first.is_multiple_of(4) && (first..first + 4).contains(&from), "{view:?}");
            }
        }
    }
}
