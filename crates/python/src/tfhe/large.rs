//! Large messages: of up to 21 bits, compared, rounded, taken apart and rectified.

use super::ciphertexts::{Ciphertexts, Encoding, Words};
use super::client::ClientKey;
use super::server::{refuse_pickle, transform};
use super::sets::ParameterSet;
use super::table::Function;
use crate::arrays::{self, Values};
use crate::call::{supervise, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::{device, wire};
use girih::tfhe::large::{self, LargeOperation};
use girih::tfhe::{self, LweCiphertexts};
use girih::{LoadOptions, Transform};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// What large messages are encrypted in: LargeParameters(), LargeParameters("small") for 11-bit
/// moduli, LargeParameters("insecure") for tests.
#[pyclass(frozen, module = "girih")]
pub struct LargeParameters {
    name: String,
    large: large::LargeParameters,
}

/// The evaluation keys of large messages, public; pickled as their bytes.
#[pyclass(frozen, module = "girih")]
pub struct LargeKeys {
    name: String,
    transform: Transform,
    keys: Arc<large::LargeKeys>,
    digest: wire::Digest,
}

/// Keys of large messages loaded on a device.
#[pyclass(frozen, module = "girih")]
pub struct LargeServerKey {
    server: Arc<large::LargeServer>,
    device: String,
    device_bytes: u64,
}

fn context(name: &str) -> Outcome<large::LargeParameters> {
    match name {
        "default" => Ok(large::LargeParameters::default()),
        "small" => Ok(large::LargeParameters::small()),
        "insecure" => Ok(large::LargeParameters::insecure()),
        _ => Err(Failure::new(
            "UnknownSetError",
            format!("no large parameters {name:?}; there are default, small, insecure"),
        )),
    }
}

fn operation(name: &str) -> Outcome<LargeOperation> {
    match name {
        "floor" => Ok(LargeOperation::Floor),
        "sign" => Ok(LargeOperation::Sign),
        "decompose" => Ok(LargeOperation::Decompose),
        "relu" => Ok(LargeOperation::Relu),
        _ => Err(Failure::mismatch(format!(
            "no large operation {name:?}; there are floor, sign (which comparisons take), \
             decompose, relu (which max and min take)"
        ))),
    }
}

impl LargeParameters {
    /// log2 of the modulus that messages of `bits` bits take.
    fn log2_modulus(&self, bits: u32) -> Outcome<u32> {
        if !(1..=30).contains(&bits) {
            return Err(Failure::mismatch(format!("messages of {bits} bits: take fewer")));
        }
        let log2_modulus = self.large.log2_modulus(bits);
        self.large.message_bits(log2_modulus)?;
        Ok(log2_modulus)
    }
}

#[pymethods]
impl LargeParameters {
    #[new]
    #[pyo3(signature = (name = "default"))]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self { name: name.to_owned(), large: context(name)? })
    }

    /// The set of the client key and of ciphertexts.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.large.home().clone())
    }

    /// Bits of the digits that `decompose` gives.
    #[getter]
    fn digit_bits(&self) -> u32 {
        self.large.digit_bits()
    }

    /// Encrypts an array of messages below 2**bits.
    #[pyo3(signature = (client, values, *, bits))]
    fn encrypt(
        &self,
        py: Python<'_>,
        client: The<'_, ClientKey>,
        values: &Bound<'_, PyAny>,
        bits: u32,
    ) -> PyResult<Ciphertexts> {
        let (values, log2_modulus) =
            (arrays::integers(values, "messages")?, self.log2_modulus(bits)?);
        let (client, large) = (Arc::clone(&client.get().0), self.large.clone());
        let Values { entries, shape } = values;
        let batch = wait(py, move || large.encrypt(&client, &entries, log2_modulus))?;
        Ok(Ciphertexts::new(shape, Encoding::Large, Words::Host(Arc::new(batch))))
    }

    /// Decrypts large messages, of whatever bits they have.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: The<'py, ClientKey>,
        ciphertexts: The<'py, Ciphertexts>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (ciphertexts, client) = (ciphertexts.get(), Arc::clone(&client.get().0));
        ciphertexts.check("this decryption", Encoding::Large)?;
        let (batch, large) = (ciphertexts.on_host(py)?, self.large.clone());
        let messages = wait(py, move || large.decrypt(&client, &batch))?;
        arrays::array(py, messages, &ciphertexts.shape)
    }

    /// Makes the keys that operations ("floor", "sign", "decompose", "relu") on messages of `bits`
    /// bits need under a transform.
    #[pyo3(signature = (client, operations, *, bits, transform = "fft", progress = None))]
    fn keys(
        &self,
        py: Python<'_>,
        client: The<'_, ClientKey>,
        operations: Vec<String>,
        bits: u32,
        transform: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LargeKeys> {
        let operations =
            operations.iter().map(|name| operation(name)).collect::<Outcome<Vec<_>>>()?;
        let (log2_modulus, transform) = (self.log2_modulus(bits)?, self::transform(transform)?);
        let (client, parameters) = (Arc::clone(&client.get().0), self.large.clone());
        let keys = supervise(py, progress, move |progress| {
            let gadgets = parameters.gadgets(&operations, log2_modulus, transform)?;
            large::LargeKeys::generate(&parameters, &client, &gadgets, progress)
        })?;
        let digest = wire::Digest::default();
        Ok(LargeKeys { name: self.name.clone(), transform, keys: Arc::new(keys), digest })
    }

    fn __repr__(&self) -> String {
        format!("girih.LargeParameters({:?})", self.name)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok((py.get_type::<Self>(), (self.name.clone(),)).into_pyobject(py)?.into_any())
    }
}

