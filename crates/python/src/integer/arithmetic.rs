//! What operators of encrypted integers do: servers, shapes, known operands.

use super::ciphertexts::IntegerCiphertexts;
use super::kind::{Kind, Plain, objects, plains};
use super::number::{Held, Operand, constants, select};
use super::operation::{Binary, Move, Unary};
use super::server::{IntegerServerKey, Loaded};
use crate::context;
use crate::errors::Failure;
use crate::tfhe::gather::{broadcast, common_shape};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cmp::Ordering;
use std::sync::Arc;

/// An operand of an operation, kept for its time.
enum Other {
    Array(Held),
    Plain(Plain),
}

impl Other {
    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Array(array) => Operand::Array(array.as_ref()),
            Self::Plain(value) => Operand::Plain(*value),
        }
    }
}

/// An operand before shapes are broadcast: encrypted, or known.
enum Given<'py> {
    Encrypted(Bound<'py, IntegerCiphertexts>),
    Known(Vec<Plain>, Vec<usize>),
}

impl<'py> Given<'py> {
    fn of(value: &Bound<'py, PyAny>, kind: Kind) -> PyResult<Self> {
        if let Ok(array) = value.cast::<IntegerCiphertexts>() {
            return Ok(Self::Encrypted(array.clone()));
        }
        let (values, shape, _) = plains(value, Some(kind))?;
        Ok(Self::Known(values, shape))
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Encrypted(array) => &array.get().shape,
            Self::Known(_, shape) => shape,
        }
    }

    /// The operand in a shape that its own broadcasts to.
    fn broadcast(
        &self,
        py: Python<'_>,
        loaded: &Arc<Loaded>,
        kind: Kind,
        shape: &[usize],
    ) -> PyResult<Other> {
        match self {
            Self::Encrypted(array) => Ok(Other::Array(array.get().broadcast(py, loaded, shape)?)),
            Self::Known(values, found) => match (found.as_slice(), values.as_slice()) {
                ([], [one]) => Ok(Other::Plain(*one)),
                _ => Ok(Other::Array(spread(py, loaded, kind, values, found, shape)?)),
            },
        }
    }
}

/// Known values as an array on the device, in a shape that theirs broadcasts to.
fn spread(
    py: Python<'_>,
    loaded: &Arc<Loaded>,
    kind: Kind,
    values: &[Plain],
    from: &[usize],
    to: &[usize],
) -> PyResult<Held> {
    let values: Vec<Plain> = broadcast(from, to).into_iter().map(|i| values[i]).collect();
    loaded.run(py, || constants(kind, &loaded.integers, &values))
}

impl IntegerCiphertexts {
    /// The server that an operator of these operands uses.
    fn server(py: Python<'_>, operands: &[&Self]) -> PyResult<Arc<Loaded>> {
        if let Some(loaded) = operands.iter().find_map(|operand| operand.own_server()) {
            return Ok(Arc::clone(loaded));
        }
        match context::innermost::<IntegerServerKey>(py)? {
            Some(server) => Ok(Arc::clone(&server.get().0)),
            None => Err(Failure::new(
                "NoServerError",
                "operators compute on a server: write `with server:` around them, of a \
                 girih.integer.ServerKey",
            )
            .into()),
        }
    }

