//! `with server:`: which server operators use.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// A `contextvars.ContextVar` that holds the entered servers, the innermost last. It belongs to a
/// thread or an asynchronous task, as such variables do.
static SERVERS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn servers(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let made = SERVERS.get_or_try_init(py, || {
        let class = py.import("contextvars")?.getattr("ContextVar")?;
        Ok::<_, PyErr>(class.call1(("girih.servers",))?.unbind())
    })?;
    Ok(made.bind(py))
}

fn entered<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
    Ok(servers(py)?.call_method1(pyo3::intern!(py, "get"), (PyTuple::empty(py),))?.cast_into()?)
}

/// Makes `server` the innermost one.
///
/// # Errors
/// Those of Python.
pub fn enter(server: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = server.py();
    let more = entered(py)?.iter().chain([server.clone()]).collect::<Vec<_>>();
    servers(py)?.call_method1("set", (PyTuple::new(py, more)?,)).map(drop)
}

/// Leaves the innermost server.
///
/// # Errors
/// Those of Python.
pub fn exit(py: Python<'_>) -> PyResult<()> {
    let entered = entered(py)?;
    let fewer = entered.get_slice(0, entered.len().saturating_sub(1));
    servers(py)?.call_method1("set", (fewer,)).map(drop)
}

/// The innermost server of this class.
///
/// # Errors
/// Those of Python.
pub fn innermost<'py, T: PyClass>(py: Python<'py>) -> PyResult<Option<Bound<'py, T>>> {
    let entered = entered(py)?;
    for at in (0..entered.len()).rev() {
        if let Ok(server) = entered.get_item(at)?.cast_into::<T>() {
            return Ok(Some(server));
        }
    }
    Ok(None)
}
