//! Arrays of bits and small integers in slots.

use super::server::{Loaded, serving};
use super::sets::DiscreteParameters;
use crate::call::wait;
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather::display;
use crate::{arrays, wire};
use girih::discrete::{EncryptedNumbers, Gate, ServerKey, Table, Wires};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// Where numbers are in ciphertexts: one after the other, in the slots of one ciphertext after the
/// other.
pub struct Layout {
    count: usize,
    slots: usize,
}

impl Layout {
    /// Of so many numbers, for a set with so many slots.
    pub fn new(count: usize, slots: usize) -> Self {
        Self { count, slots }
    }

    /// The numbers of each ciphertext: of several, the last is filled with zeros.
    pub fn columns(&self, values: &[u32]) -> Vec<Vec<u32>> {
        let used = self.count.min(self.slots);
        let column = |part: &[u32]| {
            let mut column = part.to_vec();
            column.resize(used, 0);
            column
        };
        values.chunks(self.slots).map(column).collect()
    }
}

/// Whole numbers from 0 on of an array, its shape, and whether they are booleans.
///
/// # Errors
/// `TypeError` and `ValueError` for others, `MismatchError` for none and for too large ones.
pub fn plain(values: &Bound<'_, PyAny>) -> PyResult<(Vec<u32>, Vec<usize>, bool)> {
    let array = arrays::as_array(values)?;
    let bits = array.getattr("dtype")?.getattr("kind")?.extract::<String>()? == "b";
    let arrays::Values { entries, shape } = arrays::integers(array.as_any(), "numbers")?;
    if entries.is_empty() {
        return Err(Failure::mismatch("no numbers: there must be at least one").into());
    }
    let narrow = |v: u64| u32::try_from(v).ok();
    match entries.into_iter().map(narrow).collect() {
        Some(entries) => Ok((entries, shape, bits)),
        None => Err(Failure::mismatch("a number does not fit 32 bits").into()),
    }
}

/// Where numbers are.
#[derive(Clone)]
enum Store {
    Host(Arc<EncryptedNumbers>),
    Device(Arc<Loaded>, Wires),
}

/// An array of encrypted bits or small whole numbers, of any shape: thousands of them in a
/// ciphertext. Sums, differences and products with known whole numbers are free; `lookup` replaces
/// every number by a function of it; & | ^ ~ are for bits. The other operand is an array of the
/// same shape, or of sums one known number.
#[pyclass(frozen, module = "girih.discrete", name = "Numbers")]
pub struct DiscreteNumbers {
    /// The shape.
    pub shape: Vec<usize>,
    store: Store,
}

impl DiscreteNumbers {
    /// Numbers in the memory of this process.
    pub fn on_the_host(shape: Vec<usize>, numbers: EncryptedNumbers) -> Self {
        Self { shape, store: Store::Host(Arc::new(numbers)) }
    }

