//! Encrypted vectors.

use super::approximation::{CompositeSign, Polynomial, fit};
use super::matrix::{LinearMap, Matrix, matrix_of};
use super::operation::Operation;
use super::server::{CkksServerKey, Loaded, Tape};
use super::sets::CkksParameters;
use crate::arrays::{self, Values};
use crate::call::compute;
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather::display;
use crate::{context, wire};
use girih::ckks::server::{Bootstrapping, Ciphertexts};
use girih::ckks::{self, Ciphertext, Complex64};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};
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
    /// Whether it is one vector, of shape (slots,), and no batch of shape (vectors, slots).
    pub single: bool,
    /// The vectors.
    pub store: Store,
}

/// Slots, level and scale.
struct Facts {
    slots: usize,
    level: usize,
    scale: f64,
}

impl CkksCiphertexts {
    /// One vector, or a batch.
    pub fn new(single: bool, store: Store) -> Self {
        Self { single, store }
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

    fn count(&self) -> usize {
        match &self.store {
            Store::Host(batch) => batch.len(),
            Store::Device(_, batch) => batch.len(),
            Store::Traced(..) => 1,
        }
    }

    /// The vectors in the memory of this process, copied from the device where they are there.
    ///
    /// # Errors
    /// Failures of the device, and for steps of a recording.
    pub fn on_host(&self, py: Python<'_>) -> PyResult<Arc<Vec<Ciphertext>>> {
        match &self.store {
            Store::Host(batch) => Ok(Arc::clone(batch)),
            Store::Device(server, batch) => {
                compute(py, || server.key.download(batch)).map(Arc::new)
            }
            Store::Traced(..) => {
                let why = "while a program is recorded there are no ciphertexts yet";
                Err(Failure::mismatch(why).into())
            }
        }
    }

    /// The vectors on the device of `server`.
    ///
    /// # Errors
    /// Those of uploading.
    pub fn on_device(&self, server: &Loaded) -> Outcome<Ciphertexts> {
        match &self.store {
            Store::Host(batch) => Ok(server.key.upload(batch)?),
            Store::Device(_, batch) => Ok(batch.clone()),
            Store::Traced(..) => {
                let why = "a step of a recording is used where ciphertexts are needed";
                Err(Failure::mismatch(why))
            }
        }
    }

    /// Computes an operation, or records it where the operands are steps of a recording.
    fn perform(py: Python<'_>, operation: &Operation, operands: &[&Self]) -> PyResult<Self> {
        let single = operands.iter().all(|operand| operand.single);
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
            return Ok(Self::new(single, Store::Traced(Arc::clone(tape), node)));
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
        let result = compute(py, || {
            let operands =
                operands.iter().map(|o| o.on_device(&server)).collect::<Outcome<Vec<_>>>()?;
            let operands: Vec<&Ciphertexts> = operands.iter().collect();
            Outcome::Ok(operation.compute(&server.key, &operands)?)
        })?;
        Ok(Self::new(single, Store::Device(server, result)))
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
            [] => Ok(Self::Number(entries[0])),
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
    /// (slots,) of one vector, (vectors, slots) of a batch.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let slots = self.facts()?.slots;
        if self.single {
            return Ok((slots,).into_pyobject(py)?.into_any());
        }
        Ok((self.count(), slots).into_pyobject(py)?.into_any())
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

    /// The same vectors in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(self.single, Store::Host(self.on_host(py)?)))
    }

    /// Each vector as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        wire::write_all(py, &self.on_host(py)?)
    }

    /// Reads what to_bytes wrote; `single` makes one vector of a list of one.
    #[staticmethod]
    #[pyo3(signature = (data, *, single = false))]
    fn from_bytes(py: Python<'_>, data: Vec<Bound<'_, PyAny>>, single: bool) -> PyResult<Self> {
        if data.is_empty() || (single && data.len() != 1) {
            let why = format!("{} ciphertexts: give at least one, one for a vector", data.len());
            return Err(Failure::mismatch(why).into());
        }
        let batch: Vec<Ciphertext> = wire::read_all(py, &data)?;
        let alike = |c: &&Ciphertext| {
            let first = (batch[0].set(), batch[0].key_id(), batch[0].level(), batch[0].slots());
            (c.set(), c.key_id(), c.level(), c.slots()) != first
        };
        if let Some(other) = batch.iter().find(alike) {
            let why = format!("{:?} and {other:?} make no batch: they differ", batch[0]);
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::new(single, Store::Host(Arc::new(batch))))
    }

