//! What travels: keys and ciphertexts as bytes, and pickles, which are those bytes.

use crate::arrays;
use crate::call::compute;
use crate::errors::Failure;
use girih::{ckks, tfhe};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// What has a wire form.
pub trait Wire: Send + Sync + Sized {
    /// What it is, in exceptions.
    const WHAT: &'static str;
    /// Its parameter sets.
    type Set: Send + Sync;
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
    fn write(&self) -> Result<impl AsRef<[u8]> + Send, Self::Error>;

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

            fn write(&self) -> Result<impl AsRef<[u8]> + Send, Self::Error> {
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

/// The bytes of one thing.
///
/// # Errors
/// As [`Wire::write`].
pub fn write<'py, T: Wire>(py: Python<'py>, value: &T) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = compute(py, || value.write())?;
    Ok(PyBytes::new(py, bytes.as_ref()))
}

/// The bytes of each of several.
///
/// # Errors
/// As [`Wire::write`].
pub fn write_all<'py, T: Wire>(
    py: Python<'py>,
    values: &[T],
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    values.iter().map(|value| write(py, value)).collect()
}

/// What [`write`] wrote, from anything that has bytes; of `parameters` alone where they are given.
///
/// # Errors
/// As [`Wire::set_of`] and [`Wire::read`], and `TypeError` for what has no bytes.
pub fn read<T: Wire>(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    parameters: Option<&Bound<'_, PyAny>>,
) -> PyResult<T> {
    let data = arrays::bytes(data, T::WHAT)?;
    let (set, data) = (parameters.map(T::set_of).transpose()?, data.as_bytes());
    compute(py, || T::read(data, set.as_ref()))
}

/// What [`write_all`] wrote.
///
/// # Errors
/// As [`read`].
pub fn read_all<T: Wire>(py: Python<'_>, data: &[Bound<'_, PyAny>]) -> PyResult<Vec<T>> {
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

/// What `__reduce_ex__` of the class `C` returns, whose static `from_bytes` reads `bytes`.
///
/// # Errors
/// As [`buffer`].
pub fn reduce<'py, C: PyTypeInfo>(
    py: Python<'py>,
    bytes: Bound<'py, PyBytes>,
    protocol: i32,
) -> PyResult<Bound<'py, PyAny>> {
    let read = py.get_type::<C>().getattr("from_bytes")?;
    Ok((read, (buffer(py, bytes, protocol)?,)).into_pyobject(py)?.into_any())
}
