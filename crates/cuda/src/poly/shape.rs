//! What tiles of rows have in common, as text of a kernel, and what they have not, as records.
//!
//! Tiles of one [`RowShape`] run the same instructions: as many transforms, the same products of
//! the same operands. A product of a resident polynomial (whose words are stored times 2^32) needs
//! no constant; one of two others, or with a factor, is summed with its like and multiplied by a
//! constant once. An operand alone is multiplied by its constant.

use crate::poly::limbs::{Place, Places};
use crate::poly::tables::is_wide;
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::{Form, Load, RowTile, Source};
use girih_ring::{Automorphism, Modulus};
use std::collections::HashMap;
use std::fmt::Write;

/// How a thread reads four words of evaluations (`Form` of `sums.cuh`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReadForm {
    /// Four words.
    Words = 0,
    /// Two words, each for two.
    Pairs = 1,
    /// One word.
    Runs = 2,
    /// Four words, under an automorphism.
    Gather = 3,
    /// Two words, each for two, under an automorphism.
    GatherPairs = 4,
    /// One word, under an automorphism.
    GatherRuns = 5,
}

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

impl Value {
    /// The value in a kernel's text.
    fn text(self) -> String {
        match self {
            Self::Half(i) => format!("x.half({i})"),
            Self::Read(i) => format!("x.read(Int<{i}>{{}})"),
            Self::Sum(i) => format!("v{i}"),
        }
    }
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

/// What a kernel's text depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RowShape {
    wide: bool,
    halves: usize,
    /// Those that several terms read, or that take a word for many, first.
    reads: Vec<ReadForm>,
    sums: Vec<SumShape>,
    /// Whether an automorphism moves the words of each.
    stores: Vec<bool>,
    half_stores: usize,
    constants: usize,
}

/// A tile: its shape and its record.
pub(crate) struct NormalTile {
    pub shape: RowShape,
    pub record: Vec<u32>,
}

impl RowShape {
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
        4 * (1 + self.operands() + self.constants.div_ceil(2))
    }

    /// Padded rows that a row's team holds: sums lie over transformed loads.
    pub fn buffers(&self) -> usize {
        self.transforms()
    }

    /// Warps that share a row, four at most.
    pub fn team(&self) -> usize {
        let warps = self.transforms().max(if self.reads.len() > 3 { 2 } else { 1 });
        warps.next_power_of_two().min(4)
    }

    /// What a row costs, roughly, in products: to start with the longest.
    pub fn cost(&self) -> usize {
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
        let is_taken_once = |&i: &usize| uses[i] == 1 && !runs(self.reads[i]);
        let (once, mut held): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_taken_once);
        // Whole words before runs: they are more worth being asked for early.
        held.sort_by_key(|&i| runs(self.reads[i]));
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

    /// `Shape<number>` of a kernel's constants; `alone` if one warp has a row to itself. At most
    /// `most_fetched` reads are held in registers ahead.
    pub fn text(&self, number: usize, alone: bool, most_fetched: usize) -> String {
        let mut t = String::new();
        // Transformed words stay in registers from sum to sum, four of each slot.
        let fetched =
            self.reads.len().min(most_fetched.min(12usize.saturating_sub(self.halves / 2)));
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
                .map(|&f| (f as u8).to_string())
                .chain(["0".into()])
                .collect::<Vec<_>>()
                .join(", "),
        );
        // Each sum leaves as soon as it may, so that its words take no registers any longer: a
        // buffer is free once the last sum has read the transformed load that lies there.
        let free_after = |slot: u16| {
            self.sums.iter().rposition(|sum| sum.terms.iter().any(|t| t.reads_half(slot)))
        };
        for (i, sum) in self.sums.iter().enumerate() {
            sum.text(i, &mut t);
            for &s in &sum.stores {
                let _ = writeln!(
                    t,
                    "        x.template store<{}>({s}, v{i});",
                    self.stores[usize::from(s)]
                );
            }
            for (from, earlier) in self.sums[..=i].iter().enumerate() {
                for &s in &earlier.half_stores {
                    if free_after(s).map_or(from, |last| last.max(from)) == i {
                        let _ = writeln!(t, "        x.keep({s}, v{from});");
                    }
                }
            }
        }
        t.push_str("    }\n};\n");
        t
    }
}

impl SumShape {
    fn text(&self, number: usize, t: &mut String) {
        let name = |value: &Value| value.text();
        if let [TermShape::Copy(value)] = &self.terms[..] {
            let _ = writeln!(t, "        const auto v{number} = {};", name(value));
            return;
        }
        let _ = writeln!(t, "        auto s{number} = x.sum();");
        for (i, term) in self.terms.iter().enumerate() {
            let _ = match term {
                TermShape::Copy(_) => Ok(()),
                TermShape::Product(a, b) => {
                    writeln!(t, "        s{number}.product({}, {});", name(a), name(b))
                }
                TermShape::Scaled(a, c) => {
                    writeln!(t, "        s{number}.scaled({}, x.constant({c}));", name(a))
                }
                TermShape::Constant(c) => {
                    writeln!(t, "        s{number}.constant(x.constant({c}));")
                }
                TermShape::Group(products, c) => {
                    let _ = writeln!(t, "        auto g{number}_{i} = x.sum();");
                    for (a, b) in products {
                        let _ =
                            writeln!(t, "        g{number}_{i}.product({}, {});", name(a), name(b));
                    }
                    writeln!(t, "        s{number}.scaled(g{number}_{i}.value(), x.constant({c}));")
                }
            };
        }
        let _ = writeln!(t, "        const auto v{number} = s{number}.value();");
    }
}

