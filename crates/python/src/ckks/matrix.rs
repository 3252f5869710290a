//! Matrices and linear maps in the clear.

use crate::arrays;
use crate::call::compute;
use crate::errors::Failure;
use crate::tfhe::gather::display;
use girih::ckks::server;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A matrix in the clear, to be multiplied by encrypted vectors: `matrix @ x`.
#[pyclass(frozen, module = "girih.ckks")]
pub struct Matrix(pub Arc<server::Matrix>);

/// A linear map of slots by its diagonals: slot j of the result is the sum over d of
/// diagonal_d[j] * x[j + d].
#[pyclass(frozen, module = "girih.ckks")]
pub struct LinearMap(pub Arc<server::LinearMap>);

/// The matrix that an array of two dimensions is.
///
/// # Errors
/// Those of array-likes, and for other dimensions.
pub fn matrix_of(entries: &Bound<'_, PyAny>) -> PyResult<Arc<server::Matrix>> {
    if let Ok(matrix) = entries.cast::<Matrix>() {
        return Ok(Arc::clone(&matrix.get().0));
    }
    let values = arrays::numbers(entries, "entries of a matrix")?;
    let [rows, columns] = values.shape[..] else {
        let why = format!("a matrix has two dimensions, not shape {}", display(&values.shape));
        return Err(Failure::mismatch(why).into());
    };
    let matrix = compute(entries.py(), || server::Matrix::new(rows, columns, &values.entries))?;
    Ok(Arc::new(matrix))
}

#[pymethods]
impl Matrix {
    #[new]
    fn new(entries: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(matrix_of(entries)?))
    }

    /// (rows, columns).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }

    /// The rotations whose keys a product with an encrypted vector needs.
    fn rotations(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        compute(py, || self.0.rotations())
    }

    /// The rotations whose keys the product of two encrypted size x size matrices needs.
    #[staticmethod]
    fn product_rotations(py: Python<'_>, size: usize) -> PyResult<Vec<i64>> {
        compute(py, || match size {
            ..=1024 => Ok(server::Matrix::product_rotations(size)?),
            _ => Err(Failure::mismatch(format!("{size} x {size} matrices fit no vector"))),
        })
    }

    fn __repr__(&self) -> String {
        format!("<girih.ckks.Matrix {} x {}>", self.0.rows(), self.0.columns())
    }

    /// NumPy's operators leave those of arrays and matrices to the matrices.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }
}

#[pymethods]
impl LinearMap {
    /// The map of `slots` slots with these diagonals: a dict from rotation to the left to `slots`
    /// factors.
    #[new]
    fn new(py: Python<'_>, slots: usize, diagonals: &Bound<'_, PyDict>) -> PyResult<Self> {
        let diagonals = diagonals
            .iter()
            .map(|(by, factors)| {
                Ok((by.extract::<i64>()?, arrays::numbers(&factors, "a diagonal")?.entries))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let map = compute(py, || server::LinearMap::from_diagonals(slots, diagonals))?;
        Ok(Self(Arc::new(map)))
    }

    /// Its slots.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The rotations whose keys it needs.
    fn rotations(&self) -> Vec<i64> {
        self.0.rotations()
    }

    fn __repr__(&self) -> String {
        let (slots, count) = (self.0.slots(), self.0.diagonals().count());
        format!("<girih.ckks.LinearMap of {slots} slots: {count} diagonals>")
    }
}
