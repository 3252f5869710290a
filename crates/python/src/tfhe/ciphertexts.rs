//! Arrays of encrypted bits and messages.

use super::gather;
use super::server::{Loaded, Operation, ServerKey, perform};
use super::sets::{ParameterSet, set_of};
use super::table::gate;
use crate::call::compute;
use crate::errors::{Failure, Outcome};
use crate::{arrays, context, wire};
use girih::tfhe::{self, DeviceCiphertexts, LweCiphertexts};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// What the messages of ciphertexts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bits of gates.
    Bits,
    /// Messages of so many bits, for look-up tables.
    Messages(u32),
    /// Messages that fill their modulus, of a [`tfhe::large::LargeParameters`].
    Large,
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bits => f.write_str("bits"),
            Self::Messages(1) => f.write_str("messages of 1 bit"),
            Self::Messages(bits) => write!(f, "messages of {bits} bits"),
            Self::Large => f.write_str("large messages"),
        }
    }
}

/// A batch on a device, with the keys beside which it lies.
pub struct Resident {
    /// The keys.
    pub server: Arc<Loaded>,
    /// The batch.
    pub batch: DeviceCiphertexts,
}

/// Where ciphertexts are.
#[derive(Clone)]
pub enum Words {
    /// In the memory of this process.
    Host(Arc<LweCiphertexts>),
    /// On a device.
    Device(Arc<Resident>),
}

/// An array of encrypted bits or messages, of any shape. Operators &, |, ^ and ~ work on bits, with
/// the server of the innermost `with server:`.
#[pyclass(frozen, module = "girih")]
pub struct Ciphertexts {
    /// The shape, in messages.
    pub shape: Vec<usize>,
    /// What the messages are.
    pub encoding: Encoding,
    /// The ciphertexts.
    pub words: Words,
}

impl Ciphertexts {
    /// Ciphertexts of as many messages as the shape has.
    pub fn new(shape: Vec<usize>, encoding: Encoding, words: Words) -> Self {
        Self { shape, encoding, words }
    }

    /// The set that they name.
    pub fn set(&self) -> &tfhe::ParameterSet {
        match &self.words {
            Words::Host(batch) => batch.set(),
            Words::Device(resident) => resident.batch.set(),
        }
    }

    /// The ciphertexts in the memory of this process, copied from the device where they are there.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn on_host(&self, py: Python<'_>) -> PyResult<Arc<LweCiphertexts>> {
        match &self.words {
            Words::Host(batch) => Ok(Arc::clone(batch)),
            Words::Device(at) => compute(py, || at.server.key.download(&at.batch)).map(Arc::new),
        }
    }

    fn key(&self) -> Option<tfhe::KeyId> {
        match &self.words {
            Words::Host(batch) => batch.key_id(),
            Words::Device(resident) => resident.batch.key_id(),
        }
    }

    /// Refuses ciphertexts that are something else than `wanted`.
    ///
    /// # Errors
    /// `MismatchError` with both.
    pub fn check(&self, what: &str, wanted: Encoding) -> Outcome<()> {
        if self.encoding == wanted {
            return Ok(());
        }
        let found = self.encoding;
        Err(Failure::mismatch(format!("{what} takes {wanted}; these ciphertexts are {found}")))
    }

    /// Constants: booleans, or messages of `bits` bits.
    ///
    /// # Errors
    /// Those of array-likes, and for messages that do not fit.
    pub fn constant(
        py: Python<'_>,
        set: &tfhe::ParameterSet,
        values: &Bound<'_, PyAny>,
        bits: Option<u32>,
    ) -> PyResult<Self> {
        let (batch, shape) = match bits {
            None => {
                let values = arrays::bits(values, "bits")?;
                let batch = compute(py, || LweCiphertexts::trivial_bits(set, &values.entries))?;
                (batch, values.shape)
            }
            Some(bits) => {
                let values = arrays::integers(values, "messages")?;
                let room = 1u64.checked_shl(bits.wrapping_add(1)).filter(|_| bits > 0);
                let large = values.entries.iter().find(|m| **m >> bits.min(63) != 0);
                let batch = match (room, large) {
                    (Some(modulus), None) => {
                        compute(py, || LweCiphertexts::trivial(set, &values.entries, modulus))?
                    }
                    (None, _) => {
                        let why = format!("messages of {bits} bits: there must be 1 to 62");
                        return Err(Failure::mismatch(why).into());
                    }
                    (_, Some(_)) => {
                        let why = format!("a message does not fit {bits} bits");
                        return Err(Failure::mismatch(why).into());
                    }
                };
                (batch, values.shape)
            }
        };
        let encoding = bits.map_or(Encoding::Bits, Encoding::Messages);
        Ok(Self::new(shape, encoding, Words::Host(Arc::new(batch))))
    }

    /// The server that an operator of these operands uses.
    fn server(py: Python<'_>, operands: [&Self; 2]) -> PyResult<Arc<Loaded>> {
        for operand in operands {
            if let Words::Device(resident) = &operand.words {
                return Ok(Arc::clone(&resident.server));
            }
        }
        match context::innermost::<ServerKey>(py)? {
            Some(server) => Ok(Arc::clone(&server.get().0)),
            None => Err(Failure::new(
                "NoServerError",
                "operators compute on a server: write `with server:` around them, or call \
                 server.gate(..)",
            )
            .into()),
        }
    }

    fn operator(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let (py, own) = (slf.py(), slf.get());
        let made;
        let other = match other.cast::<Self>() {
            Ok(other) => other.get(),
            Err(_) => {
                made = Self::constant(py, own.set(), other, None)?;
                &made
            }
        };
        let server = Self::server(py, [own, other])?;
        perform(py, &server, &[own, other], &Operation::Gate(gate(name)?))
    }
}

