//! Encrypted vectors.

use super::approximation::{CompositeSign, Polynomial, fit};
use super::bytes;
use super::matrix::{LinearMap, Matrix, transposed};
use super::operation::Operation;
use super::server::{CkksServerKey, Loaded, Tape};
use super::sets::CkksParameters;
use crate::arrays::{self, Values};
use crate::call::wait;
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather::{broadcast, common_shape, display, indexed, reshaped};
use crate::{context, wire};
use girih::ckks::server::{Bootstrapping, Ciphertexts};
use girih::ckks::{self, Ciphertext, Complex64};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// Where encrypted vectors are.
#[derive(Clone)]
pub enum Store {
    /// In the memory of this process.
    Host(Arc<Vec<Ciphertext>>),
    /// On a device, beside its keys.
    Device(Arc<Loaded>, Ciphertexts),
    /// Nowhere yet: a step of a computation that is being recorded.
    Traced(Arc<Tape>, usize),
}

/// An encrypted vector of real or complex numbers, or a batch of them. Operators compute on the
/// server of the innermost `with server:`, or on the one that made an operand; results stay on its
/// device until they are decrypted, pickled or copied by to_host.
#[pyclass(frozen, module = "girih.ckks", name = "Ciphertexts")]
pub struct CkksCiphertexts {
    /// The shape without its last length, the slots: of one vector none, of a batch (vectors,).
    pub lead: Vec<usize>,
    /// The vectors.
    pub store: Store,
}

impl Store {
    /// The vectors on the device of `server`.
    ///
    /// # Errors
    /// Those of uploading.
    pub fn on_device(&self, server: &Loaded) -> Outcome<Ciphertexts> {
        match self {
            Self::Host(batch) => Ok(server.key.upload(batch)?),
            Self::Device(_, batch) => Ok(batch.clone()),
            Self::Traced(..) => {
                let why = "a step of a recording is used where ciphertexts are needed";
                Err(Failure::mismatch(why))
            }
        }
    }

    fn on_host(&self) -> Outcome<Arc<Vec<Ciphertext>>> {
        match self {
            Self::Host(batch) => Ok(Arc::clone(batch)),
            Self::Device(server, batch) => Ok(Arc::new(server.key.download(batch)?)),
            Self::Traced(..) => {
                let why = "while a program is recorded there are no ciphertexts yet";
                Err(Failure::mismatch(why))
            }
        }
    }

    /// Some vectors, in any order and as often as wanted, where they are.
    fn take(&self, vectors: &[usize]) -> Outcome<Self> {
        let Some(&first) = vectors.first() else {
            return Err(Failure::mismatch("no vector is left: a batch has at least one"));
        };
        let in_order = vectors.iter().zip(first..).all(|(&vector, place)| vector == place);
        if let (Self::Device(server, batch), true) = (self, in_order) {
            let part = batch.select(first..first + vectors.len())?;
            return Ok(Self::Device(Arc::clone(server), part));
        }
        let all = self.on_host()?;
        let part: Vec<Ciphertext> = vectors.iter().map(|&vector| all[vector].clone()).collect();
        match self {
            Self::Device(server, _) => {
                Ok(Self::Device(Arc::clone(server), server.key.upload(&part)?))
            }
            _ => Ok(Self::Host(Arc::new(part))),
        }
    }
}

/// Slots, level and scale.
struct Facts {
    slots: usize,
    level: usize,
    scale: f64,
}

impl CkksCiphertexts {
    /// As many vectors as their shape has.
    pub fn new(lead: Vec<usize>, store: Store) -> Self {
        Self { lead, store }
    }

    /// The shape, slots included.
    fn full_shape(&self) -> Outcome<Vec<usize>> {
        let slots = self.facts()?.slots;
        Ok(self.lead.iter().copied().chain([slots]).collect())
    }

    /// Some vectors in another shape.
    fn gathered(&self, py: Python<'_>, vectors: Vec<usize>, lead: Vec<usize>) -> PyResult<Self> {
        let store = self.store.clone();
        Ok(Self::new(lead, wait(py, move || store.take(&vectors))?))
    }

