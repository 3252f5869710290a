//! Evaluation keys.

use super::sets::{ParameterSet, set_of};
use crate::arrays;
use crate::call::compute;
use crate::pickle;
use girih::tfhe;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The public keys of one client: what a server loads. They are pickled as their bytes.
#[pyclass(frozen, module = "girih")]
pub struct EvaluationKeys(pub Arc<tfhe::EvaluationKeys>);

#[pymethods]
impl EvaluationKeys {
    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.0.set().clone())
    }

    /// Name of the client key that they were made from.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// What there are keys for, in words; with key_id it says which keys these are.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        vec![format!("bootstrapping under {}", self.0.set())]
    }

    /// Bytes in memory, which is also about the size of to_bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// The keys as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = compute(py, || self.0.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads what to_bytes wrote; with `parameters`, for that set alone.
    #[staticmethod]
    #[pyo3(signature = (data, parameters = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let data = arrays::bytes(data, "evaluation keys")?;
        let (set, data) = (parameters.map(set_of).transpose()?, data.as_bytes());
        let keys = compute(py, || match &set {
            Some(set) => tfhe::EvaluationKeys::from_bytes_for(set, data),
            None => tfhe::EvaluationKeys::from_bytes(data),
        })?;
        Ok(Self(Arc::new(keys)))
    }

    fn __repr__(&self) -> String {
        let (id, set) = (self.0.key_id(), self.0.set());
        format!("<girih.EvaluationKeys {id:.8} of {set}: {} bytes>", self.0.bytes())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let read = py.get_type::<Self>().getattr("from_bytes")?;
        let data = pickle::buffer(py, self.to_bytes(py)?, protocol)?;
        Ok((read, (data,)).into_pyobject(py)?.into_any())
    }
}