#[pymethods]
impl Ciphertexts {
    /// Constants as ciphertexts, without a secret: booleans, or messages below 2**bits.
    #[staticmethod]
    #[pyo3(signature = (parameters, values, *, bits = None))]
    fn trivial(
        py: Python<'_>,
        parameters: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        bits: Option<u32>,
    ) -> PyResult<Self> {
        Self::constant(py, &set_of(parameters)?, values, bits)
    }

    /// The shape, in messages.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of messages.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bits of a message for look-up tables; None for bits of gates and for large messages.
    #[getter]
    fn bits(&self) -> Option<u32> {
        match self.encoding {
            Encoding::Messages(bits) => Some(bits),
            _ => None,
        }
    }

    /// "bits", "messages" or "large".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.encoding {
            Encoding::Bits => "bits",
            Encoding::Messages(_) => "messages",
            Encoding::Large => "large",
        }
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.set().clone())
    }

    /// Name of the client key that they are under; None for constants.
    #[getter]
    fn key_id(&self) -> Option<String> {
        self.key().map(|id| id.to_string())
    }

    /// The device where they are; None in the memory of this process.
    #[getter]
    fn device(&self) -> Option<String> {
        match &self.words {
            Words::Host(_) => None,
            Words::Device(resident) => Some(resident.server.device.clone()),
        }
    }

    /// log2 of their modulus.
    #[getter]
    fn log2_modulus(&self) -> u32 {
        match &self.words {
            Words::Host(batch) => batch.log2_modulus(),
            Words::Device(resident) => resident.batch.log2_modulus(),
        }
    }

    /// Variance of the error of a message, in units of the modulus, by the noise model.
    #[getter]
    fn variance(&self) -> f64 {
        match &self.words {
            Words::Host(batch) => batch.variance(),
            Words::Device(resident) => resident.batch.variance(),
        }
    }

    /// The same ciphertexts in another shape; one length may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let given: Vec<i64> = match shape.len() {
            1 => match shape.get_item(0)?.extract::<i64>() {
                Ok(one) => vec![one],
                Err(_) => shape.get_item(0)?.extract()?,
            },
            _ => shape.extract()?,
        };
        let size: usize = self.shape.iter().product();
        let refuse = || {
            let (from, to) = (gather::display(&self.shape), &given);
            Failure::mismatch(format!("{size} messages of shape {from} have no shape {to:?}"))
        };
        let known = given.iter().filter(|&&d| d != -1).try_fold(1usize, |product, &d| {
            product.checked_mul(usize::try_from(d).ok().filter(|d| *d > 0)?)
        });
        let known = known.ok_or_else(refuse)?;
        let open = given.iter().filter(|&&d| d == -1).count();
        if open > 1 || !size.is_multiple_of(known) || (open == 0 && size != known) {
            return Err(refuse().into());
        }
        let lengths = given.iter().map(|&d| usize::try_from(d).unwrap_or(size / known)).collect();
        Ok(Self::new(lengths, self.encoding, self.words.clone()))
    }

    /// The same ciphertexts on the device of a server.
    fn to_device(&self, py: Python<'_>, server: &Bound<'_, ServerKey>) -> PyResult<Self> {
        server.get().upload_words(py, self)
    }

    /// The same ciphertexts in the memory of this process.
    fn to_host(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(self.shape.clone(), self.encoding, Words::Host(self.on_host(py)?)))
    }

    /// The ciphertexts as bytes that end with a checksum. Shape and kind are not in them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        wire::write(py, &*self.on_host(py)?)
    }

    /// Reads what to_bytes wrote: bits, messages where `bits` is given, or large messages. The
    /// shape is (messages,) unless given; with `parameters`, other sets are refused unread.
    #[staticmethod]
    #[pyo3(signature = (data, *, bits = None, large = false, shape = None, parameters = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        bits: Option<u32>,
        large: bool,
        shape: Option<Vec<usize>>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let batch: LweCiphertexts = wire::read(py, data, parameters)?;
        let encoding = match (bits, large) {
            (Some(_), true) => {
                let why = "ciphertexts are messages of `bits` bits or large ones, not both";
                return Err(PyValueError::new_err(why));
            }
            (Some(bits), false) => Encoding::Messages(bits),
            (None, true) => Encoding::Large,
            (None, false) => Encoding::Bits,
        };
        let messages = batch.messages();
        let shape = shape.unwrap_or_else(|| vec![messages]);
        let size = shape.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
        if size != Some(messages) {
            let why = format!("{messages} messages have no shape {}", gather::display(&shape));
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self::new(shape, encoding, Words::Host(Arc::new(batch))))
    }

    fn __len__(&self) -> PyResult<usize> {
        let none = || PyTypeError::new_err("a single ciphertext has no length");
        self.shape.first().copied().ok_or_else(none)
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Words::Host(batch) = &self.words else {
            let why = "ciphertexts on a device are indexed in the host's memory: to_host() first";
            return Err(Failure::mismatch(why).into());
        };
        let size: usize = self.shape.iter().product();
        let all = py.import("numpy")?.call_method1("arange", (size,))?;
        let taken = all.call_method1("reshape", (self.shape.clone(),))?.get_item(key)?;
        let taken = arrays::integers(&taken, "indices")?;
        let part = compute(py, || {
            let ciphertexts = gather::ciphertexts(&taken.entries, batch.set().packing())?;
            gather::take(batch, &ciphertexts)
        })?;
        Ok(Self::new(taken.shape, self.encoding, Words::Host(Arc::new(part))))
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "and")
    }

    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "and")
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "or")
    }

    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "or")
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "xor")
    }

    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::operator(slf, other, "xor")
    }

    /// NOT of every bit: no bootstrapping, and no server.
    fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
        self.check("~", Encoding::Bits)?;
        let words = match &self.words {
            Words::Host(batch) => Words::Host(Arc::new(batch.not())),
            Words::Device(at) => {
                let batch = compute(py, || at.server.key.not(&at.batch))?;
                Words::Device(Arc::new(Resident { server: Arc::clone(&at.server), batch }))
            }
        };
        Ok(Self::new(self.shape.clone(), self.encoding, words))
    }

    fn __bool__(&self) -> PyResult<bool> {
        let why = "what is encrypted has no truth value: decrypt it, or select with server.mux(..)";
        Err(PyTypeError::new_err(why))
    }

    fn __richcmp__(&self, _other: &Bound<'_, PyAny>, _how: CompareOp) -> PyResult<bool> {
        let why = "what is encrypted is not compared in the clear: ~(a ^ b) is the encrypted \
                   equality of bits, LargeServerKey compares numbers";
        Err(PyTypeError::new_err(why))
    }

    fn __repr__(&self) -> String {
        let shape = gather::display(&self.shape);
        let (encoding, set) = (self.encoding, self.set());
        let place = self.device().map_or(String::new(), |device| format!(" on {device}"));
        format!("<girih.Ciphertexts {shape}: {encoding} of {set}{place}>")
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        let read = py.import("girih._girih")?.getattr("_unpickle_ciphertexts")?;
        let large = self.encoding == Encoding::Large;
        let arguments = (data, self.bits(), large, self.shape.clone());
        Ok((read, arguments).into_pyobject(py)?.into_any())
    }

    /// NumPy's operators leave those of arrays and ciphertexts to the ciphertexts.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
}