    fn set(&self) -> ckks::CkksParameters {
        match &self.store {
            Store::Host(batch) => batch[0].set().clone(),
            Store::Device(_, batch) => batch.set().clone(),
            Store::Traced(tape, _) => tape.set.clone(),
        }
    }

    /// What all vectors of the batch have in common.
    fn facts(&self) -> Outcome<Facts> {
        match &self.store {
            Store::Host(batch) => {
                let (slots, level) = (batch[0].slots(), batch[0].level());
                Ok(Facts { slots, level, scale: batch[0].scale() })
            }
            Store::Device(_, batch) => {
                let (slots, level) = (batch.slots(), batch.level());
                Ok(Facts { slots, level, scale: batch.scale() })
            }
            Store::Traced(..) => {
                let why = "levels, scales and slots are not known while a program is recorded";
                Err(Failure::mismatch(why))
            }
        }
    }

    /// Level, scale and slots, as an input of a recording has them.
    ///
    /// # Errors
    /// While a program is recorded.
    pub fn declared(&self) -> Outcome<(usize, f64, usize)> {
        self.facts().map(|facts| (facts.level, facts.scale, facts.slots))
    }

    /// The vectors in the memory of this process, copied from the device where they are there.
    ///
    /// # Errors
    /// Failures of the device, and for steps of a recording.
    pub fn on_host(&self, py: Python<'_>) -> PyResult<Arc<Vec<Ciphertext>>> {
        if let Store::Host(batch) = &self.store {
            return Ok(Arc::clone(batch));
        }
        let store = self.store.clone();
        wait(py, move || store.on_host())
    }

    /// Computes an operation, or records it where the operands are steps of a recording.
    fn perform(py: Python<'_>, operation: &Operation, operands: &[&Self]) -> PyResult<Self> {
        let tape = operands.iter().find_map(|operand| match &operand.store {
            Store::Traced(tape, _) => Some(tape),
            _ => None,
        });
        if let Some(tape) = tape {
            let node = |operand: &&Self| match &operand.store {
                Store::Traced(own, node) if Arc::ptr_eq(own, tape) => Ok(*node),
                _ => {
                    let why = "ciphertexts that are no inputs of the recording cannot take part: \
                               pass them to record(..) as inputs";
                    Err(Failure::mismatch(why))
                }
            };
            let nodes = operands.iter().map(node).collect::<Outcome<Vec<_>>>()?;
            let node = tape.push(operation.clone(), nodes)?;
            return Ok(Self::new(Vec::new(), Store::Traced(Arc::clone(tape), node)));
        }
        let own = operands.iter().find_map(|operand| match &operand.store {
            Store::Device(server, _) => Some(Arc::clone(server)),
            _ => None,
        });
        let server = match own {
            Some(server) => server,
            None => match context::innermost::<CkksServerKey>(py)? {
                Some(server) => Arc::clone(&server.get().0),
                None => {
                    let why = "operators compute on a server: write `with server:` around them, \
                               or bring an operand there by server.upload(..)";
                    return Err(Failure::new("NoServerError", why).into());
                }
            },
        };
        let leads: Vec<&[usize]> = operands.iter().map(|o| o.lead.as_slice()).collect();
        let lead = common_shape(&leads)?;
        let operands: Vec<(Store, Option<Vec<usize>>)> = operands
            .iter()
            .map(|o| (o.store.clone(), (o.lead != lead).then(|| broadcast(&o.lead, &lead))))
            .collect();
        let (operation, own) = (operation.clone(), Arc::clone(&server));
        let result = wait(py, move || {
            let operands = operands
                .iter()
                .map(|(store, vectors)| match vectors {
                    None => store.on_device(&own),
                    Some(vectors) => store.take(vectors)?.on_device(&own),
                })
                .collect::<Outcome<Vec<_>>>()?;
            let operands: Vec<&Ciphertexts> = operands.iter().collect();
            Outcome::Ok(operation.compute(&own.key, &operands)?)
        })?;
        Ok(Self::new(lead, Store::Device(server, result)))
    }

