//! The sums of a shape as text of a kernel.

use super::loops::Loop;
use super::{RowShape, SumShape, TermShape, Value};
use std::fmt::Write;

/// The body of `Shape<k>::sums` in the making.
pub(super) struct SumsText<'a> {
    shape: &'a RowShape,
    /// Whether sums are formed under automorphisms. The text then says once where each of these
    /// leads, and adds products with a sum where that sum is known, not where its readers are done:
    /// sums are many, and their readers take less room.
    turns: bool,
    has_turn: Vec<bool>,
    has_sum: Vec<bool>,
    has_group: Vec<Vec<bool>>,
    loops: Vec<Loop>,
    text: String,
}

/// What a term adds at once.
#[derive(Clone, Copy)]
enum Addend {
    Product(Value, Value),
    Scaled(Value, u16),
    Constant(u16),
    /// To the group of the term.
    Grouped(Value, Value),
}

impl Addend {
    /// The last of the sums that it reads.
    fn last_sum(self) -> Option<usize> {
        let sum = |v: Value| if let Value::Sum(i) = v { Some(usize::from(i)) } else { None };
        match self {
            Self::Product(a, b) | Self::Grouped(a, b) => sum(a).max(sum(b)),
            Self::Scaled(a, _) => sum(a),
            Self::Constant(_) => None,
        }
    }
}

impl TermShape {
    fn addends(&self) -> Vec<Addend> {
        match self {
            Self::Copy(_) => Vec::new(),
            Self::Product(a, b) => vec![Addend::Product(*a, *b)],
            Self::Scaled(a, c) => vec![Addend::Scaled(*a, *c)],
            Self::Constant(c) => vec![Addend::Constant(*c)],
            Self::Group(pairs, _) => pairs.iter().map(|&(a, b)| Addend::Grouped(a, b)).collect(),
        }
    }
}

impl RowShape {
    /// The automorphism that all operands of a sum share: its value is moved, not they.
    pub(super) fn turn_of(&self, sum: &SumShape) -> Option<u16> {
        let turn = |value: Value| match value {
            Value::Read(i) => self.reads[usize::from(i)].turn,
            Value::Half(_) | Value::Sum(_) => 0,
        };
        let values: Vec<Value> = sum.terms.iter().flat_map(TermShape::values).collect();
        let first = turn(*values.first()?);
        // A single value is moved as it is read.
        let all = values.len() > 1 && values.iter().all(|&value| turn(value) == first);
        (first > 0 && all).then_some(first)
    }
}

