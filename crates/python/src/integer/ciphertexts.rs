//! Arrays of encrypted integers.

use super::kind::{Kind, Plain, plains};
use super::number::{Binary, Held, Host, Move, Operand, Unary, constants, from_bytes, select};
use super::server::{IntegerServerKey, Loaded};
use crate::call::compute;
use crate::errors::Failure;
use crate::tfhe::gather::display;
use crate::tfhe::sets::ParameterSet;
use crate::{arrays, context, wire};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
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

/// An array of encrypted integers or conditions, of any shape. Operators compute on the server of
/// the innermost `with server:`, or on the one that made an operand, by Rust's wrapping rules;
/// results stay on its device until they are decrypted, pickled or copied by to_host.
#[pyclass(frozen, module = "girih.integer", name = "Ciphertexts")]
pub struct IntegerCiphertexts {
    /// The shape.
    pub shape: Vec<usize>,
    store: Store,
}

/// The other operand of an operation, kept for its time.
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

impl IntegerCiphertexts {
    /// An array in the memory of this process, of as many elements as the shape has.
    pub fn on_the_host(shape: Vec<usize>, host: Arc<dyn Host>) -> Self {
        Self { shape, store: Store::Host(host) }
    }

    fn kind(&self) -> Kind {
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
            Store::Device(loaded, held) => compute(py, || held.download(&loaded.integers)),
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

    fn held(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Held> {
        match &self.store {
            Store::Device(own, held) if Arc::ptr_eq(own, loaded) => Ok(Arc::clone(held)),
            Store::Device(own, _) => {
                let why = format!("these integers are with another server, on {}", own.device);
                Err(Failure::mismatch(why).into())
            }
            Store::Host(host) => compute(py, || host.upload(&loaded.integers)),
        }
    }

    /// The server that an operator of these operands uses.
    fn server(py: Python<'_>, operands: &[&Self]) -> PyResult<Arc<Loaded>> {
        for operand in operands {
            if let Store::Device(loaded, _) = &operand.store {
                return Ok(Arc::clone(loaded));
            }
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

    /// The operand that a value of Python is: an array, or one number for all elements.
    fn other(
        py: Python<'_>,
        loaded: &Arc<Loaded>,
        value: &Bound<'_, PyAny>,
        kind: Kind,
        shape: &[usize],
    ) -> PyResult<Other> {
        let check = |found: &[usize]| {
            if found == shape {
                return Ok(());
            }
            let (own, other) = (display(shape), display(found));
            let why = format!("shapes {own} and {other} do not go together: they must be equal");
            Err(Failure::mismatch(why))
        };
        if let Ok(array) = value.cast::<Self>() {
            check(&array.get().shape)?;
            return Ok(Other::Array(array.get().held(py, loaded)?));
        }
        let (values, found, _) = plains(value, Some(kind))?;
        if let ([], [one]) = (found.as_slice(), values.as_slice()) {
            return Ok(Other::Plain(*one));
        }
        check(&found)?;
        Ok(Other::Array(compute(py, || constants(kind, &loaded.integers, &values))?))
    }

    fn made(&self, loaded: &Arc<Loaded>, held: Held) -> Self {
        Self { shape: self.shape.clone(), store: Store::Device(Arc::clone(loaded), held) }
    }

    fn unary(&self, py: Python<'_>, operation: Unary) -> PyResult<Self> {
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        Ok(self.made(&loaded, compute(py, || held.unary(operation))?))
    }

    /// All results of an operation.
    fn results(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Self>> {
        let array = other.cast::<Self>().ok();
        let loaded = match &array {
            Some(array) => Self::server(py, &[self, array.get()])?,
            None => Self::server(py, &[self])?,
        };
        let held = self.held(py, &loaded)?;
        let other = Self::other(py, &loaded, other, self.kind(), &self.shape)?;
        let results = compute(py, || held.binary(operation, other.operand()))?;
        Ok(results.into_iter().map(|held| self.made(&loaded, held)).collect())
    }

    fn binary(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Ok(self.results(py, operation, other)?.swap_remove(0))
    }

    fn both(
        &self,
        py: Python<'_>,
        operation: Binary,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, Self)> {
        let mut results = self.results(py, operation, other)?;
        let second = results.swap_remove(1);
        Ok((results.swap_remove(0), second))
    }

    fn moved(&self, py: Python<'_>, how: Move, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(amounts) = by.cast::<Self>() else {
            let bits = by.extract::<u32>().map_err(|_| {
                PyTypeError::new_err(
                    "bits are moved by an int that is not negative, or by encrypted numbers",
                )
            })?;
            return self.unary(py, Unary::Move(how, bits));
        };
        let amounts = amounts.get();
        let loaded = Self::server(py, &[self, amounts])?;
        if amounts.shape != self.shape {
            let (own, other) = (display(&self.shape), display(&amounts.shape));
            let why = format!("shapes {own} and {other} do not go together: they must be equal");
            return Err(Failure::mismatch(why).into());
        }
        let (held, amounts) = (self.held(py, &loaded)?, amounts.held(py, &loaded)?);
        Ok(self.made(&loaded, compute(py, || held.move_by(how, amounts.as_ref()))?))
    }

    /// Refuses what Python would round down and girih rounds towards 0.
    fn only_natural(&self, operator: &str) -> PyResult<()> {
        if let Kind::Int(_) = self.kind() {
            return Err(PyTypeError::new_err(format!(
                "{operator} rounds down in Python; integers with a sign have div_rem(other), which \
                 rounds towards 0"
            )));
        }
        Ok(())
    }
}

#[pymethods]
impl IntegerCiphertexts {
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

    /// What elements are: bool, uint4 to uint128, int4 to int128.
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
    fn to_device(&self, py: Python<'_>, server: &Bound<'_, IntegerServerKey>) -> PyResult<Self> {
        self.on_device(py, &server.get().0)
    }

    /// The same integers in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::on_the_host(self.shape.clone(), self.host(py)?))
    }

    /// The array as bytes that end with a checksum. The shape is not in them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let host = self.host(py)?;
        Ok(PyBytes::new(py, &compute(py, || host.to_bytes())?))
    }

    /// Reads what to_bytes wrote; the shape is (elements,) unless given.
    #[staticmethod]
    #[pyo3(signature = (data, shape = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let data = arrays::bytes(data, "encrypted integers")?;
        let data = data.as_bytes();
        let (host, count) = compute(py, || from_bytes(data))?;
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

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Store::Host(host) = &self.store else {
            let why = "integers on a device are indexed in the host's memory: to_host() first";
            return Err(Failure::mismatch(why).into());
        };
        let all = py.import("numpy")?.call_method1("arange", (self.size(),))?;
        let taken = all.call_method1("reshape", (self.shape.clone(),))?.get_item(key)?;
        let taken = arrays::integers(&taken, "indices")?;
        let part = compute(py, || host.take(&taken.entries))?;
        Ok(Self::on_the_host(taken.shape, part))
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Add, other)
    }

    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Add, other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Subtract, other)
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.unary(py, Unary::Negate)?.binary(py, Binary::Add, other)
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Multiply, other)
    }

    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Multiply, other)
    }

    /// Of natural numbers; by 0 all ones.
    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("//")?;
        Ok(self.both(py, Binary::Divide, other)?.0)
    }

    /// Of natural numbers; by 0 the dividend.
    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.only_natural("%")?;
        Ok(self.both(py, Binary::Divide, other)?.1)
    }

    /// Quotient and remainder, rounded towards 0. By 0 the quotient is all ones (of a dividend
    /// below 0: 1) and the remainder the dividend.
    fn div_rem(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.both(py, Binary::Divide, other)
    }

    fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::And, other)
    }

    fn __rand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::And, other)
    }

    fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Or, other)
    }

    fn __ror__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Or, other)
    }

    fn __xor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Xor, other)
    }

    fn __rxor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Xor, other)
    }

    /// By a number of bits modulo the width, or by an encrypted one for each element.
    fn __lshift__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftLeft, by)
    }

    /// By a number of bits modulo the width, or by an encrypted one for each element; the sign
    /// comes in where there is one.
    fn __rshift__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::ShiftRight, by)
    }

    /// Rotates bits, as << shifts them.
    fn rotate_left(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateLeft, by)
    }

    /// Rotates bits, as >> shifts them.
    fn rotate_right(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.moved(py, Move::RotateRight, by)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.unary(py, Unary::Negate)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        self.unary(py, Unary::Not)
    }

    /// The absolute value; that of the lowest number is itself.
    fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
        self.unary(py, Unary::Absolute)
    }

    /// Propagates the carries that still wait.
    fn propagate(&self, py: Python<'_>) -> PyResult<Self> {
        self.unary(py, Unary::Propagate)
    }

    /// Comparisons are encrypted: arrays of conditions.
    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        how: CompareOp,
    ) -> PyResult<Self> {
        let operation = match how {
            CompareOp::Lt => Binary::Less,
            CompareOp::Le => Binary::LessOrEqual,
            CompareOp::Eq => Binary::Equal,
            CompareOp::Ne => Binary::NotEqual,
            CompareOp::Gt => Binary::Greater,
            CompareOp::Ge => Binary::GreaterOrEqual,
        };
        self.binary(py, operation, other)
    }

    /// The smaller of both.
    fn minimum(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Minimum, other)
    }

    /// The larger of both.
    fn maximum(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.binary(py, Binary::Maximum, other)
    }

    /// The sum, and whether it left the range.
    fn overflowing_add(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.both(py, Binary::OverflowingAdd, other)
    }

    /// The difference, and whether it left the range.
    fn overflowing_sub(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.both(py, Binary::OverflowingSubtract, other)
    }

    /// The product, and whether it left the range.
    fn overflowing_mul(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
        self.both(py, Binary::OverflowingMultiply, other)
    }

    /// Elements of `on` where these conditions hold, else of `off`, one of which is encrypted.
    fn select(
        &self,
        py: Python<'_>,
        on: &Bound<'_, PyAny>,
        off: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let arrays: Vec<_> = [on, off].into_iter().filter_map(|o| o.cast::<Self>().ok()).collect();
        let Some(kind) = arrays.first().map(|array| array.get().kind()) else {
            let why = "a choice of two known values: encrypt one of them";
            return Err(Failure::mismatch(why).into());
        };
        let operands: Vec<&Self> =
            [self].into_iter().chain(arrays.iter().map(|array| array.get())).collect();
        let loaded = Self::server(py, &operands)?;
        let held = self.held(py, &loaded)?;
        let on = Self::other(py, &loaded, on, kind, &self.shape)?;
        let off = Self::other(py, &loaded, off, kind, &self.shape)?;
        let chosen = compute(py, || select(held.as_ref(), on.operand(), off.operand()))?;
        Ok(self.made(&loaded, chosen))
    }

    /// The same numbers as another dtype, modulo its range; conditions become 0 and 1.
    fn astype(&self, py: Python<'_>, dtype: &str) -> PyResult<Self> {
        let to = Kind::parse(dtype)?;
        let loaded = Self::server(py, &[self])?;
        let held = self.held(py, &loaded)?;
        Ok(self.made(&loaded, compute(py, || held.cast(to))?))
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

    /// NumPy's operators leave those of arrays and ciphertexts to the ciphertexts.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
}
