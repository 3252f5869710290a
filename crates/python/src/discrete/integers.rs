//! Arrays of encrypted integers in slots.

use super::held::{Held, Host, Operand, from_bytes, select};
use super::server::{Loaded, serving};
use super::sets::DiscreteParameters;
use crate::call::wait;
use crate::classes::The;
use crate::errors::Failure;
use crate::integer::kind::{Kind, Plain};
use crate::integer::methods::integer_methods;
use crate::integer::operation::{Binary, Count, Move, Unary};
use crate::tfhe::gather::display;
use crate::{arrays, wire};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// Where integers are.
#[derive(Clone)]
enum Store {
    /// In the memory of this process.
    Host(Arc<dyn Host>),
    /// On a device, beside its keys.
    Device(Arc<Loaded>, Held),
}

/// An array of encrypted integers or conditions in slots, of any shape: a ciphertext holds two bits
/// of thousands of them. Operators compute on all elements at once, on the server where an operand
/// is or on that of the innermost `with server:`; numbers wrap around. The other operand is an
/// array of the same shape and dtype, or one known number.
#[pyclass(frozen, module = "girih.discrete", name = "Integers")]
pub struct DiscreteIntegers {
    /// The shape.
    pub shape: Vec<usize>,
    store: Store,
}

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

impl DiscreteIntegers {
    /// An array in the memory of this process, of as many elements as the shape has.
    pub fn on_the_host(shape: Vec<usize>, host: Arc<dyn Host>) -> Self {
        Self { shape, store: Store::Host(host) }
    }

    /// What elements are.
    pub fn kind(&self) -> Kind {
        match &self.store {
            Store::Host(host) => host.kind(),
            Store::Device(_, held) => held.kind(),
        }
    }

    fn own_server(&self) -> Option<&Arc<Loaded>> {
        match &self.store {
            Store::Device(loaded, _) => Some(loaded),
            Store::Host(_) => None,
        }
    }

