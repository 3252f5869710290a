//! Polynomials for functions, and the sign.

use crate::arrays;
use crate::call::compute;
use crate::errors::Failure;
use girih::ckks::approximation;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A polynomial on an interval, in Chebyshev form: Polynomial.fit(f, (lo, hi), error),
/// Polynomial.from_powers([a0, a1, ..], (lo, hi)), Polynomial.from_chebyshev(..).
#[pyclass(frozen, module = "girih.ckks", eq)]
pub struct Polynomial(pub Arc<approximation::Polynomial>);

impl PartialEq for Polynomial {
    /// Whether they are the same polynomial, whatever they were made for.
    fn eq(&self, other: &Self) -> bool {
        (self.0.coefficients(), self.0.interval()) == (other.0.coefficients(), other.0.interval())
    }
}

/// Polynomials whose composition is the sign of numbers of [-1, 1] outside a gap around 0.
#[pyclass(frozen, module = "girih.ckks")]
pub struct CompositeSign(pub Arc<approximation::CompositeSign>);

/// The interval from `lo` to `hi`.
pub fn interval((lo, hi): (f64, f64)) -> RangeInclusive<f64> {
    lo..=hi
}

/// The polynomial of least degree within `error` of a Python function, which is called with floats
/// on a grid. What it raises is raised.
///
/// # Errors
/// That, `TypeError` for results that are no numbers, and `ApproximationError`.
pub fn fit(
    function: &Bound<'_, PyAny>,
    ends: (f64, f64),
    error: f64,
    most_degree: usize,
) -> PyResult<approximation::Polynomial> {
    let raised: RefCell<Option<PyErr>> = RefCell::new(None);
    let value = |x: f64| {
        if raised.borrow().is_some() {
            return f64::NAN;
        }
        match function.call1((x,)).and_then(|y| y.extract::<f64>()) {
            Ok(y) => y,
            Err(error) => {
                *raised.borrow_mut() = Some(error);
                f64::NAN
            }
        }
    };
    let fitted = approximation::Polynomial::fit(value, interval(ends), error, most_degree);
    match raised.into_inner() {
        Some(error) => Err(error),
        None => Ok(fitted.map_err(Failure::from)?),
    }
}

#[pymethods]
impl Polynomial {
    /// The polynomial of least degree whose distance from a function of floats on (lo, hi) is at
    /// most `error`.
    #[staticmethod]
    #[pyo3(name = "fit", signature = (function, interval, error, *, max_degree = 1023))]
    fn fitted(
        function: &Bound<'_, PyAny>,
        interval: (f64, f64),
        error: f64,
        max_degree: usize,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(fit(function, interval, error, max_degree)?)))
    }

    /// a0 + a1 x + a2 x**2 + .. on (lo, hi).
    #[staticmethod]
    fn from_powers(powers: &Bound<'_, PyAny>, interval: (f64, f64)) -> PyResult<Self> {
        let (py, powers) = (powers.py(), arrays::reals(powers, "powers")?);
        let ends = self::interval(interval);
        let made = compute(py, || approximation::Polynomial::from_powers(&powers, ends))?;
        Ok(Self(Arc::new(made)))
    }

    /// c0 T0 + c1 T1 + .. on (lo, hi).
    #[staticmethod]
    fn from_chebyshev(coefficients: &Bound<'_, PyAny>, interval: (f64, f64)) -> PyResult<Self> {
        let (py, coefficients) = (coefficients.py(), arrays::reals(coefficients, "coefficients")?);
        let ends = self::interval(interval);
        let made = compute(py, || approximation::Polynomial::from_chebyshev(&coefficients, ends))?;
        Ok(Self(Arc::new(made)))
    }

    /// The degree.
    #[getter]
    fn degree(&self) -> usize {
        self.0.degree()
    }

    /// Levels that evaluating it takes.
    #[getter]
    fn levels(&self) -> usize {
        self.0.levels()
    }

    /// Its largest distance from the function that it was made for, if it was made for one.
    #[getter]
    fn error(&self) -> Option<f64> {
        self.0.error()
    }

    /// Where it holds.
    #[getter]
    fn interval(&self) -> (f64, f64) {
        (*self.0.interval().start(), *self.0.interval().end())
    }

    /// Coefficients of the Chebyshev polynomials.
    #[getter]
    fn coefficients(&self) -> Vec<f64> {
        self.0.coefficients().to_vec()
    }

    /// Its value at a number.
    fn __call__(&self, x: f64) -> f64 {
        self.0.evaluate(x)
    }

    fn __repr__(&self) -> String {
        let (lo, hi) = self.interval();
        format!("<girih.ckks.Polynomial of degree {} on [{lo}, {hi}]>", self.0.degree())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::wire::reduce(py, ("Polynomial", self.coefficients(), self.interval()))
    }
}

#[pymethods]
impl CompositeSign {
    /// The composition with fewest levels that is within `error` of the sign for |x| >= gap.
    #[new]
    fn new(py: Python<'_>, gap: f64, error: f64) -> PyResult<Self> {
        Ok(Self(Arc::new(compute(py, || approximation::CompositeSign::new(gap, error))?)))
    }

    /// The one for which x (1 + sign(x)) / 2 is within `error` of max(x, 0) on [-1, 1].
    #[staticmethod]
    fn for_relu(py: Python<'_>, error: f64) -> PyResult<Self> {
        Ok(Self(Arc::new(compute(py, || approximation::CompositeSign::for_relu(error))?)))
    }

    /// The composition of polynomials of these degrees, odd ones, that comes nearest to the sign
    /// for |x| >= gap.
    #[staticmethod]
    fn with_degrees(py: Python<'_>, gap: f64, degrees: Vec<usize>) -> PyResult<Self> {
        let made = compute(py, || approximation::CompositeSign::with_degrees(gap, &degrees))?;
        Ok(Self(Arc::new(made)))
    }

    /// The polynomials, the first to be evaluated first.
    #[getter]
    fn polynomials(&self) -> Vec<Polynomial> {
        self.0.polynomials().iter().map(|p| Polynomial(Arc::new(p.clone()))).collect()
    }

    /// Levels that evaluating it takes.
    #[getter]
    fn levels(&self) -> usize {
        self.0.levels()
    }

    /// The magnitude from which on the sign is right.
    #[getter]
    fn gap(&self) -> f64 {
        self.0.gap()
    }

    /// The largest distance from 1 or -1 outside the gap.
    #[getter]
    fn error(&self) -> f64 {
        self.0.error()
    }

    /// Its value at a number of [-1, 1].
    fn __call__(&self, x: f64) -> f64 {
        self.0.evaluate(x)
    }

    fn __repr__(&self) -> String {
        format!("<girih.ckks.CompositeSign of degrees {:?}>", self.0.degrees())
    }
}