/// What pickles of ciphertexts call.
#[pyfunction]
#[pyo3(name = "_unpickle_ciphertexts")]
pub fn unpickle_ciphertexts(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    bits: Option<u32>,
    large: bool,
    shape: Vec<usize>,
) -> PyResult<Ciphertexts> {
    Ciphertexts::from_bytes(py, data, bits, large, Some(shape), None)
}

/// Arrays of ciphertexts one after the other along their first axis.
#[pyfunction]
pub fn concatenate(py: Python<'_>, arrays: Vec<Bound<'_, Ciphertexts>>) -> PyResult<Ciphertexts> {
    let Some(first) = arrays.first() else {
        return Err(Failure::mismatch("there must be at least one array").into());
    };
    let first = first.get();
    for other in &arrays {
        let other = other.get();
        other.check("an array that begins so", first.encoding)?;
        if other.shape.is_empty() || first.shape.get(1..) != other.shape.get(1..) {
            let (one, two) = (gather::display(&first.shape), gather::display(&other.shape));
            let why = format!("arrays of shapes {one} and {two}: all but the first length agree");
            return Err(Failure::mismatch(why).into());
        }
    }
    let parts = arrays.iter().map(|a| a.get().on_host(py)).collect::<PyResult<Vec<_>>>()?;
    let whole = compute(py, || {
        LweCiphertexts::concatenate(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    })?;
    let mut shape = first.shape.clone();
    shape[0] = arrays.iter().map(|a| a.get().shape[0]).sum();
    Ok(Ciphertexts::new(shape, first.encoding, Words::Host(Arc::new(whole))))
}

/// The sum of weight * array over all arrays plus a constant, without bootstrapping: errors grow
/// with the weights. Messages wrap at twice their range; inputs of a table must stay within it.
#[pyfunction]
#[pyo3(signature = (arrays, weights, constant = 0))]
pub fn weighted_sum(
    py: Python<'_>,
    arrays: Vec<Bound<'_, Ciphertexts>>,
    weights: Vec<i64>,
    constant: i64,
) -> PyResult<Ciphertexts> {
    let (Some(first), true) = (arrays.first().map(Bound::get), arrays.len() == weights.len())
    else {
        let why = format!("{} arrays and {} weights: as many of each", arrays.len(), weights.len());
        return Err(Failure::mismatch(why).into());
    };
    let Encoding::Messages(bits) = first.encoding else {
        let why = format!("sums are of messages; these ciphertexts are {}", first.encoding);
        return Err(Failure::mismatch(why).into());
    };
    for array in &arrays {
        array.get().check("a sum", first.encoding)?;
        if array.get().shape != first.shape {
            let shapes = [first, array.get()].map(|a| gather::display(&a.shape));
            return Err(Failure::mismatch(format!("shapes {} differ", shapes.join(" and "))).into());
        }
    }
    let parts = arrays.iter().map(|a| a.get().on_host(py)).collect::<PyResult<Vec<_>>>()?;
    let sum = compute(py, || {
        let step = 1i64.checked_shl(parts[0].log2_modulus().saturating_sub(bits + 1));
        let phase = step.unwrap_or(0).wrapping_mul(constant);
        let terms: Vec<_> = parts.iter().map(AsRef::as_ref).zip(weights).collect();
        LweCiphertexts::weighted_sum(&terms, phase)
    })?;
    Ok(Ciphertexts::new(first.shape.clone(), first.encoding, Words::Host(Arc::new(sum))))
}