    /// The product with what is in the clear: a matrix on the left or on the right, a map on the
    /// left, or a vector on either side.
    fn product(&self, other: &Bound<'_, PyAny>, is_right: bool) -> PyResult<Self> {
        let py = other.py();
        if let (Ok(map), false) = (other.cast::<LinearMap>(), is_right) {
            return self.one(py, &Operation::LinearMap(Arc::clone(&map.get().0)));
        }
        if let Ok(matrix) = other.cast::<Matrix>() {
            let matrix = matrix.get().fitted(is_right)?;
            return self.one(py, &Operation::Matrix(matrix, false));
        }
        let Values { entries, shape } = arrays::numbers(other, "a matrix or a vector")?;
        match shape[..] {
            [rows, columns] => {
                let matrix = ckks::server::Matrix::new(rows, columns, &entries);
                let matrix = Arc::new(matrix.map_err(Failure::from)?);
                let matrix = if is_right { transposed(&matrix)? } else { matrix };
                self.one(py, &Operation::Matrix(matrix, true))
            }
            [_] => {
                let products = self.one(py, &Operation::MulPlain(Arc::new(entries)))?;
                let width = self.facts()?.slots;
                products.one(py, &Operation::InnerSum(width, 1))
            }
            _ => {
                let shape = display(&shape);
                let why = format!("shape {shape}: give a matrix or a vector");
                Err(Failure::mismatch(why).into())
            }
        }
    }

    fn one(&self, py: Python<'_>, operation: &Operation) -> PyResult<Self> {
        Self::perform(py, operation, &[self])
    }

    /// x + y or x y, y being encrypted, a vector, or a number.
    fn with(
        &self,
        other: &Bound<'_, PyAny>,
        encrypted: Operation,
        plain: fn(Arc<Vec<Complex64>>) -> Operation,
        constant: fn(Complex64) -> Operation,
    ) -> PyResult<Self> {
        let py = other.py();
        if let Ok(other) = other.cast::<Self>() {
            return Self::perform(py, &encrypted, &[self, other.get()]);
        }
        let operation = match Plain::of(other)? {
            Plain::Number(c) => constant(c),
            Plain::Vector(values) => plain(Arc::new(values)),
        };
        self.one(py, &operation)
    }
}

/// What is not encrypted.
enum Plain {
    Number(Complex64),
    Vector(Vec<Complex64>),
}

impl Plain {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Values { entries, shape } = arrays::numbers(value, "an operand")?;
        match shape[..] {
            [] | [1] => Ok(Self::Number(entries[0])),
            [_] => Ok(Self::Vector(entries)),
            _ => {
                let shape = display(&shape);
                let why = format!("an operand of shape {shape}: give a number or one vector");
                Err(Failure::mismatch(why).into())
            }
        }
    }
}

/// The largest degree of polynomials on this interval that `levels` levels allow.
fn most_degree(levels: usize, (lo, hi): (f64, f64)) -> usize {
    let line = usize::from((lo, hi) != (-1.0, 1.0));
    let bits = levels.saturating_sub(line).min(10);
    (1 << bits) - 1
}

