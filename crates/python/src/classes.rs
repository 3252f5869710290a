//! Arguments that are objects of one class. Classes of several schemes share their names, so what
//! is refused is told by names that say the scheme.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{Borrowed, PyTypeInfo};
use std::ops::Deref;

/// An argument of this class.
pub struct The<'py, T>(Bound<'py, T>);

impl<'py, T> Deref for The<'py, T> {
    type Target = Bound<'py, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a, 'py, T: PyTypeInfo> FromPyObject<'a, 'py> for The<'py, T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(one) = object.cast::<T>() {
            return Ok(Self(one.to_owned()));
        }
        let wanted = T::type_object(object.py()).fully_qualified_name()?;
        let found = object.get_type().fully_qualified_name()?;
        Err(PyTypeError::new_err(format!("{wanted} is wanted, not {found}")))
    }
}