/// A product or an operand with its factor, before operands have numbers.
#[derive(Clone, Copy, Debug)]
struct Term {
    factor: [u32; 2],
    operands: [Option<Operand>; 2],
}

/// A load that a term reads, or a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Half(u16),
    Sum(u16),
    Memory(Load),
}

/// Brings tiles into a normal form.
pub(crate) struct Normalizer<'a> {
    pub ring: &'a RingShape,
    pub places: &'a Places,
}

struct Builder<'a> {
    of: &'a Normalizer<'a>,
    modulus: Modulus,
    shape: RowShape,
    reads: HashMap<Load, u16>,
    halves: Vec<Load>,
    read_loads: Vec<Load>,
    constants: Vec<[u32; 2]>,
}

fn refused(why: impl Into<String>) -> BackendError {
    BackendError::InvalidRequest(format!("a schedule that kernels cannot run: {}", why.into()))
}

impl Normalizer<'_> {
    /// The normal form of a tile of `poly_rows` or `poly_pointwise`.
    pub fn normal(&self, tile: &RowTile) -> Result<NormalTile, BackendError> {
        let modulus = self.ring.primes[usize::from(tile.prime)];
        let mut builder = Builder {
            of: self,
            modulus,
            shape: RowShape { wide: is_wide(modulus), ..Default::default() },
            reads: HashMap::new(),
            halves: Vec::new(),
            read_loads: Vec::new(),
            constants: Vec::new(),
        };
        let mut slots = Vec::new();
        for load in &tile.loads {
            slots.push(match load.form {
                Form::Half => {
                    builder.halves.push(*load);
                    Operand::Half(builder.halves.len() as u16 - 1)
                }
                Form::Evaluations => Operand::Memory(*load),
                Form::Coefficients => return Err(refused("rows load coefficients")),
            });
        }
        let (mut stores, mut half_stores) = (Vec::new(), Vec::new());
        for (number, sum) in tile.sums.iter().enumerate() {
            let operand = |source: Source| match source {
                Source::Slot(slot) => slots
                    .get(usize::from(slot))
                    .copied()
                    .ok_or_else(|| refused(format!("a sum reads slot {slot} too early"))),
                Source::Stream(load) if load.form == Form::Evaluations => Ok(Operand::Memory(load)),
                Source::Stream(_) => Err(refused("a stream that is not of evaluations")),
            };
            let mut terms = Vec::new();
            for term in &sum.terms {
                terms.push(Term {
                    factor: term.factor,
                    operands: [term.a.map(operand).transpose()?, term.b.map(operand).transpose()?],
                });
            }
            let mut shape = builder.sum(&terms)?;
            for store in &sum.stores {
                match store.form {
                    Form::Evaluations => {
                        shape.stores.push(stores.len() as u16);
                        stores.push(*store);
                    }
                    Form::Half => {
                        shape.half_stores.push(half_stores.len() as u16);
                        half_stores.push(*store);
                    }
                    Form::Coefficients => return Err(refused("rows store coefficients")),
                }
            }
            builder.shape.sums.push(shape);
            slots.push(Operand::Sum(number as u16));
        }
        let Builder { mut shape, halves, read_loads, constants, .. } = builder;
        let read_loads: Vec<Load> =
            shape.order_reads().into_iter().map(|old| read_loads[old]).collect();
        shape.halves = halves.len();
        shape.constants = constants.len();
        shape.stores = stores.iter().map(|s| s.automorphism != 1).collect();
        shape.half_stores = half_stores.len();

        let mut record = vec![u32::from(tile.prime), 0, 0, 0];
        for load in halves.iter().chain(&read_loads) {
            let place = self.places.place(load.from)?;
            operand_record(&mut record, place, load.automorphism);
        }
        for store in stores.iter().chain(&half_stores) {
            // Stores scatter by the inverse.
            let inverse = match store.automorphism {
                1 => 1,
                g => Automorphism::new(self.ring.degree(), g as usize)
                    .map_err(|e| refused(e.to_string()))?
                    .inverse()
                    .exponent() as u32,
            };
            operand_record(&mut record, self.places.place(store.to)?, inverse);
        }
        record.extend(constants.iter().flatten());
        record.resize(record.len().next_multiple_of(4), 0);
        debug_assert_eq!(record.len(), shape.record_words());
        Ok(NormalTile { shape, record })
    }
}

fn operand_record(record: &mut Vec<u32>, place: Place, automorphism: u32) {
    record.extend([
        place.offset as u32,
        (place.offset >> 32) as u32,
        place.base | (place.log2_run << 24),
        automorphism,
    ]);
}