    fn __len__(&self) -> PyResult<usize> {
        if self.single {
            return Err(PyTypeError::new_err("one vector has no length: its slots are .slots"));
        }
        Ok(self.count())
    }

    /// One vector of a batch, or several side by side.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        if self.single {
            let why = "slots of an encrypted vector are not indexed: rotate and mask them";
            return Err(PyTypeError::new_err(why));
        }
        let count = self.count();
        let (range, single) = match key.cast::<PySlice>() {
            Ok(slice) => {
                let at = slice.indices(count as isize)?;
                if at.step != 1 {
                    return Err(Failure::mismatch("vectors are taken in steps of 1").into());
                }
                (at.start as usize..at.stop.max(at.start) as usize, false)
            }
            Err(_) => {
                let index: i64 = key.extract()?;
                let from_start = if index < 0 { index + count as i64 } else { index };
                let Some(index) = usize::try_from(from_start).ok().filter(|i| *i < count) else {
                    let why = format!("index {index} of a batch of {count} vectors");
                    return Err(PyIndexError::new_err(why));
                };
                (index..index + 1, true)
            }
        };
        if range.is_empty() {
            return Err(Failure::mismatch("no vector is left: a batch has at least one").into());
        }
        let store = match &self.store {
            Store::Host(batch) => Store::Host(Arc::new(batch[range].to_vec())),
            Store::Device(server, batch) => {
                Store::Device(Arc::clone(server), compute(py, || batch.select(range))?)
            }
            Store::Traced(..) => {
                return Err(Failure::mismatch("a recording computes on single vectors").into());
            }
        };
        Ok(Self::new(single, store))
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
        let mut square = Self::new(self.single, self.store.clone());
        for bit in 0..=exponent.ilog2() {
            if bit > 0 {
                square = square.one(py, &Operation::Square)?;
            }
            if exponent >> bit & 1 == 1 {
                power = Some(match power {
                    None => Self::new(square.single, square.store.clone()),
                    Some(power) => Self::perform(py, &Operation::Mul, &[&power, &square])?,
                });
            }
        }
        power.ok_or_else(|| Failure::mismatch("no power").into())
    }

    /// The product of two encrypted square matrices, each row after row in its slots.
    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Self> {
        Self::perform(py, &Operation::MatrixMatrix, &[self, other.get()])
    }

    /// A matrix in the clear times the vector: a level.
    fn __rmatmul__(&self, matrix: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.one(matrix.py(), &Operation::Matrix(matrix_of(matrix)?))
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
            Ok(matrix) => self.one(py, &Operation::Matrix(Arc::clone(&matrix.get().0))),
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
            Ok(Facts { slots, level, .. }) if self.single => format!("({slots},) at level {level}"),
            Ok(Facts { slots, level, .. }) => {
                format!("({}, {slots}) at level {level}", self.count())
            }
            Err(_) => "a step".into(),
        };
        format!("<girih.ckks.Ciphertexts {what} of {}{place}>", set.name())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let buffers = wire::buffers(py, self.to_bytes(py)?, protocol)?;
        let read = py.import("girih._girih")?.getattr("_unpickle_ckks")?;
        Ok((read, (buffers, self.single)).into_pyobject(py)?.into_any())
    }

    /// NumPy's operators leave those of arrays and ciphertexts to the ciphertexts.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
}

/// What pickles of encrypted vectors call.
#[pyfunction]
#[pyo3(name = "_unpickle_ckks")]
pub fn unpickle_ckks(
    py: Python<'_>,
    data: Vec<Bound<'_, PyAny>>,
    single: bool,
) -> PyResult<CkksCiphertexts> {
    CkksCiphertexts::from_bytes(py, data, single)
}
