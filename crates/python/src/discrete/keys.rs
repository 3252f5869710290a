//! Evaluation keys.

use super::sets::DiscreteParameters;
use crate::wire::{self, Digest};
use girih::discrete;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// Keys with which a server computes on numbers and integers. They are public.
#[pyclass(frozen, module = "girih.discrete", name = "EvaluationKeys")]
pub struct DiscreteEvaluationKeys(pub Arc<discrete::EvaluationKeys>, pub Digest);

#[pymethods]
impl DiscreteEvaluationKeys {
    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(self.0.set().clone())
    }

    /// Name of the client key that they were made from.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// Bytes in memory, which is also about the size of to_bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// 32 hexadecimal digits that depend on every byte of to_bytes. A key_id is a name that anyone
    /// can write; this says which keys these are.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.1.of(py, String::new(), &self.0, |keys| vec![keys])
    }

    /// The keys as bytes that end with a checksum.
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
        Ok(Self(Arc::new(wire::read(py, data, parameters)?), Digest::default()))
    }

    fn __repr__(&self) -> String {
        let (id, set) = (self.0.key_id(), self.0.set().name());
        format!("<girih.discrete.EvaluationKeys {id:.8} of {set}: {} bytes>", self.0.bytes())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("DiscreteEvaluationKeys", data))
    }
}
