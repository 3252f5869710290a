//! How things are pickled: as their wire bytes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
