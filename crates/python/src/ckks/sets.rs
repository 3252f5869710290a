//! Parameter sets.

use crate::call::{compute, wait};
use crate::errors::Failure;
use crate::wire;
use girih::ckks;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A checked parameter set of CKKS: Parameters("CKKS_D40"), or Parameters.from_toml(text).
#[pyclass(frozen, module = "girih.ckks", name = "Parameters", eq)]
#[derive(PartialEq)]
pub struct CkksParameters(pub ckks::CkksParameters);

#[pymethods]
impl CkksParameters {
    #[new]
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || ckks::CkksParameters::by_name(name))?))
    }

    /// Reads and checks a parameter file.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || ckks::CkksParameters::from_toml(text))?))
    }

    /// Finds primes for a scale, a depth and a degree, without bootstrapping: a set of `levels`
    /// levels, or of as many as `security` bits (128, 192 or 256) allow. Level 0 has `headroom`
    /// bits beyond the scale. More `auxiliary` primes make keys of fewer parts, and cost security.
    /// A name that begins with INSECURE_ says that the set need not be secure.
    #[staticmethod]
    #[pyo3(signature = (
        name, *, log2_degree, log2_scale, auxiliary, levels = None, headroom = 10.0,
        security = 128, description = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn generate(
        py: Python<'_>,
        name: String,
        log2_degree: u32,
        log2_scale: f64,
        auxiliary: usize,
        levels: Option<usize>,
        headroom: f64,
        security: u32,
        description: Option<String>,
    ) -> PyResult<Self> {
        let request = ckks::params::GeneratorRequest {
            name,
            description: description.unwrap_or_default(),
            log2_degree,
            log2_scale,
            normal_levels: levels,
            headroom,
            prime_bits: 31,
            auxiliary,
            security,
            bootstrapping: None,
        };
        Ok(Self(wait(py, move || request.generate())?))
    }

    /// Names of the published sets.
    #[staticmethod]
    fn names(py: Python<'_>) -> PyResult<Vec<String>> {
        let all = compute(py, || Ok::<_, Failure>(ckks::CkksParameters::all()))?;
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

    /// Where the set comes from.
    #[getter]
    fn description(&self) -> &str {
        self.0.description()
    }

    /// Slots of a full vector: half the ring's degree.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The level of fresh ciphertexts: how many products one after another they allow.
    #[getter]
    fn default_level(&self) -> usize {
        self.0.default_level()
    }

    /// The lowest level that a bootstrapping can begin at.
    #[getter]
    fn bootstrap_level(&self) -> usize {
        self.0.bootstrap_level()
    }

    /// Whether ciphertexts of this set can be bootstrapped.
    #[getter]
    fn bootstraps(&self) -> bool {
        self.0.bootstrapping().is_some()
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
        format!("girih.ckks.Parameters({:?})", self.0.name())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.name().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wire::reduce(py, ("CkksParameters", self.0.to_toml()))
    }
}

/// A set, or the name of one.
///
/// # Errors
/// `TypeError` for anything else, `UnknownSetError` for a name that there is not.
pub fn set_of(value: &Bound<'_, PyAny>) -> PyResult<ckks::CkksParameters> {
    if let Ok(set) = value.cast::<CkksParameters>() {
        return Ok(set.get().0.clone());
    }
    match value.extract::<String>() {
        Ok(name) => compute(value.py(), || ckks::CkksParameters::by_name(&name)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a parameter set is a girih.ckks.Parameters or a name, not {}",
            value.get_type().name()?
        ))),
    }
}
