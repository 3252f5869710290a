//! Which products of a shape one loop adds up.

use super::{RowShape, TermShape, Value};

/// Products from which on they are a loop, and those of a round: the instructions of a long sum
/// spelt out are too many for the cache that they are read by.
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
        let mut products = terms.iter().map_while(|t| self.moved(t));
        let Some(first) = products.next() else { return (0, [0; 2]) };
        let Some(second) = products.next() else { return (1, [0; 2]) };
        let form = |read: u16| self.reads[usize::from(read)].form;
        let steps = (second.0.checked_sub(first.0), second.1.checked_sub(first.1));
        let (Some(a), Some(b)) = steps else { return (1, [0; 2]) };
        let fits = |&(t, product): &(usize, (u16, u16))| {
            let at = |from: u16, step: u16| u32::from(from) + t as u32 * u32::from(step);
            (u32::from(product.0), u32::from(product.1)) == (at(first.0, a), at(first.1, b))
                && (form(product.0), form(product.1)) == (form(first.0), form(first.1))
        };
        let all = [first, second].into_iter().chain(products);
        (all.enumerate().take_while(fits).count(), [a, b])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Read, ReadForm, SumShape};
    use super::*;

    /// Sums of products of reads; `turns` are those of the reads.
    fn shape(turns: &[u16], sums: &[Vec<(u16, u16)>]) -> RowShape {
        let read = |&turn: &u16| Read {
            form: if turn > 0 { ReadForm::Gather } else { ReadForm::Words },
            turn,
        };
        let product = |&(a, b): &(u16, u16)| TermShape::Product(Value::Read(a), Value::Read(b));
        let sum = |pairs: &Vec<(u16, u16)>| SumShape {
            terms: pairs.iter().map(product).collect(),
            ..Default::default()
        };
        RowShape {
            reads: turns.iter().map(read).collect(),
            sums: sums.iter().map(sum).collect(),
            ..Default::default()
        }
    }

    /// First factors that two sums share are read once; one product is of words as they lie.
    #[test]
    fn sums_with_the_same_first_factors_share_a_loop() {
        let turns: Vec<u16> = (0..3).flat_map(|_| 0..10).collect();
        let sum = |second: u16| (0..10).map(|i| (i, second + i)).collect();
        let shape = shape(&turns, &[sum(10), sum(20)]);
        let part = |sum, second| LoopSum { sum, term: 1, second };
        let sums = vec![part(0, 11), part(1, 21)];
        let expected = Loop { count: 9, first: 1, steps: [1, 1], sums };
        assert_eq!(shape.loops(), std::slice::from_ref(&expected));
        assert!(expected.adds(1, 1) && expected.adds(1, 9) && !expected.adds(1, 0));
        // One product of each sum beside the loop, and a round of it for each.
        assert_eq!(shape.products(), 2 + 2 * LEAST_IN_LOOP);
        let text = shape.text(0, false, 10);
        let call = "x.template moved_products<3, 3, 9, 1, 1, 1, 11, 21>()";
        assert_eq!(text.matches("moved_products").count(), 1, "{text}");
        assert!(text.contains(call) && text.contains("FETCHED = 0"), "{text}");
    }

    #[test]
    fn other_products_are_spelt_out() {
        let pairs =
            |count: u16| -> Vec<(u16, u16)> { (0..count).map(|i| (2 * i, 2 * i + 1)).collect() };
        let own_turn = |count: u16| -> Vec<u16> { (0..2 * count).map(|i| i / 2 + 1).collect() };
        let found = shape(&own_turn(8), &[pairs(8)]).loops();
        assert_eq!((found.len(), found[0].count, found[0].steps), (1, 8, [2, 2]));
        // Too few, factors under two automorphisms, one for all, none, and numbers without a step.
        let mut two = own_turn(8);
        two[9] = 99;
        let mut mixed = pairs(8);
        mixed.swap(3, 4);
        for (turns, sums) in [
            (own_turn(7), pairs(7)),
            (two, pairs(8)),
            (vec![1; 16], pairs(8)),
            (vec![0; 16], pairs(8)),
            (own_turn(8), mixed),
        ] {
            let count = sums.len();
            let shape = shape(&turns, &[sums]);
            assert_eq!(shape.loops(), [], "{turns:?}");
            assert_eq!(shape.products(), count);
        }
    }
}