    /// The number of numbers.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn own_server(&self) -> Option<&Arc<Loaded>> {
        match &self.store {
            Store::Device(loaded, _) => Some(loaded),
            Store::Host(_) => None,
        }
    }

    /// The numbers in the memory of this process, copied from the device where they are there.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn host(&self, py: Python<'_>) -> PyResult<Arc<EncryptedNumbers>> {
        match &self.store {
            Store::Host(host) => Ok(Arc::clone(host)),
            Store::Device(loaded, wires) => {
                let (loaded, wires) = (Arc::clone(loaded), wires.clone());
                Ok(Arc::new(wait(py, move || loaded.key().download(&wires))?))
            }
        }
    }

    /// The numbers on a device.
    ///
    /// # Errors
    /// Those of the upload, and for numbers of another server.
    pub fn on_device(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Self> {
        let wires = self.wires(py, loaded)?;
        Ok(self.placed(loaded, wires))
    }

    fn wires(&self, py: Python<'_>, loaded: &Arc<Loaded>) -> PyResult<Wires> {
        match &self.store {
            Store::Device(own, wires) if Arc::ptr_eq(own, loaded) => Ok(wires.clone()),
            Store::Device(own, _) => {
                let why = format!("these numbers are with another server, on {}", own.device);
                Err(Failure::mismatch(why).into())
            }
            Store::Host(host) => {
                let (host, loaded) = (Arc::clone(host), Arc::clone(loaded));
                wait(py, move || loaded.key().upload(&host))
            }
        }
    }

    fn placed(&self, loaded: &Arc<Loaded>, wires: Wires) -> Self {
        Self { shape: self.shape.clone(), store: Store::Device(Arc::clone(loaded), wires) }
    }

    /// Runs work on this array and others of its shape.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        others: &[&Self],
        work: impl FnOnce(&ServerKey, &[Wires]) -> Outcome<T> + Send + 'static,
    ) -> PyResult<(Arc<Loaded>, T)> {
        for other in others {
            if self.shape != other.shape {
                return Err(Failure::mismatch(format!(
                    "shapes {} and {}: numbers stay in their slots, so shapes must be equal",
                    display(&self.shape),
                    display(&other.shape)
                ))
                .into());
            }
        }
        let all = || [self].into_iter().chain(others.iter().copied());
        let loaded = serving(py, all().filter_map(Self::own_server))?;
        let wires = all().map(|x| x.wires(py, &loaded)).collect::<PyResult<Vec<Wires>>>()?;
        let own = Arc::clone(&loaded);
        let result = wait(py, move || work(own.key(), &wires))?;
        Ok((loaded, result))
    }

    /// a + b times a weight, of an array or a known number.
    fn sum(
        &self,
        py: Python<'_>,
        own: i64,
        weight: i64,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (loaded, wires) = if let Ok(other) = other.cast::<Self>() {
            self.with(py, &[other.get()], move |key, x| {
                Ok(key.sum(&[(own, &x[0]), (weight, &x[1])], 0)?)
            })?
        } else {
            let constant = whole(other)?.saturating_mul(weight);
            self.with(py, &[], move |key, x| Ok(key.sum(&[(own, &x[0])], constant)?))?
        };
        Ok(self.placed(&loaded, wires))
    }

    fn gate(&self, py: Python<'_>, gate: Gate, other: The<'_, Self>) -> PyResult<Self> {
        let (loaded, wires) =
            self.with(py, &[other.get()], move |key, x| Ok(key.gate(gate, &x[0], &x[1])?))?;
        Ok(self.placed(&loaded, wires))
    }
}

/// A whole number of Python.
fn whole(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    value.extract().map_err(|_| match value.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!(
            "a whole number below 2**40, or girih.discrete.Numbers, is wanted, not {name}"
        )),
        Err(error) => error,
    })
}

/// The table of a callable, or of an array of its values from that of 0 on.
fn table(function: &Bound<'_, PyAny>, modulus: Option<u32>, least: u32) -> PyResult<Table> {
    let values: Vec<i64> = if function.is_callable() {
        let modulus = modulus.unwrap_or(least);
        // Bounds what is asked of the function: no table is longer.
        if modulus > girih::discrete::MAX_MODULUS {
            return Err(Failure::mismatch(format!(
                "a table of {modulus} values: there are at most {}",
                girih::discrete::MAX_MODULUS
            ))
            .into());
        }
        (0..modulus).map(|m| whole(&function.call1((m,))?)).collect::<PyResult<_>>()?
    } else {
        let array = arrays::as_array(function)?;
        let values: Vec<Bound<'_, PyAny>> = array
            .call_method0("ravel")?
            .call_method0("tolist")?
            .try_iter()?
            .collect::<PyResult<_>>()?;
        values.iter().map(whole).collect::<PyResult<_>>()?
    };
    Ok(Table::from_values(&values).map_err(Failure::from)?)
}

/// The smallest modulus of look-ups of a set that tells all numbers of a range apart, else its own.
fn modulus_for(set: &girih::discrete::DiscreteParameters, (low, high): (i64, i64)) -> u32 {
    let p = set.modulus();
    let tells = |m: &u32| p.is_multiple_of(*m) && low >= 0 && high < i64::from(*m);
    (2..=p).find(tells).unwrap_or(p)
}

#[pymethods]
impl DiscreteNumbers {
    /// The shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The number of numbers.
    #[getter]
    fn size(&self) -> usize {
        self.count()
    }

