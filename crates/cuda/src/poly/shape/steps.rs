//! Tiles whose products are too many for a kernel's text: their sums as lists of steps, which one
//! loop runs (`cuda/poly/steps.cuh`).

use super::{NormalTile, RowShape, TermShape, Value};
use crate::poly::arguments::steps::{ADD, END, KEEP, SCALE, STORE, STORE_MOVED, VALUE};
use crate::poly::arguments::{CONSTANT, KEPT, LOG2_KINDS, ONE, RUN, StepRecord, words_of};
use girih_backend::poly::RingShape;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// The kinds of both factors of a product, the larger first.
pub(crate) type Kind = (u8, u8);

/// What the text of a kernel depends on, of tiles that are lists of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StepShape {
    /// None where kinds are data: such a text serves every tile.
    kinds: Vec<Kind>,
    /// Rows in memory.
    pub buffers: usize,
    /// Units of 16 bytes of the longest record.
    pub record: usize,
}

impl StepShape {
    /// Whether the text of both is the same, if their classes of primes are.
    pub fn shares_text(&self, other: &Self) -> bool {
        self.kinds == other.kinds
    }

    /// `Shape<number>` of a kernel's constants.
    pub fn text(&self, number: usize, wide: bool) -> String {
        let list = |of: fn(&Kind) -> u8| {
            // No array is empty.
            let numbers = self.kinds.iter().map(|k| of(k).to_string());
            numbers.chain(["0".into()]).collect::<Vec<_>>().join(", ")
        };
        let mut t = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            t,
            "template <> struct Shape<{number}> {{\n    static constexpr bool WIDE = {wide};\n    \
             static constexpr int HALVES = 1, READS = 0, FETCHED = 0, STORES = 0, \
             HALF_STORES = 0;\n    \
             static constexpr int UNROLL = 1, KINDS = {};\n    \
             static constexpr bool ALONE = false;\n    \
             static CONSTANT_FUNCTION int first(int kind) {{\n        constexpr int kinds[] = \
             {{{}}};\n        return kinds[kind];\n    }}\n    \
             static CONSTANT_FUNCTION int second(int kind) {{\n        constexpr int kinds[] = \
             {{{}}};\n        return kinds[kind];\n    }}\n    \
             template <class X> static FUNCTION void sums(X& x) {{ x.run_steps(); }}\n}};\n",
            self.kinds.len(),
            list(|k| k.0),
            list(|k| k.1),
        );
        t
    }
}

/// A product before kinds have numbers: the kind of each factor, and its number.
type Product = [(u8, u32); 2];

/// One step before kinds have numbers.
enum Step {
    Add(Kind, Vec<Product>),
    Other([u32; 2]),
}

/// Where the parts of a record lie.
struct Parts<'a> {
    shape: &'a RowShape,
    /// The buffer of each sum that a later one reads or that is transformed inversely.
    buffers: Vec<Option<u32>>,
}

impl Parts<'_> {
    fn value(&self, value: Value) -> (u8, u32) {
        let shape = self.shape;
        match value {
            Value::Half(i) => (KEPT, i.into()),
            Value::Sum(i) => (KEPT, self.buffers[usize::from(i)].unwrap_or_default()),
            Value::Read(i) => {
                let first = shape.halves + shape.half_stores;
                (shape.reads[usize::from(i)].form as u8, (first + usize::from(i)) as u32)
            }
        }
    }

    /// The steps of a sum's terms. A copy is multiplied by constant `one`, which is 2^32.
    fn terms(&self, terms: &[TermShape], one: u32, steps: &mut Vec<Step>) {
        let mut own = Vec::new();
        for term in terms {
            match term {
                TermShape::Group(pairs, c) => {
                    let pair = |&(a, b): &(Value, Value)| [self.value(a), self.value(b)];
                    add(pairs.iter().map(pair).collect(), steps);
                    steps.push(Step::Other([SCALE, (*c).into()]));
                }
                TermShape::Product(a, b) => own.push([self.value(*a), self.value(*b)]),
                TermShape::Copy(a) => own.push([self.value(*a), (CONSTANT, one)]),
                TermShape::Scaled(a, c) => own.push([self.value(*a), (CONSTANT, (*c).into())]),
                TermShape::Constant(c) => own.push([(ONE, 0), (CONSTANT, (*c).into())]),
            }
        }
        add(own, steps);
        steps.push(Step::Other([VALUE, 0]));
    }
}

/// Steps that add products, one for each kind.
fn add(products: Vec<Product>, steps: &mut Vec<Step>) {
    let mut kinds: Vec<(Kind, Vec<Product>)> = Vec::new();
    for mut product in products {
        // The larger kind first: the order of factors makes no kind of its own.
        product.sort_by_key(|&(kind, _)| std::cmp::Reverse(kind));
        let kind = (product[0].0, product[1].0);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, all)) => all.push(product),
            None => kinds.push((kind, vec![product])),
        }
    }
    steps.extend(kinds.into_iter().map(|(kind, products)| Step::Add(kind, products)));
}

impl NormalTile {
    /// Rows in memory that [`NormalTile::listed`] needs.
    pub fn listed_buffers(&self) -> usize {
        let (_, buffers) = self.buffers();
        buffers
    }

