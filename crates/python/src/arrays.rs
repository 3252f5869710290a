//! Array-likes in, arrays out: whatever `numpy.asarray` takes, of any order in memory.

use numpy::{
    Complex64, Element, IxDyn, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// `numpy.asarray`.
static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Entries in the order of rows, and the shape that they had.
pub struct Values<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// The shape.
    pub shape: Vec<usize>,
}

fn as_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = value.py();
    let as_array = AS_ARRAY
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("asarray")?.unbind()))?;
    Ok(as_array.bind(py).call1((value,))?.cast_into::<PyUntypedArray>()?)
}

/// The entries as `T`, converted by NumPy where they are of another type.
fn entries<T: Element + Copy>(array: &Bound<'_, PyUntypedArray>, dtype: &str) -> PyResult<Vec<T>> {
    let array = match array.cast::<numpy::PyArrayDyn<T>>() {
        Ok(array) => array.clone(),
        Err(_) => array.call_method1("astype", (dtype,))?.cast_into::<numpy::PyArrayDyn<T>>()?,
    };
    let array: PyReadonlyArrayDyn<'_, T> = array.try_readonly().map_err(|e| {
        PyValueError::new_err(format!("the array is being written to elsewhere: {e}"))
    })?;
    Ok(match array.as_slice() {
        // Arrays in the order of columns are slices, too, of that order.
        Ok(slice) if array.is_c_contiguous() => slice.to_vec(),
        _ => array.as_array().iter().copied().collect(),
    })
}

/// The letter of NumPy for an array's kind of numbers.
fn kind(array: &Bound<'_, PyUntypedArray>) -> u8 {
    array.dtype().kind()
}

fn wrong_type(what: &str, wanted: &str, array: &Bound<'_, PyUntypedArray>) -> PyErr {
    PyTypeError::new_err(format!("{what} must be {wanted}, not {}", array.dtype()))
}

/// Booleans, or integers that are 0 or 1.
///
/// # Errors
/// `TypeError` for other types, `ValueError` for other numbers, each naming `what`.
pub fn bits(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Values<bool>> {
    let array = as_array(value)?;
    let shape = array.shape().to_vec();
    let entries = match kind(&array) {
        _ if array.is_empty() => Vec::new(),
        b'b' => entries(&array, "bool")?,
        b'i' | b'u' => entries::<i64>(&array, "int64")?
            .into_iter()
            .map(|bit| match bit {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(PyValueError::new_err(format!("{what} must be 0 or 1, and one is not"))),
            })
            .collect::<PyResult<_>>()?,
        _ => return Err(wrong_type(what, "booleans, or the integers 0 and 1", &array)),
    };
    Ok(Values { entries, shape })
}

/// Integers from 0 on.
///
/// # Errors
/// `TypeError` for other types, `ValueError` for negative numbers, each naming `what`.
pub fn integers(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Values<u64>> {
    let array = as_array(value)?;
    let shape = array.shape().to_vec();
    let entries = match kind(&array) {
        _ if array.is_empty() => Vec::new(),
        b'b' | b'u' => entries(&array, "uint64")?,
        b'i' => entries::<i64>(&array, "int64")?
            .into_iter()
            .map(|m| {
                u64::try_from(m).map_err(|_| {
                    PyValueError::new_err(format!("{what} must not be negative, but one is"))
                })
            })
            .collect::<PyResult<_>>()?,
        _ => return Err(wrong_type(what, "integers of at most 64 bits", &array)),
    };
    Ok(Values { entries, shape })
}

/// Real or complex numbers.
///
/// # Errors
/// `TypeError` for what are no numbers, naming `what`.
pub fn numbers(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Values<Complex64>> {
    let array = as_array(value)?;
    let shape = array.shape().to_vec();
    let entries = match kind(&array) {
        _ if array.is_empty() => Vec::new(),
        b'b' | b'i' | b'u' | b'f' => {
            entries::<f64>(&array, "float64")?.into_iter().map(Complex64::from).collect()
        }
        b'c' => entries(&array, "complex128")?,
        _ => return Err(wrong_type(what, "real or complex numbers", &array)),
    };
    Ok(Values { entries, shape })
}

/// A list of real numbers: an imaginary part is refused, where NumPy would drop it.
///
/// # Errors
/// `TypeError` for what are none, `ValueError` for several axes, each naming `what`.
pub fn reals(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let array = as_array(value)?;
    if array.ndim() != 1 {
        return Err(PyValueError::new_err(format!("{what} must be a list of numbers")));
    }
    match kind(&array) {
        _ if array.is_empty() => Ok(Vec::new()),
        b'b' | b'i' | b'u' | b'f' => entries(&array, "float64"),
        _ => Err(wrong_type(what, "real numbers", &array)),
    }
}

/// An array of this shape; of none, a scalar.
///
/// # Errors
/// If NumPy refuses, as where memory runs out.
pub fn array<'py, T: Element>(
    py: Python<'py>,
    entries: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, entries);
    match shape {
        [] => flat.get_item(0),
        [_] => Ok(flat.into_any()),
        _ => Ok(flat.reshape(IxDyn(shape))?.into_any()),
    }
}

/// `bytes`, or anything that has them: `bytearray`, `memoryview`, `pickle.PickleBuffer`, arrays.
///
/// # Errors
/// `TypeError` for anything else, naming `what`.
pub fn bytes<'py>(
    value: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    if let Ok(bytes) = value.cast::<pyo3::types::PyBytes>() {
        return Ok(bytes.clone());
    }
    let py = value.py();
    let wrong = |_| match value.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("{what} must be bytes, not {name}")),
        Err(error) => error,
    };
    // `bytes(5)` would be five zeros: only what has a buffer will do.
    let view = py.import("builtins")?.getattr("memoryview")?.call1((value,)).map_err(wrong)?;
    Ok(view.call_method0("tobytes")?.cast_into::<pyo3::types::PyBytes>()?)
}