    /// The least and the largest number that there may be, which is public.
    #[getter]
    fn range(&self) -> (i64, i64) {
        match &self.store {
            Store::Host(host) => host.range(),
            Store::Device(_, wires) => wires.range(),
        }
    }

    /// Where the array is: a device's name, or "host".
    #[getter]
    fn device(&self) -> String {
        self.own_server().map_or_else(|| "host".into(), |loaded| loaded.device.clone())
    }

    /// A copy in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self { shape: self.shape.clone(), store: Store::Host(self.host(py)?) })
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(match &self.store {
            Store::Host(host) => host.set().clone(),
            Store::Device(_, wires) => wires.set().clone(),
        })
    }

    /// Name of the client key.
    #[getter]
    fn key_id(&self) -> String {
        match &self.store {
            Store::Host(host) => host.key_id().to_string(),
            Store::Device(_, wires) => wires.key_id().to_string(),
        }
    }

    /// Every number m replaced by function(m), by one look-up: a callable, or an array of its
    /// values from that of 0 on. The number is read modulo `modulus`, which divides the set's; of a
    /// callable it is the smallest that tells all numbers apart unless given. Several functions
    /// cost little more than one and give a tuple. Order 2 lets less of the errors through and
    /// takes a level more: the highest that the set has unless given.
    #[pyo3(signature = (*functions, modulus = None, order = None))]
    fn lookup<'py>(
        &self,
        py: Python<'py>,
        functions: &Bound<'py, PyTuple>,
        modulus: Option<u32>,
        order: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let set = self.parameters().0;
        let least = modulus_for(&set, self.range());
        let mut tables = Vec::with_capacity(functions.len());
        for function in functions.iter() {
            let table = table(&function, modulus, least)?;
            if modulus.is_some_and(|modulus| modulus != table.modulus()) {
                let why = format!("a table of {} values, read modulo another", table.modulus());
                return Err(Failure::mismatch(why).into());
            }
            let made = |order| table.order(order).map_err(Failure::from);
            tables.push(match order {
                Some(order) => made(order)?,
                None => {
                    let second = made(2)?;
                    if second.levels() <= set.table_levels() { second } else { made(1)? }
                }
            });
        }
        let (loaded, results) = self.with(py, &[], move |key, x| {
            let tables: Vec<&Table> = tables.iter().collect();
            Ok(key.lookup(&x[0], &tables)?)
        })?;
        let mut results: Vec<Self> =
            results.into_iter().map(|wires| self.placed(&loaded, wires)).collect();
        match results.len() {
            1 => Ok(Bound::new(py, results.remove(0))?.into_any()),
            _ => Ok(PyTuple::new(py, results)?.into_any()),
        }
    }

    /// Elements in any order, as an array of the shape of `indices`: whole numbers that count the
    /// elements as they lie, row after row, from 0 on, or from -1 backwards. Nothing leaves the
    /// device. A slice takes rotations alone; shifts, reversals, strides and one element everywhere
    /// some look-ups; what has no order up to one for each element.
    fn take(&self, py: Python<'_>, indices: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = arrays::as_array(indices)?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let count = self.count();
        let values = array.call_method0("ravel")?.call_method0("tolist")?;
        let at = |value: PyResult<Bound<'_, PyAny>>| -> PyResult<usize> {
            let value = whole(&value?)?;
            let from =
                if value < 0 { value.checked_add_unsigned(count as u64) } else { Some(value) };
            let place = from.and_then(|from| usize::try_from(from).ok());
            place.filter(|place| *place < count).ok_or_else(|| {
                let why = format!("element {value} of an array of {count}");
                Failure::mismatch(why).into()
            })
        };
        let elements = values.try_iter()?.map(at).collect::<PyResult<Vec<usize>>>()?;
        let (loaded, wires) = self.with(py, &[], move |key, x| Ok(key.take(&x[0], &elements)?))?;
        Ok(Self { shape, store: Store::Device(loaded, wires) })
    }

    /// Of bits: `on` where they are 1, else `off`, both of numbers from 0 on.
    #[pyo3(signature = (on, off, order = 2))]
    fn select(
        &self,
        py: Python<'_>,
        on: The<'_, Self>,
        off: The<'_, Self>,
        order: u32,
    ) -> PyResult<Self> {
        let (loaded, wires) = self.with(py, &[on.get(), off.get()], move |key, x| {
            Ok(key.select(&x[0], &x[1], &x[2], order)?)
        })?;
        Ok(self.placed(&loaded, wires))
    }

    /// The sum of this array of bits and two more: its low and its high bit, by one look-up.
    fn full_adder(
        &self,
        py: Python<'_>,
        b: The<'_, Self>,
        c: The<'_, Self>,
    ) -> PyResult<(Self, Self)> {
        let (loaded, (low, high)) =
            self.with(py, &[b.get(), c.get()], |key, x| Ok(key.full_adder(&x[0], &x[1], &x[2])?))?;
        Ok((self.placed(&loaded, low), self.placed(&loaded, high)))
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.sum(py, 1, 1, other)
    }

    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.sum(py, 1, 1, other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.sum(py, 1, -1, other)
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.sum(py, -1, 1, other)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        let (loaded, wires) = self.with(py, &[], |key, x| Ok(key.sum(&[(-1, &x[0])], 0)?))?;
        Ok(self.placed(&loaded, wires))
    }

    fn __mul__(&self, py: Python<'_>, factor: &Bound<'_, PyAny>) -> PyResult<Self> {
        if factor.is_instance_of::<Self>() {
            return Err(PyTypeError::new_err(
                "two encrypted arrays are not multiplied: (p * a + b).lookup(f) is any function of \
                 both, or take girih.discrete.Integers",
            ));
        }
        let factor = whole(factor)?;
        let (loaded, wires) = self.with(py, &[], move |key, x| match factor {
            0 => Ok(key.constant(0, &x[0])?),
            _ => Ok(key.sum(&[(factor, &x[0])], 0)?),
        })?;
        Ok(self.placed(&loaded, wires))
    }

    fn __rmul__(&self, py: Python<'_>, factor: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__mul__(py, factor)
    }

    fn __and__(&self, py: Python<'_>, other: The<'_, Self>) -> PyResult<Self> {
        self.gate(py, Gate::And, other)
    }

    fn __or__(&self, py: Python<'_>, other: The<'_, Self>) -> PyResult<Self> {
        self.gate(py, Gate::Or, other)
    }

    fn __xor__(&self, py: Python<'_>, other: The<'_, Self>) -> PyResult<Self> {
        self.gate(py, Gate::Xor, other)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        let (loaded, wires) = self.with(py, &[], |key, x| Ok(key.not(&x[0])?))?;
        Ok(self.placed(&loaded, wires))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("an encrypted array is neither true nor false"))
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

    /// The array as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let host = self.host(py)?;
        let bytes = wait(py, move || host.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads what to_bytes wrote, in the shape that is given, else of all numbers in use.
    #[staticmethod]
    #[pyo3(signature = (data, shape = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        shape: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let data: PyBackedBytes = arrays::bytes(data, "numbers")?.into();
        let host = wait(py, move || EncryptedNumbers::from_bytes(&data))?;
        let (used, all) = (host.numbers(), host.len() * host.numbers());
        let shape = shape.unwrap_or_else(|| vec![all]);
        let size = shape.iter().try_fold(1usize, |size, &axis| size.checked_mul(axis));
        // The last of several ciphertexts may be in use in part.
        let least = if host.len() == 1 { all } else { all - used + 1 };
        if !size.is_some_and(|size| (least..=all).contains(&size)) {
            let why = format!("{all} numbers do not have the shape {}", display(&shape));
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::on_the_host(shape, host))
    }

    fn __repr__(&self) -> String {
        let (low, high) = self.range();
        let place = match &self.store {
            Store::Host(_) => String::new(),
            Store::Device(loaded, _) => format!(" on {}", loaded.device),
        };
        format!(
            "<girih.discrete.Numbers from {low} to {high} of shape {}{place}>",
            display(&self.shape)
        )
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("DiscreteNumbers", data, self.shape.clone()))
    }
}