    /// The server of this operand and of the other one where that is encrypted.
    fn server_with(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Arc<Loaded>> {
        match other.cast::<Self>() {
            Ok(other) => Self::server(py, &[self, other.get()]),
            Err(_) => Self::server(py, &[self]),
        }
    }

    /// The array on the device, in a shape that its own broadcasts to.
    fn broadcast(&self, py: Python<'_>, loaded: &Arc<Loaded>, shape: &[usize]) -> PyResult<Held> {
        let held = self.held(py, loaded)?;
        if self.shape == shape {
            return Ok(held);
        }
        let elements = broadcast(&self.shape, shape);
        loaded.run(py, || held.take(&loaded.integers, &elements))
    }

    /// Known numbers as an array of this one's kind.
    pub(super) fn known(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let loaded = Self::server(py, &[self])?;
        let (values, shape, kind) = plains(value, Some(self.kind()))?;
        let held = spread(py, &loaded, kind, &values, &shape, &shape)?;
        Ok(Self::placed(shape, &loaded, held))
    }

    /// The same array as an object of Python.
    pub(super) fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, self.alias())?.into_any())
    }

    pub(super) fn unary(&self, py: Python<'_>, operation: Unary) -> PyResult<Self> {
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        let result = loaded.run(py, || held.unary(operation))?;
        Ok(Self::placed(self.shape.clone(), &loaded, result))
    }

    /// All results of an operation.
    pub(super) fn results(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Self>> {
        let loaded = self.server_with(py, other)?;
        let other = Given::of(other, self.kind())?;
        let shape = common_shape(&[&self.shape, other.shape()])?;
        let held = self.broadcast(py, &loaded, &shape)?;
        let other = other.broadcast(py, &loaded, self.kind(), &shape)?;
        let results = loaded.run(py, || held.binary(operation, other.operand()))?;
        Ok(results.into_iter().map(|held| Self::placed(shape.clone(), &loaded, held)).collect())
    }

    /// Whether an element is one of known numbers. Those that none can be are left out.
    pub(super) fn among(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = self.kind();
        let placed = objects(values)?.0.into_iter().map(|value| kind.nearest(&value));
        let placed = placed.collect::<PyResult<Vec<_>>>()?;
        let values: Vec<Plain> =
            placed.into_iter().filter(|(_, side)| side.is_eq()).map(|(value, _)| value).collect();
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        let result = loaded.run(py, || match values.is_empty() {
            true => held.one(Binary::NotEqual, Operand::Array(held.as_ref())),
            false => held.is_in(&values),
        })?;
        Ok(Self::placed(self.shape.clone(), &loaded, result))
    }

    /// What stands beside an element in a table of known numbers, and whether it is there.
    pub(super) fn looked_up(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyDict>,
        to: Option<Kind>,
    ) -> PyResult<(Self, Self)> {
        let (kind, to) = (self.kind(), to.unwrap_or(self.kind()));
        let entries =
            table.iter().map(|(number, beside)| Ok((kind.plain(&number)?, to.plain(&beside)?)));
        let entries = entries.collect::<PyResult<Vec<_>>>()?;
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        let [result, found] = loaded.run(py, || held.find(&entries, to))?;
        let placed = |held| Self::placed(self.shape.clone(), &loaded, held);
        Ok((placed(result), placed(found)))
    }

    /// A comparison. Numbers that no element can be are above or below all of them.
    pub(super) fn compared(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        if other.is_instance_of::<Self>() {
            return self.binary(py, operation, other);
        }
        let kind = self.kind();
        let (values, own) = objects(other)?;
        let placed = values.iter().map(|value| kind.nearest(value));
        let placed = placed.collect::<PyResult<Vec<_>>>()?;
        if placed.iter().all(|(_, side)| side.is_eq()) {
            return self.binary(py, operation, other);
        }
        let loaded = Self::server(py, &[self])?;
        let shape = common_shape(&[&self.shape, &own])?;
        // What a comparison with a number beyond all elements gives.
        let beyond = |side: Ordering| match operation {
            Binary::NotEqual => true,
            Binary::Less | Binary::LessOrEqual => side.is_gt(),
            Binary::Greater | Binary::GreaterOrEqual => side.is_lt(),
            _ => false,
        };
        let flags = |of: &dyn Fn(Ordering) -> bool| {
            let flags: Vec<Plain> = placed.iter().map(|p| Plain::Bool(of(p.1))).collect();
            spread(py, &loaded, Kind::Bool, &flags, &own, &shape)
        };
        let forced = flags(&|side| side.is_ne() && beyond(side))?;
        if placed.iter().all(|(_, side)| side.is_ne()) {
            // Also refuses an array of another server.
            self.held(py, &loaded)?;
            return Ok(Self::placed(shape, &loaded, forced));
        }
        let inside = flags(&|side| side.is_eq())?;
        let nearest: Vec<Plain> = placed.iter().map(|(nearest, _)| *nearest).collect();
        let nearest = spread(py, &loaded, kind, &nearest, &own, &shape)?;
        let held = self.broadcast(py, &loaded, &shape)?;
        let result = loaded.run(py, || {
            let compared = held.one(operation, Operand::Array(nearest.as_ref()))?;
            let kept = compared.one(Binary::And, Operand::Array(inside.as_ref()))?;
            kept.one(Binary::Or, Operand::Array(forced.as_ref()))
        })?;
        Ok(Self::placed(shape, &loaded, result))
    }

    /// Bits moved by known numbers of places, or by encrypted ones.
    pub(super) fn moved(&self, py: Python<'_>, how: Move, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        let width = self.kind().bits();
        if let Ok(amounts) = by.cast::<Self>() {
            let amounts = amounts.get();
            let loaded = Self::server(py, &[self, amounts])?;
            let shape = common_shape(&[&self.shape, &amounts.shape])?;
            let held = self.broadcast(py, &loaded, &shape)?;
            let amounts = amounts.broadcast(py, &loaded, &shape)?;
            let result = loaded.run(py, || held.moved_by(how, width, &amounts))?;
            return Ok(Self::placed(shape, &loaded, result));
        }
        let wrong = || {
            PyTypeError::new_err(
                "bits are moved by whole numbers that are not negative, known or encrypted",
            )
        };
        let is_shift = matches!(how, Move::ShiftLeft | Move::ShiftRight);
        let (values, shape) = objects(by)?;
        let amounts = values.iter().map(|value| match Kind::Uint(64).nearest(value)? {
            // Beyond any width, and what a number of 16 bits holds.
            (Plain::Natural(amount), side) if side.is_ge() && is_shift => {
                Ok(amount.words()[0].min(0xffff) as u32)
            }
            // Rotations are modulo the width, however large the amount.
            (Plain::Natural(_), side) if side.is_ge() => value.rem(width)?.extract(),
            _ => Err(wrong()),
        });
        let amounts = amounts.collect::<PyResult<Vec<u32>>>().map_err(|_| wrong())?;
        if let ([], [amount]) = (shape.as_slice(), amounts.as_slice()) {
            return self.moved_evenly(py, how, *amount);
        }
        // Of shifts the width is among them.
        let (kind, most) =
            if width < 256 { (Kind::Uint(8), 255) } else { (Kind::Uint(16), 0xffff) };
        let amounts = amounts.into_iter().map(|a| Plain::Natural(a.min(most).into()));
        let amounts: Vec<Plain> = amounts.collect();
        let loaded = Self::server(py, &[self])?;
        let held = spread(py, &loaded, kind, &amounts, &shape, &shape)?;
        self.moved(py, how, &Self::placed(shape, &loaded, held).object(py)?)
    }

    /// All elements moved by one known number of places.
    fn moved_evenly(&self, py: Python<'_>, how: Move, amount: u32) -> PyResult<Self> {
        let kind = self.kind();
        let most = kind.bits() - 1;
        match (how, kind) {
            (Move::ShiftRight, Kind::Int(_)) => self.unary(py, Unary::Move(how, amount.min(most))),
            (Move::ShiftLeft | Move::ShiftRight, _) if amount > most => {
                let loaded = Self::server(py, &[self])?;
                let held = self.held(py, &loaded)?;
                let none = Operand::Plain(Plain::zero(kind));
                let mut zeros = loaded.run(py, || held.binary(Binary::And, none))?;
                Ok(Self::placed(self.shape.clone(), &loaded, zeros.swap_remove(0)))
            }
            _ => self.unary(py, Unary::Move(how, amount)),
        }
    }

    /// Elements of `on` where these conditions hold, else of `off`.
    pub(super) fn selected(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        off: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let arrays: Vec<_> = [on, off].into_iter().filter_map(|o| o.cast::<Self>().ok()).collect();
        let Some(kind) = arrays.first().map(|array| array.get().kind()) else {
            let why = "a choice of two known values has no dtype: encrypt one of them, or take \
                       condition.astype(dtype), which is 1 and 0";
            return Err(Failure::mismatch(why).into());
        };
        let operands: Vec<&Self> =
            [self].into_iter().chain(arrays.iter().map(|array| array.get())).collect();
        let loaded = Self::server(py, &operands)?;
        let (on, off) = (Given::of(on, kind)?, Given::of(off, kind)?);
        let shape = common_shape(&[&self.shape, on.shape(), off.shape()])?;
        let held = self.broadcast(py, &loaded, &shape)?;
        let given = [on, off].map(|given| match given {
            // Conditions are chosen among arrays alone.
            Given::Known(values, own) if kind == Kind::Bool => {
                spread(py, &loaded, kind, &values, &own, &shape).map(Other::Array)
            }
            given => given.broadcast(py, &loaded, kind, &shape),
        });
        let [on, off] = given;
        let (on, off) = (on?, off?);
        let chosen = loaded.run(py, || select(held.as_ref(), on.operand(), off.operand()))?;
        Ok(Self::placed(shape, &loaded, chosen))
    }

    pub(super) fn cast(&self, py: Python<'_>, to: Kind) -> PyResult<Self> {
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        let result = loaded.run(py, || held.cast(to))?;
        Ok(Self::placed(self.shape.clone(), &loaded, result))
    }

    /// Sums along an axis, or of all elements, of the kind given or of one that holds them.
    pub(super) fn total(
        &self,
        py: Python<'_>,
        axis: Option<i64>,
        kind: Option<Kind>,
    ) -> PyResult<Self> {
        let dimensions = self.shape.len();
        let axis = match axis {
            None => None,
            Some(axis) => {
                let from_start = if axis < 0 { axis + dimensions as i64 } else { axis };
                let found = usize::try_from(from_start).ok().filter(|a| *a < dimensions);
                Some(found.ok_or_else(|| {
                    Failure::mismatch(format!("axis {axis} of an array of {dimensions} axes"))
                })?)
            }
        };
        let size: usize = self.shape.iter().product();
        // An entry of the result is the sum of `terms` elements, `stride` apart.
        let (terms, stride, shape) = match axis {
            None => (size, 1, Vec::new()),
            Some(axis) => {
                let mut shape = self.shape.clone();
                let terms = shape.remove(axis);
                (terms, shape[axis..].iter().product(), shape)
            }
        };
        let kind = match kind {
            Some(kind) => kind,
            None => self.kind().of_sums(terms).ok_or_else(|| {
                let own = self.kind();
                Failure::mismatch(format!(
                    "no integers hold all sums of {terms} elements of {own}: sum(dtype=\"{own}\") \
                     wraps around"
                ))
            })?,
        };
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        let entries = size / terms.max(1);
        let first = |entry: usize| entry / stride * stride * terms + entry % stride;
        // Terms after terms, each of all entries.
        let order: Vec<usize> = (0..terms)
            .flat_map(|term| (0..entries).map(move |entry| first(entry) + term * stride))
            .collect();
        let sum = loaded.run(py, || {
            let wide = held.cast(kind)?;
            let all = wide.take(&loaded.integers, &order)?;
            all.folded(&loaded.integers, terms, entries)
        })?;
        Ok(Self::placed(shape, &loaded, sum))
    }

    /// Refuses what Python would round down and girih rounds towards 0.
    pub(super) fn only_natural(&self, operator: &str) -> PyResult<()> {
        if let Kind::Int(_) = self.kind() {
            return Err(PyTypeError::new_err(format!(
                "{operator} rounds down in Python; integers with a sign have div_rem(other), which \
                 rounds towards 0"
            )));
        }
        Ok(())
    }
}