impl<'a> SumsText<'a> {
    pub fn of(shape: &'a RowShape, turns: bool) -> String {
        let groups = shape.sums.iter().map(|sum| vec![false; sum.terms.len()]);
        let mut this = Self {
            shape,
            turns,
            has_turn: vec![false; shape.reads.len() + 1],
            has_sum: vec![false; shape.sums.len()],
            has_group: groups.collect(),
            loops: shape.loops(),
            text: String::new(),
        };
        // Each sum leaves as soon as it may, so that its words take no registers any longer: a
        // buffer is free once the last sum has read the transformed load that lies there.
        let free_after = |slot: u16| {
            shape.sums.iter().rposition(|sum| sum.terms.iter().any(|t| t.reads_half(slot)))
        };
        for (i, sum) in shape.sums.iter().enumerate() {
            this.sum(i);
            for &s in &sum.stores {
                let is_moved = shape.stores[usize::from(s)];
                this.line(&format!("x.template store<{is_moved}>({s}, v{i});"));
            }
            for (from, earlier) in shape.sums[..=i].iter().enumerate() {
                for &s in &earlier.half_stores {
                    if free_after(s).map_or(from, |last| last.max(from)) == i {
                        this.line(&format!("x.keep({s}, v{from});"));
                    }
                }
            }
            if this.turns {
                for reader in i + 1..shape.sums.len() {
                    for term in 0..shape.sums[reader].terms.len() {
                        this.add(reader, term, |addend| addend.last_sum() == Some(i));
                    }
                }
            }
        }
        this.text
    }

    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "        {line}");
    }

    /// A value; `moved` where it is to be as an automorphism takes it.
    fn value(&mut self, value: Value, moved: bool) -> String {
        match value {
            Value::Half(i) => format!("x.half({i})"),
            Value::Sum(i) => format!("v{i}"),
            Value::Read(i) => match self.shape.reads[usize::from(i)].turn {
                turn if turn > 0 && self.turns => {
                    if !std::mem::replace(&mut self.has_turn[usize::from(turn)], true) {
                        self.line(&format!("const auto t{turn} = x.turn(Int<{i}>{{}});"));
                    }
                    let name = if moved { "read" } else { "aligned" };
                    format!("x.{name}(Int<{i}>{{}}, t{turn})")
                }
                _ => format!("x.read(Int<{i}>{{}})"),
            },
        }
    }

    /// The accumulator of a sum, declared when it is first named.
    fn accumulator(&mut self, number: usize) -> String {
        let name = format!("s{number}");
        if !std::mem::replace(&mut self.has_sum[number], true) {
            self.line(&format!("auto {name} = x.sum();"));
        }
        name
    }

    /// That of a group of products.
    fn group(&mut self, number: usize, term: usize) -> String {
        let name = format!("g{number}_{term}");
        if !std::mem::replace(&mut self.has_group[number][term], true) {
            self.line(&format!("auto {name} = x.sum();"));
        }
        name
    }

    /// Adds to a sum those addends of a term that are wanted now.
    fn add(&mut self, number: usize, term: usize, wanted: impl Fn(Addend) -> bool) {
        let shape = self.shape;
        let sum = &shape.sums[number];
        let moved = shape.turn_of(sum).is_none();
        if self.loops.iter().any(|l| l.adds(number, term)) {
            return;
        }
        for addend in sum.terms[term].addends().into_iter().filter(|&addend| wanted(addend)) {
            let line = match addend {
                Addend::Product(a, b) | Addend::Grouped(a, b) => {
                    let to = match addend {
                        Addend::Grouped(..) => self.group(number, term),
                        _ => self.accumulator(number),
                    };
                    let (a, b) = (self.value(a, moved), self.value(b, moved));
                    format!("{to}.product({a}, {b});")
                }
                Addend::Scaled(a, c) => {
                    let (to, a) = (self.accumulator(number), self.value(a, moved));
                    format!("{to}.scaled({a}, x.constant({c}));")
                }
                Addend::Constant(c) => {
                    let to = self.accumulator(number);
                    format!("{to}.constant(x.constant({c}));")
                }
            };
            self.line(&line);
        }
    }

    /// The loops whose first sum this is, for all of their sums.
    fn loops_of(&mut self, number: usize) {
        for (at, own) in self.loops.clone().iter().enumerate() {
            if own.sums[0].sum != number {
                continue;
            }
            let form = |read: u16| self.shape.reads[usize::from(read)].form as u8;
            let forms = (form(own.first), form(own.sums[0].second));
            let [a, b] = own.steps;
            let others: Vec<_> = own.sums.iter().map(|sum| sum.second.to_string()).collect();
            self.line(&format!(
                "const auto l{at} = x.template moved_products<{}, {}, {}, {}, {a}, {b}, {}>();",
                forms.0,
                forms.1,
                own.count,
                own.first,
                others.join(", ")
            ));
            for (i, sum) in own.sums.iter().enumerate() {
                let to = self.accumulator(sum.sum);
                self.line(&format!("{to}.plus(l{at}.of[{i}]);"));
            }
        }
    }

    /// What is left of a sum, and its value.
    fn sum(&mut self, number: usize) {
        let shape = self.shape;
        let sum = &shape.sums[number];
        if let [TermShape::Copy(value)] = sum.terms[..] {
            let value = self.value(value, true);
            return self.line(&format!("const auto v{number} = {value};"));
        }
        self.loops_of(number);
        let (turns, to) = (self.turns, self.accumulator(number));
        for (i, term) in sum.terms.iter().enumerate() {
            self.add(number, i, |addend| !turns || addend.last_sum().is_none());
            if let TermShape::Group(_, c) = term {
                self.line(&format!("{to}.scaled(g{number}_{i}.value(), x.constant({c}));"));
            }
        }
        let value = format!("{to}.value()");
        let value = match shape.turn_of(sum) {
            Some(turn) => format!("x.turned({value}, t{turn})"),
            None => value,
        };
        self.line(&format!("const auto v{number} = {value};"));
    }
}
