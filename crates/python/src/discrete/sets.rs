//! Parameter sets.

use crate::call::{compute, wait};
use crate::errors::Failure;
use crate::wire;
use girih::discrete;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A checked parameter set of numbers in slots: Parameters("DISCRETE_4"), or
/// Parameters.from_toml(text).
#[pyclass(frozen, module = "girih.discrete", name = "Parameters", eq)]
#[derive(PartialEq)]
pub struct DiscreteParameters(pub discrete::DiscreteParameters);

#[pymethods]
impl DiscreteParameters {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || discrete::DiscreteParameters::by_name(name))?))
    }

    /// Reads and checks a parameter file.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || discrete::DiscreteParameters::from_toml(text))?))
    }

    /// Names of the published sets.
    #[staticmethod]
    fn names(py: Python<'_>) -> PyResult<Vec<String>> {
        let all = compute(py, || Ok::<_, Failure>(discrete::DiscreteParameters::all()))?;
        Ok(all.iter().map(|set| set.name().to_owned()).collect())
    }

    /// The set as a parameter file.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// What the set is for.
    #[getter]
    fn description(&self) -> &str {
        self.0.description()
    }

    /// p: look-ups read numbers modulo it, or a divisor of it.
    #[getter]
    fn modulus(&self) -> u32 {
        self.0.modulus()
    }

    /// Numbers of a ciphertext.
    #[getter]
    fn numbers(&self) -> usize {
        self.0.numbers()
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
        format!("girih.discrete.Parameters({:?})", self.0.name())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.name().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wire::reduce(py, ("DiscreteParameters", self.0.to_toml()))
    }
}

/// A set, or the name of one.
///
/// # Errors
/// `TypeError` for anything else, `UnknownSetError` for a name that there is not.
pub fn set_of(value: &Bound<'_, PyAny>) -> PyResult<discrete::DiscreteParameters> {
    if let Ok(set) = value.cast::<DiscreteParameters>() {
        return Ok(set.get().0.clone());
    }
    match value.extract::<String>() {
        Ok(name) => compute(value.py(), || discrete::DiscreteParameters::by_name(&name)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a parameter set is a girih.discrete.Parameters or a name, not {}",
            value.get_type().name()?
        ))),
    }
}
