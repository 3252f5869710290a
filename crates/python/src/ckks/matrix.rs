//! Matrices and linear maps in the clear.

use crate::arrays;
use crate::call::{compute, wait};
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather::display;
use girih::ckks::{Complex64, server};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A matrix in the clear, to be multiplied by encrypted vectors: `matrix @ x` and `x @ matrix`. It
/// is for vectors of `slots` slots; unless given, of as many as it has columns, padded to a power
/// of two.
#[pyclass(frozen, module = "girih.ckks")]
pub struct Matrix {
    entries: Arc<server::Matrix>,
    slots: Option<usize>,
}

/// The matrix with more columns, of zeros.
///
/// # Errors
/// Those of `server::Matrix::new`.
pub fn widened(matrix: &server::Matrix, columns: usize) -> girih::ckks::Result<server::Matrix> {
    let (rows, own) = (matrix.rows(), matrix.columns());
    let mut entries = Vec::new();
    for row in matrix.entries().chunks_exact(own) {
        entries.extend_from_slice(row);
        entries.resize(entries.len() + columns - own, Complex64::default());
    }
    server::Matrix::new(rows, columns, &entries)
}

/// The matrix with its rows as columns.
///
/// # Errors
/// Those of `server::Matrix::new`.
pub fn transposed(matrix: &server::Matrix) -> Outcome<Arc<server::Matrix>> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let entry = |i: usize| matrix.entries()[i % rows * columns + i / rows];
    let entries: Vec<Complex64> = (0..rows * columns).map(entry).collect();
    Ok(Arc::new(server::Matrix::new(columns, rows, &entries)?))
}

impl Matrix {
    /// The matrix as it is multiplied, on the left of a vector or on its right: for vectors of its
    /// slots.
    ///
    /// # Errors
    /// `MismatchError` where it does not fit them.
    pub fn fitted(&self, is_right: bool) -> Outcome<Arc<server::Matrix>> {
        let matrix = if is_right { transposed(&self.entries)? } else { Arc::clone(&self.entries) };
        let Some(slots) = self.slots else { return Ok(matrix) };
        if matrix.columns() > slots {
            let (columns, rows) = (matrix.columns(), if is_right { "rows" } else { "columns" });
            return Err(Failure::mismatch(format!("{columns} {rows} do not fit {slots} slots")));
        }
        Ok(Arc::new(widened(&matrix, slots)?))
    }
}

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
        return Ok(matrix.get().fitted(false)?);
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
    #[pyo3(signature = (entries, *, slots = None))]
    fn new(entries: &Bound<'_, PyAny>, slots: Option<usize>) -> PyResult<Self> {
        let entries = match entries.cast::<Self>() {
            Ok(matrix) => Arc::clone(&matrix.get().entries),
            Err(_) => matrix_of(entries)?,
        };
        if let Some(slots) = slots
            && (!slots.is_power_of_two() || slots > 1 << 20)
        {
            let why = format!("a matrix for {slots} slots: there must be a power of two of them");
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self { entries, slots })
    }

    /// (rows, columns).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.entries.rows(), self.entries.columns())
    }

    /// The matrix with its rows as columns, for as many slots: x @ matrix is matrix.T @ x.
    #[getter]
    #[allow(non_snake_case, reason = "as NumPy has it")]
    fn T(&self) -> PyResult<Self> {
        Ok(Self { entries: transposed(&self.entries)?, slots: self.slots })
    }

    /// The rotations whose keys `matrix @ x` needs; those of `x @ matrix` are matrix.T's.
    fn rotations(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        let matrix = self.fitted(false)?;
        wait(py, move || matrix.rotations())
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
        let (rows, columns) = self.shape();
        let slots = self.slots.map_or(String::new(), |slots| format!(" for {slots} slots"));
        format!("<girih.ckks.Matrix {rows} x {columns}{slots}>")
    }

    #[pyo3(signature = (*_arguments, **_keywords))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyAny>,
        _keywords: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Err(arrays::no_array("a girih.ckks.Matrix"))
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
