//! Tiles of rows in a normal form: which shape each has, and its record.

use super::{Read, RowShape, SumShape, TermShape, Value};
use crate::poly::arguments::{OperandRecord, ReadForm, words_of};
use crate::poly::limbs::Places;
use crate::poly::tables::is_wide;
use girih_backend::BackendError;
use girih_backend::poly::schedule::{Form, Load, RowTile, Source};
use girih_backend::poly::{RingShape, View};
use girih_ring::{Modulus, inverse_exponent};
use std::collections::HashMap;

/// A tile: its shape and its record.
pub(crate) struct NormalTile {
    pub shape: RowShape,
    pub record: Vec<u32>,
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

/// What a term reads, of the slots before it.
fn operand(slots: &[Operand], source: Source) -> Result<Operand, BackendError> {
    match source {
        Source::Slot(slot) => slots
            .get(usize::from(slot))
            .copied()
            .ok_or_else(|| refused(format!("a sum reads slot {slot} too early"))),
        Source::Stream(load) if load.form == Form::Evaluations => Ok(Operand::Memory(load)),
        Source::Stream(_) => Err(refused("a stream that is not of evaluations")),
    }
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
            let operand = |source| operand(&slots, source);
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
        shape.number_turns(&read_loads);
        shape.halves = halves.len();
        shape.constants = constants.len();
        shape.stores = stores.iter().map(|s| s.automorphism != 1).collect();
        shape.half_stores = half_stores.len();

        let mut record = vec![u32::from(tile.prime), 0, 0, 0];
        for load in halves.iter().chain(&read_loads) {
            let place = self.places.place(load.from)?;
            record.extend(words_of(&[OperandRecord::new(place, load.automorphism)]));
        }
        for store in stores.iter().chain(&half_stores) {
            // Stores scatter by the inverse.
            let g = store.automorphism;
            if g.is_multiple_of(2) {
                return Err(refused(format!("a store under X -> X^{g}: exponents are odd")));
            }
            let inverse = inverse_exponent(g as usize, self.ring.degree()) as u32;
            let place = self.places.place(store.to)?;
            record.extend(words_of(&[OperandRecord::new(place, inverse)]));
        }
        record.extend(constants.iter().flatten());
        record.resize(record.len().next_multiple_of(4), 0);
        debug_assert_eq!(record.len(), shape.record_words());
        Ok(NormalTile { shape, record })
    }
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
                    (g, _) if View::of_code(g).is_some() => ReadForm::Viewed,
                    (_, 0) => ReadForm::Gather,
                    (_, 1) => ReadForm::GatherPairs,
                    _ => ReadForm::GatherRuns,
                };
                let number = self.shape.reads.len() as u16;
                self.shape.reads.push(Read { form, turn: 0 });
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
