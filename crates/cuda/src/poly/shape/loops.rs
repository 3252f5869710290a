//! Which products of a shape one loop adds up.

use super::{RowShape, TermShape, Value};

/// Products from which on they are a loop, and those of a round: spelt out, the instructions of a
/// long sum are read from memory once by each warp.
pub(super) const LEAST_IN_LOOP: usize = 8;

/// Products of reads, the factors of each under one automorphism. Product t of each sum is that of
/// reads `first + t steps[0]` and `second + t steps[1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub count: usize,
    pub first: u16,
    pub steps: [u16; 2],
    /// The sums that have the first factors in common.
    pub sums: Vec<LoopSum>,
}

/// The part of a sum that a loop adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoopSum {
    pub sum: usize,
    /// The first of its terms.
    pub term: usize,
    /// The second factor of the first product.
    pub second: u16,
}

impl Loop {
    /// Whether it adds this term of this sum.
    pub fn adds(&self, sum: usize, term: usize) -> bool {
        let has = |own: &LoopSum| (own.term..own.term + self.count).contains(&term);
        self.sums.iter().any(|own| own.sum == sum && has(own))
    }
}

impl RowShape {
    /// The loops of its sums, in the order of the first sum of each.
    pub(super) fn loops(&self) -> Vec<Loop> {
        let mut loops: Vec<Loop> = Vec::new();
        for (number, sum) in self.sums.iter().enumerate() {
            // A sum that is moved as a whole has its factors as they lie.
            if self.turn_of(sum).is_some() {
                continue;
            }
            let mut from = 0;
            while from < sum.terms.len() {
                let (count, steps) = self.run(&sum.terms[from..]);
                if let Some((first, second)) = self.moved(&sum.terms[from])
                    && count >= LEAST_IN_LOOP
                {
                    let own = LoopSum { sum: number, term: from, second };
                    let alike = |l: &&mut Loop| {
                        let form = |read: u16| self.reads[usize::from(read)].form;
                        let forms = form(l.sums[0].second) == form(second);
                        (l.first, l.count, l.steps) == (first, count, steps) && forms
                    };
                    match loops.iter_mut().find(alike) {
                        Some(known) => known.sums.push(own),
                        None => loops.push(Loop { count, first, steps, sums: vec![own] }),
                    }
                    from += count;
                } else {
                    from += 1;
                }
            }
        }
        loops
    }

    /// The factors of a product of two reads under the same automorphism.
    fn moved(&self, term: &TermShape) -> Option<(u16, u16)> {
        let TermShape::Product(Value::Read(a), Value::Read(b)) = *term else { return None };
        let turn = |read: u16| self.reads[usize::from(read)].turn;
        (turn(a) > 0 && turn(a) == turn(b)).then_some((a, b))
    }

    /// How many terms from the first on are such products, read in the same way and numbered in
    /// steps, and these steps.
    fn run(&self, terms: &[TermShape]) -> (usize, [u16; 2]) {
        let products: Vec<(u16, u16)> = terms.iter().map_while(|t| self.moved(t)).collect();
        let [first, second, ..] = products[..] else { return (products.len(), [0; 2]) };
        let form = |read: u16| self.reads[usize::from(read)].form;
        let steps = (second.0.checked_sub(first.0), second.1.checked_sub(first.1));
        let (Some(a), Some(b)) = steps else { return (1, [0; 2]) };
        let fits = |&(t, product): &(usize, &(u16, u16))| {
            let at = |from: u16, step: u16| u32::from(from) + t as u32 * u32::from(step);
            (u32::from(product.0), u32::from(product.1)) == (at(first.0, a), at(first.1, b))
                && (form(product.0), form(product.1)) == (form(first.0), form(first.1))
        };
        (products.iter().enumerate().take_while(fits).count(), [a, b])
    }
}