    /// The array in the memory of this process, copied from the device where it is there.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn host(&self, py: Python<'_>) -> PyResult<Arc<dyn Host>> {
        match &self.store {
            Store::Host(host) => Ok(Arc::clone(host)),
            Store::Device(loaded, held) => loaded.run(py, || held.download(loaded.integers()?)),
        }
    }

    /// The array on a device.
    ///
    /// # Errors
    /// Those of the upload, and for an array of another server.
    pub fn on_device(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Self> {
        let held = self.held(py, loaded)?;
        Ok(self.placed(loaded, held))
    }

    fn held(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Held> {
        match &self.store {
            Store::Device(own, held) if Arc::ptr_eq(own, loaded) => Ok(Arc::clone(held)),
            Store::Device(own, _) => {
                let why = format!("these integers are with another server, on {}", own.device);
                Err(Failure::mismatch(why).into())
            }
            Store::Host(host) => {
                let (host, loaded) = (Arc::clone(host), Arc::clone(loaded));
                wait(py, move || host.upload(loaded.integers()?))
            }
        }
    }

    fn placed(&self, loaded: &Arc<Loaded>, held: Held) -> Self {
        Self { shape: self.shape.clone(), store: Store::Device(Arc::clone(loaded), held) }
    }

    fn same_shape(&self, other: &Self) -> PyResult<()> {
        if self.shape == other.shape {
            return Ok(());
        }
        Err(Failure::mismatch(format!(
            "shapes {} and {}: integers in slots stay where they are, so shapes must be equal",
            display(&self.shape),
            display(&other.shape)
        ))
        .into())
    }

    /// The operand that a value of Python is, for numbers of this kind.
    fn other(
        &self,
        py: Python<'_>,
        loaded: &Arc<Loaded>,
        value: &Bound<'_, PyAny>,
        kind: Kind,
    ) -> PyResult<Other> {
        let Ok(array) = value.cast::<Self>() else {
            if value.hasattr("shape")? && value.getattr("shape")?.len()? > 0 {
                return Err(PyTypeError::new_err(
                    "an array in the clear: integers in slots take one known number for all \
                     elements, or an encrypted array",
                ));
            }
            return Ok(Other::Plain(kind.plain(value)?));
        };
        self.same_shape(array.get())?;
        Ok(Other::Array(array.get().held(py, loaded)?))
    }

    /// The server of this array and another operand.
    fn server(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Arc<Loaded>> {
        let other = other.cast::<Self>().ok().map(|other| other.get());
        serving(py, self.own_server().into_iter().chain(other.and_then(Self::own_server)))
    }

    fn unary(&self, py: Python<'_>, operation: Unary) -> PyResult<Self> {
        let loaded = serving(py, self.own_server())?;
        let held = self.held(py, &loaded)?;
        let result = loaded.run(py, || held.unary(operation))?;
        Ok(self.placed(&loaded, result))
    }

    fn results(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Self>> {
        let loaded = self.server(py, other)?;
        let held = self.held(py, &loaded)?;
        let other = self.other(py, &loaded, other, self.kind())?;
        let results = loaded.run(py, || held.binary(operation, other.operand()))?;
        Ok(results.into_iter().map(|result| self.placed(&loaded, result)).collect())
    }

    fn compared(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        self.binary(py, operation, other)
    }

    fn moved(&self, py: Python<'_>, how: Move, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(amounts) = by.cast::<Self>() {
            self.same_shape(amounts.get())?;
            let loaded = self.server(py, by)?;
            let held = self.held(py, &loaded)?;
            let amounts = amounts.get().held(py, &loaded)?;
            let result = loaded.run(py, || held.move_by(how, amounts.as_ref()))?;
            return Ok(self.placed(&loaded, result));
        }
        let width = self.kind().bits();
        let by: u32 = by.extract().map_err(|_| {
            PyTypeError::new_err("bits are moved by a whole number from 0 on, or by encrypted ones")
        })?;
        match how {
            Move::RotateLeft | Move::RotateRight => self.unary(py, Unary::Move(how, by % width)),
            _ if by < width => self.unary(py, Unary::Move(how, by)),
            _ => Err(Failure::mismatch(format!(
                "a shift by {by} of {} bits: it must be below",
                self.kind().bits()
            ))
            .into()),
        }
    }
}

integer_methods! { DiscreteIntegers {
    /// The shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// What elements are: "bool", "uint16" and so on.
    #[getter]
    fn dtype(&self) -> String {
        self.kind().to_string()
    }

    /// Where the array is: a device's name, or "host".
    #[getter]
    fn device(&self) -> String {
        self.own_server().map_or_else(|| "host".into(), |loaded| loaded.device.clone())
    }

    /// A copy in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::on_the_host(self.shape.clone(), self.host(py)?))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(match &self.store {
            Store::Host(host) => host.numbers().set().clone(),
            Store::Device(loaded, _) => loaded.key().set().clone(),
        })
    }

    /// Name of the client key.
    #[getter]
    fn key_id(&self) -> String {
        match &self.store {
            Store::Host(host) => host.numbers().key_id().to_string(),
            Store::Device(loaded, _) => loaded.key().key_id().to_string(),
        }
    }

    /// As another dtype, modulo its range, as NumPy's astype; conditions become 0 and 1.
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = Kind::of(dtype)?;
        let loaded = serving(py, self.own_server())?;
        let held = self.held(py, &loaded)?;
        let result = loaded.run(py, || held.cast(kind))?;
        Ok(self.placed(&loaded, result))
    }

    /// Of an array of conditions: `on` where they hold, else `off`. At least one of both is
    /// encrypted, or `dtype` says what they are.
    #[pyo3(signature = (on, off, dtype = None))]
    fn select(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        off: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let of = |value: &Bound<'_, PyAny>| value.cast::<Self>().ok().map(|x| x.get().kind());
        let kind = match dtype {
            Some(dtype) => Some(Kind::of(dtype)?),
            None => of(on).or(of(off)),
        };
        let Some(kind) = kind else {
            return Err(PyTypeError::new_err(
                "a choice of two known numbers: dtype= says what they are",
            ));
        };
        let loaded = self.server(py, if of(on).is_some() { on } else { off })?;
        let held = self.held(py, &loaded)?;
        let on = self.other(py, &loaded, on, kind)?;
        let off = self.other(py, &loaded, off, kind)?;
        let result = loaded.run(py, || select(held.as_ref(), kind, on.operand(), off.operand()))?;
        Ok(self.placed(&loaded, result))
    }

    /// The sum of this array and others of its shape and dtype: much less work than one by one.
    #[pyo3(signature = (*others))]
    fn total(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let mut own: Vec<Arc<Loaded>> = self.own_server().into_iter().cloned().collect();
        let mut all = Vec::new();
        for other in others.iter() {
            let other: The<'_, Self> = other.extract()?;
            self.same_shape(other.get())?;
            own.extend(other.get().own_server().cloned());
            all.push(other);
        }
        let loaded = serving(py, &own)?;
        let held = self.held(py, &loaded)?;
        let others =
            all.iter().map(|x| x.get().held(py, &loaded)).collect::<PyResult<Vec<Held>>>()?;
        let result = loaded.run(py, || held.total(&others))?;
        Ok(self.placed(&loaded, result))
    }

    /// Rotates bits to the left, by a known number or encrypted ones.
    fn rotate_left(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateLeft, bits)
    }

    /// Rotates bits to the right, by a known number or encrypted ones.
    fn rotate_right(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateRight, bits)
    }

    fn __lshift__(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftLeft, bits)
    }

    fn __rshift__(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftRight, bits)
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "an encrypted array is neither true nor false: select chooses by conditions",
        ))
    }

    #[pyo3(signature = (*_arguments, **_keywords))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<()> {
        Err(arrays::no_array("an encrypted array"))
    }

    /// NumPy leaves operators to this class.
    #[classattr]
    fn __array_ufunc__() -> Option<()> {
        None
    }

    fn __len__(&self) -> PyResult<usize> {
        let len = self.shape.first().copied();
        len.ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    /// The array as bytes that end with a checksum; of one axis.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let host = self.host(py)?;
        let bytes = wait(py, move || host.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads what to_bytes wrote, in the shape that is given, else with one axis.
    #[staticmethod]
    #[pyo3(signature = (data, shape = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let data: PyBackedBytes = arrays::bytes(data, "integers")?.into();
        let (host, len) = wait(py, move || from_bytes(&data))?;
        let shape = shape.unwrap_or_else(|| vec![len]);
        let size = shape.iter().try_fold(1usize, |size, &axis| size.checked_mul(axis));
        if size != Some(len) {
            let why = format!("{len} integers do not have the shape {}", display(&shape));
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::on_the_host(shape, host))
    }

    fn __repr__(&self) -> String {
        let place = match &self.store {
            Store::Host(_) => String::new(),
            Store::Device(loaded, _) => format!(" on {}", loaded.device),
        };
        format!(
            "<girih.discrete.Integers {} of shape {}{place}>",
            self.kind(),
            display(&self.shape)
        )
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("DiscreteIntegers", data, self.shape.clone()))
    }
} }
