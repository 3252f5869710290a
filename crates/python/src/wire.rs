//! What travels: keys and ciphertexts as bytes, and pickles, which are those bytes.

use crate::arrays;
use crate::call::wait;
use crate::errors::Failure;
use girih::{ckks, discrete, tfhe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::{Arc, OnceLock};

/// What has a wire form.
pub trait Wire: Send + Sync + Sized {
    /// What it is, in exceptions.
    const WHAT: &'static str;
    /// Its parameter sets.
    type Set: Send + Sync + 'static;
    /// What writing and reading fail with.
    type Error: Into<Failure> + Send;

    /// The set that an argument names.
    ///
    /// # Errors
    /// For an unknown name, and `TypeError` for what is none.
    fn set_of(value: &Bound<'_, PyAny>) -> PyResult<Self::Set>;

    /// Its bytes.
    ///
    /// # Errors
    /// Those of the crate.
    fn write(&self) -> Result<impl AsRef<[u8]> + Send + 'static + use<Self>, Self::Error>;

    /// What [`Wire::write`] wrote, where `set` is given for that one alone.
    ///
    /// # Errors
    /// Those of the crate, for bytes that are not its.
    fn read(bytes: &[u8], set: Option<&Self::Set>) -> Result<Self, Self::Error>;
}

/// Types of a scheme that have `to_bytes`, `from_bytes` and `from_bytes_for`.
macro_rules! wire {
    ($scheme:ident, $set:ty: $($type:ty = $what:literal),* $(,)?) => {$(
        impl Wire for $type {
            const WHAT: &'static str = $what;
            type Set = $set;
            type Error = $scheme::Error;

            fn set_of(value: &Bound<'_, PyAny>) -> PyResult<Self::Set> {
                crate::$scheme::sets::set_of(value)
            }

            fn write(
                &self,
            ) -> Result<impl AsRef<[u8]> + Send + 'static + use<>, Self::Error> {
                self.to_bytes()
            }

            fn read(bytes: &[u8], set: Option<&Self::Set>) -> Result<Self, Self::Error> {
                match set {
                    Some(set) => Self::from_bytes_for(set, bytes),
                    None => Self::from_bytes(bytes),
                }
            }
        }
    )*};
}

wire! { tfhe, tfhe::ParameterSet:
    tfhe::ClientKey = "a client key",
    tfhe::EvaluationKeys = "evaluation keys",
    tfhe::LweCiphertexts = "ciphertexts",
}
wire! { ckks, ckks::CkksParameters:
    ckks::ClientKey = "a client key",
    ckks::PublicKey = "a public key",
    ckks::EvaluationKeys = "evaluation keys",
    ckks::Ciphertext = "a ciphertext",
}
wire! { discrete, discrete::DiscreteParameters:
    discrete::ClientKey = "a client key",
    discrete::PublicKey = "a public key",
    discrete::EvaluationKeys = "evaluation keys",
}

/// The bytes of one thing.
///
/// # Errors
/// As [`Wire::write`].
pub fn write<'py, T: Wire + 'static>(
    py: Python<'py>,
    value: &Arc<T>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut all = write_all(py, value, |value| vec![value])?;
    Ok(all.swap_remove(0))
}

/// The bytes of each of several things that `owner` has, of which there is at least one.
///
/// # Errors
/// As [`Wire::write`].
pub fn write_all<'py, O: Send + Sync + 'static, T: Wire>(
    py: Python<'py>,
    owner: &Arc<O>,
    of: impl Fn(&O) -> Vec<&T> + Send + 'static,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let owner = Arc::clone(owner);
    let all =
        wait(py, move || of(&owner).into_iter().map(T::write).collect::<Result<Vec<_>, _>>())?;
    Ok(all.iter().map(|bytes| PyBytes::new(py, bytes.as_ref())).collect())
}

/// What [`write`] wrote, from anything that has bytes; of `parameters` alone where they are given.
///
/// # Errors
/// As [`Wire::set_of`] and [`Wire::read`], and `TypeError` for what has no bytes.
pub fn read<T: Wire + 'static>(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyAny>>,
) -> PyResult<T> {
    let data: PyBackedBytes = arrays::bytes(data, T::WHAT)?.into();
    let set = parameters.map(T::set_of).transpose()?;
    wait(py, move || T::read(&data, set.as_ref()))
}