    /// For each sum its buffer, if it has one, and how many there are: transformed loads, sums that
    /// are transformed inversely, others that later sums read. These take the places of what no sum
    /// reads any more: a thread reads no words but its own.
    fn buffers(&self) -> (Vec<Option<u32>>, usize) {
        let shape = &self.shape;
        let mut last = HashMap::new();
        for (i, sum) in shape.sums.iter().enumerate() {
            for value in sum.terms.iter().flat_map(TermShape::values) {
                last.insert(value, i);
            }
        }
        let mut count = shape.halves + shape.half_stores;
        let (mut free, mut own) = (BTreeSet::new(), Vec::new());
        for (i, sum) in shape.sums.iter().enumerate() {
            let read: BTreeSet<Value> = sum.terms.iter().flat_map(TermShape::values).collect();
            for value in read.into_iter().filter(|value| last[value] == i) {
                match value {
                    Value::Half(slot) => _ = free.insert(u32::from(slot)),
                    Value::Sum(earlier) => {
                        let earlier = usize::from(earlier);
                        if shape.sums[earlier].half_stores.is_empty() {
                            free.extend(own[earlier]);
                        }
                    }
                    Value::Read(_) => {}
                }
            }
            own.push(match sum.half_stores.first() {
                Some(&s) => Some((shape.halves + usize::from(s)) as u32),
                None if last.contains_key(&Value::Sum(i as u16)) => {
                    Some(free.pop_first().unwrap_or_else(|| {
                        count += 1;
                        count as u32 - 1
                    }))
                }
                None => None,
            });
        }
        (own, count)
    }

    /// The kinds of products that [`NormalTile::listed`] has.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        let kind = |step: Step| if let Step::Add(kind, _) = step { Some(kind) } else { None };
        self.steps().0.into_iter().filter_map(kind).collect()
    }

    /// All steps, and how many buffers they use.
    fn steps(&self) -> (Vec<Step>, usize) {
        let shape = &self.shape;
        let (buffers, count) = self.buffers();
        let parts = Parts { shape, buffers };
        let mut steps = Vec::new();
        for (i, sum) in shape.sums.iter().enumerate() {
            parts.terms(&sum.terms, shape.constants as u32, &mut steps);
            for &s in &sum.stores {
                let at = shape.halves + shape.half_stores + shape.reads.len() + usize::from(s);
                let what = if shape.stores[usize::from(s)] { STORE_MOVED } else { STORE };
                steps.push(Step::Other([what, at as u32]));
            }
            let halves = sum.half_stores.iter().map(|&s| (shape.halves + usize::from(s)) as u32);
            let own = parts.buffers[i].filter(|_| sum.half_stores.is_empty());
            steps.extend(halves.chain(own).map(|buffer| Step::Other([KEEP, buffer])));
        }
        steps.push(Step::Other([END, 0]));
        (steps, count)
    }

    /// The same work as a list of steps for the text that serves every tile, whatever its prime.
    pub fn general(&self, ring: &RingShape) -> Self {
        let mut tile = self.listed(ring, &BTreeSet::new());
        tile.shape.wide = true;
        tile
    }

    /// The same work as a list of steps, of products of these kinds; of any where there are none.
    pub fn listed(&self, ring: &RingShape, kinds: &BTreeSet<Kind>) -> Self {
        let shape = &self.shape;
        let (steps, count) = self.steps();
        let kinds: Vec<Kind> = kinds.iter().copied().collect();

        // Of the old record: the prime, halves, reads, stores, those that are transformed.
        let operand = |i: usize| &self.record[4 * (1 + i)..4 * (2 + i)];
        let (first_read, operands) = (shape.halves, shape.operands());
        let first_half_store = operands - shape.half_stores;
        let order = (0..first_read).chain(first_half_store..operands);
        let order = order.chain(first_read..first_half_store);
        let constants = &self.record[4 * (1 + operands)..][..2 * shape.constants];
        let p = ring.primes[self.record[0] as usize];
        let constants_at = 1 + operands;
        let steps_at = constants_at + (shape.constants + 1).div_ceil(2);
        let mut record = vec![self.record[0], constants_at as u32, steps_at as u32, 0];
        record.extend(order.flat_map(operand));
        record.extend(constants);
        record.extend([p.reduce(1 << 32); 2]);
        record.resize(4 * steps_at, 0);
        for step in steps {
            match step {
                Step::Other([what, number]) => {
                    record.extend(words_of(&[StepRecord { what, number, count: 0, unused: 0 }]));
                }
                Step::Add(kind, products) => {
                    let number = match kinds.binary_search(&kind) {
                        Ok(number) => number as u32,
                        Err(_) => u32::from(kind.0) | u32::from(kind.1) << LOG2_KINDS,
                    };
                    let count = products.len() as u32;
                    record.extend(words_of(&[StepRecord { what: ADD, number, count, unused: 0 }]));
                    let pair = |[(_, a), (_, b)]: &Product| a | b << 16;
                    let mut pairs: Vec<u32> = products.iter().map(pair).collect();
                    // What is too much is read, and counts as zero.
                    let last = pairs.last().copied().unwrap_or_default();
                    pairs.resize(pairs.len().next_multiple_of(RUN), last);
                    record.extend(pairs);
                }
            }
        }
        let steps = StepShape { kinds, buffers: count, record: 0 };
        let shape = RowShape {
            wide: shape.wide,
            halves: shape.halves,
            half_stores: shape.half_stores,
            steps: Some(steps),
            ..Default::default()
        };
        Self { shape, record }
    }
}
