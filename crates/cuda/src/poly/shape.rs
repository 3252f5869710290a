//! What tiles of rows have in common, as text of a kernel, and what they have not, as records.
//!
//! Tiles of one [`RowShape`] run the same instructions: as many transforms, the same products of
//! the same operands. A product of a resident polynomial (whose words are stored times 2^32) needs
//! no constant; one of two others, or with a factor, is summed with its like and multiplied by a
//! constant once. An operand alone is multiplied by its constant.

mod loops;
mod normal;
mod steps;
mod sums;

pub(crate) use normal::{NormalTile, Normalizer};

use crate::poly::arguments::ReadForm;
use girih_backend::poly::schedule::Load;
use loops::{LEAST_IN_LOOP, Loop};
use std::fmt::Write;
use steps::StepShape;
use sums::SumsText;

/// Something that a sum reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Value {
    /// A limb that was transformed forward.
    Half(u16),
    /// Evaluations in memory.
    Read(u16),
    /// An earlier sum.
    Sum(u16),
}

/// A summand; constants by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum TermShape {
    Copy(Value),
    Product(Value, Value),
    Scaled(Value, u16),
    Group(Vec<(Value, Value)>, u16),
    Constant(u16),
}

impl TermShape {
    fn reads_half(&self, slot: u16) -> bool {
        let half = Value::Half(slot);
        match self {
            Self::Copy(a) | Self::Scaled(a, _) => *a == half,
            Self::Product(a, b) => *a == half || *b == half,
            Self::Group(pairs, _) => pairs.iter().any(|(a, b)| *a == half || *b == half),
            Self::Constant(_) => false,
        }
    }

    /// What it reads.
    fn values(&self) -> Vec<Value> {
        match self {
            Self::Copy(a) | Self::Scaled(a, _) => vec![*a],
            Self::Product(a, b) => vec![*a, *b],
            Self::Group(pairs, _) => pairs.iter().flat_map(|&(a, b)| [a, b]).collect(),
            Self::Constant(_) => Vec::new(),
        }
    }

    /// What it reads, in the order of the kernel's text.
    fn values_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Self::Copy(a) | Self::Scaled(a, _) => vec![a],
            Self::Product(a, b) => vec![a, b],
            Self::Group(pairs, _) => pairs.iter_mut().flat_map(|(a, b)| [a, b]).collect(),
            Self::Constant(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SumShape {
    terms: Vec<TermShape>,
    stores: Vec<u16>,
    half_stores: Vec<u16>,
}

/// Evaluations in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Read {
    form: ReadForm,
    /// The number of its automorphism among those of the shape, from 1 on; 0 for none.
    turn: u16,
}

/// What a kernel's text depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RowShape {
    wide: bool,
    halves: usize,
    /// Those that several terms read, or that take a word for many, first.
    reads: Vec<Read>,
    sums: Vec<SumShape>,
    /// Whether an automorphism moves the words of each.
    stores: Vec<bool>,
    half_stores: usize,
    constants: usize,
    /// Of tiles that are lists of steps: what their text depends on. They have neither reads nor
    /// sums nor stores nor constants then.
    steps: Option<StepShape>,
}

impl RowShape {
    /// One of the text that serves every tile.
    pub fn general() -> Self {
        Self { wide: true, steps: Some(StepShape::default()), ..Self::default() }
    }

    /// Whether its prime is above 2^30.
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// Limbs that are transformed forward.
    pub fn halves(&self) -> usize {
        self.halves
    }

    /// Sums that are transformed inversely.
    pub fn half_stores(&self) -> usize {
        self.half_stores
    }

    /// Transforms that one row needs at once.
    pub fn transforms(&self) -> usize {
        self.halves.max(self.half_stores)
    }

    /// Operands in a record.
    pub fn operands(&self) -> usize {
        self.halves + self.reads.len() + self.stores.len() + self.half_stores
    }

    /// Constants in a record.
    pub fn constants(&self) -> usize {
        self.constants
    }

    /// Words of a record.
    pub fn record_words(&self) -> usize {
        if let Some(steps) = &self.steps {
            return 4 * steps.record;
        }
        4 * (1 + self.operands() + self.constants.div_ceil(2))
    }

    /// Padded rows that a row's team holds: sums lie over transformed loads, except where they are
    /// lists of steps.
    pub fn buffers(&self) -> usize {
        self.steps.as_ref().map_or(self.transforms(), |steps| steps.buffers)
    }

    /// Whether its tiles are lists of steps.
    pub fn is_listed(&self) -> bool {
        self.steps.is_some()
    }

    /// Whether one text serves both: lists of steps differ in numbers alone.
    pub fn shares_text(&self, other: &Self) -> bool {
        let steps = self.steps.as_ref().zip(other.steps.as_ref());
        self.wide == other.wide && steps.is_some_and(|(own, other)| own.shares_text(other))
    }

    /// Products in its text: of a loop as many as are in one round.
    pub fn products(&self) -> usize {
        let terms = self.sums.iter().flat_map(|s| &s.terms);
        let all: usize =
            terms.map(|t| if let TermShape::Group(p, _) = t { p.len() } else { 1 }).sum();
        let spared = |l: &Loop| l.sums.len() * (l.count - LEAST_IN_LOOP);
        all - self.loops().iter().map(spared).sum::<usize>()
    }

