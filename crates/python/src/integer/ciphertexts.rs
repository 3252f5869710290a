//! Arrays of encrypted integers.

use super::kind::Kind;
use super::methods::integer_methods;
use super::number::{Held, Host, from_bytes};
use super::operation::{Binary, Count, Move, Unary};
use super::server::{IntegerServerKey, Loaded};
use crate::call::wait;
use crate::classes::The;
use crate::errors::Failure;
use crate::tfhe::gather::{display, indexed, reshaped};
use crate::tfhe::sets::ParameterSet;
use crate::{arrays, wire};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;

/// Where integers are.
#[derive(Clone)]
enum Store {
    /// In the memory of this process.
    Host(Arc<dyn Host>),
    /// On a device, beside its keys.
    Device(Arc<Loaded>, Held),
}

/// An array of encrypted integers or conditions, of any shape. Operators compute on the server of
/// the innermost `with server:`, or on the one that made an operand; shapes broadcast, numbers wrap
/// around; results stay on its device until they are decrypted, pickled or copied by to_host.
#[pyclass(frozen, module = "girih.integer", name = "Ciphertexts")]
pub struct IntegerCiphertexts {
    /// The shape.
    pub shape: Vec<usize>,
    store: Store,
}

impl IntegerCiphertexts {
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

    /// The array in the memory of this process, copied from the device where it is there.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn host(&self, py: Python<'_>) -> PyResult<Arc<dyn Host>> {
        match &self.store {
            Store::Host(host) => Ok(Arc::clone(host)),
            Store::Device(loaded, held) => loaded.run(py, || held.download(&loaded.integers)),
        }
    }

    /// The array on a device.
    ///
    /// # Errors
    /// Those of the upload, and for an array of another server.
    pub fn on_device(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Self> {
        let held = self.held(py, loaded)?;
        Ok(Self { shape: self.shape.clone(), store: Store::Device(Arc::clone(loaded), held) })
    }

    /// The array beside the keys of a server.
    ///
    /// # Errors
    /// As [`IntegerCiphertexts::on_device`].
    pub fn held(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Held> {
        match &self.store {
            Store::Device(own, held) if Arc::ptr_eq(own, loaded) => Ok(Arc::clone(held)),
            Store::Device(own, _) => {
                let why = format!("these integers are with another server, on {}", own.device);
                Err(Failure::mismatch(why).into())
            }
            Store::Host(host) => {
                let (host, loaded) = (Arc::clone(host), Arc::clone(loaded));
                wait(py, move || host.upload(&loaded.integers))
            }
        }
    }

    /// An array on a device.
    pub(super) fn placed(shape: Vec<usize>, loaded: &Arc<Loaded>, held: Held) -> Self {
        Self { shape, store: Store::Device(Arc::clone(loaded), held) }
    }

    /// The same array.
    pub(super) fn alias(&self) -> Self {
        Self { shape: self.shape.clone(), store: self.store.clone() }
    }

    /// The server beside whose keys the array lies.
    pub(super) fn own_server(&self) -> Option<&Arc<Loaded>> {
        match &self.store {
            Store::Device(loaded, _) => Some(loaded),
            Store::Host(_) => None,
        }
    }

    /// Elements of the array in another shape, where it is.
    fn gathered(&self, py: Python<'_>, elements: Vec<usize>, shape: Vec<usize>) -> PyResult<Self> {
        match &self.store {
            Store::Host(host) => {
                let host = Arc::clone(host);
                Ok(Self::on_the_host(shape, wait(py, move || host.take(&elements))?))
            }
            Store::Device(loaded, held) => {
                let part = loaded.run(py, || held.take(&loaded.integers, &elements))?;
                Ok(Self::placed(shape, loaded, part))
            }
        }
    }
}

integer_methods! { IntegerCiphertexts {
    /// The shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// What elements are: bool, uint4 to uint256, int4 to int256.
    #[getter]
    fn dtype(&self) -> String {
        self.kind().to_string()
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(match &self.store {
            Store::Host(host) => host.ciphertexts().set().clone(),
            Store::Device(loaded, _) => loaded.integers.server().set().clone(),
        })
    }

    /// Name of the client key that they are under; None for constants.
    #[getter]
    fn key_id(&self) -> Option<String> {
        match &self.store {
            Store::Host(host) => host.ciphertexts().key_id().map(|id| id.to_string()),
            Store::Device(loaded, _) => Some(loaded.integers.key_id().to_string()),
        }
    }

    /// The device where they are; None in the memory of this process.
    #[getter]
    fn device(&self) -> Option<String> {
        match &self.store {
            Store::Host(_) => None,
            Store::Device(loaded, _) => Some(loaded.device.clone()),
        }
    }

    /// The same integers on the device of a server.
    fn to_device(&self, py: Python<'_>, server: The<'_, IntegerServerKey>) -> PyResult<Self> {
        self.on_device(py, &server.get().0)
    }

    /// The same integers in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::on_the_host(self.shape.clone(), self.host(py)?))
    }

    /// The array as bytes that end with a checksum. The shape is not in them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let host = self.host(py)?;
        Ok(PyBytes::new(py, &wait(py, move || host.to_bytes())?))
    }

    /// Reads what to_bytes wrote; the shape is (elements,) unless given.
    #[staticmethod]
    #[pyo3(signature = (data, shape = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let data: PyBackedBytes = arrays::bytes(data, "encrypted integers")?.into();
        let (host, count) = wait(py, move || from_bytes(&data))?;
        let shape = shape.unwrap_or_else(|| vec![count]);
        let size = shape.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
        if size != Some(count) {
            let why = format!("{count} integers have no shape {}", display(&shape));
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::on_the_host(shape, host))
    }

    fn __len__(&self) -> PyResult<usize> {
        let none = || PyTypeError::new_err("a single integer has no length");
        self.shape.first().copied().ok_or_else(none)
    }

    /// Elements by NumPy's rules of indices: copies, where the array is.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (elements, shape) = indexed(py, &self.shape, key)?;
        self.gathered(py, elements, shape)
    }

    /// The same integers in another shape; one length may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        Ok(Self { shape: reshaped(&self.shape, shape)?, store: self.store.clone() })
    }

    /// Sums along an axis, or of all elements. They never wrap around: their dtype is the
    /// narrowest that holds all of them, unless `dtype` names another. Of conditions: how many
    /// hold.
    #[pyo3(signature = (axis = None, dtype = None))]
    fn sum(
        &self,
        py: Python<'_>,
        axis: Option<i64>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.total(py, axis, dtype.map(Kind::of).transpose()?)
    }

    /// Of natural numbers; by 0 all ones.
    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("//")?;
        Ok(self.both(py, Binary::Divide, other)?.0)
    }

    fn __rfloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("//")?;
        Ok(self.known(py, other)?.both(py, Binary::Divide, &self.object(py)?)?.0)
    }

    /// Of natural numbers; by 0 the dividend.
    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("%")?;
        Ok(self.both(py, Binary::Divide, other)?.1)
    }

    fn __rmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("%")?;
        Ok(self.known(py, other)?.both(py, Binary::Divide, &self.object(py)?)?.1)
    }

    /// Quotient and remainder of natural numbers, for about the price of one.
    fn __divmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.only_natural("divmod")?;
        self.both(py, Binary::Divide, other)
    }

    fn __rdivmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.only_natural("divmod")?;
        self.known(py, other)?.both(py, Binary::Divide, &self.object(py)?)
    }

    /// By a number of bits, or by an encrypted or known one for each element. As of NumPy nothing
    /// is left of a number that is moved by its width or more.
    fn __lshift__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftLeft, by)
    }

    /// The same to the right: the sign comes in where there is one.
    fn __rshift__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftRight, by)
    }

    /// A known number moved by encrypted ones: it becomes of their dtype.
    fn __rlshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.known(py, other)?.moved(py, Move::ShiftLeft, &self.object(py)?)
    }

    fn __rrshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.known(py, other)?.moved(py, Move::ShiftRight, &self.object(py)?)
    }

    /// Rotates bits to the left, by their number modulo the width.
    fn rotate_left(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateLeft, by)
    }

    /// Rotates bits to the right, by their number modulo the width.
    fn rotate_right(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateRight, by)
    }

    /// Propagates the carries that still wait.
    fn propagate(&self, py: Python<'_>) -> PyResult<Self> {
        self.unary(py, Unary::Propagate)
    }

    /// Whether an element is one of these known numbers.
    fn is_in(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.among(py, values)
    }

    /// What a table of known numbers has for an element, 0 where it has nothing, and whether it has
    /// something. Results have this dtype, unless `dtype` names another of this sign.
    #[pyo3(signature = (table, dtype = None))]
    fn match_value(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyDict>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Self)> {
        self.looked_up(py, table, dtype.map(Kind::of).transpose()?)
    }

    /// Elements of `on` where these conditions hold, else of `off`, one of which is encrypted.
    fn select(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        off: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        self.selected(py, on, off)
    }

    /// The same numbers as another dtype, modulo its range; conditions become 0 and 1.
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.cast(py, Kind::of(dtype)?)
    }

    fn __bool__(&self) -> PyResult<bool> {
        let why = "what is encrypted has no truth value: decrypt it, or condition.select(on, off)";
        Err(PyTypeError::new_err(why))
    }

    fn __repr__(&self) -> String {
        let (shape, kind) = (display(&self.shape), self.kind());
        let place = self.device().map_or(String::new(), |device| format!(" on {device}"));
        format!("<girih.integer.Ciphertexts {shape}: {kind}{place}>")
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("IntegerCiphertexts", data, self.shape.clone()))
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
        Err(arrays::no_array("an array of encrypted integers"))
    }

    /// NumPy's operators leave those of arrays and ciphertexts to the ciphertexts.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
} }