impl Builder<'_> {
    fn sum(&mut self, terms: &[Term]) -> Result<SumShape, BackendError> {
        let p = self.modulus;
        let r = p.reduce(1 << 32);
        let (mut products, mut groups) =
            (Vec::new(), Vec::<((usize, [u32; 2]), Vec<(Operand, Operand)>)>::new());
        let mut scaled = Vec::<(Operand, [u32; 2])>::new();
        let mut constant = None::<[u32; 2]>;
        for term in terms {
            if term.factor == [0, 0] {
                continue;
            }
            match term.operands {
                [None, None] => {
                    let sum = constant.get_or_insert([0, 0]);
                    *sum = [p.add(sum[0], term.factor[0]), p.add(sum[1], term.factor[1])];
                }
                [Some(a), None] | [None, Some(a)] => match scaled.iter_mut().find(|(b, _)| *b == a)
                {
                    Some((_, factor)) => {
                        *factor =
                            [p.add(factor[0], term.factor[0]), p.add(factor[1], term.factor[1])]
                    }
                    None => scaled.push((a, term.factor)),
                },
                [Some(a), Some(b)] => {
                    let pair = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
                    let residents =
                        usize::from(self.is_montgomery(a)?) + usize::from(self.is_montgomery(b)?);
                    if residents == 1 && term.factor == [1, 1] {
                        products.push(pair);
                    } else {
                        let key = (residents, term.factor);
                        match groups.iter_mut().find(|(k, _)| *k == key) {
                            Some((_, pairs)) => pairs.push(pair),
                            None => groups.push((key, vec![pair])),
                        }
                    }
                }
            }
        }
        if let ([], [], None, [(a, [1, 1])]) = (&products[..], &groups[..], constant, &scaled[..])
            && !self.is_montgomery(*a)?
        {
            let value = self.value(*a)?;
            return Ok(SumShape { terms: vec![TermShape::Copy(value)], ..Default::default() });
        }
        // In an order that does not depend on how a schedule lists terms.
        products.sort_by_key(|&(a, b)| (rank(a), rank(b)));
        scaled.sort_by_key(|&(a, _)| rank(a));
        groups.sort_by_key(|(_, pairs)| {
            (std::cmp::Reverse(pairs.len()), pairs.iter().map(|&(a, b)| (rank(a), rank(b))).min())
        });
        let mut shapes = Vec::new();
        for (a, b) in products {
            shapes.push(TermShape::Product(self.value(a)?, self.value(b)?));
        }
        for ((residents, factor), mut pairs) in groups {
            pairs.sort_by_key(|&(a, b)| (rank(a), rank(b)));
            let pairs = pairs
                .into_iter()
                .map(|(a, b)| Ok((self.value(a)?, self.value(b)?)))
                .collect::<Result<_, BackendError>>()?;
            let power = [p.mul(r, r), r, 1][residents];
            let constant = self.constant(factor.map(|f| p.mul(f, power)));
            shapes.push(TermShape::Group(pairs, constant));
        }
        for (a, factor) in scaled {
            let power = if self.is_montgomery(a)? { 1 } else { r };
            let value = self.value(a)?;
            let constant = self.constant(factor.map(|f| p.mul(f, power)));
            shapes.push(TermShape::Scaled(value, constant));
        }
        if constant.is_some() || shapes.is_empty() {
            let constant = self.constant(constant.unwrap_or_default().map(|f| p.mul(f, r)));
            shapes.push(TermShape::Constant(constant));
        }
        Ok(SumShape { terms: shapes, ..Default::default() })
    }

    fn constant(&mut self, value: [u32; 2]) -> u16 {
        self.constants.push(value);
        self.constants.len() as u16 - 1
    }

    fn is_montgomery(&self, operand: Operand) -> Result<bool, BackendError> {
        match operand {
            Operand::Memory(load) => Ok(self.of.places.place(load.from)?.montgomery),
            Operand::Half(_) | Operand::Sum(_) => Ok(false),
        }
    }

    fn value(&mut self, operand: Operand) -> Result<Value, BackendError> {
        Ok(match operand {
            Operand::Half(i) => Value::Half(i),
            Operand::Sum(i) => Value::Sum(i),
            Operand::Memory(load) => {
                if let Some(&number) = self.reads.get(&load) {
                    return Ok(Value::Read(number));
                }
                let form = match (load.automorphism, self.of.places.place(load.from)?.log2_run) {
                    (1, 0) => ReadForm::Words,
                    (1, 1) => ReadForm::Pairs,
                    (1, _) => ReadForm::Runs,
                    (_, 0) => ReadForm::Gather,
                    (_, 1) => ReadForm::GatherPairs,
                    _ => ReadForm::GatherRuns,
                };
                let number = self.shape.reads.len() as u16;
                self.shape.reads.push(form);
                self.read_loads.push(load);
                self.reads.insert(load, number);
                Value::Read(number)
            }
        })
    }
}

/// Slots before memory; memory in the order in which terms name it.
fn rank(operand: Operand) -> (u8, u16) {
    match operand {
        Operand::Half(i) => (0, i),
        Operand::Sum(i) => (1, i),
        Operand::Memory(_) => (2, 0),
    }
}