    /// Makes room for records of `words` words, of a list of steps.
    pub fn set_record_words(&mut self, words: usize) {
        if let Some(steps) = &mut self.steps {
            steps.record = words / 4;
        }
    }

    /// Warps that share a row, four at most.
    pub fn team(&self) -> usize {
        let many = self.reads.len() > 3 || self.is_listed();
        let warps = self.transforms().max(if many { 2 } else { 1 });
        warps.next_power_of_two().min(4)
    }

    /// What a row costs, roughly, in products: to start with the longest.
    pub fn cost(&self) -> usize {
        if let Some(steps) = &self.steps {
            return 15 * (self.halves + self.half_stores) + 4 * steps.record;
        }
        let terms: usize = self
            .sums
            .iter()
            .flat_map(|s| &s.terms)
            .map(|t| if let TermShape::Group(p, _) = t { p.len() + 2 } else { 1 })
            .sum();
        15 * (self.halves + self.half_stores) + 2 * terms + 4 * self.reads.len()
    }

    /// Numbers reads anew: those that one term takes last, in the order in which sums take them.
    /// The old numbers in the new order.
    fn order_reads(&mut self) -> Vec<usize> {
        let mut uses = vec![0; self.reads.len()];
        let mut order = Vec::new();
        for value in self.sums.iter_mut().flat_map(|s| &mut s.terms).flat_map(TermShape::values_mut)
        {
            if let Value::Read(i) = *value {
                let i = usize::from(i);
                uses[i] += 1;
                if uses[i] == 1 {
                    order.push(i);
                }
            }
        }
        let runs = |form| matches!(form, ReadForm::Runs | ReadForm::GatherRuns);
        let is_taken_once = |&i: &usize| uses[i] == 1 && !runs(self.reads[i].form);
        let (once, mut held): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_taken_once);
        // Whole words before runs: they are more worth being asked for early.
        held.sort_by_key(|&i| runs(self.reads[i].form));
        held.extend(once);
        let mut new = vec![0; held.len()];
        held.iter().enumerate().for_each(|(number, &old)| new[old] = number as u16);
        self.reads = held.iter().map(|&old| self.reads[old]).collect();
        for value in self.sums.iter_mut().flat_map(|s| &mut s.terms).flat_map(TermShape::values_mut)
        {
            if let Value::Read(i) = value {
                *i = new[usize::from(*i)];
            }
        }
        held
    }

    /// Numbers the automorphisms of reads, which are those of `loads`.
    fn number_turns(&mut self, loads: &[Load]) {
        let mut known = Vec::new();
        // A view takes every word from another place.
        let is_turned =
            |load: &Load| load.automorphism != 1 && !load.automorphism.is_multiple_of(2);
        for (read, load) in self.reads.iter_mut().zip(loads).filter(|(_, l)| is_turned(l)) {
            let number = known.iter().position(|&g| g == load.automorphism);
            read.turn = number.unwrap_or(known.len()) as u16 + 1;
            if number.is_none() {
                known.push(load.automorphism);
            }
        }
    }

    /// `Shape<number>` of a kernel's constants; `alone` if one warp has a row to itself. At most
    /// `most_fetched` reads are held in registers ahead.
    pub fn text(&self, number: usize, alone: bool, most_fetched: usize) -> String {
        if let Some(steps) = &self.steps {
            return steps.text(number, self.wide);
        }
        let mut t = String::new();
        // Transformed words stay in registers from sum to sum, four of each slot. Where sums are
        // formed under automorphisms, their operands are too many to be held.
        let most_fetched = most_fetched.min(12usize.saturating_sub(self.halves / 2));
        let turns = self.sums.iter().any(|sum| self.turn_of(sum).is_some());
        let held = !turns && self.loops().is_empty();
        let fetched = if held { self.reads.len().min(most_fetched) } else { 0 };
        // Writing to a string cannot fail.
        let _ = write!(
            t,
            "template <> struct Shape<{number}> {{\n    static constexpr bool WIDE = {};\n    \
             static constexpr int HALVES = {}, READS = {}, FETCHED = {fetched}, STORES = {}, \
             HALF_STORES = {};\n    \
             static constexpr int OPERANDS = {}, CONSTANTS = {}, RECORD = {}, UNROLL = {};\n    \
             static constexpr bool ALONE = {alone};\n    \
             static CONSTANT_FUNCTION int form(int read) {{\n        constexpr int forms[] = \
             {{{}}};\n        return forms[read];\n    }}\n    \
             template <class X> static FUNCTION void sums(X& x) {{\n",
            self.wide,
            self.halves,
            self.reads.len(),
            self.stores.len(),
            self.half_stores,
            self.operands(),
            self.constants,
            self.record_words() / 4,
            if self.cost() > 200 { 1 } else { 8 },
            self.reads
                .iter()
                .map(|read| (read.form as u8).to_string())
                .chain(["0".into()])
                .collect::<Vec<_>>()
                .join(", "),
        );
        t.push_str(&SumsText::of(self, turns));
        t.push_str("    }\n};\n");
        t
    }
}
