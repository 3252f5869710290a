//! The secret key.

use super::ciphertexts::{Ciphertexts, Encoding, Words};
use super::keys::EvaluationKeys;
use super::sets::{ParameterSet, set_of};
use crate::arrays::{self, Values};
use crate::call::{compute, supervise, wait, wait_for};
use crate::classes::The;
use crate::errors::Failure;
use crate::integer::ciphertexts::IntegerCiphertexts;
use crate::integer::kind::{self, Kind, plains};
use crate::integer::number;
use crate::wire;
use girih::tfhe;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The secret key: encrypts, decrypts, and makes evaluation keys. It stays with the data's owner,
/// and is not pickled.
#[pyclass(frozen, module = "girih")]
pub struct ClientKey(pub Arc<tfhe::ClientKey>);

/// The words with which secret keys refuse to be pickled.
pub fn refuse_pickle() -> PyErr {
    Failure::new(
        "SecretKeyError",
        "a client key is secret and is not pickled or copied: send evaluation keys and \
         ciphertexts; to keep it where only its owner reads, write ClientKey.to_bytes() there",
    )
    .into()
}

/// The 32 bytes of a seed.
///
/// # Errors
/// `ValueError` for another number of them.
pub fn seed(value: &Bound<'_, PyAny>) -> PyResult<[u8; 32]> {
    let bytes = arrays::bytes(value, "a seed")?;
    <[u8; 32]>::try_from(bytes.as_bytes()).map_err(|_| {
        PyValueError::new_err(format!("a seed has 32 bytes, not {}", bytes.as_bytes().len()))
    })
}

impl ClientKey {
    /// Decrypts integers.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        integers: &IntegerCiphertexts,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (host, key) = (integers.host(py)?, Arc::clone(&self.0));
        let kind = host.kind();
        let values = wait(py, move || host.decrypt(&key))?;
        kind::array(py, &values, kind, &integers.shape)
    }
}

#[pymethods]
impl ClientKey {
    /// Draws a new key from the operating system's randomness.
    #[staticmethod]
    #[pyo3(signature = (parameters = None))]
    fn generate(py: Python<'_>, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let set = parameters.map_or_else(|| Ok(tfhe::ParameterSet::default()), set_of)?;
        Ok(Self(Arc::new(compute(py, || tfhe::ClientKey::generate(&set))?)))
    }

    /// For tests only: a key, and all that it makes, from 32 bytes. Who knows them knows the key.
    #[staticmethod]
    fn generate_seeded_for_tests(
        py: Python<'_>,
        parameters: &Bound<'_, PyAny>,
        seed_bytes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (set, seed) = (set_of(parameters)?, seed(seed_bytes)?);
        let key = compute(py, || tfhe::ClientKey::generate_seeded_for_tests(&set, seed))?;
        Ok(Self(Arc::new(key)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.0.set().clone())
    }

    /// The key's public name, which its evaluation keys and ciphertexts carry.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// Makes the evaluation keys, which are public: what a server needs.
    #[pyo3(signature = (*, progress = None))]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EvaluationKeys> {
        let client = Arc::clone(&self.0);
        let keys = supervise(py, progress, move |p| tfhe::EvaluationKeys::generate(&client, p))?;
        Ok(EvaluationKeys(Arc::new(keys), crate::wire::Digest::default()))
    }

    /// Encrypts an array of booleans, or of messages below 2**bits where `bits` is given.
    #[pyo3(signature = (values, *, bits = None))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        bits: Option<u32>,
    ) -> PyResult<Ciphertexts> {
        let key = Arc::clone(&self.0);
        let (batch, shape) = match bits {
            None => {
                let Values { entries, shape } = arrays::bits(values, "bits")?;
                (wait_for(py, entries.len(), move || key.encrypt_bits(&entries))?, shape)
            }
            Some(bits) => {
                let Values { entries, shape } = arrays::integers(values, "messages")?;
                let count = entries.len();
                (wait_for(py, count, move || key.encrypt_messages(&entries, bits))?, shape)
            }
        };
        let encoding = bits.map_or(Encoding::Bits, Encoding::Messages);
        Ok(Ciphertexts::new(shape, encoding, Words::Host(Arc::new(batch))))
    }

    /// Decrypts to an array of booleans, of messages, or of integers of girih.integer, in the shape
    /// of the ciphertexts.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertexts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(integers) = ciphertexts.cast::<IntegerCiphertexts>() {
            return self.integers(py, integers.get());
        }
        let ciphertexts: The<'_, Ciphertexts> = ciphertexts.extract()?;
        let (ciphertexts, batch) = (ciphertexts.get(), ciphertexts.get().on_host(py)?);
        let key = Arc::clone(&self.0);
        match ciphertexts.encoding {
            Encoding::Bits => {
                let bits = wait_for(py, batch.len(), move || key.decrypt_bits(&batch))?;
                arrays::array(py, bits, &ciphertexts.shape)
            }
            Encoding::Messages(bits) => {
                let messages =
                    wait_for(py, batch.len(), move || key.decrypt_messages(&batch, bits))?;
                arrays::array(py, messages, &ciphertexts.shape)
            }
            Encoding::Large => Err(Failure::mismatch(
                "large messages are decrypted by LargeParameters.decrypt(client, ciphertexts), \
                 which knows their encoding",
            )
            .into()),
        }
    }

    /// Encrypts integers or booleans for girih.integer: of the array's dtype, or of the given one,
    /// "uint4" to "uint128", "int4" to "int128", "bool", or a dtype of NumPy. int64, which NumPy
    /// takes where nobody names another, has to be named.
    #[pyo3(signature = (values, dtype = None))]
    fn encrypt_integers(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<IntegerCiphertexts> {
        let dtype = dtype.map(Kind::of).transpose()?;
        let (values, shape, kind) = plains(values, dtype)?;
        let key = Arc::clone(&self.0);
        let host = wait(py, move || number::encrypt(kind, &key, &values))?;
        Ok(IntegerCiphertexts::on_the_host(shape, host))
    }

    /// Decrypts them: an array of their dtype; of 4 bits one of 8, of 128 bits one of objects.
    fn decrypt_integers<'py>(
        &self,
        py: Python<'py>,
        integers: The<'py, IntegerCiphertexts>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.integers(py, integers.get())
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
        format!("<girih.ClientKey {:.8} of {}>", self.0.key_id(), self.0.set())
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle())
    }
}