#[pymethods]
impl LargeKeys {
    /// Name of the client key that they were made from.
    #[getter]
    fn key_id(&self) -> String {
        self.keys.key_id().to_string()
    }

    /// What there are keys for, in words; with key_id it says which keys these are.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        let sets = self.keys.keys().iter().map(tfhe::EvaluationKeys::set);
        sets.map(|set| format!("bootstrapping under {set} by {}", self.transform)).collect()
    }

    /// 32 hexadecimal digits that depend on every byte of the keys. A key_id is a name that anyone
    /// can write; this says which keys these are.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let how = format!("{} by {}", self.name, self.transform);
        self.digest.of(py, how, &self.keys, |keys| keys.keys().iter().collect())
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.keys.keys().iter().map(tfhe::EvaluationKeys::bytes).sum()
    }

    fn __repr__(&self) -> String {
        let (id, count) = (self.keys.key_id(), self.keys.keys().len());
        format!("<girih.LargeKeys {id:.8}: {count} gadgets, {} bytes>", self.nbytes())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let parts = wire::write_all(py, &self.keys, |keys| keys.keys().iter().collect())?;
        let parts = wire::buffers(py, parts, protocol)?;
        let read = py.import("girih._girih")?.getattr("_unpickle_large_keys")?;
        let arguments = (self.name.clone(), self.transform.to_string(), parts);
        Ok((read, arguments).into_pyobject(py)?.into_any())
    }
}

/// What pickles of large keys call.
#[pyfunction]
#[pyo3(name = "_unpickle_large_keys")]
pub fn unpickle_large_keys(
    py: Python<'_>,
    name: String,
    transform: &str,
    parts: Vec<Bound<'_, PyAny>>,
) -> PyResult<LargeKeys> {
    let (large, transform) = (context(&name)?, self::transform(transform)?);
    let parts = wire::read_all(py, &parts)?;
    let keys = wait(py, move || large::LargeKeys::new(&large, parts))?;
    Ok(LargeKeys { name, transform, keys: Arc::new(keys), digest: wire::Digest::default() })
}

