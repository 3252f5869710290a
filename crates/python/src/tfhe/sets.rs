//! Parameter sets.

use crate::call::wait;
use crate::errors::Failure;
use crate::wire;
use girih::tfhe;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A checked parameter set of TFHE: ParameterSet("STD128"), or ParameterSet.from_toml(text).
#[pyclass(frozen, module = "girih", eq)]
#[derive(PartialEq)]
pub struct ParameterSet(pub tfhe::ParameterSet);

#[pymethods]
impl ParameterSet {
    #[new]
    #[pyo3(signature = (name = "STD128"))]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self(tfhe::ParameterSet::by_name(name).map_err(Failure::from)?))
    }

    /// Reads and checks a parameter file.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        Ok(Self(tfhe::ParameterSet::from_toml(text).map_err(Failure::from)?))
    }

    /// Names of the published sets.
    #[staticmethod]
    fn names() -> Vec<String> {
        tfhe::ParameterSet::all().iter().map(ToString::to_string).collect()
    }

    /// The set as a parameter file.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// The same set with `packing` messages to a ciphertext.
    fn with_packing(&self, packing: usize) -> PyResult<Self> {
        Ok(Self(self.0.with_packing(packing).map_err(Failure::from)?))
    }

    /// The name, packing included.
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// Where the set comes from.
    #[getter]
    fn description(&self) -> String {
        self.0.description().to_owned()
    }

    /// Messages of one ciphertext.
    #[getter]
    fn packing(&self) -> usize {
        self.0.packing()
    }

    /// What is known of its security, cost model included.
    #[getter]
    fn security(&self, py: Python<'_>) -> PyResult<String> {
        let set = self.0.clone();
        wait(py, move || Ok::<_, Failure>(set.security().text))
    }

    /// What must be known before one relies on it.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let set = self.0.clone();
        wait(py, move || Ok::<_, Failure>(set.warnings()))
    }

    fn __repr__(&self) -> String {
        format!("girih.ParameterSet({:?})", self.0.to_string())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wire::reduce(py, ("ParameterSet", self.0.to_toml()))
    }
}

/// A set, or the name of one.
///
/// # Errors
/// `TypeError` for anything else, `UnknownSetError` for a name that there is not.
pub fn set_of(value: &Bound<'_, PyAny>) -> PyResult<tfhe::ParameterSet> {
    if let Ok(set) = value.cast::<ParameterSet>() {
        return Ok(set.get().0.clone());
    }
    match value.extract::<String>() {
        Ok(name) => Ok(tfhe::ParameterSet::by_name(&name).map_err(Failure::from)?),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a parameter set is a girih.ParameterSet or a name, not {}",
            value.get_type().name()?
        ))),
    }
}