#[pymethods]
impl CkksCiphertexts {
    /// (slots,) of one vector, (vectors, slots) of a batch, (.., slots) of a larger array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.full_shape()?)
    }

    /// Number of dimensions: 1 of one vector.
    #[getter]
    fn ndim(&self) -> usize {
        self.lead.len() + 1
    }

    /// Number of slots of all vectors.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        Ok(self.full_shape()?.iter().product())
    }

    /// Slots of a vector.
    #[getter]
    fn slots(&self) -> PyResult<usize> {
        Ok(self.facts()?.slots)
    }

    /// How many products one after another are left.
    #[getter]
    fn level(&self) -> PyResult<usize> {
        Ok(self.facts()?.level)
    }

    /// By how much slots are scaled.
    #[getter]
    fn scale(&self) -> PyResult<f64> {
        Ok(self.facts()?.scale)
    }

    /// Bits after the binary point that a decryption can be trusted for, by the noise model.
    #[getter]
    fn precision_bits(&self, py: Python<'_>) -> PyResult<f64> {
        let batch = self.on_host(py)?;
        Ok(batch.iter().fold(f64::INFINITY, |least, c| least.min(c.precision_bits())))
    }

    /// The largest error to expect of a decrypted value, by what the ciphertexts say of themselves.
    #[getter]
    fn largest_error(&self, py: Python<'_>) -> PyResult<f64> {
        let batch = self.on_host(py)?;
        Ok(batch.iter().fold(0.0, |most, c| most.max(c.largest_error())))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> CkksParameters {
        CkksParameters(self.set())
    }

    /// Name of the client key that they are under; None while a program is recorded.
    #[getter]
    fn key_id(&self) -> Option<String> {
        match &self.store {
            Store::Host(batch) => Some(batch[0].key_id().to_string()),
            Store::Device(_, batch) => Some(batch.key_id().to_string()),
            Store::Traced(..) => None,
        }
    }

    /// The device where they are; None in the memory of this process.
    #[getter]
    fn device(&self) -> Option<String> {
        match &self.store {
            Store::Device(server, _) => Some(server.device.clone()),
            _ => None,
        }
    }

    /// The same vectors in another shape, whose last length is the slots; one length may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let own = self.full_shape()?;
        let mut lead = reshaped(&own, shape)?;
        if lead.pop() != own.last().copied() {
            let (own, slots) = (display(&own), self.facts()?.slots);
            let why = format!(
                "vectors of shape {own} keep their slots: the last length of a shape is {slots}"
            );
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::new(lead, self.store.clone()))
    }

    /// The same vectors on the device of a server.
    fn to_device(&self, py: Python<'_>, server: The<'_, CkksServerKey>) -> PyResult<Self> {
        let (store, loaded) = (self.store.clone(), Arc::clone(&server.get().0));
        let own = Arc::clone(&loaded);
        let batch = wait(py, move || store.on_device(&own))?;
        Ok(Self::new(self.lead.clone(), Store::Device(loaded, batch)))
    }

    /// The same vectors in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(self.lead.clone(), Store::Host(self.on_host(py)?)))
    }

    /// The vectors as bytes that end with a checksum, and their shape.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (batch, lead) = (self.on_host(py)?, self.lead.clone());
        Ok(PyBytes::new(py, &wait(py, move || bytes::write(&lead, &batch))?))
    }

    /// Reads what to_bytes wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data: PyBackedBytes = arrays::bytes(data, "encrypted vectors")?.into();
        let (lead, batch) = wait(py, move || bytes::read(&data))?;
        Ok(Self::new(lead, Store::Host(Arc::new(batch))))
    }

    fn __len__(&self) -> PyResult<usize> {
        let none = || PyTypeError::new_err("one vector has no length: its slots are .slots");
        self.lead.first().copied().ok_or_else(none)
    }

    /// Vectors of a batch by NumPy's rules of indices, slots side by side: where they are.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        if self.lead.is_empty() {
            let why = "slots of an encrypted vector are not indexed: rotate and mask them";
            return Err(PyTypeError::new_err(why));
        }
        let (vectors, lead) = indexed(py, &self.lead, key)?;
        self.gathered(py, vectors, lead)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with(other, Operation::Add, Operation::AddPlain, Operation::AddConstant)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__add__(other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        fn vector(values: Arc<Vec<Complex64>>) -> Operation {
            Operation::AddPlain(Arc::new(values.iter().map(|v| -v).collect()))
        }
        self.with(other, Operation::Sub, vector, |c| Operation::AddConstant(-c))
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.one(other.py(), &Operation::Neg)?.__add__(other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.with(other, Operation::Mul, Operation::MulPlain, Operation::MulConstant)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__mul__(other)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        if other.is_instance_of::<Self>() {
            let why = "no division by what is encrypted: multiply by y.apply(lambda t: 1 / t, \
                       interval, error)";
            return Err(PyTypeError::new_err(why));
        }
        let inverse = |c: Complex64| Complex64::from(1.0) / c;
        let operation = match Plain::of(other)? {
            Plain::Number(c) => Operation::MulConstant(inverse(c)),
            Plain::Vector(v) => Operation::MulPlain(Arc::new(v.into_iter().map(inverse).collect())),
        };
        self.one(other.py(), &operation)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.one(py, &Operation::Neg)
    }

    /// x ** n for n from 1 to 1023, in as few levels as products allow.
    fn __pow__(
        &self,
        py: Python<'_>,
        exponent: u32,
        modulus: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if modulus.is_some() || !(1..1024).contains(&exponent) {
            let why = format!("x ** {exponent}: exponents are 1 to 1023, without a modulus");
            return Err(Failure::mismatch(why).into());
        }
        // From the top bit of the exponent on: as deep as it has bits, less where it has few ones.
        let mut power: Option<Self> = None;
        let mut square = Self::new(self.lead.clone(), self.store.clone());
        for bit in 0..=exponent.ilog2() {
            if bit > 0 {
                square = square.one(py, &Operation::Square)?;
            }
            if exponent >> bit & 1 == 1 {
                power = Some(match power {
                    None => Self::new(square.lead.clone(), square.store.clone()),
                    Some(power) => Self::perform(py, &Operation::Mul, &[&power, &square])?,
                });
            }
        }
        power.ok_or_else(|| Failure::mismatch("no power").into())
    }

    /// By an encrypted vector the product of two encrypted square matrices, each row after row in
    /// its slots. By a matrix in the clear the vector times the matrix, by a vector in the clear
    /// the sum of products, in every slot.
    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(other) = other.cast::<Self>() {
            return Self::perform(py, &Operation::MatrixMatrix, &[self, other.get()]);
        }
        self.product(other, true)
    }

    /// A matrix in the clear times the vector: a level. By a vector in the clear the sum of
    /// products, in every slot.
    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.product(other, false)
    }

    /// The square: cheaper than x * x.
    fn square(&self, py: Python<'_>) -> PyResult<Self> {
        self.one(py, &Operation::Square)
    }

    /// Slot j of the result is slot j + by.
    fn rotate(&self, py: Python<'_>, by: i64) -> PyResult<Self> {
        self.one(py, &Operation::Rotate(by))
    }

    /// The complex conjugate of every slot.
    fn conjugate(&self, py: Python<'_>) -> PyResult<Self> {
        self.one(py, &Operation::Conjugate)
    }

    /// Slot j of the result is the sum of `width` slots (all, unless given) from j on, `stride`
    /// apart; of all slots, every slot holds it.
    #[pyo3(signature = (width = None, stride = 1))]
    fn sum(&self, py: Python<'_>, width: Option<usize>, stride: i64) -> PyResult<Self> {
        let width = width.map_or_else(|| self.facts().map(|facts| facts.slots), Ok)?;
        self.one(py, &Operation::InnerSum(width, stride))
    }

    /// The mean of `width` slots from j on (all, unless given) as slot j: a level more than their
    /// sum.
    #[pyo3(signature = (width = None, stride = 1))]
    fn mean(&self, py: Python<'_>, width: Option<usize>, stride: i64) -> PyResult<Self> {
        let width = width.map_or_else(|| self.facts().map(|facts| facts.slots), Ok)?;
        let sum = self.one(py, &Operation::InnerSum(width, stride))?;
        sum.one(py, &Operation::MulConstant(Complex64::from(1.0 / width as f64)))
    }

    /// The reverse of sum: fills `width` slots from each one, `stride` apart.
    #[pyo3(signature = (width, stride = 1))]
    fn spread(&self, py: Python<'_>, width: usize, stride: i64) -> PyResult<Self> {
        self.one(py, &Operation::Spread(width, stride))
    }

    /// A linear map or a matrix: a level.
    fn transform(&self, py: Python<'_>, map: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(map) = map.cast::<LinearMap>() {
            return self.one(py, &Operation::LinearMap(Arc::clone(&map.get().0)));
        }
        match map.cast::<Matrix>() {
            Ok(matrix) => self.one(py, &Operation::Matrix(matrix.get().fitted(false)?, false)),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a map is a girih.ckks.LinearMap or girih.ckks.Matrix, not {}",
                map.get_type().name()?
            ))),
        }
    }

    /// A polynomial of every slot.
    fn polynomial(&self, py: Python<'_>, polynomial: &Bound<'_, Polynomial>) -> PyResult<Self> {
        self.one(py, &Operation::Polynomial(Arc::clone(&polynomial.get().0)))
    }

    /// A Python function of floats in every slot, on an interval (lo, hi) that holds all slots:
    /// fitted to within `error` by a polynomial of least degree.
    fn apply(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        interval: (f64, f64),
        error: f64,
    ) -> PyResult<Self> {
        let levels = match &self.store {
            // Not known before it is replayed; what fresh ciphertexts have is the most there is.
            Store::Traced(tape, _) => tape.set.default_level(),
            _ => self.facts()?.level,
        };
        let polynomial = fit(function, interval, error, most_degree(levels, interval))?;
        self.one(py, &Operation::Polynomial(Arc::new(polynomial)))
    }

    /// The sign of every slot of [-range, range].
    #[pyo3(signature = (sign, *, range = 1.0))]
    fn sign(&self, py: Python<'_>, sign: &Bound<'_, CompositeSign>, range: f64) -> PyResult<Self> {
        self.one(py, &Operation::Sign(range, Arc::clone(&sign.get().0)))
    }

    /// max(x, 0) of every slot of [-range, range].
    #[pyo3(signature = (sign, *, range = 1.0))]
    fn relu(&self, py: Python<'_>, sign: &Bound<'_, CompositeSign>, range: f64) -> PyResult<Self> {
        self.one(py, &Operation::Relu(range, Arc::clone(&sign.get().0)))
    }

    /// 1 where x > y and 0 where x < y, for |x - y| up to apart.
    #[pyo3(signature = (other, sign, *, apart = 1.0))]
    fn compare(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Self>,
        sign: &Bound<'_, CompositeSign>,
        apart: f64,
    ) -> PyResult<Self> {
        let operation = Operation::Compare(apart, Arc::clone(&sign.get().0));
        Self::perform(py, &operation, &[self, other.get()])
    }

    /// The larger of x and y in every slot, for |x - y| up to apart.
    #[pyo3(signature = (other, sign, *, apart = 1.0))]
    fn maximum(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Self>,
        sign: &Bound<'_, CompositeSign>,
        apart: f64,
    ) -> PyResult<Self> {
        let operation = Operation::Max(apart, Arc::clone(&sign.get().0));
        Self::perform(py, &operation, &[self, other.get()])
    }

    /// The smaller of x and y in every slot, for |x - y| up to apart.
    #[pyo3(signature = (other, sign, *, apart = 1.0))]
    fn minimum(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Self>,
        sign: &Bound<'_, CompositeSign>,
        apart: f64,
    ) -> PyResult<Self> {
        let operation = Operation::Min(apart, Arc::clone(&sign.get().0));
        Self::perform(py, &operation, &[self, other.get()])
    }

    /// Back up to parameters.default_level, for slots of magnitude at most 1; `real` where all are
    /// real. `independent_slots` promises slots of mean 0 that have nothing in common, whose errors
    /// are smaller; `phases` is a number from which public phases are drawn that make any slots so,
    /// for a level more; with `meta_bits` what the first bootstrapping gets wrong is bootstrapped
    /// again, so many bits larger, for a level less of the result.
    #[pyo3(signature = (
        *, real = false, message_ratio = None, independent_slots = false, phases = None,
        meta_bits = None
    ))]
    fn bootstrap(
        &self,
        py: Python<'_>,
        real: bool,
        message_ratio: Option<u32>,
        independent_slots: bool,
        phases: Option<u64>,
        meta_bits: Option<u32>,
    ) -> PyResult<Self> {
        let how = Bootstrapping {
            message_ratio,
            real,
            independent_slots,
            phases,
            ..Bootstrapping::default()
        };
        match meta_bits {
            None => self.one(py, &Operation::Bootstrap(how)),
            Some(bits) => self.one(py, &Operation::MetaBootstrap(bits, how)),
        }
    }

    /// The same vectors at a lower level.
    fn drop_to(&self, py: Python<'_>, level: usize) -> PyResult<Self> {
        self.one(py, &Operation::DropTo(level))
    }

    /// The same vectors at a lower level and its scale, by one rounding: what operations do by
    /// themselves with an operand of higher level.
    fn adjust(&self, py: Python<'_>, level: usize) -> PyResult<Self> {
        self.one(py, &Operation::Adjust(level))
    }

    /// The same ciphertexts as vectors of so many slots: more repeat the vector, fewer are the
    /// promise that it repeats.
    fn with_slots(&self, py: Python<'_>, slots: usize) -> PyResult<Self> {
        self.one(py, &Operation::WithSlots(slots))
    }

    /// The same ciphertexts with the promise that no slot is larger than `magnitude`. Bounds of
    /// errors, and whether slots fit, are computed from what operands may reach; whoever knows
    /// better says so.
    fn with_magnitude(&self, py: Python<'_>, magnitude: f64) -> PyResult<Self> {
        self.one(py, &Operation::WithMagnitude(magnitude))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("what is encrypted has no truth value: decrypt it"))
    }

    fn __richcmp__(&self, _other: &Bound<'_, PyAny>, _how: CompareOp) -> PyResult<bool> {
        let why = "what is encrypted is not compared in the clear: x.compare(y, sign) compares it";
        Err(PyTypeError::new_err(why))
    }

    fn __repr__(&self) -> String {
        let set = self.set();
        let place = match &self.store {
            Store::Host(_) => String::new(),
            Store::Device(server, _) => format!(" on {}", server.device),
            Store::Traced(..) => " to be recorded".into(),
        };
        let what = match self.facts() {
            Ok(Facts { slots, level, .. }) => {
                let shape: Vec<usize> = self.lead.iter().copied().chain([slots]).collect();
                format!("{} at level {level}", display(&shape))
            }
            Err(_) => "a step".into(),
        };
        format!("<girih.ckks.Ciphertexts {what} of {}{place}>", set.name())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("CkksCiphertexts", data))
    }

    /// Functions of NumPy: those that have a meaning here.
    fn __array_function__<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyAny>,
        keywords: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrays::function(function, arguments, keywords)
    }

    #[pyo3(signature = (*_arguments, **_keywords))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyAny>,
        _keywords: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Err(arrays::no_array("an encrypted vector"))
    }

    /// NumPy's operators leave those of arrays and ciphertexts to the ciphertexts.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
}

/// Batches one after the other along their first axis.
#[pyfunction]
#[pyo3(name = "_join_vectors")]
pub fn join_vectors(
    py: Python<'_>,
    arrays: Vec<The<'_, CkksCiphertexts>>,
) -> PyResult<CkksCiphertexts> {
    let mut lead = match arrays.first() {
        Some(first) if !first.get().lead.is_empty() => first.get().lead.clone(),
        _ => return Err(Failure::mismatch("batches of vectors are joined, at least one").into()),
    };
    lead[0] = 0;
    let mut parts = Vec::new();
    for array in &arrays {
        let own = &array.get().lead;
        if own.get(1..) != lead.get(1..) {
            let (one, two) = (display(own), display(&lead));
            let why = format!("batches of shapes {one} and {two}, slots aside, do not go together");
            return Err(Failure::mismatch(why).into());
        }
        lead[0] += own[0];
        parts.push(array.get().on_host(py)?);
    }
    let joined: Vec<Ciphertext> = parts.iter().flat_map(|part| part.iter().cloned()).collect();
    bytes::check_alike(&joined)?;
    Ok(CkksCiphertexts::new(lead, Store::Host(Arc::new(joined))))
}