/// What [`write_all`] wrote.
///
/// # Errors
/// As [`read`].
pub fn read_all<T: Wire + 'static>(py: Python<'_>, data: &[Bound<'_, PyAny>]) -> PyResult<Vec<T>> {
    data.iter().map(|one| read(py, one, None)).collect()
}

/// Bytes to be pickled: from protocol 5 on a buffer, which engines that send buffers beside the
/// pickle (Ray, Dask) do not copy.
///
/// # Errors
/// Those of Python's `pickle`.
pub fn buffer<'py>(
    py: Python<'py>,
    bytes: Bound<'py, PyBytes>,
    protocol: i32,
) -> PyResult<Bound<'py, PyAny>> {
    if protocol < 5 {
        return Ok(bytes.into_any());
    }
    py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))
}

/// [`buffer`] of each of several.
///
/// # Errors
/// As [`buffer`].
pub fn buffers<'py>(
    py: Python<'py>,
    all: Vec<Bound<'py, PyBytes>>,
    protocol: i32,
) -> PyResult<Bound<'py, PyList>> {
    let all = all.into_iter().map(|bytes| buffer(py, bytes, protocol));
    PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// A digest of bytes, or of several in this order: computed once, since keys do not change.
#[derive(Default)]
pub struct Digest(OnceLock<String>);

impl Digest {
    /// 32 hexadecimal digits of the BLAKE3 hash of `how` the `values` of `owner` are used and what
    /// they are written as.
    ///
    /// # Errors
    /// As [`Wire::write`].
    pub fn of<O: Send + Sync + 'static, T: Wire>(
        &self,
        py: Python<'_>,
        how: String,
        owner: &Arc<O>,
        values: impl Fn(&O) -> Vec<&T> + Send + 'static,
    ) -> PyResult<String> {
        if let Some(known) = self.0.get() {
            return Ok(known.clone());
        }
        let owner = Arc::clone(owner);
        let hash = wait(py, move || {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&(how.len() as u64).to_le_bytes()).update(how.as_bytes());
            for value in values(&owner) {
                let bytes = value.write()?;
                let bytes = bytes.as_ref();
                hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
            }
            Ok::<_, T::Error>(hasher.finalize())
        })?;
        Ok(self.0.get_or_init(|| hash.to_hex()[..32].to_owned()).clone())
    }
}

/// What reads pickles: classes of the native module, and their static methods.
const READERS: [(&str, &str); 14] = [
    ("CkksCiphertexts", "from_bytes"),
    ("CkksEvaluationKeys", "from_bytes"),
    ("CkksParameters", "from_toml"),
    ("CkksPublicKey", "from_bytes"),
    ("DiscreteEvaluationKeys", "from_bytes"),
    ("DiscreteIntegers", "from_bytes"),
    ("DiscreteNumbers", "from_bytes"),
    ("DiscreteParameters", "from_toml"),
    ("DiscretePublicKey", "from_bytes"),
    ("EncryptedBits", "from_bytes"),
    ("EvaluationKeys", "from_bytes"),
    ("IntegerCiphertexts", "from_bytes"),
    ("ParameterSet", "from_toml"),
    ("Polynomial", "from_chebyshev"),
];

/// What pickles call. A function of this module is all that they name: whoever reads pickles by a
/// list of names need not allow `getattr`, by which a pickle reaches everything.
///
/// # Errors
/// `ValueError` for a class that is not pickled, and those of its static method.
#[pyfunction]
#[pyo3(name = "_unpickle", signature = (class_name, *arguments))]
pub fn unpickle<'py>(
    py: Python<'py>,
    class_name: &str,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some((_, method)) = READERS.iter().find(|(name, _)| *name == class_name) else {
        let name: String = class_name.chars().take(40).collect();
        return Err(PyValueError::new_err(format!("no class {name:?} is pickled")));
    };
    py.import("girih._girih")?.getattr(class_name)?.call_method1(*method, arguments)
}

/// What `__reduce_ex__` of a class returns, which [`unpickle`] reads again: `arguments` begin with
/// its name in the native module, and go on with what its static method takes.
///
/// # Errors
/// Those of Python.
pub fn reduce<'py, A>(py: Python<'py>, arguments: A) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
{
    let read = py.import("girih._girih")?.getattr("_unpickle")?;
    Ok((read, arguments).into_pyobject(py)?.into_any())
}