impl LargeServerKey {
    /// A function of some arrays of one shape, whose results are `encoding`.
    fn call(
        &self,
        py: Python<'_>,
        arrays: &[&The<'_, Ciphertexts>],
        encoding: Encoding,
        work: impl FnOnce(&large::LargeServer, &[&LweCiphertexts]) -> tfhe::Result<LweCiphertexts>
        + Send
        + 'static,
    ) -> PyResult<Ciphertexts> {
        let shape = arrays[0].get().shape.clone();
        for array in arrays {
            array.get().check("this operation", Encoding::Large)?;
            if array.get().shape != shape {
                let why = "arrays of large messages take part as they are: shapes must be equal";
                return Err(Failure::mismatch(why).into());
            }
        }
        let inputs = arrays.iter().map(|a| a.get().on_host(py)).collect::<PyResult<Vec<_>>>()?;
        let server = Arc::clone(&self.server);
        let batch = wait(py, move || {
            work(&server, &inputs.iter().map(AsRef::as_ref).collect::<Vec<&LweCiphertexts>>())
        })?;
        Ok(Ciphertexts::new(shape, encoding, Words::Host(Arc::new(batch))))
    }
}

#[pymethods]
impl LargeServerKey {
    #[new]
    #[pyo3(signature = (keys, device = None, *, progress = None))]
    fn new(
        py: Python<'_>,
        keys: &Bound<'_, LargeKeys>,
        device: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (keys, transform) = (Arc::clone(&keys.get().keys), Some(keys.get().transform));
        let device = device.map(str::to_owned);
        supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let options = LoadOptions::default().with_transform(transform);
            let server = device.loader().options(options).progress(progress).load(keys.as_ref())?;
            let sets = keys.keys().iter().map(tfhe::EvaluationKeys::set);
            let device_bytes = sets.map(tfhe::EvaluationKeys::expanded_bytes).sum();
            let server = Arc::new(server);
            Outcome::Ok(Self { server, device: device.info().id.clone(), device_bytes })
        })
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.device.clone()
    }

    /// Bytes that the keys take where they are loaded, with all their masks, 8 a word.
    #[getter]
    fn device_bytes(&self) -> u64 {
        self.device_bytes
    }

    /// Name of the client key whose ciphertexts it works on.
    #[getter]
    fn key_id(&self) -> String {
        self.server.key_id().to_string()
    }

    /// a < b, as bits for gates. Right where a - b fits in two's complement, so for messages below
    /// half their range: of 12 bits those below 2048, and 4095 is taken for -1. The same holds for
    /// less_or_equal, max, min and argmax, and nothing refuses others, which nobody can see.
    fn less(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        b: The<'_, Ciphertexts>,
    ) -> PyResult<Ciphertexts> {
        self.call(py, &[&a, &b], Encoding::Bits, |server, x| server.less(x[0], x[1]))
    }

    /// a <= b, as bits for gates, of messages below half their range: see less.
    fn less_or_equal(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        b: The<'_, Ciphertexts>,
    ) -> PyResult<Ciphertexts> {
        self.call(py, &[&a, &b], Encoding::Bits, |server, x| server.less_or_equal(x[0], x[1]))
    }

    /// a == b, as bits for gates, of all messages.
    fn equal(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        b: The<'_, Ciphertexts>,
    ) -> PyResult<Ciphertexts> {
        self.call(py, &[&a, &b], Encoding::Bits, |server, x| server.equal(x[0], x[1]))
    }

    /// The larger of each pair, of messages below half their range: see less.
    fn max(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        b: The<'_, Ciphertexts>,
    ) -> PyResult<Ciphertexts> {
        self.call(py, &[&a, &b], Encoding::Large, |server, x| server.max(x[0], x[1]))
    }

    /// The smaller of each pair, of messages below half their range: see less.
    fn min(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        b: The<'_, Ciphertexts>,
    ) -> PyResult<Ciphertexts> {
        self.call(py, &[&a, &b], Encoding::Large, |server, x| server.min(x[0], x[1]))
    }

    /// The top bit of each message, its sign in two's complement, as bits for gates.
    fn sign(&self, py: Python<'_>, a: The<'_, Ciphertexts>) -> PyResult<Ciphertexts> {
        self.call(py, &[&a], Encoding::Bits, |server, x| server.sign(x[0]))
    }

    /// max(a, 0) of each message in two's complement.
    fn relu(&self, py: Python<'_>, a: The<'_, Ciphertexts>) -> PyResult<Ciphertexts> {
        self.call(py, &[&a], Encoding::Large, |server, x| server.relu(x[0]))
    }

    /// Each message with its `bits` lowest bits cleared.
    fn floor(&self, py: Python<'_>, a: The<'_, Ciphertexts>, bits: u32) -> PyResult<Ciphertexts> {
        self.call(py, &[&a], Encoding::Large, move |server, x| server.floor(x[0], bits))
    }

    /// The digits of each message, lowest first.
    fn decompose(&self, py: Python<'_>, a: The<'_, Ciphertexts>) -> PyResult<Vec<Ciphertexts>> {
        let a = a.get();
        a.check("this operation", Encoding::Large)?;
        let batch = a.on_host(py)?;
        let server = Arc::clone(&self.server);
        let digits = wait(py, move || server.decompose(&batch))?;
        let made = |digit| {
            Ciphertexts::new(a.shape.clone(), Encoding::Large, Words::Host(Arc::new(digit)))
        };
        Ok(digits.into_iter().map(made).collect())
    }

    /// Any function of messages of up to a digit.
    fn function(
        &self,
        py: Python<'_>,
        a: The<'_, Ciphertexts>,
        function: &Bound<'_, Function>,
    ) -> PyResult<Ciphertexts> {
        let function = function.get().0.clone();
        self.call(py, &[&a], Encoding::Large, move |server, x| server.function(x[0], &function))
    }

    /// Which of several arrays holds the largest message, place by place: the bits of its index,
    /// lowest first. Of messages below half their range: see less.
    fn argmax(
        &self,
        py: Python<'_>,
        arrays: Vec<The<'_, Ciphertexts>>,
    ) -> PyResult<Vec<Ciphertexts>> {
        let Some(first) = arrays.first() else {
            return Err(PyTypeError::new_err("argmax takes a list of at least two arrays"));
        };
        let shape = first.get().shape.clone();
        for array in &arrays {
            array.get().check("this operation", Encoding::Large)?;
        }
        let inputs = arrays.iter().map(|a| a.get().on_host(py)).collect::<PyResult<Vec<_>>>()?;
        let server = Arc::clone(&self.server);
        let bits =
            wait(py, move || server.argmax(&inputs.iter().map(AsRef::as_ref).collect::<Vec<_>>()))?;
        let made =
            |bit| Ciphertexts::new(shape.clone(), Encoding::Bits, Words::Host(Arc::new(bit)));
        Ok(bits.into_iter().map(made).collect())
    }

    fn __repr__(&self) -> String {
        format!("<girih.LargeServerKey {:.8} on {}>", self.server.key_id(), self.device)
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle().into())
    }
}
