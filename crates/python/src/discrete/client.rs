//! The secret key, and the public one.

use super::held::{self, Maker};
use super::integers::DiscreteIntegers;
use super::keys::DiscreteEvaluationKeys;
use super::numbers::{DiscreteNumbers, Layout, plain};
use super::sets::{DiscreteParameters, set_of};
use crate::call::{compute, supervise, wait};
use crate::errors::Failure;
use crate::integer::kind::{self, Kind, plains};
use crate::tfhe::client::{refuse_pickle, seed};
use crate::{arrays, wire};
use girih::discrete::{self, EncryptedNumbers};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The secret key: encrypts, decrypts, and makes evaluation and public keys. It stays with the
/// data's owner, and is not pickled.
#[pyclass(frozen, module = "girih.discrete", name = "ClientKey")]
pub struct DiscreteClientKey(pub Arc<discrete::ClientKey>);

/// A public key, with which anyone can encrypt.
#[pyclass(frozen, module = "girih.discrete", name = "PublicKey")]
pub struct DiscretePublicKey(Arc<discrete::PublicKey>);

/// Encrypts the numbers of an array with a key.
fn numbers(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    below: Option<u32>,
    set: &discrete::DiscreteParameters,
    encrypt: impl Fn(&[Vec<u32>], u32) -> discrete::Result<EncryptedNumbers> + Send + 'static,
) -> PyResult<DiscreteNumbers> {
    let (values, shape, bits) = plain(values)?;
    let below = below.unwrap_or(if bits { 2 } else { set.modulus() });
    let columns = Layout::new(values.len(), set.numbers()).columns(&values);
    let batch = wait(py, move || encrypt(&columns, below))?;
    Ok(DiscreteNumbers::on_the_host(shape, batch))
}

/// Encrypts integers with a key.
fn integers(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    maker: Maker,
) -> PyResult<DiscreteIntegers> {
    let (values, shape, kind) = plains(values, dtype.map(Kind::of).transpose()?)?;
    if values.is_empty() {
        return Err(Failure::mismatch("no integers: there must be at least one").into());
    }
    let host = wait(py, move || held::encrypt(kind, &maker, &values))?;
    Ok(DiscreteIntegers::on_the_host(shape, host))
}

#[pymethods]
impl DiscreteClientKey {
    /// Draws a new key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: &Bound<'_, PyAny>) -> PyResult<Self> {
        let set = set_of(parameters)?;
        Ok(Self(Arc::new(wait(py, move || discrete::ClientKey::generate(&set))?)))
    }

    /// For tests only: a key, and all that it makes, from 32 bytes. Who knows them knows the key.
    #[staticmethod]
    fn generate_seeded_for_tests(
        py: Python<'_>,
        parameters: &Bound<'_, PyAny>,
        seed_bytes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (set, seed) = (set_of(parameters)?, seed(seed_bytes)?);
        let key = compute(py, || discrete::ClientKey::generate_seeded_for_tests(&set, seed))?;
        Ok(Self(Arc::new(key)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(self.0.set().clone())
    }

    /// The key's public name, which its other keys and its ciphertexts carry.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// A public key.
    fn public_key(&self, py: Python<'_>) -> PyResult<DiscretePublicKey> {
        let key = Arc::clone(&self.0);
        Ok(DiscretePublicKey(Arc::new(wait(py, move || key.public_key())?)))
    }

    /// Makes the evaluation keys, which are public.
    #[pyo3(signature = (*, progress = None))]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DiscreteEvaluationKeys> {
        let client = Arc::clone(&self.0);
        let keys = supervise(py, progress, move |progress| {
            discrete::EvaluationKeys::generate(&client, progress)
        })?;
        Ok(DiscreteEvaluationKeys(Arc::new(keys), wire::Digest::default()))
    }

    /// Encrypts booleans, or whole numbers from 0 on below `below`: 2 for booleans, else the set's
    /// modulus unless given. It is public; the smaller it is, the larger weights the numbers may
    /// have in sums.
    #[pyo3(signature = (values, *, below = None))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        below: Option<u32>,
    ) -> PyResult<DiscreteNumbers> {
        let key = Arc::clone(&self.0);
        let encrypt = move |columns: &[Vec<u32>], below| key.encrypt_batch(columns, below);
        numbers(py, values, below, self.0.set(), encrypt)
    }

    /// Encrypts integers of 4 to 256 bits, or booleans as conditions; `dtype` as
    /// girih.ClientKey.encrypt_integers takes it.
    #[pyo3(signature = (values, dtype = None))]
    fn encrypt_integers(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DiscreteIntegers> {
        integers(py, values, dtype, Maker::Client(Arc::clone(&self.0)))
    }

    /// Decrypts Numbers to whole numbers (int64), or Integers to an array of their dtype.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = Arc::clone(&self.0);
        if let Ok(integers) = array.cast::<DiscreteIntegers>() {
            let (integers, host) = (integers.get(), integers.get().host(py)?);
            let values = wait(py, move || host.decrypt(&key))?;
            return kind::array(py, &values, integers.kind(), &integers.shape);
        }
        let Ok(numbers) = array.cast::<DiscreteNumbers>() else {
            return Err(PyTypeError::new_err(format!(
                "girih.discrete.Numbers or Integers are wanted, not {}",
                array.get_type().fully_qualified_name()?
            )));
        };
        let (numbers, host) = (numbers.get(), numbers.get().host(py)?);
        let mut values = wait(py, move || key.decrypt_integers(&host))?;
        values.truncate(numbers.count());
        arrays::array(py, values, &numbers.shape)
    }

    /// The key as bytes: who has them can decrypt everything.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        wire::write(py, &self.0)
    }

    /// Reads what to_bytes wrote; with `parameters`, for that set alone.
    #[staticmethod]
    #[pyo3(signature = (data, parameters = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(wire::read(py, data, parameters)?)))
    }

    fn __repr__(&self) -> String {
        format!("<girih.discrete.ClientKey {:.8} of {}>", self.0.key_id(), self.0.set().name())
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle())
    }
}

#[pymethods]
impl DiscretePublicKey {
    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(self.0.set().clone())
    }

    /// Name of the client key that can decrypt.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// Encrypts as ClientKey.encrypt does, with larger errors.
    #[pyo3(signature = (values, *, below = None))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        below: Option<u32>,
    ) -> PyResult<DiscreteNumbers> {
        let key = Arc::clone(&self.0);
        let encrypt = move |columns: &[Vec<u32>], below| key.encrypt_batch(columns, below);
        numbers(py, values, below, self.0.set(), encrypt)
    }

    /// Encrypts as ClientKey.encrypt_integers does.
    #[pyo3(signature = (values, dtype = None))]
    fn encrypt_integers(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DiscreteIntegers> {
        integers(py, values, dtype, Maker::Public(Arc::clone(&self.0)))
    }

    /// The key as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        wire::write(py, &self.0)
    }

    /// Reads what to_bytes wrote; with `parameters`, for that set alone.
    #[staticmethod]
    #[pyo3(signature = (data, parameters = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(wire::read(py, data, parameters)?)))
    }

    fn __repr__(&self) -> String {
        format!("<girih.discrete.PublicKey {:.8} of {}>", self.0.key_id(), self.0.set().name())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("DiscretePublicKey", data))
    }
}
